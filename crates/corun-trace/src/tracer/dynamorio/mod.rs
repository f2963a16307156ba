//! Tracing with DynamoRIO: the program's code is copied, with stores of what it does in between.
//!
//! The quick tracer. DynamoRIO and the client travel inside this binary; to run a program under it, its
//! library is executed in the program's place and loads the program itself.

mod entries;
mod intervals;
mod line_history;
mod sources;

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::image::CommandLine;
use super::library::{Packed, own_folder};
use super::{java, session, trial};
use crate::{Sink, Target, TraceError, TracePlan, Traced, Tracer, Unavailable};
use entries::Entries;

const NAME: &str = "dynamorio";
static DYNAMORIO: Packed = Packed::new(
    "libdynamorio.so",
    include_bytes!(concat!(env!("OUT_DIR"), "/libdynamorio.so.zst")),
);
static CLIENT: Packed =
    Packed::new("client.so", include_bytes!(concat!(env!("OUT_DIR"), "/dynamorio-client.so.zst")));
/// Blocks are what lies together, and children run without DynamoRIO. Blocks are short: in one of
/// hundreds of instructions that use every register (SHA-1 in git) the place of the entry gets lost.
const OPTIONS: &str = "-code_api -no_follow_children -max_bb_instrs 64 -max_elide_jmp 0 \
                       -max_elide_call 0 -stack_size 64K";
/// A folder that is not there: DynamoRIO would read options of the user's own.
const NO_CONFIGURATION: &str = "/proc/self/fdinfo/none";

/// Traces with DynamoRIO.
#[derive(Debug, Clone, Copy)]
pub struct DynamoRio;

impl Tracer for DynamoRio {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        env!("CORUN_DYNAMORIO_VERSION").to_owned()
    }

    fn merit(&self) -> &'static str {
        "more than a hundred million instructions a second, on this machine's own core"
    }

    fn slowdown(&self) -> u32 {
        100
    }

    /// DynamoRIO's issues 3733 and 3892, which report it without any client.
    fn objection(&self, target: &Target) -> Option<&'static str> {
        java::is_started_by(target).then_some("Java's virtual machine dies under it in some runs")
    }

    fn ready(&self) -> Result<(), Unavailable> {
        static PASSED: OnceLock<Result<(), Unavailable>> = OnceLock::new();
        find()?;
        own_namespace()?;
        trial::passed(self, &PASSED)
    }

    fn trace(
        &self,
        target: &Target,
        plan: TracePlan,
        sink: &mut dyn Sink,
        stop: &AtomicBool,
    ) -> Result<Traced, TraceError> {
        let (dynamorio, client) = find()?;
        let command = |line: &CommandLine, channel: &str| {
            let mut command = Command::new(dynamorio);
            command
                .arg0(&line.name)
                .args(&line.arguments)
                .env("DYNAMORIO_EXE_PATH", &line.image)
                .env("DYNAMORIO_RUNUNDER", "1")
                .env("DYNAMORIO_CONFIGDIR", NO_CONFIGURATION)
                .env("DYNAMORIO_OPTIONS", options(&client, channel));
            command
        };
        session::trace(Entries::new(plan.clone().into()), command, target, &plan, sink, stop)
    }
}

/// DynamoRIO reads `/proc` by the number that getpid(2) gives, and hangs where another process has it.
fn own_namespace() -> Result<(), Unavailable> {
    let folder = own_folder()?;
    let (found, expected) = (folder.file_name().unwrap_or_default(), std::process::id());
    if found == OsStr::new(&expected.to_string()) {
        return Ok(());
    }
    Err(Unavailable {
        found: format!(
            "expected a /proc of this process's own namespace, where it is process {expected}, found one where it \
             is process {}",
            found.display()
        ),
        next_step: "Mount one (mount -t proc proc /proc), or take another tracer with --tracer."
            .to_owned(),
    })
}

/// DynamoRIO's library and the client.
fn find() -> Result<(PathBuf, PathBuf), Unavailable> {
    Ok((DYNAMORIO.path()?, CLIENT.path()?))
}

fn options(client: &Path, channel: &str) -> String {
    format!("{OPTIONS} -client_lib \"{};0;{channel}\"", client.to_string_lossy())
}
