//! The simulation of a sampled run's windows: what is simulated, and one section of it after another or at the same time.

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{PageSize, Unwatched};
use corun_trace::format::FormatError;
use corun_trace::{Phase, TouchedLine};

use super::beside::{Course, Recording, Sibling};
use super::collected::{Collected, SimulatedSection};
use super::gaps::Gaps;
use super::intervals::{Interval, before, intervals};
use super::sections::Section;
use super::{PIECE, SimulatedWindows};
use crate::error::SimulationError;
use crate::machine::{DETAILED, Machine};
use crate::memory::Pages;
use crate::plausible;
use crate::replay::recorded::{Recorded, Replay};
use crate::uops::Lowering;

/// Instructions of a window that are noted at most, those that cost most.
const MOST_BLAMED: usize = 256;
/// Instructions between two calls of `goes_on` in a warm-up.
const STRIDE: u64 = 1 << 18;

/// A recorded thread, with its windows: found once for all simulations of them.
#[derive(Debug)]
pub struct SampledRun<'t> {
    recording: Recording<'t>,
    intervals: Vec<Interval>,
    gaps: Gaps<'t>,
}

impl<'t> SampledRun<'t> {
    /// Reads where the windows of a thread lie.
    ///
    /// # Errors
    /// If the trace is damaged, has no such thread, or lacks code.
    pub fn of(recording: Recording<'t>) -> Result<Self, SimulationError> {
        recording.trace.require_code()?;
        let intervals = intervals(recording.trace, recording.thread)?;
        let gaps = Gaps::of(recording, &intervals);
        Ok(Self { recording, intervals, gaps })
    }

    /// The thread.
    pub fn recording(&self) -> Recording<'t> {
        self.recording
    }
}

/// Mode of simulation of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They warm caches, TLBs and branch predictors; nothing is timed.
    Warming,
    /// They go through the pipeline.
    Detailed,
}

/// Progress of the simulation of a section.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Instructions of the thread that are done since the step before.
    pub instructions: u64,
    /// Mode of those that follow.
    pub next: Mode,
    /// True if what is done by now is enough for an interval.
    pub has_result: bool,
}

/// The windows of a thread on a core whose other hardware threads run `siblings`, which are not counted.
///
/// A long run is simulated in sections, the same ones on any machine: each on a core of its own that is warmed by what
/// lies before the section, so that sections can be simulated at the same time.
#[derive(Debug)]
pub struct WindowSimulation<'a> {
    model: &'a CoreModel,
    timings: &'a TimingTable,
    run: &'a SampledRun<'a>,
    siblings: Vec<Sibling<'a>>,
    pages: PageSize,
    seed: u64,
    sections: Vec<Section>,
}

impl<'a> WindowSimulation<'a> {
    /// The windows of `run` on a core of this model; `seed` chooses how far apart copies are, and where pages of siblings
    /// lie.
    ///
    /// # Errors
    /// If the trace of a sibling lacks code.
    pub fn new(
        (model, timings): (&'a CoreModel, &'a TimingTable),
        run: &'a SampledRun<'a>,
        siblings: Vec<Sibling<'a>>,
        pages: PageSize,
        seed: u64,
    ) -> Result<Self, SimulationError> {
        siblings.iter().try_for_each(|it| it.recording.trace.require_code())?;
        // How far another program has come is known only when what lies before is simulated.
        let sections = match siblings.iter().all(|it| it.is_copy) {
            true => Section::all(&run.intervals),
            false => vec![Section::whole(&run.intervals)],
        };
        Ok(Self { model, timings, run, siblings, pages, seed, sections })
    }

    /// Number of sections; at least one.
    pub fn sections(&self) -> usize {
        self.sections.len()
    }

    /// Instructions of the thread that are simulated for a section, those that only warm included.
    pub fn instructions(&self, section: usize) -> u64 {
        let Section { begin, intervals, .. } = &self.sections[section];
        self.run.intervals[intervals.clone()].last().map_or(0, |last| last.end - begin)
    }

