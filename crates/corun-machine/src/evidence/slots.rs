//! Rename slots that a sibling leaves of a core: how fast instructions go through that need nothing but a rename slot.
//!
//! Virtual machines hide siblings, those of other tenants too; whatever one of them executes takes slots.

#[cfg(target_arch = "x86_64")]
use crate::probe::loops::repeated;

/// Copies in one step of the loop.
#[cfg(target_arch = "x86_64")]
const STEP: u32 = 24;
/// Copies in one timed loop: a few microseconds.
#[cfg(target_arch = "x86_64")]
const COPIES: u32 = 2000 * STEP;

/// Copies of a register per nanosecond, none of which waits for another, on the CPU that this thread is on. What
/// it is alone differs from core to core (four to eight a cycle): only rates of one core can be compared.
/// None where it is unknown. There is one copy of the loop, on one page, so that rates do not hang on who asks.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub fn slot_rate() -> Option<f64> {
    let begin = std::time::Instant::now();
    repeated!(
        STEP,
        COPIES / STEP,
        ["mov {copy}, {value}", ".endr", "dec {left:e}", "jnz 2b"],
        copy = out(reg) _, value = in(reg) 3_u64
    );
    Some(f64::from(COPIES) / (begin.elapsed().as_nanos().max(1) as f64))
}

/// Copies of a register per nanosecond; not known for this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn slot_rate() -> Option<f64> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::evidence::multiplication_rate;

    #[test]
    fn copies_wait_for_nothing_and_multiplications_for_each_other() {
        let best = |rate: fn() -> f64| std::iter::repeat_with(rate).take(9).fold(0.0, f64::max);
        let slots = best(|| slot_rate().unwrap_or_default());
        // A link takes three cycles, in which a core renames six or more copies.
        assert!(slots > 3.0 * best(multiplication_rate), "{slots}");
    }
}
