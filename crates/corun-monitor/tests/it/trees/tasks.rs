//! Processes and threads.

use corun_monitor::{Options, System, Tasks};
use corun_record::{Activity, TaskActivity};

use crate::trees::builder::{Shown, Tree, second};

const CORE: [&[u32]; 1] = [&[0, 1]];

fn task(activity: &Activity, thread: u32) -> &TaskActivity {
    let mut tasks = activity.tasks.iter();
    tasks.find(|it| it.thread == thread).unwrap_or_else(|| panic!("no {thread}: {activity:?}"))
}

fn threads(activity: &Activity) -> Vec<u32> {
    activity.tasks.iter().map(|it| it.thread).collect()
}

#[test]
fn tasks_that_used_a_cpu_are_shown_the_busiest_first() {
    let tree = Tree::of_cores(&CORE);
    tree.process(10, Shown::new("a) R 1 (b", 500, 50, 0));
    tree.process(11, Shown::new("sleeper", 9, 9, 0));
    tree.threads(20, &[(20, Shown::new("main", 5, 0, 0)), (21, Shown::new("worker", 70, 0, 1))]);
    let mut system = tree.open();
    tree.process(10, Shown::new("a) R 1 (b", 520, 60, 1));
    tree.threads(20, &[(20, Shown::new("main", 5, 0, 0)), (21, Shown::new("worker", 150, 10, 1))]);
    let activity = second(&mut system);
    assert_eq!(threads(&activity), [21, 10]);
    let worker = task(&activity, 21);
    assert_eq!((worker.process, worker.name.as_str()), (20, "worker"));
    assert_eq!((worker.user, worker.system), (0.8, 0.1));
    let moved = task(&activity, 10);
    assert_eq!((moved.name.as_str(), moved.parent), ("a) R 1 (b", 1));
    assert_eq!((moved.cpu, moved.cpus.as_slice()), (1, &[0, 1][..]));
    assert_eq!(moved.cgroup.as_deref(), Some("/user.slice"));
    assert_eq!((moved.beside_busy, moved.migrations, activity.tasks_not_seen), (None, None, 0));
}

#[test]
fn threads_of_quiet_processes_are_not_read() {
    let tree = Tree::of_cores(&CORE);
    let quiet = |user| [(20, Shown::new("main", 5, 0, 0)), (21, Shown::new("worker", user, 0, 1))];
    tree.threads(20, &quiet(7));
    let mut system = tree.open();
    // The thread has used some, by its own file alone.
    tree.file("proc/20/task/21/stat", "nothing that can be read");
    tree.idle();
    let activity = second(&mut system);
    assert_eq!((threads(&activity), activity.tasks_not_seen), (vec![], 0));
    // What it uses later is not spread over the time in which it used nothing.
    tree.threads(20, &quiet(57));
    assert_eq!(task(&second(&mut system), 21).user, 0.5);
}

#[test]
fn new_threads_and_processes_have_used_what_they_have() {
    let tree = Tree::of_cores(&CORE);
    tree.process(20, Shown::new("main", 5, 0, 0));
    let mut system = tree.open();
    tree.process(30, Shown::new("new", 40, 0, 0));
    tree.threads(20, &[(20, Shown::new("main", 5, 0, 0)), (21, Shown::new("worker", 30, 0, 1))]);
    let activity = second(&mut system);
    assert_eq!(threads(&activity), [30, 21]);
    assert_eq!((task(&activity, 30).user, task(&activity, 21).user), (0.4, 0.3));
}

#[test]
fn a_number_that_was_given_anew_is_another_task() {
    let tree = Tree::of_cores(&CORE);
    tree.process(10, Shown::new("old", 1000, 0, 0));
    let mut system = tree.open();
    tree.process(10, Shown { started: 9000, ..Shown::new("new", 1010, 0, 0) });
    let activity = second(&mut system);
    assert_eq!(task(&activity, 10).name, "new");
    assert!(task(&activity, 10).user > 1.0, "it used all that it has, however long it took");
    tree.process(10, Shown { started: 9000, ..Shown::new("new", 1020, 0, 0) });
    assert_eq!(task(&second(&mut system), 10).user, 0.1);
}

