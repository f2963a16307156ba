//! Workers for real: where they run, which arguments they get, how many there are.

use corun_machine::{Affinity, CpuSet};
use corun_record::{Arm, Metric, Mode, Pinning, Run};

use crate::common::{FEWEST, Outcome, Scratch, corun, measure, measure_one_worker};

/// Every possible arm in two blocks, for its JSON.
const ALL_ARMS: [&str; 4] = ["measure", "--blocks=2", "--warmup=0", "--json=-"];

#[test]
fn every_copy_of_every_arm_is_pinned_before_it_begins() {
    let scratch = Scratch::new();
    let script = scratch
        .script("grep Cpus_allowed_list /proc/self/status | cut -f 2 >> \"$folder/allowed\"");
    let run = Outcome::of(corun(ALL_ARMS).arg("--").arg(script)).run();

    let allowed = scratch.read("allowed");
    let mut allowed = allowed.lines();
    let inherited = Affinity::of(0).unwrap().cpus();
    for (sample, arm) in samples(&run) {
        let mut seen: Vec<&str> = allowed.by_ref().take(arm.workers as usize).collect();
        let mut expected: Vec<String> = match arm.cpus.is_empty() {
            true => vec![inherited.to_string(); arm.workers as usize],
            false => arm.cpus.iter().map(u32::to_string).collect(),
        };
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected, "sample {sample} of {}", arm.id);
    }
    assert_eq!(allowed.next(), None, "more runs than samples");
}

#[test]
fn all_is_kept_on_the_cpus_that_are_named() {
    let scratch = Scratch::new();
    let script = scratch
        .script("grep Cpus_allowed_list /proc/self/status | cut -f 2 >> \"$folder/allowed\"");
    let last = Affinity::of(0).unwrap().cpus().iter().last().unwrap().to_string();
    let named = ["--cpus", &last, "--placement=single,free@2", "--"];
    let run = Outcome::of(corun(ALL_ARMS).args(named).arg(script)).run();
    assert_eq!(run.arm("single").unwrap().cpus, [last.parse::<u32>().unwrap()]);
    assert!(scratch.read("allowed").lines().all(|allowed| allowed == last));

    for command in
        [&["measure", "--cpus=9999", "true"][..], &["study", "run", "os-lecture", "--cpus=9999"]]
    {
        let outcome = Outcome::of(&mut corun(command));
        assert_eq!((outcome.exit, outcome.output.as_str()), (Some(2), ""));
        assert!(outcome.errors.contains("found 9999, which is none of"), "{}", outcome.errors);
    }
}

#[test]
fn arms_with_listed_cpus_are_compared_and_kept_as_others() {
    let scratch = Scratch::new();
    let script = scratch
        .script("grep Cpus_allowed_list /proc/self/status | cut -f 2 >> \"$folder/allowed\"");
    let cpus: Vec<u32> = Affinity::of(0).unwrap().cpus().iter().collect();
    let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
    let (one, all) = (format!("one={}", list[0]), format!("all={}", list.join(",")));
    let keeping = |words: &[&str]| {
        let mut command = corun(words);
        command.env("CORUN_STORE", scratch.file("corun.db"));
        command
    };
    let run = |arms: [&str; 2]| {
        Outcome::of(
            keeping(&ALL_ARMS).args(["--arm", arms[0], "--arm", arms[1], "--"]).arg(&script),
        )
        .run()
    };
    let first = run([&one, &all]);
    let ids: Vec<&str> = first.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(ids, ["one", "one.aa", "all", "all.aa"]);
    assert_eq!((&first.arms[0].cpus, &first.arms[2].cpus), (&vec![cpus[0]], &cpus));
    assert_eq!(scratch.read("allowed").lines().filter(|it| **it == list[0]).count() % 4, 0);
    let verdict = &first.verdicts[0];
    assert_eq!((verdict.metric, verdict.against.as_str()), (Metric::RelativeToFirst, "one"));
    // Two blocks of a short program may tell nothing where the machine is busy.
    let is_said = |text: &str| {
        ["relative to first", "too uncertain to say", "inconclusive"]
            .iter()
            .any(|it| text.contains(it))
    };
    let shown = Outcome::of(&mut keeping(&["runs", "show", "last"]));
    assert!(is_said(&shown.output), "{}", shown.output);

    // The same name on other CPUs is no equal run.
    run([&format!("one={}", list[list.len() - 1]), &all]);
    let compared = Outcome::of(&mut keeping(&["compare", "last~1", "last"]));
    assert_eq!(compared.output.contains("CPUs of one"), list.len() > 1, "{}", compared.output);
    let page = Outcome::of(keeping(&["report", "last", "-o"]).arg(scratch.file("page.html")));
    assert_eq!(page.exit, Some(0), "{}", page.errors);
    assert!(is_said(&scratch.read("page.html")));
}

#[test]
fn arms_list_cpus_that_there_are_each_once() {
    let refused = |arguments: &[&str]| {
        let outcome = Outcome::of(corun(["measure"]).args(arguments).args(["--", "true"]));
        assert_eq!((outcome.exit, outcome.output.as_str()), (Some(2), ""), "{}", outcome.errors);
        outcome.errors
    };
    let first = Affinity::of(0).unwrap().cpus().iter().next().unwrap();
    let (twice, list) = (format!("a={first},{first}"), format!("a={first}"));
    for (arguments, found) in [
        (&["--arm", twice.as_str()][..], "expected each logical CPU once"),
        (&["--arm", "a=9999"], "found 9999, which is none of"),
        (&["--arm", "a"], "expected a name and logical CPUs"),
        (&["--arm", "free@2=0"], "expected a name of letters"),
        (&["--arm", list.as_str(), "--arm", list.as_str()], "found `a` twice"),
        (&["--arm", list.as_str(), "--cores=1"], "expected --placement beside --cores"),
    ] {
        let errors = refused(arguments);
        assert!(errors.contains(found), "{arguments:?}: {errors}");
    }
}

