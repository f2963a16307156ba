//! How many executed instructions a table knew, did not know, or knew from an older core only.

use std::sync::atomic::{AtomicU64, Ordering};

/// Instructions that were executed, warm-up included, by all threads that use a table.
#[derive(Debug, Default)]
pub struct Usage {
    executed: AtomicU64,
    by_class: AtomicU64,
    inherited: AtomicU64,
}

impl Usage {
    /// Adds so many instructions, of which so many took the timing of their class and so many that of an
    /// older core.
    pub fn add(&self, executed: u64, by_class: u64, inherited: u64) {
        self.executed.fetch_add(executed, Ordering::Relaxed);
        self.by_class.fetch_add(by_class, Ordering::Relaxed);
        self.inherited.fetch_add(inherited, Ordering::Relaxed);
    }

    /// All.
    pub fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    /// Those whose form has no row: they took the timing of their class.
    pub fn by_class(&self) -> u64 {
        self.by_class.load(Ordering::Relaxed)
    }

    /// Those whose row is kept from an older core.
    pub fn inherited(&self) -> u64 {
        self.inherited.load(Ordering::Relaxed)
    }

    /// In a sentence, if there is something to say.
    pub fn sentence(&self) -> Option<String> {
        let (executed, by_class, inherited) = (self.executed(), self.by_class(), self.inherited());
        let share = |count: u64| 100.0 * count as f64 / executed.max(1) as f64;
        let mut parts = Vec::new();
        if by_class > 0 {
            parts.push(format!(
                "{by_class} ({:.2} %) had no row in the timing table and took the timing of their class",
                share(by_class)
            ));
        }
        if inherited > 0 {
            parts.push(format!(
                "{inherited} ({:.2} %) took a row that is inherited from an older core",
                share(inherited)
            ));
        }
        (!parts.is_empty())
            .then(|| format!("Of {executed} simulated instructions {}.", parts.join("; ")))
    }
}
