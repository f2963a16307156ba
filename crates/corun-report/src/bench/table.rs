//! A bench as one table: a row for each arm of each workload, and what follows from it.

use std::collections::BTreeMap;

use corun_record::{Arm, Bench, Metric, Mode, Observation, Run};

use super::{ends, name, whole};
use crate::figures::{half_width, is_sensible, ratio, seconds, share};
use crate::prose::{self, plural};
use crate::tables::{RateScale, Table, amount, number};
use crate::terminal::{NO_BREAK, grid, wrap};

/// The bench as text for a terminal of this many columns.
pub fn bench_to_terminal(bench: &Bench, columns: u16) -> String {
    let mut text = String::new();
    if let Some(run) = bench.runs.first() {
        text.push_str(&wrap(&prose::machine(&run.machine), "  ", columns));
        text.push_str(&format!("\n{}\n", grid(&table(bench), columns)));
    }
    let rates = bench.runs.iter().flat_map(rates);
    let beside: Vec<String> = rates.chain(bench.runs.iter().flat_map(shares)).collect();
    if !beside.is_empty() {
        text.push('\n');
    }
    for line in beside {
        text.push_str(&wrap(&line, "", columns));
    }
    text.push_str(&ends(bench, columns));
    let caveats = caveats(bench);
    if !caveats.is_empty() {
        text.push_str("\nWhat limits trust:\n");
    }
    for line in caveats {
        text.push_str(&wrap(&format!("- {line}"), "  ", columns));
    }
    if bench.runs.is_empty() {
        return text;
    }
    let runs: usize = bench.runs.iter().map(|run| run.samples.len()).sum();
    let course = format!(
        "{}, {runs} runs in {}; `corun bench show NAME` says what each does.",
        plural(bench.runs.len(), "measurement"),
        seconds(bench.elapsed_s)
    );
    text.push('\n');
    text.push_str(&wrap(&course, "", columns));
    text
}

/// All of them rows of suites: then the figures are given as the suites' tables have them.
fn is_suite(bench: &Bench) -> bool {
    let is_row = |run: &Run| run.observations.iter().any(|it| it.metric == Metric::Figure);
    bench.runs.iter().all(is_row)
}

/// A row for each arm of each workload; a workload's name stands in its first row.
pub fn table(bench: &Bench) -> Table {
    let rows = |row: fn(&Run, &Arm) -> Vec<String>| {
        let of_run = move |run| {
            let arms = arms(run).enumerate().map(move |(index, arm)| {
                let name = || whole(name(&run.workload.name, &run.workload.parameters, bench));
                let first = if index == 0 { name() } else { String::new() };
                [vec![first], row(run, arm)].concat()
            });
            arms.collect::<Vec<_>>()
        };
        bench.runs.iter().flat_map(of_run).collect()
    };
    let (names, rows): (&[&str], _) = match is_suite(bench) {
        true => (&["row", "arm", "figure", "", "original", "compared"], rows(suite_row)),
        false => {
            (&["workload", "arm", "workers", "one operation", "rate", "", "compared"], rows(row))
        }
    };
    let header = names.iter().map(|&name| whole(name.to_owned())).collect();
    without_empty_columns(Table { header, rows })
}

fn without_empty_columns(table: Table) -> Table {
    let is_kept = |column: &usize| table.rows.iter().any(|row| !row[*column].is_empty());
    let kept: Vec<usize> = (0..table.header.len()).filter(is_kept).collect();
    let of = |row: &Vec<String>| kept.iter().map(|&column| row[column].clone()).collect();
    Table { header: of(&table.header), rows: table.rows.iter().map(of).collect() }
}

fn arms(run: &Run) -> impl Iterator<Item = &Arm> {
    run.arms.iter().filter(|arm| arm.twin_of.is_none())
}

/// As a suite's table has it, and beside it what the original would credit itself with.
fn suite_row(run: &Run, arm: &Arm) -> Vec<String> {
    let of_arm = |seen: &&Observation| seen.metric == Metric::Figure && seen.arm == arm.id;
    let mut figures = run.observations.iter().filter(of_arm);
    let own = figures.next();
    vec![
        arm.id.clone(),
        own.map_or("-".to_owned(), |seen| whole(amount(seen))),
        own.map_or_else(String::new, spread),
        figures.next().map_or_else(String::new, |seen| number(seen.estimate.value)),
        compared(run, arm).map_or_else(String::new, comparison),
    ]
}

fn row(run: &Run, arm: &Arm) -> Vec<String> {
    let throughput = run.observation(Metric::Throughput, &arm.id);
    let scale = RateScale::of(run);
    let workers = match run.workload.mode {
        Mode::WorkersTotal | Mode::Service => 1.0,
        Mode::Copies | Mode::WorkersPerWorker => f64::from(arm.workers),
    };
    let text = |form: &dyn Fn(&Observation) -> String| throughput.map_or("-".to_owned(), form);
    vec![
        arm.id.clone(),
        arm.workers.to_string(),
        text(&|seen| seconds(workers / seen.estimate.value)),
        text(&|seen| format!("{}{NO_BREAK}{}", scale.show(seen.estimate.value), scale.unit)),
        text(&spread),
        compared(run, arm).map_or_else(String::new, comparison),
    ]
}