    /// Instructions of a section's windows.
    pub fn counted(&self, section: usize) -> u64 {
        let own = self.run.intervals[self.sections[section].intervals.clone()].iter();
        own.filter(|it| it.phase == Phase::Counted).map(|it| it.end - it.begin).sum()
    }

    /// True if the windows of both are the same.
    pub fn has_windows_of(&self, other: &Self) -> bool {
        std::ptr::eq(self.run, other.run)
    }

    /// About what a section costs, relative to others.
    pub fn cost(&self, section: usize) -> u64 {
        self.instructions(section) * (1 + self.siblings.len() as u64)
    }

    /// Simulates a section. `goes_on` is called now and then, and at the end; when it says no, the windows that are done are the
    /// result, or what is done of the first one. None if nothing is.
    ///
    /// # Errors
    /// If a trace is damaged where it is read, or the core makes no progress.
    pub fn simulate(
        &self,
        section: usize,
        mut goes_on: impl FnMut(Step) -> bool,
    ) -> Result<Option<SimulatedSection>, SimulationError> {
        let section = &self.sections[section];
        let mut machine = self.machine(section)?;
        let copies = self.siblings.iter().take_while(|it| it.is_copy).count();
        let mut expects_earlier = false;
        if section.begin > 0 {
            expects_earlier = self.run.gaps.are_unknown;
            let lines = self.run.gaps.all_before(section.place)?;
            pass_over(&mut machine, section.place, (&lines, copies), expects_earlier)?;
        }
        // A core begins with a whole block.
        let early = section.place.saturating_sub(machine.source(0, 0).place());
        let origin = section.begin - early.min(section.begin);
        let mut known = 0;
        let mut goes_on = |machine: &Machine<Recorded<'_>>, next, has_result| {
            let retired = retired(machine, 0);
            let instructions = retired - std::mem::replace(&mut known, retired);
            goes_on(Step { instructions, next, has_result })
        };
        let threads = 1 + self.siblings.len();
        let number = section.intervals.start as u64;
        let mut course = Course::new(self.run.recording, &self.siblings, (self.seed, number));
        let mut collected = Collected::new(machine.state(0, 0), before(self.run.recording.trace));
        let intervals = &self.run.intervals[..section.intervals.end];
        let first = intervals.partition_point(|it| it.end <= section.begin);
        let mut simulated_to = section.place;
        let is_whole = 'windows: {
            for (number, interval) in (first..).zip(&intervals[first..]) {
                if interval.place > simulated_to {
                    let expects = self.run.gaps.are_unknown && !expects_earlier;
                    expects_earlier |= expects;
                    let lines = self.run.gaps.before(interval.place)?;
                    let gap = interval.place - simulated_to;
                    pass_over(&mut machine, gap, (&lines, copies), expects)?;
                }
                simulated_to = interval.place + (interval.end - interval.begin);
                let begun = machine.state(0, 0);
                machine.take_attribution(0);
                let end = interval.end - origin;
                let has_result = collected.has_result();
                let mut warms_on =
                    |machine: &Machine<Recorded<'_>>, mode| goes_on(machine, mode, has_result);
                if number < section.intervals.start {
                    if !warm(&mut machine, &vec![end; threads], &mut warms_on)? {
                        break 'windows false;
                    }
                    continue;
                }
                if interval.phase == Phase::WarmUp {
                    let targets = course.targets(end, begun.retired);
                    let last: Vec<u64> =
                        targets.iter().map(|it| it.saturating_sub(DETAILED)).collect();
                    let is_warm = warm(&mut machine, &last, &mut warms_on)?;
                    if !is_warm || !warms_on(&machine, Mode::Detailed) {
                        break 'windows false;
                    }
                    machine.run_first(end)?;
                } else {
                    collected.begin();
                    let others = course.others(&machine);
                    let mut next = begun.retired;
                    while next < end {
                        if !goes_on(&machine, Mode::Detailed, collected.has_result()) {
                            collected.stop(interval, machine.state(0, 0).since(&begun));
                            break 'windows false;
                        }
                        next = (next + PIECE).min(end);
                        let piece = machine.state(0, 0);
                        machine.run_first(next)?;
                        collected.piece(machine.state(0, 0).since(&piece));
                        if retired(&machine, 0) < next {
                            // It has ended, however far a damaged trace says that it goes.
                            break;
                        }
                    }
                    let done = retired(&machine, 0) - begun.retired;
                    course.learn(&machine, done, &others);
                }
                let attributed = machine.take_attribution(MOST_BLAMED);
                collected.end(interval, machine.state(0, 0).since(&begun), attributed);
            }
            true
        };
        goes_on(&machine, Mode::Detailed, collected.has_result());
        let mut sources = machine.into_sources().swap_remove(0);
        sources.iter_mut().try_for_each(Recorded::error)?;
        Ok(collected.all(is_whole, &sources[0]))
    }

    /// The windows of all sections, from the results of each in their order.
    ///
    /// # Errors
    /// If there is a figure that the core cannot have.
    pub fn join(
        &self,
        sections: impl IntoIterator<Item = SimulatedSection>,
    ) -> Result<SimulatedWindows, SimulationError> {
        let all = sections.into_iter().map(SimulatedSection::windows);
        let all = all.reduce(SimulatedWindows::with).expect("a simulation has a section");
        all.together.check(self.model)?;
        for window in &all.windows {
            plausible::of_rate(
                window.events.instructions as f64,
                window.cycles as f64,
                self.model,
            )?;
        }
        Ok(all)
    }

    /// Simulates all sections, one after the other; `goes_on` is called as [`Self::simulate`] calls it. None if it says no before
    /// each has a window.
    ///
    /// # Errors
    /// As [`Self::simulate`] and [`Self::join`].
    pub fn run(
        &self,
        mut goes_on: impl FnMut(Step) -> bool,
    ) -> Result<Option<SimulatedWindows>, SimulationError> {
        let sections = (0..self.sections()).map(|section| self.simulate(section, &mut goes_on));
        let sections: Option<Vec<SimulatedSection>> = sections.collect::<Result<_, _>>()?;
        sections.map(|sections| self.join(sections)).transpose()
    }

    pub(super) fn machine(&self, section: &Section) -> Result<Machine<Recorded<'_>>, FormatError> {
        let lowering = || Lowering::new(self.model, self.timings);
        // Where its pages lie is as it is alone.
        let own_pages = Pages::of(0, 0, self.pages).on(self.model);
        let source = |recording: Recording<'a>, pages, replay| {
            let Recording { trace, thread, .. } = recording;
            Recorded::new(lowering(), trace, thread, pages, replay, &Unwatched)
        };
        let counted = self.run.recording;
        let mut sources = vec![source(counted, own_pages, Replay::From(section.place))?];
        for (number, sibling) in (1..).zip(&self.siblings) {
            let own = Pages::of(number, self.seed, self.pages).on(self.model);
            let pages = if sibling.is_copy { own.with_code_of(own_pages) } else { own };
            sources.push(source(sibling.recording, pages, sibling.course(section.place))?);
        }
        Ok(Machine::new(self.model, vec![(lowering().stack_update(), sources)]))
    }
}

