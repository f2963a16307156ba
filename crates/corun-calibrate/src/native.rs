//! Timing on this host: each routine between two chains of multiplications that give the length of a cycle.
//!
//! Samples last some 20 microseconds, so that a time stamp counter in steps of 10 ns resolves them within a thousandth. The
//! chain, and copies of a register, are timed before and after each sample: the chains must agree, and the copies show
//! whether the core is shared with a hidden sibling.

use std::arch::x86_64::{_mm_lfence, _rdtsc};
use std::io;

use corun_machine::{Affinity, CpuSet};
use iced_x86::Instruction;
use memmap2::{Advice, Mmap, MmapMut, MmapOptions};

use crate::assembly::{State, encode_all, function};
use crate::child;
use crate::{CalibrateError, Disturbed, Memory, Routine, RoutineTimer, Spread, features};

/// Cycles that a sample lasts.
const CYCLES_OF_SAMPLE: f64 = 60_000.0;
/// Cycles of a link of the chain, on every core of AMD since Zen and of Intel since Nehalem.
const CYCLES_OF_LINK: f64 = 3.0;
/// The most that a cycle may have changed in length during a sample, as a share of it.
const STEADY: f64 = 0.01;
/// The most that the core may have been slower beside a sample than at its best, as a share.
const ALONE: f64 = 0.08;
/// Samples that are tried for each that is wanted, for the sake of a core of one's own, and at most for
/// the sake of a clock that keeps still.
const TRIES: usize = 6;
const MAX_TRIES: usize = 1000;
/// Bytes of large and of small pages that there are; what does not fit cannot be measured.
const LARGE: usize = 1 << 28;
const SMALL: usize = 1 << 26;
/// Places of a ring that is walked through before it is timed: 16 MiB of lines.
const MAX_CACHED: usize = 1 << 18;
/// Links of the chain and copies of a register in a body.
const LINKS: usize = 100;
const COPIES: usize = 240;

/// Times routines on one CPU.
#[derive(Debug)]
pub struct Native {
    samples: usize,
    large: MmapMut,
    small: MmapMut,
    filled: Option<(Memory, [u64; 2])>,
    chain: Function,
    slots: Function,
    /// The fewest links that a copy of a register ever took.
    least: f64,
    has_avx: bool,
    /// Samples left out, and those that were taken on a shared core for want of better ones.
    disturbed: Disturbed,
}

/// One sample.
struct Sample {
    cycles: f64,
    slots: f64,
}

impl Native {
    /// Binds the thread to this CPU, for as long as it lives, and settles how fast its core is alone.
    ///
    /// # Errors
    /// If the kernel refuses the CPU or memory.
    pub fn new(cpu: u32, samples: usize) -> Result<Self, CalibrateError> {
        let affinity = Affinity::new(&CpuSet::from_iter([cpu]));
        affinity.apply(0).map_err(system("binding to the CPU"))?;
        let large = MmapOptions::new().len(LARGE).map_anon().map_err(system("mmap"))?;
        let small = MmapOptions::new().len(SMALL).map_anon().map_err(system("mmap"))?;
        // A kernel without large pages measures translations along with the caches.
        let _ = large.advise(Advice::HugePage);
        let _ = small.advise(Advice::NoHugePage);
        let has_avx = std::is_x86_feature_detected!("avx");
        let link = Instruction::with2(
            iced_x86::Code::Imul_r64_rm64,
            iced_x86::Register::RAX,
            iced_x86::Register::RAX,
        );
        let copy = Instruction::with2(
            iced_x86::Code::Mov_r64_rm64,
            iced_x86::Register::RBX,
            iced_x86::Register::RCX,
        );
        let body = |instruction: Result<Instruction, _>, times: usize| {
            encode_all(&vec![instruction.expect("operands that fit"); times])
        };
        let mut native = Self {
            samples,
            large,
            small,
            filled: None,
            chain: Function::new(&[], &body(link, LINKS), has_avx)?,
            slots: Function::new(&[], &body(copy, COPIES), has_avx)?,
            least: f64::INFINITY,
            has_avx,
            disturbed: Disturbed::default(),
        };
        let mut state = native.state(&Routine::new("", Vec::new(), 1), [1, 1]);
        let mut before = native.link(&mut state);
        for _ in 0..50 * samples {
            let slots = native.slots(&mut state);
            let after = native.link(&mut state);
            if let Some(link) = steady(before, after) {
                native.least = native.least.min(slots / link);
            }
            before = after;
        }
        Ok(native)
    }

