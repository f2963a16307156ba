//! Properties of every schedule, tried on random loads, machines and policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use corun_machine::CpuSet;
use corun_sched::policy::{ALL, PolicyEntry};
use corun_sched::program::{Amount, Load, QueueSpec, Step, TaskSpec};
use corun_sched::{Costs, Ratio, RunInterval, Settings, Slowdowns, Topology, schedule};
use proptest::prelude::*;

const MILLISECOND: u64 = 1_000_000;

/// A step that every load can do: locks come in pairs, messages to a queue that is never empty.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let time = || (1_u64..20_000_000).prop_map(Amount::Fixed);
    let step = prop_oneof![
        4 => time().prop_map(|time| vec![Step::Run(time)]),
        2 => time().prop_map(|time| vec![Step::Sleep(time)]),
        1 => time().prop_map(|time| vec![Step::Lock(0), Step::Run(time), Step::Unlock(0)]),
        1 => time().prop_map(|time| vec![Step::Receive(0), Step::Run(time), Step::Send(0), Step::Done]),
        1 => time().prop_map(|time| vec![Step::Disk(0, time)]),
        1 => Just(vec![Step::Fork(0), Step::Fork(0), Step::Join]),
        1 => (time(), 0_u64..4).prop_map(|(time, times)| {
            vec![Step::Repeat(Some(times)), Step::Run(time), Step::End]
        }),
    ];
    proptest::collection::vec(step, 1..6).prop_map(|steps| steps.concat())
}

fn loads() -> impl Strategy<Value = Load> {
    let task =
        (0_usize..4, 0_u64..20 * MILLISECOND, proptest::option::of(0_u32..2), 0_u32..3, -5_i8..6);
    let parts = (proptest::collection::vec(steps(), 3), proptest::collection::vec(task, 1..14));
    parts.prop_map(|(programs, tasks)| {
        let mut load = Load { locks: 1, disks: 1, ..Load::default() };
        load.queue(QueueSpec { capacity: Some(3), initial: 2 });
        load.program("leaf", "leaf", vec![Step::Run(Amount::Fixed(3 * MILLISECOND))]);
        for (number, steps) in programs.into_iter().enumerate() {
            load.program(&format!("program {number}"), &format!("kind {number}"), steps);
        }
        load.tasks = tasks
            .into_iter()
            .map(|(program, start, cpus, cookie, nice)| TaskSpec {
                start,
                // Only CPUs that every machine below has with SMT off too.
                affinity: cpus.map(|last| Arc::new((0..=last).collect::<CpuSet>())),
                cookie,
                nice,
                ..TaskSpec::of(program)
            })
            .collect();
        load
    })
}

fn machines() -> impl Strategy<Value = Settings> {
    let topology = prop_oneof![Just("1x2x1"), Just("1x2x2"), Just("2x2x2"), Just("2x1x4")];
    let costs = prop_oneof![
        Just(Costs::default()),
        Just(Costs {
            switch: 1_500,
            refill: 20_000,
            refill_far: 70_000,
            wake_up: 800,
            interrupt: 2_500,
            search: 50,
        }),
    ];
    (topology, 10_u32..25, costs, any::<u64>()).prop_map(|(topology, slowdown, costs, seed)| {
        let slowdown: Ratio = format!("{}.{}", slowdown / 10, slowdown % 10).parse().unwrap();
        Settings {
            topology: Topology::parse(topology).unwrap(),
            slowdowns: Slowdowns::uniform(slowdown),
            costs,
            seed,
            until: Some(60_000 * MILLISECOND),
        }
    })
}

fn policies() -> impl Strategy<Value = PolicyEntry> {
    (0..ALL.len(), any::<bool>()).prop_map(|(place, is_off)| {
        let name = ALL[place].name;
        let suffix = if is_off { "/smt-off" } else { "" };
        PolicyEntry::find(&format!("{name}{suffix}")).unwrap()
    })
}

/// The work of all tasks of a load, those that they start included.
fn all_work(load: &Load) -> u64 {
    fn of(load: &Load, program: usize) -> u64 {
        let mut times = vec![1];
        let mut work = 0;
        for step in &load.programs[program].steps {
            let now: u64 = times.iter().product();
            match *step {
                Step::Run(Amount::Fixed(time)) => work += now * time,
                Step::Fork(child) => work += now * of(load, child),
                Step::Repeat(count) => times.push(count.unwrap()),
                Step::End => drop(times.pop()),
                _ => {}
            }
        }
        work
    }
    load.tasks.iter().map(|task| of(load, task.program)).sum()
}

/// The intervals of each of some things, one after another in time.
fn by<K: Ord>(
    intervals: &[RunInterval],
    key: impl Fn(&RunInterval) -> K,
) -> BTreeMap<K, Vec<RunInterval>> {
    let mut map: BTreeMap<K, Vec<RunInterval>> = BTreeMap::new();
    for interval in intervals {
        map.entry(key(interval)).or_default().push(*interval);
    }
    map.values_mut().for_each(|it| it.sort_by_key(|it| (it.begin, it.end)));
    map
}

