//! Limits of trust in a run, read from its samples' evidence: each an identifier and a sentence.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{Arm, Caveat, Evidence, Metric, Mode, Observation, Pinning, Sample};

use crate::comparison::{Comparison, comparisons};
use crate::cpu_use;
use crate::foreign_load::{ForeignLoadByArm, is_long};
use crate::series::Series;
use corun_stats::{drift, is_difference, median, outliers, percent};

/// Clocks of two compared arms that differ by more than this are worth a remark.
const CLOCK_DIFFERENCE: f64 = 0.01;
/// Siblings that should be idle may be busy for this share of a sample.
const IDLE_SIBLING_BUSY: f64 = 0.005;
/// The hypervisor, or other work on the used CPUs, may take this share.
const TAKEN: f64 = 0.01;
/// Less stolen time is what a few ticks are.
const MIN_STOLEN_S: f64 = 0.05;
/// Samples of an arm that may be disturbed without a remark, as a share.
const SOME_SAMPLES: f64 = 0.05;
/// Shorter makespans are mostly start and end.
const SHORT_MAKESPAN_S: f64 = 0.005;
/// A first run so many times as long as the slowest of the later ones did something that these did not.
const FAR_FIRST_RUN: f64 = 2.0;
/// The fewest later runs of its arm that show how long one takes.
const FEWEST_LATER_RUNS: usize = 3;
/// More than this share of outliers is worth a remark.
const OUTLIER_SHARE: f64 = 0.05;

