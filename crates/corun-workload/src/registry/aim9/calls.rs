//! Calls of tiny functions through a pointer: passing arguments, calling, returning, and a counter in
//! memory that each call waits for.

use std::cell::Cell;
use std::hint::black_box;
use std::ptr;

use super::descriptor;
use crate::in_memory::InMemory;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

macro_rules! row {
    ($row:ident, $name:literal, $arguments:literal, $callee:ty) => {
        pub(super) static $row: Workload = Workload {
            descriptor: &descriptor(
                $name,
                concat!("calls through a pointer, with ", $arguments),
                &[Tag::StoreForwarding],
                ["a call", "calls"],
                1.0,
                "calls/s",
            ),
            unavailable: anywhere,
            prepare: default_kernels::<Calls<$callee>>,
        };
    };
}

row!(FUN_CAL, "aim9/fun_cal", "no arguments", NoArgument);
row!(FUN_CAL1, "aim9/fun_cal1", "one argument", One);
row!(FUN_CAL2, "aim9/fun_cal2", "two arguments", Two);
row!(FUN_CAL15, "aim9/fun_cal15", "fifteen arguments", Fifteen);

thread_local! {
    /// Counter of the functions: no parameter passes it to them.
    static COUNT: Cell<*mut i64> = const { Cell::new(ptr::null_mut()) };
    /// Number that the function without arguments adds.
    static ADDED: Cell<*const i32> = const { Cell::new(ptr::null()) };
}

/// Calls before a loop goes round; the function of fifteen arguments is called once.
const UNROLLED: u64 = 16;

/// The rounds of the inner and of the outer loop, which count down; their counters are arguments.
const INNER: i32 = 32;
const OUTER: i32 = 1000;

/// A function to call.
trait Callee: Send + 'static {
    /// The function, unknown to the optimiser.
    type Pointer: Copy;
    const UNROLLED: u64;
    const INNER: i32;

    fn pointer() -> Self::Pointer;

    /// Calls it with what it takes of the two loops' counters.
    fn call(pointer: Self::Pointer, outer: i32, inner: i32);
}

macro_rules! callee {
    ($callee:ident: $function:ident, $type:ty, $unrolled:expr,
     |$pointer:ident, $outer:pat_param, $inner:pat_param| $call:expr) => {
        struct $callee;

        impl Callee for $callee {
            type Pointer = $type;
            const UNROLLED: u64 = $unrolled;
            const INNER: i32 = INNER * (UNROLLED / $unrolled) as i32;

            fn pointer() -> $type {
                black_box($function)
            }

            #[inline(always)]
            fn call($pointer: $type, $outer: i32, $inner: i32) {
                $call;
            }
        }
    };
}

#[rustfmt::skip]
type OfFifteen = extern "C" fn(
    i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32,
) -> i64;

callee!(NoArgument: add_pointed, extern "C" fn() -> i64, UNROLLED, |call, _, _| call());
callee!(One: add_one, extern "C" fn(i32) -> i64, UNROLLED, |call, outer, _| call(outer));
callee!(Two: add_two, extern "C" fn(i32, i32) -> i64, UNROLLED,
    |call, outer, inner| call(outer, inner));
callee!(Fifteen: add_two_of_fifteen, OfFifteen, 1,
    |call, _, i| call(i, i, i, i, i, i, i, i, i, i, i, i, i, i, i));

struct Calls<C> {
    count: i64,
    callee: std::marker::PhantomData<C>,
}

impl<C> Default for Calls<C> {
    fn default() -> Self {
        Self { count: 0, callee: std::marker::PhantomData }
    }
}

impl<C: Callee + Send> Kernel for Calls<C> {
    fn reset(&mut self) {
        self.count = 0;
    }

    fn run(&mut self, operations: u64) {
        let added = 1;
        self.count = 0;
        COUNT.set(&raw mut self.count);
        ADDED.set(&raw const added);
        let pointer = C::pointer();
        let mut counters = Counters::new(C::INNER);
        for _ in 0..operations / C::UNROLLED {
            let (outer, inner) = counters.next(C::INNER);
            for _ in 0..C::UNROLLED {
                C::call(pointer, outer, inner);
            }
        }
        let (outer, inner) = counters.next(C::INNER);
        for _ in 0..operations % C::UNROLLED {
            C::call(pointer, outer, inner);
        }
        COUNT.set(ptr::null_mut());
        ADDED.set(ptr::null());
    }

    fn check(&self) -> u64 {
        self.count as u64
    }
}

/// The counters of two loops, one inside the other, in memory: in the original their addresses are
/// arguments too.
struct Counters {
    outer: InMemory<i32>,
    inner: InMemory<i32>,
}

impl Counters {
    fn new(inner: i32) -> Self {
        Self { outer: InMemory::new(OUTER - 1), inner: InMemory::new(inner) }
    }

    /// Counts the inner loop down, and the outer one where the inner loop of so many rounds ends.
    #[inline(always)]
    fn next(&mut self, rounds: i32) -> (i32, i32) {
        let mut inner = self.inner.get();
        if inner == 0 {
            inner = rounds;
            let outer = self.outer.get();
            self.outer.set(if outer == 0 { OUTER - 1 } else { outer - 1 });
        }
        self.inner.set(inner - 1);
        (self.outer.get(), inner - 1)
    }
}

/// Adds to the counter of this thread's run.
#[inline(always)]
fn add(number: i32) -> i64 {
    let count = COUNT.get();
    // SAFETY: `run` has set it to its own counter, which nothing else touches until it returns.
    unsafe {
        *count += i64::from(number);
        *count
    }
}

extern "C" fn add_pointed() -> i64 {
    // SAFETY: as above; nothing writes to this number.
    add(unsafe { *ADDED.get() })
}

extern "C" fn add_one(number: i32) -> i64 {
    add(number)
}

extern "C" fn add_two(first: i32, second: i32) -> i64 {
    add(first.wrapping_add(second))
}

#[rustfmt::skip]
extern "C" fn add_two_of_fifteen(
    _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, eighth: i32, _: i32, _: i32, _: i32,
    _: i32, _: i32, _: i32, last: i32,
) -> i64 {
    add(eighth.wrapping_add(last))
}
