//! End of a control group: what is in it is named and killed until the kernel lets the group be taken
//! away, which it does only when it is empty.

use super::super::Leftover;
use super::super::watchdog;

/// Operations to end a group.
pub(super) trait Membership {
    /// Removes the group and those below it; false while a process is in it.
    fn remove(&mut self) -> bool;
    /// Who is in it, or in a group below.
    fn members(&mut self) -> Vec<i32>;
    /// The name of a process; `None` if it has ended.
    fn name(&mut self, process: i32) -> Option<String>;
    /// Kills all that are in it at this moment, and waits a little for the end of `members`.
    fn kill(&mut self, members: &[i32]);
    /// True if to wait on.
    fn is_patient(&mut self) -> bool;
}

/// Ends a group; returns who was in it.
pub(super) fn end(group: &mut impl Membership) -> Vec<Leftover> {
    let mut found: Vec<Leftover> = Vec::new();
    while !group.remove() {
        let members = group.members();
        for &process in &members {
            if found.iter().any(|known| known.process == process) {
                continue;
            }
            // That of a corun in this group ends by itself a moment after it.
            let name = group.name(process).filter(|name| name != watchdog::NAME);
            found.extend(name.map(|name| Leftover { name, process, ended: true }));
        }
        if !group.is_patient() {
            for leftover in &mut found {
                leftover.ended = !members.contains(&leftover.process);
            }
            break;
        }
        group.kill(&members);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process and what it does when it is killed.
    #[derive(Clone, Copy, PartialEq)]
    enum Nature {
        Ends,
        /// It is seen again after so many more polls, as one that waits for a device.
        Lingers(u32),
        /// Another one was started before the signal came.
        Forks(u32),
        Stays,
    }

    struct Fake {
        living: Vec<(i32, &'static str, Nature)>,
        next: i32,
        polls: u32,
    }

    impl Membership for Fake {
        fn remove(&mut self) -> bool {
            self.living.is_empty()
        }

        fn members(&mut self) -> Vec<i32> {
            self.living.iter().map(|it| it.0).collect()
        }

        fn name(&mut self, process: i32) -> Option<String> {
            Some(self.living.iter().find(|it| it.0 == process)?.1.to_owned())
        }

        fn kill(&mut self, members: &[i32]) {
            let before = std::mem::take(&mut self.living);
            for (process, name, nature) in before {
                let left = match nature {
                    _ if !members.contains(&process) => Some((process, nature)),
                    Nature::Ends | Nature::Lingers(0) | Nature::Forks(0) => None,
                    Nature::Lingers(more) => Some((process, Nature::Lingers(more - 1))),
                    Nature::Forks(more) => {
                        self.next += 1;
                        Some((self.next, Nature::Forks(more - 1)))
                    }
                    Nature::Stays => Some((process, nature)),
                };
                self.living.extend(left.map(|(process, nature)| (process, name, nature)));
            }
        }

        fn is_patient(&mut self) -> bool {
            self.polls += 1;
            self.polls < 10
        }
    }

    fn ended(living: &[(i32, &'static str, Nature)]) -> Vec<(String, i32, bool)> {
        let mut fake = Fake { living: living.to_vec(), next: 100, polls: 0 };
        end(&mut fake).into_iter().map(|it| (it.name, it.process, it.ended)).collect()
    }

    #[test]
    fn an_empty_group_is_taken_away_and_nobody_named() {
        assert_eq!(ended(&[]), []);
    }

    #[test]
    fn every_process_is_ended_and_named_once() {
        let found = ended(&[(5, "a", Nature::Ends), (6, "b", Nature::Lingers(3))]);
        assert_eq!(found, [("a".to_owned(), 5, true), ("b".to_owned(), 6, true)]);
        let found = ended(&[(5, "bomb", Nature::Forks(3))]);
        assert_eq!(found.iter().map(|it| it.1).collect::<Vec<_>>(), [5, 101, 102, 103]);
    }

    #[test]
    fn what_does_not_end_is_named_as_running() {
        let found = ended(&[(5, "stuck", Nature::Stays), (6, "b", Nature::Ends)]);
        assert_eq!(found, [("stuck".to_owned(), 5, false), ("b".to_owned(), 6, true)]);
    }

    #[test]
    fn the_watchdog_of_a_corun_inside_is_not_named() {
        assert_eq!(ended(&[(5, watchdog::NAME, Nature::Ends)]), []);
    }
}
