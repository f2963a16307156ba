//! Commands run for real: what leaves its place is seen, and what is left running is ended.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use corun_machine::Machine;
use corun_measure::analysis::{AnalysisRequest, Workers, analyse};
use corun_measure::cores::usable_cores;
use corun_measure::execution::{Command, Interrupt, LocalExecutor, Task, Work};
use corun_measure::experiment::{ArmOutcome, Executor};
use corun_record::{Answer, Arm, Displaced, Evidence, Metric, Mode, Pinning, Sample};
use tempfile::TempDir;

const QUESTION: AnalysisRequest = AnalysisRequest {
    practical: 0.01,
    level: 0.95,
    seed: 1,
    mode: Mode::Copies,
    workers: Workers::Alike,
    row: None,
};

fn arm(id: &str, cpus: Vec<u32>) -> Arm {
    Arm { id: id.to_owned(), ..Arm::new(id.parse().unwrap(), cpus.len() as u32, 1, cpus) }
}

/// Runs a shell script once on the first CPU that corun may use.
fn run(script: &str, arguments: &[&str]) -> ArmOutcome {
    let argv = [&["/bin/sh", "-c", script, "sh"], arguments].concat();
    run_command(&argv, Mode::Copies, vec![first_and_last().0])
}

fn run_command(argv: &[&str], mode: Mode, cpus: Vec<u32>) -> ArmOutcome {
    let machine = Machine::read(Path::new("/")).unwrap();
    let (interrupt, _raise) = Interrupt::new().unwrap();
    let work = Work {
        task: Task::Command(Command {
            argv: argv.iter().map(OsString::from).collect(),
            environment: std::env::vars_os().collect(),
            directory: None,
            input: None,
            expected_exit: 0,
            throughput: None,
            operations_argument: None,
        }),
        mode,
        steady: false,
        operations: 1.0,
        timeout: Some(Duration::from_secs(120)),
        prepare: None,
    };
    let mut executor = LocalExecutor::new(work, usable_cores(&machine), interrupt, None).unwrap();
    executor.run(&arm("single", cpus)).unwrap()
}

/// The first CPU, where workers are put, and the last, where they go. Read once: an executor moves the
/// test's thread aside.
fn first_and_last() -> (u32, u32) {
    static CPUS: OnceLock<(u32, u32)> = OnceLock::new();
    *CPUS.get_or_init(|| {
        let machine = Machine::read(Path::new("/")).unwrap();
        let cpus = usable_cores(&machine).into_iter().flat_map(|core| core.cpus);
        let cpus: Vec<u32> = cpus.collect();
        (*cpus.iter().min().unwrap(), *cpus.iter().max().unwrap())
    })
}

fn has_one_cpu(test: &str) -> bool {
    let (first, last) = first_and_last();
    if first == last {
        corun_testing::skip(test, "one CPU");
    }
    first == last
}

#[test]
fn a_worker_that_leaves_its_place_is_not_called_pinned() {
    if has_one_cpu("a_worker_that_leaves_its_place_is_not_called_pinned") {
        return;
    }
    let (first, last) = first_and_last();
    let ways = [
        ("by itself", "taskset -pc $1 $$ > /dev/null"),
        ("by a wrapper", "exec taskset -c $1 true"),
        ("to more CPUs", "taskset -pc $2,$1 $$ > /dev/null"),
        ("and its child comes back", "taskset -pc $1 $$ > /dev/null; taskset -c $2 true"),
    ];
    for (way, script) in ways {
        let ArmOutcome { evidence, workers, .. } =
            run(script, &[&last.to_string(), &first.to_string()]);
        assert_eq!(evidence.pinning, Pinning::SetByProgram, "{way}");
        let displaced = [Displaced { worker: 0, outside: vec![last], moved: false }];
        assert_eq!(evidence.displaced, displaced, "{way}");
        assert!(workers[0].cpus.is_empty(), "{way}: {:?}", workers[0].cpus);
    }
}

#[test]
fn a_worker_that_comes_back_has_moved() {
    if has_one_cpu("a_worker_that_comes_back_has_moved") {
        return;
    }
    if !std::fs::read_to_string("/proc/self/sched").is_ok_and(|it| it.contains("nr_migrations")) {
        return corun_testing::skip("a_worker_that_comes_back_has_moved", "no /proc/PID/sched");
    }
    let (first, last) = first_and_last();
    let script = "taskset -pc $1 $$ > /dev/null; taskset -pc $2 $$ > /dev/null";
    let evidence = run(script, &[&last.to_string(), &first.to_string()]).evidence;
    assert_eq!(evidence.pinning, Pinning::SetByProgram);
    assert!(evidence.displaced[0].left_its_place(), "{:?}", evidence.displaced);
}

