//! Reading: each kind of file has a limit, and what is no file is refused before it is read.
//!
//! A device has no end, and a named pipe may never get a writer. A pipe from another program is
//! input like any other: `<(zcat FILE)`, `/dev/stdin`.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstatfs, openat};

use crate::output::is_descriptor;

/// A kind of file that a user names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputKind {
    /// Name of the kind, to follow "a".
    pub name: &'static str,
    /// The most bytes that any sensible one has.
    pub most: u64,
}

const MIB: u64 = 1 << 20;

impl InputKind {
    /// `models/*.toml`: the largest that comes with corun has 15 kB.
    pub const MODEL: Self = Self { name: "core model", most: MIB };
    /// `studies/*.toml`.
    pub const STUDY: Self = Self { name: "study", most: MIB };
    /// A campaign on many nodes, written by hand.
    pub const CAMPAIGN: Self = Self { name: "campaign", most: MIB };
    /// Instruction timings beside a model: a row a form.
    pub const TIMINGS: Self = Self { name: "timing table", most: 16 * MIB };
    /// Blocks of code as CSV; lists of hundreds of thousands are in use.
    pub const BLOCKS: Self = Self { name: "list of blocks", most: 64 * MIB };
    /// A load of the scheduler, written by hand.
    pub const TASKS: Self = Self { name: "load of tasks", most: 16 * MIB };
    /// Output of `perf sched script`.
    pub const RECORDING: Self = Self { name: "recording", most: 1024 * MIB };
    /// JSON document of corun.
    pub const DOCUMENT: Self = Self { name: "file of corun", most: 256 * MIB };
    /// Figures of a load generator, a log of every request included.
    pub const FIGURES: Self = Self { name: "file of a load generator", most: 1024 * MIB };
    /// Requests to a file server, as dbench records them.
    pub const REQUESTS: Self = Self { name: "load of requests", most: 256 * MIB };
}

/// Error of a file before it is read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It is too long.
    #[error("expected a {} of at most {}, found {found}", kind.name, size(kind.most))]
    TooLong {
        /// Expected kind.
        kind: InputKind,
        /// Kind that was found.
        found: String,
    },
    /// It is no file that has an end.
    #[error("expected a file{}, found {found}", if *pipes { " or a pipe from a program" } else { "" })]
    NoFile {
        /// True if a pipe would do.
        pipes: bool,
        /// Kind that was found.
        found: &'static str,
    },
    /// It is no text.
    #[error("expected a {} as text in UTF-8, found other bytes from byte {at} on", kind.name)]
    NoText {
        /// Expected kind.
        kind: InputKind,
        /// Place of the first such byte.
        at: usize,
    },
}

impl From<InputError> for io::Error {
    fn from(error: InputError) -> Self {
        let kind = match error {
            InputError::TooLong { .. } => io::ErrorKind::FileTooLarge,
            InputError::NoFile { .. } => io::ErrorKind::InvalidInput,
            InputError::NoText { .. } => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// The text of a file or pipe.
///
/// # Errors
/// If it cannot be read, is no file, is no UTF-8, or is longer than its kind may be.
pub fn text(path: &Path, kind: InputKind) -> io::Result<String> {
    String::from_utf8(bytes(path, kind)?)
        .map_err(|error| InputError::NoText { kind, at: error.utf8_error().valid_up_to() }.into())
}

/// The bytes of a file or pipe.
///
/// # Errors
/// As [`text`], whatever the bytes are.
pub fn bytes(path: &Path, kind: InputKind) -> io::Result<Vec<u8>> {
    let file = opened(path, true)?;
    let length = file.metadata()?.len();
    let too_long = |found| Err(InputError::TooLong { kind, found }.into());
    if length > kind.most {
        return too_long(size(length));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    Stream(file).take(kind.most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > kind.most {
        true => too_long("more".to_owned()),
        false => Ok(bytes),
    }
}

/// A file or pipe to read from front to back, by a reader that keeps little of it.
///
/// # Errors
/// If it cannot be opened, or is no file or pipe.
pub fn stream(path: &Path) -> io::Result<Stream> {
    opened(path, true).map(Stream)
}

/// A file or pipe that is read from front to back. A file whose next byte does not exist yet is an error
/// instead of a wait: the kernel has some, such as /proc/kmsg, that look like files on a disk.
#[derive(Debug)]
pub struct Stream(File);

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => InputError::NoFile {
                pipes: true,
                found: "a file of the kernel that has no end, whose reader waits for what comes next",
            }
            .into(),
            _ => error,
        })
    }
}

/// A file to read at any place, or several times.
///
/// # Errors
/// If it cannot be opened, or is anything else, a pipe included.
pub fn random(path: &Path) -> io::Result<File> {
    opened(path, false)
}

/// File for the standard input of a program, each time from the start: a file or a device.
///
/// # Errors
/// If it cannot be opened, or is a folder or a pipe.
#[expect(clippy::disallowed_methods, reason = "it is known to be no pipe, and opened as it is")]
pub fn input(path: &Path) -> io::Result<File> {
    let metadata = std::fs::metadata(path)?;
    match metadata.file_type() {
        kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        kind if kind.is_fifo() || kind.is_socket() => {
            Err(InputError::NoFile { pipes: false, found: "a pipe, which can be read only once" }
                .into())
        }
        _ => File::open(path),
    }
}

/// A file without a name that holds all of an input, to be read several times; it is gone when it is closed.
///
/// # Errors
/// If the input is longer than its kind may be, or cannot be read, or the folder for temporary files is full.
pub fn kept(input: impl Read, kind: InputKind) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let length = io::copy(&mut input.take(kind.most.saturating_add(1)), &mut file)?;
    match length > kind.most {
        true => Err(InputError::TooLong { kind, found: "more".to_owned() }.into()),
        false => Ok(file),
    }
}

