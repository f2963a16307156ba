//! The status in words, for a terminal.

use std::fmt::Write as _;

use super::runtime::Holder;
use super::status::{Dependents, LeftBecause, LeftByCorun, OfflineBy, SmtStatus};
use crate::{CpuSet, SmtControl};

/// More of a kind than this are counted, not listed.
const LISTED: usize = 8;

impl SmtStatus {
    /// The status in words, a fact a line.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let active = match self.active {
            Some(active) => format!(", smt/active says {}", u8::from(active)),
            None => String::new(),
        };
        let _ = match &self.control {
            Some(control) => writeln!(
                text,
                "SMT is {}: smt/control says `{control}`{active} ({})",
                self.smt,
                meaning(control)
            ),
            None => writeln!(
                text,
                "SMT is {}; this kernel has no smt/control, so CPUs are switched one by one",
                self.smt
            ),
        };
        let _ = match self.width {
            1 if !self.offline.is_empty() => {
                writeln!(text, "Which offline CPUs are siblings shows only while they are online")
            }
            1 => writeln!(text, "No core has more than one logical CPU"),
            width => writeln!(text, "Logical CPUs of a core, as far as known: {width}"),
        };
        if !self.extra_siblings.is_empty() {
            let _ = writeln!(text, "SMT off would take away: {}", cpus(&self.extra_siblings));
        }
        self.offline_cpus(&mut text);
        for argument in &self.boot_line {
            let _ = writeln!(text, "The boot line's `{}` {}", argument.text, argument.effect);
        }
        if let Some(left) = &self.left_by_corun {
            let _ = writeln!(text, "{}", left.sentence());
        }
        dependents(&mut text, &self.depends);
        text
    }

    fn offline_cpus(&self, text: &mut String) {
        if self.offline.is_empty() {
            text.push_str("Offline: none\n");
        }
        for by in [OfflineBy::Corun, OfflineBy::Hand, OfflineBy::SwitchOrHand, OfflineBy::BootLine]
        {
            let of_it = self.offline.iter().filter(|offline| offline.by == by);
            let set: CpuSet = of_it.map(|offline| offline.cpu).collect();
            if !set.is_empty() {
                let _ = writeln!(text, "Offline {}: {}", by.name(), cpus(&set));
            }
        }
    }
}

impl OfflineBy {
    fn name(self) -> &'static str {
        match self {
            Self::Corun => "by corun",
            Self::Hand => "by hand",
            Self::SwitchOrHand => {
                "by the switch (or by hand, which the kernel does not distinguish)"
            }
            Self::BootLine => "since the boot (maxcpus)",
        }
    }
}

impl LeftByCorun {
    /// Sentence that says what was left, why, and what to do.
    pub fn sentence(&self) -> String {
        let by = self.by.as_ref().map_or_else(String::new, |Holder { process, command }| {
            format!(
                " (process {process}: {command}, since {})",
                self.since.as_deref().unwrap_or("?")
            )
        });
        match self.why {
            LeftBecause::UnderWay => format!("Another corun is switching SMT right now{by}"),
            LeftBecause::Died => format!(
                "A corun that was killed has left SMT switched{by}. Bring everything back with: \
                 corun smt restore"
            ),
            LeftBecause::AskedFor => format!(
                "SMT was switched by request{by}; `corun smt restore` brings everything back"
            ),
            LeftBecause::Unreadable => format!(
                "A corun has written down in {} how everything was before it switched SMT, and that \
                 cannot be read: SMT may be left switched",
                self.file
            ),
        }
    }
}

fn meaning(control: &SmtControl) -> &'static str {
    match control {
        SmtControl::On => "siblings may be online",
        SmtControl::Off => "siblings are offline, and can be switched on",
        SmtControl::ForceOff => "siblings are offline until a reboot",
        SmtControl::NotSupported => "the kernel sees no siblings",
        SmtControl::NotImplemented => "the kernel cannot switch on this architecture",
        SmtControl::Threads(_) => "that many threads of each core are enabled",
        SmtControl::Other(_) => "a word that this corun does not know",
    }
}

fn dependents(text: &mut String, depends: &Dependents) {
    let Dependents { cpusets, tasks, irqs } = depends;
    let cpusets = cpusets.iter().map(|set| {
        format!("cpuset {} ({}) would lose {}", set.folder, cpus(&set.cpus), cpus(&set.loses))
    });
    let tasks = tasks.iter().map(|task| {
        let keeps = keeps(&task.keeps, "would run anywhere");
        format!("task {} ({}) is bound to {}, {keeps}", task.task, task.name, cpus(&task.cpus))
    });
    let irqs = irqs.iter().map(|irq| {
        let users = if irq.users.is_empty() { "unused".to_owned() } else { irq.users.join(", ") };
        let keeps = keeps(&irq.keeps, "would be moved");
        format!("interrupt {} ({users}) is bound to {}, {keeps}", irq.irq, cpus(&irq.cpus))
    });
    let kinds: [Vec<String>; 3] = [cpusets.collect(), tasks.collect(), irqs.collect()];
    if kinds.iter().all(Vec::is_empty) {
        text.push_str("Nothing is bound to siblings that SMT off would take away\n");
        return;
    }
    text.push_str("What depends on those siblings:\n");
    for lines in kinds {
        for line in lines.iter().take(LISTED) {
            let _ = writeln!(text, "- {line}");
        }
        if lines.len() > LISTED {
            let _ = writeln!(text, "- and {} more (see --json)", lines.len() - LISTED);
        }
    }
}

fn keeps(left: &CpuSet, without: &str) -> String {
    if left.is_empty() { without.to_owned() } else { format!("would keep {}", cpus(left)) }
}

fn cpus(set: &CpuSet) -> String {
    if set.len() == 1 { format!("CPU {set}") } else { format!("CPUs {set}") }
}
