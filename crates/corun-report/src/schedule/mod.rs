//! Schedules as tables and as CSV.

#[cfg(test)]
mod tests;
mod timeline;

use corun_record::{
    CsvText, ListedCost, ListedLoad, ListedPolicy, LoadParameter, Schedule, ScheduledRun,
    ScheduledTimes, SchedulingList, on_one_line,
};
use corun_stats::percent;

use crate::figures::{seconds, three_digits};
use crate::tables::Table;
use crate::terminal::{NO_BREAK, grid, wrap};

pub use timeline::shortened_timeline;

/// Runs that differ in the seed alone.
struct Cell<'a> {
    load: &'a str,
    policy: &'a str,
    runs: Vec<&'a ScheduledRun>,
}

impl Cell<'_> {
    fn mean(&self, of: impl Fn(&ScheduledRun) -> f64) -> f64 {
        self.runs.iter().map(|run| of(run)).sum::<f64>() / self.runs.len() as f64
    }

    /// The least and the most makespan in seconds.
    fn range(&self) -> [f64; 2] {
        let times = || self.runs.iter().map(|run| run.makespan_s);
        [times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max)]
    }
}

fn cells(schedule: &Schedule) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for run in &schedule.runs {
        match cells.iter_mut().find(|it| it.load == run.load && it.policy == run.policy) {
            Some(cell) => cell.runs.push(run),
            None => cells.push(Cell { load: &run.load, policy: &run.policy, runs: vec![run] }),
        }
    }
    cells
}

/// A schedule as text for a terminal of this many columns.
pub fn schedule_to_terminal(schedule: &Schedule, columns: u16) -> String {
    let cells = cells(schedule);
    let mut text = wrap(
        &format!("{}; {}", schedule.simulated_machine.title, schedule.siblings),
        "  ",
        columns,
    );
    text += &wrap(&costs(schedule), "  ", columns);
    let mut loads: Vec<&str> = cells.iter().map(|cell| cell.load).collect();
    loads.dedup();
    if loads.len() > 1 {
        text += &format!("\n{}\n", grid(&overview(&cells, &loads), columns));
    }
    for load in loads {
        let of_load: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.load == load).collect();
        let load = on_one_line(load);
        text += &format!("\n{load}\n\n{}\n", grid(&details(&of_load), columns));
        let shares: Vec<String> = of_load.iter().filter_map(|cell| shares(cell)).collect();
        if !shares.is_empty() {
            text += &wrap(
                "Share of a CPU that each task had while it could run, first seed:",
                "  ",
                columns,
            );
            text += &shares
                .iter()
                .map(|line| wrap(&format!("  {line}"), "    ", columns))
                .collect::<String>();
        }
    }
    if schedule.runs.iter().any(|run| !run.finished) {
        let unfinished =
            "*: not all was done when the time was over, or all tasks that were left waited.";
        text += &format!("\n{}", wrap(unfinished, "   ", columns));
    }
    for cell in cells.iter().filter(|cell| cell.runs.iter().any(|run| run.stuck)) {
        let stuck = format!(
            "{}, {}: not all was done, since all tasks that were left wait for each other, or for what \
             never comes.",
            on_one_line(cell.load),
            cell.policy
        );
        text += &wrap(&stuck, "  ", columns);
    }
    text
}

/// More tasks than these are not named one by one.
const MAX_SHARES: usize = 16;

/// The shares of a policy's tasks, largest first, as `top` lists them.
fn shares(cell: &Cell<'_>) -> Option<String> {
    let shares = &cell.runs.first()?.shares;
    let each: Vec<String> = shares.iter().map(|share| percent(*share)).collect();
    ((1..=MAX_SHARES).contains(&each.len()))
        .then(|| format!("{}: {}", cell.policy, each.join(", ")))
}

fn costs(schedule: &Schedule) -> String {
    let paid = schedule.costs.iter().filter(|cost| cost.nanoseconds > 0);
    let paid: Vec<String> = paid
        .map(|cost| format!("{} {}", cost.name, seconds(cost.nanoseconds as f64 * 1e-9)))
        .collect();
    match paid.is_empty() {
        true => "The kernel's own work costs nothing (--cost).".to_owned(),
        false => format!("Costs: {}.", paid.join(", ")),
    }
}

