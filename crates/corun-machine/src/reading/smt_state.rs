//! The state of SMT, and whether its three accounts fit together: the switch, `smt/active`, and the
//! siblings that are online.

use super::source::{CPU_FOLDER, Source};
use crate::{Core, CpuSet, FindingKind, Smt, SmtControl, SystemFiles};

/// Reads the state of SMT.
pub(super) fn read<F: SystemFiles>(
    source: &mut Source<'_, F>,
    cores: &[Core],
    online: &CpuSet,
) -> Smt {
    let control = source
        .text(&format!("{CPU_FOLDER}/smt/control"))
        .map(|text| text.parse().unwrap_or_else(|never: std::convert::Infallible| match never {}));
    let active = read_active(source);
    let width = cores.iter().map(|core| core.smt_width).max().unwrap_or(1);
    let together: CpuSet = cores
        .iter()
        .map(|core| core.cpus.intersection(online))
        .filter(|cpus| cpus.len() > 1)
        .flat_map(|cpus| cpus.iter().collect::<Vec<_>>())
        .collect();
    for (file, what) in contradictions(control.as_ref(), active, !together.is_empty()) {
        let file = format!("{CPU_FOLDER}/smt/{file}");
        source.findings.add(FindingKind::ContradictorySmtState, file, what, &together);
    }
    Smt { control, active, width }
}

fn read_active<F: SystemFiles>(source: &mut Source<'_, F>) -> Option<bool> {
    let path = format!("{CPU_FOLDER}/smt/active");
    match source.text(&path)? {
        "0" => Some(false),
        "1" => Some(true),
        other => {
            let what = format!("expected 0 or 1, found `{other}`");
            source.malformed(&path, &what, &CpuSet::new());
            None
        }
    }
}

/// Contradictions; `together` is whether any core has two online siblings.
fn contradictions(
    control: Option<&SmtControl>,
    active: Option<bool>,
    together: bool,
) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    match (active, together) {
        (Some(false), true) => found.push((
            "active",
            "the kernel says that SMT is not active, yet online CPUs are listed as siblings; the \
             lists are believed",
        )),
        (Some(true), false) => found.push((
            "active",
            "the kernel says that SMT is active, yet no core has two online siblings; the lists \
             are believed",
        )),
        _ => {}
    }
    match (control, active) {
        (Some(SmtControl::On), Some(false)) => found.push((
            "control",
            "SMT is switched on, yet not active: siblings were taken offline one by one, or \
             there are none",
        )),
        (Some(control), Some(true)) if is_off(control) => {
            found.push(("control", "SMT is switched off, yet active"));
        }
        _ => {}
    }
    found
}

fn is_off(control: &SmtControl) -> bool {
    matches!(control, SmtControl::Off | SmtControl::ForceOff | SmtControl::NotSupported)
}
