//! Usage of a timing table: provenance of the timings of the executed instructions.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Provenance;

/// Instructions that were executed, warm-up included, by all threads that use a table.
#[derive(Debug, Default)]
pub struct Usage {
    counts: [AtomicU64; Provenance::ALL.len()],
}

impl Usage {
    /// Adds so many instructions whose timing is known this well.
    pub fn add(&self, provenance: Provenance, count: u64) {
        self.counts[provenance as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Those whose timing is known this well.
    pub fn of(&self, provenance: Provenance) -> u64 {
        self.counts[provenance as usize].load(Ordering::Relaxed)
    }

    /// All.
    pub fn executed(&self) -> u64 {
        Provenance::ALL.into_iter().map(|it| self.of(it)).sum()
    }

    /// In a sentence, if there is something to say.
    pub fn sentence(&self) -> Option<String> {
        let executed = self.executed();
        let parts = [
            (
                Provenance::Class,
                "had no row in the timing table and took the timing of their class",
            ),
            (Provenance::Inherited, "took a row that is inherited from an older core"),
            (Provenance::Derived, "took a row that is derived from another form's or assumed"),
        ];
        let parts = parts.into_iter().filter_map(|(provenance, what)| {
            let count = self.of(provenance);
            let share = 100.0 * count as f64 / executed.max(1) as f64;
            (count > 0).then(|| format!("{count} ({share:.2} %) {what}"))
        });
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty())
            .then(|| format!("Of {executed} simulated instructions {}.", parts.join("; ")))
    }
}
