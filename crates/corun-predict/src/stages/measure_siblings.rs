//! Measure siblings: the yield of the program on a core of this machine whose logical CPUs are siblings.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corun_machine::Machine;
use corun_measure::caveats::clock_ratio;
use corun_measure::experiment::Observer;
use corun_measure::{MeasureError, Measurement, Request, WorkRequest};
use corun_record::{
    Arm, Caveat, MeasuredSiblings, Metric, Observation, Placement, Progress, Run, Sample, Stage,
};
use corun_trace::Ending;

use super::RecordedRun;
use crate::Job;
use crate::hardware::{Slice, of_one_core, on_siblings};

/// Runs measured on siblings; nothing where that was not asked for.
#[derive(Default)]
pub(crate) struct SiblingRuns {
    /// Place of the measurement, if there is one.
    pub(super) measured: Option<MeasuredSiblings>,
    /// The yields.
    pub(super) observations: Vec<Observation>,
    /// The caveats of the measurement, or why there is none.
    pub(super) caveats: Vec<Caveat>,
}

impl SiblingRuns {
    /// Measures the program spread and full on one core, between two probes that agree on it.
    pub(crate) fn of(
        job: &Job<'_>,
        recorded: &RecordedRun,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Self {
        let Some(asked) = &job.measure_siblings else { return Self::default() };
        if recorded.cut.is_some() {
            return Self::without("only the beginning of its run is predicted");
        }
        if stop.load(Ordering::Relaxed) {
            return Self::without("it was ended by the user before");
        }
        progress.begin(Stage::new("measuring siblings", "blocks", None));
        let placements = placements(&job.beside.placements, job.beside.stacked);
        asked.measure(job.machine, placements, (recorded.ending, job.beside.seed), progress)
    }

    fn without(reason: &str) -> Self {
        let sentence = format!("The yield was not measured: {}.", reason.trim_end_matches('.'));
        let caveats = vec![Caveat::new("siblings-not-measured", sentence)];
        Self { caveats, ..Self::default() }
    }

    fn from_run(cpus: Vec<u32>, asked: &MeasureSiblings<'_>, run: Run) -> Self {
        let clock = clock_ratio(&run.arms, &run.samples, ["full", "spread"]);
        let is_yield = |it: &Observation| {
            matches!(it.metric, Metric::SmtYield | Metric::MultitaskingGain)
                && !it.arm.contains('/')
        };
        let observations: Vec<Observation> =
            run.observations.into_iter().filter(is_yield).collect();
        if observations.is_empty() {
            return Self::without(&format!(
                "{} blocks in {:.0} s are too few for an interval; allow more with --max-time",
                run.design.blocks, run.elapsed_s
            ));
        }
        let of_run =
            |it: Caveat| Caveat::new(&it.kind, format!("Measured on siblings: {}", it.sentence));
        Self {
            measured: Some(MeasuredSiblings {
                cpus,
                evidence: asked.evidence,
                blocks: run.design.blocks,
                elapsed_s: run.elapsed_s,
                clock,
            }),
            observations,
            caveats: run.caveats.into_iter().map(of_run).collect(),
        }
    }
}

/// As `corun measure` has them.
const TARGET: f64 = 0.01;
const PRACTICAL: f64 = 0.02;

/// Measurement of a program's yield beside its prediction.
pub struct MeasureSiblings<'a> {
    /// Which CPUs are siblings.
    pub source: &'a (dyn crate::SiblingSource + Sync),
    /// Evidence for that.
    pub evidence: corun_record::SiblingEvidence,
    /// The program as `corun measure` runs it.
    pub work: WorkRequest,
    /// The time that it may take, ...
    pub budget: Duration,
    /// ... and the time that the fewest runs may take that give an interval.
    pub limit: Duration,
    /// Ends it.
    pub interrupt: corun_measure::execution::Interrupt,
}

impl MeasureSiblings<'_> {
    /// Measures these placements of a program that ends so, for as long as its CPUs are siblings.
    fn measure(
        &self,
        machine: &Machine,
        placements: Vec<Placement>,
        (ending, seed): (Ending, u64),
        progress: &dyn Progress,
    ) -> SiblingRuns {
        let request = Request {
            work: expecting(self.work.clone(), ending),
            cores: Some(1),
            core_type: None,
            placements,
            listed: Vec::new(),
            skip_impossible: true,
            steady: false,
            timeout: None,
            prepare: None,
            smt_switch: false,
            target: TARGET,
            practical: PRACTICAL,
            max_time: self.budget,
            blocks: None,
            warmup: 1,
            seed: Some(seed),
        };
        let slice = on_siblings(self.source, |cpus| {
            let machine = of_one_core(machine, cpus);
            let interrupt = self.interrupt.again();
            let interrupt = interrupt.map_err(|error| error.to_string())?;
            let measurement = Measurement::prepare(&request, &machine, interrupt, None);
            let measurement = measurement.map_err(|error| error.to_string())?;
            let run = measurement.with_limit(self.limit).run(&mut Blocks(progress));
            run.map(|(run, _)| run).map_err(|error: MeasureError| error.to_string())
        });
        match slice {
            Err(error) => SiblingRuns::without(&error.to_string()),
            Ok(Slice::NoSiblings) => SiblingRuns::without("its CPUs no longer share a core"),
            Ok(Slice::ThrownAway { cpus }) => SiblingRuns::without(&format!(
                "CPUs {} shared a core before it and not after it",
                listed(&cpus)
            )),
            Ok(Slice::Kept { result: Err(reason), .. }) => SiblingRuns::without(&reason),
            Ok(Slice::Kept { cpus, result: Ok(run) }) => SiblingRuns::from_run(cpus, self, run),
        }
    }
}

