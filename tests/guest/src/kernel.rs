//! The stock kernel of Debian for virtual machines, downloaded but not installed.
//!
//! Its package is named by the dependency of a package that always points to the newest one. As
//! `apt-get download` needs no rights, an ordinary user gets it too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Unavailable;

const META_PACKAGE: &str = "linux-image-cloud-amd64";

/// The kernel named by `CORUN_GUEST_KERNEL`, else the one in `cache`, else a download into it.
pub(crate) fn obtain(cache: &Path) -> Result<PathBuf, Unavailable> {
    if let Some(path) = std::env::var_os("CORUN_GUEST_KERNEL") {
        return Ok(path.into());
    }
    let kernel = cache.join("vmlinuz");
    if kernel.is_file() {
        return Ok(kernel);
    }
    match download(cache, &kernel) {
        Ok(()) => Ok(kernel),
        Err(first) => {
            // Package lists that are missing or too old; only root may renew them.
            let _ = run(apt("apt-get", &["update"]));
            download(cache, &kernel).map_err(|_| first)?;
            Ok(kernel)
        }
    }
}

fn download(cache: &Path, kernel: &Path) -> Result<(), Unavailable> {
    let depends = run(apt("apt-cache", &["depends", META_PACKAGE]))?;
    let package = dependency(&depends).ok_or_else(|| {
        Unavailable::Missing(format!(
            "apt-cache knows no {META_PACKAGE}; run `apt-get update` as root on Debian, or name a \
             kernel in CORUN_GUEST_KERNEL"
        ))
    })?;
    let folder = tempfile::tempdir_in(cache)?;
    let mut fetch = apt("apt-get", &["-o", "APT::Sandbox::User=root", "download", package]);
    fetch.current_dir(folder.path());
    run(fetch)?;
    let archive = fs::read_dir(folder.path())?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .ok_or_else(|| {
            Unavailable::Missing(format!("apt-get download {package} left no archive"))
        })?;
    extract(&archive, kernel)
}

/// Writes `./boot/vmlinuz-*` of the package `archive` to `kernel`.
fn extract(archive: &Path, kernel: &Path) -> Result<(), Unavailable> {
    let mut unpacking = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(archive)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Unavailable::Missing(format!("cannot run dpkg-deb: {error}")))?;
    let mut files = tar::Archive::new(
        unpacking.stdout.take().ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?,
    );
    let mut found = false;
    for entry in files.entries()? {
        let mut entry = entry?;
        if entry.path()?.to_string_lossy().contains("boot/vmlinuz-") {
            let unfinished = kernel.with_extension("unfinished");
            entry.unpack(&unfinished)?;
            fs::rename(unfinished, kernel)?;
            found = true;
            break;
        }
    }
    drop(files);
    // The rest of the package is of no interest, so that dpkg-deb may end with a broken pipe.
    unpacking.wait()?;
    if !found {
        return Err(Unavailable::Broken(format!("{} holds no kernel", archive.display())));
    }
    Ok(())
}

fn apt(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C");
    command
}

/// The standard output of a command; a failure means that there is no kernel to be had.
fn run(mut command: Command) -> Result<String, Unavailable> {
    let output = command.stdin(Stdio::null()).output();
    let why = match output {
        Ok(output) if output.status.success() => {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "),
        Err(error) => error.to_string(),
    };
    Err(Unavailable::Missing(format!("no kernel for the guest: {command:?} failed: {why}")))
}

/// The first package that `apt-cache depends` lists.
fn dependency(depends: &str) -> Option<&str> {
    depends.lines().find_map(|line| line.trim().strip_prefix("Depends: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_dependency_is_the_kernel() {
        let depends = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-37-cloud-amd64\n  \
                       Recommends: nothing\n";
        assert_eq!(dependency(depends), Some("linux-image-6.1.0-37-cloud-amd64"));
        assert_eq!(dependency("linux-image-cloud-amd64\n"), None);
        assert_eq!(dependency(""), None);
    }
}
