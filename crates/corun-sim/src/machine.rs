//! Cores that share memory, in step with each other.

use crate::core::{AttributedPlace, Core, Deadlock, InstructionSource, Pause, State};
use crate::memory::Memory;
use crate::progress::Watch;
use crate::uops::DecodedInstruction;
use corun_model::CoreModel;
use corun_trace::TouchedLine;

/// Cycles that a core may be ahead of the others: fewer than anything takes from one to another in the
/// models that there are.
const AHEAD: u64 = 8;
/// Cycles that a core goes on by itself where there is no other.
const ALONE: u64 = 1 << 16;
/// Instructions at the end of a warm-up that go through the pipeline, so that it is filled as it would be;
/// what lies before them only warms caches and predictors.
pub(crate) const DETAILED: u64 = 1 << 13;

/// Cores at work.
pub(crate) struct Machine<F> {
    cores: Vec<Core<F>>,
    /// For each core, true once its program has ended.
    ended: Vec<bool>,
    memory: Memory,
    watch: Watch,
}

impl<F: InstructionSource> Machine<F> {
    /// A machine with one core for each list of feeds, each of which gets a hardware thread there.
    pub(crate) fn new(model: &CoreModel, cores: Vec<(DecodedInstruction, Vec<F>)>) -> Self {
        let threads: Vec<usize> = cores.iter().map(|(_, sources)| sources.len()).collect();
        let memory = Memory::new(model, &threads);
        let ended = vec![false; cores.len()];
        let watch = Watch::new(model, &threads);
        let cores = (0..).zip(cores).map(|(number, (stack_update, sources))| {
            Core::new(number, model, stack_update, sources)
        });
        Self { cores: cores.collect(), ended, memory, watch }
    }

    /// A part of the run was left out before what comes next: the second and the last level hold lines of it.
    pub(crate) fn expect_earlier_lines(&mut self) {
        let now = self.cores.iter().map(Core::now).min().unwrap_or(0);
        self.memory.expect_earlier_lines(now);
    }

    /// Counts of a thread of a core up to now.
    pub(crate) fn state(&self, core: usize, thread: usize) -> State {
        let requests = self.memory.requests(core, thread);
        State { requests, ..self.cores[core].state(thread) }
    }

    /// The instructions that cost the first thread of the first core most since the last time, at most so many; from the first
    /// call on.
    pub(crate) fn take_attribution(&mut self, most: usize) -> Vec<(AttributedPlace, u64)> {
        self.cores[0].take_attribution(0, most)
    }

    /// The cycles in which a thread of a core first and last retired something.
    pub(crate) fn retired_within(&self, core: usize, thread: usize) -> (u64, u64) {
        self.cores[core].retired_within(thread)
    }

    /// Forgets the first level's translations of data, but for those of the pages at these addresses of the first thread.
    pub(crate) fn forget_translations(&mut self, but: &[u64]) {
        for (number, core) in self.cores.iter().enumerate() {
            let requests = but.iter().map(|&linear| core.request(0, 0, linear));
            self.memory.forget_translations(number, requests);
        }
    }

    /// Gives this thread of each core the first turn wherever they alternate.
    pub(crate) fn begin_with(&mut self, thread: usize) {
        self.cores.iter_mut().for_each(|core| core.begin_with(thread));
    }

    /// Number of cores.
    pub(crate) fn cores(&self) -> usize {
        self.cores.len()
    }

    /// Instruction source of a thread of a core.
    pub(crate) fn source(&self, core: usize, thread: usize) -> &F {
        self.cores[core].source(thread)
    }

    /// The feeds of each core, when nothing more is to be simulated.
    pub(crate) fn into_sources(self) -> Vec<Vec<F>> {
        self.cores.into_iter().map(Core::into_sources).collect()
    }

    /// Takes the only thread of the first core on until so many of its instructions are done, of a warm-up
    /// that ends at `end`.
    ///
    /// # Errors
    /// If the core makes no progress.
    pub(crate) fn warm_up(&mut self, until: u64, end: u64) -> Result<(), Box<Deadlock>> {
        self.warm(&[until.min(end.saturating_sub(DETAILED))])?;
        self.run(&[vec![until]]).map(drop)
    }

