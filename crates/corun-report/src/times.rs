//! Times of a command and each of its processes, as `time` shows it for one of them.

use corun_record::{CommandTimes, ProcessTimes, on_one_line, shortened};

use crate::tables::{Table, list};
use crate::terminal::{grid, wrap};

/// More processes than that do not help a reader: those with the least time are left out.
const MOST_ROWS: usize = 100;

/// The most characters of the command itself.
const MOST_COMMAND: usize = 60;

/// Linux counts the time of a process in such ticks (USER_HZ, `proc_pid_stat(5)`), in seconds.
const TICK_S: f64 = 0.01;
/// From this real time on, ticks make an error of at most 10 points in the share of a process.
const SHARE_FROM_S: f64 = 20.0 * TICK_S;
/// The most processes that are named in a sentence.
const MOST_NAMED: usize = 10;

/// The times for a terminal of this many columns.
pub fn times_to_terminal(times: &CommandTimes, columns: u16) -> String {
    let header = ["process", "name", "real", "user", "system", "%", "CPUs"];
    let header = header.map(str::to_owned).to_vec();
    let mut rows = vec![total(times)];
    let mut shown: Vec<&ProcessTimes> = times.processes.iter().collect();
    shown.sort_by(|one, other| used(other).total_cmp(&used(one)));
    shown.truncate(MOST_ROWS);
    let is_shown = |process: &&ProcessTimes| shown.iter().any(|it| std::ptr::eq(*it, *process));
    rows.extend(times.processes.iter().filter(is_shown).map(row));
    let mut text = format!("{}\n", grid(&Table { header, rows }, columns));
    for sentence in remarks(times, &shown) {
        text += &wrap(&sentence, "", columns);
    }
    text
}

fn used(process: &ProcessTimes) -> f64 {
    process.user_s + process.system_s
}

/// A time that is known to a tick.
fn seconds(seconds: f64) -> String {
    format!("{seconds:.2} s")
}

/// A time that is known to a microsecond: four digits say more than ticks where it is short.
fn exact_seconds(exact: f64) -> String {
    if exact < 1.0 { format!("{exact:.4} s") } else { seconds(exact) }
}

/// The share of one CPU that a time is of another one.
fn share(used: f64, real: f64) -> String {
    if real > 0.0 { format!("{:.0}", used / real * 100.0) } else { "-".to_owned() }
}

/// True if a process ran too shortly for a share.
fn is_short(process: &ProcessTimes) -> bool {
    process.real_s < SHARE_FROM_S
}

fn total(times: &CommandTimes) -> Vec<String> {
    let (user, system) = (times.user_s, times.system_s);
    let mut cpus: Vec<u32> = times.processes.iter().flat_map(|it| &it.cpus).copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    vec![
        "all".to_owned(),
        shortened(&on_one_line(&times.command.join(" ")), MOST_COMMAND).into_owned(),
        exact_seconds(times.real_s),
        exact_seconds(user),
        exact_seconds(system),
        share(user + system, times.real_s),
        list(&cpus),
    ]
}

fn row(process: &ProcessTimes) -> Vec<String> {
    vec![
        process.process.to_string(),
        match process.threads {
            0 | 1 => process.name.clone(),
            threads => format!("{} ({threads} threads)", process.name),
        },
        seconds(process.real_s),
        seconds(process.user_s),
        seconds(process.system_s),
        match is_short(process) {
            true => "-".to_owned(),
            false => share(used(process), process.real_s),
        },
        list(&process.cpus),
    ]
}

fn remarks(times: &CommandTimes, shown: &[&ProcessTimes]) -> Vec<String> {
    let mut remarks = Vec::new();
    if shown.iter().any(|it| is_short(it)) {
        remarks.push(format!(
            "Times of single processes are counted in ticks of {:.0} ms: a process that ran for less than {:.0} ms has no share.",
            TICK_S * 1e3,
            SHARE_FROM_S * 1e3
        ));
    }
    let hidden = times.processes.len() - shown.len();
    if hidden > 0 {
        remarks.push(format!("Processes with less time that are left out: {hidden}."));
    }
    // Less than that may be what the last look did not see of a process that was.
    let unseen = times.unseen_s();
    if unseen > 2.0 * times.looked_every_s && unseen > 0.01 * (times.user_s + times.system_s) {
        remarks.push(format!(
            "{} of processor time are not in the rows of processes: they were looked at every {:.0} ms, and some lived shorter.",
            seconds(unseen),
            times.looked_every_s * 1e3
        ));
    }
    let left: Vec<&ProcessTimes> = times.processes.iter().filter(|it| it.is_left).collect();
    if !left.is_empty() {
        remarks.push(format!("The command left running: {}.", named(&left)));
    }
    remarks
}

/// `12 (job), 13 (job) and 4 more`.
fn named(processes: &[&ProcessTimes]) -> String {
    let names = processes.iter().take(MOST_NAMED);
    let names = names.map(|it| format!("{} ({})", it.process, on_one_line(&it.name)));
    let names = names.collect::<Vec<_>>().join(", ");
    match processes.len().saturating_sub(MOST_NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(number: u32, name: &str, times: [f64; 3], cpus: &[u32]) -> ProcessTimes {
        let [real_s, user_s, system_s] = times;
        ProcessTimes {
            process: number,
            parent: 1,
            name: name.to_owned(),
            real_s,
            user_s,
            system_s,
            cpus: cpus.to_vec(),
            threads: 1,
            is_left: false,
        }
    }

    #[test]
    fn a_command_and_its_processes_have_a_row_each() {
        let times = CommandTimes {
            command: ["sh", "-c", "five jobs\u{1b}[2J"].map(str::to_owned).to_vec(),
            exit_status: Some(0),
            real_s: 6.25,
            user_s: 24.5,
            system_s: 0.5,
            processes: vec![
                process(10, "sh", [6.25, 0.0, 0.01], &[0]),
                ProcessTimes { threads: 3, ..process(11, "job", [6.2, 4.9, 0.1], &[0, 1, 3]) },
                ProcessTimes { is_left: true, ..process(12, "job", [5.0, 4.0, 0.1], &[2]) },
            ],
            looked_every_s: 0.01,
        };
        insta::assert_snapshot!(times_to_terminal(&times, 90));
    }

    #[test]
    fn a_command_of_some_ticks_has_no_share_that_ticks_cannot_give() {
        let times = CommandTimes {
            command: vec!["true".to_owned()],
            exit_status: Some(0),
            real_s: 0.0031,
            user_s: 0.000_4,
            system_s: 0.000_158,
            processes: vec![process(10, "true", [0.01, 0.0, 0.0], &[0])],
            looked_every_s: 0.01,
        };
        let text = times_to_terminal(&times, 90);
        let row = |first: &str| {
            let line = text.lines().find(|it| it.trim_start().starts_with(first)).expect(first);
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row("all"), "all true 0.0031 s 0.0004 s 0.0002 s 18 0");
        assert_eq!(row("10"), "10 true 0.01 s 0.00 s 0.00 s - 0");
        assert!(text.contains("counted in ticks of 10 ms"), "{text}");
    }

    #[test]
    fn not_all_of_many_processes_are_named() {
        let left: Vec<_> = (0..12).map(|it| process(it, "job", [1.0; 3], &[0])).collect();
        let named = named(&left.iter().collect::<Vec<_>>());
        assert!(
            named.starts_with("0 (job), 1 (job), ") && named.ends_with(" and 2 more"),
            "{named}"
        );
    }
}
