//! Giving up the copy of corun's memory before a worker's time begins.
//!
//! fork copies corun's address space, and exec takes the copy down again: with a few megabytes that is
//! tens of microseconds, which were part of every makespan. A worker that waits at the barrier needs its
//! stack, its thread's data, the shared memory and the code, and gives up the rest.

use std::ffi::CString;
use std::io;
use std::ptr;

use super::process_maps::{Region, private_memory};

/// Arguments of exec, in memory of its own that is shared with the child rather than copied.
pub(crate) struct Execution {
    view: ExecutionView,
    length: usize,
}

/// Pointers into the memory of an [`Execution`] that outlives this.
#[derive(Clone, Copy)]
pub(crate) struct ExecutionView {
    path: *const libc::c_char,
    argv: *const *const libc::c_char,
    envp: *const *const libc::c_char,
}

impl Execution {
    pub(crate) fn new(
        path: &CString,
        arguments: &[CString],
        variables: &[CString],
    ) -> io::Result<Self> {
        let pointers = arguments.len() + variables.len() + 2;
        let pointer_bytes = pointers * size_of::<*const libc::c_char>();
        let texts = || arguments.iter().chain(variables).chain([path]);
        let length = pointer_bytes + texts().map(|it| it.as_bytes_with_nul().len()).sum::<usize>();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: a new mapping of this length, checked below.
        let memory = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let argv = memory.cast::<*const libc::c_char>();
        // SAFETY: first all pointers, each list ended by null, then all texts: as much as was mapped.
        unsafe {
            let envp = argv.add(arguments.len() + 1);
            let mut text = memory.cast::<u8>().add(pointer_bytes);
            let mut copy = |from: &CString| {
                let bytes = from.as_bytes_with_nul();
                ptr::copy_nonoverlapping(bytes.as_ptr(), text, bytes.len());
                let start = text.cast_const().cast();
                text = text.add(bytes.len());
                start
            };
            for (index, argument) in arguments.iter().enumerate() {
                argv.add(index).write(copy(argument));
            }
            argv.add(arguments.len()).write(ptr::null());
            for (index, variable) in variables.iter().enumerate() {
                envp.add(index).write(copy(variable));
            }
            envp.add(variables.len()).write(ptr::null());
            let view = ExecutionView { path: copy(path), argv, envp };
            Ok(Self { view, length })
        }
    }

    pub(crate) fn view(&self) -> ExecutionView {
        self.view
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        // SAFETY: unmaps what `new` mapped, which begins with the arguments' pointers.
        unsafe { libc::munmap(self.view.argv.cast_mut().cast(), self.length) };
    }
}

impl ExecutionView {
    /// Becomes the program; returns only if that fails. Usable between fork and exec.
    pub(crate) fn execute(self) {
        // SAFETY: the lists end with null, the texts with NUL, and the memory lives on.
        unsafe { libc::execve(self.path, self.argv, self.envp) };
    }
}

/// The most regions that are given up; the child cannot allocate.
const MAX_REGIONS: usize = 256;

/// Regions that a child of the calling thread gives up.
pub(crate) struct MemoryRelease {
    regions: [Region; MAX_REGIONS],
    count: usize,
}

impl Default for MemoryRelease {
    fn default() -> Self {
        Self { regions: [Region { start: 0, end: 0 }; MAX_REGIONS], count: 0 }
    }
}

impl MemoryRelease {
    /// All private memory except this thread's stack and data; nothing where the kernel does not
    /// list it.
    pub(crate) fn of_this_thread() -> Self {
        let mut memory_release = Self::default();
        let maps = corun_files::kernel_text("/proc/self/maps").unwrap_or_default();
        let here = 0_u8;
        // SAFETY: the address of this thread's errno.
        let needed = [ptr::from_ref(&here) as usize, unsafe { libc::__errno_location() } as usize];
        let free =
            private_memory(&maps).filter(|region| !needed.iter().any(|it| region.holds(*it)));
        for (kept, region) in memory_release.regions.iter_mut().zip(free) {
            *kept = region;
            memory_release.count += 1;
        }
        memory_release
    }

    /// Gives them up.
    ///
    /// # Safety
    /// Only in a child between fork and exec that uses no other memory than its stack, its thread's
    /// data, shared memory and what was loaded from files.
    pub(crate) unsafe fn apply(&self) {
        for region in &self.regions[..self.count] {
            // SAFETY: the caller needs none of it.
            unsafe { libc::munmap(region.start as *mut libc::c_void, region.end - region.start) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn what_exec_is_given_lies_in_one_place() {
        let texts =
            |all: &[&str]| all.iter().map(|it| CString::new(*it).unwrap()).collect::<Vec<_>>();
        let path = CString::new("/bin/x").unwrap();
        let execution = Execution::new(&path, &texts(&["x", "", "a b"]), &texts(&["A=1"])).unwrap();
        let view = execution.view();
        // SAFETY: the lists and texts that were just made.
        let read = |list: *const *const libc::c_char| unsafe {
            let mut found = Vec::new();
            while !(*list.add(found.len())).is_null() {
                found.push(CStr::from_ptr(*list.add(found.len())).to_str().unwrap().to_owned());
            }
            found
        };
        assert_eq!(read(view.argv), ["x", "", "a b"]);
        assert_eq!(read(view.envp), ["A=1"]);
        // SAFETY: as above.
        assert_eq!(unsafe { CStr::from_ptr(view.path) }, &*path);
    }

    #[test]
    fn memory_is_given_up_but_not_the_stack() {
        let memory = vec![1_u8; 4 << 20];
        let memory_release = MemoryRelease::of_this_thread();
        let regions = &memory_release.regions[..memory_release.count];
        assert!(regions.iter().any(|region| region.holds(memory.as_ptr() as usize)));
        let here = 0_u8;
        assert!(!regions.iter().any(|region| region.holds(ptr::from_ref(&here) as usize)));
    }
}