    /// Runs the first thread of the first core to its target, beside the others.
    ///
    /// # Errors
    /// If the core makes no progress.
    pub(crate) fn run_first(&mut self, target: u64) -> Result<(), Box<Deadlock>> {
        let mut targets = vec![u64::MAX; self.cores[0].threads()];
        targets[0] = target;
        self.run(&[targets]).map(drop)
    }

    /// Takes all threads of the first core on to their targets, as far as caches and predictors notice.
    ///
    /// # Errors
    /// If what the pipeline has begun comes to no end.
    pub(crate) fn warm(&mut self, targets: &[u64]) -> Result<(), Box<Deadlock>> {
        match self.cores[0].warm(targets, &mut self.memory) {
            Some(()) => Ok(()),
            None => Err(self.watch.lost(0, &self.cores)),
        }
    }

    /// So many instructions of each thread of the first core are not simulated. In them, each of its first `threads` threads
    /// touches these lines of its own memory, in this order.
    ///
    /// # Errors
    /// If what the pipeline has begun comes to no end.
    pub(crate) fn pass_over(
        &mut self,
        instructions: u64,
        lines: &[TouchedLine],
        threads: usize,
    ) -> Result<(), Box<Deadlock>> {
        match self.cores[0].pass_over(instructions, lines, threads, &mut self.memory) {
            Some(()) => Ok(()),
            None => Err(self.watch.lost(0, &self.cores)),
        }
    }