fn overlap(one: &RunInterval, other: &RunInterval) -> bool {
    one.begin < other.end && other.begin < one.end
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_schedule_is_a_schedule(load in loads(), settings in machines(), policy in policies()) {
        let mut intervals = Vec::new();
        let outcome = schedule(&policy, &load, &settings, &mut intervals).unwrap();

        // All work is done, once, and none starves.
        prop_assert!(outcome.is_finished, "{}: {outcome:?}", policy.title());
        prop_assert_eq!(outcome.left, 0);
        prop_assert!((outcome.work - all_work(&load) as f64).abs() < 1.0, "{}", policy.title());

        // A CPU has one task at a time, and a task one CPU.
        for runs in by(&intervals, |it| it.cpu).values().chain(by(&intervals, |it| it.task).values()) {
            prop_assert!(runs.windows(2).all(|two| two[0].end <= two[1].begin), "{}: {runs:?}", policy.title());
        }
        let busy: u64 = outcome.cpus.iter().map(|cpu| cpu.busy).sum();
        prop_assert_eq!(busy, intervals.iter().map(|it| it.end - it.begin).sum::<u64>());

        let topology = policy.topology(&settings.topology);
        // No siblings run tasks of different cookies.
        if policy.name == "core" {
            for runs in by(&intervals, |it| topology.cpus[it.cpu].core).values() {
                for (place, one) in runs.iter().enumerate() {
                    let mixed = runs[place + 1..].iter().find(|other| overlap(one, other) && one.cookie != other.cookie);
                    prop_assert!(mixed.is_none(), "{one:?} beside {mixed:?}");
                }
            }
        }
    }

    /// Tasks that all begin at once are numbered as they stand in the load.
    #[test]
    fn masks_are_kept(
        masks in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 8), 1..14),
        settings in machines(),
        policy in policies(),
    ) {
        let topology = policy.topology(&settings.topology);
        let mut load = Load::default();
        let [run, sleep] = [Step::Run, Step::Sleep].map(|step| step(Amount::Fixed(7 * MILLISECOND)));
        let program = load.program("it", "it", vec![Step::Repeat(Some(5)), run, sleep, Step::End]);
        load.tasks = masks
            .iter()
            .map(|mask| {
                // CPU 0 is there on every machine.
                let cpus = (0..8).filter(|&cpu| cpu == 0 || mask[cpu as usize]).collect::<CpuSet>();
                TaskSpec { affinity: Some(Arc::new(cpus)), ..TaskSpec::of(program) }
            })
            .collect();
        let mut intervals = Vec::new();
        let outcome = schedule(&policy, &load, &settings, &mut intervals).unwrap();
        prop_assert!(outcome.is_finished, "{}", policy.title());
        for interval in intervals {
            let number = topology.cpus[interval.cpu].number;
            let mask = load.tasks[interval.task as usize].affinity.as_ref().unwrap();
            prop_assert!(mask.contains(number), "{}: {interval:?}", policy.title());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule(load in loads(), settings in machines(), policy in policies()) {
        let run = || {
            let mut intervals = Vec::new();
            (schedule(&policy, &load, &settings, &mut intervals).unwrap(), intervals)
        };
        prop_assert!(run() == run());
    }

    /// A runnable task runs within a bounded time, however many others there are.
    #[test]
    fn no_task_starves(
        jobs in 2_usize..20,
        settings in machines(),
        policy in policies(),
        cookies in 1_u32..4,
    ) {
        let mut load = Load::default();
        let program = load.program("it", "it", vec![Step::Repeat(None), Step::Run(Amount::Fixed(MILLISECOND)), Step::Done, Step::End]);
        load.tasks = (0..jobs).map(|job| TaskSpec { cookie: job as u32 % cookies, ..TaskSpec::of(program) }).collect();
        let settings = Settings { until: Some(20_000 * MILLISECOND), ..settings };
        let outcome = schedule(&policy, &load, &settings, &mut ()).unwrap();
        // Of the slowest policy: a slice of 100 ms for each of the others.
        let most = (jobs as u64 + 1) * 110 * MILLISECOND;
        prop_assert!(outcome.longest_wait <= most, "{}: {} ns", policy.title(), outcome.longest_wait);
    }

    /// Nor does a job beside shells that start one program after another, with masks and cookies.
    #[test]
    fn no_task_starves_beside_shells(
        hogs in 1_usize..4,
        shells in proptest::collection::vec((0_u64..60, 0_u64..3, 1_u64..60, 0_u32..2, 0_u32..5), 1..7),
        masks in proptest::collection::vec(0_u32..5, 3),
        settings in machines(),
        policy in policies(),
    ) {
        let time = |milliseconds: u64| Amount::Fixed(milliseconds * MILLISECOND + MILLISECOND / 7);
        // CPUs 0 and 1 are there on every machine with SMT off too.
        let mask = |which: u32| (which < 2).then(|| Arc::new([which].into_iter().collect::<CpuSet>()));
        let mut load = Load::default();
        let hog = load.program("hog", "hog", vec![Step::Repeat(None), Step::Run(time(1)), Step::Done, Step::End]);
        for (cookie, &which) in (0..2).cycle().zip(&masks[..hogs]) {
            let affinity = mask(which);
            load.tasks.push(TaskSpec { cookie, affinity, ..TaskSpec::of(hog) });
        }
        for &(own, sleep, work, cookie, which) in &shells {
            let child = load.program("child", "child", vec![Step::Run(time(work))]);
            let mut steps = vec![Step::Repeat(None), Step::Fork(child), Step::Join];
            if own > 30 {
                steps.push(Step::Run(time(own - 30)));
            }
            if sleep > 0 {
                steps.push(Step::Sleep(time(sleep)));
            }
            steps.push(Step::End);
            let shell = load.program("shell", "shell", steps);
            load.tasks.push(TaskSpec { cookie, affinity: mask(which), ..TaskSpec::of(shell) });
        }
        let settings = Settings { until: Some(20_000 * MILLISECOND), ..settings };
        let outcome = schedule(&policy, &load, &settings, &mut ()).unwrap();
        // A slice of 100 ms for each of the others, and those that they start.
        let most = 2 * (load.tasks.len() as u64 + 1) * 110 * MILLISECOND;
        prop_assert!(outcome.longest_wait <= most, "{}: {} ns", policy.title(), outcome.longest_wait);
    }
}
