//! Writing: a new file has no name until it is complete and on the disk, so that whatever ends corun, SIGKILL
//! included, leaves nothing behind, and an older file stays until the new one takes its place.
//!
//! Writers to the same place at once each leave a whole file; the last one stays. Where a file system knows
//! no files without a name (O_TMPFILE, open(2)), the file has a temporary one, which is removed when corun
//! fails or a signal ends it.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat, renameat};

use crate::unfinished::Unfinished;

/// Prefix of temporary names.
const PREFIX: &str = ".corun-";

/// As any program's new file, before the process's mask takes its share.
const MODE: u32 = 0o666;

/// A file that is being made.
#[derive(Debug)]
pub struct Output {
    file: File,
    target: PathBuf,
    /// Temporary name where it has to have one.
    name: Option<Unfinished>,
}

impl Output {
    /// Begins a file that is to be at `path`; a symbolic link there is followed.
    ///
    /// # Errors
    /// If no file can be made in that folder, or what is there is no file that may be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = target(path)?;
        let folder = folder_of(&target);
        match unnamed(folder) {
            Ok(file) => Ok(Self { file, target, name: None }),
            Err(_) => Self::named(target).map_err(|error| of_folder(path, error)),
        }
    }

    fn named(target: PathBuf) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, MODE);
        let mut name = None;
        let made = builder().make_in(folder_of(&target), |path| {
            let (file, unfinished) = Unfinished::made(path, || open_with(&options, path))?;
            name = Some(unfinished);
            Ok(file)
        })?;
        let (file, path) = made.into_parts();
        // Who forgets it is `name`.
        path.keep().map_err(|error| error.error)?;
        Ok(Self { file, target, name })
    }

    /// The file, to be written to by the caller.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Path of the finished file.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the file its place, where it replaces what was there.
    ///
    /// # Errors
    /// If not all of it can be brought to the disk, or it may not be there; what was there stays.
    pub fn finish(self) -> io::Result<()> {
        let target = self.target.clone();
        self.finish_as(&target)
    }

    /// As [`finish`](Self::finish), at another name in the same folder.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_as(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(name) = self.name {
            renameat(CWD, name.path(), CWD, target)?;
            name.forget();
            return Ok(());
        }
        match link(&self.file, target) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return self.copied_to(target),
        }
        // A link replaces nothing; only for these two calls the file has another name.
        let mut name = None;
        let made = builder().make_in(folder_of(target), |path| {
            let ((), unfinished) = Unfinished::made(path, || link(&self.file, path))?;
            name = Some(unfinished);
            Ok(())
        })?;
        made.into_temp_path().keep().map_err(|error| error.error)?;
        if let Some(name) = name {
            renameat(CWD, name.path(), CWD, target)?;
            name.forget();
        }
        Ok(())
    }

    /// Copies the file where it can be given no name although it could be made: a file system in user space, a sandbox.
    fn copied_to(mut self, target: &Path) -> io::Result<()> {
        let mut copy = Self::named(target.to_owned())?;
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.file, &mut copy.file)?;
        copy.finish()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// True if a path names what is open already: there is nothing to replace.
pub fn is_descriptor(path: &Path) -> bool {
    ["/dev/stdin", "/dev/stdout", "/dev/stderr"].iter().any(|known| path == Path::new(known))
        || path.starts_with("/dev/fd")
        || (path.starts_with("/proc") && path.parent().is_some_and(|it| it.ends_with("fd")))
}

/// The file itself where `path` is a link to it; an older file must be one that may be written.
#[expect(clippy::disallowed_methods, reason = "nothing is written through this descriptor")]
fn target(path: &Path) -> io::Result<PathBuf> {
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => {
            File::options().append(true).open(path)?;
            path.canonicalize()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A file without a name that can be given one later.
fn unnamed(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, folder, flags, Mode::from_raw_mode(MODE))?);
    // Where /proc is missing there would be no way to name it.
    std::fs::symlink_metadata(by_descriptor(&file))?;
    Ok(file)
}

fn by_descriptor(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    Ok(linkat(CWD, by_descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    builder
}

#[expect(clippy::disallowed_methods, reason = "this is the way to write a file")]
fn open_with(options: &std::fs::OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

/// Error of the folder itself, where that is why no file can be made there: of a temporary file the user knows nothing.
fn of_folder(path: &Path, error: io::Error) -> io::Error {
    match folder_of(path).metadata() {
        Err(error) => error,
        Ok(found) if !found.is_dir() => io::ErrorKind::NotADirectory.into(),
        Ok(_) => match error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            // Without the name that it carries.
            None => error.kind().into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Both ways to make a file.
    fn ways(path: &Path) -> [Output; 2] {
        [Output::create(path).unwrap(), Output::named(target(path).unwrap()).unwrap()]
    }

    #[test]
    fn an_older_file_stays_until_the_new_one_is_complete() {
        for way in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run.json");
            for old in [None, Some("old"), Some("older")] {
                if let Some(old) = old {
                    std::fs::write(&path, old).unwrap();
                }
                let [output, _] = {
                    let mut ways = ways(&path);
                    ways.rotate_left(way);
                    ways
                };
                let mut output = output;
                output.write_all(b"new").unwrap();
                assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), old);
                output.finish().unwrap();
                assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
                assert_eq!(names(folder.path()), ["run.json"]);
            }
        }
    }

    #[test]
    fn nothing_is_left_of_a_file_that_never_came() {
        let folder = tempfile::tempdir().unwrap();
        drop(ways(&folder.path().join("run.json")));
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_file_has_no_name_before_it_is_finished_where_the_file_system_can() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::create(&folder.path().join("run.json")).unwrap();
        assert_eq!(names(folder.path()).is_empty(), output.name.is_none());
    }

    #[test]
    fn what_can_be_given_no_name_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        output.copied_to(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        let mut output = Output::create(&link).unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }

    #[test]
    fn writers_to_one_place_each_leave_a_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::thread::scope(|scope| {
            for writer in b'a'..b'e' {
                let path = &path;
                scope.spawn(move || {
                    for round in 0..25 {
                        let mut output = ways(path).into_iter().nth(round % 2).unwrap();
                        output.write_all(&[writer; 1000]).unwrap();
                        output.write_all(&[writer; 1000]).unwrap();
                        output.finish().unwrap();
                        let found = std::fs::read(path).unwrap();
                        assert!(found.len() == 2000 && found.iter().all(|it| *it == found[0]));
                    }
                });
            }
        });
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    #[test]
    fn a_missing_folder_is_reported_without_a_temporary_name() {
        for (path, kind) in [
            ("/nowhere/run.json", io::ErrorKind::NotFound),
            ("/dev/null/run.json", io::ErrorKind::NotADirectory),
            ("/dev", io::ErrorKind::IsADirectory),
        ] {
            let error = Output::create(Path::new(path)).unwrap_err();
            assert_eq!(error.kind(), kind, "{path}");
            assert!(!error.to_string().contains(PREFIX), "{error}");
        }
    }
}
