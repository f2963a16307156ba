//! Liveness of the process that writes a run.
//!
//! A number of a process is used again, so its start goes with it, and the boot that both belong to.

use corun_files::{TaskStat, boot_id, kernel_text};

/// This process.
pub(crate) fn own() -> String {
    named(boot_id().as_deref())
}

/// This process, of that boot if it is known.
fn named(boot: Option<&str>) -> String {
    let number = std::process::id();
    format!("{} {number} {}", boot.unwrap_or_default(), start(number).unwrap_or_default())
}

/// True if that process is running; one of another machine, or of a boot that is not known, is not known to be.
pub(crate) fn is_running(writer: &str) -> bool {
    is_running_in(boot_id().as_deref(), writer)
}

fn is_running_in(boot: Option<&str>, writer: &str) -> bool {
    let parts: Vec<&str> = writer.split(' ').collect();
    let [of_boot, number, begun] = parts[..] else { return false };
    let Ok(number) = number.parse() else { return false };
    boot == Some(of_boot) && start(number).is_some_and(|start| start == begun)
}

/// When a process began, in the kernel's ticks: field 22 of its `stat` (proc_pid_stat(5)).
fn start(number: u32) -> Option<String> {
    let stat = kernel_text(format!("/proc/{number}/stat")).ok()?;
    let stat = TaskStat::parse(&stat)?;
    // A zombie has ended, whether its parent looks at it or not.
    stat.field(22).filter(|_| !stat.has_ended()).map(|it| it.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_runs_until_it_has_ended() {
        assert!(is_running(&own()));
        let (rest, start) =
            own().rsplit_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert!(!is_running(&format!("{rest} {start}0")), "another process of the same number");
        assert!(!is_running_in(None, &named(None)), "a boot that is not known equals no other");
        assert!(is_running_in(Some("one"), &named(Some("one"))));
        for nothing in ["", "a b", "a b c", "a 1 c d"] {
            assert!(!is_running(nothing), "{nothing}");
        }
    }
}
