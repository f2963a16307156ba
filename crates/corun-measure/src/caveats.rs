//! What limits trust in a run, read from its samples' evidence: each a kind and a plain sentence.

use std::collections::BTreeMap;

use corun_record::{Arm, Caveat, Evidence, Metric, Observation, Pinning, Sample};

use crate::comparison::comparisons;
use crate::series::Series;
use crate::statistics::{drift, median, outliers};

/// Clocks of two compared arms that differ by more than this are worth a remark.
const CLOCK_DIFFERENCE: f64 = 0.01;
/// Siblings that ought to be idle may be busy for this share of a sample.
const IDLE_SIBLING_BUSY: f64 = 0.005;
/// The hypervisor, or other work on the used CPUs, may take this share.
const TAKEN: f64 = 0.01;
/// Shorter makespans are mostly start and end.
const SHORT_MAKESPAN_S: f64 = 0.005;
/// More than this share of outliers is worth a remark.
const OUTLIER_SHARE: f64 = 0.05;

/// Everything that limits trust in these samples.
pub(crate) fn of(
    arms: &[Arm],
    samples: &[Sample],
    observations: &[Observation],
    hypervisor: Option<&str>,
) -> Vec<Caveat> {
    let by_arm = ByArm::new(arms, samples);
    let mut caveats = Vec::new();
    caveats.extend(virtual_machine(hypervisor));
    caveats.extend(different_clocks(arms, &by_arm));
    caveats.extend(set_pinned(&by_arm));
    caveats.extend(share(
        &by_arm,
        "idle-sibling-busy",
        IDLE_SIBLING_BUSY,
        |sample| sample.evidence.idle_sibling_busy,
        "siblings that ought to be idle were busy",
    ));
    caveats.extend(share(
        &by_arm,
        "steal",
        TAKEN,
        |sample| Some(sample.evidence.steal_s? / cpu_seconds(sample)),
        "the hypervisor took used CPUs away",
    ));
    caveats.extend(share(
        &by_arm,
        "foreign-work",
        TAKEN,
        |sample| sample.evidence.foreign_busy,
        "used CPUs did other work",
    ));
    caveats.extend(identical_arms_differ(observations));
    caveats.extend(short_runs(&by_arm));
    caveats.extend(unusual_samples(arms, samples));
    caveats
}

/// The samples of each arm, its twin's included, in table order.
struct ByArm<'a>(Vec<(&'a Arm, Vec<&'a Sample>)>);

impl<'a> ByArm<'a> {
    fn new(arms: &'a [Arm], samples: &'a [Sample]) -> Self {
        let originals: BTreeMap<&str, &str> = arms
            .iter()
            .map(|arm| (arm.id.as_str(), arm.twin_of.as_deref().unwrap_or(&arm.id)))
            .collect();
        let of_arm = |arm: &Arm| {
            let own = |sample: &&Sample| originals.get(sample.arm.as_str()) == Some(&&*arm.id);
            samples.iter().filter(own).collect()
        };
        Self(
            arms.iter().filter(|arm| arm.twin_of.is_none()).map(|arm| (arm, of_arm(arm))).collect(),
        )
    }

    fn median(&self, arm: &str, of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let (_, samples) = self.0.iter().find(|(other, _)| other.id == arm)?;
        median(&samples.iter().filter_map(|sample| of(sample)).collect::<Vec<_>>())
    }
}