#[test]
fn a_child_elsewhere_is_seen_while_it_lives() {
    if has_one_cpu("a_child_elsewhere_is_seen_while_it_lives") {
        return;
    }
    let (first, last) = first_and_last();
    // The parent ends its child when corun, which observes both, has gone to sleep many times.
    let script = "taskset -c $1 tail -f /dev/null & sleep 1; kill $!";
    let evidence = run(script, &[&last.to_string(), &first.to_string()]).evidence;
    assert_eq!(evidence.pinning, Pinning::SetByProgram);
    assert_eq!(evidence.displaced[0].outside, [last]);
}

#[test]
fn threads_that_leave_are_seen() {
    if has_one_cpu("threads_that_leave_are_seen") {
        return;
    }
    let (first, last) = first_and_last();
    let script = "taskset -pc $1 $$ > /dev/null; : {workers}";
    let argv = ["/bin/sh", "-c", script, "sh", &last.to_string()];
    let evidence = run_command(&argv, Mode::WorkersTotal, vec![first]).evidence;
    assert_eq!(evidence.pinning, Pinning::SetByProgram);
    assert_eq!(evidence.displaced[0].outside, [last]);
}

#[test]
fn a_worker_that_stays_is_pinned() {
    let (first, _) = first_and_last();
    let outcome = run("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sh -c 'exit 0'", &[]);
    assert_eq!(outcome.evidence.pinning, Pinning::Pinned);
    assert_eq!(outcome.evidence.displaced, []);
    assert_eq!(outcome.evidence.left_running, []);
    assert!(outcome.workers[0].cpus.keys().eq([&first]), "{:?}", outcome.workers[0].cpus);
}

#[test]
fn a_wrapper_is_named_even_where_it_changes_nothing() {
    let (first, _) = first_and_last();
    let argv = ["taskset", "-c", &first.to_string(), "true"];
    let evidence = run_command(&argv, Mode::Copies, vec![first]).evidence;
    assert_eq!(evidence.pinning, Pinning::Pinned);
    assert_eq!(evidence.binds_itself, ["taskset (leave it out)"]);
}

#[test]
fn an_arm_that_was_left_is_not_compared() {
    let arms = [arm("spread", vec![0]), Arm { workers: 2, ..arm("stacked", vec![0, 0]) }];
    let samples = |displaced: &[Displaced]| -> Vec<Sample> {
        let of_block = |block: u32| {
            arms.iter().map(move |arm| Sample {
                block,
                arm: arm.id.clone(),
                makespan_s: 1.0 + f64::from(block) / 100.0,
                throughput: 1.0,
                evidence: Evidence {
                    displaced: if arm.id == "stacked" && block == 1 {
                        displaced.to_vec()
                    } else {
                        Vec::new()
                    },
                    ..Evidence::default()
                },
                ..Sample::default()
            })
        };
        (0..3).flat_map(of_block).collect()
    };
    let is_compared = |displaced: &[Displaced]| {
        let analysis = analyse(&arms, &samples(displaced), &QUESTION, None);
        let compares = analysis.observations.iter().any(|it| it.metric == Metric::TimeSlicing);
        assert_eq!(compares, !analysis.verdicts.is_empty());
        compares
    };
    let displaced = |outside, moved| Displaced { worker: 0, outside, moved };
    assert!(is_compared(&[]));
    assert!(is_compared(&[displaced(vec![], false)]), "within the arm's CPUs");
    assert!(!is_compared(&[displaced(vec![1], false)]));
    assert!(!is_compared(&[displaced(vec![], true)]));
}

#[test]
fn nothing_is_said_of_where_a_program_runs_that_waits() {
    let arms = [arm("spread", vec![0]), Arm { workers: 2, ..arm("stacked", vec![0, 0]) }];
    let verdict = |cpu_s: f64, cpu_wait: Option<f64>| {
        let of = |block: u32, id: &str, throughput: f64| Sample {
            block,
            arm: id.to_owned(),
            makespan_s: 1.0,
            throughput: throughput + f64::from(block) / 1000.0,
            evidence: Evidence { user_s: cpu_s, cpu_wait, ..Evidence::default() },
            ..Sample::default()
        };
        let pair = |block| [of(block, "spread", 1.0), of(block, "stacked", 2.0)];
        let samples: Vec<Sample> = (0..9).flat_map(pair).collect();
        let analysis = analyse(&arms, &samples, &QUESTION, None);
        let [verdict] = analysis.verdicts.as_slice() else { panic!("{analysis:?}") };
        let waits = analysis.caveats.iter().any(|caveat| caveat.kind == "waits");
        (verdict.answer, verdict.sentence.clone(), waits)
    };
    let (answer, sentence, waits) = verdict(0.03, None);
    assert_eq!((answer, waits), (Answer::Inconclusive, true));
    insta::assert_snapshot!(
        sentence,
        @"The program waits: it uses a CPU for 3.0 % of its time, so placements do not decide how fast it is. A service is better measured under load (--serve, --load)."
    );
    let (answer, sentence, waits) = verdict(0.5, None);
    assert_eq!((answer, waits), (Answer::Helps, true));
    assert!(sentence.starts_with("Time slicing helps: 2 workers"), "{sentence}");
    let (answer, sentence, waits) = verdict(1.0, Some(0.03));
    assert_eq!((answer, waits), (Answer::Helps, false));
    assert!(
        sentence
            .starts_with("Time slicing helps while other programs run on these CPUs: 2 workers"),
        "{sentence}"
    );
}

