//! Effects of siblings on a program, from the same windows alone and beside them.
//!
//! Every window was simulated twice after the same warm-up, so that most of what distinguishes windows cancels in the ratio
//! (Cochran 1977, Sampling Techniques, 6.4).

use corun_model::{Clock, CoreModel, PredictionError, PredictionErrors};
use corun_record::{
    Cause, Caveat, Effect, Estimate, KnownBy, MemoryRequests, MissRate, SiblingClock, StackShare,
};
use corun_sim::{CycleStack, EventCounts, Simulated, SimulatedWindow, SimulatedWindows};
use corun_stats::student_t;

use crate::estimate::{LEVEL, repeated, with_error};
use crate::extrapolation::Sample;

/// Causes below this share are not named.
const MIN_CAUSE: f64 = 0.08;
/// The most causes of a kind that are named.
const MAX_CAUSES: usize = 3;
/// The slots that are used for work.
const RETIRING: &str = "retiring";

/// Slowdown of the program beside siblings against alone, from windows of a run of `total` instructions.
///
/// `beside` has a result of each pass with siblings, of the same windows as `alone`. With several windows, the interval is
/// that of the choice of windows, which also differ in how far apart the copies were; of a run that was simulated whole, it
/// is that of the passes. None without windows, or if the two do not have the same windows.
pub(crate) fn slowdown(
    alone: &SimulatedWindows,
    beside: &[&SimulatedWindows],
    total: u64,
) -> Option<Estimate> {
    let cycles = |window: &SimulatedWindow| window.cycles as f64;
    let begins = |of: &SimulatedWindows| of.windows.iter().map(|it| it.begin).collect::<Vec<_>>();
    let known = begins(alone);
    if beside.is_empty() || beside.iter().any(|pass| begins(pass) != known) {
        return None;
    }
    let run = Sample::of(&alone.windows, total)?;
    let of_pass = |pass: &SimulatedWindows| {
        let beside = run.mean_of(&pass.windows.iter().map(cycles).collect::<Vec<_>>());
        beside / run.mean(cycles)
    };
    let passes: Vec<f64> = beside.iter().map(|pass| of_pass(pass)).collect();
    if alone.windows.len() < 2 {
        return repeated(&passes);
    }
    let mean = |at: usize| {
        let sum: f64 = beside.iter().map(|pass| cycles(&pass.windows[at])).sum();
        sum / beside.len() as f64
    };
    let together: Vec<f64> = (0..known.len()).map(mean).collect();
    let value = run.mean_of(&together) / run.mean(cycles);
    let residuals: Vec<f64> = alone
        .windows
        .iter()
        .zip(&together)
        .map(|(window, beside)| beside - value * cycles(window))
        .collect();
    let reach = student_t(LEVEL, known.len() as u32).unwrap_or(0.0);
    let left = (1.0 - run.instructions / run.total.max(1.0)).max(0.0);
    let half = reach * (run.variance(&residuals, 1) * left).sqrt() / run.mean(cycles);
    Some(Estimate {
        value,
        low: if half < value { value - half } else { value * (-half / value).exp() },
        high: value + half,
        level: LEVEL,
        blocks: known.len() as u32,
    })
}

/// Work of a core with so many equal threads, over that of one thread alone: their number over the slowdown.
pub(crate) fn work(threads: u32, slowdown: &Estimate) -> Estimate {
    let of = |slowdown: f64| f64::from(threads) / slowdown;
    Estimate {
        value: of(slowdown.value),
        low: of(slowdown.high),
        high: of(slowdown.low),
        ..*slowdown
    }
}

/// Work of a core with two programs over that of a core with one of them: the sum of the speed of each, relative to alone.
pub(crate) fn work_of_two(one: &Estimate, other: &Estimate) -> Estimate {
    let (a, b) = (work(1, one), work(1, other));
    let sides = |first: f64, second: f64| first.hypot(second);
    let value = a.value + b.value;
    Estimate {
        value,
        low: value - sides(a.value - a.low, b.value - b.low),
        high: value + sides(a.high - a.value, b.high - b.value),
        level: a.level,
        blocks: a.blocks.min(b.blocks),
    }
}

/// A yield of so many threads whose interval also has the error that yields had of programs that no model was tuned with.
/// It ends where each thread runs as fast as alone, unless more was simulated.
pub fn with_model_error(threads: u32, yielded: &Estimate) -> Estimate {
    let found = with_error(yielded, PredictionErrors::committed().yields);
    let most = f64::from(threads).max(yielded.value);
    Estimate { high: found.high.min(most), ..found }
}

