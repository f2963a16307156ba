//! Real yields of pairs of built-in workloads, recorded in moments in which two CPUs of this machine share a core.
//!
//! A virtual machine may get such moments and does not say so. Each slice of work therefore lies between two probes, and
//! counts if both found the same CPUs on one core. What is recorded so is held out from tuning.

mod hardware;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use corun_machine::Machine;
use corun_predict::{HostSiblings, SiblingSource, Slice, on_siblings, recorded_core};
use corun_record::{Document, Estimate, Placement, RecordedProgram, YieldRecord};
use corun_report::Destination;

use crate::failed;
use hardware::Processes;

/// A built-in workload, its parameters given by their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
}

/// Workloads that differ in what they need of a core, and take part in pairs with each other and with copies of themselves.
const WORKLOADS: [Workload; 5] = [
    Workload { name: "fib", parameters: &[] },
    Workload { name: "ram", parameters: &[] },
    Workload { name: "chase", parameters: &[("size", "16K")] },
    Workload { name: "matmul", parameters: &[] },
    Workload { name: "branchy", parameters: &[] },
];

/// Rounds of a slice, each of which runs everything once.
const ROUNDS: usize = 5;
/// The confidence of intervals.
const LEVEL: f64 = 0.95;

/// What runs workloads and looks at the clock.
pub(crate) trait Worker {
    /// The seconds that a run of a workload takes on a CPU, while another one is busy beside it on another CPU, if there
    /// is one.
    ///
    /// # Errors
    /// If a workload cannot be run.
    fn seconds(
        &mut self,
        workload: &Workload,
        cpu: u32,
        beside: Option<(&Workload, u32)>,
    ) -> Result<f64, String>;
}

/// The outcome of all attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Attempts {
    made: u32,
    thrown_away: u32,
    kept: u32,
}

impl Attempts {
    /// The result as a sentence.
    pub(crate) fn sentence(self) -> String {
        let Self { made, thrown_away, kept } = self;
        match (kept, thrown_away) {
            (0, 0) => format!("no siblings found in {made} attempts"),
            (0, _) => format!(
                "siblings found in {thrown_away} of {made} attempts, but no longer at the end of a slice: nothing is recorded"
            ),
            _ => format!(
                "{kept} yields recorded in {made} attempts; {thrown_away} slices were thrown away, since the CPUs shared no \
                 core at their end"
            ),
        }
    }
}

/// Records yields into a folder.
///
/// # Errors
/// If the machine cannot be read or probed, a workload cannot be run, or the folder cannot be written.
pub(crate) fn record_on_this_machine(
    corun: &Path,
    folder: &Path,
    attempts: u32,
) -> Result<Attempts, String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let machine = Machine::read(Path::new("/")).map_err(|error| error.to_string())?;
    let never = AtomicBool::new(false);
    let source = HostSiblings::new(&machine, &never);
    let core = recorded_core(&machine, 2, Path::new("/"))
        .ok_or("this machine has no CPUID, which names its core")?;
    let mut worker = Processes::new(corun);
    let keep = |[one, other]: [&Workload; 2], measured| {
        let program = one.recorded();
        let record = YieldRecord {
            format: YieldRecord::FORMAT.to_owned(),
            version: YieldRecord::VERSION,
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            core: core.clone(),
            siblings: source.evidence(),
            beside: Some(other.recorded()).filter(|other| *other != program),
            program,
            placement: Placement::Full(None),
            threads: 2,
            measured,
            predicted: None,
            model: None,
        };
        let file = folder.join(record.file_name());
        Destination::open(&file).and_then(|it| it.write(&record.to_json())).map_err(failed)
    };
    record(&source, &mut worker, attempts, keep)
}

/// Makes so many attempts at a slice, the next pair after each that is kept.
fn record(
    source: &dyn SiblingSource,
    worker: &mut dyn Worker,
    attempts: u32,
    mut keep: impl FnMut([&Workload; 2], Estimate) -> Result<(), String>,
) -> Result<Attempts, String> {
    let pairs = pairs();
    let mut all = Attempts::default();
    for _ in 0..attempts {
        all.made += 1;
        let pair = pairs[all.kept as usize % pairs.len()];
        let slice = on_siblings(source, |cpus| measured(worker, pair, [cpus[0], cpus[1]]));
        match slice.map_err(|error| error.to_string())? {
            Slice::NoSiblings => {}
            Slice::ThrownAway { .. } => all.thrown_away += 1,
            Slice::Kept { result, .. } => {
                keep(pair, result?)?;
                all.kept += 1;
            }
        }
    }
    Ok(all)
}

/// Each workload beside itself, then each beside each other one.
fn pairs() -> Vec<[&'static Workload; 2]> {
    let same = WORKLOADS.iter().map(|one| [one, one]);
    let different = WORKLOADS
        .iter()
        .enumerate()
        .flat_map(|(at, one)| WORKLOADS[at + 1..].iter().map(move |other| [one, other]));
    same.chain(different).collect()
}

