//! Tracing with QEMU's user mode and a plugin: needs only the system's package.
//!
//! The program runs on an emulated core, which knows AVX2 and no AVX-512; what a program chooses by asking
//! which core it has may differ from what it does on the real one.

mod accesses;
mod blocks;
mod entries;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::image::CommandLine;
use super::library::Packed;
use super::{session, trial};
use crate::{Sink, Target, TraceError, TracePlan, Traced, Tracer, Unavailable};
use entries::Entries;

/// As given to `--tracer`.
const NAME: &str = "qemu";
const PROGRAM: &str = "qemu-x86_64";
const REMARKS: [&str; 3] = [
    "Run on a core that QEMU emulates: programs that ask for its features may choose other code than on \
     this machine.",
    "QEMU does not report signals, and raises none for floating-point exceptions that a program unmasks.",
    "The addresses of prefetches are not known, and those of masked vectors are of their first lane.",
];

/// The client by the version of QEMU's plugin interface that it speaks, newest first.
static CLIENTS: [(u32, Packed); 2] = [
    (
        9,
        Packed::new(
            "client-2.so",
            include_bytes!(concat!(env!("OUT_DIR"), "/qemu-client-2.so.zst")),
        ),
    ),
    (
        0,
        Packed::new(
            "client-1.so",
            include_bytes!(concat!(env!("OUT_DIR"), "/qemu-client-1.so.zst")),
        ),
    ),
];

/// Traces with QEMU.
#[derive(Debug, Clone, Copy)]
pub struct Qemu;

impl Tracer for Qemu {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        let qemu = which::which(PROGRAM).ok();
        let text = qemu.and_then(|qemu| said(&qemu, "--version").ok()).unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    }

    fn merit(&self) -> &'static str {
        "about a hundred million instructions a second, on an emulated core without AVX-512"
    }

    fn slowdown(&self) -> u32 {
        100
    }

    fn ready(&self) -> Result<(), Unavailable> {
        static PASSED: OnceLock<Result<(), Unavailable>> = OnceLock::new();
        find()?;
        trial::passed(self, &PASSED)
    }

    fn trace(
        &self,
        target: &Target,
        plan: TracePlan,
        sink: &mut dyn Sink,
        stop: &AtomicBool,
    ) -> Result<Traced, TraceError> {
        let (qemu, client) = find()?;
        let command = |line: &CommandLine, channel: &str| {
            let mut command = Command::new(qemu);
            command.args(["-cpu", "max", "-plugin"]).arg(plugin(&client, channel));
            command.arg("-0").arg(&line.name).arg(&line.image).args(&line.arguments);
            command
        };
        session::trace(Entries::new(plan.clone()), command, target, &plan, sink, stop)
    }
}

/// QEMU's argument that loads the client; commas separate its parts, so that none may be in a path.
fn plugin(client: &Path, channel: &str) -> String {
    let file = client.to_string_lossy().replace(',', ",,");
    format!("file={file},channel={}", channel.replace(',', ":"))
}

/// QEMU and the client for its version.
fn find() -> Result<(PathBuf, PathBuf), Unavailable> {
    let unavailable = |found: String| Unavailable {
        found,
        next_step: "Install QEMU's user mode (Debian: qemu-user), or take another tracer with \
                    --tracer."
            .to_owned(),
    };
    let qemu = which::which(PROGRAM).map_err(|_| unavailable(format!("there is no {PROGRAM}")))?;
    let said = |argument: &str| {
        said(&qemu, argument).map_err(|error| unavailable(format!("{PROGRAM}: {error}")))
    };
    if !said("-help")?.contains("-plugin") {
        return Err(unavailable(format!("{PROGRAM} was built without plugins")));
    }
    let version = said("--version")?;
    let major = version.split_whitespace().find_map(|word| word.split_once('.')?.0.parse().ok());
    let major: u32 = major.ok_or_else(|| {
        unavailable(format!("expected the version of {PROGRAM}, found {version:?}"))
    })?;
    let mut clients = CLIENTS.iter();
    let (_, client) = clients.find(|(oldest, _)| major >= *oldest).expect("one is for any version");
    Ok((qemu, client.path()?))
}

fn said(qemu: &Path, argument: &str) -> std::io::Result<String> {
    let output = Command::new(qemu).arg(argument).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
