//! Fields that the live view reads of a task's line in `/proc/PID/stat`, in one pass.

use corun_files::{TaskStat, decimal};

/// Fields that are read of a task's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    /// Name, which may hold any bytes.
    pub(crate) name: &'a [u8],
    /// `R` while it runs or waits for a CPU.
    pub(crate) state: u8,
    /// The process that started its process.
    pub(crate) parent: u32,
    /// Time in its own code, in ticks.
    pub(crate) user: u64,
    /// Time in the kernel, in ticks.
    pub(crate) system: u64,
    /// Number of threads of its process.
    pub(crate) threads: u64,
    /// When it started, in ticks since the system did.
    pub(crate) started: u64,
    /// The logical CPU that it ran on last.
    pub(crate) cpu: u32,
}

impl<'a> Stat<'a> {
    /// `17 (a name) S 1 ...`
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let stat = TaskStat::parse(line)?;
        let mut fields = stat.fields();
        // By their numbers in the manual page: the state is field 3.
        let state = *fields.next()?.first()?;
        let parent = decimal(fields.next()?)?;
        let user = decimal(fields.nth(14 - 5)?)?;
        let system = decimal(fields.next()?)?;
        let threads = decimal(fields.nth(20 - 16)?)?;
        let started = decimal(fields.nth(22 - 21)?)?;
        let cpu = decimal(fields.nth(39 - 23)?)?;
        let (parent, cpu) = (u32::try_from(parent).ok()?, u32::try_from(cpu).ok()?);
        let name = stat.name_bytes();
        Some(Self { name, state, parent, user, system, threads, started, cpu })
    }

    /// True if it runs or waits for a CPU.
    pub(crate) fn is_running(&self) -> bool {
        self.state == b'R'
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str = "R 1 17 17 0 -1 4194304 9 0 0 0 250 50 0 0 20 0 3 0 777 1000 20 18446744073709551615 1 1 0 0 0 0 0 \
                        4096 0 0 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 0";

    #[test]
    fn fields_are_those_of_the_manual_page() {
        for name in ["make", "a) R 1 (b", "", ") S 2"] {
            let line = format!("17 ({name}) {TAIL}\n");
            let stat = Stat::parse(line.as_bytes()).unwrap();
            let expected = Stat {
                name: name.as_bytes(),
                state: b'R',
                parent: 1,
                user: 250,
                system: 50,
                threads: 3,
                started: 777,
                cpu: 5,
            };
            assert_eq!(stat, expected);
            assert!(stat.is_running());
        }
    }

    #[test]
    fn a_line_that_ends_early_is_none() {
        let line = format!("17 (a) {TAIL}");
        let whole = line.find(" 5 0 0 0 0 0 1").unwrap() + 2;
        for length in 0..whole {
            let parsed = Stat::parse(&line.as_bytes()[..length]);
            // A number that is cut is a number.
            assert!(parsed.is_none_or(|it| it.cpu != 5), "{length}");
        }
    }
}
