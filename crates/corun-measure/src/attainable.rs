//! The largest ratio of work that two arms can have on a machine. A larger one says that something else than the arms
//! decided: other programs that took the CPUs of one of them, a clock that changed. It is no result.

use corun_record::{Arm, Metric};

use crate::comparison::Workers;

/// Tolerance of a ratio over its limit, for clocks and the choice of runs.
const SLACK: f64 = 1.05;
/// Tolerance for workers that share their work, which may fit the caches of several cores and not those of one, and for those
/// that are compared with workers that the kernel switches.
const WIDE_SLACK: f64 = 1.25;

/// The most that `arm` can do of the work of `against`, if there is a limit. `cpu_share` is the share of its time for
/// which the program uses a CPU, if that is known.
pub fn most_work(
    metric: Metric,
    [arm, against]: [&Arm; 2],
    workers: Workers,
    cpu_share: Option<f64>,
) -> Option<f64> {
    let of_workers = f64::from(arm.workers) / f64::from(against.workers);
    let are_apart = matches!(workers, Workers::Alike | Workers::Counted);
    let slack = if are_apart { SLACK } else { WIDE_SLACK };
    let most = match metric {
        Metric::SmtYield | Metric::SiblingSlowdown | Metric::SwitchYield | Metric::TimeSlicing => {
            of_workers * SLACK
        }
        Metric::Scaling => of_workers * slack,
        // Workers that share cores, or take turns, may do less than one of them alone.
        Metric::Speedup | Metric::RelativeToFirst
            if against.workers == 1 || against.workers == against.cores =>
        {
            at_once(arm, cpu_share) / f64::from(against.workers) * slack
        }
        Metric::MultitaskingGain if are_apart && !against.cpus.is_empty() => {
            cpus(arm) / cpus(against) / cpu_share.unwrap_or(1.0) * WIDE_SLACK
        }
        // A pinned worker has a core, or its part of one.
        Metric::FreePlacement if are_apart && against.cores > 0 => {
            f64::from(against.workers) / f64::from(against.cores) * WIDE_SLACK
        }
        _ => return None,
    };
    Some(most).filter(|most| most.is_finite() && *most > 0.0)
}

/// Workers that can use a CPU at the same time; more of them share the CPUs if they wait for a part of their time.
fn at_once(arm: &Arm, cpu_share: Option<f64>) -> f64 {
    let workers = f64::from(arm.workers);
    match arm.cpus.is_empty() {
        true => workers,
        false => workers.min(cpus(arm) / cpu_share.unwrap_or(1.0)),
    }
}

fn cpus(arm: &Arm) -> f64 {
    let distinct: std::collections::BTreeSet<u32> = arm.cpus.iter().copied().collect();
    distinct.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(placement: &str, cores: u32, cpus: &[u32]) -> Arm {
        let placement = placement.parse().expect("a placement");
        Arm::new(placement, cpus.len() as u32, cores, cpus.to_vec())
    }

    #[test]
    fn no_arm_does_more_than_its_workers_or_its_cpus() {
        let [single, spread, full, stacked] = [
            arm("single", 1, &[0]),
            arm("spread", 2, &[0, 1]),
            arm("full", 2, &[0, 1, 2, 3]),
            arm("stacked", 2, &[0, 0, 1, 1]),
        ];
        let most = |metric, arm, against| {
            most_work(metric, [arm, against], Workers::Alike, None).expect("a limit")
        };
        let limits = [
            most(Metric::Scaling, &spread, &single),
            most(Metric::SmtYield, &full, &spread),
            most(Metric::TimeSlicing, &stacked, &spread),
            most(Metric::MultitaskingGain, &full, &stacked),
            most(Metric::Speedup, &stacked, &single),
            most(Metric::FreePlacement, &arm("free@2", 0, &[]), &spread),
        ];
        assert_eq!(limits, [2.0 * SLACK, 2.0 * SLACK, 2.0 * SLACK, 2.5, 2.0 * SLACK, WIDE_SLACK]);
    }

    #[test]
    fn what_waits_or_shares_data_has_a_wider_limit_or_none() {
        let (one, four) = (arm("single", 1, &[0]), arm("stacked", 1, &[0, 0, 0, 0]));
        let most = |metric, workers, share| most_work(metric, [&four, &one], workers, share);
        let half = most(Metric::Speedup, Workers::Alike, Some(0.5));
        assert_eq!(half, Some(2.0 * SLACK), "each waits for half of its time");
        let unlimited =
            [Metric::SharingPenalty, Metric::CoreEquivalence, Metric::RelativeThroughput];
        assert!(unlimited.iter().all(|it| most(*it, Workers::Alike, None).is_none()));
        assert_eq!(most(Metric::MultitaskingGain, Workers::Together, None), None);
    }
}
