//! What this machine offers to guests, obtained once: QEMU, a kernel, corun and its userland.
//!
//! A machine that lacks something makes tests skip, with the reason; what is there but does not
//! work makes them fail.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::{initramfs, kernel, program};

/// The programs and files that every boot needs.
#[derive(Debug)]
pub struct Host {
    pub(crate) qemu: PathBuf,
    pub(crate) busybox: PathBuf,
    pub(crate) kernel: PathBuf,
    /// Busybox, corun and the first process, as a cpio archive.
    pub(crate) initramfs: PathBuf,
    kill_at_step: PathBuf,
    duty_cycle: PathBuf,
    /// One allowed logical CPU of each core.
    pub(crate) cores: Vec<usize>,
}

/// Why no guest can be booted here.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The machine lacks something that a user can install or allow: the tests skip.
    #[error("{0}")]
    Missing(String),
    /// Something is there and does not work: the tests fail.
    #[error("{0}")]
    Broken(String),
}

impl From<io::Error> for Unavailable {
    fn from(error: io::Error) -> Self {
        Self::Broken(format!("cannot prepare the guest's files: {error}"))
    }
}

impl Host {
    /// This machine, prepared on the first call of a process; nothing is built or downloaded twice.
    ///
    /// # Errors
    /// What is missing or broken; the same at every call.
    pub fn get() -> Result<&'static Self, &'static Unavailable> {
        static HOST: OnceLock<Result<Host, Unavailable>> = OnceLock::new();
        HOST.get_or_init(Self::prepare).as_ref()
    }

    /// This machine, or `None` after recording the skip.
    ///
    /// # Panics
    /// If something is there and does not work.
    pub fn or_skip() -> Option<&'static Self> {
        match Self::get() {
            Ok(host) => Some(host),
            Err(Unavailable::Missing(reason)) => {
                corun_testing::skip("guest", reason);
                None
            }
            Err(Unavailable::Broken(reason)) => panic!("{reason}"),
        }
    }

    /// How many guest CPUs can be pinned to host CPUs of their own.
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// A program for guests that kills another one at each step by which that changes something;
    /// `kill-at-step --help` says how.
    pub fn kill_at_step(&self) -> &Path {
        &self.kill_at_step
    }

    /// A program for guests that keeps CPUs busy in turns and monitors them; `duty-cycle --help` says how.
    pub fn duty_cycle(&self) -> &Path {
        &self.duty_cycle
    }

    fn prepare() -> Result<Self, Unavailable> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Unavailable::Missing("the guest is an x86-64 machine, this is not".into()));
        }
        let qemu = command("qemu-system-x86_64", "qemu-system-x86")?;
        let busybox = command("busybox", "busybox-static")?;
        require_static(&busybox)?;
        let cache = cache_folder()?;
        // Held until the files are complete: other test processes then find them and go on.
        let lock = File::create(cache.join("lock"))?;
        lock.lock()?;
        let kernel = kernel::obtain(&cache)?;
        let target = cache.parent().unwrap_or(&cache);
        let corun = program::corun(target, &cache)?;
        let kill_at_step = program::own("kill-at-step", &cache)?;
        let duty_cycle = program::own("duty-cycle", &cache)?;
        let libraries = &(&corun.libraries | &kill_at_step.libraries) | &duty_cycle.libraries;
        let initramfs = initramfs::base(&busybox, &corun.path, libraries.iter(), &cache)?;
        let cores = crate::pinning::one_cpu_per_core(Path::new("/"))?;
        let (kill_at_step, duty_cycle) = (kill_at_step.path, duty_cycle.path);
        Ok(Self { qemu, busybox, kernel, initramfs, kill_at_step, duty_cycle, cores })
    }
}

fn command(name: &str, package: &str) -> Result<PathBuf, Unavailable> {
    which::which(name).map_err(|_| {
        Unavailable::Missing(format!("{name} is missing (on Debian, package {package})"))
    })
}

/// A dynamically linked program names its loader; in the guest there is none.
fn require_static(busybox: &Path) -> Result<(), Unavailable> {
    let names_loader = fs::read(busybox)?.windows(11).any(|bytes| bytes == b"/ld-linux-x");
    if names_loader {
        return Err(Unavailable::Missing(format!(
            "{} is linked dynamically (on Debian, package busybox-static)",
            busybox.display()
        )));
    }
    Ok(())
}

/// `guest/` in the target folder that this test was built in.
fn cache_folder() -> io::Result<PathBuf> {
    let executable = std::env::current_exe()?;
    let target = executable.ancestors().nth(3).ok_or(io::ErrorKind::NotFound)?;
    let folder = target.join("guest");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
