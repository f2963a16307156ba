//! What the programs work on: the same on every machine.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// Bytes of the text.
const TEXT: usize = 1 << 20;
/// Functions of the program in C.
const FUNCTIONS: u32 = 60;

/// Files that go away when this does.
pub(crate) struct Inputs {
    folder: TempDir,
    /// gcc's compiler proper, which gcc becomes.
    cc1: PathBuf,
}

impl Inputs {
    /// # Errors
    /// If there is no room for them.
    pub(crate) fn make() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("text"), corun_testing::text(TEXT))?;
        std::fs::write(folder.path().join("program.c"), program_in_c())?;
        let output = Command::new("gcc").arg("-print-prog-name=cc1").output();
        let cc1 = output.map(|it| String::from_utf8_lossy(&it.stdout).trim().into());
        Ok(Self { folder, cc1: cc1.unwrap_or_else(|_| "cc1".into()) })
    }

    /// A word of a command with the name of a file in place of `{text}`, `{c}` or `{cc1}`.
    pub(crate) fn filled_in(&self, word: &str) -> OsString {
        match word {
            "{text}" => self.folder.path().join("text").into(),
            "{c}" => self.folder.path().join("program.c").into(),
            "{cc1}" => self.cc1.clone().into(),
            other => other.into(),
        }
    }
}

/// Something to compile: functions with loops, branches, arrays and calls of each other.
fn program_in_c() -> String {
    let mut text = String::from("int f0(int *p, int n) { return p[n & 7]; }\n");
    for number in 1..FUNCTIONS {
        let (before, other) = (number - 1, number * 7 % number);
        let (factor, limit) = (number * 37 % 101 + 2, number % 13 + 3);
        writeln!(
            text,
            "int f{number}(int *p, int n) {{\n\
             \x20   int sum = {factor}, i;\n\
             \x20   for (i = 0; i < n % {limit}; i++) {{\n\
             \x20       if (p[i] > sum) sum += f{before}(p + i, i) * {factor};\n\
             \x20       else if ((p[i] ^ n) & {limit}) p[i] -= f{other}(p, sum);\n\
             \x20       else switch (p[i] % 5) {{ case 0: sum++; break; case 3: sum ^= n; break; default: p[i]--; }}\n\
             \x20   }}\n\
             \x20   return sum / {limit} - p[n & 3];\n}}"
        )
        .expect("a string takes everything");
    }
    text
}
