//! Cases that are calculated by hand: the simulator must meet them to the nanosecond.

use std::sync::Arc;

use corun_machine::CpuSet;
use corun_sched::program::{Amount, Load, QueueSpec, Step, TaskSpec};
use corun_sched::{Costs, Pairs, Settings, Slowdowns};

use crate::{load, run, run_of, settings};

const SECOND: u64 = 1_000_000_000;

/// Tasks of 10 s whose parents run on these CPUs.
fn ten_seconds_from(cpus: &[usize]) -> Load {
    let mut load = Load::default();
    let program = load.program("job", "batch", vec![Step::Run(Amount::Fixed(10 * SECOND))]);
    load.tasks =
        cpus.iter().map(|&cpu| TaskSpec { from: Some(cpu), ..TaskSpec::of(program) }).collect();
    load
}

#[test]
fn a_task_alone_takes_its_work() {
    for policy in corun_sched::policy::ALL {
        let (outcome, _) =
            run(policy.name, &load("batch:jobs=1,work=10s"), &settings("2x4x2", "1.7"));
        assert_eq!(outcome.makespan, 10 * SECOND, "{}", policy.name);
        assert_eq!(outcome.migrations.all(), 0, "{}", policy.name);
    }
}

/// Five jobs on four CPUs: all CPUs are used, and the shares are of what each job could have had.
#[test]
fn each_task_has_its_share_of_a_cpu() {
    let settings = Settings { until: Some(10 * SECOND), ..settings("1x4x1", "1") };
    let (outcome, intervals) = run("cfs", &load("batch:jobs=5,work=100s"), &settings);
    let mut ran = [0_u64; 5];
    for it in &intervals {
        ran[it.task as usize] += it.end.min(10 * SECOND) - it.begin;
    }
    ran.sort_unstable_by(|one, other| other.cmp(one));
    assert_eq!(outcome.shares, ran.map(|time| time as f64 / (10 * SECOND) as f64));
    assert!((outcome.shares.iter().sum::<f64>() - 4.0).abs() < 1e-9, "{:?}", outcome.shares);
    let (many, _) = run("cfs", &load("batch:jobs=65,work=1s"), &settings);
    assert_eq!(many.shares, [0.0; 0], "too many to be named");
}

/// Two tasks on the siblings of one of two cores: 1-1-0-0 is balanced without regard to siblings,
/// and 2-0 with it. CPUs 0 and 2 are siblings.
#[test]
fn two_tasks_on_one_of_two_packages() {
    let load = ten_seconds_from(&[0, 2]);
    let settings = settings("2x1x2", "1.8");
    for policy in ["flat", "ht-2.4", "pinned"] {
        let expected = if policy == "pinned" { 10 } else { 18 };
        assert_eq!(run(policy, &load, &settings).0.makespan, expected * SECOND, "{policy}");
    }
    let (outcome, intervals) = run("ht-2.5", &load, &settings);
    // Until one is pushed away both have 5/9 of the speed; the one that stays then needs the rest of its 10 s.
    let pushed = intervals.iter().map(|it| it.end).min().unwrap();
    assert!(pushed <= 1_000_000, "by the first tick of an idle CPU: {pushed} ns");
    assert_eq!(outcome.makespan, pushed + 10 * SECOND - pushed * 5 / 9);
    assert_eq!(outcome.migrations.elsewhere, 1);
    for policy in ["cfs", "eevdf", "core"] {
        assert_eq!(run(policy, &load, &settings).0.makespan, 10 * SECOND, "{policy}: one each");
    }
}

