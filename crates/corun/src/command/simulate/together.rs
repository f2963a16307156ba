//! Recorded programs together: on cores of their own, as siblings, or taking turns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use corun_model::timing::TimingTable;
use corun_model::{CoreModel, validation_caveat};
use corun_record::{
    Caveat, Document, Exit, Placement, Placements, Portion, Progress, Record, Stage,
};
use corun_report::placements_to_terminal;
use corun_sim::plausible::cold_start;
use corun_sim::thread_mapping::{MappingRequest, ThreadMapping, map_threads};
use corun_sim::{Outcome, Phase, PlacedWorker, Process, Setup, in_parallel, simulate_together};
use corun_trace::format::Trace;

use super::{Arguments, caveats, document, placements, resources};
use crate::answer::Head;
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::terminal;

pub(super) fn run(
    arguments: &Arguments,
    model: &CoreModel,
    timings: &TimingTable,
    files: &[PathBuf],
) -> Result<ExitCode, Problem> {
    resources::check(arguments)?;
    let json: Form<Record<Placements>> = Document::to_json;
    let exports = Exports::open([(arguments.json.path(), json)])?;
    let head = Head::now();
    let traces = opened(files)?;
    let processes: Vec<Process<'_>> = traces.iter().map(Process::of).collect();
    let workers = names(files, &processes);
    let plans = plans(arguments, model, &processes, workers.len())?;
    let setup = Setup {
        model,
        timings,
        processes: &processes,
        mapping: &ThreadMapping::default(),
        warm_up: arguments.warmup,
        length: arguments.length,
        slice_ms: arguments.slice,
        switch_us: arguments.switch,
        pages: arguments.pages.into(),
        seed: arguments.seed,
        offsets: &[],
        first_turn: 0,
        own_code: false,
    };
    let phases = simulated(setup, &plans, arguments)?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (plan, phase) in plans.iter().zip(phases) {
        match outcomes.last_mut().filter(|last| last.placement == plan.placement) {
            // Single workers, each alone, are one phase together.
            Some(last) if plan.placement == Placement::Single => {
                last.phases[0].workers.extend(phase.workers);
            }
            Some(last) => last.phases.push(phase),
            None => outcomes.push(Outcome {
                placement: plan.placement,
                phases: vec![phase],
                matched: Vec::new(),
            }),
        }
    }
    match_starts(setup, &plans, &mut outcomes, arguments)?;
    let mut caveats: Vec<Caveat> = validation_caveat(model)?.into_iter().collect();
    for (trace, file) in traces.iter().zip(files) {
        caveats.extend(caveats::of_damage(trace, file));
        caveats.extend(caveats::of_windows(trace, file));
    }
    caveats.extend(of_cold_starts(&processes, files, arguments));
    caveats.extend(of_short_windows(&outcomes, model, &workers, arguments));
    let resources = match arguments.resources {
        true => resources::varied(setup, &plans, &outcomes, arguments, &mut caveats)?,
        false => Vec::new(),
    };
    caveats.extend(caveats::of_timing_rows(timings.usage()));
    let (comparisons, refused) = placements::comparisons(&outcomes);
    let has_siblings = comparisons
        .iter()
        .any(|it| matches!(it.placement, Placement::Full(_) | Placement::Packed(_)));
    caveats.extend(has_siblings.then(|| Caveat::new("cycles", OF_CYCLES)));
    let answer = Placements {
        core: document::core(model, arguments),
        pages: setup.pages,
        workers,
        placements: outcomes.iter().map(placements::placement).collect(),
        comparisons,
        refused,
        resources,
        timing_rows: document::timing_rows(timings.usage()),
    };
    let answer = Record { caveats, ..head.record(answer) };
    exports.write(&answer, |answer| placements_to_terminal(answer, terminal::width()), json)?;
    Ok(code(Exit::Done))
}

const OF_CYCLES: &str = "\
Ratios are of work a cycle: how busy siblings change the clock is not simulated; `corun predict` gives work a second, too.";

