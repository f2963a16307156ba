//! Interrupts of devices, by CPU: the numbered lines of `/proc/interrupts` (`proc_interrupts(5)`).
//!
//! The lines with letters are the kernel's own (ticks, calls between CPUs) and come with the work.

use std::collections::BTreeMap;

/// Counts of interrupts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Interrupts(Vec<Line>);

/// An interrupt, with its counts by CPU.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    number: u32,
    name: String,
    counts: BTreeMap<u32, u64>,
}

/// The interrupts that a CPU has taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OfCpu {
    pub(super) count: u64,
    /// The most frequent one: number, name, count.
    pub(super) most: Option<(u32, String, u64)>,
}

impl Interrupts {
    /// Reads the text of `/proc/interrupts`; `None` if its heading names no CPUs.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let cpus: Vec<u32> = lines
            .next()?
            .split_whitespace()
            .map(|word| word.strip_prefix("CPU")?.parse().ok())
            .collect::<Option<_>>()?;
        let line = |line: &str| {
            let (number, rest) = line.split_once(':')?;
            let mut words = rest.split_whitespace();
            let counts = cpus.iter().map(|cpu| Some((*cpu, words.next()?.parse().ok()?)));
            let counts = counts.collect::<Option<_>>()?;
            let name = words.next_back().unwrap_or_default().to_owned();
            Some(Line { number: number.trim().parse().ok()?, name, counts })
        };
        (!cpus.is_empty()).then(|| Self(lines.filter_map(line).collect()))
    }

    /// Interrupts since `earlier`.
    pub(super) fn since(mut self, earlier: &Self) -> Self {
        let earlier: BTreeMap<u32, &Line> =
            earlier.0.iter().map(|line| (line.number, line)).collect();
        for line in &mut self.0 {
            let before = earlier.get(&line.number).map(|line| &line.counts);
            for (cpu, count) in &mut line.counts {
                let before = before.and_then(|counts| counts.get(cpu)).copied();
                *count = count.saturating_sub(before.unwrap_or(0));
            }
        }
        self
    }

    /// Interrupts of `cpu`.
    pub(super) fn of_cpu(&self, cpu: u32) -> OfCpu {
        let mut taken = OfCpu::default();
        for line in &self.0 {
            let count = line.counts.get(&cpu).copied().unwrap_or(0);
            taken.count = taken.count.saturating_add(count);
            if count > taken.most.as_ref().map_or(0, |most| most.2) {
                taken.most = Some((line.number, line.name.clone(), count));
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "           CPU0       CPU2\n 24:   1   5  IO-APIC   5-edge   ACPI:Ged\n\
                          131: 100  7 PCI-MSIX-0000:00:05.0   0-edge      nvme0q1\n\
                          LOC: 900 900 Local timer interrupts\nERR: 0\n";

    #[test]
    fn only_devices_count_and_each_cpu_has_its_own_column() {
        let after = BEFORE.replace("100  7", "100  47").replace(" 5  IO", " 6  IO");
        let since = Interrupts::parse(&after)
            .zip(Interrupts::parse(BEFORE))
            .map(|(after, before)| after.since(&before));
        let since = since.expect("both have headings");
        assert_eq!(since.of_cpu(0), OfCpu::default());
        let most = Some((131, "nvme0q1".to_owned(), 40));
        assert_eq!(since.of_cpu(2), OfCpu { count: 41, most });
        assert_eq!(since.of_cpu(1), OfCpu::default());
    }

    #[test]
    fn a_table_without_cpus_is_none() {
        for wrong in ["", "nonsense\n 1: 2", "\n"] {
            assert_eq!(Interrupts::parse(wrong), None, "{wrong}");
        }
    }
}
