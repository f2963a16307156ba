//! The binary that travels with a campaign: every task runs the same one, whatever is installed on its node.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use corun_files::Output;
use ring::digest::{Context, SHA256};

use crate::error::FleetError;

/// SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// If it cannot be read.
pub fn sha256(path: &Path) -> Result<String, FleetError> {
    copied(path, |_| Ok(()))
}

/// Copies a binary to where all nodes see it, and gives its SHA-256.
///
/// # Errors
/// If it cannot be read or written.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<String, FleetError> {
    let failed = || FleetError::file(to);
    let mut output = Output::create(to).map_err(failed())?;
    let digest = copied(from, |bytes| output.write_all(bytes).map_err(FleetError::file(to)))?;
    let mode = std::fs::Permissions::from_mode(0o755);
    output.file().set_permissions(mode).map_err(failed())?;
    output.finish().map_err(failed())?;
    Ok(digest)
}

fn copied(
    from: &Path,
    mut write: impl FnMut(&[u8]) -> Result<(), FleetError>,
) -> Result<String, FleetError> {
    let mut file = corun_files::random(from).map_err(FleetError::file(from))?;
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer).map_err(FleetError::file(from))?;
        if count == 0 {
            break;
        }
        context.update(&buffer[..count]);
        write(&buffer[..count])?;
    }
    Ok(context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_executable_and_has_the_hash_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|it| folder.path().join(it));
        std::fs::write(&from, "abc").unwrap();
        // FIPS 180-4's example.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(copy(&from, &to).unwrap(), digest);
        assert_eq!(sha256(&to).unwrap(), digest);
        assert_eq!(to.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    }
}
