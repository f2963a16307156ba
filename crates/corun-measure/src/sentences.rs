//! Verdicts in plain words.

use corun_record::{Arm, Estimate, Metric, Placement};

use crate::comparison::Workers;
use crate::quantities::Quantity;
use corun_stats::{TOO_UNCERTAIN, Unsettled, Verdict, percent, says_something};

/// Finding about two arms.
pub(crate) struct Finding<'a> {
    /// Metric of the finding.
    pub metric: Metric,
    /// The arm it is said of.
    pub arm: &'a Arm,
    /// The arm it is compared with.
    pub against: &'a Arm,
    /// The ratio that the verdict rests on: of all the work that the arms do.
    pub estimate: &'a Estimate,
    /// Relation of the workers of one arm to each other.
    pub workers: Workers,
    /// The quantity that was compared.
    pub quantity: Quantity,
    /// True if other programs ran on the CPUs in most blocks.
    pub is_beside_load: bool,
}

impl Finding<'_> {
    /// The verdict as one sentence, figures included.
    pub(crate) fn sentence(
        &self,
        verdict: Verdict,
        practical: f64,
        noise_floor: Option<f64>,
    ) -> String {
        let (subject, finding) = (self.subject(), self.finding());
        let beside = match (self.quantity, self.is_beside_load) {
            (Quantity::WithoutWaits, _) => ", other programs' time taken out",
            (Quantity::ProcessorTime, _) => ", by processor time",
            (Quantity::Elapsed, true) => " while other programs run on these CPUs",
            (Quantity::Elapsed, false) => "",
        };
        let interval = match self.each() {
            Some(each) => format!("{each}; {}", self.interval()),
            None => self.interval(),
        };
        match verdict {
            // That more workers do more work speaks for itself.
            Verdict::Helps if self.each().is_some() => {
                format!("{}{beside} ({interval}).", capital(&finding))
            }
            Verdict::Helps => format!("{subject} helps{beside}: {finding} ({interval})."),
            Verdict::Hurts => format!("{subject} hurts{beside}: {finding} ({interval})."),
            Verdict::NoPracticalEffect => format!(
                "{subject} has no practical effect{beside}: {finding} ({interval}), shown to lie within ± {}.",
                percent(practical)
            ),
            Verdict::Inconclusive(Unsettled::TooUncertain) => {
                format!("{subject}: {TOO_UNCERTAIN}. {}", self.too_wide())
            }
            Verdict::Inconclusive(Unsettled::BeyondReach) => format!(
                "{subject}: inconclusive{beside}, because {} did more than its workers can: something held up the runs of \
                 {}. Repeat it on an idle machine.",
                self.arm.id, self.against.id
            ),
            Verdict::Inconclusive(Unsettled::ForeignLoad) => {
                let measured = match self.says_something() {
                    true => format!("Measured: {finding} ({interval})."),
                    false => self.too_wide(),
                };
                format!(
                    "{subject}: inconclusive, because other programs took the workers' CPUs. {measured} Repeat it on an idle machine."
                )
            }
            Verdict::Inconclusive(unsettled) => format!(
                "{subject}: inconclusive{beside}. Measured: {finding} ({interval}), {}.",
                reason(unsettled, practical, noise_floor)
            ),
        }
    }

    fn says_something(&self) -> bool {
        let Estimate { value, low, high, .. } = *self.estimate;
        says_something(value, low, high)
    }

    fn too_wide(&self) -> String {
        format!("The interval of {} blocks is wider than ± 100 %.", self.estimate.blocks)
    }

    fn subject(&self) -> String {
        let subject = match self.metric {
            Metric::SmtYield => "SMT",
            Metric::SwitchGain => "Switching SMT on",
            Metric::SwitchYield => "SMT on against SMT off",
            Metric::CoreEquivalence => "Using siblings instead of cores",
            Metric::MultitaskingGain => "SMT instead of time slicing",
            Metric::TimeSlicing => "Time slicing",
            Metric::Scaling => "Using all cores at once",
            Metric::Speedup => "Using more workers",
            Metric::FreePlacement => "Leaving placement to the kernel",
            Metric::SharingPenalty => "Data in a shared cache line",
            Metric::RelativeToFirst => {
                return format!("{} instead of {}", self.arm.id, self.against.id);
            }
            other => other.name(),
        };
        match &self.arm.core_type {
            Some(core_type) => format!("{subject} ({core_type})"),
            None => subject.to_owned(),
        }
    }

    fn finding(&self) -> String {
        let Self { arm, against, estimate, .. } = self;
        let together = self.workers == Workers::Together;
        let times = format!("{:.*} times", decimals(estimate), estimate.value);
        let a_core = arm.workers.checked_div(arm.cores).unwrap_or(0);
        match self.metric {
            metric if self.workers == Workers::Service => service_finding(metric, arm, &times),
            Metric::SmtYield if together => {
                format!("all together do {times} the work they do with idle siblings")
            }
            Metric::SmtYield => format!(
                "with {a_core} workers a core does {times} the work it does with one, and each of them is {:.2} times slower",
                f64::from(a_core) / estimate.value
            ),
            Metric::SwitchGain => format!(
                "{} that the kernel places {} {times} the work with SMT on that {} with SMT off",
                workers(arm.workers),
                does(arm.workers),
                they_do(arm.workers)
            ),
            Metric::SwitchYield => {
                format!(
                    "with {a_core} workers a core does {times} the work it does with one and SMT off"
                )
            }
            Metric::CoreEquivalence => format!("the same workers take {times} as long"),
            Metric::MultitaskingGain => {
                format!("siblings do {times} the work that time slices of one logical CPU do")
            }
            Metric::TimeSlicing if together => {
                format!(
                    "workers that take turns on a CPU do {times} the work they do with one each"
                )
            }
            Metric::TimeSlicing => {
                format!(
                    "{a_core} workers that take turns on a CPU do {times} the work of one alone"
                )
            }
            Metric::Scaling => format!(
                "{}{} cores do {times} the work of one",
                arm.cores,
                arm.core_type.as_ref().map_or_else(String::new, |it| format!(" {it}"))
            ),
            Metric::Speedup => {
                let placed = match arm.placement {
                    Placement::Free(_) => " that the kernel places".to_owned(),
                    _ if a_core == 1 => ", one a core,".to_owned(),
                    _ => format!(", {a_core} a core,"),
                };
                let one = match against.workers {
                    1 => "one".to_owned(),
                    several => several.to_string(),
                };
                format!("{}{placed} do {times} the work of {one}", workers(arm.workers))
            }
            Metric::RelativeToFirst if arm.workers == against.workers => format!(
                "{} {} {times} the work {} there",
                workers(arm.workers),
                does(arm.workers),
                they_do(arm.workers)
            ),
            Metric::RelativeToFirst => format!(
                "{} {} {times} the work of {}",
                workers(arm.workers),
                does(arm.workers),
                against.workers
            ),
            Metric::FreePlacement => format!(
                "{} {} {times} the work {} pinned",
                workers(arm.workers),
                does(arm.workers),
                they_do(arm.workers)
            ),
            Metric::SharingPenalty => {
                format!("the work takes {times} as long on {}", arm.placement)
            }
            other => format!("{} is {times}", other.name()),
        }
    }

    /// Work of each core or worker, relative to one, where the metric is about their number.
    fn each(&self) -> Option<String> {
        let Self { arm, against, estimate, .. } = self;
        let more = match self.metric {
            Metric::Scaling => f64::from(arm.cores),
            Metric::Speedup => f64::from(arm.workers) / f64::from(against.workers),
            _ => return None,
        };
        Some(format!("{:.*} each", decimals(estimate), estimate.value / more))
    }

    fn interval(&self) -> String {
        let Estimate { low, high, .. } = *self.estimate;
        let decimals = decimals(self.estimate);
        format!("95 % interval {low:.decimals$} to {high:.decimals$}")
    }
}