/// The text of a file that the kernel makes, below `/proc` or `/sys`; its first 64 MiB at most.
///
/// # Errors
/// If it cannot be read or is no UTF-8.
#[expect(clippy::disallowed_methods, reason = "the kernel's files have an end, and are no devices")]
pub fn kernel_text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(64 * MIB).read_to_string(&mut text)?;
    Ok(text)
}

fn opened(path: &Path, pipes: bool) -> io::Result<File> {
    // Not to wait at a pipe without a writer, nor to make a device do something.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    let is_pipe = kind.is_fifo();
    let no_file = |found| Err(InputError::NoFile { pipes, found }.into());
    match kind {
        kind if kind.is_file() => {}
        kind if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        kind if kind.is_fifo() && !pipes => return no_file("a pipe"),
        kind if kind.is_fifo() => {
            if !is_descriptor(path) && !is_without_name(&file) {
                return no_file(
                    "a named pipe, into which nobody may ever write: give it as /dev/stdin < PIPE",
                );
            }
        }
        kind if kind.is_char_device() || kind.is_block_device() => return no_file("a device"),
        _ => return no_file("something else"),
    }
    // The writer of a pipe may take its time. Files on a disk never wait, and those of the kernel that do
    // are to say so.
    if is_pipe {
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    }
    Ok(file)
}

/// True if a pipe lies in no folder: another program has its other end.
fn is_without_name(pipe: &File) -> bool {
    /// PIPEFS_MAGIC of the kernel's include/uapi/linux/magic.h.
    const PIPE_FILE_SYSTEM: i64 = 0x5049_5045;
    #[allow(clippy::unnecessary_cast, reason = "the type differs between architectures")]
    fstatfs(pipe).is_ok_and(|it| it.f_type as i64 == PIPE_FILE_SYSTEM)
}

fn size(bytes: u64) -> String {
    match bytes {
        MIB.. if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        MIB.. => format!("{:.1} MiB", bytes as f64 / MIB as f64),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    const SMALL: InputKind = InputKind { name: "note", most: 10 };

    fn said(path: &Path) -> String {
        text(path, SMALL).unwrap_err().to_string()
    }

    #[test]
    fn a_file_has_a_limit_that_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(text(&path, SMALL).unwrap(), "0123456789");
        std::fs::write(&path, "0123456789a").unwrap();
        assert_eq!(said(&path), "expected a note of at most 10 bytes, found 11 bytes");
        // Not even read: this one would fill the memory.
        File::create(&path).unwrap().set_len(1 << 42).unwrap();
        assert_eq!(said(&path), "expected a note of at most 10 bytes, found 4194304 MiB");
        std::fs::write(&path, b"ab\xff").unwrap();
        assert_eq!(
            said(&path),
            "expected a note as text in UTF-8, found other bytes from byte 2 on"
        );
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for device in ["/dev/zero", "/dev/null", "/dev/full"] {
            assert_eq!(
                said(Path::new(device)),
                "expected a file or a pipe from a program, found a device"
            );
        }
        assert_eq!(said(folder.path()), "is a directory");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert!(said(&pipe).contains("found a named pipe"), "{}", said(&pipe));
        assert_eq!(random(&pipe).unwrap_err().to_string(), "expected a file, found a pipe");
    }

    #[test]
    fn a_pipe_from_a_program_is_read_up_to_the_limit() {
        for (sent, whole) in [(&b"0123456789"[..], true), (&b"0123456789a"[..], false)] {
            let (reader, mut writer) = std::io::pipe().unwrap();
            writer.write_all(sent).unwrap();
            drop(writer);
            let path = format!("/dev/fd/{}", reader.as_raw_fd());
            match text(Path::new(&path), SMALL) {
                Ok(text) => assert!(whole, "{text}"),
                Err(error) => {
                    let expected = "expected a note of at most 10 bytes, found more";
                    assert!(!whole && error.to_string() == expected, "{error}");
                }
            }
        }
    }

    #[test]
    fn what_is_kept_is_read_from_its_start_each_time() {
        let file = kept(&b"0123456789"[..], SMALL).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        for _ in 0..2 {
            let mut read = String::new();
            input(Path::new(&path)).unwrap().read_to_string(&mut read).unwrap();
            assert_eq!(read, "0123456789");
        }
        let error = kept(&b"0123456789a"[..], SMALL).unwrap_err();
        assert_eq!(error.to_string(), "expected a note of at most 10 bytes, found more");
    }

    #[test]
    fn a_file_whose_reader_would_wait_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        std::fs::write(&path, "x").unwrap();
        for pipes in [false, true] {
            let flags = fcntl_getfl(opened(&path, pipes).unwrap()).unwrap();
            assert!(flags.contains(OFlags::NONBLOCK), "{flags:?}");
        }
        // What /proc/kmsg does, which only root may open, and which forgets what was read.
        let (reader, _writer) = std::io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        fcntl_setfl(&file, OFlags::NONBLOCK).unwrap();
        assert_eq!(
            Stream(file).read(&mut [0]).unwrap_err().to_string(),
            "expected a file or a pipe from a program, found a file of the kernel that has no end, whose \
             reader waits for what comes next"
        );
    }

    #[test]
    fn who_writes_late_into_a_pipe_is_waited_for() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        let (began, begin) = std::sync::mpsc::channel();
        let read = std::thread::spawn(move || {
            let mut file = stream(Path::new(&path)).unwrap();
            began.send(()).unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        });
        begin.recv().unwrap();
        writer.write_all(b"late").unwrap();
        drop(writer);
        assert_eq!(read.join().unwrap().unwrap(), "late");
    }
}