/// Simulates placements that others are compared with once more, their workers begun where those of the others begin, so
/// that each figure compares the same instructions after the same warm-up.
fn match_starts(
    setup: Setup<'_, '_>,
    plans: &[SimulationJob],
    outcomes: &mut [Outcome],
    arguments: &Arguments,
) -> Result<(), Problem> {
    let mut all: Vec<(usize, SimulationJob)> = Vec::new();
    for (at, reference) in outcomes.iter().enumerate() {
        let is_compared = |other: &&Outcome| match (other.placement, reference.placement) {
            (
                Placement::Full(_) | Placement::Packed(_) | Placement::Scatter(_),
                Placement::Spread(_),
            ) => true,
            (other, Placement::Single) => other != Placement::Single,
            _ => false,
        };
        let mut wanted: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (worker, offsets) in
            outcomes.iter().filter(is_compared).flat_map(|other| other.unmatched(reference))
        {
            let known = wanted.entry(worker).or_default();
            known.extend(offsets);
            known.sort_by(f64::total_cmp);
            known.dedup();
        }
        let own: Vec<&SimulationJob> = plans
            .iter()
            .filter(|plan| plan.placement == reference.placement && plan.phase == 0)
            .collect();
        for plan in own {
            let seated: Vec<usize> = plan.mapping.workers().collect();
            let offsets_of = |worker: &usize| wanted.get(worker).map_or(&[][..], Vec::as_slice);
            let rounds = seated.iter().map(|worker| offsets_of(worker).len()).max().unwrap_or(0);
            for round in 0..rounds {
                let offset = |worker: &usize| {
                    let known = offsets_of(worker);
                    known.get(round).or(known.last()).copied().unwrap_or(0.0)
                };
                let offsets = seated.iter().map(offset).collect();
                all.push((at, SimulationJob { offsets, mapping: plan.mapping.clone(), ..*plan }));
            }
        }
    }
    let each_plan: Vec<(&CoreModel, &SimulationJob)> =
        all.iter().map(|(_, plan)| (setup.model, plan)).collect();
    for ((at, _), phase) in all.iter().zip(each(setup, &each_plan, arguments)?) {
        outcomes[*at].matched.push(phase);
    }
    Ok(())
}

/// Windows follow too little for caches to be warm.
fn of_cold_starts(
    processes: &[Process<'_>],
    files: &[PathBuf],
    arguments: &Arguments,
) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for (process, file) in processes.iter().zip(files) {
        let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let workers = process.trace.threads().iter();
        let workers = workers.filter(|thread| process.workers.contains(&thread.id));
        let most = workers.map(|thread| thread.instructions).max().unwrap_or(0);
        let left = most.saturating_sub(arguments.warmup);
        let counted = arguments.length.map_or(left, |length| length.min(left));
        caveats.extend(
            cold_start(most, arguments.warmup, counted)
                .map(|sentence| Caveat::new("cold-start", format!("{file}: {sentence}"))),
        );
    }
    caveats.dedup();
    caveats
}

/// A slice is several rounds of a worker's window: all but the first of them find their data where the one before
/// left it, while workers that do not take turns are counted in their first round.
fn of_short_windows(
    outcomes: &[Outcome],
    model: &CoreModel,
    workers: &[String],
    arguments: &Arguments,
) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let slice = arguments.slice * model.gigahertz * 1e6;
    // Single workers have the same CPU, one after the other.
    for outcome in outcomes.iter().filter(|outcome| outcome.placement != Placement::Single) {
        let seated = outcome.phases.first().map_or(&[][..], |phase| &phase.workers[..]);
        let rounds = |one: &PlacedWorker| {
            let there = |it: &&PlacedWorker| (it.core, it.cpu) == (one.core, one.cpu);
            let taking_turns = seated.iter().filter(there).count() as f64;
            if taking_turns > 1.0 { slice * taking_turns / one.cycles.max(1.0) } else { 0.0 }
        };
        let longest =
            seated.iter().map(|one| (rounds(one), one)).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((rounds, one)) = longest.filter(|(rounds, _)| *rounds >= 2.0) {
            let sentence = format!(
                "{}: a slice of {} ms is {rounds:.0} rounds of {}, which find in the caches what the round \
                 before left there, as those that do not take turns do not: record and count {:.0}k instructions \
                 (--length), or give a shorter --slice.",
                outcome.placement,
                arguments.slice,
                workers[one.worker],
                one.instructions as f64 * rounds * 1e-3
            );
            caveats.push(Caveat::new("short-window", sentence));
        }
    }
    caveats
}

fn opened(files: &[PathBuf]) -> Result<Vec<Trace>, Problem> {
    let mut traces = Vec::new();
    for file in files {
        let trace = super::opened(file)?;
        if trace.threads().iter().all(|thread| thread.instructions == 0) {
            return Err(Problem::failed(
                format!("{}: expected instructions, found none", corun_record::shown(file)),
                "Record it again with `corun trace`.",
            ));
        }
        traces.push(trace);
    }
    Ok(traces)
}

