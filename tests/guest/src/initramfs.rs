//! The guest's whole file system: a cpio archive that the kernel unpacks into memory.
//!
//! The kernel takes several archives one after the other (Documentation/driver-api/early-userspace/
//! buffer-format.rst): what all guests share is made once, and each boot appends its scenario. They
//! are not compressed, since unpacking in an emulated CPU costs more than copying.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Scenario;

const INIT: &str = include_str!("init");
const USERS: &str = "root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n";

/// Writes the archive that all guests share into `cache`; libraries lie where they do on the host.
pub(crate) fn base<'l>(
    busybox: &Path,
    corun: &Path,
    libraries: impl Iterator<Item = &'l PathBuf>,
    cache: &Path,
) -> io::Result<PathBuf> {
    let tree = Tree::new(cache)?;
    for folder in ["bin", "proc", "sys", "dev", "tmp", "results"] {
        fs::create_dir(tree.root().join(folder))?;
    }
    tree.copy(busybox, "bin/busybox")?;
    tree.copy(corun, "bin/corun")?;
    for library in libraries {
        tree.copy(library, &library.to_string_lossy()[1..])?;
    }
    tree.write("init", INIT)?;
    tree.write("etc/passwd", USERS)?;
    let unfinished = cache.join("initramfs.unfinished");
    tree.archive(busybox, File::create(&unfinished)?)?;
    let path = cache.join("initramfs");
    fs::rename(unfinished, &path)?;
    Ok(path)
}

/// Writes the archive of one boot: `base`, then the scenario and its files.
pub(crate) fn with_scenario(
    base: &Path,
    busybox: &Path,
    scenario: &Scenario,
    folder: &Path,
) -> io::Result<PathBuf> {
    let tree = Tree::new(folder)?;
    tree.write("scenario", scenario.script())?;
    for (path, source) in scenario.files() {
        tree.copy(source, path.trim_start_matches('/'))?;
    }
    let path = folder.join("initramfs");
    fs::copy(base, &path)?;
    tree.archive(busybox, File::options().append(true).open(&path)?)?;
    Ok(path)
}

/// A folder that becomes an archive.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(beside: &Path) -> io::Result<Self> {
        tempfile::tempdir_in(beside).map(Self)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn copy(&self, source: &Path, path: &str) -> io::Result<()> {
        fs::copy(source, self.prepare(path)?)?;
        self.make_executable(path)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        fs::write(self.prepare(path)?, text)?;
        self.make_executable(path)
    }

    fn prepare(&self, path: &str) -> io::Result<PathBuf> {
        let target = self.root().join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(target)
    }

    fn make_executable(&self, path: &str) -> io::Result<()> {
        fs::set_permissions(self.root().join(path), fs::Permissions::from_mode(0o755))
    }

    /// Appends the archive to `output`, its files owned by the guest's root.
    fn archive(&self, busybox: &Path, output: File) -> io::Result<()> {
        let mut names = String::new();
        list(self.root(), "", &mut names)?;
        let mut cpio = Command::new(busybox)
            .args(["cpio", "-o", "-H", "newc", "-R", "0:0"])
            .current_dir(self.root())
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = cpio.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(names.as_bytes())?;
        drop(input);
        let status = cpio.wait()?;
        if !status.success() {
            return Err(io::Error::other(format!("busybox cpio ended with {status}")));
        }
        Ok(())
    }
}

/// The paths below `root/folder`, a folder before its contents, one a line.
fn list(root: &Path, folder: &str, names: &mut String) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}{}", entry.file_name().to_string_lossy());
        names.push_str(&path);
        names.push('\n');
        if entry.file_type()?.is_dir() {
            list(root, &format!("{path}/"), names)?;
        }
    }
    Ok(())
}
