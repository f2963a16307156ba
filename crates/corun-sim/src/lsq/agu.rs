//! Accesses that begin in a cycle: one for each port that computes addresses, but that what is wider than an access of
//! the core counts as several, which are then begun in the cycles after it.

use crate::uops::Kind;
use corun_model::CoreModel;

/// AGU bandwidth left in this cycle, if it is limited.
#[derive(Debug, Clone)]
pub(super) struct AguBandwidth {
    /// As how many a wide load counts; none where wide accesses issue like others.
    wide_load: Option<f64>,
    /// Bytes of the core's accesses.
    width: u64,
    a_cycle: f64,
    left: f64,
}

impl AguBandwidth {
    pub(super) fn of(model: &CoreModel) -> Self {
        let (loads, stores) = (&model.memory.loads, &model.memory.stores);
        Self::new(loads.wide_issue_slots, loads.width, stores.address_ports.len())
    }

    fn new(wide_load: Option<f64>, width: u32, ports: usize) -> Self {
        let a_cycle = ports as f64;
        Self { wide_load, width: width.into(), a_cycle, left: a_cycle }
    }

    /// A cycle begins, with what wide accesses before it leave.
    pub(super) fn begin(&mut self) {
        self.left = self.left.min(0.0) + self.a_cycle;
    }

    pub(super) fn is_over(&self, kind: Kind) -> bool {
        self.wide_load.is_some() && kind.is_access() && self.left <= 0.0
    }

    /// An access of so many bytes begins.
    pub(super) fn take(&mut self, kind: Kind, bytes: u64) {
        let Some(wide_load) = self.wide_load.filter(|_| kind.is_access()) else { return };
        self.left -= match kind {
            Kind::Load(_) if bytes > self.width => wide_load,
            _ => bytes.div_ceil(self.width).max(1) as f64,
        };
    }
}

#[cfg(test)]
mod tests {
    use crate::lsq::agu::*;

    #[test]
    fn wide_accesses_begin_in_the_cycles_behind_them_too() {
        let (load, store) = (Kind::Load(0), Kind::StoreAddress(0));
        let mut agus = AguBandwidth::new(Some(2.75), 32, 3);
        agus.begin();
        agus.take(load, 64);
        agus.take(Kind::Compute, 0);
        assert!(!agus.is_over(store));
        agus.take(store, 64);
        assert!(agus.is_over(load) && !agus.is_over(Kind::Compute));
        // 1.75 of 3 are taken.
        agus.begin();
        agus.take(load, 32);
        assert!(!agus.is_over(load));
        agus.take(load, 8);
        assert!(agus.is_over(load));
        agus.begin();
        agus.begin();
        (0..3).for_each(|_| agus.take(load, 1));
        assert!(agus.is_over(load), "nothing is left over from cycles before");
    }

    #[test]
    fn most_cores_have_a_port_for_each() {
        let mut agus = AguBandwidth::new(None, 32, 1);
        agus.begin();
        (0..9).for_each(|_| agus.take(Kind::Load(0), 64));
        assert!(!agus.is_over(Kind::Load(0)));
    }
}
