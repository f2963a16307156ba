//! `corun topo`: a drawing for people, JSON for programs.

use std::path::Path;

use corun_machine::probe::Topology;
use corun_machine::sharing::{CpuSharing, Pinning};
use corun_machine::{Affinity, CpuSet, Machine};
use corun_record::Record;
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun};
use crate::one_cpu::on_one_cpu;
use crate::schema::fitting;

#[test]
fn the_drawing_counts_the_cpus_of_this_machine() {
    let outcome = Outcome::of(&mut corun(["topo"]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let cpus = json(&["topo", "--json=-"])["logical_cpus"].as_array().map_or(0, Vec::len);
    let count =
        if cpus == 1 { "1 logical CPU, ".to_owned() } else { format!("{cpus} logical CPUs") };
    assert!(outcome.output.contains(&count), "{count}\n{}", outcome.output);
    assert!(!outcome.output.contains('\u{1b}'), "colour without a terminal");
}

#[test]
fn the_json_has_what_programs_ask_for() {
    let machine = json(&["topo", "--json=-"]);
    let cpus = machine["logical_cpus"].as_array().expect("a list");
    assert!(!cpus.is_empty());
    for cpu in cpus {
        for field in ["core", "package", "numa_node", "core_type"] {
            assert!(cpu.get(field).is_some(), "{field}: {cpu}");
        }
        assert!(cpu["online"].is_boolean() && cpu["allowed"].is_boolean(), "{cpu}");
        let siblings: Vec<u64> =
            cpu["siblings"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
        assert!(siblings.contains(&cpu["id"].as_u64().expect("a number")), "{cpu}");
        assert!(siblings.is_sorted(), "{cpu}");
    }
    for cache in machine["caches"].as_array().expect("a list") {
        for field in ["level", "type", "size_bytes", "line_bytes", "ways", "cpus"] {
            assert!(cache.get(field).is_some(), "{field}: {cache}");
        }
        let kind = cache["type"].as_str().expect("a text");
        assert!(["data", "instruction", "unified"].contains(&kind), "{kind}");
    }
    for field in ["control", "active", "width"] {
        assert!(machine["smt"].get(field).is_some(), "{field}: {}", machine["smt"]);
    }
    assert!(machine["findings"].is_array());
}

#[test]
fn another_machine_is_read_below_its_root() {
    let scratch = Scratch::new();
    let write = |path: &str, text: &str| {
        let path = scratch.file("sys/devices/system/cpu").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("present", "0-3\n");
    write("online", "0-3\n");
    for cpu in 0..4 {
        write(&format!("cpu{cpu}/topology/core_id"), &format!("{}\n", cpu / 2));
        write(&format!("cpu{cpu}/topology/physical_package_id"), "0\n");
        let siblings = if cpu < 2 { "0-1\n" } else { "2-3\n" };
        write(&format!("cpu{cpu}/topology/thread_siblings_list"), siblings);
        write(&format!("cpu{cpu}/topology/core_cpus_list"), siblings);
    }
    let root = scratch.path().display().to_string();
    let machine = json(&["topo", "--json=-", "--root", &root]);
    let siblings: Vec<Value> = machine["logical_cpus"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|cpu| cpu["siblings"].clone())
        .collect();
    assert_eq!(Value::from(siblings).to_string(), "[[0,1],[0,1],[2,3],[2,3]]");
    let drawing = Outcome::of(&mut corun(["topo", "--root", &root])).output;
    assert!(drawing.contains("4 logical CPUs, 2 cores"), "{drawing}");
}

#[test]
fn a_root_without_a_machine_is_refused() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.file("empty")).unwrap();
    let reported = |root: &str| {
        Outcome::of(corun(["topo", "--root", root]).current_dir(scratch.path()))
            .reported(scratch.path())
    };
    insta::assert_snapshot!(reported("empty"), @r"
    exit 3
    corun: no CPUs found below empty/sys/devices/system/cpu: expected folders cpu0, cpu1, ... or a list in `present`
      Mount sysfs at /sys below that root, or name the directory that holds the captured /sys.
    ");
    insta::assert_snapshot!(reported("missing"), @r"
    exit 1
    corun: expected a directory that can be read at missing, found: No such file or directory (os error 2)
      Name a directory that holds a captured /sys and /proc, or leave the root out to read this machine.
    ");
}

#[test]
fn the_json_goes_to_a_file_whole_or_not_at_all() {
    let scratch = Scratch::new();
    let path = scratch.file("machine.json");
    let outcome = Outcome::of(corun(["topo", "--json"]).arg(&path));
    assert_eq!((outcome.exit, outcome.output.as_str()), (Some(0), ""));
    assert!(serde_json::from_str::<Value>(&scratch.read("machine.json")).is_ok());
    let outcome = Outcome::of(corun(["topo", "--json"]).arg(scratch.file("missing/machine.json")));
    assert_eq!(outcome.exit, Some(1), "{}", outcome.errors);
}

#[test]
fn the_picture_goes_to_a_file_beside_the_json() {
    let scratch = Scratch::new();
    let (json, picture) = (scratch.file("machine.json"), scratch.file("machine.svg"));
    let outcome = Outcome::of(corun(["topo", "--json"]).arg(json).arg("--svg").arg(picture));
    assert_eq!((outcome.exit, outcome.output.as_str()), (Some(0), ""));
    let picture = scratch.read("machine.svg");
    assert!(picture.contains("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    let outcome = Outcome::of(&mut corun(["topo", "--json=-", "--svg=-"]));
    insta::assert_snapshot!(outcome.reported(scratch.path()), @r#"
    exit 2
    corun: expected a place of its own for each export, found "-" twice
      Name another file for one of them.
    "#);
}

#[test]
fn a_probe_reports_every_pair_beside_the_machine() {
    if several_cpus().is_none() {
        return;
    }
    let probed = json(&["topo", "--probe", "--max-time=1ms", "--seed=7", "--json=-"]);
    let machine = json(&["topo", "--json=-"]);
    for (field, value) in machine.as_object().expect("an object") {
        let is_of_the_command = ["started", "elapsed_s"].contains(&field.as_str());
        assert!(is_of_the_command || probed[field] == *value, "{field}");
    }
    let probe = &probed["probe"];
    assert_eq!((&probe["seed"], &probe["interrupted"]), (&Value::from(7), &Value::from(false)));
    let pairs = probe["pairs"].as_array().expect("a list");
    assert!(!pairs.is_empty());
    for pair in pairs {
        for field in ["conclusion", "sureness", "because", "sysfs", "ports", "round_trip_ns"] {
            assert!(pair.get(field).is_some(), "{field}: {pair}");
        }
        let known = ["shares_a_core", "shares_an_l3", "farther", "undecided"];
        assert!(known.iter().any(|known| pair["conclusion"] == *known), "{pair}");
    }
    assert!(probe["contradictions"].is_array());
}

#[test]
fn a_probe_is_shown_below_the_drawing() {
    if several_cpus().is_none() {
        return;
    }
    let outcome = Outcome::of(&mut corun(["topo", "--probe", "--max-time=1ms"]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    assert!(outcome.output.contains("\nProbe: "), "{}", outcome.output);
    assert!(outcome.output.contains("conclusion       pairs"), "{}", outcome.output);
}

#[test]
fn another_machine_cannot_be_probed() {
    let outcome = Outcome::of(&mut corun(["topo", "--probe", "--root=/elsewhere"]));
    assert_eq!(outcome.exit, Some(2));
    assert!(outcome.errors.contains("'--probe' cannot be used with '--root"), "{}", outcome.errors);
}

#[test]
fn one_cpu_has_nothing_to_compare() {
    let outcome = on_one_cpu(&["topo", "--probe"]);
    insta::assert_snapshot!(outcome.reported(Path::new("/nowhere")), @r"
    exit 3
    corun: expected two logical CPUs or more that this process may use, found 1
      Allow this process more CPUs (taskset, cpuset), or leave --probe out.
    ");
}

#[test]
fn a_captured_machine_gives_the_same_json() {
    let scratch = Scratch::new();
    let root = scratch.file("captured").display().to_string();
    let outcome = Outcome::of(&mut corun(["topo", "--capture", &root]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    assert!(outcome.output.contains(&format!("corun topo --root {root}")), "{}", outcome.output);
    let (here, there) = (json(&["topo", "--json=-"]), json(&["topo", "--json=-", "--root", &root]));
    for (field, value) in here.as_object().expect("an object") {
        // The head has what only the running kernel says.
        let is_of_the_head = ["started", "elapsed_s", "machine"].contains(&field.as_str());
        assert!(is_of_the_head || there[field] == *value, "{field}");
    }
    let again = Outcome::of(&mut corun(["topo", "--capture", &root]));
    assert_eq!(again.exit, Some(1), "{}", again.errors);
    let anonymous = scratch.file("anonymous").display().to_string();
    let outcome = Outcome::of(&mut corun(["topo", "--anonymous", "--capture", &anonymous]));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    assert_eq!(json(&["topo", "--json=-", "--root", &anonymous])["cores"], here["cores"]);
}

#[test]
fn whose_cpus_these_are_is_asked_of_a_set_and_of_a_process() {
    let sharing = |arguments: &[&str]| -> Record<CpuSharing> {
        let all = ["topo", "--watch=10ms", "--json=-"];
        let outcome = Outcome::of(corun(all).args(arguments));
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{arguments:?}");
        fitting(&outcome.output)
    };
    let process = sharing(&["--pid", &std::process::id().to_string()]);
    let first = process.body.cpus.first().expect("a CPU").to_string();
    let set = sharing(&["--cpus", &first]);
    assert_eq!(set.body.cpus.to_string(), first);
    assert!(set.body.others.is_some(), "a live machine is watched");
    let text = Outcome::of(&mut corun(["topo", "--watch=10ms", "--cpus", &first])).unwrapped();
    assert!(text.starts_with(&format!("CPU {first} is ")) || text.starts_with("All 1 "), "{text}");
}

#[test]
fn whose_cpus_is_one_question_about_cpus_that_exist() {
    let refused = |arguments: &[&str]| {
        let outcome = Outcome::of(corun(["topo"]).args(arguments));
        (outcome.exit, outcome.errors)
    };
    let (exit, errors) = refused(&["--cpus=65000"]);
    assert_eq!(exit, Some(2), "{errors}");
    assert!(errors.contains("expected CPUs of this machine"), "{errors}");
    let (exit, errors) = refused(&["--cgroup=/no/such/group"]);
    assert_eq!(exit, Some(1), "{errors}");
    for wrong in [
        ["--cpus=0", "--pid=1"].as_slice(),
        &["--cpus=x"],
        &["--cpus=0", "--probe"],
        &["--watch=1s"],
        &["--anonymous"],
        &["--capture=/tmp/x", "--json=-"],
    ] {
        assert_eq!(refused(wrong).0, Some(2), "{wrong:?}");
    }
}

/// A real QEMU whose guest is stopped before its first instruction.
struct StoppedGuest(std::process::Child);

impl StoppedGuest {
    /// Two guest cores of two vCPUs; `None`, after recording the skip, where there is no QEMU.
    fn start() -> Option<Self> {
        let qemu = std::process::Command::new("qemu-system-x86_64")
            .args([
                "-S",
                "-display",
                "none",
                "-nodefaults",
                "-accel",
                "tcg,thread=multi",
                "-m",
                "32",
            ])
            .args(["-smp", "4,sockets=1,cores=2,threads=2", "-name", "guest=a,debug-threads=on"])
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn();
        let Ok(qemu) = qemu else {
            corun_testing::skip("qemu-system", "qemu-system-x86_64 is not installed");
            return None;
        };
        Some(Self(qemu))
    }

    fn sharing(&self) -> Record<CpuSharing> {
        let id = self.0.id().to_string();
        let outcome = Outcome::of(&mut corun(["topo", "--watch=10ms", "--json=-", "--pid", &id]));
        fitting(&outcome.output)
    }
}

impl Drop for StoppedGuest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_vcpus_of_a_real_qemu_are_found_and_judged_by_their_pinning() {
    let Some(guest) = StoppedGuest::start() else { return };
    if several_cpus().is_none() {
        return;
    }
    // Its threads begin one after the other.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let found = loop {
        let found = guest.sharing().body.guest.expect("QEMU is known by its name");
        let vcpus: usize = found.cores.iter().map(|core| core.vcpus.len()).sum();
        if vcpus == 4 {
            break found;
        }
        assert!(std::time::Instant::now() < deadline, "{vcpus} vCPUs have begun: {found:#?}");
    };
    assert_eq!((found.threads_a_core, found.cores.len()), (2, 2));
    assert_eq!(found.pinning, Pinning::NotPinned);
    let places: Vec<u32> = found.cores[0].vcpus[0].cpus.iter().take(2).collect();
    for vcpu in found.cores.iter().flat_map(|core| &core.vcpus) {
        let place = CpuSet::from([places[vcpu.number as usize % 2]]);
        Affinity::new(&place).apply(vcpu.thread.try_into().expect("a thread")).expect("it is ours");
    }
    let machine = Machine::read(Path::new("/")).expect("a machine");
    let [one, other] = [places[0], places[1]].map(|cpu| machine.core_of(cpu).map(|core| core.id));
    let expected = if one == other { Pinning::Crowded } else { Pinning::Split };
    assert_eq!(guest.sharing().body.guest.expect("a guest").pinning, expected);
}

/// `None`, after recording the skip, where there is one CPU only.
fn several_cpus() -> Option<()> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if cpus < 2 {
        corun_testing::skip("probe", "a probe needs two CPUs");
        return None;
    }
    Some(())
}

fn json(arguments: &[&str]) -> Value {
    let output = Outcome::of(&mut corun(arguments)).output;
    fitting::<Topology>(&output);
    serde_json::from_str(&output).expect("nothing but JSON")
}
