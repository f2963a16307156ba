//! Content of a program's files when its run began, so that a run is not resumed beside others.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use corun_record::{FileContent, Workload};
use ring::digest::{Context, SHA256};

use crate::execution::Task;

/// The most bytes of a file that are read for its digest: a fraction of a second.
const READ: u64 = 64 << 20;

/// Adds to a description what the program's own file and its standard input hold.
pub(crate) fn describe(workload: &mut Workload, task: &Task) {
    if let Some(command) = task.command() {
        workload.program = command.program().ok().and_then(|path| content(&path));
        workload.input = command.input.as_deref().and_then(content);
    }
}

/// The content of a regular file; `None` for anything else, and for a file that cannot be read.
fn content(path: &Path) -> Option<FileContent> {
    let mut file = corun_files::random(path).ok()?;
    let bytes = file.seek(SeekFrom::End(0)).ok()?;
    file.rewind().ok()?;
    let (mut digest, mut buffer) = (Context::new(&SHA256), vec![0; 1 << 20]);
    let mut rest = file.take(READ);
    loop {
        match rest.read(&mut buffer).ok()? {
            0 => break,
            count => digest.update(&buffer[..count]),
        }
    }
    let sha256 = digest.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(FileContent { bytes, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_known_by_its_length_and_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, "abc").unwrap();
        let found = content(&path).unwrap();
        // FIPS 180-2, B.1.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((found.bytes, found.sha256.as_str()), (3, digest));
        assert_eq!(content(&path), content(&path));
        std::fs::write(&path, "abd").unwrap();
        assert_ne!(content(&path).unwrap(), found);
        for other in ["/dev/zero", "/nowhere"] {
            assert_eq!(content(Path::new(other)), None, "{other}");
        }
    }
}
