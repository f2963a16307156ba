//! Other work on the CPUs that a measurement may use and on their siblings, and whose it is.

use crate::doctor::check::{Answer, CannotTell, Check};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;
use crate::doctor::tasks::TaskTime;
use crate::doctor::words::percent;

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
/// A task is named from this share of one CPU on.
const NAMED: f64 = 0.02;
/// So many tasks are named.
const TASKS: usize = 5;

fn examine(system: &mut System<'_>) -> Result<Answer, CannotTell> {
    let watch = system.watch()?;
    let times = watch
        .cpus
        .as_ref()
        .ok_or_else(|| CannotTell::new("It takes /proc/stat, which gives no times of CPUs."))?;
    let cpus = system.cpus_and_siblings();
    let share = |cpu| Some((cpu, times.get(&cpu)?.busy_s / watch.seconds));
    let shares: Vec<(u32, f64)> = cpus.iter().filter_map(share).collect();
    let Some(&(busiest, most)) = shares.iter().max_by(|one, two| one.1.total_cmp(&two.1)) else {
        return Err(CannotTell::new("/proc/stat does not name the CPUs that are allowed."));
    };
    let all: f64 = shares.iter().map(|(_, share)| share).sum();
    let busy: Vec<String> = shares
        .iter()
        .filter(|(_, share)| *share >= DISTURBS)
        .map(|(cpu, share)| format!("cpu{cpu} {} busy", percent(*share)))
        .collect();
    let evidence =
        Evidence::new("proc/stat", format!("in {:.2} s: {}", watch.seconds, busy.join(", ")));
    let sentence = format!(
        "Other work kept CPU {busiest} busy for {} of the time, and {all:.2} of {} CPUs in all.",
        percent(most),
        shares.len(),
    );
    let answer = match most {
        most if most >= SPOILS => {
            Answer::spoils(format!("{sentence} {}", who(&watch.tasks, watch.seconds, all)))
        }
        most if most >= DISTURBS => {
            Answer::disturbs(format!("{sentence} {}", who(&watch.tasks, watch.seconds, all)))
        }
        _ => {
            return Ok(Answer::fine(format!(
                "The busiest CPU was busy for {} of {:.2} s.",
                percent(most),
                watch.seconds
            )));
        }
    };
    let tasks = named(&watch.tasks, watch.seconds).map(|task| {
        Evidence::new(
            format!("proc/{}/stat", task.id),
            format!("({}) used {:.2} s", task.name, task.used_s),
        )
    });
    let advice = "Stop other work while measuring, or keep it on other cores.";
    Ok(answer.seen([evidence]).seen(tasks).advise(advice, []))
}

fn named(tasks: &[TaskTime], seconds: f64) -> impl Iterator<Item = &TaskTime> {
    tasks.iter().filter(move |task| task.used_s >= NAMED * seconds).take(TASKS)
}

/// Whose work it was: names with shares of one CPU.
fn who(tasks: &[TaskTime], seconds: f64, all: f64) -> String {
    let shown: Vec<String> = named(tasks, seconds)
        .map(|task| format!("{} ({})", task.name, percent(task.used_s / seconds)))
        .collect();
    let seen: f64 = tasks.iter().map(|task| task.used_s / seconds).sum();
    match (shown.is_empty(), seen < all / 2.0) {
        (true, _) => {
            "No task that can be seen from here did it: look for short-lived ones, and outside \
                      of a container."
                .to_owned()
        }
        (false, true) => format!(
            "Busiest: {}. Most of it came from tasks that cannot be seen from here.",
            shown.join(", ")
        ),
        (false, false) => format!("Busiest: {}.", shown.join(", ")),
    }
}
