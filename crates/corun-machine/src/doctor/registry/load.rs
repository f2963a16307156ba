//! Other work on the CPUs that a measurement may use and on their siblings, and whose it is.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::{Evidence, Severity};
use crate::doctor::system::System;
use crate::doctor::watch::Watch;
use crate::tasks::TaskTime;
use corun_stats::percent;

pub(super) const CHECK: Check = Check {
    name: "load",
    why: "Other work takes turns with the workers, or shares their cores: arms that use more \
          logical CPUs meet more of it.",
    examine,
};

/// A CPU that is busy for this share would slow down a worker by more than most effects of SMT.
const SPOILS: f64 = 0.25;
/// Below this share are the kernel's own housekeeping and the resolution of the account.
const DISTURBS: f64 = 0.03;
/// In seconds; the account advances by ticks of 10 ms as a rule, and a tick hits who is there.
const RESOLUTION_S: f64 = 0.03;
/// A task is named from this share of one CPU on.
const NAMED: f64 = 0.02;
/// So many tasks, and so many CPUs, are named.
const TASKS: usize = 5;
const CPUS: usize = 8;

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let watch = system.watch()?;
    let times = watch.cpus.as_ref().ok_or_else(|| {
        CheckUnavailable::new("It takes /proc/stat, which gives no times of CPUs.")
    })?;
    let disturbs = DISTURBS.max(RESOLUTION_S / watch.seconds);
    if disturbs > SPOILS {
        return Err(CheckUnavailable::new(format!(
            "{:.2} s were too short to judge: CPU time is counted in ticks.",
            watch.seconds
        )));
    }
    let cpus = system.cpus_and_siblings();
    // The account advances by ticks, so that it may be a tick ahead.
    let share = |cpu| Some((cpu, (times.get(&cpu)?.busy_s / watch.seconds).min(1.0)));
    let shares: Vec<(u32, f64)> = cpus.iter().filter_map(share).collect();
    let Some(&(busiest, most)) = shares.iter().max_by(|one, two| one.1.total_cmp(&two.1)) else {
        return Err(CheckUnavailable::new("/proc/stat does not name the CPUs that are allowed."));
    };
    if most < disturbs {
        return Ok(Answer::fine(format!(
            "The busiest CPU was busy for {} of {:.2} s.",
            percent(most),
            watch.seconds
        )));
    }
    let all: f64 = shares.iter().map(|(_, share)| share).sum();
    let sentence = format!(
        "Other work kept CPU {busiest} busy for {} of the time, and {all:.2} of {} CPUs in all. {}",
        percent(most),
        shares.len(),
        who(watch, all)
    );
    let severity = if most >= SPOILS { Severity::Spoils } else { Severity::Disturbs };
    let busy = shares.iter().filter(|(_, share)| *share >= disturbs).take(CPUS);
    let busy: Vec<String> =
        busy.map(|(cpu, share)| format!("cpu{cpu} {} busy", percent(*share))).collect();
    let text = format!("in {:.2} s: {}", watch.seconds, busy.join(", "));
    let tasks = named(watch).map(|task| {
        let text = format!("({}) used {:.2} s", task.name, task.used_s);
        Evidence::new(format!("proc/{}/stat", task.id), text)
    });
    Ok(Answer::new(severity, sentence)
        .seen([Evidence::new("proc/stat", text)])
        .seen(tasks)
        .advise("Stop other work while measuring, or keep it on other cores.", []))
}

fn named(watch: &Watch) -> impl Iterator<Item = &TaskTime> {
    let least = NAMED * watch.tasks_seconds;
    watch.tasks.iter().filter(move |task| task.used_s >= least).take(TASKS)
}

/// Whose work it was: names with shares of one CPU.
fn who(watch: &Watch, all: f64) -> String {
    let share = |task: &TaskTime| task.used_s / watch.tasks_seconds;
    let shown: Vec<String> =
        named(watch).map(|task| format!("{} ({})", task.name, percent(share(task)))).collect();
    let seen: f64 = watch.tasks.iter().map(share).sum();
    if shown.is_empty() {
        return "No task that can be seen from here did it: check for short-lived ones, and outside \
                of a container."
            .to_owned();
    }
    let rest =
        if seen < all / 2.0 { " Most came from tasks that cannot be seen from here." } else { "" };
    format!("Busiest: {}.{rest}", shown.join(", "))
}
