//! System calls by name, as the manual has them, or by number, as traces and the kernel do.

use std::fmt;
use std::str::FromStr;

use syscalls::Sysno;

/// A system call of this architecture, or a number that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemCall(pub u64);

impl SystemCall {
    fn known(self) -> Option<Sysno> {
        usize::try_from(self.0).ok().and_then(Sysno::new)
    }
}

impl FromStr for SystemCall {
    type Err = String;

    /// A name such as `getppid`, or a number.
    fn from_str(text: &str) -> Result<Self, String> {
        let by_name = || Sysno::from_str(text).ok().map(|known| known.id() as u64);
        text.parse().ok().or_else(by_name).map(Self).ok_or_else(|| {
            format!("expected the name of a system call, such as getppid, or its number, found \"{text}\"")
        })
    }
}

impl fmt::Display for SystemCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(known) => formatter.write_str(known.name()),
            None => write!(formatter, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_the_same() {
        let parsed = |text: &str| text.parse::<SystemCall>();
        assert_eq!(parsed("getppid").unwrap().0, libc::SYS_getppid as u64);
        assert_eq!(parsed(&libc::SYS_getppid.to_string()).unwrap().to_string(), "getppid");
        // A number that nothing answers to is as good a sign.
        assert_eq!(parsed("25455").unwrap().to_string(), "25455");
        let refused = parsed("getpid()").unwrap_err();
        assert!(refused.contains("found \"getpid()\""), "{refused}");
    }
}
