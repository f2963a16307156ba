//! Independent simulations side by side.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `task(0)` to `task(count - 1)`, up to `jobs` of them at a time; the answers in their order.
pub fn in_parallel<T: Send>(jobs: usize, count: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            let answer = task(index);
            if let Ok(mut answers) = answers.lock() {
                answers.push((index, answer));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(count) {
            // Fewer do it, too.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut answers = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use crate::parallel::*;

    #[test]
    fn answers_keep_their_order() {
        for jobs in [1, 3, 100] {
            assert_eq!(
                in_parallel(jobs, 10, |index| index * index),
                [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]
            );
        }
        assert!(in_parallel(2, 0, |index| index).is_empty());
    }
}
