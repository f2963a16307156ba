//! Builds the clients of tracers, and with the feature `dynamorio` DynamoRIO itself, and packs them for
//! `include_bytes!`.

#[path = "build/dynamorio.rs"]
mod dynamorio;
#[path = "build/patches.rs"]
mod patches;
#[path = "build/qemu.rs"]
mod qemu;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=clients");
    let out = PathBuf::from(variable("OUT_DIR"));
    qemu::build(&out);
    if env::var_os("CARGO_FEATURE_DYNAMORIO").is_some() {
        dynamorio::build(&out);
    }
}

/// The compiler with what every client wants, to link a library.
fn compiler() -> Command {
    let mut command = Command::new(cc::Build::new().get_compiler().path());
    command.args(["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-s"]).args([
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-Werror",
    ]);
    command
}

fn pack(library: &Path, folder: &Path) {
    let name = library.file_name().expect("a library has a name").display().to_string();
    let packed = folder.join(format!("{name}.zst"));
    let content =
        fs::read(library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let written =
        zstd::stream::encode_all(&content[..], 19).and_then(|bytes| fs::write(&packed, bytes));
    written.unwrap_or_else(|error| panic!("{}: {error}", packed.display()));
}

fn run(command: &mut Command, needed: &str) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{:?} cannot be run: {error}; install {needed}", command.get_program())
    });
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}
