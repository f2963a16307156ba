//! Measured yields beside predicted ones, as records for the table of docs/accuracy.md.

use std::path::Path;

use corun_machine::Machine;
use corun_model::{HostCore, host_core};
use corun_record::{
    Document, Metric, Observation, Placement, Prediction, RecordedCore, RecordedProgram, Source,
    YieldRecord,
};

/// A record of each placement that was measured on siblings; `root` is the root of the files of the kernel.
pub fn yield_records(prediction: &Prediction, machine: &Machine, root: &Path) -> Vec<YieldRecord> {
    let Some(siblings) = &prediction.measured_siblings else { return Vec::new() };
    let width = siblings.cpus.len() as u32;
    let Some(core) = recorded_core(machine, width, root) else { return Vec::new() };
    let program = match &prediction.workload {
        Some(workload) => RecordedProgram::of_workload(&workload.name, &workload.parameters),
        None => RecordedProgram::of_command(prediction.command.first().map_or("", String::as_str)),
    };
    let yields = |source| {
        let is_it = move |it: &&Observation| it.metric == Metric::SmtYield && it.source == source;
        prediction.observations.iter().filter(is_it)
    };
    let record = |measured: &Observation| {
        let placement: Placement = measured.arm.parse().ok()?;
        let threads = match placement {
            Placement::Full(Some(threads)) => threads,
            _ => core.smt_width,
        };
        let predicted = yields(Source::Predicted).find(|it| it.arm == measured.arm);
        Some(YieldRecord {
            format: YieldRecord::FORMAT.to_owned(),
            version: YieldRecord::VERSION,
            corun_version: prediction.corun_version.clone(),
            core: core.clone(),
            siblings: siblings.evidence,
            program: program.clone(),
            beside: None,
            placement,
            threads,
            measured: measured.estimate,
            predicted: predicted.map(|it| it.estimate),
            model: Some(prediction.core.model.clone()),
        })
    };
    yields(Source::Measured).filter_map(record).collect()
}

/// The core of this host as records of yields name it, with what the kernel's files below `root` say; none where there is no
/// CPUID.
pub fn recorded_core(machine: &Machine, smt_width: u32, root: &Path) -> Option<RecordedCore> {
    let HostCore { vendor, family, model, stepping } = host_core()?;
    let text = |file| corun_files::kernel_text(root.join(file)).ok();
    Some(RecordedCore {
        vendor,
        family,
        model,
        stepping,
        microcode: text("proc/cpuinfo").as_deref().and_then(microcode),
        kernel: text("proc/sys/kernel/osrelease").as_deref().and_then(RecordedCore::kernel_version),
        smt_width,
        is_virtual: machine.hypervisor.is_some(),
    })
}

/// The revision of the first CPU's microcode.
fn microcode(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("microcode"))?;
    line.split(':').nth(1).map(|value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microcode_is_that_of_the_first_cpu() {
        let text = "processor\t: 0\nmicrocode\t: 0xa20120a\n\nprocessor\t: 1\nmicrocode\t: 0x1\n";
        assert_eq!(microcode(text).as_deref(), Some("0xa20120a"));
        assert_eq!(microcode("processor\t: 0\n"), None);
    }

    #[test]
    fn a_core_is_named_by_the_files_of_another_root() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
        let write = |file: &str, text: &str| std::fs::write(root.path().join(file), text).unwrap();
        write("proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0x77\n");
        write("proc/sys/kernel/osrelease", "9.8.7-made-up\n");
        let machine = Machine::read(Path::new("/")).unwrap();
        let Some(core) = recorded_core(&machine, 2, root.path()) else { return };
        assert_eq!(core.microcode.as_deref(), Some("0x77"));
        assert!(core.kernel.is_some_and(|it| it.starts_with("9.8")));
    }
}
