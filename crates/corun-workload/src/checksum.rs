//! One number for many, so that a workload's check value depends on every value and on its place.

/// FNV-1a (Fowler, Noll and Vo 1991) with numbers in place of bytes.
pub(crate) fn checksum(values: impl IntoIterator<Item = u64>) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    values.into_iter().fold(OFFSET_BASIS, |sum, value| (sum ^ value).wrapping_mul(PRIME))
}
