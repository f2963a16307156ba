//! A run on one screen: a bar for each placement beside what it is compared with, then the verdict.

use corun_record::{Answer, Arm, Metric, Mode, Observation, Placement, Run, Workload};

use crate::bars::{Bar, bars};
use crate::figures::{interval, is_sensible, ratio};
use crate::grid::NO_BREAK;
use crate::prose;
use crate::screen::{NextStep, Screen, View, limits};
use crate::tables::{self, RateScale};
use crate::terminal::painted_answers;

/// The run with its answer, on one screen.
pub fn run_on_screen(run: &Run, view: &View) -> String {
    let screen = Screen {
        heading: vec![prose::work(&run.workload), prose::machine_in_short(&run.machine)],
        picture: picture(run, view.columns),
        reasons: Vec::new(),
        answers: answers(run, view.has_colour),
        notice: (run.is_partial() && !run.is_without_interval())
            .then(|| format!("PARTIAL RESULT: {}.", run.ending.sentence)),
        advice: advice(run),
        limits: limits(&run.caveats),
    };
    screen.text(view)
}

/// The answers; where siblings were asked for and there are none, the first begins with that.
fn answers(run: &Run, has_colour: bool) -> Vec<String> {
    let mut answers = painted_answers(run, has_colour);
    if let (Some(first), Some(none)) = (answers.first_mut(), no_siblings(run)) {
        *first = format!("{none} {first}");
    }
    answers
}

fn no_siblings(run: &Run) -> Option<String> {
    let is_for_siblings = |it: &Placement| matches!(it, Placement::Full(_) | Placement::Packed(_));
    let is_asked = run.not_possible.iter().any(|it| is_for_siblings(&it.placement));
    let is_without = run.machine.smt_width == 1 && run.machine.online_cpus > 0;
    (is_asked && is_without).then(|| "No siblings here, so nothing on sharing a core.".to_owned())
}

/// A bar for each arm, with the ratio that it is compared by.
fn picture(run: &Run, columns: u16) -> String {
    let scale = RateScale::of(run);
    let arms = run.arms.iter().filter(|arm| arm.twin_of.is_none());
    let rows = arms.filter_map(|arm| {
        let rate = run.observation(Metric::Throughput, &arm.id)?.estimate;
        let limits = if is_sensible(&rate) { [rate.low, rate.high] } else { [0.0, rate.value] };
        let [compared, answer] = comparison(run, arm);
        Some(Bar {
            label: arm.id.clone(),
            value: rate.value,
            limits: Some(limits),
            columns: vec![scale.show(rate.value), compared, answer],
        })
    });
    let rows: Vec<Bar> = rows.collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            let unit = scale.unit.replace(NO_BREAK, " ");
            bars(&rows, &[&unit, "ratio (95 % interval)", ""], columns)
        }
    }
}

/// The first judged comparison of an arm, and its answer in a word.
fn comparison(run: &Run, arm: &Arm) -> [String; 2] {
    let is_own = |seen: &&Observation| {
        seen.arm == arm.id && seen.against.is_some() && verdict_of(run, seen).is_some()
    };
    let Some(seen) = run.observations.iter().find(is_own) else {
        return [String::new(), String::new()];
    };
    let answer = verdict_of(run, seen).map_or("", |answer| match answer {
        Answer::Helps => "helps",
        Answer::Hurts => "hurts",
        Answer::NoPracticalEffect => "no effect",
        Answer::Inconclusive => "open",
    });
    let name = tables::compared(seen);
    let figures = match is_sensible(&seen.estimate) {
        true => format!("{name} {} ({})", ratio(&seen.estimate), interval(&seen.estimate)),
        false => format!("{name}: too uncertain"),
    };
    [figures, answer.to_owned()]
}

fn verdict_of(run: &Run, seen: &Observation) -> Option<Answer> {
    let is_of = |it: &&corun_record::Verdict| {
        it.metric == seen.metric && it.arm == seen.arm && Some(&it.against) == seen.against.as_ref()
    };
    run.verdicts.iter().find(is_of).map(|it| it.answer)
}

