//! Limits of trust in simulated figures, a sentence each.

use std::collections::BTreeMap;
use std::path::Path;

use corun_model::timing::Usage;
use corun_record::{Caveat, shown};
use corun_trace::format::Trace;

/// Forms that a sentence names.
const NAMED: usize = 8;

/// The trace is of windows, which are taken for one interval.
pub(super) fn of_windows(trace: &Trace, file: &Path) -> Option<Caveat> {
    let windows = trace.opening().plan.windows()?;
    Some(Caveat::new(
        "windows-as-one",
        format!(
            "{}: its {windows} windows and what leads to each are simulated as one interval, and count alike: \
             `corun predict --sample` counts windows alone, for what they stand for.",
            shown(file)
        ),
    ))
}

/// The trace is damaged, so that nothing after that is simulated.
pub(super) fn of_damage(trace: &Trace, file: &Path) -> Option<Caveat> {
    let damage = trace.damage()?;
    Some(Caveat::new(
        "damaged-trace",
        format!("{}: {damage}. What follows is missing.", shown(file)),
    ))
}

/// This host lacks instructions of the blocks, so that nothing is known of what they write.
pub(super) fn of_missing_instructions(missing: &BTreeMap<String, u64>) -> Option<Caveat> {
    let names: Vec<&str> = missing.keys().take(NAMED).map(String::as_str).collect();
    let more = if missing.len() > names.len() { ", ..." } else { "" };
    (!missing.is_empty()).then(|| {
        Caveat::new(
            "missing-instructions",
            format!(
                "This host lacks instructions of the blocks and stepped over them ({}{more}). Their own addresses are \
                 known; an address, a mask or a count of repetitions that is made of their results is taken as it was \
                 before them.",
                names.join(", ")
            ),
        )
    })
}

/// The times of divisions hang on operands, which a trace does not hold.
pub(super) fn of_quotients(assumed: &BTreeMap<u32, u32>) -> Option<Caveat> {
    let each = assumed.iter().map(|(width, bits)| format!("{bits} bits for {width}-bit divisors"));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        Caveat::new(
            "assumed-quotients",
            format!(
                "The time of a division depends on its quotient, which is not recorded. Assumed: {}.",
                each.join(", ")
            ),
        )
    })
}

/// Forms of instruction have no row in the timing table.
pub(super) fn of_unknown_forms(unknown: &BTreeMap<String, u64>) -> Option<Caveat> {
    let places: u64 = unknown.values().sum();
    let names: Vec<&str> = unknown.keys().take(NAMED).map(String::as_str).collect();
    let more = if unknown.len() > names.len() { ", ..." } else { "" };
    (!unknown.is_empty()).then(|| {
        Caveat::new(
            "unknown-forms",
            format!(
                "{} forms in {places} places of the code have no timing of their own and take that of \
                 their class: {}{more}",
                unknown.len(),
                names.join(", ")
            ),
        )
    })
}

/// Executed instructions took the timing of their class, or of an older core.
pub(super) fn of_timing_rows(usage: &Usage) -> Option<Caveat> {
    usage.sentence().map(|sentence| Caveat::new("timing-rows", sentence))
}