/// Leaves out so many instructions of each thread, in which the first thread and so many copies of it touch these lines.
/// `expects_earlier` says whether they touch others, too, which are not known.
fn pass_over(
    machine: &mut Machine<Recorded<'_>>,
    instructions: u64,
    (lines, copies): (&[TouchedLine], usize),
    expects_earlier: bool,
) -> Result<(), SimulationError> {
    if expects_earlier {
        machine.expect_earlier_lines();
    }
    if !lines.is_empty() {
        machine.pass_over(instructions, lines, 1 + copies)?;
    }
    Ok(())
}

/// Takes all threads on to these instructions of theirs, as far as caches and predictors notice; says whether it may go on.
fn warm<'t>(
    machine: &mut Machine<Recorded<'t>>,
    targets: &[u64],
    goes_on: &mut impl FnMut(&Machine<Recorded<'t>>, Mode) -> bool,
) -> Result<bool, SimulationError> {
    let first: Vec<u64> = (0..targets.len()).map(|it| retired(machine, it)).collect();
    let lengths = first.iter().zip(targets).map(|(first, target)| target.saturating_sub(*first));
    let steps = lengths.max().unwrap_or(0).div_ceil(STRIDE);
    for step in 1..=steps {
        if !goes_on(machine, Mode::Warming) {
            return Ok(false);
        }
        let part = |(first, target): (&u64, &u64)| {
            let left = u128::from(target.saturating_sub(*first));
            first + (left * u128::from(step) / u128::from(steps)) as u64
        };
        let next: Vec<u64> = first.iter().zip(targets).map(part).collect();
        machine.warm(&next)?;
        if (0..targets.len()).all(|it| retired(machine, it) < next[it]) {
            // All have ended, however far a damaged trace says that they go.
            break;
        }
    }
    Ok(true)
}

