//! Kinds of micro-ops, and the ports that take them.

/// Ports, a bit each, in the order of the model's schedulers; none: needs no port.
pub(crate) type PortSet = u32;
/// As many ports as a set of them can name, and no fewer than a core has schedulers.
pub(crate) const MAX_PORTS: usize = PortSet::BITS as usize;

/// Kind of a micro-op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Computes.
    Compute,
    /// Loads from the instruction's place of this index.
    Load(u8),
    /// Computes the address of a store to it.
    StoreAddress(u8),
    /// Computes the address of a store to it that goes past the caches (`movnt`).
    StreamAddress(u8),
    /// Hands over the data of a store to it.
    StoreData(u8),
}

impl Kind {
    /// True if it accesses memory, or calculates an address.
    pub(crate) fn is_access(self) -> bool {
        !matches!(self, Self::Compute | Self::StoreData(_))
    }
}