fn caveat(kind: &str, sentence: String) -> Caveat {
    Caveat { kind: kind.to_owned(), sentence }
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

fn virtual_machine(hypervisor: Option<&str>) -> Option<Caveat> {
    let name = hypervisor?;
    Some(caveat(
        "virtual-machine",
        format!(
            "This is a virtual machine ({name}): its logical CPUs may share a core or a host CPU that it cannot see."
        ),
    ))
}

/// The mean clock of a sample's CPUs: from APERF/MPERF in GHz, else from the probes around it.
fn clock(evidence: &Evidence) -> Option<f64> {
    let probes: Vec<f64> = evidence
        .clocks
        .iter()
        .map(|probe| (probe.before_per_ns + probe.after_per_ns) / 2.0)
        .collect();
    let mean = || probes.iter().sum::<f64>() / probes.len() as f64;
    evidence.aperf_ghz.or_else(|| (!probes.is_empty()).then(mean))
}

fn different_clocks(arms: &[Arm], by_arm: &ByArm) -> Option<Caveat> {
    let differences: Vec<String> = comparisons(arms)
        .iter()
        .filter(|comparison| comparison.is_judged())
        .filter_map(|comparison| {
            let of = |arm: &str| by_arm.median(arm, |sample| clock(&sample.evidence));
            let ratio = of(&comparison.arm)? / of(&comparison.against)?;
            ((ratio - 1.0).abs() > CLOCK_DIFFERENCE)
                .then(|| format!("{} at {ratio:.3} times {}", comparison.arm, comparison.against))
        })
        .collect();
    (!differences.is_empty()).then(|| {
        caveat(
            "different-clocks",
            format!("Arms ran at different clocks: {}.", differences.join(", ")),
        )
    })
}

fn set_pinned(by_arm: &ByArm) -> Option<Caveat> {
    let loose: Vec<&str> = by_arm
        .0
        .iter()
        .filter(|(_, samples)| {
            samples.iter().any(|sample| sample.evidence.pinning == Pinning::SetPinned)
        })
        .map(|(arm, _)| arm.id.as_str())
        .collect();
    (!loose.is_empty()).then(|| {
        caveat(
            "set-pinned",
            format!(
                "Threads could not be told apart and were held on the arm's CPUs as a set (set-pinned): {}.",
                loose.join(", ")
            ),
        )
    })
}

/// A share of the samples' time, remarked on for the arms where its median is above a limit.
fn share(
    by_arm: &ByArm,
    kind: &str,
    limit: f64,
    of: impl Fn(&Sample) -> Option<f64> + Copy,
    what: &str,
) -> Option<Caveat> {
    let above: Vec<String> = by_arm
        .0
        .iter()
        .filter_map(|(arm, _)| Some((&arm.id, by_arm.median(&arm.id, of)?)))
        .filter(|(_, share)| *share > limit)
        .map(|(arm, share)| format!("{arm} {}", percent(share)))
        .collect();
    (!above.is_empty()).then(|| {
        caveat(kind, format!("In half of the samples or more, {what}: {}.", above.join(", ")))
    })
}

fn cpu_seconds(sample: &Sample) -> f64 {
    sample.makespan_s * sample.evidence.clocks.len().max(1) as f64
}

/// A/A intervals that exclude zero: something other than chance tells identical runs apart.
fn identical_arms_differ(observations: &[Observation]) -> Option<Caveat> {
    let differing: Vec<String> = observations
        .iter()
        .filter(|seen| seen.metric == Metric::NoiseFloor)
        .filter(|seen| seen.estimate.low > 0.0 || seen.estimate.high < 0.0)
        .map(|seen| format!("{} ({})", seen.arm, percent(seen.estimate.value)))
        .collect();
    (!differing.is_empty()).then(|| {
        caveat(
            "identical-arms-differ",
            format!(
                "Identical arms differed by more than chance (expected for one in twenty): {}.",
                differing.join(", ")
            ),
        )
    })
}

fn short_runs(by_arm: &ByArm) -> Option<Caveat> {
    let shortest = by_arm
        .0
        .iter()
        .filter_map(|(arm, _)| by_arm.median(&arm.id, |sample| Some(sample.makespan_s)))
        .min_by(f64::total_cmp)?;
    (shortest < SHORT_MAKESPAN_S).then(|| {
        caveat(
            "short-runs",
            format!(
                "Runs took {:.1} ms: starting and ending the program is a good part of that.",
                shortest * 1e3
            ),
        )
    })
}

fn unusual_samples(arms: &[Arm], samples: &[Sample]) -> Vec<Caveat> {
    let series = Series::of_makespan(arms, samples);
    let mut drifting = Vec::new();
    let (mut far, mut all) = (0, 0);
    for arm in arms.iter().filter(|arm| arm.twin_of.is_none()) {
        let logs = series.arm(&arm.id);
        far += outliers(&logs).len();
        all += logs.len();
        if drift(&logs).is_some_and(|drift| drift.is_unusual()) {
            drifting.push(arm.id.as_str());
        }
    }
    let mut caveats = Vec::new();
    if far as f64 > OUTLIER_SHARE * all as f64 {
        caveats.push(caveat(
            "outliers",
            format!("{far} of {all} times lie far from their arm's median; all are counted."),
        ));
    }
    if !drifting.is_empty() {
        caveats.push(caveat(
            "drift",
            format!(
                "Times rose or fell over the run ({}): the machine changed; blocks keep ratios fair.",
                drifting.join(", ")
            ),
        ));
    }
    caveats
}
