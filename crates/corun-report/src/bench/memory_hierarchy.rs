//! The memory hierarchy: latency and bandwidth by size, from the first-level cache to memory.
//!
//! It is a bench like any other, of two workloads at many sizes; only the way it is shown differs.

use std::collections::BTreeMap;

use corun_record::{Bench, Estimate, Metric, Run};

use super::ends;
use super::plot::{self, Line, Plot};
use crate::figures::{size_text, three_digits, with_half_width};
use crate::prose;
use crate::tables::Table;
use crate::terminal::{grid, wrap};

/// Columns of a sweep, and the place of each run.
pub struct HierarchySweep<'a> {
    /// The workload whose loads wait for one another; its parameters are `size` and `stride`.
    pub latency: &'a str,
    /// The workload that moves bytes; its parameter `size` is that of one array.
    pub bandwidth: &'a str,
    /// Kernels (parameter `kernel`), each with the number of its arrays.
    pub kernels: &'a [(&'a str, u64)],
}

/// A column: what is asked of memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    /// Loads this far apart, in bytes.
    Latency(u64),
    /// A kernel, by its place in the list.
    Bandwidth(usize),
}

/// The figures of one arm, by column and size in bytes.
type Figures = BTreeMap<Column, BTreeMap<u64, Estimate>>;

/// The sweep as tables and plots for a terminal of this many columns.
pub fn memory_hierarchy(bench: &Bench, of: &HierarchySweep, columns: u16) -> String {
    let mut text = String::new();
    if let Some(run) = bench.runs.first() {
        text.push_str(&wrap(&prose::machine(&run.machine), "", columns));
    }
    for (arm, figures) in of.arms(bench) {
        text.push_str(&format!("\n{arm}\n\n{}\n", of.table(&figures, columns)));
        for (title, is_latency) in
            [("latency, ns a load", true), ("bandwidth of all workers, GB/s", false)]
        {
            let lines: Vec<Line> = figures
                .iter()
                .filter(|(column, _)| matches!(column, Column::Latency(_)) == is_latency)
                .map(|(column, points)| of.line(column, points))
                .collect();
            if !lines.is_empty() {
                text.push_str(&format!("\n{}", plot::draw(&Plot { title, lines }, columns)));
            }
        }
    }
    text.push_str(&ends(bench, columns));
    text
}