/// Next step that follows from the first verdict.
fn advice(run: &Run) -> Option<NextStep> {
    let verdict = run.verdicts.first()?;
    let workers = |phrase: &str| {
        let command = searched(&run.workload).map(|work| format!("corun threads {work}"));
        Some(NextStep::by(phrase, command.unwrap_or_default()))
    };
    let spread = || run.arms.iter().find(|arm| arm.placement == Placement::Spread(None));
    let one_a_core = |phrase: &str| {
        let pinned = spread().filter(|arm| !arm.cpus.is_empty()).and_then(|arm| {
            let command = copied(&run.workload)?;
            Some(format!("taskset -c {} {command}", tables::list(&sorted(&arm.cpus))))
        });
        Some(NextStep::by(phrase, pinned.unwrap_or_default()))
    };
    match (verdict.metric, verdict.answer) {
        (_, Answer::Inconclusive) => Some(to_decide(run)),
        (Metric::SmtYield | Metric::SwitchYield | Metric::MultitaskingGain, Answer::Helps) => {
            workers("use the siblings; how many workers are best")
        }
        (Metric::SmtYield | Metric::SwitchYield | Metric::MultitaskingGain, Answer::Hurts) => {
            one_a_core("leave the siblings idle, one worker a core")
        }
        (
            Metric::SmtYield | Metric::SwitchYield | Metric::MultitaskingGain,
            Answer::NoPracticalEffect,
        ) => one_a_core("one worker a core does as much"),
        (Metric::SwitchGain, Answer::Helps) => Some(NextStep::phrase("keep SMT switched on")),
        (Metric::SwitchGain, Answer::Hurts) => {
            Some(NextStep::by("switch SMT off for this program", "sudo corun smt off"))
        }
        (Metric::SwitchGain, Answer::NoPracticalEffect) => {
            Some(NextStep::phrase("leave SMT as it is: it makes no difference to this program"))
        }
        (Metric::Scaling | Metric::Speedup, Answer::Helps) => {
            workers("use the cores; how many workers are best")
        }
        (Metric::Scaling | Metric::Speedup, _) => {
            workers("fewer workers do no less; how many are best")
        }
        _ => None,
    }
}

/// Next step that would decide what is open.
fn to_decide(run: &Run) -> NextStep {
    let has = |kinds: &[&str]| run.caveats.iter().any(|it| kinds.contains(&it.kind.as_str()));
    let waits = run.verdicts.first().is_some_and(|it| it.sentence.contains("waits"));
    match () {
        () if waits => NextStep::phrase("look at what it waits for: no placement changes that"),
        () if has(&["foreign-load", "doctor-load", "foreign-work", "steal"]) => {
            NextStep::by("repeat it when nothing else runs; what does now", "corun top")
        }
        () => NextStep::phrase(format!(
            "repeat it with more time than {:.0} s (--max-time), or with a longer command",
            run.design.max_time_s
        )),
    }
}

/// The work as `corun threads` takes it; nothing where it is a service, whose line has more parts.
fn searched(workload: &Workload) -> Option<String> {
    let command = || prose::command_line(&workload.command);
    match (workload.mode, workload.command.is_empty()) {
        (Mode::Service, _) => None,
        (_, true) => Some(format!("--workload {}", workload.name)),
        (Mode::Copies, false) => Some(format!("--copies -- {}", command())),
        (_, false) => Some(format!("-- {}", command())),
    }
}

/// The command where each worker is a copy of it.
fn copied(workload: &Workload) -> Option<String> {
    let is_command = workload.mode == Mode::Copies && !workload.command.is_empty();
    is_command.then(|| prose::command_line(&workload.command))
}

fn sorted(cpus: &[u32]) -> Vec<u32> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus
}

#[cfg(test)]
mod tests {
    use corun_record::{Caveat, Estimate, PlacementNotPossible, Source, Verdict};
    use serde_json::json;

    use super::*;
    use crate::bench::examples;

