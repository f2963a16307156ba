//! System V shared memory: a message is copied into it and out of it, each time between taking and
//! giving back a semaphore.

use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use super::ipc;
use super::traffic::{Carrier, messages};
use crate::semaphore::{self, Semaphore};
use crate::workload::{Workload, anywhere};
use crate::{Job, Parameters, WorkloadError};

/// A segment and a semaphore are made for every 100 messages.
pub(in super::super) static SHARED_MEMORY: Workload = Workload {
    descriptor: &ipc(
        "aim9/shared_memory",
        "messages through System V shared memory, with a semaphore",
        "operations/s",
        MESSAGES as u32,
        MESSAGES as u32,
        0,
    ),
    unavailable: anywhere,
    prepare,
};

/// Messages that a segment is made for.
const MESSAGES: u64 = 100;

/// Bytes of a segment.
const SEGMENT: usize = 64 << 10;

fn prepare(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    semaphore::remove_abandoned();
    let segments = (0..workers.get()).map(|_| Shared::new);
    messages(segments, MESSAGES, |error| WorkloadError::Unavailable {
        workload: SHARED_MEMORY.descriptor.name,
        reason: format!(
            "the system gives no System V shared memory and semaphore (see `ipcs -l`): {error}"
        ),
    })
}

/// A segment that goes with the process, and the semaphore of the process that works on it.
struct Shared {
    semaphore: Semaphore,
    address: NonNull<u8>,
}

// SAFETY: the memory belongs to the process and is used through this value alone.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, SEGMENT, libc::IPC_CREAT | 0o600) };
        if id == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the system chooses an address that is free.
        let address = unsafe { libc::shmat(id, std::ptr::null(), 0) };
        let error = io::Error::last_os_error();
        // SAFETY: this command needs no buffer; the segment stays until it is detached.
        unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
        // The system gives all ones where it gives no address.
        let address = (address.addr() != usize::MAX).then_some(address.cast());
        let address = address.and_then(NonNull::new).ok_or(error)?;
        match Semaphore::new(1) {
            Ok(semaphore) => Ok(Self { semaphore, address }),
            Err(error) => {
                detach(address);
                Err(error)
            }
        }
    }

    fn locked(&self, work: impl FnOnce()) -> io::Result<()> {
        self.semaphore.wait()?;
        work();
        self.semaphore.signal()
    }
}

impl Carrier for Shared {
    #[inline(always)]
    fn carry(&self, out: &[u8], into: &mut [u8]) -> io::Result<()> {
        let (segment, size) = (self.address.as_ptr(), out.len());
        let (from, to) = (out.as_ptr(), into.as_mut_ptr());
        // SAFETY: a segment is longer than any message, and lies apart from both buffers.
        self.locked(|| unsafe { segment.copy_from_nonoverlapping(from, size) })?;
        // SAFETY: as above; both buffers are as long as the message.
        self.locked(|| unsafe { segment.copy_to_nonoverlapping(to, size) })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        detach(self.address);
    }
}

fn detach(address: NonNull<u8>) {
    // SAFETY: a segment begins there, and nothing uses it any more.
    unsafe { libc::shmdt(address.as_ptr().cast::<c_void>()) };
}
