//! The caveats of a prediction: what its figures leave out, one sentence each.

use corun_model::{CoreModel, PredictionError, PredictionErrors};
use corun_record::{
    Caveat, Effect, Estimate, KnownBy, MeasuredRun, MeasuredRuns, PageSize, PredictedPlacement,
};
use corun_trace::{Ending, SourcePlace, TracePlan};

use super::report::{Assessed, kernel_share_of};
use super::{MeasuredOther, Report, ThreadsRun};
use crate::siblings::{Threads, model_error_caveat};

/// The error of a model's cycles that their interval holds.
fn model_error(model: &str) -> Caveat {
    let (of, PredictionError { programs, log_error }) =
        PredictionErrors::committed().of_cycles(model);
    let why = match of == model {
        true => "",
        false => ", the largest known: no program was measured on such a core",
    };
    Caveat::new(
        "model-error",
        format!(
            "The interval of the cycles holds the choice of windows and the error of `{of}` on {programs} programs that it was not \
             tuned with ({:.0} %, root mean square{why}): docs/accuracy.md.",
            100.0 * log_error
        ),
    )
}

/// Resources of a component of the cycle stack, by their paths in a model.
fn resources_of(component: &str) -> &'static [&'static str] {
    match component.strip_prefix("sibling: ").unwrap_or(component) {
        "front end" => &["front.fetch", "front.predecoder", "front.decoder", "front.op_cache"],
        "dispatch" => &["back.dispatch"],
        "reorder buffer" => &["back.rob"],
        "load queue" => &["memory.loads"],
        "store queue" => &["memory.stores"],
        "registers" => &["back.registers"],
        "scheduler" | "ports" => &["back.schedulers"],
        "L1I" => &["front.l1i"],
        "L1D" => &["memory.l1d"],
        "L2" => &["hierarchy.l2"],
        _ => &[],
    }
}

/// Resources that make the program slower beside its sibling, and whose sharing the model assumes.
pub(super) fn of_assumptions(
    placements: &[PredictedPlacement],
    model: &CoreModel,
) -> Option<Caveat> {
    let resources = model.resources();
    let assumed = |path: &&&str| resources.iter().any(|it| it.name == **path && it.is_assumed);
    let (mut names, mut share) = (Vec::new(), 0.0);
    let costs = placements.first()?.causes.iter().filter(|it| it.effect == Effect::Costs);
    for cause in costs {
        let found: Vec<&str> =
            resources_of(&cause.component).iter().filter(assumed).copied().collect();
        share += if found.is_empty() { 0.0 } else { cause.share };
        names.extend(found.into_iter().filter(|it| !names.contains(it)).collect::<Vec<_>>());
    }
    (!names.is_empty()).then(|| {
        Caveat::new(
            "assumed-sharing",
            format!(
                "The sharing of {} by siblings on {} is assumed: {:.0} % of the cycles that the sibling adds are of these.",
                names.join(", "),
                model.name,
                100.0 * share
            ),
        )
    })
}

/// The clock that makes work a second of work a cycle; none where siblings leave it as it is.
fn of_clock(report: &Report<'_>) -> Option<Caveat> {
    let clock = report.sibling_clock();
    let is_changed = clock.low < 1.0 && report.assessed().iter().any(Assessed::can_be);
    is_changed.then(|| {
        let sentence = match clock.known {
            KnownBy::Measured => format!(
                "Work a second is that of a cycle at {:.2} times the clock without busy siblings ({:.2} to {:.2}), as measured here.",
                clock.ratio, clock.low, clock.high
            ),
            KnownBy::Published | KnownBy::Assumed => format!(
                "How far busy siblings lower the clock is not known: the interval of work a second goes down to {:.2} times the \
                 clock without them ({}).",
                clock.low, clock.source
            ),
        };
        Caveat::new("sibling-clock", sentence)
    })
}

/// The part of a slice's refills that may come late, if they are to be over.
const MOST_LATE: f64 = 0.3;

/// The share of waits from which on a caveat says where they are from.
const NOTABLE_WAITS: f64 = 0.1;

/// User time below which start-up decides what is measured, in seconds.
const MIN_USER_S: f64 = 0.01;

/// Said of files whose functions and source lines are not named.
pub(super) fn without_lines(mut files: Vec<String>) -> Option<Caveat> {
    files.sort();
    files.dedup();
    let sentence = format!(
        "Functions and source lines of {} may be missing: of a file, no more than {} MiB of debug information are read.",
        files.join(", "),
        SourcePlace::MOST_BYTES >> 20
    );
    (!files.is_empty()).then(|| Caveat::new("without-lines", sentence))
}

