//! The clock that programs read (`Documentation/timers/timekeeping.rst`).

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;
use crate::doctor::words::write;

pub(super) const CHECK: Check = Check {
    name: "clock-source",
    why: "A clock outside of the core is slow to read, and by one CPU at a time: programs that \
          often ask for the time wait for each other, the more of them there are.",
    examine,
};

/// Clocks that a CPU reads by itself, without the kernel.
const FAST: [&str; 9] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
    "tod",
    "riscv_clocksource",
    "itc",
    "stick",
];
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let folder = "sys/devices/system/clocksource/clocksource0";
    let current = system.read(&format!("{folder}/current_clocksource"))?;
    let available = system.find(&format!("{folder}/available_clocksource"))?;
    let clock = current.text.clone();
    if FAST.contains(&clock.as_str()) {
        return Ok(Answer::fine(format!(
            "The clock is `{clock}`, which each CPU reads by itself."
        ))
        .seen([current]));
    }
    let has_tsc = |it: &Evidence| it.text.split_whitespace().any(|clock| clock == "tsc");
    let command = available
        .as_ref()
        .filter(|it| has_tsc(it))
        .map(|_| write("tsc", &format!("{folder}/current_clocksource")));
    let advice = "Find out from the kernel's log why it gave up a faster clock.";
    let answer = if SLOW.contains(&clock.as_str()) {
        Answer::disturbs(format!("The clock is `{clock}`, which is outside of the core."))
    } else {
        Answer::note(format!("The clock is `{clock}`; it may be slow to read."))
    };
    Ok(answer.seen([current]).seen(available).advise(advice, command))
}
