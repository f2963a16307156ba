//! Builds QEMU's client, once for each version of its plugin interface, and packs it for
//! `include_bytes!`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSIONS: [u32; 2] = [1, 2];
const SOURCE: &str = "clients/qemu/client.c";

fn main() {
    println!("cargo::rerun-if-changed=clients");
    let out = PathBuf::from(variable("OUT_DIR"));
    for version in VERSIONS {
        let client = out.join(format!("qemu-client-{version}.so"));
        let compiler = cc::Build::new().get_compiler();
        run(Command::new(compiler.path())
            .args([
                "-std=gnu11",
                "-O2",
                "-fPIC",
                "-fvisibility=hidden",
                "-pthread",
                "-shared",
                "-s",
            ])
            .args(["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"])
            .arg(format!("-DQEMU_PLUGIN_VERSION={version}"))
            .arg(SOURCE)
            .arg("-o")
            .arg(&client));
        pack(&client, &out);
    }
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

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{:?} cannot be run: {error}; install a C compiler", command.get_program())
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
