//! Programs as the guest runs them: those that the other tests run, without debug information, and the
//! shared libraries that they need, since the guest has none.
//!
//! Nothing is built for the guest alone: a second build of corun would take minutes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Unavailable;

/// A program and what it is loaded with.
#[derive(Debug)]
pub(crate) struct Program {
    /// The program, without debug information.
    pub path: PathBuf,
    /// Absolute paths of its shared libraries, the loader among them.
    pub libraries: BTreeSet<PathBuf>,
}

/// corun as the command-line tests run it, built if it is out of date.
///
/// `CORUN_TEST_FEATURES` names the features that those tests are built with, so that nothing is built twice.
pub(crate) fn corun(target: &Path, cache: &Path) -> Result<Program, Unavailable> {
    let mut build = corun_testing::cargo();
    build.args(["test", "--no-run", "--quiet", "--locked", "--workspace"]);
    build.args(["--exclude", env!("CARGO_PKG_NAME"), "--test", "command_line"]);
    if let Ok(features) = std::env::var("CORUN_TEST_FEATURES") {
        build.args(["--features", &features]);
    }
    run(&mut build)?;
    prepare(&target.join("debug/corun"), cache)
}

/// Another program of this package, which was built together with the test that runs.
pub(crate) fn own(name: &str, cache: &Path) -> Result<Program, Unavailable> {
    let test = std::env::current_exe()?;
    let folder = test.ancestors().nth(2).unwrap_or(&test);
    prepare(&folder.join(name), cache)
}

fn prepare(program: &Path, cache: &Path) -> Result<Program, Unavailable> {
    let name = program.file_name().unwrap_or_default();
    let path = cache.join(name);
    run(Command::new("strip").arg("-o").arg(&path).arg(program))?;
    let libraries = libraries_of(&path)?;
    Ok(Program { path, libraries })
}

/// The absolute paths of a program's shared libraries, the loader among them.
pub(crate) fn libraries_of(program: &Path) -> Result<BTreeSet<PathBuf>, Unavailable> {
    run(Command::new("ldd").arg(program)).map(|listed| libraries(&listed))
}

/// The absolute paths that `ldd` lists: `libc.so.6 => /lib/libc.so.6 (0x..)`, and the loader by its path alone.
fn libraries(listed: &str) -> BTreeSet<PathBuf> {
    let path = |line: &str| {
        let words = line.split_whitespace();
        words.into_iter().find(|word| word.starts_with('/')).map(PathBuf::from)
    };
    listed.lines().filter_map(path).collect()
}

fn run(command: &mut Command) -> Result<String, Unavailable> {
    let output = command.stdin(Stdio::null()).env("LC_ALL", "C").output().map_err(|error| {
        let program = command.get_program().to_string_lossy();
        Unavailable::Missing(format!("cannot run {program}: {error}"))
    })?;
    if !output.status.success() {
        return Err(Unavailable::Broken(format!(
            "{command:?} failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_listed_by_their_paths() {
        let listed = "\tlinux-vdso.so.1 (0x00007f)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(libraries(listed), BTreeSet::from(expected));
        assert_eq!(libraries("\tnot a dynamic executable\n"), BTreeSet::new());
    }
}
