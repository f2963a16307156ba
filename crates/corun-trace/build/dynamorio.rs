//! DynamoRIO and its client.
//!
//! The source is that of the crate `dynamorio-sys`, which is in Cargo.lock but never compiled: its bindings
//! would link this process to DynamoRIO. `CORUN_DYNAMORIO_SOURCE` names another source.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{compiler, pack, run, variable};

const CLIENT: &str = "clients/dynamorio";
const NEEDED: &str = "cmake, make and a C compiler";
/// What the client is linked with, in this order.
const EXTENSIONS: [&str; 4] = ["drutil_static", "drreg_static", "drmgr_static", "drcontainers"];
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

/// A place in DynamoRIO's source that is replaced.
struct Mend {
    file: &'static str,
    faulty: &'static str,
    sound: &'static str,
}

const MENDS: [Mend; 5] =
    [WRITTEN_CODE, FRAGMENT_FIELD, FRAGMENT_TOLD, FRAGMENT_NOTED, FRAGMENT_FORGOTTEN];

/// Where a program writes to a page that code was executed from, DynamoRIO goes on with the next block as if
/// the registers were the program's; those that a client has borrowed are not, and the client must know that
/// the block ends. As for a signal, the whole state has to be translated, not the place alone.
const WRITTEN_CODE: Mend = Mend {
    file: "core/unix/signal.c",
    faulty: "
            translated_pc = recreate_app_pc(dcontext, instr_cache_pc, f);
            ASSERT(translated_pc != NULL);
            d_r_mutex_unlock(&thread_initexit_lock);
        }

        next_pc =
            handle_modified_code(dcontext, instr_cache_pc, translated_pc, target, f);
",
    sound: "
            d_r_mutex_unlock(&thread_initexit_lock);
            translate_sigcontext(dcontext, uc, true, f);
            translated_pc = (app_pc)SIGCXT_FROM_UCXT(uc)->SC_XIP;
        }

        next_pc =
            handle_modified_code(dcontext, instr_cache_pc, translated_pc, target, f);
",
};

/// To translate a fault, DynamoRIO instruments the block a second time. A client whose instrumentation
/// changes with time must know which code it is to make again: `corun_fragment_being_translated` says where
/// that code lies. (Stored translations would be the other way; from them `drreg` restores registers and flags
/// wrongly.)
const FRAGMENT_FIELD: Mend = Mend {
    file: "core/globals.h",
    faulty: "
    app_pc last_special_xl8;
",
    sound: "
    app_pc last_special_xl8;
    cache_pc fragment_being_translated;
",
};
const FRAGMENT_TOLD: Mend = Mend {
    file: "core/translate.c",
    faulty: "
static recreate_success_t
recreate_app_state_internal(dcontext_t *tdcontext, priv_mcontext_t *mcontext,
",
    sound: "
DR_API cache_pc
corun_fragment_being_translated(void *drcontext)
{
    return ((dcontext_t *)drcontext)->client_data->fragment_being_translated;
}

static recreate_success_t
recreate_app_state_internal(dcontext_t *tdcontext, priv_mcontext_t *mcontext,
",
};
const FRAGMENT_NOTED: Mend = Mend {
    file: "core/translate.c",
    faulty: "
        /* Whether a bb or trace, this routine will recreate the entire ilist. */
        if (f == NULL) {
            ilist = recreate_fragment_ilist(tdcontext, mcontext->pc,",
    sound: "
        tdcontext->client_data->fragment_being_translated =
            f == NULL ? NULL : FCACHE_ENTRY_PC(f);
        if (f == NULL) {
            ilist = recreate_fragment_ilist(tdcontext, mcontext->pc,",
};
const FRAGMENT_FORGOTTEN: Mend = Mend {
    file: "core/translate.c",
    faulty: "
        if (ilist == NULL && (f == NULL || FRAGMENT_TRANSLATION_INFO(f) == NULL)) {
            /* It is problematic",
    sound: "
        tdcontext->client_data->fragment_being_translated = NULL;
        if (ilist == NULL && (f == NULL || FRAGMENT_TRANSLATION_INFO(f) == NULL)) {
            /* It is problematic",
};

pub(super) fn build(out: &Path) {
    println!("cargo::rerun-if-env-changed=CORUN_DYNAMORIO_SOURCE");
    let built = dynamorio(&out.join("dynamorio"));
    println!("cargo::rustc-env=CORUN_DYNAMORIO_VERSION={}", version(&built));
    let client = out.join("dynamorio-client.so");
    link_client(&built, &client);
    pack(&built.join("lib64/release/libdynamorio.so"), out);
    pack(&client, out);
}

/// Builds DynamoRIO in a folder, where an earlier build stays valid as long as its source, what is left out
/// and what is mended are the same.
fn dynamorio(folder: &Path) -> PathBuf {
    let stamp = folder.join("built-from");
    let source = source();
    let sound: String = MENDS.iter().map(|mend| mend.sound).collect();
    let wanted = format!("{} without {} with{sound}", source.display(), LEFT_OUT.join(", "));
    if fs::read_to_string(&stamp).is_ok_and(|built| built == wanted) {
        return folder.to_owned();
    }
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let source = mended(&source, folder);
    let mut configure = Command::new("cmake");
    configure
        .current_dir(folder)
        .arg(&source)
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

/// A copy of the source in a folder, mended: other packages may be built from the one that is there.
fn mended(source: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("source");
    run(Command::new("cp").args(["-R", "--"]).arg(source).arg(&copy), "cp");
    for Mend { file, faulty, sound } in MENDS {
        let file = copy.join(file);
        let text =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(text.matches(faulty).count(), 1, "{}: expected, once:{faulty}", file.display());
        fs::write(&file, text.replace(faulty, sound))
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
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