    /// Samples that were disturbed so far.
    pub fn disturbed(&self) -> Disturbed {
        self.disturbed
    }

    /// Ticks of a link of the chain.
    fn link(&self, state: &mut State) -> f64 {
        let times = (CYCLES_OF_SAMPLE / 2.0 / CYCLES_OF_LINK / LINKS as f64) as u64;
        self.chain.ticks(state, times) as f64 / (times * LINKS as u64) as f64
    }

    /// Ticks of a copy of a register.
    fn slots(&self, state: &mut State) -> f64 {
        let times = 400;
        self.slots.ticks(state, times) as f64 / (times * COPIES as u64) as f64
    }

    fn state(&self, routine: &Routine, [rax, rcx]: [u64; 2]) -> State {
        let arena = self.arena(routine.memory).as_ptr() as u64;
        let mut general = [0; 14];
        general[0] = rax;
        general[1] = rcx;
        general[12] = arena;
        // Denormals are taken as zero: they take other paths.
        let control = [0x1f80 | 1 << 6 | 1 << 15, 0x1f80];
        State { general, vector: [routine.vector; 4], control }
    }

    fn arena(&self, memory: Memory) -> &MmapMut {
        if memory.is_on_small_pages() { &self.small } else { &self.large }
    }

    /// Has the memory hold what the routine finds in it.
    fn fill(&mut self, memory: Memory) -> Result<[u64; 2], CalibrateError> {
        if let Some((filled, registers)) = self.filled
            && filled == memory
            && memory != Memory::Page
        {
            return Ok(registers);
        }
        let arena = if memory.is_on_small_pages() { &mut self.small } else { &mut self.large };
        if memory.bytes() > arena.len() {
            let source = io::Error::from(io::ErrorKind::OutOfMemory);
            return Err(CalibrateError::System { what: "asking for so much memory", source });
        }
        let address = arena.as_ptr() as u64;
        // SAFETY: pages are aligned for words, and any bytes are words.
        let (_, words, _) = unsafe { arena.align_to_mut::<u64>() };
        let registers = memory.fill(words, address);
        self.filled = Some((memory, registers));
        Ok(registers)
    }
}

impl RoutineTimer for Native {
    fn time(&mut self, routine: &Routine) -> Result<Spread, CalibrateError> {
        let registers = self.fill(routine.memory)?;
        let function = Function::new(&routine.setup, &routine.body, self.has_avx)?;
        let mut state = self.state(routine, registers);
        let mut other = state;
        // Once for all places of the memory that a cache may hold, then for the length of an iteration.
        let places = match routine.memory {
            Memory::Ring { places, .. } if places <= MAX_CACHED => places as f64,
            _ => 0.0,
        };
        function.ticks(&mut state, 3 + (2.0 * places / routine.count) as u64);
        let mut times = 1;
        let link = self.link(&mut other);
        while function.ticks(&mut state, times) as f64 * CYCLES_OF_LINK / link < CYCLES_OF_SAMPLE {
            times = times + 1 + times / 4;
        }
        let mut samples: Vec<Sample> = Vec::new();
        let is_alone = |sample: &&Sample, least: f64| sample.slots <= (1.0 + ALONE) * least;
        let mut before = self.link(&mut other);
        let mut alone = 0;
        for tried in 0..MAX_TRIES * self.samples {
            let switches = switches();
            let ticks = function.ticks(&mut state, times) as f64;
            let slots = self.slots(&mut other);
            let after = self.link(&mut other);
            self.disturbed.samples += 1;
            if switches != crate::native::switches() {
                self.disturbed.switched += 1;
            } else if let Some(link) = steady(before, after) {
                let slots = slots / link;
                self.least = self.least.min(slots);
                let cycles = ticks / link * CYCLES_OF_LINK / (times as f64 * routine.count);
                samples.push(Sample { cycles, slots });
                alone = samples.iter().filter(|it| is_alone(it, self.least)).count();
            } else {
                self.disturbed.unsteady += 1;
            }
            before = after;
            let is_late = tried >= TRIES * self.samples;
            if alone == self.samples || is_late && samples.len() >= self.samples {
                break;
            }
        }
        // Walking on meets places that no cache holds yet.
        if let Some((_, registers)) = &mut self.filled {
            *registers = [state.general[0], state.general[1]];
        }
        self.disturbed.shared += samples.len() - alone;
        samples.sort_by(|one, other| one.slots.total_cmp(&other.slots));
        // Where the core was hardly ever alone, the best moments have to do.
        let is_shared = 2 * alone < self.samples;
        self.disturbed.never_alone += usize::from(is_shared);
        samples.truncate(if is_shared { self.samples } else { alone });
        Spread::of(samples.iter().map(|sample| sample.cycles).collect()).ok_or_else(|| {
            CalibrateError::Unsteady {
                what: routine.name.clone(),
                samples: MAX_TRIES * self.samples,
            }
        })
    }

