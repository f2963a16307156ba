//! Whatever runs on a simulated core comes to its end: random windows of recorded programs, their starts included, on every
//! model, in every placement, and with resources shared otherwise and buffers that are tiny.
//!
//! `CORUN_LIVENESS_RUNS=N` asks for more than the few hundred windows of a usual run, and `CORUN_LIVENESS_TRACES=FOLDER`
//! for those of other traces (`*.trace`), for instance
//! `CORUN_LIVENESS_RUNS=20000 cargo test --release -p corun-sim --test it liveness`.

use std::path::{Path, PathBuf};

use corun_model::timing::TimingTable;
use corun_model::{CoreModel, Policy};
use corun_sim::plausible;
use corun_sim::thread_mapping::{MappingRequest, map_threads};
use corun_sim::{PageSize, Process, Setup, Unwatched, in_parallel, simulate_together};
use corun_trace::format::{Options, Trace, Writer};
use corun_trace::{BlockId, Event, Sink, ThreadId};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Windows that a usual run tries.
const RUNS: usize = 240;

/// Buffers, by the end of their path, with sizes that are small for any core.
const SMALL: [(&str, [u32; 2]); 10] = [
    ("rob.entries", [16, 40]),
    ("front.queue.entries", [8, 20]),
    ("schedulers.*.entries", [2, 6]),
    ("memory.loads.entries", [4, 12]),
    ("memory.stores.entries", [2, 8]),
    ("registers.integer", [40, 64]),
    ("registers.vector", [72, 96]),
    ("back.dispatch.entries", [1, 3]),
    ("back.retire.entries", [1, 3]),
    ("memory.l1d.misses", [1, 2]),
];

/// A recorded interval of a thread as a trace of its own.
fn cut(trace: &Trace, from: u64, length: u64) -> Trace {
    let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
    let mut known: Vec<Option<BlockId>> = vec![None; trace.blocks().len()];
    let thread = writer.thread(1).unwrap();
    let mut events = trace.events_at(ThreadId(0), from).unwrap();
    let mut written = 0;
    while let Some(event) = events.next_event().unwrap() {
        let Event::Block { block, executed, values } = event else { continue };
        let place = &mut known[block.0 as usize];
        let own = match *place {
            Some(own) => own,
            None => *place.insert(writer.define(trace.block(block).clone()).unwrap()),
        };
        writer.execute(thread, own, executed, values).unwrap();
        written += u64::from(executed);
        if written >= length {
            break;
        }
    }
    Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
}

fn program_start() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/program-start.trace")
}

fn traces() -> Vec<Trace> {
    let mut files = vec![program_start()];
    if let Some(folder) = std::env::var_os("CORUN_LIVENESS_TRACES") {
        let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.extend(all.filter(|path| path.extension().is_some_and(|it| it == "trace")));
        files.sort();
    }
    files.iter().map(|file| Trace::open(file).unwrap()).collect()
}

/// A model with up to three things set otherwise, and what they are.
fn varied(model: &CoreModel, chance: &mut ChaCha8Rng) -> (CoreModel, Vec<String>) {
    let (mut varied, mut description) = (model.clone(), Vec::new());
    for _ in 0..chance.random_range(0..4) {
        let (name, value) = if chance.random_bool(0.6) {
            let resources = model.resources();
            let resource = resources.choose(chance).unwrap();
            let policy = Policy::ALL.choose(chance).unwrap();
            (format!("{}.policy", resource.name), policy.name().to_owned())
        } else {
            let (name, sizes) = SMALL.choose(chance).unwrap();
            ((*name).to_owned(), chance.random_range(sizes[0]..=sizes[1]).to_string())
        };
        // What a model cannot be is refused.
        if let Ok(changed) = varied.clone().with(&[(name.clone(), value.clone())]) {
            varied = changed;
            description.push(format!("{name}={value}"));
        }
    }
    (varied, description)
}