#[test]
fn energy_is_counted_for_each_operation() {
    let arms = [arm("spread", vec![0]), arm("single", vec![1])];
    let of = |block: u32, id: &str, joules: Option<f64>| Sample {
        block,
        arm: id.to_owned(),
        makespan_s: 2.0,
        throughput: 5.0,
        evidence: Evidence { package_joules: joules, ..Evidence::default() },
        ..Sample::default()
    };
    let samples: Vec<Sample> = (0..3)
        .flat_map(|block| {
            let counted = of(block, "spread", Some(30.0 + f64::from(block)));
            [counted, of(block, "single", (block > 0).then_some(1.0))]
        })
        .collect();
    let analysis = analyse(&arms, &samples, &QUESTION, None);
    let energy: Vec<_> = analysis
        .observations
        .iter()
        .filter(|it| it.metric == Metric::EnergyPerOperation)
        .map(|it| (it.arm.as_str(), it.unit.as_str(), (it.estimate.value * 100.0).round()))
        .collect();
    assert_eq!(energy, [("spread", "J/operation", 310.0)], "one arm was not always counted");
}

/// A script that notes its process id in `$1` and goes on forever.
fn endless(folder: &TempDir) -> String {
    let path = folder.path().join("endless");
    std::fs::write(&path, "#!/bin/sh\necho $$ >> \"$1\"\nexec tail -f /dev/null\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Ways in which a program leaves an endless child (`$1 $2`) behind.
const WAYS: [&str; 5] = [
    "$1 $2 &",
    "setsid $1 $2 < /dev/null > /dev/null 2>&1 &",
    "(setsid sh -c \"setsid $1 $2 &\" &)",
    "env -i /usr/bin/setsid /usr/bin/nohup $1 $2 > /dev/null 2>&1 &",
    "setsid sh -c \"trap '' TERM HUP INT; exec $1 $2\" &",
];

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    for way in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        let script = format!("{way}\nuntil [ -s $2 ]; do :; done");
        let evidence = run(&script, &[&endless(&folder), list.to_str().unwrap()]).evidence;
        let child: i32 = std::fs::read_to_string(list).unwrap().trim().parse().unwrap();
        assert!(is_gone(child), "{way}");
        let left = &evidence.left_running;
        assert!(!left.is_empty() && left.iter().all(|it| it.ended), "{way}: {left:?}");
    }
}

/// Names the list for [`runs_until_it_is_killed`]; in the test's own process it does nothing.
const LIST: &str = "CORUN_TEST_LIST";

#[test]
fn runs_until_it_is_killed() {
    if let Some(list) = std::env::var_os(LIST) {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("{}\nexec tail -f /dev/null", WAYS.join("\n"));
        run(&script, &[&endless(&folder), list.to_str().unwrap()]);
    }
}

#[test]
fn what_commands_have_left_ends_when_corun_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list");
    let mut corun = Program::new(std::env::current_exe().unwrap())
        .args(["--exact", "execution::runs_until_it_is_killed"])
        .env(LIST, &list)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let children = || -> Vec<i32> {
        let text = std::fs::read_to_string(&list).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    wait_until(|| children().len() == WAYS.len());
    let groups: Vec<_> = children().into_iter().flat_map(groups_of).collect();
    corun.kill().unwrap();
    corun.wait().unwrap();
    wait_until(|| children().into_iter().all(is_gone));
    wait_until(|| !groups.iter().any(|group| group.exists()));
}

/// The folders of the control groups that corun has made for a process, where it can make one.
fn groups_of(process: i32) -> Vec<PathBuf> {
    let own = std::fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let paths = own.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let made =
        paths.filter(|path| path.rsplit('/').next().is_some_and(|it| it.starts_with("corun-")));
    let mounts = ["", "unified/", "freezer/", "pids/", "systemd/"];
    let folders = made.flat_map(|path| mounts.map(|mount| format!("/sys/fs/cgroup/{mount}{path}")));
    folders.map(PathBuf::from).filter(|folder| folder.exists()).collect()
}

/// True if a process has ended; one that nobody has collected yet has ended too.
fn is_gone(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, fields)| fields.trim_start().starts_with(['Z', 'X']))
}

/// The patience is only there for a test that fails.
#[track_caller]
fn wait_until(is_seen: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_seen() {
        assert!(begin.elapsed() < Duration::from_secs(60), "never seen");
        std::thread::sleep(Duration::from_millis(1));
    }
}