fn retired(machine: &Machine<Recorded<'_>>, thread: usize) -> u64 {
    machine.state(0, thread).retired
}

#[cfg(test)]
mod tests {
    use corun_trace::format::{Opening, Options, Trace, Writer};
    use corun_trace::{Marker, OrderedMarker, Sink, ThreadId, TouchedLines, TracePlan, decode};

    use super::*;

    /// Lines of 128 KiB: more than a first level holds, and less than a second.
    const LINES: u64 = 2048;
    /// Lines of 64 MiB, most of which a run touches once.
    const MANY: u64 = 1 << 20;
    const WINDOWS: u64 = 24;

    /// mov rdi, [rdi]; jmp to the first: loads of all lines in turn, in windows whose own warm-ups reach few of them.
    ///
    /// Before each warm-up so many loads are left out.
    fn walk(left_out: u64) -> Trace {
        walk_through(LINES, left_out, false)
    }

    /// Trace through so many lines, a power of two. The trace may have the lines that each gap touches.
    fn walk_through(lines: u64, left_out: u64, has_lists: bool) -> Trace {
        let look_back = if has_lists { 2 * left_out } else { 0 };
        let (count, length, warm_up, total) = (WINDOWS as u32, 800, 800, u64::MAX);
        let plan =
            TracePlan::Samples { count, length, warm_up, total, seed: 0, look_back, first_part: 0 };
        let opening = Opening { plan, ..Opening::default() };
        let mut writer = Writer::new(Vec::new(), &opening, Options::default()).unwrap();
        let address = |line: u64| 0x1000_0000 + 64 * line;
        let mut place = 0;
        let code = [0x48, 0x8b, 0x3f, 0xeb, 0xfb];
        let block = writer.define(decode(0x1000, &code).unwrap()).unwrap();
        let thread = writer.thread(1).unwrap();
        let (mut line, mut order) = (0, 0);
        for _ in 0..WINDOWS {
            // Every line once, in an order that no prefetcher follows (Hull and Dobell 1962).
            let mut go_on = || {
                line = (line * 5 + 3) % lines;
                line
            };
            let touched = (0..left_out).map(|_| TouchedLine::new(address(go_on()), false, false));
            let touched: Vec<_> = touched.collect();
            place += 2 * left_out;
            if has_lists {
                let last = touched.len().saturating_sub(lines as usize);
                let lines = touched[last..].to_vec();
                writer.touched(thread, TouchedLines { position: place, lines }).unwrap();
            }
            place += 2 * 800;
            for (phase, skipped) in [(Phase::WarmUp, 2 * left_out), (Phase::Counted, 0)] {
                order += 1;
                let marker = Marker::Begin { phase, skipped };
                writer.mark(thread, OrderedMarker { order, marker }).unwrap();
                for _ in 0..400 {
                    let line = go_on();
                    writer.execute(thread, block, 2, &[address(line)]).unwrap();
                }
            }
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    /// The walk in sections of so many instructions, each warmed by so many, alone or beside a copy; `order` puts the
    /// sections into the order in which they are simulated.
    fn simulated(
        (length, warm_up): (u64, u64),
        is_alone: bool,
        order: impl Fn(&mut Vec<usize>),
    ) -> SimulatedWindows {
        simulated_of(&walk(0), (length, warm_up), is_alone, order)
    }

    /// Windows of another walk.
    fn simulated_of(
        trace: &Trace,
        (length, warm_up): (u64, u64),
        is_alone: bool,
        order: impl Fn(&mut Vec<usize>),
    ) -> SimulatedWindows {
        let model = corun_model::find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let own = &trace.threads()[0];
        let recording = Recording { trace, thread: ThreadId(0), total: own.instructions };
        let run = SampledRun::of(recording).unwrap();
        let copy = Sibling { recording, begin: 0.0, is_copy: true };
        let siblings = if is_alone { Vec::new() } else { vec![copy] };
        let core = (&model, &timings);
        let mut of = WindowSimulation::new(core, &run, siblings, PageSize::Small, 7).unwrap();
        of.sections = Section::of_length(&run.intervals, length, warm_up);
        let mut numbers: Vec<usize> = (0..of.sections()).collect();
        order(&mut numbers);
        let done = numbers
            .into_iter()
            .map(|section| (section, of.simulate(section, |_| true).unwrap().unwrap()));
        let done: std::collections::BTreeMap<usize, SimulatedSection> = done.collect();
        of.join(done.into_values()).unwrap()
    }

    fn cycles(of: &SimulatedWindows) -> f64 {
        of.windows.iter().map(|it| it.cycles).sum::<u64>() as f64
    }

    #[test]
    fn sections_that_are_warmed_agree_with_one_chain() {
        let chain = cycles(&simulated((u64::MAX, 0), true, |_| {}));
        let warmed = cycles(&simulated((5000, 2 * LINES), true, |_| {}));
        // The first round through the lines meets cold caches in both.
        assert!((warmed / chain - 1.0).abs() < 0.02, "{warmed} {chain}");
        let unwarmed = cycles(&simulated((5000, 0), true, |_| {}));
        assert!((unwarmed / chain - 1.0).abs() < 0.02, "{unwarmed} {chain}");
    }

    #[test]
    fn what_was_left_out_has_filled_the_caches() {
        let of = |left_out, length| {
            let windows = simulated_of(&walk(left_out), (length, 0), true, |_| {}).windows;
            // Not the first round through the lines of a run that is simulated from its start.
            windows[8..].iter().map(|it| it.cycles).sum::<u64>() as f64
        };
        let whole = of(0, u64::MAX);
        for length in [u64::MAX, 5000] {
            let sampled = of(5 * LINES / 3, length);
            assert!((sampled / whole - 1.0).abs() < 0.02, "{length}: {sampled} {whole}");
        }
        // The first windows do not wait for memory either.
        let first =
            |left_out| simulated_of(&walk(left_out), (u64::MAX, 0), true, |_| {}).windows[0].cycles;
        assert!(first(LINES) * 5 < first(0), "{} {}", first(LINES), first(0));
    }

    #[test]
    fn what_gaps_touched_is_where_it_would_be() {
        let of = |lines, left_out, length, has_lists| {
            let trace = walk_through(lines, left_out, has_lists);
            let windows = simulated_of(&trace, (length, 0), true, |_| {}).windows;
            windows[8..].iter().map(|it| it.cycles).sum::<u64>() as f64
        };
        for lines in [LINES, MANY] {
            let whole = of(lines, 0, u64::MAX, false);
            for length in [u64::MAX, 5000] {
                let listed = of(lines, LINES, length, true);
                let ratio = listed / whole;
                assert!((ratio - 1.0).abs() < 0.03, "{lines} lines, {length}: {listed} {whole}");
            }
        }
        // What is not listed is taken to be there, also where it never was.
        assert!(of(MANY, LINES, u64::MAX, false) < 0.7 * of(MANY, 0, u64::MAX, false));
    }

    #[test]
    fn the_order_in_which_sections_are_simulated_changes_nothing() {
        for is_alone in [true, false] {
            let of = |order: fn(&mut Vec<usize>)| simulated((5000, 1000), is_alone, order);
            let forwards = of(|_| {});
            assert_eq!(forwards.windows.len() as u64, WINDOWS);
            assert_eq!(forwards, of(|sections| sections.reverse()));
            assert_eq!(forwards, of(|sections| sections.rotate_left(2)));
        }
    }
}