/// Clock of a core with busy siblings, as its model has it.
pub fn sibling_clock(model: &CoreModel) -> SiblingClock {
    let Clock { range: [low, high], source, assumed } = model.sibling_clock();
    let known = if assumed { KnownBy::Assumed } else { KnownBy::Published };
    SiblingClock { ratio: 1.0, low, high, known, source }
}

/// The sentence on that error.
pub(crate) fn model_error_caveat() -> Caveat {
    let PredictionError { programs, log_error } = PredictionErrors::committed().yields;
    Caveat::new(
        "sibling-model-error",
        format!(
            "The interval of the core's work holds the choice of windows and the models' error on published yields of {programs} \
             programs that they were not tuned with ({:.0} %, root mean square): docs/accuracy.md.",
            100.0 * log_error
        ),
    )
}

/// Cycles of an instruction of the run by component, each window with the weight that it has in the estimate.
fn per_instruction(of: &SimulatedWindows) -> Vec<(String, f64)> {
    let Some(run) = Sample::of(&of.windows, 0) else { return Vec::new() };
    let names = of.together.stack.cycles().map(|(name, _)| name.to_owned());
    let of_window =
        |stack: &CycleStack| stack.cycles().map(|(_, cycles)| cycles).collect::<Vec<f64>>();
    let stacks: Vec<Vec<f64>> = of.stacks.iter().map(of_window).collect();
    let mean = |at: usize| run.mean_of(&stacks.iter().map(|stack| stack[at]).collect::<Vec<f64>>());
    names.enumerate().map(|(at, name)| (name, mean(at))).collect()
}

/// The shares of a stack, the largest first.
pub(crate) fn stack(of: &SimulatedWindows) -> Vec<StackShare> {
    shares(per_instruction(of))
}

fn shares(components: Vec<(String, f64)>) -> Vec<StackShare> {
    let all: f64 = components.iter().map(|(_, cycles)| cycles).sum();
    let mut stack: Vec<StackShare> = components
        .into_iter()
        .map(|(component, cycles)| StackShare {
            component,
            share: cycles / all.max(f64::MIN_POSITIVE),
        })
        .filter(|part| part.share > 0.0)
        .collect();
    stack.sort_by(|one, other| other.share.total_cmp(&one.share));
    stack
}

/// Events in 1000 instructions of the run, each window with its weight.
pub(crate) fn per_thousand(
    of: &SimulatedWindows,
    count: impl Fn(&EventCounts) -> u64,
) -> Option<f64> {
    let run = Sample::of(&of.windows, 0)?;
    Some(1e3 * run.mean(|window| count(&window.events) as f64))
}

/// Causes: the slots that the program loses alone, which a sibling can use, and what makes it slower beside one.
pub(crate) fn causes(alone: &SimulatedWindows, beside: &SimulatedWindows) -> Vec<Cause> {
    causes_of(&per_instruction(alone), &per_instruction(beside))
}

fn causes_of(alone: &[(String, f64)], beside: &[(String, f64)]) -> Vec<Cause> {
    let all: f64 = alone.iter().map(|(_, cycles)| cycles).sum();
    let lost = alone.iter().filter(|(name, _)| name != RETIRING);
    let fills = lost.map(|(name, cycles)| (name.clone(), cycles / all.max(f64::MIN_POSITIVE)));
    let before = |name: &str| {
        alone.iter().find(|(known, _)| known == name).map_or(0.0, |(_, cycles)| *cycles)
    };
    let longer: Vec<(String, f64)> =
        beside.iter().map(|(name, cycles)| (name.clone(), cycles - before(name))).collect();
    let added: f64 = longer.iter().map(|(_, cycles)| cycles.max(0.0)).sum();
    let costs = longer.into_iter().map(|(name, cycles)| (name, cycles / added.max(1e-9)));
    let largest = |parts: &mut dyn Iterator<Item = (String, f64)>, effect| {
        let mut parts: Vec<Cause> = parts
            .filter(|(_, share)| *share >= MIN_CAUSE)
            .map(|(component, share)| Cause { effect, component, share, code: None })
            .collect();
        parts.sort_by(|one, other| other.share.total_cmp(&one.share));
        parts.truncate(MAX_CAUSES);
        parts
    };
    let mut causes = largest(&mut { fills }, Effect::Fills);
    causes.extend(largest(&mut { costs }, Effect::Costs));
    causes
}

