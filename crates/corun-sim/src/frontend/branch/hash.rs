//! Places and tags from addresses and histories.

/// Spreads what differs in two words over the upper 52 bits, in which places and tags lie
/// (multiply and shift as in MurmurHash3's finalizer, Appleby 2011).
#[inline]
pub(crate) fn mix(at: u64, history: u64) -> u64 {
    let mut mixed = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ history;
    mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^= mixed >> 32;
    mixed = mixed.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ mixed >> 32
}
