//! Tasks that wait for memory, and pages that move to and from swap.
//!
//! The first account is described in the kernel's `Documentation/accounting/psi.rst`.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;

pub(super) const CHECK: Check = Check {
    name: "memory-pressure",
    why: "Arms with more process copies need more memory: where it is short they wait for the \
          disk, not for the core.",
    examine,
};

/// In per cent of the time; less is gone before a run begins.
const WAITED: f64 = 0.1;
/// The averages that describe the present: of 10 seconds and of a minute, in per cent of the time.
const AVERAGES: [&str; 2] = ["avg10=", "avg60="];

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let pressure = system.find("proc/pressure/memory")?;
    let swapped = system.watch().ok().and_then(|watch| Some((watch.swapped_pages?, watch.seconds)));
    let advice = "Free memory, or measure fewer copies.";
    if let Some((pages, seconds)) = swapped.filter(|(pages, _)| *pages > 0) {
        let text = format!("pswpin + pswpout: {pages} more in {seconds:.2} s");
        return Ok(Answer::disturbs("The machine is swapping.")
            .seen([Evidence::new("proc/vmstat", text)])
            .advise(advice, []));
    }
    let Some(pressure) = pressure else {
        return match swapped {
            Some(_) => Ok(Answer::fine("The machine is not swapping.")),
            None => Err(CheckUnavailable::new(
                "There is neither /proc/pressure/memory nor a second reading \
                 of /proc/vmstat.",
            )),
        };
    };
    let waited = waited(&pressure).ok_or_else(|| pressure.unexpected("averages of `some`"))?;
    let line = pressure.text.lines().next().unwrap_or_default();
    let evidence = [Evidence::new(pressure.file.clone(), line)];
    let sentence = format!("Tasks waited for memory for {waited:.2} % of the last minute.");
    Ok(if waited >= WAITED {
        Answer::disturbs(sentence).seen(evidence).advise(advice, [])
    } else {
        Answer::fine(sentence).seen(evidence)
    })
}

/// The higher of the averages of `some`, in per cent.
fn waited(pressure: &Evidence) -> Option<f64> {
    let some = pressure.text.lines().find_map(|line| line.strip_prefix("some "))?;
    let average = |name: &&str| {
        let value = some.split(' ').find_map(|word| word.strip_prefix(*name))?;
        value.parse().ok().filter(|value: &f64| value.is_finite())
    };
    AVERAGES.iter().map(average).try_fold(0.0, |most: f64, value| Some(most.max(value?)))
}