impl HierarchySweep<'_> {
    /// The figures of each arm, in the order of the first run.
    fn arms(&self, bench: &Bench) -> Vec<(String, Figures)> {
        let mut arms: Vec<(String, Figures)> = Vec::new();
        for run in &bench.runs {
            let Some((column, size)) = self.place(run) else { continue };
            for arm in run.arms.iter().filter(|arm| arm.twin_of.is_none()) {
                let Some(seen) = run.observation(Metric::Throughput, &arm.id) else { continue };
                let estimate = match column {
                    Column::Latency(_) => seen.estimate.under(1e9 * f64::from(arm.workers)),
                    Column::Bandwidth(_) => seen.estimate.scaled(1e-9),
                };
                let index = arms.iter().position(|(id, _)| *id == arm.id).unwrap_or_else(|| {
                    arms.push((arm.id.clone(), Figures::new()));
                    arms.len() - 1
                });
                arms[index].1.entry(column.clone()).or_default().insert(size, estimate);
            }
        }
        arms
    }

    /// Place of a run: its column, and the bytes that it touches.
    fn place(&self, run: &Run) -> Option<(Column, u64)> {
        let number = |name: &str| run.workload.parameters.get(name)?.parse::<u64>().ok();
        let size = number("size")?;
        if run.workload.name == self.latency {
            return Some((Column::Latency(number("stride")?), size));
        }
        let kernel = run.workload.parameters.get("kernel")?;
        let index = self.kernels.iter().position(|(name, _)| name == kernel)?;
        (run.workload.name == self.bandwidth)
            .then(|| (Column::Bandwidth(index), size * self.kernels[index].1))
    }

    fn table(&self, figures: &Figures, columns: u16) -> String {
        let mut header = vec!["size".to_owned()];
        header.extend(figures.keys().map(|column| match column {
            Column::Latency(stride) => format!("stride {} (ns)", size_text(*stride)),
            Column::Bandwidth(_) => format!("{} (GB/s)", self.name(column)),
        }));
        let mut sizes: Vec<u64> =
            figures.values().flat_map(|points| points.keys().copied()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let row = |size: &u64| {
            let figure = |points: &BTreeMap<u64, Estimate>| match points.get(size) {
                Some(estimate) => with_half_width(three_digits(estimate.value), estimate),
                None => String::new(),
            };
            let mut row = vec![size_text(*size)];
            row.extend(figures.values().map(figure));
            row
        };
        grid(&Table { header, rows: sizes.iter().map(row).collect() }, columns)
    }

    fn name(&self, column: &Column) -> String {
        match column {
            Column::Latency(stride) => format!("stride {}", size_text(*stride)),
            Column::Bandwidth(index) => self.kernels[*index].0.to_owned(),
        }
    }

    fn line(&self, column: &Column, points: &BTreeMap<u64, Estimate>) -> Line {
        let points = points.iter().map(|(size, seen)| (*size as f64, seen.value)).collect();
        Line { name: self.name(column), points }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::examples::{bench, run};
    use super::*;

    #[test]
    fn sizes_are_what_is_touched() {
        let of = HierarchySweep {
            latency: "chase",
            bandwidth: "stream",
            kernels: &[("read", 1), ("copy", 2)],
        };
        let mut runs = Vec::new();
        for (size, ns, rate) in [(16_384, 1.25, 1e11), (65_536, 4.0, 6e10), (1 << 21, 80.0, 2e10)] {
            for stride in ["64", "4096"] {
                let parameters = json!({ "size": size.to_string(), "stride": stride });
                runs.push(run("chase", parameters, &[("single", 1, 1e9 / ns)]));
            }
            let parameters = json!({ "size": size.to_string(), "kernel": "read" });
            runs.push(run("stream", parameters, &[("single", 1, rate)]));
            let half = json!({ "size": (size / 2).to_string(), "kernel": "copy" });
            runs.push(run("stream", half, &[("single", 1, 0.9 * rate)]));
        }
        insta::assert_snapshot!(memory_hierarchy(&bench(runs), &of, 90), @r"
        Made up, 4 cores, 8 logical CPUs, SMT width 2

        single

         size     stride 64 B (ns)   stride 4 KiB (ns)   read (GB/s)    copy (GB/s)
        ═════════════════════════════════════════════════════════════════════════════
         16 KiB   1.25 ± 2.0 %       1.25 ± 2.0 %        100 ± 2.0 %    90.0 ± 2.0 %
         64 KiB   4.00 ± 2.0 %       4.00 ± 2.0 %        60.0 ± 2.0 %   54.0 ± 2.0 %
         2 MiB    80.0 ± 2.0 %       80.0 ± 2.0 %        20.0 ± 2.0 %   18.0 ± 2.0 %

        latency, ns a load (a stride 64 B, b stride 4 KiB)
               │                                                                         ⢀b⠤
               │                                                                    ⣀⡠⠤⠒⠉⠁
            50 ┤                                                              ⢀⡠⠤⠒⠊⠉
               │                                                        ⢀⣀⠤⠔⠒⠉⠁
            20 ┤                                                   ⣀⡠⠤⠒⠉⠁
               │                                             ⣀⡠⠤⠒⠊⠉
               │                                       ⢀⣀⠤⠔⠒⠉
            10 ┤                                  ⣀⡠⠔⠒⠉⠁
               │                            ⣀⡠⠤⠒⠊⠉
             5 ┤                      b⣀⠤⠔⠒⠉
               │                ⢀⣀⠤⠔⠒⠉⠁
             2 ┤          ⢀⣀⠤⠔⠒⠉⠁
               │  b ⢀⣀⠤⠔⠒⠉⠁
               │  ⠒⠉⠁
               └──┬──────────┬─────────┬─────────┬──────────┬─────────┬─────────┬──────────┬──
               16 KiB     32 KiB    64 KiB    128 KiB    256 KiB   512 KiB    1 MiB      2 MiB

        bandwidth of all workers, GB/s (a read, b copy)
           100 ┤  a⣀⡀
               │  b⠤⢌⣉⠒⠤⢄⣀
               │      ⠉⠒⠢⠤⣉⡑⠒⠤⣀⡀
               │           ⠈⠉⠒⠤⢌⣉⠒⠢⠤⣀
               │                 ⠉⠑⠒⠤⣉b⠒⠤⢄⣀
            50 ┤                      ⠈⠉⠒⠢⠤⣉⣉⠒⠢⠤⣀⡀
               │                             ⠉⠑⠒⠤⢌⣉⠒⠒⠤⢄⣀
               │                                   ⠉⠉⠒⠢⠤⣉⡑⠒⠤⢄⣀⡀
               │                                         ⠈⠉⠒⠢⠤⢌⣉⠒⠢⠤⣀⡀
               │                                                ⠉⠑⠒⠤⢌⣉⡑⠒⠤⢄⣀
               │                                                      ⠈⠉⠒⠢⠤⣉⡑⠒⠤⠤⣀⡀
               │                                                            ⠈⠉⠒⠒⠤⢌⣉⠒⠢⠤⣀⣀  a
            20 ┤                                                                   ⠉⠑⠒⠤⠤⣉⡑b⠤
               │                                                                         ⠈⠉⠒
               └──┬──────────┬─────────┬─────────┬──────────┬─────────┬─────────┬──────────┬──
               16 KiB     32 KiB    64 KiB    128 KiB    256 KiB   512 KiB    1 MiB      2 MiB
        ");
    }
}
