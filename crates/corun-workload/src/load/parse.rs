//! Reading a load file, as dbench 4 writes them; pure, and a mistake is named with its line.
//!
//! A line is a request's name, its arguments and the status that it ended in. It may begin with the
//! time of the recording, which is read past: corun does not wait, since it asks how fast a machine
//! can be. Comments begin with `#`.

use std::collections::{HashMap, HashSet};

use super::action::{Action, DIRECTORY, Disposition, Handle, Kind, PathId};
use super::{Line, Load};

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Line in the file, from 1.
    pub(super) line: usize,
    pub(super) expected: String,
    pub(super) found: String,
}

impl Load {
    /// Reads a load file's text; `name` is what messages call it.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, Broken> {
        let mut reader = Reader::default();
        let mut lines = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let broken = |(expected, found)| Broken { line: index + 1, expected, found };
            let number = u32::try_from(index + 1)
                .map_err(|_| broken(("fewer lines".to_owned(), "more than 2^32".to_owned())))?;
            if let Some((succeeds, action)) = reader.line(text).map_err(broken)? {
                lines.push(Line { number, succeeds, action });
            }
        }
        if lines.is_empty() {
            let expected = "at least one request".to_owned();
            return Err(Broken { line: 1, expected, found: "none".to_owned() });
        }
        Ok(Self { name: name.to_owned(), paths: reader.paths, lines })
    }
}

/// Expected and found text.
type Mistake = (String, String);

/// Names and handles of the lines so far.
#[derive(Default)]
struct Reader {
    paths: Vec<String>,
    known: HashMap<String, PathId>,
    open: HashSet<Handle>,
}

impl Reader {
    fn line(&mut self, text: &str) -> Result<Option<(bool, Action)>, Mistake> {
        let is_time = |token: &&str| token.starts_with(|c: char| c.is_ascii_digit());
        let mut tokens = tokens(text).peekable();
        tokens.next_if(is_time);
        let Some(name) = tokens.next() else { return Ok(None) };
        if name.starts_with('#') {
            return Ok(None);
        }
        let kind = Kind::find(name).ok_or_else(|| unknown(name))?;
        let wrong = || (format!("{} STATUS", kind.syntax()), text.trim().to_owned());
        let arguments: Vec<&str> = tokens.collect();
        let (status, arguments) = arguments.split_last().ok_or_else(wrong)?;
        let succeeds = succeeds(status).ok_or_else(|| {
            ("a status like NT_STATUS_OK or 0x0 at the end".to_owned(), (*status).to_owned())
        })?;
        let action = self.action(kind, Arguments(arguments.iter())).ok_or_else(wrong)?;
        if let Some(handle) = action.needs()
            && !self.open.contains(&handle)
        {
            let expected = "a handle that NTCreateX has opened before".to_owned();
            return Err((expected, handle.to_string()));
        }
        match action {
            Action::Create { handle, .. } if succeeds => _ = self.open.insert(handle),
            Action::Close { handle } => _ = self.open.remove(&handle),
            _ => {}
        }
        Ok(Some((succeeds, action)))
    }

