//! The loops with the widest vectors that this processor has.

use super::loops::{Formula, Loop, read, write};
#[cfg(not(target_arch = "x86_64"))]
use super::vector::Portable;
#[cfg(target_arch = "x86_64")]
use super::x86::{self, Sse2, Widest};

/// The best loop here that writes.
pub(super) fn writing<F: Formula>(streaming: bool) -> Loop {
    #[cfg(target_arch = "x86_64")]
    match (x86::widest(), streaming) {
        (Widest::Avx512, false) => x86::avx512::<F, false>,
        (Widest::Avx512, true) => x86::avx512::<F, true>,
        (Widest::Avx, false) => x86::avx::<F, false>,
        (Widest::Avx, true) => x86::avx::<F, true>,
        (Widest::Sse2, false) => write::<Sse2, F, false>,
        (Widest::Sse2, true) => write::<Sse2, F, true>,
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // Stable Rust has no streaming stores elsewhere.
        let _ = streaming;
        write::<Portable, F, false>
    }
}

/// The best loop here that only reads.
pub(super) fn reading() -> Loop {
    #[cfg(target_arch = "x86_64")]
    match x86::widest() {
        Widest::Avx512 => x86::avx512_read,
        Widest::Avx => x86::avx_read,
        Widest::Sse2 => read::<Sse2>,
    }
    #[cfg(not(target_arch = "x86_64"))]
    read::<Portable>
}
