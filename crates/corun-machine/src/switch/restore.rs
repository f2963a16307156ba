//! Bringing a snapshot's state back, step by step, and verifying that it is back.
//!
//! Safe to interrupt anywhere and to begin again: every step only writes what differs. What a write
//! returns is not believed; reading back decides.

use super::snapshot::{Difference, Snapshot};
use super::system::System;
use super::{cpus, cpusets, irqs, tasks};

/// Attempts to restore what still differs: hotplug can be busy for a moment.
const ATTEMPTS: usize = 3;

/// Brings everything back that differs from `before`, and returns what could not be.
pub fn restore(system: &mut impl System, before: &Snapshot) -> Vec<Difference> {
    let mut left = before.differences(system);
    for _ in 0..ATTEMPTS {
        if left.is_empty() {
            break;
        }
        bring_up(system, before);
        restore_cpusets(system, before);
        restore_irqs(system, before);
        restore_tasks(system, before);
        take_down(system, before);
        left = before.differences(system);
        if !left.is_empty() {
            system.pause();
        }
    }
    left
}

/// The switch moves all siblings at once. What was offline goes last: the kernel leaves offline CPUs
/// out of a mask that is set, and the last CPU of anything is never asked to go.
fn bring_up(system: &mut impl System, before: &Snapshot) {
    if let Some(control) = &before.control
        && cpus::control(system).as_ref() != Some(control)
    {
        let _ = system.write(cpus::CONTROL, &control.to_string());
    }
    restore_cpus(system, before, true);
}

fn take_down(system: &mut impl System, before: &Snapshot) {
    restore_cpus(system, before, false);
}

fn restore_cpus(system: &mut impl System, before: &Snapshot, wanted: bool) {
    let now = cpus::online(system);
    let differs = |cpu: &u32| now.get(cpu).is_some_and(|&online| online != wanted);
    let text = if wanted { "1" } else { "0" };
    for (&cpu, _) in before.online.iter().filter(|(cpu, was)| **was == wanted && differs(cpu)) {
        let _ = system.write(&cpus::online_file(cpu), text);
    }
}

/// Parents first: a set can only have CPUs of its parent.
fn restore_cpusets(system: &mut impl System, before: &Snapshot) {
    for set in &before.cpusets {
        if cpusets::cpus_of(system, set).is_some_and(|now| now != set.cpus) {
            let _ = system.write(&set.cpus_path(), &set.cpus.to_string());
        }
        for task in cpusets::moved_out(system, set) {
            let _ = system.write(&set.tasks_path(), &task.to_string());
        }
    }
}

fn restore_irqs(system: &mut impl System, before: &Snapshot) {
    for (&irq, cpus) in &before.irqs {
        let file = irqs::file(irq);
        if super::system::text(system, &file).is_some_and(|now| now != *cpus) {
            let _ = system.write(&file, cpus);
        }
    }
}

fn restore_tasks(system: &mut impl System, before: &Snapshot) {
    for task in &before.tasks {
        if tasks::mask_of(system, task).is_some_and(|now| now != task.cpus) {
            let _ = system.set_affinity(task.task, &task.cpus);
        }
    }
}