fn spread(seen: &Observation) -> String {
    half_width(&seen.estimate)
}

fn comparison(seen: &Observation) -> String {
    let name = seen.metric.name();
    match is_sensible(&seen.estimate) {
        true => format!("{name} {} {}", ratio(&seen.estimate), spread(seen)),
        false => format!("{name}: {}", spread(seen)),
    }
}

/// Other counts of the same work.
fn rates(run: &Run) -> Vec<String> {
    let rates = run.observations.iter().filter(|seen| seen.metric == Metric::Rate);
    rates.map(|seen| format!("{} {}: {}", run.workload.name, seen.arm, amount(seen))).collect()
}

/// Observation by which the arm is best compared.
fn compared<'a>(run: &'a Run, arm: &Arm) -> Option<&'a Observation> {
    let judged = |seen: &&Observation| {
        run.verdicts.iter().any(|it| it.metric == seen.metric && it.arm == seen.arm)
    };
    let of_arm = || run.observations.iter().filter(|seen| seen.arm == arm.id);
    let own = of_arm().find(|seen| seen.metric == Metric::LeastShare);
    own.or_else(|| of_arm().find(judged))
        .or_else(|| of_arm().find(|seen| seen.metric == Metric::RelativeThroughput))
}

/// Shares of the work among workers that were counted over one window.
fn shares(run: &Run) -> Vec<String> {
    let counted =
        run.arms.iter().filter(|arm| run.observation(Metric::LeastShare, &arm.id).is_some());
    counted
        .map(|arm| {
            let shares: Vec<String> =
                mean_shares(run, &arm.id).iter().map(|it| share(*it)).collect();
            let workers = arm.workers;
            format!(
                "{} {}: from the least to the most, the {workers} workers did {} of the work (an equal share is {}).",
                run.workload.name,
                arm.id,
                shares.join(", "),
                share(1.0 / f64::from(workers))
            )
        })
        .collect()
}

/// The share of the slowest worker, of the next, and so on: means over the samples of an arm.
fn mean_shares(run: &Run, arm: &str) -> Vec<f64> {
    let samples: Vec<_> = run.samples.iter().filter(|sample| sample.arm == arm).collect();
    let mut sums: Vec<f64> = Vec::new();
    for sample in &samples {
        let mut rates: Vec<f64> =
            sample.workers.iter().map(|it| f64::from(it.runs) / it.seconds).collect();
        rates.sort_by(f64::total_cmp);
        let total: f64 = rates.iter().sum();
        sums.resize(rates.len(), 0.0);
        sums.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate / total);
    }
    sums.iter().map(|sum| sum / samples.len() as f64).collect()
}

/// The caveats of all runs, one line a kind: the first sentence of it, and of which others
/// something like it is true.
pub fn caveats(bench: &Bench) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for run in &bench.runs {
        for caveat in &run.caveats {
            let name = name(&run.workload.name, &run.workload.parameters, bench);
            let seen = (name, caveat.sentence.as_str());
            kinds.entry(&caveat.kind).or_default().push(seen);
        }
    }
    let line = |seen: Vec<(String, &str)>| {
        let (workload, sentence) = &seen[0];
        let others: Vec<&str> = seen[1..].iter().map(|it| it.0.as_str()).collect();
        match seen.iter().all(|it| it.1 == *sentence) && seen.len() == bench.runs.len() {
            true => (*sentence).to_owned(),
            false if others.is_empty() => format!("{workload}: {sentence}"),
            false => format!("{workload}: {sentence} Likewise: {}.", others.join(", ")),
        }
    };
    kinds.into_values().map(line).collect()
}

#[cfg(test)]
mod tests {
    use corun_record::{Caveat, Metric, WorkloadNotPossible};
    use serde_json::json;

    use super::super::examples::{bench, run};
    use super::*;