    /// Goes on until some thread has retired as many instructions as its target says, of each thread of
    /// each core, or a core's programs have all ended. Returns which core, and which thread if it was one;
    /// none, if all have ended before.
    ///
    /// # Errors
    /// If a thread makes no progress although nothing keeps it back that will end.
    pub(crate) fn run(
        &mut self,
        targets: &[Vec<u64>],
    ) -> Result<Option<(usize, Option<usize>)>, Box<Deadlock>> {
        loop {
            let at_work = |core: &usize| !self.ended[*core];
            let behind =
                (0..self.cores.len()).filter(at_work).min_by_key(|&core| self.cores[core].now());
            let Some(behind) = behind else { return Ok(None) };
            let others = (0..self.cores.len()).filter(at_work).filter(|core| *core != behind);
            let next = others.map(|core| self.cores[core].now()).min();
            let until = match next {
                Some(next) => next + AHEAD,
                None => self.cores[behind].now() + ALONE,
            };
            match self.cores[behind].run_until(&targets[behind], until, &mut self.memory) {
                Pause::Reached(thread) => return Ok(Some((behind, Some(thread)))),
                Pause::Ended => {
                    self.ended[behind] = true;
                    return Ok(Some((behind, None)));
                }
                Pause::Deadlock => return Err(self.watch.lost(behind, &self.cores)),
                Pause::Time => {}
            }
            self.watch.check(behind, &self.cores)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use corun_record::{PageSize, Unwatched};
    use corun_trace::format::{Options, Trace, Writer};
    use corun_trace::{Sink, ThreadId, decode};

    use crate::core::{Next, Step};
    use crate::machine::*;
    use crate::memory::Pages;
    use crate::simulate::alone;
    use crate::uops::{DecodedBlock, Lowering};
    use corun_model::timing::TimingTable;
    use corun_record::MemoryRequests;

    /// An instruction over and over, with one place in memory.
    struct Again {
        code: Option<DecodedBlock>,
        block: u32,
        place: u64,
        left: u32,
    }

    impl InstructionSource for Again {
        fn next(&mut self, _: u64, code: &mut Vec<DecodedBlock>, values: &mut Vec<u64>) -> Next {
            if let Some(new) = self.code.take() {
                self.block = code.len() as u32;
                code.push(new);
            }
            let Some(left) = self.left.checked_sub(1) else { return Next::End };
            self.left = left;
            values.extend([self.place, self.place]);
            // Who has another page of data has another page of code.
            let address = 0x10_0000 + (self.place & !0xfff);
            Next::Step(Step { block: self.block, address, executed: 1 })
        }

        fn pages(&self) -> Pages {
            Pages::of(0, 1, PageSize::Small)
        }
    }

    const TIMES: u32 = 2000;

    /// add [rdi], rax
    const ADD: &[u8] = &[0x48, 0x01, 0x07];
    /// mov [rdi], rax
    const STORE: &[u8] = &[0x48, 0x89, 0x07];
    /// mov rax, [rdi]
    const LOAD: &[u8] = &[0x48, 0x8b, 0x07];

    /// Cycles until each of several cores has added to its place so often, and its transfers.
    fn cycles(places: &[u64]) -> Vec<(u64, u64)> {
        let work: Vec<_> = places.iter().map(|&place| (ADD, place)).collect();
        cycles_of(&work)
    }

    /// Cycles with an instruction for each core.
    fn cycles_of(work: &[(&[u8], u64)]) -> Vec<(u64, u64)> {
        cycles_on(&corun_model::find("zen4").unwrap(), work)
    }

    /// Cycles on another core.
    fn cycles_on(model: &CoreModel, work: &[(&[u8], u64)]) -> Vec<(u64, u64)> {
        let timings = TimingTable::of(model).unwrap();
        let mut lowering = Lowering::new(model, &timings);
        let cores = work.iter().map(|&(code, place)| {
            let code = lowering.lower(&corun_trace::decode(0x1000, code).unwrap());
            let source = Again { code: Some(code), block: 0, place, left: TIMES };
            (lowering.stack_update(), vec![source])
        });
        let cores = cores.collect();
        let mut machine = Machine::new(model, cores);
        let mut ends = vec![(0, 0); work.len()];
        while let Some((core, _)) = machine.run(&vec![vec![u64::MAX]; work.len()]).unwrap() {
            let state = machine.state(core, 0);
            assert_eq!(state.retired, u64::from(TIMES));
            let accounted: f64 = state.stack.cycles().map(|(_, cycles)| cycles).sum();
            assert!(
                (accounted - state.cycles as f64).abs() < 1e-3,
                "{accounted} of {}",
                state.cycles
            );
            ends[core] = (state.cycles, state.requests.transfers);
        }
        ends
    }

    /// A thread that waits at a synchronisation point which opens in some cycle, or never.
    struct WaitsUntil(Option<u64>);

    impl InstructionSource for WaitsUntil {
        fn next(&mut self, _: u64, _: &mut Vec<DecodedBlock>, _: &mut Vec<u64>) -> Next {
            Next::SyncPoint
        }

        fn pass(&mut self, _: u64) -> Option<u64> {
            self.0
        }

        fn pages(&self) -> Pages {
            Pages::of(0, 1, PageSize::Small)
        }
    }

    #[test]
    fn threads_that_all_wait_for_ever_are_an_error_with_what_each_waits_for() {
        let model = corun_model::find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let stuck = |sync_points: &[&[Option<u64>]]| {
            let update = || Lowering::new(&model, &timings).stack_update();
            let cores = sync_points
                .iter()
                .map(|core| (update(), core.iter().copied().map(WaitsUntil).collect()));
            let mut machine = Machine::new(&model, cores.collect());
            let targets: Vec<Vec<u64>> =
                sync_points.iter().map(|core| vec![u64::MAX; core.len()]).collect();
            machine.run(&targets).expect_err("no thread makes progress")
        };
        for sync_points in
            [&[&[None, None][..]][..], &[&[None], &[None, None]], &[&[Some(1 << 60)]]]
        {
            let stuck = stuck(sync_points);
            let threads: usize = sync_points.iter().map(|core| core.len()).sum();
            assert_eq!(stuck.threads.len(), threads);
            assert!(stuck.threads.iter().any(|thread| thread.is_stuck), "{stuck}");
            let message = stuck.to_string();
            assert!(
                message.contains("core 0, thread 0: stuck, 0 instructions retired"),
                "{message}"
            );
            assert!(
                message.contains("waits for") && message.contains("reorder buffer 0"),
                "{message}"
            );
        }
    }

    #[test]
    fn cores_with_lines_of_their_own_do_not_notice_each_other() {
        let (alone, apart) = (cycles(&[0x8000]), cycles(&[0x8000, 0x9000, 0xa000]));
        for (core, end) in apart.iter().enumerate() {
            let ratio = end.0 as f64 / alone[0].0 as f64;
            // The tables of pages are the same for all.
            assert!((0.9..1.1).contains(&ratio) && end.1 < 10, "core {core}: {end:?} {alone:?}");
        }
    }

    #[test]
    fn cores_that_write_one_line_are_slower() {
        let (apart, shared) = (cycles(&[0x8000, 0x9000]), cycles(&[0x8000, 0x8008]));
        for (apart, shared) in apart.iter().zip(&shared) {
            assert!(
                shared.1 > 20 && shared.0 as f64 > 1.2 * apart.0 as f64,
                "{apart:?} {shared:?}"
            );
        }
        assert_eq!(cycles(&[0x8000, 0x8008]), shared, "twice the same");
    }

    #[test]
    fn who_only_writes_to_a_shared_line_does_not_wait_for_it() {
        let apart = cycles_of(&[(STORE, 0x8000), (STORE, 0x9000)]);
        let shared = cycles_of(&[(STORE, 0x8000), (STORE, 0x8008)]);
        for (apart, shared) in apart.iter().zip(&shared) {
            assert!(shared.1 > apart.1 + 2, "the line goes to and fro: {apart:?} {shared:?}");
            assert!((shared.0 as f64) < 1.3 * apart.0 as f64, "{apart:?} {shared:?}");
        }
    }

    /// Cycles of the first core, if beginning again costs so many.
    fn cycles_with_clear(clear: u32, work: &[(&[u8], u64)]) -> u64 {
        let mut model = corun_model::find("zen4").unwrap();
        model.hierarchy.coherence.machine_clear = clear;
        cycles_on(&model, work)[0].0
    }

    #[test]
    fn who_reads_a_line_begins_again_when_another_core_writes_it() {
        let shared = [(LOAD, 0x8000), (STORE, 0x8008)];
        assert!(cycles_with_clear(1000, &shared) > cycles_with_clear(0, &shared) + 900);
    }

    #[test]
    fn who_changes_a_line_begins_again_when_another_core_reads_it() {
        let shared = [(ADD, 0x8000), (LOAD, 0x8008)];
        assert!(cycles_with_clear(1000, &shared) > cycles_with_clear(0, &shared) + 900);
    }

    #[test]
    fn who_reads_what_others_only_read_never_begins_again() {
        let shared = [(LOAD, 0x8000), (LOAD, 0x8008)];
        assert_eq!(cycles_with_clear(1000, &shared), cycles_with_clear(0, &shared));
    }

    #[test]
    fn every_core_gets_on_however_short_it_has_a_line() {
        let mut model = corun_model::find("zen4").unwrap();
        let coherence = &mut model.hierarchy.coherence;
        (coherence.transfer, coherence.snoop_delay, coherence.retire_hold) = (1, 0, 1000);
        // `cycles_on` ends when all have retired what they have to.
        cycles_on(&model, &[(ADD, 0x8000), (ADD, 0x8008)]);
    }

    #[test]
    fn siblings_that_restart_leave_no_state() {
        for model in corun_model::designs().unwrap() {
            let timings = TimingTable::of(&model).unwrap();
            let mut lowering = Lowering::new(&model, &timings);
            let width = model.smt_width as usize;
            // A word for each, all in one line; every second one only reads.
            let mut source = |number: usize| {
                let code = if number.is_multiple_of(2) { ADD } else { LOAD };
                let code = lowering.lower(&corun_trace::decode(0x1000, code).unwrap());
                let place = 0x8000 + 8 * (number as u64 % 8);
                Again { code: Some(code), block: 0, place, left: TIMES }
            };
            let sources: Vec<Vec<Again>> = (0..2)
                .map(|core| (0..width).map(|thread| source(core * width + thread)).collect())
                .collect();
            let update = lowering.stack_update();
            let cores = sources.into_iter().map(|sources| (update.clone(), sources)).collect();
            let mut machine = Machine::new(&model, cores);
            while machine.run(&vec![vec![u64::MAX; width]; 2]).unwrap().is_some() {}
            assert!(machine.cores.iter().any(Core::has_machine_cleared), "{}", model.name);
            for core in 0..2 {
                assert_eq!(machine.cores[core].occupied(), 0, "{}", model.name);
                for thread in 0..width {
                    let retired = machine.state(core, thread).retired;
                    assert_eq!(retired, u64::from(TIMES), "{}", model.name);
                }
            }
        }
    }

    #[test]
    fn beside_a_halted_sibling_a_thread_takes_what_it_takes_alone() {
        for model in corun_model::designs().unwrap() {
            let timings = TimingTable::of(&model).unwrap();
            let end = |siblings: &[u32]| {
                let mut lowering = Lowering::new(&model, &timings);
                // add [rdi], rax
                let code =
                    lowering.lower(&corun_trace::decode(0x1000, &[0x48, 0x01, 0x07]).unwrap());
                let source =
                    |&left: &u32| Again { code: Some(code.clone()), block: 0, place: 0x8000, left };
                let sources = [TIMES].iter().chain(siblings).map(source).collect();
                let mut machine = Machine::new(&model, vec![(lowering.stack_update(), sources)]);
                machine.run(&[vec![u64::MAX; 1 + siblings.len()]]).unwrap();
                machine.retired_within(0, 0).1
            };
            assert_eq!(end(&[0]), end(&[]), "{}", model.name);
        }
    }

    /// Loads in one line after another, each with a branch that goes one of two ways in turns of three.
    fn walk(rounds: u64) -> Trace {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        // mov rax, [rdi]; jnz 0x2000; after it and there: jmp 0x1000
        let code: [(u64, &[u8]); 3] = [
            (0x1000, &[0x48, 0x8b, 0x07, 0x0f, 0x85, 0xf7, 0x0f, 0, 0]),
            (0x1009, &[0xe9, 0xf2, 0xff, 0xff, 0xff]),
            (0x2000, &[0xe9, 0xfb, 0xef, 0xff, 0xff]),
        ];
        let [load, behind, there] =
            code.map(|(at, code)| writer.define(decode(at, code).unwrap()).unwrap());
        let thread = writer.thread(1).unwrap();
        for round in 0..rounds {
            writer.execute(thread, load, 2, &[0x10_0000 + 64 * (round % 100)]).unwrap();
            let other = if round % 3 == 0 { there } else { behind };
            writer.execute(thread, other, 1, &[]).unwrap();
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    #[test]
    fn what_was_warmed_is_there_and_known_and_no_instruction_is_lost() {
        const ROUNDS: u64 = 5000;
        const WARMED: u64 = 3 * 4000;
        let trace = walk(ROUNDS);
        for model in corun_model::designs().unwrap() {
            let timings = TimingTable::of(&model).unwrap();
            let run = |warmed: u64| {
                let mut machine =
                    alone(&model, &timings, &trace, ThreadId(0), PageSize::Small, &Unwatched)
                        .unwrap();
                // In two parts, between which the pipeline is full.
                machine.cores[0].warm(&[warmed / 2], &mut machine.memory).unwrap();
                machine.run(&[vec![warmed / 2 + 500]]).unwrap();
                machine.cores[0].warm(&[warmed], &mut machine.memory).unwrap();
                let before = machine.state(0, 0);
                machine.run(&[vec![before.retired + 900]]).unwrap();
                let state = machine.state(0, 0).since(&before);
                machine.run(&[vec![u64::MAX]]).unwrap();
                assert_eq!(machine.state(0, 0).retired, 3 * ROUNDS, "{}", model.name);
                let MemoryRequests { l1d_misses, l1i_misses, .. } = state.requests;
                [l1d_misses, l1i_misses, state.mispredicts]
            };
            assert_eq!(run(WARMED), [0; 3], "{}", model.name);
            let cold = {
                let mut machine =
                    alone(&model, &timings, &trace, ThreadId(0), PageSize::Small, &Unwatched)
                        .unwrap();
                machine.run(&[vec![900]]).unwrap();
                let MemoryRequests { l1d_misses, l1i_misses, .. } = machine.state(0, 0).requests;
                [l1d_misses, l1i_misses, machine.state(0, 0).mispredicts]
            };
            assert!(cold.iter().all(|&misses| misses > 1), "{}: {cold:?}", model.name);
        }
    }
}
