//! Cases that are calculated by hand: the simulator must meet them to the nanosecond.

use corun_sim::schedule::program::{Amount, Load, Step, TaskSpec};
use corun_sim::schedule::{Costs, Slowdowns};

use crate::{load, run, settings};

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
    for policy in corun_sim::schedule::policy::ALL {
        let (outcome, _) =
            run(policy.name, &load("batch:jobs=1,work=10s"), &settings("2x4x2", "1.7"));
        assert_eq!(outcome.makespan, 10 * SECOND, "{}", policy.name);
        assert_eq!(outcome.migrations.all(), 0, "{}", policy.name);
    }
}

/// Two tasks on the siblings of one of two cores: 1-1-0-0 is balanced for who does not know siblings,
/// and 2-0 for who does. CPUs 0 and 2 are siblings.
#[test]
fn two_tasks_on_one_of_two_packages() {
    let load = ten_seconds_from(&[0, 2]);
    let settings = settings("2x1x2", "1.8");
    for policy in ["flat", "ht-2.4", "pinned"] {
        let expected = if policy == "pinned" { 10 } else { 18 };
        assert_eq!(run(policy, &load, &settings).0.makespan, expected * SECOND, "{policy}");
    }
    let (outcome, stretches) = run("ht-2.5", &load, &settings);
    // Until one is pushed away both have 5/9 of the speed; whoever stays then needs the rest of its 10 s.
    let pushed = stretches.iter().map(|it| it.end).min().unwrap();
    assert!(pushed <= 1_000_000, "by the first tick of an idle CPU: {pushed} ns");
    assert_eq!(outcome.makespan, pushed + 10 * SECOND - pushed * 5 / 9);
    assert_eq!(outcome.migrations.elsewhere, 1);
    for policy in ["cfs", "eevdf", "core"] {
        assert_eq!(run(policy, &load, &settings).0.makespan, 10 * SECOND, "{policy}: one each");
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
        let (outcome, stretches) = run(policy, &load, &settings("1x4x2", "2/1.25"));
        assert_eq!(outcome.makespan, 20 * SECOND, "{policy}");
        assert_eq!(outcome.cpus.len(), 4, "{policy}");
        assert!(stretches.iter().all(|it| it.cpu < 4), "{policy}");
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
    settings.slowdowns = Slowdowns::from_json(pairs, "1".parse().unwrap()).unwrap();
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
    // Asking and answering by turns on two CPUs: each pays for a wake-up, and the other's CPU needs its
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
    for policy in corun_sim::schedule::policy::ALL {
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