    fn time_apart(&mut self, routine: &Routine) -> Result<Option<Spread>, CalibrateError> {
        let before = self.disturbed;
        let found = child::run_in_child(|| {
            let Spread { median, p10, p90, samples } = self.time(routine).ok()?;
            let [taken, unsteady, switched, shared, never_alone] = self.disturbed.counts();
            Some([
                median,
                p10,
                p90,
                samples as f64,
                self.least,
                taken as f64,
                unsteady as f64,
                switched as f64,
                shared as f64,
                never_alone as f64,
            ])
        });
        let Some([median, p10, p90, samples, least, counts @ ..]) =
            found.map_err(system("fork"))?
        else {
            return Ok(None);
        };
        self.least = self.least.min(least);
        self.disturbed = Disturbed::from(counts.map(|count| count as usize));
        // The best moments of a shared core say nothing of a form.
        let is_alone = self.disturbed.never_alone == before.never_alone;
        Ok(is_alone.then_some(Spread { median, p10, p90, samples: samples as usize }))
    }

    fn knows(&self, instruction: &Instruction) -> bool {
        instruction.cpuid_features().iter().all(|&feature| features::has(feature))
    }
}

/// Executable code.
#[derive(Debug)]
struct Function {
    code: Mmap,
}

impl Function {
    fn new(setup: &[u8], body: &[u8], has_avx: bool) -> Result<Self, CalibrateError> {
        let code = function(setup, body, has_avx);
        let mut map = MmapMut::map_anon(code.len()).map_err(system("mmap"))?;
        map[..code.len()].copy_from_slice(&code);
        let code = map.make_exec().map_err(system("mprotect"))?;
        Ok(Self { code })
    }

    /// Ticks of the time stamp counter while the body is done so many times.
    fn ticks(&self, state: &mut State, times: u64) -> u64 {
        // SAFETY: `assembly::function` makes code of this type; bodies keep to their memory.
        let function: extern "sysv64" fn(*mut State, u64) =
            unsafe { std::mem::transmute(self.code.as_ptr()) };
        let before = counter();
        function(state, times.max(1));
        counter() - before
    }
}

/// Ticks of a link, if they were the same before and after.
fn steady(before: f64, after: f64) -> Option<f64> {
    let link = f64::midpoint(before, after);
    ((after - before).abs() <= STEADY * link).then_some(link)
}

fn counter() -> u64 {
    // SAFETY: every core of x86-64 has these.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// The number of involuntary context switches.
fn switches() -> i64 {
    // SAFETY: plain numbers, which the call fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_nivcsw + usage.ru_nvcsw
    }
}

fn system(what: &'static str) -> impl Fn(io::Error) -> CalibrateError {
    move |source| CalibrateError::System { what, source }
}