/// The caveats of all stages: the job's, the measurement's, and those that follow from the figures.
pub(super) fn of(report: &Report<'_>) -> Vec<Caveat> {
    let (recorded, simulated) = (report.recorded, &report.simulated.windows);
    let instructions = report.extrapolated.instructions;
    let mut caveats = report.core.caveats.clone();
    caveats.extend(of_limit(report));
    caveats.extend(other_work(report));
    caveats.extend(report.job.caveats.iter().cloned());
    caveats.extend(report.measured.caveats.iter().cloned());
    caveats.extend(report.fitted.caveat.iter().cloned());
    caveats.extend([
        Caveat::new(
            "alone",
            "Nothing else is simulated: neither the kernel's own work nor programs on other cores, which take \
             room in the last-level cache and a share of memory's bandwidth.",
        ),
        model_error(&report.core.model.name),
    ]);
    let assessed = report.assessed();
    caveats.extend(assessed.iter().any(Assessed::can_be).then(model_error_caveat));
    caveats.extend(of_clock(report));
    let changed = assessed.iter().filter(|it| it.setting.is_some() && !it.can_be());
    caveats.extend(changed.map(|it| {
        let arm = format!("{} with {}", it.placement, it.setting.unwrap_or_default());
        without_figure(&arm, it.work().is_some(), report)
    }));
    let as_it_is: Vec<&Assessed> = assessed.iter().filter(|it| it.setting.is_none()).collect();
    caveats.extend(report.job.beside.placements.iter().filter_map(|asked| {
        let found = as_it_is.iter().find(|it| it.placement == *asked);
        let is_simulated = found.is_some_and(|it| it.work().is_some());
        let has_figure = found.is_some_and(|it| it.can_be());
        (!has_figure).then(|| without_figure(&asked.to_string(), is_simulated, report))
    }));
    caveats.extend(notable_kernel_share("The program", report.kernel_share()));
    if report.job.pages == PageSize::Huge {
        let of_measured = match report.measured.runs {
            Some(_) => "; what it was measured with was up to this host's kernel",
            None => "",
        };
        let sentence =
            format!("The simulated program has its data in pages of 2 MiB{of_measured}.");
        caveats.push(Caveat::new("huge-pages", sentence));
    }
    let threads = recorded.trace.threads().len();
    if threads > 1 {
        let together = match report.threads.is_empty() {
            true => {
                " `--placement packed` predicts its threads together, and {workers} in the command that of a program that \
                 takes their number."
            }
            false => "",
        };
        caveats.push(Caveat::new(
            "one-thread",
            format!(
                "Alone, of {threads} threads only the busiest was simulated and compared.{together}"
            ),
        ));
    }
    caveats.extend((!report.threads.is_empty()).then(|| {
        Caveat::new(
            "threads-together",
            "Threads were recorded together, in up to three windows of a long run, which begin with cold caches, and each \
             window is simulated from its beginning to its end; that instructions take as long in the rest of the run is an \
             assumption, and so is that threads wait as often as in the recording.",
        )
    }));
    caveats.extend(report.threads.iter().filter(|run| run.setting.is_none()).filter_map(of_waits));
    if let TracePlan::Window { .. } = recorded.plan.rest().0
        && simulated.together.instructions < instructions
    {
        caveats.push(Caveat::new(
            "start-only",
            format!(
                "Only the first {} of {} instructions were simulated; the rest is taken to be like \
                 them.",
                simulated.together.instructions, instructions
            ),
        ));
    }
    if let TracePlan::SimulationPoints { windows, .. } = recorded.plan.rest().0
        && (simulated.windows.len() < windows.len()
            || simulated.windows.iter().any(|window| window.weight.is_none()))
    {
        caveats.push(Caveat::new(
            "windows-missing",
            "Not all windows that stand for the run were recorded of the thread, so that the others count for \
             more, or each for as much: the run was shorter than the one before, or another thread ran in them.",
        ));
    }
    let unknown: u64 = simulated.together.unknown.values().map(|one| one.places.len() as u64).sum();
    if unknown > 0 {
        caveats.push(Caveat::new(
            "unknown-forms",
            format!(
                "The timing table has no row for {} of the program's forms of instruction (places in \
                 the code: {unknown}); they take the timing of their class.",
                simulated.together.unknown.len()
            ),
        ));
    }
    if let Ending::Exited(code) = recorded.ending
        && code != 0
    {
        caveats.push(Caveat::new("exit-code", format!("The program ends with exit code {code}.")));
    }
    caveats.extend(report.other.iter().flat_map(|other| of_other(other)));
    caveats.extend(report.siblings.caveats.iter().cloned());
    caveats.extend(report.stacked.caveat.clone());
    caveats.extend(report.stacked.predicted.as_ref().filter(|it| it.late_share > MOST_LATE).map(|it| {
        Caveat::new(
            "late-refill",
            format!(
                "Of what a time slice loses to refilled caches, {:.0} % were lost in the later half of what was simulated of \
                 it: stacked copies lose more than what is predicted.",
                100.0 * it.late_share
            ),
        )
    }));
    caveats.extend(recorded.remarks.iter().map(|remark| Caveat::new("tracer", remark.clone())));
    // Of a whole run it is said from the run before it was traced.
    let of_part = report.measured.runs.iter().filter(|_| report.job.from.is_some());
    caveats.extend(of_part.filter_map(notable_children));
    caveats.extend(report.measured.runs.iter().flat_map(of_runs));
    caveats
}

