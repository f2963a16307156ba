//! Slowdowns of pairs from a simulation: workers as siblings against the same workers with a core each.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What is read of `corun simulate --placement spread,full --json`.
#[derive(Debug, Deserialize)]
pub(super) struct Simulated {
    workers: Vec<String>,
    placements: Vec<Placed>,
}

#[derive(Debug, Deserialize)]
struct Placed {
    placement: String,
    workers: Vec<PlacedWorker>,
}

#[derive(Debug, Deserialize)]
struct PlacedWorker {
    worker: usize,
    core: usize,
    cycles: Vec<f64>,
}

/// The `format` of such a file.
pub(super) const FORMAT: &str = "corun-placements";

impl Simulated {
    /// How much longer the first worker takes beside the second, by the names of their traces.
    ///
    /// # Errors
    /// A sentence on what is missing.
    pub(super) fn slowdowns(&self) -> Result<BTreeMap<(String, String), f64>, String> {
        let placed = |name: &str| {
            let is_it = |it: &&Placed| it.placement.split('@').next() == Some(name);
            let found = self.placements.iter().find(is_it);
            found.ok_or_else(|| format!("expected the placements spread and full, found no {name}"))
        };
        let (spread, full) = (placed("spread")?, placed("full")?);
        let mut sums: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
        for one in &full.workers {
            let on_core = full.workers.iter().filter(|it| it.core == one.core);
            let others: Vec<&PlacedWorker> = on_core.filter(|it| !std::ptr::eq(*it, one)).collect();
            if others.len() > 1 {
                // Which of them costs how much is not known.
                return Err(format!(
                    "expected two workers a core in full, as full@2 has them, found {}",
                    others.len() + 1
                ));
            }
            let other = others.first().copied();
            let alone = spread.workers.iter().find(|it| it.worker == one.worker);
            let (Some(other), Some(alone)) = (other, alone) else { continue };
            let sum = sums.entry((self.name(one)?, self.name(other)?)).or_insert((0.0, 0.0));
            *sum = (sum.0 + mean(&one.cycles)? / mean(&alone.cycles)?, sum.1 + 1.0);
        }
        if sums.is_empty() {
            return Err("expected siblings in full, found none".to_owned());
        }
        Ok(sums.into_iter().map(|(pair, (sum, count))| (pair, sum / count)).collect())
    }

    /// The trace of a worker without its extension.
    fn name(&self, placed: &PlacedWorker) -> Result<String, String> {
        let name = self.workers.get(placed.worker);
        let name = name.ok_or_else(|| format!("expected a name of worker {}", placed.worker))?;
        Ok(name.strip_suffix(".trace").unwrap_or(name).to_owned())
    }
}

fn mean(cycles: &[f64]) -> Result<f64, String> {
    let mean = cycles.iter().sum::<f64>() / cycles.len().max(1) as f64;
    if mean > 0.0 { Ok(mean) } else { Err("expected cycles above 0".to_owned()) }
}
