//! Trial of a tracer: it traces a program of three instructions.
//!
//! Containers leave out `/proc`, forbid system calls or limit memory in many ways, and a tracer may say nothing or
//! hang then. A run of the smallest program shows it before the user's own is run.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use rustix::fs::{MemfdFlags, memfd_create};

use super::library::own_folder;
use super::{TraceError, Tracer, Unavailable};
use crate::{Ending, Recording, Target, TracePlan};

/// Lies here in memory: any place that DynamoRIO and QEMU do not want.
const ADDRESS: u64 = 0x40_0000;
/// mov $231, %eax; xor %edi, %edi; syscall: it exits with 0.
const CODE: [u8; 9] = [0xb8, 231, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05];
const INSTRUCTIONS: u64 = 3;

/// Tries a tracer, once for this process.
///
/// # Errors
/// If it fails on the program.
pub(super) fn passed(
    tracer: &dyn Tracer,
    passed: &OnceLock<Result<(), Unavailable>>,
) -> Result<(), Unavailable> {
    passed.get_or_init(|| attempt(tracer)).clone()
}

fn attempt(tracer: &dyn Tracer) -> Result<(), Unavailable> {
    let found = match run(tracer) {
        Ok(()) => return Ok(()),
        Err(TraceError::Unavailable(unavailable)) => return Err(unavailable),
        Err(TraceError::Failed { reason, .. }) => reason,
        Err(error) => error.to_string(),
    };
    Err(Unavailable {
        found: format!("it fails on a program of {INSTRUCTIONS} instructions: {found}"),
        next_step: "Check the limits of this container or user: seccomp, limits on memory (ulimit -v), a /proc \
                    that hides processes. Or take another tracer with --tracer."
            .to_owned(),
    })
}

fn run(tracer: &dyn Tracer) -> Result<(), TraceError> {
    let failed = |reason: String| TraceError::Failed { tracer: tracer.name(), reason };
    let file = executable().map_err(|error| failed(error.to_string()))?;
    let folder = own_folder()?;
    let program = folder.join("fd").join(file.as_raw_fd().to_string());
    let target = Target { program, ..Target::default() };
    let mut recording = Recording::default();
    let traced =
        tracer.trace(&target, TracePlan::Learn, &mut recording, &AtomicBool::new(false))?;
    match (traced.ending, traced.instructions) {
        (Ending::Exited(0), INSTRUCTIONS) => Ok(()),
        (ending, instructions) => Err(failed(format!(
            "expected {INSTRUCTIONS} instructions and exit code 0, found {instructions} and {ending}"
        ))),
    }
}

fn executable() -> io::Result<File> {
    let mut file = File::from(memfd_create("trial", MemfdFlags::CLOEXEC)?);
    file.write_all(&image())?;
    Ok(file)
}

/// An executable of 64 bits: its header, one segment, the code (System V ABI, chapter 4 and 5).
fn image() -> Vec<u8> {
    const HEADER: u16 = 64;
    const SEGMENT: u16 = 56;
    let begin = u64::from(HEADER + SEGMENT);
    let size = begin + CODE.len() as u64;
    let mut image = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let (executable, x86_64, version, loaded, read_and_executed) =
        (2_u16, 62_u16, 1_u32, 1_u32, 5_u32);
    image.extend([executable, x86_64].iter().flat_map(|field| field.to_le_bytes()));
    image.extend(version.to_le_bytes());
    image.extend([ADDRESS + begin, HEADER.into(), 0].iter().flat_map(|field| field.to_le_bytes()));
    image.extend(0_u32.to_le_bytes());
    image.extend([HEADER, SEGMENT, 1, 0, 0, 0].iter().flat_map(|field| field.to_le_bytes()));
    image.extend([loaded, read_and_executed].iter().flat_map(|field| field.to_le_bytes()));
    let segment = [0, ADDRESS, ADDRESS, size, size, 4096];
    image.extend(segment.iter().flat_map(|field| field.to_le_bytes()));
    image.extend(CODE);
    image
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_program_runs() {
        let file = executable().unwrap();
        let path = own_folder().unwrap().join(format!("fd/{}", file.as_raw_fd()));
        assert!(Command::new(path).status().unwrap().success());
    }
}
