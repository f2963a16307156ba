//! Share of its time for which a program uses a CPU. What waits most of the time fits beside anything, and a
//! placement that seems to help it helps nobody.

use corun_record::{Arm, Caveat, Mode, Sample};
use corun_stats::{median, percent};

/// A program that uses a CPU for less of its time hardly uses one: nothing is said about placements.
const HARDLY: f64 = 0.2;
/// A program that uses a CPU for less of its time is said to wait.
const ALWAYS: f64 = 0.8;
/// Shorter runs are mostly start and end, in which processes wait for corun.
const SHORTEST_RUN_S: f64 = 0.005;
/// Share of the workers' CPUs from which on other work, in half of the samples, it may be why the program used them
/// less.
const LOST: f64 = 0.05;

/// The share of its time for which a worker uses a CPU, or all threads of one program together: the median of the
/// samples of the arm with the fewest workers that have a CPU each. `None` where that cannot be said: runs are too short, or
/// other programs took the workers' CPUs, for which children of the program wait unseen.
pub(crate) fn share(arms: &[Arm], samples: &[Sample], mode: Mode) -> Option<f64> {
    let alone = arms.iter().filter(|arm| has_cpus_of_its_own(arm)).min_by_key(|arm| arm.workers)?;
    let at_once = match mode {
        Mode::Copies => f64::from(alone.workers),
        // Threads may have nothing to do at times: the program does not wait as long as one of them runs.
        Mode::WorkersTotal | Mode::WorkersPerWorker => 1.0,
        // A server waits for requests: what limits it is said beside its answers.
        Mode::Service => return None,
    };
    let share = |sample: &Sample| {
        let evidence = &sample.evidence;
        (evidence.user_s + evidence.system_s) / (sample.makespan_s * at_once)
    };
    // All of them: to leave out the short ones alone would keep those that other work made long.
    let own: Vec<&Sample> = samples.iter().filter(|sample| sample.arm == alone.id).collect();
    let of_own = |value: &dyn Fn(&Sample) -> f64| {
        median(&own.iter().map(|sample| value(sample)).collect::<Vec<f64>>())
    };
    let is_long = of_own(&|sample| sample.makespan_s)? >= SHORTEST_RUN_S;
    let lost = of_own(&|Sample { evidence, .. }| {
        [evidence.lost_share(true), evidence.foreign_busy].into_iter().flatten().fold(0.0, f64::max)
    })?;
    let share = of_own(&share)?.min(1.0);
    (is_long && lost <= LOST).then_some(share)
}

fn has_cpus_of_its_own(arm: &Arm) -> bool {
    let mut cpus = arm.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    !cpus.is_empty() && cpus.len() == arm.cpus.len()
}

/// True if so little of its time says that placements do not decide.
pub(crate) fn hardly_uses_a_cpu(share: f64) -> bool {
    share < HARDLY
}

/// Why nothing is said about placements.
pub(crate) fn sentence(share: f64) -> String {
    format!(
        "The program waits: it uses a CPU for {} of its time, so placements do not decide how fast it is. A service is better measured under load (--serve, --load).",
        percent(share)
    )
}

/// Caveat that the program waits for a part of its time.
pub(crate) fn caveat(share: f64) -> Option<Caveat> {
    (share < ALWAYS).then(|| {
        Caveat::new(
            "waits",
            format!(
                "The program uses a CPU for {} of its time and waits for the rest, which no placement changes.",
                percent(share)
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arm;
    use corun_record::Evidence;

    /// The share of samples of half a second with so much CPU time, in which a worker waited for its CPU.
    fn of(arm: &Arm, mode: Mode, cpu_s: f64, cpu_wait: f64) -> Option<f64> {
        let evidence = Evidence {
            user_s: cpu_s,
            system_s: 0.1,
            cpu_wait: Some(cpu_wait),
            ..Evidence::default()
        };
        let sample = Sample {
            block: 0,
            arm: arm.id.clone(),
            makespan_s: 0.5,
            throughput: 1.0,
            evidence,
            ..Sample::default()
        };
        share(std::slice::from_ref(arm), &[sample], mode)
    }

    #[test]
    fn each_copy_has_a_share_and_threads_have_one_together() {
        let two = arm("spread", 2, 1, &[0, 1]);
        assert_eq!(of(&two, Mode::Copies, 0.4, 0.0), Some(0.5));
        assert_eq!(of(&two, Mode::WorkersTotal, 0.4, 0.0), Some(1.0));
        assert_eq!(of(&two, Mode::Copies, 3.0, 0.0), Some(1.0), "never more than all of it");
    }

    #[test]
    fn waiting_for_a_cpu_that_others_use_is_not_waiting() {
        assert_eq!(of(&arm("spread", 1, 1, &[0]), Mode::Copies, 0.15, 0.5), None);
        assert_eq!(of(&arm("spread", 1, 1, &[0]), Mode::Copies, 0.15, 0.01), Some(0.5));
    }

    #[test]
    fn runs_that_are_short_but_where_they_are_disturbed_say_nothing() {
        let alone = arm("spread", 1, 1, &[0]);
        let sample = |makespan_s: f64| Sample {
            arm: alone.id.clone(),
            makespan_s,
            evidence: Evidence { user_s: 0.002, ..Evidence::default() },
            ..Sample::default()
        };
        let samples = [0.0021, 0.0022, 0.0021, 0.02, 0.03].map(sample);
        assert_eq!(share(std::slice::from_ref(&alone), &samples, Mode::Copies), None);
    }

    #[test]
    fn workers_that_take_turns_say_nothing() {
        assert_eq!(of(&arm("stacked", 2, 1, &[0, 0]), Mode::Copies, 0.4, 0.5), None);
    }
}