/// Name of each worker: its trace, and its thread where there are several.
fn names(files: &[PathBuf], processes: &[Process<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    for (file, process) in files.iter().zip(processes) {
        let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        for thread in &process.workers {
            names.push(match process.is_ordered() {
                true => format!("{file}, thread {}", thread.0),
                false => file.clone().into_owned(),
            });
        }
    }
    names
}

/// One simulation.
pub(super) struct SimulationJob {
    pub(super) placement: Placement,
    pub(super) mapping: ThreadMapping,
    pub(super) phase: usize,
    pub(super) phases: usize,
    /// Begin of each worker, if not where the phase says.
    pub(super) offsets: Vec<f64>,
}

fn plans(
    arguments: &Arguments,
    model: &CoreModel,
    processes: &[Process<'_>],
    workers: usize,
) -> Result<Vec<SimulationJob>, Problem> {
    let is_ordered = processes.iter().any(Process::is_ordered);
    let is_cut = arguments.warmup > 0 || arguments.length.is_some();
    if is_ordered && is_cut {
        return Err(Problem::usage(
            "expected no --warmup and no --length with a program of several workers, found one",
            "Its threads wait for each other, so that it is simulated as a whole; record a shorter run.",
        ));
    }
    for process in processes {
        let threads = process.trace.threads().iter();
        let longest = threads.map(|it| it.end() - it.begin()).max().unwrap_or(0);
        if longest <= arguments.warmup {
            return Err(Problem::failed(
                format!(
                    "expected instructions after the first {}, found {longest} in all",
                    arguments.warmup
                ),
                "Ask for a shorter --warmup, or record more.",
            ));
        }
    }
    let mut plans = Vec::new();
    for &placement in &arguments.placement {
        if placement == Placement::Single {
            if is_ordered {
                return Err(Problem::usage(
                    "expected programs of one worker each for `single`, found several workers",
                    "They wait for each other: ask for spread, full, packed, stacked or free.",
                ));
            }
            let alone = |worker| {
                let (mapping, offsets) = (vec![vec![vec![worker]]], Vec::new());
                SimulationJob { placement, mapping: mapping.into(), phase: 0, phases: 1, offsets }
            };
            plans.extend((0..workers).map(alone));
            continue;
        }
        let wanted = MappingRequest {
            cores: arguments.cores.map(|cores| cores as usize),
            smt_width: model.smt_width as usize,
            workers,
            repeats: !is_ordered,
        };
        let mapping = map_threads(placement, wanted).map_err(|error| {
            Problem::usage(error.to_string(), "Give another placement, --cores, or a wider model.")
        })?;
        fits(&mapping, processes, workers)?;
        let is_alone = mapping.workers().count() == 1;
        let all_take_turns = mapping.cpus().all(|queue| queue.len() > 1);
        // Where all workers take turns, each slice meets all of the programs.
        let phases = if is_alone || all_take_turns { 1 } else { arguments.phases as usize };
        for phase in 0..phases {
            let (mapping, offsets) = (mapping.clone(), Vec::new());
            plans.push(SimulationJob { placement, mapping, phase, phases, offsets });
        }
    }
    Ok(plans)
}

/// Checks that there are not too many cores, and that all workers are there that wait for each other.
fn fits(mapping: &ThreadMapping, processes: &[Process<'_>], workers: usize) -> Result<(), Problem> {
    let ordered = || processes.iter().filter(|process| process.is_ordered());
    let seated = mapping.workers().count();
    if ordered().next().is_some() && seated < workers {
        return Err(Problem::usage(
            format!("expected room for all {workers} workers, found room for {seated}"),
            "Threads of one program wait for each other: give more cores, or a placement without @.",
        ));
    }
    let own: usize = ordered().map(|process| process.others.len()).sum();
    let cores = mapping.cores.len() + own;
    if cores > super::MAX_CORES as usize {
        return Err(Problem::usage(
            format!("expected at most {} cores, found {cores}", super::MAX_CORES),
            "Give fewer traces, or --cores.",
        ));
    }
    Ok(())
}

fn simulated(
    setup: Setup<'_, '_>,
    plans: &[SimulationJob],
    arguments: &Arguments,
) -> Result<Vec<Phase>, Problem> {
    let all: Vec<(&CoreModel, &SimulationJob)> =
        plans.iter().map(|plan| (setup.model, plan)).collect();
    each(setup, &all, arguments)
}

/// Parts of a simulation that progress is counted in.
const PARTS: u64 = 1000;

/// Simulates each plan on its own model.
pub(super) fn each(
    setup: Setup<'_, '_>,
    plans: &[(&CoreModel, &SimulationJob)],
    arguments: &Arguments,
) -> Result<Vec<Phase>, Problem> {
    let line = StepProgress::new(arguments.progress.quiet);
    let jobs = arguments.jobs.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        |jobs| jobs as usize,
    );
    let all = plans.len() as u64 * PARTS;
    line.begin(Stage::new(format!("simulating {} runs", plans.len()), "", all));
    let answers = in_parallel(jobs, plans.len(), |index| {
        let (model, plan) = plans[index];
        let setup = Setup { model, mapping: &plan.mapping, offsets: &plan.offsets, ..setup };
        simulate_together(setup, plan.phase, plan.phases, &Portion::of(&line, PARTS))
    });
    line.finish();
    let phases: Result<Vec<Phase>, _> = answers.into_iter().collect();
    phases.map_err(Problem::from)
}