/// The work of both siblings over that of one: the speeds of the two, each relative to its speed beside an idle sibling.
fn measured(
    worker: &mut dyn Worker,
    [one, other]: [&Workload; 2],
    cpus: [u32; 2],
) -> Result<Estimate, String> {
    let mut logs = Vec::new();
    for round in 0..ROUNDS {
        // Who begins alternates, so that a clock that drifts does not pass for an effect.
        let mut speed = |own: &Workload, [cpu, sibling]: [u32; 2], beside: &Workload| {
            let mut seconds =
                |is_beside: bool| worker.seconds(own, cpu, is_beside.then_some((beside, sibling)));
            Ok::<f64, String>(match round % 2 {
                0 => seconds(false)? / seconds(true)?,
                _ => 1.0 / (seconds(true)? / seconds(false)?),
            })
        };
        let first = speed(one, cpus, other)?;
        let second = match one == other {
            true => first,
            false => speed(other, [cpus[1], cpus[0]], one)?,
        };
        logs.push((first + second).ln());
    }
    let found = corun_stats::paired(&logs, LEVEL).ok_or("too few rounds for an interval")?;
    let [value, low, high] = found.ratio();
    Ok(Estimate { value, low, high, level: LEVEL, blocks: found.blocks })
}

impl Workload {
    fn recorded(&self) -> RecordedProgram {
        let parameters = self.parameters.iter();
        let parameters = parameters.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        RecordedProgram::of_workload(self.name, &parameters.collect())
    }

    /// Its parameters as commands take them.
    fn words(&self) -> impl Iterator<Item = String> {
        self.parameters.iter().map(|(name, value)| format!("{name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use corun_machine::probe::ProbeError;

    use super::*;

    /// Whether CPUs 4 and 6 share a core, at each probe in turn.
    struct Probes(RefCell<Vec<bool>>);

    impl SiblingSource for Probes {
        fn cores(&self) -> Result<Vec<Vec<u32>>, ProbeError> {
            Ok(match self.0.borrow_mut().remove(0) {
                true => vec![vec![4, 6]],
                false => Vec::new(),
            })
        }
    }

    /// A core on which each takes 1.6 times as long beside another.
    #[derive(Default)]
    struct Core {
        ran: Vec<(&'static str, u32, Option<u32>)>,
    }

    impl Worker for Core {
        fn seconds(
            &mut self,
            workload: &Workload,
            cpu: u32,
            beside: Option<(&Workload, u32)>,
        ) -> Result<f64, String> {
            self.ran.push((workload.name, cpu, beside.map(|it| it.1)));
            Ok(if beside.is_some() { 0.16 } else { 0.1 })
        }
    }

    fn recorded(probes: &[bool]) -> (Attempts, Vec<(String, f64)>, Core) {
        let source = Probes(RefCell::new(probes.to_vec()));
        let (mut core, mut kept) = (Core::default(), Vec::new());
        let mut asked = 0;
        let mut left = probes;
        while let Some((first, rest)) = left.split_first() {
            asked += 1;
            left = if *first { &rest[1..] } else { rest };
        }
        let keep = |[one, other]: [&Workload; 2], found: Estimate| {
            kept.push((format!("{} {}", one.name, other.name), found.value));
            Ok(())
        };
        let all = record(&source, &mut core, asked, keep).unwrap();
        assert!(source.0.borrow().is_empty());
        (all, kept, core)
    }

    #[test]
    fn a_slice_is_recorded_if_both_probes_say_so() {
        let (all, kept, core) = recorded(&[false, true, true, true, true]);
        assert_eq!(all, Attempts { made: 3, thrown_away: 0, kept: 2 });
        let names: Vec<&str> = kept.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(names, ["fib fib", "ram ram"]);
        assert!(kept.iter().all(|it| (it.1 - 1.25).abs() < 1e-9), "{kept:?}");
        assert_eq!(
            core.ran[..4],
            [("fib", 4, None), ("fib", 4, Some(6)), ("fib", 4, Some(6)), ("fib", 4, None)]
        );
        let expected = "2 yields recorded in 3 attempts; 0 slices were thrown away";
        assert!(all.sentence().starts_with(expected), "{}", all.sentence());
    }

    #[test]
    fn a_slice_is_thrown_away_if_the_second_probe_disagrees() {
        let (all, kept, core) = recorded(&[true, false, true, false]);
        assert_eq!((all, kept.len()), (Attempts { made: 2, thrown_away: 2, kept: 0 }, 0));
        assert!(!core.ran.is_empty());
        assert!(all.sentence().ends_with("nothing is recorded"), "{}", all.sentence());
    }

    #[test]
    fn without_siblings_nothing_runs_and_that_is_said() {
        let (all, kept, core) = recorded(&[false; 7]);
        assert!(kept.is_empty() && core.ran.is_empty());
        assert_eq!(all.sentence(), "no siblings found in 7 attempts");
    }

    #[test]
    fn two_workloads_count_with_their_speeds() {
        let mut core = Core::default();
        let pair = [&WORKLOADS[0], &WORKLOADS[1]];
        let found = measured(&mut core, pair, [4, 6]).unwrap();
        assert!((found.value - 1.25).abs() < 1e-9, "{found:?}");
        assert!(core.ran.contains(&("ram", 6, Some(4))), "{:?}", core.ran);
    }

    #[test]
    fn the_workloads_and_their_parameters_are_there() {
        for one in &WORKLOADS {
            let workload = corun_workload::find(one.name).unwrap();
            let words: Vec<String> = one.words().collect();
            corun_workload::Parameters::parse(workload.descriptor(), &words).unwrap();
        }
        assert_eq!(pairs().len(), 15);
    }
}
