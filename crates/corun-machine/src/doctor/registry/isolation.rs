//! CPUs that are kept free of other work on purpose: good news, if corun may use them.
//!
//! `isolcpus=` and `nohz_full=` are described in `Documentation/admin-guide/kernel-parameters.rst`.

use crate::CpuSet;
use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::{CPUS, System};
use crate::doctor::words::cpus;

pub(super) const CHECK: Check = Check {
    name: "isolation",
    why: "Isolated CPUs are the quietest to measure on; the kernel spreads no tasks over them by \
          itself, so that unpinned arms mean something else there.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let (isolated, isolated_text) = list(system, "isolated")?;
    let (tickless, tickless_text) = list(system, "nohz_full")?;
    let quiet = isolated.union(&tickless).intersection(&system.machine.online());
    let evidence = isolated_text.into_iter().chain(tickless_text).filter(|it| !it.text.is_empty());
    let evidence: Vec<Evidence> = evidence.collect();
    if quiet.is_empty() {
        return Ok(Answer::fine("No CPUs are set apart from the rest, so that all are alike."));
    }
    let allowed = system.cpus();
    if quiet.is_disjoint(&allowed) {
        let sentence = format!("{} are isolated, and corun may not use them yet.", cpus(&quiet));
        return Ok(Answer::note(sentence).seen(evidence).advise(
            "Start corun on them.",
            [format!("taskset --cpu-list {quiet} corun measure -- COMMAND")],
        ));
    }
    if allowed.is_subset(&quiet) {
        let sentence = format!(
            "All allowed CPUs are isolated ({}): a quiet place. Leave out the arm `free`.",
            cpus(&allowed)
        );
        return Ok(Answer::fine(sentence).seen(evidence));
    }
    let sentence = format!(
        "{} are isolated and other allowed CPUs are not: arms may mix quiet and ordinary CPUs.",
        cpus(&quiet.intersection(&allowed))
    );
    Ok(Answer::disturbs(sentence).seen(evidence).advise(
        "Start corun on the isolated ones only.",
        [format!("taskset --cpu-list {} corun measure -- COMMAND", quiet.intersection(&allowed))],
    ))
}

/// A list of CPUs; kernels print `(null)` for one that was never given.
fn list(
    system: &mut System<'_>,
    name: &str,
) -> Result<(CpuSet, Option<Evidence>), CheckUnavailable> {
    let Some(found) = system.find(&format!("{CPUS}/{name}"))? else {
        return Ok((CpuSet::new(), None));
    };
    if found.text == "(null)" {
        return Ok((CpuSet::new(), None));
    }
    let set = CpuSet::from_list(&found.text).map_err(|_| found.unexpected("a list of CPUs"))?;
    Ok((set, Some(found)))
}