    /// `None` if an argument is missing or no number.
    fn action(&mut self, kind: Kind, mut arguments: Arguments<'_>) -> Option<Action> {
        let arguments = &mut arguments;
        Some(match kind {
            Kind::Create => Action::Create {
                path: self.path(arguments)?,
                directory: arguments.number()? & DIRECTORY != 0,
                disposition: Disposition::of(arguments.number()?),
                handle: arguments.number()?,
            },
            Kind::Close => Action::Close { handle: arguments.number()? },
            Kind::Read => {
                let (handle, offset) = (arguments.number()?, arguments.offset()?);
                let bytes = arguments.bytes()?;
                let expected = arguments.number().filter(|&expected| expected <= bytes)?;
                Action::Read { handle, offset, bytes, expected }
            }
            Kind::Write => Action::Write {
                handle: arguments.number()?,
                offset: arguments.offset()?,
                bytes: {
                    let bytes = arguments.bytes()?;
                    arguments.number().filter(|&written| written == bytes)?
                },
            },
            Kind::Flush => Action::Flush { handle: arguments.number()? },
            Kind::Unlink => Action::Unlink { path: self.path(arguments)? },
            Kind::Rename => {
                Action::Rename { from: self.path(arguments)?, to: self.path(arguments)? }
            }
            Kind::MakeDirectory => Action::MakeDirectory { path: self.path(arguments)? },
            Kind::RemoveDirectory => Action::RemoveDirectory { path: self.path(arguments)? },
            Kind::RemoveTree => Action::RemoveTree { path: self.path(arguments)? },
            Kind::PathInformation => Action::PathInformation { path: self.path(arguments)? },
            Kind::FileInformation => Action::FileInformation { handle: arguments.number()? },
            Kind::FileSystemInformation => Action::FileSystemInformation,
            Kind::SetFileInformation => Action::SetFileInformation { handle: arguments.number()? },
            Kind::Find => {
                let pattern = self.path(arguments)?;
                let _level = arguments.number()?;
                Action::Find { pattern, most: arguments.entries()?, found: arguments.entries()? }
            }
            Kind::Lock => Action::Lock {
                handle: arguments.number()?,
                offset: arguments.offset()?,
                bytes: arguments.number()?,
            },
            Kind::Unlock => Action::Unlock {
                handle: arguments.number()?,
                offset: arguments.offset()?,
                bytes: arguments.number()?,
            },
            Kind::Sleep => Action::Sleep { microseconds: arguments.number()? },
        })
    }

    /// A path below the root of the client's files; `..` cannot leave it.
    fn path(&mut self, arguments: &mut Arguments<'_>) -> Option<PathId> {
        let text = arguments.0.next()?;
        if let Some(&known) = self.known.get(*text) {
            return Some(known);
        }
        let path = text.replace('\\', "/");
        let inside = path.starts_with('/') && !path.split('/').any(|part| part == "..");
        if !inside || path.contains('\0') {
            return None;
        }
        let id = match self.known.get(&path) {
            Some(&known) => known,
            None => PathId(u32::try_from(self.paths.len()).ok()?),
        };
        if id.index() == self.paths.len() {
            self.paths.push(path.clone());
            self.known.insert(path, id);
        }
        // As it is written here: with strokes of either kind.
        self.known.insert((*text).to_owned(), id);
        Some(id)
    }
}

/// The most that one request reads or writes: 64 MiB, a thousand times what the protocol does.
const MAX_BYTES: u32 = 64 << 20;

/// The most names that one request asks for.
const MAX_ENTRIES: u32 = 1 << 16;

struct Arguments<'a>(std::slice::Iter<'a, &'a str>);