#[test]
fn the_record_says_where_each_worker_ran() {
    let run = Outcome::of(corun(ALL_ARMS).args(["--", "true"])).run();
    let inherited = Affinity::of(0).unwrap().cpus();
    for (index, arm) in samples(&run) {
        let sample = &run.samples[index];
        let seen = sample.workers.iter().map(|worker| worker.cpus.keys().copied());
        if arm.cpus.is_empty() {
            assert_eq!(sample.evidence.pinning, Pinning::Free);
            let seen: CpuSet = seen.flatten().collect();
            assert!(!seen.is_empty() && seen.iter().all(|cpu| inherited.contains(cpu)), "{seen}");
        } else {
            assert_eq!(sample.evidence.pinning, Pinning::Pinned);
            assert!(seen.flatten().eq(arm.cpus.iter().copied()), "{:?}", sample.workers);
        }
    }
}

#[test]
fn one_process_is_reported_its_number_of_workers() {
    let scratch = Scratch::new();
    let script = scratch.script("echo \"$*\" >> \"$folder/arguments\"");
    let command = ["{workers}", "-j{workers}/{workers}", "{worker}"];
    let run = Outcome::of(corun(ALL_ARMS).arg("--").arg(script).args(command)).run();

    assert_eq!(run.workload.mode, Mode::WorkersTotal);
    let expected: Vec<String> =
        samples(&run).map(|(_, arm)| format!("{0} -j{0}/{0} {{worker}}", arm.workers)).collect();
    assert_eq!(scratch.read("arguments").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn work_per_worker_counts_every_worker() {
    let throughput_of_one = |work: &str| {
        let run = Outcome::of(measure("stacked", FEWEST).args([
            "--cores=1",
            "--json=-",
            work,
            "--",
            "echo",
            "{workers}",
        ]))
        .run();
        let sample = &run.samples[0];
        (run.arms[0].workers, sample.throughput * sample.makespan_s)
    };
    let (_, total) = throughput_of_one("--work=total");
    let (workers, shares) = throughput_of_one("--work=per-worker");
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    assert!((shares - f64::from(workers)).abs() < 1e-9, "{shares}");
}

#[test]
fn copies_say_how_many_cores_are_used() {
    let run =
        Outcome::of(measure("spread", FEWEST).args(["--copies=1", "--json=-", "--", "true"])).run();
    assert_eq!(run.arms[0].cores, 1);
    let run =
        Outcome::of(measure("spread", FEWEST).args(["--copies", "--json=-", "--", "true"])).run();
    assert_eq!(run.arms[0].cores as usize, run.design.cores.values().map(Vec::len).sum::<usize>());
}

#[test]
fn what_copies_report_is_added_up() {
    let output = "rate: 1\nrate: 1,000.5\n";
    let run = Outcome::of(measure("stacked,spread", FEWEST).args([
        "--json=-",
        "--throughput=rate: ([0-9,.]+)",
        "--",
        "printf",
        output,
    ]))
    .run();
    assert_eq!(run.workload.operation, "reported");
    for (index, arm) in samples(&run) {
        assert_eq!(run.samples[index].throughput, 1000.5 * f64::from(arm.workers), "{}", arm.id);
    }
}

#[test]
fn fast_copies_go_on_until_the_slow_one_has_a_window() {
    let scratch = Scratch::new();
    // The first run of all is slow: it waits until others have begun five runs beside it.
    let script = scratch.script(
        "if mkdir \"$folder/slow\" 2> /dev/null; then\n\
           until [ -e \"$folder/fast\" ] && [ \"$(wc -l < \"$folder/fast\")\" -ge 5 ]; do :; done\n\
         else echo run >> \"$folder/fast\"; fi",
    );
    let run = Outcome::of(
        measure("stacked", FEWEST)
            .args(["--cores=1", "--steady", "--timeout=60s", "--json=-", "--"])
            .arg(script),
    )
    .run();

    assert!(run.workload.steady);
    assert!(run.samples.iter().flat_map(|sample| &sample.workers).all(|worker| worker.runs >= 1));
    let first = &run.samples[0];
    let others = first.workers.len() - 1;
    // Of the five begun, each other copy may have left one unfinished; the slow run is one more.
    let counted: u32 = first.workers.iter().map(|worker| worker.runs).sum();
    assert!(counted as usize >= 1 + 5 - others, "{:?}", first.workers);
    let rates: f64 =
        first.workers.iter().map(|worker| f64::from(worker.runs) / worker.seconds).sum();
    assert!((first.throughput / rates - 1.0).abs() < 1e-6, "{} {rates}", first.throughput);
}

#[test]
fn without_steady_every_copy_runs_once() {
    let run = Outcome::of(measure_one_worker(FEWEST).args(["--json=-", "--", "true"])).run();
    assert!(run.samples.iter().flat_map(|sample| &sample.workers).all(|worker| worker.runs == 1));
}

/// The samples in the order run, each with its arm.
fn samples(run: &Run) -> impl Iterator<Item = (usize, &Arm)> {
    run.samples
        .iter()
        .enumerate()
        .map(|(index, sample)| (index, run.arm(&sample.arm).expect("every sample has its arm")))
}
