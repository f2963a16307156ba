//! A line of `/proc/PID/stat` (`proc_pid_stat(5)`), read from its bytes without allocating.

/// What is read of a task's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    /// Its name, which may hold any bytes.
    pub(crate) name: &'a [u8],
    /// `R` while it runs or waits for a CPU.
    pub(crate) state: u8,
    /// The process that started its process.
    pub(crate) parent: u32,
    /// Time in its own code, in ticks.
    pub(crate) user: u64,
    /// Time in the kernel, in ticks.
    pub(crate) system: u64,
    /// How many threads its process has.
    pub(crate) threads: u64,
    /// When it started, in ticks since the system did.
    pub(crate) started: u64,
    /// The logical CPU that it ran on last.
    pub(crate) cpu: u32,
}

impl<'a> Stat<'a> {
    /// `17 (a name) S 1 ...`
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let open = line.iter().position(|&byte| byte == b'(')?;
        let close = line.iter().rposition(|&byte| byte == b')')?;
        let name = line.get(open + 1..close)?;
        let mut fields = line.get(close + 2..)?.split(|&byte| byte == b' ');
        // By their numbers in the manual page: the state is field 3.
        let state = *fields.next()?.first()?;
        let parent = number(fields.next()?)?;
        let user = number(fields.nth(14 - 5)?)?;
        let system = number(fields.next()?)?;
        let threads = number(fields.nth(20 - 16)?)?;
        let started = number(fields.nth(22 - 21)?)?;
        let cpu = number(fields.nth(39 - 23)?)?;
        let (parent, cpu) = (u32::try_from(parent).ok()?, u32::try_from(cpu).ok()?);
        Some(Self { name, state, parent, user, system, threads, started, cpu })
    }

    /// Whether it runs or waits for a CPU.
    pub(crate) fn is_running(&self) -> bool {
        self.state == b'R'
    }
}

/// A decimal number; `None` if it is none, or too large.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Stat::parse(&bytes);
        }

        #[test]
        fn numbers_are_read_as_the_library_reads_them(text in "[0-9x]{0,22}") {
            prop_assert_eq!(number(text.as_bytes()), text.parse().ok());
        }
    }
}
