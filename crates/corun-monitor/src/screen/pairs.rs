//! Which threads spend most time beside each other on siblings.

use std::collections::HashMap;

use corun_record::Activity;

/// Less time together would be shown as 0 %.
pub(super) const LEAST_TOGETHER: f64 = 0.005;

/// Two threads that ran on siblings of one core at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Time for which both ran, in shares of the interval.
    pub together: f64,
    /// Their numbers, ascending.
    pub threads: [u32; 2],
    /// Their names, as the kernel gives them.
    pub names: [String; 2],
}

/// The pairs with most time together, at most so many of them, and none of less than half a percent.
pub fn pairs(activity: &Activity, most: usize) -> Vec<Pair> {
    // Each pair is mentioned by both of its threads, or by one where the other was not read.
    let mut found: HashMap<[u32; 2], Pair> = HashMap::new();
    for task in &activity.tasks {
        for companion in &task.beside {
            let mut sides = [(task.thread, &task.name), (companion.thread, &companion.name)];
            sides.sort_unstable_by_key(|side| side.0);
            let threads = sides.map(|side| side.0);
            let pair = found.entry(threads).or_insert_with(|| Pair {
                together: 0.0,
                threads,
                names: sides.map(|side| side.1.clone()),
            });
            pair.together = pair.together.max(companion.together);
        }
    }
    let mut pairs: Vec<Pair> =
        found.into_values().filter(|pair| pair.together >= LEAST_TOGETHER).collect();
    pairs.sort_unstable_by(|one, other| {
        other.together.total_cmp(&one.together).then(one.threads.cmp(&other.threads))
    });
    pairs.truncate(most);
    pairs
}

#[cfg(test)]
mod tests {
    use corun_record::{Companion, TaskActivity};

    use super::*;

    fn task(thread: u32, name: &str, beside: &[(u32, &str, f64)]) -> TaskActivity {
        let beside = beside.iter().map(|&(thread, name, together)| Companion {
            thread,
            name: name.to_owned(),
            together,
        });
        TaskActivity {
            thread,
            name: name.to_owned(),
            beside: beside.collect(),
            ..Default::default()
        }
    }

    #[test]
    fn a_pair_is_counted_once_whoever_mentions_it() {
        let tasks = vec![
            task(9, "nine", &[(2, "two", 0.5), (3, "three", 0.25), (4, "four", 0.004)]),
            task(2, "two", &[(9, "nine", 0.4)]),
            task(3, "three", &[]),
        ];
        let activity = Activity { tasks, ..Default::default() };
        let found = pairs(&activity, 9);
        let short: Vec<_> = found.iter().map(|it| (it.threads, it.together)).collect();
        assert_eq!(short, [([2, 9], 0.5), ([3, 9], 0.25)]);
        assert_eq!(found[0].names, ["two", "nine"]);
        assert_eq!(pairs(&activity, 1).len(), 1);
    }
}