/// Two loops that each start a program and wait for it: of the CPUs that are idle, all of them siblings of busy ones, Linux
/// 2.4.17 takes the one that has been idle longest, which is on the other core. Where nothing takes time, the interrupt of
/// that CPU comes as late as the CPU of a loop that waits, which takes the program from the one queue.
#[test]
fn programs_that_loops_start_have_a_core_each() {
    let load = load("loops:loops=2,work=2550ms,times=1");
    for costs in [
        Costs { switch: 2_000, ..Costs::default() },
        Costs { interrupt: 1_000, ..Costs::default() },
        Costs { switch: 3_000, interrupt: 2_000, wake_up: 500, ..Costs::default() },
    ] {
        for seed in 1..=40 {
            let settings = Settings { seed, costs, ..settings("2x1x2", "1.8") };
            let (outcome, intervals) = run("ht-2.4", &load, &settings);
            assert!(outcome.makespan < 2_560_000_000, "{costs:?}, seed {seed}: {intervals:?}");
        }
    }
}

/// Four jobs of a make on four cores of two siblings: who wakes and starts tasks sits on a core for a
/// moment only, and whatever began beside another in that moment is moved to an idle core.
#[test]
fn no_core_stays_idle_beside_a_shared_one() {
    let load = load("make:jobs=4,files=40,spread=0,read=0");
    for policy in ["ht-2.5", "cfs", "eevdf"] {
        let (outcome, _) = run(policy, &load, &settings("1x4x2", "1.6"));
        // 40 files of 500 ms, four at a time; a few milliseconds pass until a tick moves one.
        assert!(outcome.makespan >= 5 * SECOND, "{policy}: {}", outcome.makespan);
        assert!(outcome.makespan < 5 * SECOND + SECOND / 4, "{policy}: {}", outcome.makespan);
    }
}

/// The lecture's five jobs on four CPUs: each has a CPU for four fifths of the time.
#[test]
fn five_tasks_on_four_cpus_share_equally() {
    let load = load("batch:jobs=5,work=10s");
    // One queue, be it of the machine or of a core as wide.
    for (policy, topology) in [("global", "1x4x1"), ("ht-2.5", "1x1x4")] {
        let (outcome, _) = run(policy, &load, &settings(topology, "1"));
        assert_eq!(outcome.makespan, 12_500_000_000, "{policy}");
        assert_eq!(outcome.utilization(), 1.0, "{policy}");
        assert!((outcome.cpu_share - 0.8).abs() < 0.01, "{policy}: {}", outcome.cpu_share);
    }
    // Without balancing two jobs share a CPU to the end.
    assert_eq!(run("pinned", &load, &settings("1x4x1", "1")).0.makespan, 20 * SECOND);
}

/// The lecture's jobs of 9.962 s: five on four CPUs ended after 12.208 to 13.143 s, where equal shares of a
/// CPU say 12.4525 s. Kernels that balance average loads rotate the tasks that have no CPU of their own; a pair that
/// stays on one CPU ends after 1.2 times as long.
#[test]
fn jobs_that_have_no_cpu_of_their_own_rotate() {
    const SEEDS: u64 = 20;
    for policy in ["ht-2.4", "cfs", "eevdf", "core"] {
        for (topology, jobs, cpus) in [("1x4x1", 5, 4), ("1x8x1", 10, 8), ("1x2x1", 3, 2)] {
            let load = load(&format!("batch:jobs={jobs},work=9.962s"));
            let equal = 9_962_000_000.0 * f64::from(jobs) / f64::from(cpus);
            let (mut first, mut last) = (0.0, 0.0);
            for seed in 0..SEEDS {
                let settings = Settings { seed, ..settings(topology, "1") };
                let (outcome, intervals) = run(policy, &load, &settings);
                let ends: Vec<f64> = (0..jobs as u64)
                    .map(|job| intervals.iter().filter(move |it| it.task == job).map(|it| it.end))
                    .map(|ends| ends.max().unwrap() as f64 / equal)
                    .collect();
                assert!(outcome.is_finished);
                let bounds = 0.88..=1.12;
                let is_within = ends.iter().all(|end| bounds.contains(end));
                assert!(is_within, "{policy}, {jobs} on {topology}, seed {seed}: {ends:?}");
                first += ends.iter().copied().fold(f64::MAX, f64::min) / SEEDS as f64;
                last += ends.iter().copied().fold(0.0, f64::max) / SEEDS as f64;
            }
            println!("{policy}, {jobs} on {topology}: {first:.3} to {last:.3} of equal shares");
            // On average over seeds the last within what the lecture saw once; beside a pair that stays on
            // one CPU the first would end after 0.8 of the time, or 0.67.
            assert!(first > 0.9, "{policy}, {jobs} on {topology}: {first}");
            assert!(last < 13.143 / 12.4525, "{policy}, {jobs} on {topology}: {last}");
        }
    }
}