/// Sentence on a comparison of throughputs, where these are a service's; `times` is its figure.
fn service_finding(metric: Metric, arm: &Arm, times: &str) -> String {
    let Arm { cores, workers, .. } = arm;
    match metric {
        Metric::SmtYield => {
            format!(
                "the server answers {times} the requests per second that it answers with idle siblings"
            )
        }
        Metric::CoreEquivalence => {
            format!(
                "as many logical CPUs on cores of their own answer {times} the requests per second"
            )
        }
        Metric::MultitaskingGain => format!(
            "on siblings the server answers {times} the requests per second that it answers on one logical CPU of each core"
        ),
        Metric::TimeSlicing => format!(
            "with {} workers on each logical CPU the server answers {times} the requests per second that it answers with one",
            workers.checked_div(*cores).unwrap_or(0)
        ),
        Metric::Scaling => format!(
            "on {cores} cores the server answers {times} the requests per second that it answers on one"
        ),
        Metric::Speedup => {
            format!("with {workers} workers the server answers {times} the requests per second")
        }
        Metric::FreePlacement => {
            format!("the server answers {times} the requests per second that it answers pinned")
        }
        Metric::RelativeToFirst => {
            format!("the server answers {times} the requests per second")
        }
        other => format!("{} is {times}", other.name()),
    }
}

