//! DynamoRIO and its client.
//!
//! The source is that of the crate `dynamorio-sys`, which is in Cargo.lock but never compiled: its bindings
//! would link this process to DynamoRIO. `CORUN_DYNAMORIO_SOURCE` names another source. `CORUN_DYNAMORIO_BUILD`
//! names a folder where it is built once for several target folders.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::patches::{self, PATCHES};
use super::{compiler, pack, run, variable};

const CLIENT: &str = "clients/dynamorio";
const NEEDED: &str = "cmake, make and a C compiler";
/// Extensions that the client is linked with, in this order. All of them are under the BSD licence;
/// `drutil` and `drwrap` are not, and have no place here.
const EXTENSIONS: [&str; 3] = ["drreg_static", "drmgr_static", "drcontainers"];
/// Annotations among them: DynamoRIO would take those for Valgrind, which V8's code holds, for its own, and
/// put code in their place that is not the program's.
const LEFT_OUT: [&str; 7] = [
    "ANNOTATIONS",
    "BUILD_CLIENTS",
    "BUILD_DOCS",
    "BUILD_SAMPLES",
    "BUILD_TESTS",
    "BUILD_TOOLS",
    "DEBUG",
];

pub(super) fn build(out: &Path) {
    println!("cargo::rerun-if-env-changed=CORUN_DYNAMORIO_SOURCE");
    println!("cargo::rerun-if-env-changed=CORUN_DYNAMORIO_BUILD");
    let shared = env::var_os("CORUN_DYNAMORIO_BUILD").map(PathBuf::from);
    let _lock = shared.as_deref().map(locked);
    let built = dynamorio(&shared.unwrap_or_else(|| out.join("dynamorio")));
    println!("cargo::rustc-env=CORUN_DYNAMORIO_VERSION={}", version(&built));
    let client = out.join("dynamorio-client.so");
    link_client(&built, &client);
    pack(&built.join("lib64/release/libdynamorio.so"), out);
    pack(&client, out);
}

/// Other builds that share the folder wait until this lock is closed. Its file stands beside the folder, which a
/// build removes.
fn locked(folder: &Path) -> File {
    let path = folder.with_extension("lock");
    let parent = path.parent().expect("the folder has a name");
    fs::create_dir_all(parent)
        .and_then(|()| File::create(&path))
        .and_then(|file| file.lock().map(|()| file))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compiler options behind DynamoRIO's own, `-O3 -g3`: nobody debugs what is packed.
const COMPILER_OPTIONS: &str = "-O2 -g0";

/// Builds DynamoRIO in a folder, where an earlier build stays valid as long as its source, what is left out
/// and the patches are the same.
fn dynamorio(folder: &Path) -> PathBuf {
    let stamp = folder.join("built-from");
    let source = source();
    let left_out = LEFT_OUT.join(", ");
    let wanted =
        format!("{} without {left_out} with {PATCHES:?} {COMPILER_OPTIONS}", source.display());
    if fs::read_to_string(&stamp).is_ok_and(|built| built == wanted) {
        return folder.to_owned();
    }
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let source = patched(&source, folder);
    let mut configure = Command::new("cmake");
    configure
        .current_dir(folder)
        .arg(&source)
        .env("CFLAGS", COMPILER_OPTIONS)
        .args(["-DCMAKE_BUILD_TYPE=Release", "-DDISABLE_WARNINGS=ON"])
        .args(LEFT_OUT.map(|option| format!("-D{option}=OFF")));
    run(&mut configure, NEEDED);
    let mut build = Command::new("cmake");
    build
        .current_dir(folder)
        .args(["--build", ".", "--parallel", &variable("NUM_JOBS"), "--target"])
        .args(["dynamorio", "api_headers"])
        .args(EXTENSIONS);
    run(&mut build, NEEDED);
    fs::write(&stamp, wanted).unwrap_or_else(|error| panic!("{}: {error}", stamp.display()));
    folder.to_owned()
}

/// A patched copy of the source in a folder: other packages may be built from the one that is there.
fn patched(source: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("source");
    run(Command::new("cp").args(["-R", "--"]).arg(source).arg(&copy), "cp");
    for patch in &PATCHES {
        let file = copy.join(patch.file);
        let text =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let patched = patches::apply(patch, &text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        fs::write(&file, patched).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    copy
}

fn source() -> PathBuf {
    if let Some(source) = env::var_os("CORUN_DYNAMORIO_SOURCE") {
        return source.into();
    }
    let output = Command::new(variable("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .output()
        .unwrap_or_else(|error| panic!("cargo metadata: {error}"));
    let described: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("cargo metadata: {error}: {}", String::from_utf8_lossy(&output.stderr))
        });
    let packages = described["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|package| package["name"] == "dynamorio-sys")
        .find_map(|package| package["manifest_path"].as_str())
        .expect("Cargo.lock has the package dynamorio-sys");
    Path::new(manifest).with_file_name("dynamorio")
}

/// Of what was built, whatever the source: its header holds 100 times the major version plus the minor one.
fn version(built: &Path) -> String {
    let header = fs::read_to_string(built.join("include/dr_api.h")).unwrap_or_default();
    let number = header
        .lines()
        .find_map(|line| line.split_once("define _USES_DR_VERSION_")?.1.trim().parse::<u32>().ok())
        .expect("DynamoRIO's header says its version");
    format!("{}.{}", number / 100, number % 100)
}

fn link_client(built: &Path, client: &Path) {
    let mut sources: Vec<PathBuf> = fs::read_dir(CLIENT)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .unwrap_or_else(|error| panic!("{CLIENT}: {error}"));
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    sources.sort();
    let mut command = compiler();
    command
        .args(["-fno-builtin", "-fno-stack-protector", "-nostdlib"])
        .args(["-Wl,--hash-style=both", "-Wl,-z,defs"])
        .args(["-DLINUX", "-DX86_64", "-DUSE_VISIBILITY_ATTRIBUTES"])
        .args(
            ["include", "ext/include"].map(|folder| format!("-I{}", built.join(folder).display())),
        )
        .args(sources)
        .args(EXTENSIONS.map(|name| built.join(format!("ext/lib64/release/lib{name}.a"))))
        .arg(built.join("lib64/release/libdynamorio.so"))
        .args(["drmemfuncs", "drlibc"].map(|name| built.join(format!("lib64/lib{name}.a"))))
        .arg("-o")
        .arg(client);
    run(&mut command, NEEDED);
}
