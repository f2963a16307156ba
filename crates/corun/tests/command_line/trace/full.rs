//! Where a trace does not fit: it is ended in time, can be read as far as it holds instructions, and says why it
//! stops.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{check, compile, info, trace, works};
use crate::common::{Outcome, Scratch};

const LIMITED: [(&str, u64); 3] = [("dynamorio", 5 << 20), ("qemu", 5 << 20), ("ptrace", 16 << 10)];

/// Checks what is reported and kept when the file of the trace can grow no further.
#[track_caller]
fn ends_early(tracer: &str, outcome: &Outcome, file: &Path, reason: &str) {
    assert_eq!(outcome.exit, Some(1), "{tracer}: {}", outcome.errors);
    assert!(outcome.errors.contains(reason), "{tracer}: {}", outcome.errors);
    if tracer == "ptrace" {
        // So short a program fits into one frame, which has no room: not an instruction could be read.
        assert!(outcome.errors.contains("Nothing of it was kept."), "{}", outcome.errors);
        assert!(!file.exists());
        return;
    }
    let info = info(file);
    let closing = &info["closing"];
    assert_eq!(closing["ending"], serde_json::Value::Null, "{tracer}: {closing}");
    let remark = closing["remarks"][0].as_str().unwrap_or_default();
    assert!(remark.contains(reason), "{tracer}: {closing}");
    let checked = check(file);
    assert!(checked.ends_with("\nsound and complete\n"), "{tracer}: {checked}");
}

/// Reads where nobody can foretell, so that its trace grows by three bytes each time.
const SCATTERED: &str = "
    fn main() {
        let area = std::hint::black_box(vec![1_u8; 1 << 20]);
        let (mut random, mut sum) = (1_u64, 0_u64);
        for _ in 0..50_000_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            for bits in [4, 24, 44] {
                sum += u64::from(area[random as usize >> bits & 0xf_ffff]);
            }
        }
        println!(\"{sum}\");
    }
";

/// Runs longer than what its trace is given room for.
fn long(tracer: &str, scratch: &Scratch) -> Command {
    let mut command = trace(tracer, scratch);
    if tracer == "ptrace" {
        command.args(["sh", "-c", "exit 0"]);
    } else {
        compile(scratch, "scattered", SCATTERED);
        command.arg(scratch.file("scattered"));
    }
    command
}

#[test]
fn a_trace_that_reaches_the_limit_of_files_is_ended_there() {
    for (tracer, limit) in LIMITED.into_iter().filter(|(tracer, _)| works(tracer)) {
        let scratch = Scratch::new();
        let mut command = long(tracer, &scratch);
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        // SAFETY: the call is one system call, which may be made between fork and exec.
        unsafe {
            command.pre_exec(move || Ok(setrlimit(Resource::Fsize, limit)?));
        }
        let outcome = Outcome::of(&mut command);
        ends_early(tracer, &outcome, &scratch.file("trace"), "File too large");
    }
}

/// In a namespace of its own, so that the file system ends with the command.
#[test]
fn a_trace_that_fills_the_disk_is_ended_there() {
    let can_mount = Command::new("unshare").args(["--mount", "true"]).output();
    if !can_mount.is_ok_and(|output| output.status.success()) {
        return corun_testing::skip("full disk", "mounting is not permitted");
    }
    for tracer in LIMITED.map(|(tracer, _)| tracer).into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.file("small")).unwrap();
        let size = if tracer == "ptrace" { "32k" } else { "2m" };
        let script = format!(
            "mount -t tmpfs -o size={size} none small && cd small && {{ \"$@\"; code=$?; cp trace ..; \
             exit $code; }}"
        );
        let traced = long(tracer, &scratch);
        let outcome = Outcome::of(
            Command::new("unshare")
                .args(["--mount", "sh", "-c", &script, "sh"])
                .arg(traced.get_program())
                .args(traced.get_args())
                .current_dir(scratch.path()),
        );
        ends_early(tracer, &outcome, &scratch.file("trace"), "No space left on device");
    }
}
