//! What a system call has just done, in words that stay the same from run to run.

use std::path::PathBuf;

use crate::call::{Call, Flags};

/// How much of a text names a step.
const SHOWN: usize = 24;

/// What can be seen of a stopped process.
pub(crate) trait Process {
    /// What an open descriptor refers to.
    fn file(&self, descriptor: i64) -> PathBuf;
    /// Up to so many bytes of its memory.
    fn memory(&self, address: u64, length: usize) -> Vec<u8>;
}

/// The name of the step that a successful call was; `None` if nobody else can see it.
pub(crate) fn name(call: &Call, returned: i64, process: &impl Process) -> Option<String> {
    let file = |descriptor| file(descriptor, process);
    let path = |address| {
        let bytes = process.memory(address, libc::PATH_MAX as usize);
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    Some(match *call {
        Call::Open(flags) => {
            let flags = match flags {
                Flags::Given(flags) => flags,
                Flags::At(address) => {
                    u64::from_ne_bytes(process.memory(address, 8).try_into().ok()?)
                }
            };
            if !changes(flags) {
                return None;
            }
            format!("open {}", file(returned)?)
        }
        Call::Write { descriptor, text, length } => {
            let bytes = process.memory(text, length.min(SHOWN));
            let text = String::from_utf8_lossy(&bytes);
            let file = file(descriptor)?;
            let mut text = text.lines().next().unwrap_or_default();
            // What corun writes for itself names processes by their numbers.
            if !is_of_kernel(&file) {
                text = text.split(|it: char| it.is_ascii_digit()).next().unwrap_or_default();
            }
            format!("write {file} {}", text.trim_end())
        }
        Call::Truncate { descriptor } => format!("truncate {}", file(descriptor)?),
        Call::Flush { descriptor } => format!("fsync {}", file(descriptor)?),
        Call::Lock { descriptor } => format!("flock {}", file(descriptor)?),
        Call::Rename { to } => format!("rename to {}", path(to)),
        Call::Remove { path: address } => format!("unlink {}", path(address)),
        Call::MakeFolder { path: address } => format!("mkdir {}", path(address)),
        Call::Clone => "clone".to_owned(),
        Call::SetAffinity { task: 0 } => "sched_setaffinity itself".to_owned(),
        Call::SetAffinity { .. } => "sched_setaffinity another".to_owned(),
        Call::Kill { signal, .. } => format!("kill {signal}"),
    })
}

fn changes(flags: u64) -> bool {
    let wanted = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
    flags & u64::from(wanted.cast_unsigned()) != 0
}

/// A file or socket; `None` for a device, a pipe, memory and the like, in which nothing is kept.
fn file(descriptor: i64, process: &impl Process) -> Option<String> {
    let path = process.file(descriptor).to_string_lossy().into_owned();
    if path.starts_with("socket:") {
        return Some("socket".to_owned());
    }
    let is_kept =
        path.starts_with('/') && !path.starts_with("/dev/") && !path.starts_with("/memfd:");
    is_kept.then_some(path)
}

fn is_of_kernel(file: &str) -> bool {
    ["/proc/", "/sys/"].iter().any(|folder| file.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake;

    impl Process for Fake {
        fn file(&self, descriptor: i64) -> PathBuf {
            ["/sys/control", "/dev/console", "pipe:[7]", "socket:[8]", "/memfd:x", "/run/state"]
                [descriptor as usize]
                .into()
        }

        fn memory(&self, address: u64, length: usize) -> Vec<u8> {
            let text = &b"/run/state\0offline\nx\0cpu 12"[address as usize..];
            text[..text.len().min(length)].to_owned()
        }
    }

    #[test]
    fn a_step_is_named_after_what_it_changed() {
        let write = |descriptor, length| Call::Write { descriptor, text: 11, length };
        for (call, expected) in [
            (write(0, 3), Some("write /sys/control off")),
            (write(0, 100), Some("write /sys/control offline")),
            (write(1, 3), None),
            (write(2, 3), None),
            (write(3, 3), Some("write socket off")),
            (write(4, 3), None),
            (Call::Write { descriptor: 0, text: 21, length: 6 }, Some("write /sys/control cpu 12")),
            (Call::Write { descriptor: 5, text: 21, length: 6 }, Some("write /run/state cpu")),
            (Call::Rename { to: 0 }, Some("rename to /run/state")),
            (Call::Open(Flags::Given(libc::O_WRONLY as u64)), Some("open /sys/control")),
            (Call::Open(Flags::Given(libc::O_RDONLY as u64)), None),
        ] {
            assert_eq!(name(&call, 0, &Fake).as_deref(), expected, "{call:?}");
        }
    }

    #[test]
    fn variants_of_a_call_are_one_step() {
        let arguments = [7, 8, 9, 10, 0, 0];
        let call = |number: libc::c_long| Call::of(number.cast_unsigned(), arguments);
        assert_eq!(call(libc::SYS_fsync), call(libc::SYS_fdatasync));
        assert_eq!(call(libc::SYS_renameat2), Some(Call::Rename { to: 10 }));
        assert_eq!(call(libc::SYS_getpid), None);
    }
}
