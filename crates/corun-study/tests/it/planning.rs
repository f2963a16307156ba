//! Plans of studies on machines made up from this one's description.

use corun_machine::Machine;
use corun_study::{Host, Setting, Study, StudyStep};
use serde_json::json;

/// A machine of so many cores with so many siblings each; sibling k of core c is CPU k * cores + c.
fn machine(cores: u32, width: u32) -> Machine {
    let list = |core: u32| (0..width).map(|k| k * cores + core).collect::<Vec<u32>>();
    let logical_cpus: Vec<_> = (0..cores * width)
        .map(|id| {
            json!({
                "id": id, "present": true, "online": true, "allowed": true, "core": id % cores,
                "siblings": list(id % cores), "package": 0, "numa_node": null, "core_type": null
            })
        })
        .collect();
    let cores: Vec<_> = (0..cores)
        .map(|id| {
            json!({
                "id": id, "core_id": id, "cpus": list(id), "smt_width": width, "package": 0,
                "die": null, "cluster": null, "numa_node": null, "core_type": null
            })
        })
        .collect();
    serde_json::from_value(json!({
        "format": "corun-topology", "version": 1, "cpu_model": null, "hypervisor": null,
        "smt": { "width": width, "active": width > 1, "control": if width > 1 { "on" } else { "notsupported" } },
        "logical_cpus": logical_cpus, "cores": cores, "core_types": [], "packages": [], "dies": [],
        "clusters": [], "numa_nodes": [], "caches": [],
        "allowed_by": { "affinity": null, "cpuset": null }, "findings": []
    }))
    .expect("a machine")
}

/// The plan of an experiment as one line.
fn planned(study: &Study, experiment: &str, host: &Host) -> String {
    let index = study.experiments.iter().position(|it| it.id == experiment).expect("an experiment");
    let step: StudyStep = match study.plans(host).swap_remove(index) {
        Ok(step) => step,
        Err(reason) => return format!("not possible: {reason}"),
    };
    let arm = |planned: &corun_study::PlannedArm| match &planned.id {
        Ok(id) => format!("{} as {id}", planned.arm),
        Err(reason) => format!("{} not: {reason}", planned.arm),
    };
    let arms: Vec<String> = step.arms.iter().map(arm).collect();
    let confine = step.confine.map_or(String::new(), |cpus| format!(" on {cpus}"));
    let setting = match step.setting {
        Setting::AsFound => String::new(),
        other => format!(" {other:?}"),
    };
    format!("{}{confine}{setting}", arms.join("; "))
}

#[test]
fn half_the_cores_come_with_their_siblings() {
    let study = corun_study::find("smt-test-2020").unwrap();
    let six = machine(6, 2);
    let host = Host { machine: &six, with_smt_on: None };
    assert_eq!(planned(&study, "own-lines-half", &host), "free@4C as free@12 on 0-2,6-8");
    assert_eq!(
        planned(&study, "half-the-cores", &host),
        "full as full; stacked as stacked; stacked/smt-off not: SMT is switched only with \
         --smt-switch on 0-2,6-8"
    );
}

#[test]
fn smt_is_switched_only_where_that_is_asked_for() {
    let study = corun_study::find("smt-test-2020").unwrap();
    let six = machine(6, 2);
    let switching = Host { machine: &six, with_smt_on: Some(&six) };
    assert_eq!(
        planned(&study, "shared-lines", &switching),
        "free@2C as free@12; free@2C/smt-off as free@12/smt-off Cycles"
    );
    assert_eq!(
        planned(&study, "fake-and-true", &switching),
        "packed as packed; spread as spread; spread/smt-off as spread/smt-off Cycles"
    );
}

#[test]
fn a_machine_without_siblings_is_one_with_smt_off() {
    let study = corun_study::find("smt-test-2020").unwrap();
    let two = machine(2, 1);
    let host = Host { machine: &two, with_smt_on: None };
    let why = "it needs two logical CPUs of a core, and the kernel sees no siblings \
               (smt/control: notsupported)";
    assert_eq!(
        planned(&study, "shared-lines", &host),
        format!("free@2C not: {why}; free@2C/smt-off as free@4")
    );
    assert_eq!(planned(&study, "own-lines", &host), format!("not possible: {why}"));
    let one = machine(1, 1);
    let host = Host { machine: &one, with_smt_on: None };
    assert_eq!(
        planned(&study, "half-the-cores", &host),
        "not possible: it needs 1/2 of the cores, and 1 can be used"
    );
}

#[test]
fn a_refusal_names_what_was_counted_and_the_field() {
    let study = corun_study::find("os-lecture").unwrap();
    let one = machine(1, 2);
    assert_eq!(
        planned(&study, "two-jobs", &Host { machine: &one, with_smt_on: None }),
        "not possible: the study file's `cores`: expected at most 1 core, of 2 usable logical CPUs \
         each, found 2 asked for"
    );
}

#[test]
fn arms_that_come_to_the_same_here_run_once() {
    let mut study = corun_study::find("os-lecture").unwrap();
    let index = study.experiments.iter().position(|it| it.id == "kvm").expect("an experiment");
    let runs = |arms: &[&str], study: &mut Study| {
        let parsed = arms.iter().map(|arm| arm.parse().expect("an arm"));
        study.experiments[index].rerun.as_mut().expect("one that runs").arms = parsed.collect();
        let two = machine(2, 1);
        let plans = study.plans(&Host { machine: &two, with_smt_on: None });
        plans[index].as_ref().expect("a step").runs_a_block
    };
    let once = runs(&["single", "free@L+1"], &mut study);
    assert_eq!(runs(&["single", "free@L+1", "single", "free@3"], &mut study), once);
}

#[test]
fn two_jobs_go_to_one_core_or_two() {
    let study = corun_study::find("os-lecture").unwrap();
    let four = machine(4, 2);
    let host = Host { machine: &four, with_smt_on: None };
    assert_eq!(
        planned(&study, "two-jobs", &host),
        "single as single; spread as spread; packed as packed; free@2 as free@2"
    );
    assert_eq!(
        planned(&study, "two-jobs-one-core", &host),
        "full as full; stacked as stacked; spread as spread"
    );
    assert_eq!(planned(&study, "kvm", &host), "single as single; free@L+1 as free@9");
}