    /// A run of all placements of a machine with SMT, with the longest names and sentences.
    fn full_run() -> Run {
        let arms = [
            ("single", 1, 10e6),
            ("spread", 2, 20e6),
            ("full", 4, 24e6),
            ("packed", 2, 12e6),
            ("stacked", 4, 20e6),
            ("free", 4, 23e6),
        ];
        let mut run = examples::run("chase", json!({}), &arms);
        run.workload.command = vec!["./solver".to_owned(), "--size=large".to_owned()];
        run.arms[1].cpus = vec![0, 2];
        let shown = run.observations[0].clone();
        run.observations.retain(|it| it.against.is_none());
        run.verdicts.clear();
        for (metric, arm, against, value, answer) in [
            (Metric::SmtYield, "full", "spread", 1.2, Answer::Helps),
            (Metric::Scaling, "spread", "single", 1.0, Answer::Helps),
            (Metric::CoreEquivalence, "packed", "spread", 1.66, Answer::Hurts),
            (Metric::TimeSlicing, "stacked", "spread", 1.0, Answer::NoPracticalEffect),
            (Metric::MultitaskingGain, "full", "stacked", 1.2, Answer::Helps),
            (Metric::FreePlacement, "free", "full", 0.97, Answer::Inconclusive),
        ] {
            run.observations.push(Observation {
                metric,
                arm: arm.to_owned(),
                against: Some(against.to_owned()),
                unit: "1".to_owned(),
                estimate: Estimate {
                    value,
                    low: value * 0.98,
                    high: value * 1.02,
                    ..shown.estimate
                },
                source: Source::Measured,
                ..shown.clone()
            });
            run.verdicts.push(Verdict {
                metric,
                arm: arm.to_owned(),
                against: against.to_owned(),
                answer,
                sentence: format!(
                    "{} of {arm}: with 2 workers a core does {value} times the work it does with one, and each of them \
                     is 1.67 times slower (95 % interval 1.18 to 1.22).",
                    metric.name()
                ),
                noise_floor: None,
                equivalence: None,
            });
        }
        run.caveats = ["virtual-machine", "foreign-load", "doctor-load", "short-runs", "clocks"]
            .map(|kind| Caveat::new(kind, format!("The {kind} is said of spread in 47 of 126 samples, for up to 50 % of its time, and more.")))
            .to_vec();
        run
    }

    #[test]
    fn a_run_with_all_placements_is_on_one_screen() {
        let view = View { is_terminal: true, is_kept: true, ..View::of_file(80) };
        let text = run_on_screen(&full_run(), &view);
        assert!(text.lines().count() <= crate::screen::ROWS, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn without_siblings_that_is_said_before_what_the_cores_do() {
        let mut run = full_run();
        run.machine.smt_width = 1;
        run.not_possible = vec![PlacementNotPossible {
            placement: Placement::Full(None),
            core_type: None,
            reason: "it needs two logical CPUs of a core".to_owned(),
        }];
        run.verdicts.retain(|it| it.metric == Metric::Scaling);
        let text = run_on_screen(&run, &View::of_file(80));
        assert!(
            text.starts_with("No siblings here, so nothing on sharing a core. scaling of"),
            "{text}"
        );
    }

    #[test]
    fn what_to_do_follows_from_the_verdict() {
        let step = |metric, answer| {
            let mut run = full_run();
            run.verdicts.truncate(1);
            run.verdicts[0].metric = metric;
            run.verdicts[0].answer = answer;
            let step = advice(&run).map(|it| format!("{}: {}", it.phrase, it.command));
            step.unwrap_or_default()
        };
        insta::assert_snapshot!(
            [
                step(Metric::SmtYield, Answer::Helps),
                step(Metric::SmtYield, Answer::Hurts),
                step(Metric::SmtYield, Answer::NoPracticalEffect),
                step(Metric::SmtYield, Answer::Inconclusive),
                step(Metric::Scaling, Answer::Helps),
                step(Metric::Scaling, Answer::NoPracticalEffect),
                step(Metric::SwitchGain, Answer::Hurts),
            ]
            .join("\n"),
            @r"
        use the siblings; how many workers are best: corun threads --copies -- ./solver --size=large
        leave the siblings idle, one worker a core: taskset -c 0,2 ./solver --size=large
        one worker a core does as much: taskset -c 0,2 ./solver --size=large
        repeat it when nothing else runs; what does now: corun top
        use the cores; how many workers are best: corun threads --copies -- ./solver --size=large
        fewer workers do no less; how many are best: corun threads --copies -- ./solver --size=large
        switch SMT off for this program: sudo corun smt off
        "
        );
    }
}
