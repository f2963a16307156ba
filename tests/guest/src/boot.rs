//! One boot, from the description of a guest to what its scenario sent back.
//!
//! QEMU starts with the guest's CPUs stopped: they are pinned before the kernel's first instruction,
//! and nothing in the guest has to wait for the host.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::host_load::{ForeignLoad, Watch};
use crate::qmp::{End, Qmp};
use crate::{BootError, Guest, Host, Outcome, Results, Scenario, initramfs, pinning};

/// How often a guest that freezes is booted. QEMU 7.2 sometimes goes on executing a breakpoint by
/// which the guest's kernel had patched its own code for a moment.
const ATTEMPTS: u32 = 3;
/// A living guest sends something every two seconds, once it has booted.
const PATIENCE: Duration = Duration::from_secs(30);

/// Guests that are not timed may run side by side.
static BOOTS: RwLock<()> = RwLock::new(());

/// The right to boot, beside others that hold the same or alone.
pub(crate) enum BootPermit {
    /// Other guests of this process may run.
    Shared { _guard: RwLockReadGuard<'static, ()> },
    /// No other guest of this process runs.
    Exclusive { _guard: RwLockWriteGuard<'static, ()> },
}

impl BootPermit {
    fn shared() -> Self {
        Self::Shared { _guard: BOOTS.read().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Waits until no other guest of this process runs, and keeps others from being booted.
    pub(crate) fn exclusive() -> Self {
        Self::Exclusive { _guard: BOOTS.write().unwrap_or_else(PoisonError::into_inner) }
    }
}

impl Guest {
    /// Boots, runs the scenario and powers off; boots again if the whole guest freezes.
    ///
    /// # Errors
    /// If QEMU does not work, or the guest hangs, panics or ends before it has sent everything. A
    /// scenario that ends with an exit code of its own is an outcome.
    pub fn boot(&self, host: &Host, scenario: &Scenario) -> Result<Outcome, BootError> {
        let is_timed = !self.pins.is_empty();
        let permit = if is_timed { BootPermit::exclusive() } else { BootPermit::shared() };
        self.boot_with(&permit, host, scenario)
    }

    /// Boots as [`boot`](Self::boot) does, where the permit is held already.
    pub(crate) fn boot_with(
        &self,
        _permit: &BootPermit,
        host: &Host,
        scenario: &Scenario,
    ) -> Result<Outcome, BootError> {
        self.check_pins(host)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.boot_once(host, scenario)? {
                Attempt::Ended(outcome) => return Ok(outcome),
                Attempt::Frozen(console) if attempts == ATTEMPTS => {
                    return Err(BootError::Frozen { attempts, console });
                }
                Attempt::Frozen(_) => {
                    eprintln!("the guest froze; booting it again");
                    corun_testing::count("boots repeated because the guest froze");
                }
            }
        }
    }

    fn boot_once(&self, host: &Host, scenario: &Scenario) -> Result<Attempt, BootError> {
        let folder = tempfile::tempdir()
            .map_err(|source| BootError::Qemu { source, said: String::new() })?;
        let ended = self.run(host, scenario, folder.path());
        self.judge(ended, folder.path())
    }

    fn check_pins(&self, host: &Host) -> Result<(), BootError> {
        let (cpus, cores) = (self.cpus(), host.cores());
        if self.pins.len() > cpus as usize || self.pins.iter().any(|&pin| pin >= cores) {
            return Err(BootError::Pins { cpus, cores, pins: self.pins.clone() });
        }
        Ok(())
    }

    /// Runs QEMU in `folder` until the guest has ended; `None` if it froze.
    fn run(
        &self,
        host: &Host,
        scenario: &Scenario,
        folder: &Path,
    ) -> io::Result<Option<ForeignLoad>> {
        initramfs::with_scenario(&host.initramfs, &host.busybox, scenario, folder)?;
        let (ours, theirs) = UnixStream::pair()?;
        let theirs = OwnedFd::from(theirs);
        let watch = Watch::begin(Path::new("/"))?;
        let qemu = Qemu(
            Command::new(&host.qemu)
                .arg("-kernel")
                .arg(&host.kernel)
                .args(self.qemu_arguments())
                .current_dir(folder)
                .stdin(theirs.try_clone()?)
                .stdout(theirs)
                .stderr(File::create(folder.join("said"))?)
                .spawn()?,
        );
        let mut qmp = Qmp::new(ours, Instant::now() + self.deadline)?;
        for (thread, &pin) in qmp.cpu_threads()?.into_iter().zip(&self.pins) {
            pinning::pin(thread, host.cores[pin])?;
        }
        qmp.start()?;
        let sent = || fs::metadata(folder.join("results")).map_or(0, |results| results.len());
        match qmp.wait_for_end(PATIENCE, sent)? {
            End::Ended => watch.end(Path::new("/"), qemu.ended()?).map(Some),
            End::Frozen => Ok(None),
        }
    }

    fn judge(
        &self,
        ended: io::Result<Option<ForeignLoad>>,
        folder: &Path,
    ) -> Result<Attempt, BootError> {
        let text = |name| {
            fs::read(folder.join(name))
                .map(|bytes| String::from_utf8_lossy(&bytes).replace('\r', ""))
                .unwrap_or_default()
        };
        let (console, said) = (text("console"), text("said"));
        if console.contains("Kernel panic - not syncing") {
            return Err(BootError::KernelPanic(console));
        }
        let load = ended.map_err(|source| match source.kind() {
            io::ErrorKind::TimedOut => {
                BootError::Deadline { deadline: self.deadline, console: console.clone() }
            }
            _ => BootError::Qemu { source, said: said.clone() },
        })?;
        let Some(load) = load else { return Ok(Attempt::Frozen(console)) };
        let sent = fs::read(folder.join("results")).unwrap_or_default();
        match Results::parse(&sent) {
            Ok(results) => {
                let test = std::thread::current().name().unwrap_or("a boot").to_owned();
                let boot = load.elapsed.saturating_sub(results.scenario);
                corun_testing::boot(&test, boot, results.scenario);
                Ok(Attempt::Ended(Outcome { results, console, load }))
            }
            Err(source) => Err(BootError::Results { source, said, console }),
        }
    }
}

/// How one boot went.
enum Attempt {
    Ended(Outcome),
    /// With what it printed.
    Frozen(String),
}

/// A running QEMU, which does not outlive its test.
struct Qemu(Child);

impl Qemu {
    /// Its process, ended but still known to the system.
    fn ended(&self) -> io::Result<Pid> {
        let process = Pid::from_child(&self.0);
        waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        Ok(process)
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
