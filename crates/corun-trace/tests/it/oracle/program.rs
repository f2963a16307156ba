//! Building the programs, and reading what they state about themselves.

use std::path::{Path, PathBuf};
use std::process::Command;

use corun_trace::{Access, Direction};

/// A built program.
pub(crate) struct Program {
    pub name: String,
    pub file: PathBuf,
    /// Held until the program is no longer needed.
    folder: tempfile::TempDir,
}

/// Statements of a program on what it does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Truth {
    /// The instruction's address and its access, in order; `instruction` is not set.
    pub accesses: Vec<(u64, Access)>,
    pub instructions: Option<u64>,
}

impl Program {
    /// The program of this name, or `None` if this machine cannot build or run it; that is counted as a
    /// skip.
    pub(crate) fn build(name: &str) -> Option<Self> {
        if let Some(missing) = missing(name) {
            corun_testing::skip(&format!("trace of {name}"), &missing);
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder for the program");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let file = folder.path().join(name);
        let mut compiler = Command::new("cc");
        compiler
            .args(["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-o"])
            .arg(&file)
            .arg(source.join(format!("{name}.S")));
        run(&mut compiler);
        Some(Self { name: name.to_owned(), file, folder })
    }

    /// Statements of the program.
    pub(crate) fn truth(&self) -> Truth {
        let section = self.folder.path().join("truth");
        let mut copy = Command::new("objcopy");
        copy.args(["-O", "binary", "--only-section=.truth"]).arg(&self.file).arg(&section);
        run(&mut copy);
        let bytes = std::fs::read(&section).expect("the section of statements");
        let mut truth = Truth::default();
        for statement in bytes.chunks_exact(32) {
            let number = |index: usize| {
                u64::from_le_bytes(statement[8 * index..][..8].try_into().expect("8 bytes"))
            };
            let (instruction, address, size) = (number(1), number(2), number(3) as u16);
            let direction = match number(0) {
                0 => Direction::Read,
                1 => Direction::Write,
                2 => Direction::ReadWrite,
                3 => Direction::Prefetch,
                _ => {
                    truth.instructions = Some(address);
                    continue;
                }
            };
            truth.accesses.push((instruction, Access { instruction: 0, address, size, direction }));
        }
        truth
    }
}

fn missing(name: &str) -> Option<String> {
    let runs = match name {
        "avx2" => is_x86_feature_detected!("avx2"),
        "avx512" => ["avx512f", "avx512bw", "avx512vl"].iter().all(|feature| has(feature)),
        _ => true,
    };
    let tool = ["cc", "objcopy"]
        .into_iter()
        .find(|tool| Command::new(tool).arg("--version").output().is_err());
    match tool {
        _ if !runs => Some(format!("this core has no {name}")),
        tool => tool.map(|tool| format!("{tool} is not installed")),
    }
}

fn has(feature: &str) -> bool {
    match feature {
        "avx512f" => is_x86_feature_detected!("avx512f"),
        "avx512bw" => is_x86_feature_detected!("avx512bw"),
        _ => is_x86_feature_detected!("avx512vl"),
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("it is installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
