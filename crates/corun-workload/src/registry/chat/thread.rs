//! Threads of a forked child. The standard library's own begin by taking a lock, which another thread
//! of the parent may have held at the fork, and then it would never be released; the C library puts
//! its locks in order in the child.

use std::ffi::c_void;
use std::io;
use std::ptr;

/// The stack of a thread that calls nothing deep, in bytes; there may be thousands.
pub(super) const STACK_BYTES: usize = 64 << 10;

/// Starts a thread that is never waited for, with a stack of so many bytes.
///
/// # Errors
/// The system's, if it gives no thread or no memory.
pub(super) fn start(work: impl FnOnce() + Send + 'static, stack_bytes: usize) -> io::Result<()> {
    // A box of a box, since the pointer to work of any kind is twice as wide as the thread's argument.
    let work: Box<dyn FnOnce() + Send> = Box::new(work);
    let argument = Box::into_raw(Box::new(work));
    // SAFETY: the structure is plain bytes, initialised by the first call; the pointers live as long
    // as the calls; `begin` takes the argument over if there is a thread, else it is taken back.
    let errno = unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, stack_bytes);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut thread = std::mem::zeroed::<libc::pthread_t>();
        let attributes = &raw mut attributes;
        let errno = libc::pthread_create(&raw mut thread, attributes, begin, argument.cast());
        libc::pthread_attr_destroy(attributes);
        errno
    };
    if errno == 0 {
        return Ok(());
    }
    // SAFETY: no thread has been started that could have taken it.
    drop(unsafe { Box::from_raw(argument) });
    Err(io::Error::from_raw_os_error(errno))
}

extern "C" fn begin(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `start` made it of a box of this type, for this call alone.
    let work = unsafe { Box::from_raw(argument.cast::<Box<dyn FnOnce() + Send>>()) };
    work();
    ptr::null_mut()
}