/// Which condition of a claim was not met.
fn reason(unsettled: Unsettled, practical: f64, noise_floor: Option<f64>) -> String {
    match unsettled {
        Unsettled::IntervalHoldsZero => {
            "an interval that holds \"no difference\" and is too wide to claim that there is none"
                .to_owned()
        }
        Unsettled::WithinPracticalBound => format!(
            "a difference, but perhaps no larger than the practical bound of {}",
            percent(practical)
        ),
        Unsettled::ForeignLoad => "while other programs took the workers' CPUs".to_owned(),
        Unsettled::WithinNoiseFloor => format!(
            "a difference, but no larger than one between two identical arms can be here ({})",
            noise_floor.map_or_else(|| "unknown".to_owned(), percent)
        ),
        Unsettled::ProgramWaits => "of a program that waits most of its time".to_owned(),
        Unsettled::TooUncertain => TOO_UNCERTAIN.to_owned(),
        Unsettled::BeyondReach => "more than the workers can do".to_owned(),
    }
}

fn workers(count: u32) -> String {
    match count {
        1 => "one worker".to_owned(),
        count => format!("{count} workers"),
    }
}

fn does(count: u32) -> &'static str {
    if count == 1 { "does" } else { "do" }
}

fn they_do(count: u32) -> &'static str {
    if count == 1 { "it does" } else { "they do" }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn decimals(estimate: &Estimate) -> usize {
    if estimate.high - estimate.low < 0.01 { 3 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arm;

    fn sentence(metric: Metric, [arm, against]: [&Arm; 2], value: f64, verdict: Verdict) -> String {
        let (low, high) = (value * 0.95, value * 1.05);
        let estimate = Estimate { value, low, high, level: 0.95, blocks: 10 };
        let workers = Workers::Alike;
        let quantity = Quantity::Elapsed;
        let is_beside_load = false;
        let finding = Finding {
            metric,
            arm,
            against,
            estimate: &estimate,
            workers,
            quantity,
            is_beside_load,
        };
        let alone = finding.sentence(verdict, 0.02, Some(0.01));
        let beside = Finding { is_beside_load: true, ..finding };
        assert!(
            beside
                .sentence(verdict, 0.02, None)
                .contains(" while other programs run on these CPUs"),
            "{alone}"
        );
        alone
    }

    #[test]
    fn more_workers_that_do_more_work_are_never_said_to_hurt() {
        let (single, spread) = (arm("single", 1, 1, &[]), arm("spread", 2, 2, &[]));
        let (one, two) = (arm("spread@1", 1, 1, &[]), arm("spread@2", 2, 2, &[]));
        let (full, free) = (arm("full@3", 6, 2, &[]), arm("free@4", 4, 0, &[]));
        let sentences = [
            sentence(Metric::Scaling, [&spread, &single], 1.2, Verdict::Helps),
            sentence(Metric::Scaling, [&spread, &single], 0.8, Verdict::Hurts),
            sentence(Metric::Speedup, [&two, &one], 1.95, Verdict::Helps),
            sentence(Metric::Speedup, [&full, &two], 1.5, Verdict::Helps),
            sentence(Metric::Speedup, [&free, &one], 1.9, Verdict::Helps),
            sentence(Metric::Speedup, [&free, &one], 1.0, Verdict::NoPracticalEffect),
        ];
        insta::assert_snapshot!(sentences.join("\n"), @r"
        2 cores do 1.20 times the work of one (0.60 each; 95 % interval 1.14 to 1.26).
        Using all cores at once hurts: 2 cores do 0.80 times the work of one (0.40 each; 95 % interval 0.76 to 0.84).
        2 workers, one a core, do 1.95 times the work of one (0.97 each; 95 % interval 1.85 to 2.05).
        6 workers, 3 a core, do 1.50 times the work of 2 (0.50 each; 95 % interval 1.42 to 1.58).
        4 workers that the kernel places do 1.90 times the work of one (0.47 each; 95 % interval 1.80 to 1.99).
        Using more workers has no practical effect: 4 workers that the kernel places do 1.00 times the work of one (0.25 each; 95 % interval 0.95 to 1.05), shown to lie within ± 2.0 %.
        ");
    }

    #[test]
    fn one_worker_is_one_worker() {
        let (free, spread) = (arm("free@1", 1, 0, &[]), arm("spread@1", 1, 1, &[]));
        insta::assert_snapshot!(
            sentence(Metric::FreePlacement, [&free, &spread], 1.1, Verdict::Helps),
            @"Leaving placement to the kernel helps: one worker does 1.10 times the work it does pinned (95 % interval 1.04 to 1.16)."
        );
    }

    #[test]
    fn arms_with_listed_cpus_are_called_by_their_names() {
        let listed = |name: &str, cores, cpus: &[u32]| Arm {
            id: name.to_owned(),
            ..Arm::new(Placement::Cpus, cpus.len() as u32, cores, cpus.to_vec())
        };
        let (siblings, cores) = (listed("siblings", 1, &[0, 2]), listed("cores", 2, &[0, 1]));
        let all = listed("all", 2, &[0, 1, 2, 3]);
        let sentences = [
            sentence(Metric::RelativeToFirst, [&cores, &siblings], 1.6, Verdict::Helps),
            sentence(Metric::RelativeToFirst, [&all, &siblings], 2.0, Verdict::Helps),
        ];
        insta::assert_snapshot!(sentences.join("\n"), @r"
        cores instead of siblings helps: 2 workers do 1.60 times the work they do there (95 % interval 1.52 to 1.68).
        all instead of siblings helps: 4 workers do 2.00 times the work of 2 (95 % interval 1.90 to 2.10).
        ");
    }

    #[test]
    fn an_interval_over_orders_of_magnitude_is_not_repeated() {
        let (stacked, spread) = (arm("stacked", 4, 2, &[]), arm("spread", 2, 2, &[]));
        let estimate = Estimate { value: 2.1, low: 0.1, high: 44.0, level: 0.95, blocks: 2 };
        let finding = Finding {
            metric: Metric::TimeSlicing,
            arm: &stacked,
            against: &spread,
            estimate: &estimate,
            workers: Workers::Alike,
            quantity: Quantity::Elapsed,
            is_beside_load: false,
        };
        insta::assert_snapshot!(
            finding.sentence(Verdict::Inconclusive(Unsettled::TooUncertain), 0.02, None),
            @"Time slicing: too uncertain to say. The interval of 2 blocks is wider than ± 100 %."
        );
        let sure = Estimate { value: 0.9, low: 0.88, high: 0.92, level: 0.95, blocks: 20 };
        let quantities = [Quantity::WithoutWaits, Quantity::ProcessorTime];
        let said = quantities.map(|quantity| {
            Finding { estimate: &sure, quantity, is_beside_load: true, ..finding }.sentence(
                Verdict::Hurts,
                0.02,
                None,
            )
        });
        insta::assert_snapshot!(said.join("\n"), @r"
        Time slicing hurts, other programs' time taken out: 2 workers that take turns on a CPU do 0.90 times the work of one alone (95 % interval 0.88 to 0.92).
        Time slicing hurts, by processor time: 2 workers that take turns on a CPU do 0.90 times the work of one alone (95 % interval 0.88 to 0.92).
        ");
        insta::assert_snapshot!(
            finding.sentence(Verdict::Inconclusive(Unsettled::ForeignLoad), 0.02, None),
            @"Time slicing: inconclusive, because other programs took the workers' CPUs. The interval of 2 blocks is wider than ± 100 %. Repeat it on an idle machine."
        );
    }
}
