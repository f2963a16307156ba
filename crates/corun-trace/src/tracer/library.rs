//! What a tracer needs as files, unpacked from this binary once.
//!
//! They are executed with the user's rights, so their folder must belong to the user alone, and what lies
//! there is compared with what this binary holds each time.
#![expect(clippy::disallowed_methods, reason = "the files are corun's own")]

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::Unavailable;

/// A file that this binary holds.
pub(super) struct Packed {
    pub(super) name: &'static str,
    /// Compressed with zstd.
    pub(super) content: &'static [u8],
}

/// The files of a tracer, unpacked into the user's cache folder if they are not there; in their order.
///
/// # Errors
/// If no folder is safe for it, or nothing can be written.
pub(super) fn installed(tracer: &str, files: &[Packed]) -> Result<Vec<PathBuf>, Unavailable> {
    let folder = cache();
    install(&folder, tracer, files).map_err(|error| Unavailable {
        found: format!(
            "the files of {tracer} cannot be unpacked to {}: {error}",
            corun_record::shown(&folder)
        ),
        next_step: "Set XDG_CACHE_HOME to a folder that is yours alone and has room, or take \
                    another tracer with --tracer."
            .to_owned(),
    })
}

fn install(cache: &Path, tracer: &str, files: &[Packed]) -> io::Result<Vec<PathBuf>> {
    let unpack = |file: &Packed| Ok((file.name, zstd::stream::decode_all(file.content)?));
    let contents: Vec<_> = files.iter().map(unpack).collect::<io::Result<_>>()?;
    private_folder(cache)?;
    let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
    contents.iter().for_each(|(_, content)| digest.update(content));
    let name: String =
        digest.finish().as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = cache.join(format!("{tracer}-{name}"));
    private_folder(&folder)?;
    contents.iter().map(|(name, content)| put(&folder.join(name), content)).collect()
}

/// The folder named by the environment as the XDG base directory specification says, else that for
/// temporary files.
fn cache() -> PathBuf {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(absolute("HOME")?.join(".cache"));
    match absolute("XDG_CACHE_HOME").or_else(home) {
        Some(folder) => folder.join("corun"),
        None => std::env::temp_dir().join(format!("corun-{}", rustix::process::getuid().as_raw())),
    }
}

/// Makes a folder that only this user may write to, or makes sure that it is one.
fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = fs::symlink_metadata(folder)?;
    let user = rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "expected a folder of user {user} that nobody else may write to, found user {} and mode \
             {:o} at {}",
            metadata.uid(),
            metadata.mode() & 0o7777,
            corun_record::shown(folder)
        )));
    }
    Ok(())
}

/// Leaves this content at a path, whatever is there, in one step for other processes.
fn put(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    if holds(path, content) {
        return Ok(path.to_owned());
    }
    let temporary = path.with_extension(format!("{}.new", std::process::id()));
    let written = write(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.map(|()| path.to_owned())
}

fn holds(path: &Path, content: &[u8]) -> bool {
    let read = |path: &Path| {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.len() != content.len() as u64 || metadata.mode() & 0o777 != 0o700 {
            return Ok(false);
        }
        let mut found = Vec::with_capacity(content.len());
        file.read_to_end(&mut found)?;
        Ok::<_, io::Error>(found == content)
    };
    read(path).unwrap_or(false)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.set_permissions(Permissions::from_mode(0o700))?;
    file.write_all(content)?;
    file.sync_all()
}