/// Said of a placement that was asked for and has no figure, although something of it was simulated or not.
fn without_figure(arm: &str, is_simulated: bool, report: &Report<'_>) -> Caveat {
    let cut = report.is_cut.then_some(report.was_interrupted);
    let (kind, why) = why_without_figure(is_simulated, cut);
    Caveat::new(kind, format!("There is no figure of {arm}: {why}"))
}

/// The kind of caveat and the reason, which a user who ended the simulation or a limit may be.
fn why_without_figure(is_simulated: bool, cut: Option<bool>) -> (&'static str, &'static str) {
    match (is_simulated, cut) {
        (true, _) => (
            "implausible-yield",
            "what was simulated is no yield that a core can have, which happens where little is simulated and caches are \
             cold.",
        ),
        (false, Some(true)) => {
            ("no-figure", "it was ended before enough was simulated beside siblings.")
        }
        (false, Some(false)) => (
            "no-figure",
            "the time allowed was over before enough was simulated beside siblings; more --max-time simulates more.",
        ),
        (false, None) => ("no-figure", "the run is too short for windows beside siblings."),
    }
}

/// Caveats of a prediction that the limit or the user cut short.
fn of_limit(report: &Report<'_>) -> Vec<Caveat> {
    let allowed = humantime::format_duration(report.job.limit.max_time());
    let why = |by_user| match by_user {
        true => "It was ended by the user".to_owned(),
        false => format!("The time allowed ({allowed}) was over"),
    };
    let of_run = report.recorded.cut.map(|cut| {
        let all = cut.instructions.filter(|all| *all > report.recorded.instructions);
        let all = all.map(|all| format!(" of {all}")).unwrap_or_default();
        let more = if cut.by_user { "" } else { " More --max-time sees more." };
        format!(
            "{} while the program was traced: the figures are of its first {}{all} instructions, and the rest may be \
             otherwise.{more}",
            why(cut.by_user),
            report.recorded.instructions
        )
    });
    let of_windows = report.is_cut.then(|| {
        format!(
            "{} before all was simulated: {:.0} % of the windows are missing, and the intervals hold what these may add; what \
             has no figure was not simulated.",
            why(report.was_interrupted),
            100.0 * report.missing
        )
    });
    of_run.into_iter().chain(of_windows).map(|it| Caveat::new("time-limit", it)).collect()
}

/// The part of the instructions that count by which those of two runs may differ.
const SAME_WORK: f64 = 0.05;

/// Said of a program that does other work in each run.
fn other_work(report: &Report<'_>) -> Option<Caveat> {
    let (first, then) = report.recorded.both_counts?;
    let counted = first.max(then).saturating_sub(report.recorded.before);
    let differs = first.abs_diff(then) as f64 > SAME_WORK * counted as f64;
    differs.then(|| {
        Caveat::new(
            "other-work",
            format!(
                "The program executed {first} instructions when they were counted, and {then} when it was recorded: it does other \
                 work in each run, as programs do that work for a time, and what is predicted is of the recorded one."
            ),
        )
    })
}

/// Said of a program that is in the kernel for a notable part of its time, and not so long that it is not predicted.
fn notable_kernel_share(which: &str, share: Option<Estimate>) -> Option<Caveat> {
    let share = share?.value;
    let is_notable = share > MeasuredRuns::NOTABLE_KERNEL_SHARE;
    (is_notable && share <= MeasuredRuns::MAX_KERNEL_SHARE).then(|| {
        Caveat::new(
            "kernel-share",
            format!(
                "{which} is in the kernel for {:.0} % of its time: what is predicted is its own code, and what a \
                 sibling does to its time in the kernel is left open.",
                100.0 * share
            ),
        )
    })
}