/// Everything that limits trust in these samples.
pub fn of(
    arms: &[Arm],
    samples: &[Sample],
    observations: &[Observation],
    hypervisor: Option<&str>,
) -> Vec<Caveat> {
    let by_arm = SamplesByArm::new(arms, samples);
    let mut caveats = Vec::new();
    caveats.extend(one_block(samples));
    caveats.extend(virtual_machine(hypervisor));
    caveats.extend(different_clocks(arms, &by_arm, observations));
    caveats.extend(set_pinned(&by_arm));
    caveats.extend(displaced(&by_arm));
    caveats.extend(binds_itself(samples));
    caveats.extend(left_running(samples));
    caveats.extend(share(
        &by_arm,
        "idle-sibling-busy",
        IDLE_SIBLING_BUSY,
        |sample| sample.evidence.idle_sibling_busy,
        "siblings that should be idle were busy",
    ));
    caveats.extend(stolen(&by_arm));
    caveats.extend(waited_for_cpu(arms, samples));
    caveats.extend(unknown_foreign_load(samples));
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

/// Caveat that the first run of a command, of this arm and makespan, took far longer than all later ones: it did what is done
/// once, such as building files or filling caches.
pub fn first_run(
    (arm, first_s): (&str, f64),
    arms: &[Arm],
    samples: &[Sample],
    warmup: u32,
    is_prepared: bool,
) -> Option<Caveat> {
    let is_of_arm = |id: &str| {
        id == arm || arms.iter().any(|it| it.id == id && it.twin_of.as_deref() == Some(arm))
    };
    let mut later: Vec<f64> =
        samples.iter().filter(|it| is_of_arm(&it.arm)).map(|it| it.makespan_s).collect();
    // Without a warm-up it is one of the samples.
    later.retain(|seconds| warmup > 0 || *seconds < first_s);
    let slowest = later.iter().copied().reduce(f64::max)?;
    let usual = median(&later)?;
    if later.len() < FEWEST_LATER_RUNS || first_s <= FAR_FIRST_RUN * slowest {
        return None;
    }
    let counted = if warmup > 0 {
        "is not counted: what it did and later runs did not do is not in the answer"
    } else {
        "is counted: `--warmup 1` leaves it out"
    };
    let cure = if is_prepared {
        "`--prepare` did not undo that"
    } else {
        "where each run is to do all of it, undo it before each (`--prepare 'make clean'`)"
    };
    Some(Caveat::new(
        "first-run",
        format!(
            "The first run took {}, later ones {} (work that is done once, such as building files or filling caches). It {counted}; {cure}.",
            time(first_s),
            time(usual)
        ),
    ))
}

fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds < 0.001 => format!("{:.2} ms", seconds * 1e3),
        _ if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

/// Caveat that the program waits for a part of its time, in which placements change nothing.
pub fn waiting(arms: &[Arm], samples: &[Sample], mode: Mode) -> Option<Caveat> {
    cpu_use::share(arms, samples, mode).and_then(cpu_use::caveat)
}

/// Why nothing is said about placements of a program that waits nearly all the time; `None` where it does not.
pub fn only_waits(arms: &[Arm], samples: &[Sample], mode: Mode) -> Option<String> {
    let share = cpu_use::share(arms, samples, mode)?;
    cpu_use::hardly_uses_a_cpu(share).then(|| cpu_use::sentence(share))
}

/// The samples of each arm, its twin's included, in table order.
struct SamplesByArm<'a>(Vec<(&'a Arm, Vec<&'a Sample>)>);

impl<'a> SamplesByArm<'a> {
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

    fn clock_ratio(
        &self,
        [arm, against]: [&str; 2],
        clock: fn(&Evidence) -> Option<f64>,
    ) -> Option<f64> {
        let of = |arm: &str| self.median(arm, |sample| clock(&sample.evidence));
        Some(of(arm)? / of(against)?)
    }
}

fn one_block(samples: &[Sample]) -> Option<Caveat> {
    (!samples.is_empty() && samples.iter().all(|sample| sample.block == 0)).then(|| {
        let sentence =
            "Only one block was finished, and an interval needs two: no figure is given.";
        Caveat::new("one-block", sentence.to_owned())
    })
}

fn virtual_machine(hypervisor: Option<&str>) -> Option<Caveat> {
    let name = hypervisor?;
    Some(Caveat::new(
        "virtual-machine",
        format!(
            "This is a virtual machine ({name}): its logical CPUs may share a core or a host CPU that it cannot see."
        ),
    ))
}

/// The mean rate of the clock probes around a sample.
fn probed_clock(evidence: &Evidence) -> Option<f64> {
    let rates: Vec<f64> = evidence
        .clocks
        .iter()
        .map(|probe| (probe.before_per_ns + probe.after_per_ns) / 2.0)
        .collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Clock of an arm over that of another one, by counters during the runs; none where they cannot be read.
pub fn clock_ratio(arms: &[Arm], samples: &[Sample], [arm, against]: [&str; 2]) -> Option<f64> {
    SamplesByArm::new(arms, samples).clock_ratio([arm, against], |evidence| evidence.aperf_ghz)
}

/// Clocks that differ between compared arms, with the ratio at equal clocks where APERF/MPERF show
/// what the clock was during the run; probes around it cannot.
fn different_clocks(
    arms: &[Arm],
    by_arm: &SamplesByArm,
    observations: &[Observation],
) -> Option<Caveat> {
    let differences: Vec<String> = comparisons(arms)
        .iter()
        .filter(|comparison| comparison.is_judged())
        .filter_map(|comparison| {
            let arms = [&*comparison.arm, &*comparison.against];
            let ratio = |clock: fn(&Evidence) -> Option<f64>| by_arm.clock_ratio(arms, clock);
            let inside = ratio(|evidence| evidence.aperf_ghz);
            let clocks = inside.or_else(|| ratio(probed_clock))?;
            if (clocks - 1.0).abs() <= CLOCK_DIFFERENCE {
                return None;
            }
            let measured = observations
                .iter()
                .find(|seen| seen.metric == comparison.metric && seen.arm == comparison.arm);
            let corrected = inside.zip(measured).map_or_else(String::new, |(clocks, seen)| {
                let value = seen.estimate.value / clocks.powf(comparison.sign);
                format!(" (at equal clocks the {} is {value:.2})", comparison.metric.name())
            });
            let Comparison { arm, against, .. } = comparison;
            Some(format!("{arm} at {clocks:.3} times {against}{corrected}"))
        })
        .collect();
    (!differences.is_empty()).then(|| {
        Caveat::new(
            "different-clocks",
            format!("Arms ran at different clocks: {}.", differences.join(", ")),
        )
    })
}

fn set_pinned(by_arm: &SamplesByArm) -> Option<Caveat> {
    let loose: Vec<&str> = by_arm
        .0
        .iter()
        .filter(|(_, samples)| {
            samples.iter().any(|sample| sample.evidence.pinning == Pinning::SetPinned)
        })
        .map(|(arm, _)| arm.id.as_str())
        .collect();
    (!loose.is_empty()).then(|| {
        Caveat::new(
            "set-pinned",
            format!(
                "Threads could not be distinguished and were pinned to the arm's CPUs as a set (set-pinned): {}.",
                loose.join(", ")
            ),
        )
    })
}

/// Arms whose workers did not keep their place, and where they were.
fn displaced(by_arm: &SamplesByArm) -> Option<Caveat> {
    let of_arm = |(arm, samples): &(&Arm, Vec<&Sample>)| {
        let all: Vec<_> = samples.iter().flat_map(|sample| &sample.evidence.displaced).collect();
        let cpus: BTreeSet<u32> = all.iter().flat_map(|it| it.outside.clone()).collect();
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        let moved = all.iter().any(|it| it.left_its_place());
        let where_to = match (cpus.is_empty(), moved) {
            (false, _) => format!(" (CPU {})", cpus.join(", ")),
            (true, true) => " (it is not known which CPU)".to_owned(),
            (true, false) => " (within the arm's CPUs)".to_owned(),
        };
        (!all.is_empty()).then(|| format!("{}{where_to}", arm.id))
    };
    let found: Vec<String> = by_arm.0.iter().filter_map(of_arm).collect();
    (!found.is_empty()).then(|| {
        Caveat::new(
            "set-by-program",
            format!(
                "The affinity of workers was changed during the run, by the program or from outside: {}. An arm that was left is not compared with others.",
                found.join(", ")
            ),
        )
    })
}

fn binds_itself(samples: &[Sample]) -> Option<Caveat> {
    let found: BTreeSet<&str> = samples
        .iter()
        .flat_map(|sample| sample.evidence.binds_itself.iter().map(String::as_str))
        .collect();
    let found: Vec<&str> = found.into_iter().collect();
    (!found.is_empty()).then(|| {
        Caveat::new(
            "binds-itself",
            format!(
                "The command can choose its CPUs against the placement by: {}. A short-lived child that does so is not seen.",
                found.join(", ")
            ),
        )
    })
}

fn left_running(samples: &[Sample]) -> Vec<Caveat> {
    let of = |ended: bool, kind: &str, what: &str| {
        let left = samples.iter().flat_map(|sample| &sample.evidence.left_running);
        let names: BTreeSet<&str> =
            left.filter(|it| it.ended == ended).map(|it| it.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        (!names.is_empty()).then(|| Caveat::new(kind, format!("{what}: {}.", names.join(", "))))
    };
    let ended = "The command left processes running when it ended; they were ended after each run, and what they would still have done is not counted";
    let still = "The command left processes running that corun could not end; they may disturb what follows";
    [of(true, "left-running", ended), of(false, "still-running", still)]
        .into_iter()
        .flatten()
        .collect()
}

/// A share of the samples' time, remarked on for the arms where its median is above a limit.
fn share(
    by_arm: &SamplesByArm,
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
        .map(|(arm, share)| format!("{arm} {}", percent(share.min(1.0))))
        .collect();
    (!above.is_empty()).then(|| {
        Caveat::new(kind, format!("In half of the samples or more, {what}: {}.", above.join(", ")))
    })
}

/// Time that the hypervisor took, of all time of an arm's samples: the account advances by ticks, so
/// that single short samples show nothing.
fn stolen(by_arm: &SamplesByArm) -> Option<Caveat> {
    let share = |samples: &[&Sample]| {
        let stolen = samples.iter().map(|it| it.evidence.steal_s).sum::<Option<f64>>()?;
        let all: f64 = samples.iter().map(|it| cpu_seconds(it)).sum();
        (stolen >= MIN_STOLEN_S && stolen > TAKEN * all).then(|| stolen / all)
    };
    let above: Vec<String> = by_arm
        .0
        .iter()
        .filter_map(|(arm, samples)| {
            Some(format!("{} {}", arm.id, percent(share(samples)?.min(1.0))))
        })
        .collect();
    (!above.is_empty()).then(|| {
        Caveat::new(
            "steal",
            format!(
                "The hypervisor took used CPUs away for a part of the time: {}.",
                above.join(", ")
            ),
        )
    })
}

/// Workers that had a CPU each and waited for it: other work ran there.
fn waited_for_cpu(arms: &[Arm], samples: &[Sample]) -> Option<Caveat> {
    let disturbed = ForeignLoadByArm::of(arms, samples);
    let of_arm = |arm: &Arm| {
        let waits = disturbed.waits(&arm.id);
        let (long, known) = (waits.iter().filter(|&&it| is_long(it)).count(), waits.len());
        let most = waits.iter().copied().fold(0.0, f64::max);
        (long as f64 > SOME_SAMPLES * known as f64).then(|| {
            format!(
                "{} in {long} of {known} samples, for up to {} of its time",
                arm.id,
                percent(most.min(1.0))
            )
        })
    };
    let found: Vec<String> =
        arms.iter().filter(|arm| arm.twin_of.is_none()).filter_map(of_arm).collect();
    (!found.is_empty()).then(|| {
        Caveat::new(
            "foreign-load",
            format!(
                "Other work ran on the workers' CPUs, and a worker waited for its CPU: {}.",
                found.join("; ")
            ),
        )
    })
}

/// Nothing says whether other work ran on the used CPUs: not the waits of workers, since children do the work or the kernel
/// does not count, nor the time that the workers used, nor the kernel's account of the CPUs.
fn unknown_foreign_load(samples: &[Sample]) -> Option<Caveat> {
    let is_unknown = |Evidence { cpu_wait, foreign_busy, undisturbed, .. }: &Evidence| {
        cpu_wait.is_none() && foreign_busy.is_none() && undisturbed.is_unknown()
    };
    let is_unknown =
        !samples.is_empty() && samples.iter().all(|sample| is_unknown(&sample.evidence));
    is_unknown.then(|| {
        Caveat::new(
            "unknown-foreign-load",
            "Other work on the workers' CPUs would not have been noticed: for how long the workers waited for them is not \
             known (children do the work, or /proc/PID/schedstat cannot be read), and the kernel counts the CPUs' time too coarsely.",
        )
    })
}

fn cpu_seconds(sample: &Sample) -> f64 {
    sample.makespan_s * sample.evidence.clocks.len().max(1) as f64
}

/// A/A intervals that exclude zero: something other than chance separates identical runs.
fn identical_arms_differ(observations: &[Observation]) -> Option<Caveat> {
    let differing: Vec<String> = observations
        .iter()
        .filter(|seen| seen.metric == Metric::NoiseFloor)
        .filter(|seen| seen.estimate.low > 0.0 || seen.estimate.high < 0.0)
        .filter(|seen| is_difference(seen.estimate.value))
        .map(|seen| format!("{} ({})", seen.arm, percent(seen.estimate.value)))
        .collect();
    (!differing.is_empty()).then(|| {
        Caveat::new(
            "identical-arms-differ",
            format!(
                "Identical arms differed by more than chance (expected for one in twenty): {}.",
                differing.join(", ")
            ),
        )
    })
}

fn short_runs(by_arm: &SamplesByArm) -> Option<Caveat> {
    let shortest = by_arm
        .0
        .iter()
        .filter_map(|(arm, _)| by_arm.median(&arm.id, |sample| Some(sample.makespan_s)))
        .min_by(f64::total_cmp)?;
    (shortest < SHORT_MAKESPAN_S).then(|| {
        Caveat::new(
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
        caveats.push(Caveat::new(
            "outliers",
            format!("{far} of {all} times lie far from their arm's median; all are counted."),
        ));
    }
    if !drifting.is_empty() {
        caveats.push(Caveat::new(
            "drift",
            format!(
                "Times rose or fell over the run ({}): the machine changed; blocks keep ratios fair.",
                drifting.join(", ")
            ),
        ));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arm;
    use corun_record::{ClockProbe, Displaced, Estimate, LeftRunning, Source};

    fn sample(arm: &str, evidence: Evidence) -> Sample {
        Sample {
            block: 0,
            arm: arm.to_owned(),
            makespan_s: 1.0,
            throughput: 1.0,
            evidence,
            ..Sample::default()
        }
    }

    /// Evidence where nothing disturbs.
    fn quiet() -> Evidence {
        Evidence { foreign_busy: Some(0.0), ..Evidence::default() }
    }

    fn kinds(spread: Evidence, full: Evidence) -> Vec<Caveat> {
        let known = |evidence: Evidence| Evidence {
            foreign_busy: evidence.foreign_busy.or(Some(0.0)),
            ..evidence
        };
        kinds_of_known(known(spread), known(full))
    }

    fn kinds_of_known(spread: Evidence, full: Evidence) -> Vec<Caveat> {
        let arms = [arm("spread", 1, 1, &[0]), arm("full", 2, 1, &[0, 1])];
        let mut samples = vec![sample("spread", spread), sample("full", full)];
        let again = samples.clone().into_iter().map(|sample| Sample { block: 1, ..sample });
        samples.extend(again.collect::<Vec<_>>());
        let estimate = Estimate { value: 1.2, low: 1.1, high: 1.3, level: 0.95, blocks: 9 };
        let seen = [Observation {
            of: None,
            metric: Metric::SmtYield,
            arm: "full".to_owned(),
            against: Some("spread".to_owned()),
            unit: "1".to_owned(),
            estimate,
            bootstrap: None,
            source: Source::Measured,
        }];
        of(&arms, &samples, &seen, None)
    }

    #[test]
    fn an_undisturbed_run_has_no_caveats() {
        assert_eq!(kinds(Evidence::default(), Evidence::default()), []);
    }

    #[test]
    fn that_nothing_was_counted_is_a_caveat() {
        let caveats = kinds_of_known(Evidence::default(), Evidence::default());
        let kinds: Vec<_> = caveats.iter().map(|caveat| caveat.kind.as_str()).collect();
        assert_eq!(kinds, ["unknown-foreign-load"]);
        assert_eq!(kinds_of_known(quiet(), Evidence::default()), [], "one sample was counted");
    }

    #[test]
    fn clocks_probed_around_the_run_are_reported_and_not_corrected_for() {
        let at = |rate: f64| Evidence {
            clocks: vec![ClockProbe { cpu: 0, before_per_ns: rate, after_per_ns: rate }],
            ..Evidence::default()
        };
        insta::assert_snapshot!(
            kinds(at(1.0), at(0.9))[0].sentence,
            @"Arms ran at different clocks: full at 0.900 times spread."
        );
    }

    #[test]
    fn clocks_counted_during_the_run_give_a_corrected_ratio() {
        let at = |ghz| Evidence { aperf_ghz: Some(ghz), ..Evidence::default() };
        insta::assert_snapshot!(
            kinds(at(4.0), at(3.0))[0].sentence,
            @"Arms ran at different clocks: full at 0.750 times spread (at equal clocks the SMT yield is 1.60)."
        );
    }

    #[test]
    fn arms_that_were_left_are_named_with_the_cpus() {
        let left = Evidence {
            pinning: Pinning::SetByProgram,
            displaced: vec![Displaced { worker: 0, outside: vec![7, 3], moved: false }],
            binds_itself: vec!["taskset (leave it out)".to_owned()],
            left_running: vec![
                LeftRunning { name: "daemon".to_owned(), ended: true },
                LeftRunning { name: "other".to_owned(), ended: false },
            ],
            ..Evidence::default()
        };
        let sentences: Vec<String> = kinds(Evidence::default(), left)
            .into_iter()
            .map(|caveat| format!("{}: {}", caveat.kind, caveat.sentence))
            .collect();
        insta::assert_snapshot!(sentences.join("\n"), @r"
        set-by-program: The affinity of workers was changed during the run, by the program or from outside: full (CPU 3, 7). An arm that was left is not compared with others.
        binds-itself: The command can choose its CPUs against the placement by: taskset (leave it out). A short-lived child that does so is not seen.
        left-running: The command left processes running when it ended; they were ended after each run, and what they would still have done is not counted: daemon.
        still-running: The command left processes running that corun could not end; they may disturb what follows: other.
        ");
    }

    #[test]
    fn disturbances_are_named_with_their_share() {
        let disturbed = Evidence {
            idle_sibling_busy: Some(0.02),
            foreign_busy: Some(0.1),
            steal_s: Some(0.3),
            pinning: Pinning::SetPinned,
            ..Evidence::default()
        };
        let found = kinds(disturbed, Evidence::default());
        let kinds: Vec<&str> = found.iter().map(|caveat| caveat.kind.as_str()).collect();
        assert_eq!(kinds, ["set-pinned", "idle-sibling-busy", "steal", "foreign-work"]);
        assert!(found[1].sentence.contains("spread 2.0 %"), "{}", found[1].sentence);
    }

    #[test]
    fn a_worker_that_waits_for_its_cpu_is_the_finding() {
        let waited = |share| Evidence { cpu_wait: Some(share), ..Evidence::default() };
        assert_eq!(kinds(waited(0.0), waited(0.009)), []);
        assert_eq!(kinds(Evidence::default(), Evidence::default()), [], "not known");
        let found = kinds(waited(0.6), waited(0.0));
        assert_eq!(found.len(), 1);
        insta::assert_snapshot!(
            found[0].sentence,
            @"Other work ran on the workers' CPUs, and a worker waited for its CPU: spread in 2 of 2 samples, for up to 60 % of its time."
        );
    }

    #[test]
    fn a_first_run_that_did_what_later_ones_find_done_is_said() {
        let arms = [arm("spread", 2, 2, &[0, 1])];
        let samples: Vec<Sample> = [0.006, 0.0065, 0.007, 0.006]
            .map(|makespan_s| Sample { makespan_s, ..sample("spread", Evidence::default()) })
            .into();
        let said = |first_s: f64, warmup, is_prepared| {
            let found = first_run(("spread", first_s), &arms, &samples, warmup, is_prepared);
            found.map(|caveat| caveat.sentence)
        };
        insta::assert_snapshot!(
            said(1.9, 1, false).unwrap(),
            @"The first run took 1.9 s, later ones 6 ms (work that is done once, such as building files or filling caches). It is not counted: what it did and later runs did not do is not in the answer; where each run is to do all of it, undo it before each (`--prepare 'make clean'`)."
        );
        assert!(said(0.04, 0, false).unwrap().contains("`--warmup 1` leaves it out"));
        assert!(said(0.04, 1, true).unwrap().contains("did not undo that"));
        assert_eq!(said(0.013, 1, false), None, "it may be chance");
        assert_eq!(first_run(("free", 9.0), &arms, &samples, 1, false), None);
        assert_eq!(first_run(("spread", 9.0), &arms, &samples[..2], 1, false), None);
    }

    #[test]
    fn workers_that_share_a_cpu_wait_for_each_other() {
        let stacked = arm("stacked", 2, 1, &[0, 0]);
        let evidence = Evidence { cpu_wait: Some(0.5), ..Evidence::default() };
        let samples = [
            sample("stacked", evidence.clone()),
            Sample { block: 1, ..sample("stacked", evidence) },
        ];
        assert_eq!(of(&[stacked], &samples, &[], None), []);
    }

    #[test]
    fn a_tick_of_stolen_time_in_short_samples_is_nothing() {
        let arms = [arm("single", 1, 1, &[0])];
        let stolen = |steal_s| Sample {
            makespan_s: 0.006,
            ..sample("single", Evidence { steal_s: Some(steal_s), ..Evidence::default() })
        };
        let all = |each: [f64; 3]| {
            let samples: Vec<Sample> = each.iter().cycle().take(60).map(|it| stolen(*it)).collect();
            of(&arms, &samples, &[], None).iter().any(|caveat| caveat.kind == "steal")
        };
        assert!(!all([0.0, 0.0, 0.0]));
        assert!(all([0.01, 0.0, 0.0]), "a third of the samples is hit, by half of the time");
    }
}
