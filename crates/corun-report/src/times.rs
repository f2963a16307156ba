//! What a command and each of its processes took, as `time` shows it for one of them.

use corun_record::{CommandTimes, ProcessTimes, on_one_line, shortened};

use crate::tables::{Table, list};
use crate::terminal::{grid, wrap};

/// More processes than that do not help a reader: those with the least time are left out.
const MOST_ROWS: usize = 100;

/// The most characters of the command itself.
const MOST_COMMAND: usize = 60;

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
    for sentence in remarks(times, shown.len()) {
        text += &wrap(&sentence, "", columns);
    }
    text
}

fn used(process: &ProcessTimes) -> f64 {
    process.user_s + process.system_s
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.2} s")
}

/// The share of one CPU that a time is of another one.
fn share(used: f64, real: f64) -> String {
    if real > 0.0 { format!("{:.0}", used / real * 100.0) } else { "-".to_owned() }
}

fn total(times: &CommandTimes) -> Vec<String> {
    let (user, system) = (times.user_s, times.system_s);
    let mut cpus: Vec<u32> = times.processes.iter().flat_map(|it| &it.cpus).copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    vec![
        "all".to_owned(),
        shortened(&on_one_line(&times.command.join(" ")), MOST_COMMAND).into_owned(),
        seconds(times.real_s),
        seconds(user),
        seconds(system),
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
        share(used(process), process.real_s),
        list(&process.cpus),
    ]
}

fn remarks(times: &CommandTimes, shown: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    let hidden = times.processes.len() - shown;
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
    let left = times.processes.iter().filter(|it| it.is_left).count();
    if left > 0 {
        remarks.push(format!("Processes that the command left running: {left}."));
    }
    remarks
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
}