/// Misses of the program alone and beside its siblings.
pub(crate) fn misses(alone: &SimulatedWindows, beside: &SimulatedWindows) -> Vec<MissRate> {
    let names = caches(&MemoryRequests::default()).map(|(cache, _)| cache);
    let rate = |(at, cache): (usize, &str)| {
        let [alone, beside] = [alone, beside]
            .map(|of| per_thousand(of, |it| caches(&it.requests)[at].1).unwrap_or_default());
        MissRate { cache: cache.to_owned(), alone, beside }
    };
    names.into_iter().enumerate().map(rate).collect()
}

/// The misses of each cache that the program waits for, each also one of the caches before it; and what memory serves, to
/// prefetchers too, which take its bandwidth.
fn caches(requests: &MemoryRequests) -> [(&'static str, u64); 5] {
    [
        ("L1I", requests.l1i_misses),
        ("L1D", requests.l1d_misses),
        ("L2", requests.l2_demand_misses),
        ("L3", requests.l3_demand_misses),
        (MissRate::FROM_MEMORY, requests.main),
    ]
}

/// Threads of one process in a placement, all together.
pub(crate) struct Threads {
    /// Cycles of an instruction by component.
    stack: Vec<(String, f64)>,
    /// Misses in 1000 instructions, by cache.
    misses: Vec<(&'static str, f64)>,
}

impl Threads {
    /// Of the workers of all windows.
    pub(crate) fn of(workers: &[Simulated]) -> Self {
        let instructions: u64 = workers.iter().map(|one| one.instructions).sum();
        let instructions = instructions.max(1) as f64;
        let mut stack: Vec<(String, f64)> = Vec::new();
        for (at, (name, cycles)) in workers.iter().flat_map(|it| it.stack.cycles().enumerate()) {
            match stack.get_mut(at) {
                Some((_, sum)) => *sum += cycles / instructions,
                None => stack.push((name.to_owned(), cycles / instructions)),
            }
        }
        let requests =
            workers.iter().fold(MemoryRequests::default(), |sum, one| sum.plus(&one.requests));
        let misses =
            caches(&requests).map(|(cache, count)| (cache, 1e3 * count as f64 / instructions));
        Self { stack, misses: misses.to_vec() }
    }

    /// The shares of their stack, the largest first.
    pub(crate) fn stack(&self) -> Vec<StackShare> {
        shares(self.stack.clone())
    }

    /// Causes, against the same threads where nobody is beside them.
    pub(crate) fn causes(&self, alone: &Self) -> Vec<Cause> {
        causes_of(&alone.stack, &self.stack)
    }

    /// Their misses there and here.
    pub(crate) fn misses(&self, alone: &Self) -> Vec<MissRate> {
        let both = alone.misses.iter().zip(&self.misses);
        let rate = |((cache, alone), (_, beside)): (&(&str, f64), &(&str, f64))| MissRate {
            cache: (*cache).to_owned(),
            alone: *alone,
            beside: *beside,
        };
        both.map(rate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high, level: LEVEL, blocks: 9 }
    }

    #[test]
    fn the_work_of_a_core_follows_from_how_much_longer_each_takes() {
        let yielded = work(2, &estimate(1.25, 1.0, 1.6));
        assert!((yielded.value - 1.6).abs() < 1e-12);
        assert!((yielded.low - 1.25).abs() < 1e-12 && (yielded.high - 2.0).abs() < 1e-12);
        let same = work_of_two(&estimate(1.25, 1.25, 1.25), &estimate(1.25, 1.25, 1.25));
        assert!((same.value - 1.6).abs() < 1e-12 && (same.low - 1.6).abs() < 1e-12);
        let unequal = work_of_two(&estimate(2.0, 2.0, 2.0), &estimate(1.0, 1.0, 1.0));
        assert!((unequal.value - 1.5).abs() < 1e-12);
    }

    #[test]
    fn the_error_of_the_model_widens_an_interval_and_moves_nothing() {
        let sure = with_model_error(4, &estimate(1.5, 1.5, 1.5));
        let error = PredictionErrors::committed().yields.log_error;
        assert_eq!(sure.value, 1.5);
        assert!((sure.high / 1.5).ln() > 1.96 * error && (1.5 / sure.low).ln() > 1.96 * error);
        let unsure = with_model_error(4, &estimate(1.5, 1.0, 2.0));
        assert!(unsure.low < sure.low && unsure.high > sure.high);
        assert!(with_model_error(2, &estimate(0.1, 0.01, 0.2)).low > 0.0);
        assert_eq!(with_model_error(2, &estimate(1.95, 1.9, 2.0)).high, 2.0);
        assert_eq!(with_model_error(2, &estimate(2.02, 2.0, 2.04)).high, 2.02);
    }

    #[test]
    fn causes_are_what_alone_is_lost_and_what_beside_is_added() {
        let stack = |parts: &[(&str, f64)]| -> Vec<(String, f64)> {
            parts.iter().map(|(name, cycles)| ((*name).to_owned(), *cycles)).collect()
        };
        let alone = stack(&[("retiring", 0.2), ("dependency", 0.7), ("L2", 0.05), ("L1D", 0.05)]);
        let beside = stack(&[
            ("retiring", 0.2),
            ("dependency", 0.5),
            ("L2", 0.15),
            ("sibling: ports", 0.3),
            ("sibling: dispatch", 0.01),
        ]);
        let found = causes_of(&alone, &beside);
        let named: Vec<_> = found
            .iter()
            .map(|it| (it.effect, it.component.as_str(), (it.share * 100.0).round()))
            .collect();
        assert_eq!(
            named,
            [
                (Effect::Fills, "dependency", 70.0),
                (Effect::Costs, "sibling: ports", 73.0),
                (Effect::Costs, "L2", 24.0),
            ]
        );
    }

    /// A chain of multiplications in a window that stands for so many instructions, and independent additions in another one.
    fn two_windows(weights: [u64; 2]) -> SimulatedWindows {
        use corun_trace::format::{Opening, Options, Trace, Writer};
        use corun_trace::{Marker, OrderedMarker, Phase, Sink, TracePlan, TracedPoint, decode};

        let point = |(begin, instructions)| TracedPoint { begin, instructions, left_out: 0 };
        let windows = [(0, weights[0]), (3000, weights[1])].map(point).to_vec();
        let plan = TracePlan::SimulationPoints {
            windows,
            length: 3000,
            warm_up: 0,
            total: 6000,
            look_back: 0,
        };
        let opening = Opening { plan, ..Opening::default() };
        let mut writer = Writer::new(Vec::new(), &opening, Options::default()).unwrap();
        // imul rax, rax; dec rcx; jnz to the first. inc rbx; dec rcx; jnz to the first.
        let codes: [(u64, &[u8]); 2] = [
            (0x1000, &[0x48, 0x0f, 0xaf, 0xc0, 0x48, 0xff, 0xc9, 0x75, 0xf7]),
            (0x2000, &[0x48, 0xff, 0xc3, 0x48, 0xff, 0xc9, 0x75, 0xf8]),
        ];
        let blocks = codes.map(|(at, code)| writer.define(decode(at, code).unwrap()).unwrap());
        let thread = writer.thread(1).unwrap();
        for (order, block) in (1..).zip(blocks) {
            let marker = Marker::Begin { phase: Phase::Counted, skipped: 0 };
            writer.mark(thread, OrderedMarker { order, marker }).unwrap();
            (0..1000).for_each(|_| writer.execute(thread, block, 3, &[]).unwrap());
        }
        let trace = Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap();
        let model = corun_model::find("zen4").unwrap();
        let timings = corun_model::timing::TimingTable::of(&model).unwrap();
        let small = corun_record::PageSize::Small;
        let thread = trace.threads()[0].id;
        let recording = corun_sim::Recording { trace: &trace, thread, total: 6000 };
        let run = corun_sim::SampledRun::of(recording).unwrap();
        let core = (&model, &timings);
        let windows = corun_sim::WindowSimulation::new(core, &run, Vec::new(), small, 0).unwrap();
        windows.run(|_| true).unwrap().unwrap()
    }

    #[test]
    fn a_window_counts_in_stack_and_misses_for_what_it_stands_for() {
        let share = |of: &SimulatedWindows| {
            let stack = stack(of);
            let sum: f64 = stack.iter().map(|part| part.share).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            stack.iter().find(|it| it.component == "dependency").map_or(0.0, |it| it.share)
        };
        let [chain, mixed, additions] =
            [[5990, 10], [3000, 3000], [10, 5990]].map(|weights| share(&two_windows(weights)));
        assert!(chain > mixed + 0.02 && mixed > additions + 0.02, "{chain} {mixed} {additions}");
        // Both windows run the same number of instructions, each with cold code of its own.
        let first = |of: &SimulatedWindows| per_thousand(of, |it| it.instructions).unwrap();
        assert!((first(&two_windows([5990, 10])) - 1000.0).abs() < 1e-6);
    }
}