/// Jobs that only run have equal shares of the CPUs, however many there are for how many CPUs, siblings or not.
#[test]
fn jobs_without_end_share_equally() {
    let policies = ["ht-2.4", "cfs", "eevdf", "core"];
    let wrong = std::thread::scope(|scope| {
        let each = policies.map(|policy| scope.spawn(move || unequal(policy)));
        each.map(|it| it.join().unwrap()).concat()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Numbers of jobs and machines with shares that are more than 3 % off equal ones, over some starts; 4 % on two
/// packages with siblings, where `cfs` always has a third of 12 jobs on 8 CPUs a little ahead.
fn unequal(policy: &str) -> Vec<String> {
    const TIME: u64 = 200;
    const SEEDS: u64 = 3;
    let mut wrong = Vec::new();
    for topology in ["1x2x1", "1x4x1", "1x8x1", "1x2x2", "2x2x2"] {
        let settings = Settings { until: Some(TIME * SECOND), ..settings(topology, "1.3") };
        let off = if topology == "2x2x2" { 0.04 } else { 0.03 };
        let (cpus, caches) = (settings.topology.cpus.len(), settings.topology.caches.len());
        for jobs in 1..=3 * cpus {
            let mut load = Load::default();
            let again = vec![Step::Repeat(None), Step::Run(Amount::Fixed(SECOND)), Step::End];
            let job = load.program("job", "it", again);
            load.tasks(job, jobs);
            let mut shares = vec![0.0; jobs];
            for seed in 0..SEEDS {
                let settings = Settings { seed, ..settings.clone() };
                for interval in run(policy, &load, &settings).1 {
                    let time = (interval.end - interval.begin) as f64;
                    shares[interval.task as usize] += time / (TIME * SECOND * SEEDS) as f64;
                }
            }
            // Where as many wait at each cache but for one, and 7 for 6 are within `imbalance_pct` (117),
            // fair.c moves none: those of a cache share its CPUs.
            let (fewest, most) = (jobs / caches, jobs.div_ceil(caches));
            let stays = policy != "ht-2.4" && jobs > cpus && most * 100 <= fewest * 117;
            let sharing = if stays { [fewest, most] } else { [jobs, jobs] };
            let all = if stays { cpus / caches } else { cpus };
            let is_equal = |share: &f64| {
                let equal = sharing.map(|sharing| (all as f64 / sharing as f64).min(1.0));
                equal.iter().any(|equal| (share / equal - 1.0).abs() <= off)
            };
            if !shares.iter().all(is_equal) {
                wrong.push(format!("{policy}, {jobs} on {topology}: {shares:.3?}"));
            }
        }
    }
    wrong
}

/// The arithmetic of whole tasks moves none from two to one: `imbalance` of Linux 2.5.31 is (2 - 1) / 2.
#[test]
fn linux_2_5_leaves_a_pair_on_one_cpu() {
    let load = load("batch:jobs=5,work=10s");
    for policy in ["flat", "ht-2.5"] {
        let (outcome, _) = run(policy, &load, &settings("1x4x1", "1"));
        assert!(outcome.makespan > 14 * SECOND, "{policy}: {}", outcome.makespan);
    }
}

/// A pair of tasks that may run on one CPU only does not keep the others from rotating.
#[test]
fn who_is_bound_keeps_nobody_from_rotating() {
    let mut load = Load::default();
    let job = load.program("job", "it", vec![Step::Run(Amount::Fixed(5 * SECOND))]);
    let first: Arc<CpuSet> = Arc::new([0].into_iter().collect());
    load.tasks = vec![TaskSpec { affinity: Some(first), ..TaskSpec::of(job) }; 2];
    load.tasks(job, 4);
    for policy in ["cfs", "eevdf"] {
        let (outcome, intervals) = run(policy, &load, &settings("1x4x1", "1"));
        // The four have three CPUs: 20 s of work in 6.67 s, the bound pair 10 s.
        let free = intervals.iter().filter(|it| it.task >= 2).map(|it| it.end).max().unwrap();
        assert!(free < 7_300_000_000, "{policy}: {free}");
        assert!(outcome.makespan < 10_100_000_000, "{policy}: {}", outcome.makespan);
    }
}

/// Two jobs a core at yield y: each has y/2 of the speed.
#[test]
fn eight_jobs_on_four_cores_take_two_over_the_yield() {
    let load = load("batch:jobs=8,work=10s");
    for policy in ["flat", "ht-2.4", "ht-2.5", "cfs", "eevdf", "core", "pinned", "global"] {
        let (outcome, _) = run(policy, &load, &settings("1x4x2", "2/1.25"));
        assert_eq!(outcome.makespan, 16 * SECOND, "{policy}");
        assert_eq!((outcome.fairness, outcome.migrations.all()), (1.0, 0), "{policy}");
        assert!(outcome.cpus.iter().all(|cpu| cpu.beside_sibling == 16 * SECOND), "{policy}");
    }
}

#[test]
fn with_smt_off_eight_jobs_take_turns_on_four_cores() {
    let load = load("batch:jobs=8,work=10s");
    for policy in ["flat/smt-off", "ht-2.5/smt-off", "smt-off", "eevdf/smt-off", "pinned/smt-off"] {
        let (outcome, intervals) = run(policy, &load, &settings("1x4x2", "2/1.25"));
        assert_eq!(outcome.makespan, 20 * SECOND, "{policy}");
        assert_eq!(outcome.cpus.len(), 4, "{policy}");
        assert!(intervals.iter().all(|it| it.cpu < 4), "{policy}");
    }
}

/// Two jobs and a third on one core of two siblings: 30 s of work at yield 1.25 take 24 s when all three
/// share, and the last bit of one cannot be shared.
#[test]
fn three_jobs_on_one_core_take_turns_on_its_siblings() {
    let (outcome, _) = run("ht-2.5", &load("batch:jobs=3,work=10s"), &settings("1x1x2", "2/1.25"));
    // In slices of 100 ms: 240 rounds of two at 62.5 ms each would do all; the third's last slice is
    // alone on the core for what is left of it.
    assert!(outcome.makespan >= 24 * SECOND, "{}", outcome.makespan);
    assert!(outcome.makespan < 24 * SECOND + 100_000_000, "{}", outcome.makespan);
}

/// A pair of unlike kinds: the first slows the second down more than the other way round.
#[test]
fn unlike_siblings_have_speeds_of_their_own() {
    let mut load = Load::default();
    let ten = Step::Run(Amount::Fixed(10 * SECOND));
    let one = load.program("one", "one", vec![ten, Step::Done]);
    let other = load.program("other", "other", vec![ten, Step::Done]);
    load.tasks(one, 1);
    load.tasks(other, 1);
    let mut settings = settings("1x1x2", "1");
    let pairs = r#"{"format":"corun-pairs","version":1,"kinds":["one","other"],"slowdowns":[[1,1.25],[2,1]]}"#;
    let pairs = Pairs::from_json(pairs).unwrap();
    settings.slowdowns = Slowdowns::of_pairs([pairs], "1".parse().unwrap()).unwrap();
    // One is done after 12.5 s; the other has then done 6.25 s, and does 3.75 s alone.
    assert_eq!(run("ht-2.5", &load, &settings).0.makespan, 16_250_000_000);
}

#[test]
fn costs_are_paid_where_they_arise() {
    let mut settings = settings("1x2x1", "1");
    settings.costs = Costs { switch: 1_000, refill: 10_000, ..Costs::default() };
    // One switch onto each CPU.
    let (outcome, _) = run("cfs", &load("batch:jobs=2,work=1ms"), &settings);
    assert_eq!((outcome.makespan, outcome.switches), (1_001_000, 2));
    assert_eq!(outcome.cpus[0].kernel, 1_000);
    // Asking and answering alternately on two CPUs: each pays for a wake-up, and the other's CPU needs its
    // time to begin.
    settings.costs = Costs { wake_up: 500, interrupt: 2_000, ..Costs::default() };
    let (outcome, _) =
        run("pinned", &load("tbench:clients=1,requests=10,client=10us,server=20us"), &settings);
    // 30 us of work, two wake-ups of 500 ns and two interrupts of 2 us; nothing follows the last.
    let round = 10_000 + 20_000 + 2 * 2_000;
    assert!(
        (round * 10..(round + 1_000) * 10 + 2_000).contains(&outcome.makespan),
        "{}",
        outcome.makespan
    );
}

#[test]
fn a_lock_lets_one_through_at_a_time() {
    let mut load = Load { locks: 1, ..Load::default() };
    let steps = vec![Step::Lock(0), Step::Run(Amount::Fixed(SECOND)), Step::Unlock(0)];
    let program = load.program("it", "it", steps);
    load.tasks(program, 4);
    for policy in corun_sched::policy::ALL {
        let (outcome, _) = run(policy.name, &load, &settings("1x4x2", "1.5"));
        assert_eq!(outcome.makespan, 4 * SECOND, "{}", policy.name);
    }
}

#[test]
fn disks_serve_one_after_another() {
    let mut load = Load { disks: 1, ..Load::default() };
    let program = load.program("it", "it", vec![Step::Disk(0, Amount::Fixed(SECOND))]);
    load.tasks(program, 3);
    assert_eq!(run("cfs", &load, &settings("1x4x2", "1.5")).0.makespan, 3 * SECOND);
}

/// A request's latency counts from its begin, whatever the client receives before it is done.
#[test]
fn a_request_takes_as_long_as_the_server() {
    let load = load("tbench:clients=1,requests=10,client=20us,server=30us");
    let (outcome, _) = run("cfs", &load, &settings("1x1x1", "1"));
    // Times are kept to three digits.
    let latency = outcome.latency.unwrap();
    assert_eq!((latency.count, latency.p50 / 100), (10, 300));
}

/// Who has no work to do is neither fast nor slow.
#[test]
fn tasks_without_work_do_not_count_as_unfair() {
    let mut load = Load::default();
    let job = load.program("job", "it", vec![Step::Run(Amount::Fixed(SECOND))]);
    let idle = load.program("idle", "it", vec![Step::Sleep(Amount::Fixed(10 * SECOND))]);
    load.tasks(job, 1);
    load.tasks(idle, 3);
    let (outcome, _) = run("cfs", &load, &settings("1x1x1", "1"));
    assert_eq!((outcome.fairness, outcome.cpu_share), (1.0, 1.0));
    // One that would work and never could is as unfair as can be.
    load.tasks[1] = TaskSpec { nice: 19, ..TaskSpec::of(job) };
    let settings = Settings { until: Some(1_000), ..settings("1x1x1", "1") };
    let (outcome, _) = run("flat", &load, &settings);
    assert!(outcome.fairness < 0.6, "{}", outcome.fairness);
}

#[test]
fn a_deadlock_is_distinguished_from_the_end_of_the_time() {
    let mut load = Load::default();
    let queue = load.queue(QueueSpec::default());
    let program = load.program("it", "it", vec![Step::Receive(queue)]);
    load.tasks(program, 2);
    let settings = settings("1x1x1", "1");
    let (outcome, _) = run("cfs", &load, &settings);
    assert!(outcome.is_stuck && !outcome.is_finished);
    load.programs[program].steps = vec![Step::Run(Amount::Fixed(SECOND))];
    let (outcome, _) = run("cfs", &load, &settings);
    assert!(outcome.is_finished && !outcome.is_stuck);
    let settings = Settings { until: Some(1), ..settings };
    let (outcome, _) = run("cfs", &load, &settings);
    assert!(!outcome.is_finished && !outcome.is_stuck);
}

/// Who is late does not sleep, and the next period begins at once (rt-app's relative timers).
#[test]
fn a_period_that_has_passed_is_not_slept() {
    for (work, expected) in [(9, 50), (10, 50), (12, 60)] {
        let mut load = Load::default();
        let work = Step::Run(Amount::Fixed(work * 1_000_000));
        let steps = vec![Step::Repeat(Some(5)), work, Step::Period(10_000_000), Step::End];
        let program = load.program("it", "it", steps);
        load.tasks(program, 1);
        let (outcome, _) = run("cfs", &load, &settings("1x1x1", "1"));
        assert_eq!(outcome.makespan, expected * 1_000_000, "{work:?}");
    }
}

/// A signal wakes all that wait, and is lost on who comes later.
#[test]
fn a_signal_is_a_broadcast_and_is_not_kept() {
    let mut load = Load { signals: 1, ..Load::default() };
    let sleep = |ms: u64| Step::Sleep(Amount::Fixed(ms * 1_000_000));
    let waits = load.program("waits", "it", vec![Step::Suspend(0), sleep(10)]);
    let gives = load.program("gives", "it", vec![sleep(100), Step::Resume(0)]);
    let late = load.program("late", "it", vec![sleep(200), Step::Suspend(0)]);
    load.tasks(waits, 3);
    load.tasks(gives, 1);
    let (outcome, _) = run("cfs", &load, &settings("1x1x1", "1"));
    assert_eq!((outcome.is_finished, outcome.makespan), (true, 110_000_000));
    load.tasks(late, 1);
    let (outcome, _) = run("cfs", &load, &settings("1x1x1", "1"));
    assert_eq!((outcome.is_stuck, outcome.left), (true, 1));
}

/// Three tasks with a barrier after each of two parts; without the third the others wait forever.
#[test]
fn the_last_task_at_a_barrier_wakes_the_others() {
    let mut load = Load { signals: 1, ..Load::default() };
    let run = |ms: u64| Step::Run(Amount::Fixed(ms * 1_000_000));
    let meet = Step::Meet(0, 3);
    for (one, other) in [(1, 5), (4, 1), (2, 3)] {
        let program = load.program("it", "it", vec![run(one), meet, run(other), meet, run(1)]);
        load.tasks(program, 1);
    }
    let (outcome, _) = run_of("pinned", &load, &settings("1x3x1", "1")).unwrap();
    // The slowest of each part: 4, 5 and 1 ms.
    assert_eq!((outcome.is_finished, outcome.makespan), (true, 10_000_000));
    load.tasks.pop();
    let (outcome, _) = run_of("pinned", &load, &settings("1x3x1", "1")).unwrap();
    assert_eq!((outcome.is_stuck, outcome.left), (true, 2));
}

/// A lock that another gives back, though it holds it not, stays with its holder.
#[test]
fn only_the_holder_gives_a_lock_back() {
    let mut load = Load { locks: 1, ..Load::default() };
    let (lock, unlock) = (Step::Lock(0), Step::Unlock(0));
    let work = Step::Run(Amount::Fixed(SECOND));
    let holder = load.program("holder", "it", vec![lock, work, unlock]);
    let twice = [Step::Repeat(Some(2)), unlock, Step::Run(Amount::Fixed(1_000)), Step::End];
    let thief = load.program("thief", "it", [vec![lock], twice.to_vec()].concat());
    load.tasks(thief, 1);
    load.tasks(holder, 3);
    // The thief gives back its own lock, the first holder takes it, and the second time nothing happens.
    let (outcome, _) = run("cfs", &load, &settings("1x4x1", "1"));
    assert_eq!(outcome.makespan, 3 * SECOND);
}

/// Three jobs without end have a core of two siblings; a fourth begins after 20 s, and has a half of a CPU.
#[test]
fn who_comes_late_to_a_core_shares_it_equally() {
    let mut load = Load::default();
    let endless = vec![Step::Repeat(None), Step::Run(Amount::Fixed(SECOND)), Step::End];
    let hog = load.daemon("hog", "it", endless);
    let late = load.program("late", "it", vec![Step::Run(Amount::Fixed(10 * SECOND))]);
    load.tasks(hog, 3);
    load.tasks.push(TaskSpec { start: 20 * SECOND, ..TaskSpec::of(late) });
    let (outcome, _) = run("core", &load, &settings("1x1x2", "1"));
    let expected = 40 * SECOND;
    assert!(outcome.makespan.abs_diff(expected) < SECOND / 10, "{}", outcome.makespan);
}

/// Of two cookies on a core each has half of the time, though the one may run on the second sibling only.
#[test]
fn a_cookie_on_one_sibling_has_its_turn() {
    let mut load = Load::default();
    let long = load.program("long", "it", vec![Step::Run(Amount::Fixed(10 * SECOND))]);
    let short = load.program("short", "it", vec![Step::Run(Amount::Fixed(SECOND))]);
    for cpu in [0, 1] {
        let affinity = Some(Arc::new([cpu].into_iter().collect::<CpuSet>()));
        load.tasks = vec![
            TaskSpec { cookie: 1, ..TaskSpec::of(long) },
            TaskSpec { cookie: 2, affinity, ..TaskSpec::of(short) },
        ];
        let (outcome, intervals) = run("core", &load, &settings("1x1x2", "1.6"));
        assert_eq!(outcome.makespan, 11 * SECOND, "{cpu}");
        let end = intervals.iter().filter(|it| it.cookie == 2).map(|it| it.end).max().unwrap();
        assert!(end.abs_diff(2 * SECOND) < SECOND / 100, "{cpu}: {end}");
    }
}

/// Two short jobs and four long ones: when the short ones are done, two long ones have a core each way.
#[test]
fn no_sibling_stays_idle_beside_a_full_core() {
    let mut load = Load::default();
    let [short, long] = [1, 10]
        .map(|seconds| load.program("it", "it", vec![Step::Run(Amount::Fixed(seconds * SECOND))]));
    load.tasks = [short, long, short, long, long, long].map(TaskSpec::of).to_vec();
    let [cfs, core] =
        ["cfs", "core"].map(|name| run(name, &load, &settings("1x2x2", "2/1.9")).0.makespan);
    // 42 s of work at 1.9 a core.
    assert!(core < 12 * SECOND, "{core}");
    assert!(core.abs_diff(cfs) < SECOND, "{core}, {cfs}");
}

/// A job beside shells that start one program after another has its share.
#[test]
fn a_job_beside_shells_has_its_share() {
    let mut load = Load::default();
    let hog = load.program("hog", "it", vec![Step::Run(Amount::Fixed(SECOND))]);
    let child = load.daemon("child", "it", vec![Step::Run(Amount::Fixed(50_000_000))]);
    let again = vec![Step::Repeat(None), Step::Fork(child), Step::Join, Step::End];
    let shell = load.daemon("shell", "it", again);
    load.tasks(hog, 1);
    load.tasks(shell, 2);
    for policy in corun_sched::policy::ALL {
        let settings = Settings { until: Some(60 * SECOND), ..settings("1x1x1", "1") };
        let (outcome, _) = run(policy.name, &load, &settings);
        // A third of the CPU would be 3 s.
        assert!(outcome.is_finished, "{}", policy.name);
        assert!(outcome.makespan < 8 * SECOND, "{}: {}", policy.name, outcome.makespan);
    }
}

/// Two packages with tasks that wait on both, but more of them on one: busy CPUs balance them.
#[test]
fn tasks_are_balanced_between_caches_that_are_both_busy() {
    let mut load = Load::default();
    let [short, long] = [SECOND / 2, 10 * SECOND]
        .map(|time| load.program("it", "it", vec![Step::Run(Amount::Fixed(time))]));
    // Twelve short and four long ones must stay on the second package; ten may run anywhere.
    let second: Arc<CpuSet> = Arc::new([2, 3].into_iter().collect());
    let bound = |program| TaskSpec { affinity: Some(second.clone()), ..TaskSpec::of(program) };
    load.tasks = vec![bound(short); 12];
    load.tasks.extend(vec![bound(long); 4]);
    load.tasks.extend(vec![TaskSpec { start: SECOND / 100, ..TaskSpec::of(long) }; 10]);
    for policy in ["cfs", "eevdf", "core"] {
        let (_, intervals) = run(policy, &load, &settings("2x2x1", "1"));
        let of_bound = |it: &&corun_sched::RunInterval| it.program == 1 && it.task < 16;
        let end = intervals.iter().filter(of_bound).map(|it| it.end).max().expect("they ran");
        // 6 s of short ones on two CPUs, then 14 long ones share four.
        assert!(end > 25 * SECOND, "{policy}: {end}");
    }
}

/// Daemons alone are waited for as long as the time limit says, and without one refused.
#[test]
fn daemons_alone_run_until_the_time_is_over() {
    let mut load = Load::default();
    let run = Step::Run(Amount::Fixed(SECOND / 100));
    let daemon = load.daemon("daemon", "it", vec![Step::Repeat(None), run, Step::End]);
    load.tasks(daemon, 3);
    let limited = Settings { until: Some(SECOND), ..settings("1x2x1", "1") };
    let (outcome, _) = run_of("cfs", &load, &limited).unwrap();
    assert_eq!((outcome.makespan, outcome.is_finished), (SECOND, false));
    assert!((outcome.utilization() - 1.0).abs() < 1e-9, "{}", outcome.utilization());
    let refused = run_of("cfs", &load, &settings("1x2x1", "1")).unwrap_err();
    assert!(refused.to_string().contains("only daemons are left"), "{refused}");
    load.programs[daemon].steps = vec![run];
    let (outcome, _) = run_of("cfs", &load, &settings("1x2x1", "1")).unwrap();
    assert_eq!((outcome.left, outcome.is_finished), (0, true));
    assert!((15..=20).contains(&(outcome.makespan / 1_000_000)), "{}", outcome.makespan);
}

/// Nothing has a rate over no time.
#[test]
fn a_load_that_takes_no_time_is_refused() {
    let mut load = Load::default();
    let program = load.program("it", "it", vec![Step::Run(Amount::Fixed(0))]);
    load.tasks(program, 3);
    let refused = run_of("cfs", &load, &settings("1x2x1", "1")).unwrap_err();
    assert!(refused.to_string().contains("found that all end at once"), "{refused}");
}

#[test]
fn what_would_last_forever_ends() {
    // Longer than 64 bits of nanoseconds.
    for step in [Step::Run(Amount::Fixed(1 << 61)), Step::Sleep(Amount::Fixed(1 << 61))] {
        let mut load = Load::default();
        let program = load.program("it", "it", vec![Step::Repeat(Some(100)), step, Step::End]);
        load.tasks(program, 1);
        let (outcome, _) = run("cfs", &load, &settings("1x1x1", "1"));
        assert!(!outcome.is_finished && outcome.makespan < 1 << 63, "{}", outcome.makespan);
    }
}
