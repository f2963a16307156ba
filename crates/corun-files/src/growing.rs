//! Writing a file that grows while corun runs, such as a recording: what was written stays, however corun ends.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::output::is_descriptor;

/// Makes a new file that is written piece by piece. A file that is there stays as it is, and is an error: it may
/// be the last recording.
///
/// # Errors
/// If there is a file of this name, or none can be made.
#[expect(clippy::disallowed_methods, reason = "this is the way to write a file that grows")]
pub fn growing(path: &Path) -> io::Result<File> {
    match is_descriptor(path) {
        true => File::options().append(true).open(path),
        false => File::options().append(true).create_new(true).open(path),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_that_is_there_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording");
        growing(&path).unwrap().write_all(b"first").unwrap();
        assert_eq!(growing(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
    }
}