    #[test]
    fn workloads_stand_side_by_side() {
        let mut both = [
            run("chase", json!({}), &[("spread", 2, 2e7), ("full", 4, 3.9e7)]),
            run("hash", json!({}), &[("spread", 2, 4.1e9), ("full", 4, 4.2e9)]),
        ];
        for run in &mut both {
            run.caveats.push(Caveat::new("busy", "Used CPUs did other work."));
        }
        both[1].caveats.push(Caveat::new("clocks", "Arms ran at different clocks."));
        let mut bench = bench(both.to_vec());
        bench.not_possible.push(WorkloadNotPossible {
            workload: "regn".into(),
            parameters: Default::default(),
            reason: "there is no `bash` on PATH".into(),
            next_step: "Install it.".into(),
        });
        insta::assert_snapshot!(bench_to_terminal(&bench, 100), @r"
        Made up, 4 cores, 8 logical CPUs, SMT width 2

         workload   arm      workers   one operation   rate                       compared
        ═════════════════════════════════════════════════════════════════════════════════════════════════
         chase      spread   2         100 ns          20.0 M loads/s   ± 2.0 %
                    full     4         103 ns          39.0 M loads/s   ± 2.0 %   SMT yield 1.95 ± 2.0 %
         hash       spread   2         488 ps          4.10 G loads/s   ± 2.0 %
                    full     4         952 ps          4.20 G loads/s   ± 2.0 %   SMT yield 1.02 ± 2.0 %

        Not run:
        - regn: there is no `bash` on PATH. Install it.

        What limits trust:
        - Used CPUs did other work.
        - hash: Arms ran at different clocks.

        2 measurements, 0 runs in 12.5 s; `corun bench show NAME` says what each does.
        ");
    }

    #[test]
    fn a_suite_is_shown_as_its_table_has_it() {
        let figure = |arm: &str, of: &str, unit: &str, value: f64| {
            let estimate = json!({
                "value": value, "low": value * 0.99, "high": value * 1.01, "level": 0.95, "blocks": 5
            });
            serde_json::from_value(json!({
                "metric": "figure", "arm": arm, "against": null, "of": of, "unit": unit,
                "estimate": estimate, "bootstrap": null, "source": "measured"
            }))
            .expect("an observation")
        };
        let arms = [("spread", 2, 2e6), ("full", 4, 2.2e6)];
        let mut simple = run("lmbench/simple-syscall", json!({}), &arms);
        simple.observations.push(figure("spread", "Simple syscall", "us", 0.1157));
        simple.observations.push(figure("full", "Simple syscall", "us", 0.231));
        let mut pipe = run("aim9/pipe_cpy", json!({}), &[("single", 1, 99.0)]);
        pipe.observations.push(figure("single", "pipe_cpy", "messages/s", 99.0));
        pipe.observations.push(figure("single", "pipe_cpy as aim9 counts", "messages/s", 100.0));
        let mut rate = figure("single", "bytes", "bytes/s", 71_000.0);
        rate.metric = Metric::Rate;
        pipe.observations.push(rate);
        insta::assert_snapshot!(bench_to_terminal(&bench(vec![simple, pipe]), 110), @r"
        Made up, 4 cores, 8 logical CPUs, SMT width 2

         row                      arm      figure                      original   compared
        ═════════════════════════════════════════════════════════════════════════════════════════════════
         lmbench/simple-syscall   spread   0.116 µs          ± 1.0 %
                                  full     0.231 µs          ± 1.0 %              SMT yield 1.10 ± 2.0 %
         aim9/pipe_cpy            single   99.0 messages/s   ± 1.0 %   100

        aim9/pipe_cpy single: 71.0 k bytes/s

        2 measurements, 0 runs in 12.5 s; `corun bench show NAME` says what each does.
        ");
    }

    #[test]
    fn parameters_that_differ_are_named() {
        let chase = |size: &str| {
            run("chase", json!({ "size": size, "order": "random" }), &[("single", 1, 1e9)])
        };
        let bench = bench(vec![chase("4096"), chase("8192"), run("hash", json!({}), &[])]);
        let names: Vec<String> = bench
            .runs
            .iter()
            .map(|run| name(&run.workload.name, &run.workload.parameters, &bench))
            .collect();
        assert_eq!(names, ["chase size=4096", "chase size=8192", "hash"]);
    }

    #[test]
    fn shares_are_distinguished_from_the_least_to_the_most() {
        let mut crowd = run("fairness", json!({}), &[("free@3", 3, 2e9)]);
        for seconds in [[1.0, 2.0, 2.0], [2.0, 1.0, 2.0]] {
            let workers: Vec<_> = seconds
                .iter()
                .map(|seconds| json!({ "seconds": seconds, "runs": 1, "cpus": {}, "check": null }))
                .collect();
            let evidence = corun_record::Evidence::default();
            crowd.samples.push(
                serde_json::from_value(json!({
                    "block": 0, "position": 0, "arm": "free@3", "makespan_s": 2.0,
                    "throughput": 1.0, "workers": workers, "evidence": evidence
                }))
                .expect("a sample"),
            );
        }
        assert_eq!(shares(&crowd), Vec::<String>::new(), "workers were not counted over a window");
        let mut least = crowd.observations[0].clone();
        least.metric = Metric::LeastShare;
        crowd.observations.push(least);
        assert_eq!(
            shares(&crowd),
            [
                "fairness free@3: from the least to the most, the 3 workers did 25 %, 25 %, 50 % of the \
              work (an equal share is 33 %)."
            ]
        );
    }
}