/// Placements that are measured: one worker a core, and what is predicted beside siblings of one core.
fn placements(predicted: &[Placement], stacked: bool) -> Vec<Placement> {
    let on_one_core = |it: &&Placement| matches!(it, Placement::Full(_));
    let mut all = vec![Placement::Spread(None)];
    all.extend(predicted.iter().filter(on_one_core));
    all.extend(stacked.then_some(Placement::Stacked));
    all
}

/// The work of a program that ends as it did when it was traced.
fn expecting(work: WorkRequest, ending: Ending) -> WorkRequest {
    match (work, ending) {
        (WorkRequest::Command(mut command), Ending::Exited(code)) => {
            command.expected_exit = code;
            WorkRequest::Command(command)
        }
        (work, _) => work,
    }
}

fn listed(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}

/// Tells of each block.
struct Blocks<'a>(&'a dyn Progress);

impl Observer for Blocks<'_> {
    fn arm_starts(&mut self, _: Option<u32>, _: &Arm, _: Duration) {}

    fn block_ends(&mut self, _: u32, _: &[Sample], _: Duration) {
        self.0.advance(1);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicU32;

    use corun_machine::probe::ProbeError;
    use corun_measure::CommandRequest;
    use corun_measure::execution::Interrupt;
    use corun_record::{SiblingEvidence, Unwatched};

    use super::*;
    use crate::SiblingSource;

    /// The first two usable CPUs, for so many probes.
    struct Pretended {
        cpus: Vec<u32>,
        probes: AtomicU32,
    }

    impl SiblingSource for Pretended {
        fn cores(&self) -> Result<Vec<Vec<u32>>, ProbeError> {
            let left = self.probes.load(Ordering::Relaxed);
            self.probes.store(left.saturating_sub(1), Ordering::Relaxed);
            Ok(if left > 0 { vec![self.cpus.clone()] } else { Vec::new() })
        }
    }

    fn measured(probes: u32, command: &[&str], ending: Ending) -> Option<SiblingRuns> {
        let machine = Machine::read(Path::new("/")).unwrap();
        let cpus: Vec<u32> = machine.allowed().iter().take(2).collect();
        if cpus.len() < 2 {
            corun_testing::skip("two CPUs", "one CPU is usable");
            return None;
        }
        let source = Pretended { cpus, probes: AtomicU32::new(probes) };
        // Nobody raises it, and it is raised when its other end is gone.
        let (interrupt, _raise) = Interrupt::new().unwrap();
        let asked = MeasureSiblings {
            source: &source,
            evidence: SiblingEvidence::Probe,
            work: WorkRequest::Command(CommandRequest {
                argv: command.iter().map(|word| (*word).into()).collect(),
                copies: false,
                per_worker: false,
                environment: std::env::vars_os().collect(),
                directory: None,
                input: None,
                expected_exit: 0,
                throughput: None,
            }),
            budget: Duration::from_millis(300),
            limit: Duration::from_secs(60),
            interrupt,
        };
        let all = placements(&[Placement::Full(None)], true);
        Some(asked.measure(&machine, all, (ending, 5), &Unwatched))
    }

    #[test]
    fn a_yield_is_measured_on_two_cpus_that_are_siblings() {
        let Some(found) = measured(2, &["sh", "-c", "exit 3"], Ending::Exited(3)) else { return };
        let arms = |metric| {
            let of = found.observations.iter().filter(move |it| it.metric == metric);
            of.map(|it| it.arm.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(arms(Metric::SmtYield), ["full"], "{:?}", found.caveats);
        assert_eq!(arms(Metric::MultitaskingGain), ["full"]);
        let measured = found.measured.expect("siblings");
        assert!(measured.cpus.len() == 2 && measured.blocks >= 2, "{measured:?}");
        assert_eq!(measured.evidence, SiblingEvidence::Probe);
    }

    #[test]
    fn without_siblings_before_or_after_there_is_a_reason_and_no_figure() {
        for (probes, reason) in [
            (0, "its CPUs no longer share a core"),
            (1, "shared a core before it and not after it"),
        ] {
            let Some(found) = measured(probes, &["true"], Ending::Exited(0)) else { return };
            assert!(found.measured.is_none() && found.observations.is_empty());
            let [caveat] = &found.caveats[..] else { panic!("{:?}", found.caveats) };
            assert!(caveat.sentence.contains(reason), "{caveat:?}");
        }
    }

    #[test]
    fn a_program_that_fails_is_not_measured_and_says_why() {
        let Some(found) = measured(2, &["sh", "-c", "exit 3"], Ending::Exited(0)) else { return };
        assert!(found.measured.is_none());
        assert!(found.caveats[0].sentence.contains("exit"), "{:?}", found.caveats);
    }
}