/// One window; what was simulated, and what was wrong with it, if anything.
fn try_one(number: usize, models: &[(CoreModel, TimingTable)], traces: &[Trace]) -> Option<String> {
    let mut chance = ChaCha8Rng::seed_from_u64(number as u64);
    let (model, timings) = models.choose(&mut chance).unwrap();
    let (model, settings) = varied(model, &mut chance);
    let mut description = format!("run {number}: {} {settings:?}", model.name);
    let windows: Vec<Trace> = (0..chance.random_range(1..=2))
        .map(|_| {
            let place = chance.random_range(0..traces.len());
            let all = traces[place].threads()[0].instructions;
            let length = chance.random_range(500..12_000);
            // Starts of programs are as likely as all the rest.
            let most = if chance.random_bool(0.5) { all.min(700_000) } else { all };
            let from = chance.random_range(0..most.saturating_sub(length).max(1));
            description += &format!(", {length} instructions of trace {place} from {from} on");
            cut(&traces[place], from, length)
        })
        .collect();
    let processes: Vec<Process<'_>> = windows.iter().map(Process::of).collect();
    let names = ["single", "spread", "spread@2", "full", "full@2", "packed", "stacked", "free@3"];
    let placement = names.choose(&mut chance).unwrap().parse().unwrap();
    let wanted = MappingRequest {
        cores: None,
        smt_width: model.smt_width as usize,
        workers: windows.len(),
        repeats: true,
    };
    let mapping = map_threads(placement, wanted).unwrap();
    let (phase, phases) = (chance.random_range(0..8), 8);
    let warm_up = if chance.random_bool(0.5) { 0 } else { chance.random_range(0..400) };
    let setup = Setup {
        model: &model,
        timings,
        processes: &processes,
        mapping: &mapping,
        warm_up,
        length: chance.random_bool(0.5).then(|| chance.random_range(100..12_000)),
        slice_ms: 0.001,
        switch_us: 0.1,
        pages: if chance.random_bool(0.2) { PageSize::Huge } else { PageSize::Small },
        seed: chance.random_range(0..4),
        offsets: &[],
        first_turn: chance.random_range(0..2),
        own_code: chance.random_bool(0.3),
    };
    description += &format!(", {placement}, phase {phase}, warm-up {warm_up}, {:?}", setup.length);
    match simulate_together(setup, phase, phases, &Unwatched) {
        Ok(phase) => {
            let wrong = phase.workers.iter().find_map(|one| {
                let rate = plausible::of_rate(one.instructions as f64, one.cycles, &model);
                rate.and_then(|()| one.simulated.check(&model)).err()
            });
            wrong.map(|wrong| format!("{description}: {wrong}"))
        }
        Err(error) => Some(format!("{description}: {error}")),
    }
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|it| it.parse().expect("a number"))
}

fn models() -> Vec<(CoreModel, TimingTable)> {
    let with_timing = |model| {
        let timings = TimingTable::of(&model).unwrap();
        (model, timings)
    };
    corun_model::designs().unwrap().into_iter().map(with_timing).collect()
}

#[test]
fn whatever_runs_on_a_core_comes_to_its_end() {
    let (models, traces) = (models(), traces());
    let runs = number("CORUN_LIVENESS_RUNS").unwrap_or(RUNS);
    let first = number("CORUN_LIVENESS_FIRST").unwrap_or(0);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let wrong = in_parallel(jobs, runs, |number| {
        let wrong = try_one(first + number, &models, &traces);
        wrong.inspect(|wrong| eprintln!("{wrong}"))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of {runs} windows:\n{}", wrong.len(), wrong.join("\n"));
}

/// Copies in step at the start of a program: nothing of either was on its way when the next instruction needed two blocks of
/// code, and the core went on at a moment that had been computed from a load that had not started.
#[test]
fn copies_in_step_at_the_start_of_a_program_come_to_their_end() {
    let trace = Trace::open(&program_start()).unwrap();
    let processes = [Process::of(&trace)];
    for (model, timings) in models().iter().filter(|(model, _)| model.front.predecoder.is_none()) {
        let mapping = vec![vec![vec![0]; model.smt_width as usize]].into();
        let setup = Setup {
            model,
            timings,
            processes: &processes,
            mapping: &mapping,
            warm_up: 500_000,
            length: Some(200_000),
            slice_ms: 1.0,
            switch_us: 1.0,
            pages: PageSize::Small,
            seed: 0,
            offsets: &[],
            first_turn: 0,
            own_code: false,
        };
        let found = simulate_together(setup, 0, 1, &Unwatched);
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", model.name));
        assert!(found.workers.iter().all(|one| one.cycles < 1e7), "{}", model.name);
    }
}

/// A slice of the usual length holds hundreds of thousands of rounds of such a window, which begins far from the begin
/// of the trace.
#[test]
fn a_window_much_shorter_than_a_time_slice_takes_seconds() {
    let begun = std::time::Instant::now();
    let trace = Trace::open(&program_start()).unwrap();
    let processes = [Process::of(&trace)];
    for name in ["zen4"] {
        let model = corun_model::find(name).unwrap();
        let timings = TimingTable::of(&model).unwrap();
        for placement in ["stacked"] {
            let wanted = MappingRequest {
                cores: None,
                smt_width: model.smt_width as usize,
                workers: 1,
                repeats: true,
            };
            let mapping = map_threads(placement.parse().unwrap(), wanted).unwrap();
            let phase = |slice_ms: f64| {
                let setup = Setup {
                    model: &model,
                    timings: &timings,
                    processes: &processes,
                    mapping: &mapping,
                    warm_up: 100_000,
                    length: Some(10),
                    slice_ms,
                    switch_us: 0.0,
                    pages: PageSize::Small,
                    seed: 1,
                    offsets: &[],
                    first_turn: 0,
                    own_code: false,
                };
                simulate_together(setup, 0, 1, &Unwatched).unwrap()
            };
            let (short, usual) = (phase(1.0), phase(3.0));
            for (short, usual) in short.workers.iter().zip(&usual.workers) {
                let ratio = usual.cycles / short.cycles;
                assert!((ratio - 1.0).abs() < 0.1, "{name} {placement}: {ratio}");
            }
        }
    }
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
}