impl Arguments<'_> {
    fn number(&mut self) -> Option<u32> {
        self.offset()?.try_into().ok()
    }

    /// Bytes that are moved at once, which memory must hold.
    fn bytes(&mut self) -> Option<u32> {
        self.number().filter(|&bytes| bytes <= MAX_BYTES)
    }

    /// Names in an answer.
    fn entries(&mut self) -> Option<u32> {
        self.number().filter(|&entries| entries <= MAX_ENTRIES)
    }

    /// Less than 2^63, as the system wants it.
    fn offset(&mut self) -> Option<u64> {
        number(self.0.next()?).filter(|&offset| i64::try_from(offset).is_ok())
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn unknown(name: &str) -> Mistake {
    let names: Vec<_> = Kind::ALL.into_iter().map(Kind::name).collect();
    (format!("one of {}", names.join(", ")), name.to_owned())
}

/// True if a status is success, or `None` if it is no status: a name of the protocol, or a number.
fn succeeds(status: &str) -> Option<bool> {
    if status.starts_with("NT_STATUS_") {
        return Some(status == "NT_STATUS_OK");
    }
    status.starts_with("0x").then(|| number(status)).flatten().map(|status| status == 0)
}

/// The words of a line: what stands between spaces, or between quotation marks.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let (token, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        let is_there = !rest.is_empty();
        rest = after;
        is_there.then_some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn actions(text: &str) -> Vec<(bool, Action)> {
        let load = Load::parse("test", text).unwrap();
        load.lines.iter().map(|line| (line.succeeds, line.action)).collect()
    }

    #[test]
    fn every_kind_is_read() {
        let text = r#"
# a comment

Deltree "\clients\client1" NT_STATUS_OK
0.250 Mkdir "\clients" 0x0
NTCreateX "\clients\a file" 0x40 0x2 7 NT_STATUS_OK
NTCreateX "\clients\b" 0x1 0x1 8 NT_STATUS_OBJECT_NAME_NOT_FOUND
WriteX 7 65534 1 1 NT_STATUS_OK
readx 7 0x10 512 100 NT_STATUS_OK
LockX 7 2147483538 1 NT_STATUS_OK
UnlockX 7 2147483538 1 NT_STATUS_OK
Flush 7 NT_STATUS_OK
QUERY_FILE_INFORMATION 7 258 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\b" 1004 0xC0000034
QUERY_FS_INFORMATION 1 NT_STATUS_OK
SET_FILE_INFORMATION 7 1004 NT_STATUS_OK
FIND_FIRST "\clients\*" 260 1366 3 NT_STATUS_OK
Close 7 NT_STATUS_OK
Rename "\clients\a file" "\clients\c" NT_STATUS_OK
Unlink "\clients\c" 6 NT_STATUS_OK
Rmdir "\clients" NT_STATUS_OK
Sleep 10 NT_STATUS_OK"#;
        let [clients, file, b, all, c] = [1, 2, 3, 4, 5].map(PathId);
        let (handle, offset) = (7, 2_147_483_538);
        let (create, open) = (Disposition::Create, Disposition::Open);
        let found = actions(text);
        let expected = [
            (true, Action::RemoveTree { path: PathId(0) }),
            (true, Action::MakeDirectory { path: clients }),
            (true, Action::Create { path: file, directory: false, disposition: create, handle }),
            (false, Action::Create { path: b, directory: true, disposition: open, handle: 8 }),
            (true, Action::Write { handle, offset: 65534, bytes: 1 }),
            (true, Action::Read { handle, offset: 16, bytes: 512, expected: 100 }),
            (true, Action::Lock { handle, offset, bytes: 1 }),
            (true, Action::Unlock { handle, offset, bytes: 1 }),
            (true, Action::Flush { handle }),
            (true, Action::FileInformation { handle }),
            (false, Action::PathInformation { path: b }),
            (true, Action::FileSystemInformation),
            (true, Action::SetFileInformation { handle }),
            (true, Action::Find { pattern: all, most: 1366, found: 3 }),
            (true, Action::Close { handle }),
            (true, Action::Rename { from: file, to: c }),
            (true, Action::Unlink { path: c }),
            (true, Action::RemoveDirectory { path: clients }),
            (true, Action::Sleep { microseconds: 10 }),
        ];
        assert_eq!(found, expected);
        let load = Load::parse("test", text).unwrap();
        assert_eq!(load.lines[0].number, 4);
        assert_eq!(load.paths[2], "/clients/a file");
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let lines = [
            "",
            "Open \"\\a\" NT_STATUS_OK",
            "SMBopenX REQUEST 1",
            "Close NT_STATUS_OK",
            "Close 1 NT_STATUS_OK",
            "Close 1",
            "Flush x NT_STATUS_OK",
            "WriteX 1 0 10 9 NT_STATUS_OK",
            "Unlink a NT_STATUS_OK",
            "Unlink \"\\a\\..\\..\\b\" NT_STATUS_OK",
            "NTCreateX \"\\a\" 0x40 0x2 4294967296 NT_STATUS_OK",
            "LockX 1 9223372036854775808 1 NT_STATUS_OK",
            "ReadX 1 0 512 513 NT_STATUS_OK",
            "WriteX 1 0 67108865 67108865 NT_STATUS_OK",
            "Mkdir",
        ];
        let reported = lines.map(|line| {
            let Broken { line, expected, found } =
                Load::parse("test", &format!("# a load\n{line}")).unwrap_err();
            format!("{line}: expected {expected}, found `{found}`")
        });
        insta::assert_snapshot!(reported.join("\n"), @r#"
        1: expected at least one request, found `none`
        2: expected one of NTCreateX, Close, ReadX, WriteX, Flush, Unlink, Rename, Mkdir, Rmdir, Deltree, QUERY_PATH_INFORMATION, QUERY_FILE_INFORMATION, QUERY_FS_INFORMATION, SET_FILE_INFORMATION, FIND_FIRST, LockX, UnlockX, Sleep, found `Open`
        2: expected one of NTCreateX, Close, ReadX, WriteX, Flush, Unlink, Rename, Mkdir, Rmdir, Deltree, QUERY_PATH_INFORMATION, QUERY_FILE_INFORMATION, QUERY_FS_INFORMATION, SET_FILE_INFORMATION, FIND_FIRST, LockX, UnlockX, Sleep, found `SMBopenX`
        2: expected Close HANDLE STATUS, found `Close NT_STATUS_OK`
        2: expected a handle that NTCreateX has opened before, found `1`
        2: expected a status like NT_STATUS_OK or 0x0 at the end, found `1`
        2: expected Flush HANDLE STATUS, found `Flush x NT_STATUS_OK`
        2: expected WriteX HANDLE OFFSET BYTES BYTES_WRITTEN STATUS, found `WriteX 1 0 10 9 NT_STATUS_OK`
        2: expected Unlink "PATH" [ATTRIBUTES] STATUS, found `Unlink a NT_STATUS_OK`
        2: expected Unlink "PATH" [ATTRIBUTES] STATUS, found `Unlink "\a\..\..\b" NT_STATUS_OK`
        2: expected NTCreateX "PATH" OPTIONS DISPOSITION HANDLE STATUS, found `NTCreateX "\a" 0x40 0x2 4294967296 NT_STATUS_OK`
        2: expected LockX HANDLE OFFSET BYTES STATUS, found `LockX 1 9223372036854775808 1 NT_STATUS_OK`
        2: expected ReadX HANDLE OFFSET BYTES BYTES_READ STATUS, found `ReadX 1 0 512 513 NT_STATUS_OK`
        2: expected WriteX HANDLE OFFSET BYTES BYTES_WRITTEN STATUS, found `WriteX 1 0 67108865 67108865 NT_STATUS_OK`
        2: expected Mkdir "PATH" STATUS, found `Mkdir`
        "#);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            offset in 0..=i64::MAX as u64,
            bytes in 0..=MAX_BYTES,
            expected: u32,
            hex: bool,
        ) {
            let expected = expected % (bytes + 1);
            let offset_text = if hex { format!("0x{offset:x}") } else { offset.to_string() };
            let text = format!(
                "NTCreateX \"\\a\" 0 1 3 0x0\nReadX 3 {offset_text} {bytes} {expected} 0x0"
            );
            prop_assert_eq!(actions(&text)[1].1, Action::Read { handle: 3, offset, bytes, expected });
        }

        #[test]
        fn no_text_panics(lines in proptest::collection::vec(
            prop_oneof![any::<String>(), "(ReadX|Close|Rename|NTCreateX|9\\.1) [\"\\\\a 0-9x]{0,20} (NT_STATUS_OK|0x0)"],
            0..4,
        )) {
            let _ = Load::parse("any", &lines.join("\n"));
        }
    }
}
