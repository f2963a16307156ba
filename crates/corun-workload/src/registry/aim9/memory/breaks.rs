//! The end of a process's data segment, which the `brk` system call moves: lowered by 64 KiB, raised
//! again in sixteen steps of a page each.
//!
//! The allocator of this process moves its break too, and does not expect others to. So a child
//! process does it, which consists of one thread and allocates nothing.

use std::io::{self, Read, Write};
use std::marker::PhantomData;

use super::super::descriptor;
use crate::ended::end;
use crate::peer::Peer;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

pub(in super::super) static BRK_TEST: Workload = Workload {
    descriptor: &descriptor(
        "aim9/brk_test",
        "memory given back to the kernel and taken again a page at a time",
        &[Tag::SystemCalls],
        ["a break call", "calls"],
        1.0,
        "operations/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Breaks<Untouched>>,
};

pub(in super::super) static PAGE_TEST: Workload = Workload {
    descriptor: &descriptor(
        "aim9/page_test",
        "memory given back to the kernel, taken again by pages, and written to",
        &[Tag::SystemCalls, Tag::Tlb],
        ["a break call", "calls"],
        1.0,
        "operations/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Breaks<Written>>,
};

/// Increment of the break by a call, in bytes.
const PAGE: usize = 4096;

/// Calls of a round: one that lowers the break, and those that raise it again.
const ROUND: u64 = 17;

/// Increment of the break before the first round, in bytes.
const RAISED: usize = 1 << 20;

/// The distance between the bytes that are written.
const STRIDE: usize = 128;

/// Use of a page that was just allocated.
trait PageUse: Send + 'static {
    /// # Safety
    /// The page is memory of this process that nothing uses.
    unsafe fn touch(page: *mut u8);
}

struct Untouched;

impl PageUse for Untouched {
    unsafe fn touch(_: *mut u8) {}
}

struct Written;

impl PageUse for Written {
    unsafe fn touch(page: *mut u8) {
        for place in (0..PAGE).step_by(STRIDE) {
            // SAFETY: inside the page, by the function's contract.
            unsafe { page.add(place).write_volatile(b' ') };
        }
    }
}

struct Breaks<T> {
    child: Option<Child>,
    heights: u64,
    taken: PhantomData<T>,
}

impl<T> Default for Breaks<T> {
    fn default() -> Self {
        Self { child: None, heights: 0, taken: PhantomData }
    }
}

impl<T: PageUse> Kernel for Breaks<T> {
    fn reset(&mut self) {
        self.heights = 0;
        self.child = None;
        let child = Child::start::<T>();
        self.child = Some(child.unwrap_or_else(|error| end("a child process is refused", error)));
    }

    fn run(&mut self, operations: u64) {
        let child = self.child.as_mut().expect("`reset` comes first");
        self.heights = child.order(operations).unwrap_or_else(|error| {
            end("its child may not move its break (ulimit -d, ulimit -v)", error)
        });
    }

    /// The sum of the break's heights after each call, in pages above the lowest.
    fn check(&self) -> u64 {
        self.heights
    }
}

/// The process that moves its break.
struct Child {
    orders: io::PipeWriter,
    answers: io::PipeReader,
    _process: Peer,
}

impl Child {
    fn start<T: PageUse>() -> io::Result<Self> {
        let (mut orders_out, orders) = io::pipe()?;
        let (answers, mut answers_in) = io::pipe()?;
        let process = Peer::fork(|| {
            let mut order = [0; 8];
            let Some(mut segment) = Segment::new() else { return };
            while orders_out.read_exact(&mut order).is_ok() {
                let Some(heights) = segment.calls::<T>(u64::from_ne_bytes(order)) else { return };
                if answers_in.write_all(&heights.to_ne_bytes()).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { orders, answers, _process: process })
    }

    /// Lets it make so many calls, and returns its answer.
    fn order(&mut self, calls: u64) -> io::Result<u64> {
        self.orders.write_all(&calls.to_ne_bytes())?;
        let mut answer = [0; 8];
        self.answers.read_exact(&mut answer)?;
        Ok(u64::from_ne_bytes(answer))
    }
}

/// The data segment of the child.
struct Segment {
    /// Place of its end before and after a round.
    high: usize,
}

impl Segment {
    /// Raises the break; `None` if the kernel refuses.
    fn new() -> Option<Self> {
        let high = break_at(0).checked_add(RAISED)?;
        (break_at(high) == high).then_some(Self { high })
    }

    /// Makes so many calls, the first of which begins a round, and leaves the break high; `None` if the
    /// kernel refuses one.
    fn calls<T: PageUse>(&mut self, calls: u64) -> Option<u64> {
        let low = self.high - 16 * PAGE;
        let mut heights = 0;
        let mut end = self.high;
        for call in 0..calls {
            let step = call % ROUND;
            let taken = end;
            end = if step == 0 { low } else { end + PAGE };
            if break_at(end) != end {
                return None;
            }
            if step > 0 {
                // SAFETY: the kernel has just given the page, and nothing but this process has it.
                unsafe { T::touch(taken as *mut u8) };
            }
            heights += step;
        }
        (end == self.high || break_at(self.high) == self.high).then_some(heights)
    }
}

/// Asks for another end of the data segment, and returns the one that there is afterwards.
#[inline]
fn break_at(end: usize) -> usize {
    // SAFETY: the segment's lower part, which the allocator knows, stays; see the module's head.
    unsafe { libc::syscall(libc::SYS_brk, end) as usize }
}
