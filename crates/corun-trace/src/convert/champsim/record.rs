//! The record itself.

/// One record: an instruction, or a part of one that has more accesses than a record holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub ip: u64,
    pub is_branch: u8,
    pub branch_taken: u8,
    pub writes: [u8; 2],
    pub reads: [u8; 4],
    /// Addresses; 0 is none.
    pub stores: [u64; 2],
    pub loads: [u64; 4],
}

/// Bytes of a record.
pub(super) const SIZE: usize = 64;

impl Record {
    pub(super) fn to_bytes(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&self.ip.to_le_bytes());
        bytes[8..10].copy_from_slice(&[self.is_branch, self.branch_taken]);
        bytes[10..12].copy_from_slice(&self.writes);
        bytes[12..16].copy_from_slice(&self.reads);
        let addresses = self.stores.iter().chain(&self.loads);
        for (place, address) in bytes[16..].chunks_exact_mut(8).zip(addresses) {
            place.copy_from_slice(&address.to_le_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; SIZE]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        Self {
            ip: word(0),
            is_branch: bytes[8],
            branch_taken: bytes[9],
            writes: [bytes[10], bytes[11]],
            reads: std::array::from_fn(|index| bytes[12 + index]),
            stores: std::array::from_fn(|index| word(16 + 8 * index)),
            loads: std::array::from_fn(|index| word(32 + 8 * index)),
        }
    }
}
