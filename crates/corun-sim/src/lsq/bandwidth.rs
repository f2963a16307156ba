//! Issue bandwidth: the loads and stores that a cycle can still begin.

use crate::execute::MostAccesses;
use crate::lsq::agu::AguBandwidth;
use crate::lsq::banks::Banks;
use crate::parameters::LoadStore;
use crate::uops::{InFlightUop, Kind};
use corun_model::{CoreModel, Policy};

/// Issue bandwidth of a core.
#[derive(Debug)]
pub(super) struct Bandwidth {
    /// True if each thread has load and store bandwidth of its own.
    own_loads: bool,
    own_stores: bool,
    /// Of a whole cycle.
    whole: Rates,
    /// Bandwidth left in this cycle, of all threads together, and of each.
    common: Rates,
    own: Vec<Rates>,
    /// Of all threads together, or of each.
    agus: Vec<AguBandwidth>,
    banks: Banks,
}

/// Accesses of a cycle.
#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    loads: u32,
    vector_loads: u32,
    stores: u32,
    vector_stores: u32,
}

impl Rates {
    /// Takes one off, if there is one; of vectors as many as the accesses that a wide one is, or all.
    fn take(&mut self, kind: Kind, is_vector: bool, accesses: u16, whole: &Self) -> bool {
        let (all, vectors, most) = match kind {
            Kind::Compute | Kind::StoreData(_) => return true,
            Kind::Load(_) => (&mut self.loads, &mut self.vector_loads, whole.vector_loads),
            Kind::StoreAddress(_) | Kind::StreamAddress(_) => {
                (&mut self.stores, &mut self.vector_stores, whole.vector_stores)
            }
        };
        let wanted = if is_vector { u32::from(accesses).min(most).max(1) } else { 0 };
        if *all == 0 || *vectors < wanted {
            return false;
        }
        *all -= 1;
        *vectors -= wanted;
        true
    }
}

impl Bandwidth {
    /// Of a core with so many threads.
    pub(super) fn of(model: &CoreModel, threads: usize) -> Self {
        let memory = &model.memory;
        let is_own = |policy: Policy| threads > 1 && policy == Policy::Replicated;
        Self {
            own_loads: is_own(memory.loads.sharing.policy),
            own_stores: is_own(memory.stores.sharing.policy),
            whole: Rates::default(),
            common: Rates::default(),
            own: vec![Rates::default(); threads],
            agus: vec![AguBandwidth::of(model); threads],
            banks: Banks::of(model),
        }
    }

    /// A cycle begins, in which so many loads and stores are repeated ones.
    #[inline]
    pub(super) fn begin(&mut self, rates: &LoadStore, (loads, stores): (u32, u32)) {
        let whole = Rates {
            loads: rates.load_rate - loads,
            vector_loads: rates.vector_load_rate,
            stores: rates.store_rate - stores,
            vector_stores: rates.vector_store_rate,
        };
        (self.whole, self.common) = (whole, whole);
        if self.own_loads || self.own_stores {
            self.own.fill(whole);
        }
        self.agus.iter_mut().for_each(AguBandwidth::begin);
        self.banks.begin();
    }

    /// The most accesses of this cycle.
    #[inline]
    pub(super) fn most(&self) -> MostAccesses {
        let Rates { loads, vector_loads, stores, vector_stores } = self.whole;
        // With more of them than loads, a load of twice the width is two.
        let wide = if vector_loads > loads { vector_loads / 2 } else { vector_loads };
        MostAccesses { loads: wide.min(loads), stores: vector_stores.min(stores) }
    }

    /// Takes what a thread's access needs, if this cycle has that.
    #[inline]
    pub(super) fn take(&mut self, thread: usize, uop: &InFlightUop) -> bool {
        let &InFlightUop { kind, is_vector, address, span, busy, .. } = uop;
        let is_own = match kind {
            Kind::Compute | Kind::StoreData(_) => return true,
            Kind::Load(_) => self.own_loads,
            Kind::StoreAddress(_) | Kind::StreamAddress(_) => self.own_stores,
        };
        let (rates, agus) = match is_own {
            true => (&mut self.own[thread], &mut self.agus[thread]),
            false => (&mut self.common, &mut self.agus[0]),
        };
        if matches!(kind, Kind::Load(_)) && !self.banks.take(address, span.into())
            || agus.is_over(kind)
            || !rates.take(kind, is_vector, busy, &self.whole)
        {
            return false;
        }
        agus.take(kind, span.into());
        true
    }
}
