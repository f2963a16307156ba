//! Vectors of numbers as each processor has them, behind one trait, so that a loop is written once.
//!
//! Every method is inlined into a loop that has the instructions; outside of one it must not be called.

/// Some numbers that are worked on at once.
pub(super) trait Vector: Copy {
    /// Number of lanes.
    const LANES: usize;

    /// Vector with one number in every lane.
    fn splat(number: f64) -> Self;

    /// # Safety
    /// `from` is at a multiple of the vector's size and valid for reading one.
    unsafe fn load(from: *const f64) -> Self;

    /// # Safety
    /// `to` is at a multiple of the vector's size and valid for writing one.
    unsafe fn store(self, to: *mut f64);

    /// Stores past the caches, where the processor can.
    ///
    /// # Safety
    /// As for [`store`](Self::store); what was written is ordered by [`fence`](Self::fence) only.
    unsafe fn stream(self, to: *mut f64);

    /// Ends what was streamed.
    fn fence();

    fn plus(self, other: Self) -> Self;

    fn times(self, other: Self) -> Self;

    /// The sum of its lanes.
    fn sum(self) -> f64;
}

/// A vector that the compiler makes the best of.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Portable([f64; 8]);

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Vector for Portable {
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(number: f64) -> Self {
        Self([number; 8])
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller says so.
        unsafe { from.cast::<Self>().read() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller says so.
        unsafe { to.cast::<Self>().write(self) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f64) {
        // SAFETY: the caller says so.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    fn fence() {}

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] * other.0[lane]))
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        self.0.iter().sum()
    }
}

/// Scalar, for the rest where no whole vector fits.
impl Vector for f64 {
    const LANES: usize = 1;

    #[inline(always)]
    fn splat(number: f64) -> Self {
        number
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller says so.
        unsafe { from.read() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller says so.
        unsafe { to.write(self) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f64) {
        // SAFETY: the caller says so.
        unsafe { to.write(self) }
    }

    #[inline(always)]
    fn fence() {}

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        self
    }
}
