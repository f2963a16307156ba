//! Time that the hypervisor gave to others although there was work.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;
use crate::doctor::words::cpus;
use crate::evidence::{CpuTime, CpuTimes};
use corun_stats::percent;

pub(super) const CHECK: Check = Check {
    name: "steal",
    why: "A worker whose CPU is taken away looks slow, and arms that use more CPUs lose more.",
    examine,
};

/// corun counts on its own samples from this share on.
const SHARE: f64 = 0.01;

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let stat = system.read("proc/stat")?;
    let used = system.cpus();
    // Only shares are asked for, so that the length of a tick does not matter.
    let since_boot = CpuTimes::parse(&stat.text, 1.0).0;
    let since_boot = since_boot.iter().filter(|(cpu, _)| used.contains(**cpu));
    let (busy, steal) = since_boot
        .fold((0.0, 0.0), |(busy, steal), (_, time)| (busy + time.busy_s, steal + time.steal_s));
    if busy + steal <= 0.0 {
        return Err(CheckUnavailable::new(
            "/proc/stat gives no times of the CPUs that are allowed.",
        ));
    }
    let since_boot = steal / (busy + steal);
    let watched = system.watch().ok().and_then(|watch| Some((watch, watch.cpus.as_ref()?)));
    let now = watched.map_or(0.0, |(watch, times)| {
        let stolen = |cpu| times.get(&cpu).map(|time: &CpuTime| time.steal_s);
        used.iter().filter_map(stolen).fold(0.0, f64::max) / watch.seconds
    });
    let evidence = Evidence::new(
        "proc/stat",
        format!("steal since boot: {} of the time in which there was work", percent(since_boot)),
    );
    if now.max(since_boot) < SHARE {
        let sentence = format!(
            "{} of the working time of {} was stolen since boot.",
            percent(since_boot),
            cpus(&used)
        );
        return Ok(Answer::fine(sentence));
    }
    let sentence = match watched {
        Some((watch, _)) if now >= SHARE => format!(
            "The hypervisor took up to {} of a CPU away in the {:.2} s watched, and {} of the \
             working time since boot.",
            percent(now),
            watch.seconds,
            percent(since_boot)
        ),
        _ => format!(
            "The hypervisor took {} of the working time away since boot.",
            percent(since_boot)
        ),
    };
    let advice = "Ask for dedicated CPUs, or measure when the host is quiet; each run of corun \
                  measure says how much was stolen from its samples.";
    Ok(Answer::disturbs(sentence).seen([evidence]).advise(advice, []))
}