/// Makespans: a row a policy, a column a load.
fn overview(cells: &[Cell<'_>], loads: &[&str]) -> Table {
    let mut policies: Vec<&str> = Vec::new();
    for cell in cells {
        if !policies.contains(&cell.policy) {
            policies.push(cell.policy);
        }
    }
    let row = |policy: &&str| {
        let time = |load: &&str| {
            let cell = cells.iter().find(|it| it.policy == *policy && it.load == *load);
            cell.map_or("-".to_owned(), time)
        };
        std::iter::once((*policy).to_owned()).chain(loads.iter().map(time)).collect()
    };
    let header = std::iter::once("time").chain(loads.iter().copied()).map(str::to_owned).collect();
    Table { header, rows: policies.iter().map(row).collect() }
}

fn time(cell: &Cell<'_>) -> String {
    let mark = if cell.runs.iter().all(|run| run.finished) { "" } else { " *" };
    short(cell.mean(|run| run.makespan_s)) + mark
}

/// A time that is not broken, and nothing as 0.
fn short(time: f64) -> String {
    if time == 0.0 { "0".to_owned() } else { seconds(time).replace(' ', NO_BREAK) }
}

fn details(cells: &[&Cell<'_>]) -> Table {
    let operation = cells.first().map_or("", |cell| cell.runs[0].operation.as_str());
    let rate = if operation.is_empty() { "ended/s".to_owned() } else { format!("{operation}/s") };
    let to_first = format!("to {}", cells.first().map_or("", |cell| cell.policy));
    let has_latency = cells.iter().any(|cell| cell.runs.iter().any(|run| run.latency.is_some()));
    let has_range = cells.iter().any(|cell| cell.runs.len() > 1);
    let first = cells.first().map_or(1.0, |cell| cell.mean(|run| run.throughput));
    let whole = |number: f64| format!("{number:.0}");
    let latency = |cell: &Cell<'_>, part: fn(&ScheduledTimes) -> f64| {
        short(cell.mean(|run| run.latency.as_ref().map_or(0.0, part)))
    };
    let mut header = vec!["policy", "time"];
    if has_range {
        header.push("range");
    }
    header.extend([&rate, &to_first, "used", "fairness", "switches", "moves", "longest wait"]);
    if has_latency {
        header.extend(["p50", "p99"]);
    }
    let row = |cell: &&Cell<'_>| {
        let mut row = vec![cell.policy.to_owned(), time(cell)];
        if has_range {
            row.push(cell.range().map(short).join(" to "));
        }
        row.extend([
            three_digits(cell.mean(|run| run.throughput)),
            match first > 0.0 {
                true => format!("{:.3}", cell.mean(|run| run.throughput) / first),
                false => "-".to_owned(),
            },
            percent(cell.mean(|run| run.utilization)).replace(' ', NO_BREAK),
            format!("{:.3}", cell.mean(|run| run.fairness)),
            whole(cell.mean(|run| run.switches as f64)),
            whole(cell.mean(|run| run.migrations.all() as f64)),
            short(cell.mean(|run| run.longest_wait_s)),
        ]);
        if has_latency {
            row.extend([latency(cell, |it| it.p50_s), latency(cell, |it| it.p99_s)]);
        }
        row
    };
    let header = header.into_iter().map(str::to_owned).collect();
    Table { header, rows: cells.iter().map(row).collect() }
}

const HEADER: [&str; 25] = [
    "load",
    "policy",
    "seed",
    "finished",
    "stuck",
    "makespan_s",
    "operation",
    "operations",
    "throughput",
    "utilization",
    "fairness",
    "cpu_share",
    "tasks",
    "switches",
    "migrations_same_core",
    "migrations_same_cache",
    "migrations_elsewhere",
    "longest_wait_s",
    "wake_up_p50_s",
    "wake_up_p99_s",
    "latency_p50_s",
    "latency_p95_s",
    "latency_p99_s",
    "latency_p999_s",
    "latency_longest_s",
];

/// The runs as CSV with a header line.
pub fn schedule_to_csv(schedule: &Schedule) -> String {
    let mut table = CsvText::with_header(HEADER);
    for run in &schedule.runs {
        table.row(csv_row(run));
    }
    table.finish()
}

fn csv_row(run: &ScheduledRun) -> [String; 25] {
    let text = |number: Option<f64>| number.map_or(String::new(), |it| it.to_string());
    let [woken, latency] = [run.wake_up, run.latency];
    [
        run.load.clone(),
        run.policy.clone(),
        run.seed.to_string(),
        run.finished.to_string(),
        run.stuck.to_string(),
        run.makespan_s.to_string(),
        run.operation.clone(),
        run.operations.to_string(),
        run.throughput.to_string(),
        run.utilization.to_string(),
        run.fairness.to_string(),
        run.cpu_share.to_string(),
        run.tasks.to_string(),
        run.switches.to_string(),
        run.migrations.same_core.to_string(),
        run.migrations.same_cache.to_string(),
        run.migrations.elsewhere.to_string(),
        run.longest_wait_s.to_string(),
        text(woken.map(|it| it.p50_s)),
        text(woken.map(|it| it.p99_s)),
        text(latency.map(|it| it.p50_s)),
        text(latency.map(|it| it.p95_s)),
        text(latency.map(|it| it.p99_s)),
        text(latency.map(|it| it.p999_s)),
        text(latency.map(|it| it.max_s)),
    ]
}

/// List of policies and loads that can be scheduled.
pub fn list_scheduling(list: &SchedulingList, columns: u16) -> String {
    let table = |header: &[&str], rows: Vec<Vec<String>>| {
        let header = header.iter().map(|&it| it.to_owned()).collect();
        grid(&Table { header, rows }, columns)
    };
    let policy = |it: &ListedPolicy| vec![it.name.clone(), it.summary.clone(), it.source.clone()];
    let load = |it: &ListedLoad| {
        let parameter = |it: &LoadParameter| format!("{}={} ({})", it.name, it.default, it.meaning);
        let parameters = match it.is_file {
            true => "FILE".to_owned(),
            false => it.parameters.iter().map(parameter).collect::<Vec<_>>().join("; "),
        };
        vec![it.name.clone(), it.summary.clone(), parameters]
    };
    let cost = |it: &ListedCost| vec![it.name.clone(), it.meaning.clone()];
    format!(
        "{}\n\n{}\n{}\n\n{}\n",
        table(&["policy", "what it does", "source"], list.policies.iter().map(policy).collect()),
        wrap("A policy with the suffix /smt-off runs on a machine with SMT off.", "", columns),
        table(&["load", "what it is", "parameters"], list.loads.iter().map(load).collect()),
        table(&["cost", "what takes so long"], list.costs.iter().map(cost).collect())
    )
}