#[test]
fn tasks_that_end_or_may_not_be_read_are_counted() {
    let tree = Tree::of_cores(&CORE);
    tree.process(10, Shown::new("ends", 10, 0, 0));
    tree.process(11, Shown::new("hidden", 10, 0, 0));
    tree.process(12, Shown::new("seen", 10, 0, 0));
    let mut system = tree.open();
    // With hidepid=1 the numbers of others' processes are listed, and nothing of them can be read.
    tree.gone("proc/10");
    std::fs::remove_file(tree.root().join("proc/11/stat")).unwrap();
    std::fs::create_dir(tree.root().join("proc/11/stat")).unwrap();
    tree.process(12, Shown::new("seen", 20, 0, 0));
    let activity = second(&mut system);
    assert_eq!((threads(&activity), activity.tasks_not_seen), (vec![12], 1));
    // A thread that has ended meanwhile takes its time with it.
    tree.threads(12, &[(12, Shown::new("seen", 40, 0, 0)), (13, Shown::new("brief", 10, 0, 0))]);
    assert_eq!(threads(&second(&mut system)), [13]);
    tree.gone("proc/12/task/13");
    tree.file("proc/12/task/13/comm", "nothing else is left");
    tree.process(12, Shown { count: 2, ..Shown::new("seen", 90, 0, 0) });
    let activity = second(&mut system);
    assert_eq!(activity.tasks_not_seen, 2, "{activity:?}");
}

/// A system whose accounts have gone on since it was opened.
fn going_on(tree: &Tree) -> System {
    tree.cpus(&[(0, "0 0 0 1000 0 0 0 0 0 0"), (1, "0 0 0 1000 0 0 0 0 0 0")]);
    let system = tree.open();
    tree.cpus(&[(0, "0 0 0 1100 0 0 0 0 0 0"), (1, "0 0 0 1100 0 0 0 0 0 0")]);
    system
}

#[test]
fn hidden_tasks_of_other_users_are_said() {
    let tree = Tree::of_cores(&CORE);
    assert!(!second(&mut going_on(&tree)).tasks_hidden);
    tree.file("proc/self/mountinfo", "22 20 0:22 / /proc rw - proc proc rw,hidepid=invisible");
    tree.file("proc/self/status", "Gid:\t7\t7\t7\t7\nGroups:\t7\nCapEff:\t0");
    assert!(second(&mut going_on(&tree)).tasks_hidden);
}

#[test]
fn control_groups_are_those_of_the_cpu_controller() {
    let tree = Tree::of_cores(&CORE);
    let groups = ["4:memory:/m\n3:cpu,cpuacct:/jobs:7\n0::/x", "1:name=systemd:/\n0::/../..", "x"];
    for process in 10..13 {
        tree.process(process, Shown::new("a", 0, 0, 0));
    }
    let mut system = tree.open();
    for (process, group) in (10..).zip(groups) {
        tree.process(process, Shown::new("a", 10, 0, 0));
        tree.file(&format!("proc/{process}/cgroup"), group);
    }
    let activity = second(&mut system);
    let group = |process| task(&activity, process).cgroup.as_deref();
    assert_eq!([group(10), group(11), group(12)], [Some("/jobs:7"), Some("/../.."), None]);
}

#[test]
fn processes_can_be_one_task_each_or_left_out() {
    let tree = Tree::of_cores(&CORE);
    let open = |tasks| {
        System::open(Options { root: tree.root().to_owned(), tasks, ..Options::default() }).unwrap()
    };
    let shown =
        |user| [(20, Shown::new("main", user, 0, 0)), (21, Shown::new("worker", user, 0, 1))];
    tree.threads(20, &shown(0));
    let (mut processes, mut none) = (open(Tasks::Processes), open(Tasks::None));
    tree.threads(20, &shown(30));
    let activity = second(&mut processes);
    assert_eq!(threads(&activity), [20]);
    assert_eq!((task(&activity, 20).user, task(&activity, 20).cpus.as_slice()), (0.6, &[0, 1][..]));
    assert_eq!(task(&activity, 20).name, "main");
    assert_eq!(second(&mut none).tasks, []);
}
