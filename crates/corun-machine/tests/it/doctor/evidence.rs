//! Evidence is what was read: each text stands in the file that it is said to be from.

use corun_machine::doctor::Report;
use corun_machine::{CpuSet, SystemFiles};

/// Two readings of these are compared, so that their evidence has a difference and its time.
const COUNTERS: [&str; 5] = [
    "proc/stat",
    "proc/interrupts",
    "proc/vmstat",
    "proc/*/stat",
    "sys/devices/system/cpu/cpu*/cpuidle/state0/time",
];

/// Checks all evidence of a report about these files.
#[track_caller]
pub(crate) fn assert_it_was_read(report: &Report, files: &mut impl SystemFiles) {
    for diagnosis in &report.diagnoses {
        for evidence in &diagnosis.evidence {
            let (file, text) = (evidence.file.as_str(), evidence.text.as_str());
            if COUNTERS.iter().any(|counter| matches(counter, file)) {
                continue;
            }
            let stands = match file.split_once("/cpu*/") {
                Some((folder, name)) => stands_in_each(files, folder, name, text),
                None => stands_in(files, file, text),
            };
            assert!(stands, "{}: {file} does not hold `{text}`", diagnosis.check);
        }
    }
}

/// True if a text, of which parts may be left out with dots, is in a file or a name in a folder. A
/// file that cannot be read is evidence, too.
fn stands_in(files: &mut impl SystemFiles, file: &str, text: &str) -> bool {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut names = files.list(file);
    let read = match files.read(file) {
        Ok(read) => squeezed(read),
        Err(error) if error.to_string().contains(text) => return true,
        Err(_) => {
            names.sort();
            names.join(" ")
        }
    };
    let mut rest = read.as_str();
    text.split(" ... ").all(|part| {
        let part = squeezed(part.trim_end_matches(" ...").trim_end_matches(':'));
        match rest.find(&part) {
            Some(place) => {
                rest = &rest[place + part.len()..];
                true
            }
            None => false,
        }
    })
}

/// A text for all CPUs, or texts that each name theirs: `0 (CPUs 1-2), 1 (CPUs 0)`.
fn stands_in_each(files: &mut impl SystemFiles, folder: &str, name: &str, text: &str) -> bool {
    let mut rest = text;
    let mut named = false;
    while let Some((value, after)) = rest.split_once(" (CPUs ") {
        let (cpus, after) = after.split_once(')').unwrap();
        let Ok(cpus) = CpuSet::from_list(cpus) else { return false };
        if !cpus.iter().all(|cpu| stands_in(files, &format!("{folder}/cpu{cpu}/{name}"), value)) {
            return false;
        }
        named = true;
        rest = after.strip_prefix(", ").unwrap_or(after);
    }
    named
        || (0..1024).any(|cpu| {
            let file = format!("{folder}/cpu{cpu}/{name}");
            files.read(&file).is_ok() && stands_in(files, &file, text)
        })
}

fn matches(pattern: &str, file: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => file.starts_with(start) && file.ends_with(end),
        None => pattern == file,
    }
}