/// Said of a program whose processes have a notable part of its time, and not so much that it is not predicted.
fn notable_children(measured: &MeasuredRuns) -> Option<Caveat> {
    let share = measured.children_share();
    let notable = MeasuredRuns::NOTABLE_CHILDREN_SHARE..=MeasuredRuns::MAX_CHILDREN_SHARE;
    notable.contains(&share).then(|| {
        Caveat::new(
            "children",
            format!(
                "After the call, the program starts processes that take {:.0} % of its processor time: what is predicted is its \
                 own work.",
                100.0 * share
            ),
        )
    })
}

/// Said of threads that wait for each other for a notable part of their time.
fn of_waits(run: &ThreadsRun) -> Option<Caveat> {
    let stack = Threads::of(&run.beside).stack();
    let share = stack.iter().find(|it| it.component == "waiting")?.share;
    (share > NOTABLE_WAITS).then(|| {
        Caveat::new(
            "threads-waited",
            format!(
                "In {} threads wait for each other for {:.0} % of their time. They wait as in the recording: where the machine \
                 was busy, or has fewer CPUs than the program has threads, they ran one after the other there and do so in the \
                 simulation.",
                run.placement,
                100.0 * share
            ),
        )
    })
}

/// The caveats of the program on the other hardware thread.
fn of_other(other: &MeasuredOther) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = other.caveat.iter().cloned().collect();
    caveats.extend(notable_kernel_share("The other program", kernel_share_of(other)));
    let threads = other.run.trace.threads().len();
    if threads > 1 {
        let sentence = format!("Of {threads} threads of the other program only the busiest runs.");
        caveats.push(Caveat::new("one-thread-of-other", sentence));
    }
    if let Ending::Exited(code @ 1..) = other.run.ending {
        let sentence = format!("The other program ends with exit code {code}.");
        caveats.push(Caveat::new("exit-code-of-other", sentence));
    }
    let remarks = other.run.remarks.iter();
    caveats.extend(
        remarks.map(|it| Caveat::new("tracer-of-other", format!("The other program: {it}"))),
    );
    caveats
}

/// The caveats that follow from the measured runs.
fn of_runs(measured: &MeasuredRuns) -> Vec<Caveat> {
    let runs = &measured.runs;
    let mut caveats = Vec::new();
    let shortest = runs.iter().map(|run| run.user_s).fold(f64::INFINITY, f64::min);
    if shortest < MIN_USER_S {
        caveats.push(Caveat::new(
            "short",
            "What counts of the program is over so soon that cold caches decide what is measured, rather \
             than its work.",
        ));
    }
    let stolen = runs.iter().filter(|run| run.steal_s.is_some_and(|steal| steal > 0.0)).count();
    if stolen > 0 {
        caveats.push(Caveat::new(
            "steal",
            format!(
                "In {stolen} of {} measured runs the hypervisor took the CPU away for a while.",
                runs.len()
            ),
        ));
    }
    let share = runs.iter().filter_map(|run| run.contention_share).fold(0.0, f64::max);
    if !runs.iter().all(MeasuredRun::had_core_to_itself) {
        caveats.push(Caveat::new(
            "shared-core",
            format!(
                "Somebody else, such as a sibling that the virtual machine hides, took slots of the core in up \
                 to {:.0} % of the probes of a run that counts: alone the program takes less than what was \
                 measured.",
                100.0 * share
            ),
        ));
    }
    let clocks = runs.iter().map(|run| run.ghz);
    let (low, high) =
        clocks.fold((f64::INFINITY, 0.0_f64), |(low, high), ghz| (low.min(ghz), high.max(ghz)));
    if high > 1.02 * low {
        caveats.push(Caveat::new(
            "unsteady-clock",
            format!("The clock was between {low:.2} and {high:.2} GHz from run to run."),
        ));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::why_without_figure;

    #[test]
    fn what_was_not_simulated_is_not_called_implausible() {
        for (is_simulated, cut, kind, said) in [
            (true, Some(false), "implausible-yield", "no yield that a core can have"),
            (false, Some(false), "no-figure", "--max-time"),
            (false, Some(true), "no-figure", "ended"),
            (false, None, "no-figure", "too short"),
        ] {
            let (found, why) = why_without_figure(is_simulated, cut);
            assert_eq!(found, kind);
            assert!(why.contains(said), "{why}");
        }
    }
}
