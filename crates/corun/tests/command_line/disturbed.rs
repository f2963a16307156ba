//! Runs on a machine that is not theirs alone: with a quota on CPU time, and beside busy loops.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use corun_machine::Affinity;
use corun_record::Run;

use crate::common::{Outcome, corun, measure};

fn kinds(run: &Run) -> Vec<&str> {
    run.caveats.iter().map(|caveat| caveat.kind.as_str()).collect()
}

/// Nested control groups of this test, removed in the end.
struct Groups(Vec<PathBuf>);

impl Groups {
    /// Groups of version 1 or 2 with the CPU controller, where this user may make them.
    fn nested(depth: usize) -> Option<Self> {
        let parents = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"];
        let has_controller = |parent: &&Path| {
            parent.join("cpu.cfs_quota_us").exists()
                || std::fs::read_to_string(parent.join("cgroup.subtree_control"))
                    .is_ok_and(|handed_down| handed_down.split_whitespace().any(|it| it == "cpu"))
        };
        let parent = parents.map(Path::new).into_iter().find(has_controller)?;
        let mut groups = Self(Vec::new());
        let mut folder = parent.join(format!("corun-test-{}", std::process::id()));
        for _ in 0..depth {
            std::fs::create_dir(&folder).ok()?;
            groups.0.push(folder.clone());
            if folder.join("cgroup.subtree_control").exists() && groups.0.len() < depth {
                std::fs::write(folder.join("cgroup.subtree_control"), "+cpu").ok()?;
            }
            folder = folder.join("inner");
        }
        Some(groups)
    }

    /// Limits a group to this share of one CPU, in percent.
    fn limit(&self, group: usize, percent: u32) {
        let (folder, quota) = (&self.0[group], percent * 1000);
        let one = std::fs::write(folder.join("cpu.cfs_quota_us"), quota.to_string());
        let two = || std::fs::write(folder.join("cpu.max"), format!("{quota} 100000"));
        one.or_else(|_| two()).expect("the group takes a quota");
    }

    /// The command in the innermost group.
    fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("sh");
        let procs = self.0.last().expect("a group").join("cgroup.procs");
        inside.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(procs);
        inside.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
        inside
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in self.0.iter().rev() {
            let _ = std::fs::remove_dir(group);
        }
    }
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_quota_is_a_caveat_of_every_run_wherever_it_is_set() {
    let Some(groups) = Groups::nested(2) else {
        eprintln!("not shown: this user may not make control groups with the CPU controller");
        return;
    };
    let mut command = measure("spread", 2);
    command.args(["--json=-", "--", "true"]);
    let said = |groups: &Groups| {
        let run = Outcome::of(&mut groups.inside(&command)).run();
        run.caveats.into_iter().find(|it| it.kind == "doctor-quota").map(|it| it.sentence)
    };
    assert_eq!(said(&groups), None);
    groups.limit(0, 20);
    let outer = said(&groups).unwrap_or_default();
    assert!(outer.contains("the time of 0.20 CPUs"), "{outer}");
    groups.limit(1, 10);
    let inner = said(&groups).unwrap_or_default();
    assert!(inner.contains("the time of 0.10 CPUs"), "{inner}");
    // Every command that measures has the same list.
    for arguments in [
        &["bench", "run", "regn", "--blocks=2", "--sample-time=1ms", "--json=-"][..],
        &["audit", "--only=affinity", "--max-time=1s", "--json=-"],
    ] {
        let outcome = Outcome::of(&mut groups.inside(&corun(arguments)));
        assert!(outcome.output.contains("doctor-quota"), "{arguments:?}: {}", outcome.errors);
    }
}

/// Loops that are pinned to a CPU and end with the test.
struct Loops(Vec<Child>);

impl Loops {
    fn pinned(cpu: u32, number: usize) -> Self {
        let start = |_| {
            let mut shell = Command::new("sh");
            shell.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            let child = shell.spawn().expect("sh starts");
            let id = child.id().cast_signed();
            Affinity::new(&[cpu].into()).apply(id).expect("a child can be pinned");
            child
        };
        Self((0..number).map(start).collect())
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn cores_that_others_use_are_taken_last_and_the_choice_is_said() {
    let cpus = Affinity::of(0).expect("an affinity").cpus();
    let Some(cpu) = cpus.iter().next().filter(|_| cpus.len() > 1) else { return };
    let _loops = Loops::pinned(cpu, 3);
    let outcome = Outcome::of(measure("single", 3).args(["--json=-", "--", "true"]));
    let run = outcome.run();
    let choice = run.caveats.iter().find(|caveat| caveat.kind == "busy-cores");
    let choice = choice.unwrap_or_else(|| panic!("{:?}", run.caveats));
    assert!(choice.sentence.contains("programs are pinned to it"), "{}", choice.sentence);
    assert!(kinds(&run).contains(&"doctor-load"), "{:?}", kinds(&run));
}

#[test]
fn a_worker_that_waits_for_its_cpu_is_said_and_gives_no_verdict() {
    let counts = std::fs::read_to_string("/proc/self/schedstat");
    if counts.is_ok_and(|counts| counts.trim() == "0 0 0") {
        eprintln!("not shown: this kernel does not count how long tasks wait");
        return;
    }
    let cpus = Affinity::of(0).expect("an affinity").cpus();
    let _loops: Vec<Loops> = cpus.iter().map(|cpu| Loops::pinned(cpu, 2)).collect();
    let program = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let run = Outcome::of(measure("single,stacked", 3).args([
        "--cores=1",
        "--json=-",
        "--",
        "sh",
        "-c",
        program,
    ]))
    .run();
    let waited = |sample: &corun_record::Sample| sample.evidence.cpu_wait;
    let single: Vec<f64> =
        run.samples.iter().filter(|it| it.arm == "single").filter_map(waited).collect();
    assert!(single.iter().any(|&share| share > 0.3), "{single:?}");
    assert!(kinds(&run).contains(&"foreign-load"), "{:?}", run.caveats);
}
