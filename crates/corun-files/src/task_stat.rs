//! A line of `/proc/PID/stat` (`proc_pid_stat(5)`), read from its bytes without allocating.

use std::borrow::Cow;

/// The line of a task: `17 (a name) S 1 ...`. The name may hold any bytes, parentheses included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskStat<'a> {
    name: &'a [u8],
    fields: &'a [u8],
}

impl<'a> TaskStat<'a> {
    /// Finds the name, and the fields after it; `None` if it is no such line.
    pub fn parse(line: &'a (impl AsRef<[u8]> + ?Sized)) -> Option<Self> {
        let line = line.as_ref();
        let open = line.iter().position(|&byte| byte == b'(')?;
        let close = line.iter().rposition(|&byte| byte == b')')?;
        let (name, fields) = (line.get(open + 1..close)?, line.get(close + 2..)?);
        Some(Self { name, fields: fields.trim_ascii_end() })
    }

    /// The task's name.
    pub fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name)
    }

    /// The task's name as the kernel has it.
    pub fn name_bytes(&self) -> &'a [u8] {
        self.name
    }

    /// Field 3: `R` while it runs or waits for a CPU.
    pub fn state(&self) -> Option<u8> {
        self.fields.first().copied()
    }

    /// True if the task has ended (`Z`, `X`); its parent may not have waited for it yet.
    pub fn has_ended(&self) -> bool {
        matches!(self.state(), Some(b'Z' | b'X' | b'x'))
    }

    /// The fields from the state on, which is field 3 of the manual page.
    pub fn fields(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.fields.split(|&byte| byte == b' ')
    }

    /// A field by its number in the manual page, from 3 on; `None` if it is missing, or no number.
    pub fn field(&self, number: usize) -> Option<u64> {
        decimal(self.fields().nth(number.checked_sub(3)?)?)
    }
}

/// A decimal number; `None` if it is none, or too large.
pub fn decimal(word: &[u8]) -> Option<u64> {
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

    #[test]
    fn fields_are_those_of_the_manual_page() {
        let fields: Vec<String> = (4..=52).map(|number| number.to_string()).collect();
        for name in ["make", "a) R 1 (b", "", ") S 2"] {
            let line = format!("17 ({name}) S {}\n", fields.join(" "));
            let stat = TaskStat::parse(&line).unwrap();
            assert_eq!((stat.name().as_ref(), stat.state()), (name, Some(b'S')));
            for number in 4..=52 {
                assert_eq!(stat.field(number), Some(number as u64));
            }
            assert_eq!([0, 3, 53].map(|number| stat.field(number)), [None; 3]);
            assert!(!stat.has_ended());
        }
        assert!(TaskStat::parse("7 (sh) Z 1").unwrap().has_ended());
        assert_eq!(TaskStat::parse(b"7 (a\xff) R 1").unwrap().name(), "a\u{fffd}");
    }

    #[test]
    fn what_is_no_line_of_a_task_is_none() {
        for wrong in ["", "17 (a", "17 a) R", ") (", "17 (a)"] {
            assert_eq!(TaskStat::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = TaskStat::parse(&bytes).map(|stat| (stat.has_ended(), stat.field(22)));
        }

        #[test]
        fn numbers_are_read_as_the_library_reads_them(text in "[0-9x]{0,22}") {
            prop_assert_eq!(decimal(text.as_bytes()), text.parse().ok());
        }
    }
}
