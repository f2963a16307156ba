//! Action of a line of a load: the requests of a file server's client, named and written as in the
//! load files of dbench 4.

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Create,
    Close,
    Read,
    Write,
    Flush,
    Unlink,
    Rename,
    MakeDirectory,
    RemoveDirectory,
    RemoveTree,
    PathInformation,
    FileInformation,
    FileSystemInformation,
    SetFileInformation,
    Find,
    Lock,
    Unlock,
    Sleep,
}

impl Kind {
    /// Every kind, in the order of their declaration.
    pub(crate) const ALL: [Self; 18] = [
        Self::Create,
        Self::Close,
        Self::Read,
        Self::Write,
        Self::Flush,
        Self::Unlink,
        Self::Rename,
        Self::MakeDirectory,
        Self::RemoveDirectory,
        Self::RemoveTree,
        Self::PathInformation,
        Self::FileInformation,
        Self::FileSystemInformation,
        Self::SetFileInformation,
        Self::Find,
        Self::Lock,
        Self::Unlock,
        Self::Sleep,
    ];

    /// The whole line but for the status that ends it. Numbers in brackets are read past, like the
    /// original reads past them.
    pub(super) fn syntax(self) -> &'static str {
        match self {
            Self::Create => r#"NTCreateX "PATH" OPTIONS DISPOSITION HANDLE"#,
            Self::Close => "Close HANDLE",
            Self::Read => "ReadX HANDLE OFFSET BYTES BYTES_READ",
            Self::Write => "WriteX HANDLE OFFSET BYTES BYTES_WRITTEN",
            Self::Flush => "Flush HANDLE",
            Self::Unlink => r#"Unlink "PATH" [ATTRIBUTES]"#,
            Self::Rename => r#"Rename "PATH" "PATH""#,
            Self::MakeDirectory => r#"Mkdir "PATH""#,
            Self::RemoveDirectory => r#"Rmdir "PATH""#,
            Self::RemoveTree => r#"Deltree "PATH""#,
            Self::PathInformation => r#"QUERY_PATH_INFORMATION "PATH" [LEVEL]"#,
            Self::FileInformation => "QUERY_FILE_INFORMATION HANDLE [LEVEL]",
            Self::FileSystemInformation => "QUERY_FS_INFORMATION [LEVEL]",
            Self::SetFileInformation => "SET_FILE_INFORMATION HANDLE [LEVEL]",
            Self::Find => r#"FIND_FIRST "PATTERN" LEVEL MAX FOUND"#,
            Self::Lock => "LockX HANDLE OFFSET BYTES",
            Self::Unlock => "UnlockX HANDLE OFFSET BYTES",
            Self::Sleep => "Sleep MICROSECONDS",
        }
    }

    /// Name in a load.
    pub(crate) fn name(self) -> &'static str {
        let syntax = self.syntax();
        syntax.split_once(' ').map_or(syntax, |(name, _)| name)
    }

    /// The kind of this name; the original takes capitals and small letters for the same.
    pub(super) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| {
            let split = kind.syntax().as_bytes().split_at_checked(name.len());
            split.is_some_and(|(start, rest)| {
                start.eq_ignore_ascii_case(name.as_bytes()) && matches!(rest, [] | [b' ', ..])
            })
        })
    }
}

/// A path of the load, by its place among [`Load::paths`](super::Load::paths).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PathId(pub(super) u32);

impl PathId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of an open file in the load.
pub(crate) type Handle = u32;

/// A request. Offsets and lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Create {
        path: PathId,
        directory: bool,
        disposition: Disposition,
        handle: Handle,
    },
    Close {
        handle: Handle,
    },
    /// `expected` bytes are there to be read.
    Read {
        handle: Handle,
        offset: u64,
        bytes: u32,
        expected: u32,
    },
    Write {
        handle: Handle,
        offset: u64,
        bytes: u32,
    },
    Flush {
        handle: Handle,
    },
    Unlink {
        path: PathId,
    },
    Rename {
        from: PathId,
        to: PathId,
    },
    MakeDirectory {
        path: PathId,
    },
    RemoveDirectory {
        path: PathId,
    },
    /// Removes all files below, and leaves the directories.
    RemoveTree {
        path: PathId,
    },
    PathInformation {
        path: PathId,
    },
    FileInformation {
        handle: Handle,
    },
    FileSystemInformation,
    SetFileInformation {
        handle: Handle,
    },
    /// At most `most` entries are read; the server answered with `found`.
    Find {
        pattern: PathId,
        most: u32,
        found: u32,
    },
    Lock {
        handle: Handle,
        offset: u64,
        bytes: u32,
    },
    Unlock {
        handle: Handle,
        offset: u64,
        bytes: u32,
    },
    Sleep {
        microseconds: u32,
    },
}

impl Action {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Create { .. } => Kind::Create,
            Self::Close { .. } => Kind::Close,
            Self::Read { .. } => Kind::Read,
            Self::Write { .. } => Kind::Write,
            Self::Flush { .. } => Kind::Flush,
            Self::Unlink { .. } => Kind::Unlink,
            Self::Rename { .. } => Kind::Rename,
            Self::MakeDirectory { .. } => Kind::MakeDirectory,
            Self::RemoveDirectory { .. } => Kind::RemoveDirectory,
            Self::RemoveTree { .. } => Kind::RemoveTree,
            Self::PathInformation { .. } => Kind::PathInformation,
            Self::FileInformation { .. } => Kind::FileInformation,
            Self::FileSystemInformation => Kind::FileSystemInformation,
            Self::SetFileInformation { .. } => Kind::SetFileInformation,
            Self::Find { .. } => Kind::Find,
            Self::Lock { .. } => Kind::Lock,
            Self::Unlock { .. } => Kind::Unlock,
            Self::Sleep { .. } => Kind::Sleep,
        }
    }

    /// The handle that must be open for it.
    pub(super) fn needs(self) -> Option<Handle> {
        match self {
            Self::Close { handle }
            | Self::Read { handle, .. }
            | Self::Write { handle, .. }
            | Self::Flush { handle }
            | Self::FileInformation { handle }
            | Self::SetFileInformation { handle }
            | Self::Lock { handle, .. }
            | Self::Unlock { handle, .. } => Some(handle),
            _ => None,
        }
    }
}

/// Disposition of an opening: the treatment of a file that is there, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// Opens what is there.
    Open,
    /// Opens what is there, or makes it.
    Create,
    /// Empties what is there, or makes it.
    Overwrite,
}

impl Disposition {
    /// As the original takes the numbers of the protocol (MS-SMB2, 2.2.13, CreateDisposition): it
    /// makes files for 2 (create), 4 (overwrite) and 5 (overwrite or create) alone.
    pub(super) fn of(number: u32) -> Self {
        match number {
            2 => Self::Create,
            4 | 5 => Self::Overwrite,
            _ => Self::Open,
        }
    }

    /// True if a request ends in the protocol's name collision (0xc0000035): it wants to create what
    /// existed before, and its line says that it fails. The original opens what is there all the
    /// same, which is what a line that succeeds asks for.
    pub(crate) fn collides(self, existed: bool, succeeds: bool) -> bool {
        self == Self::Create && existed && !succeeds
    }
}

/// The bit of a request's options that asks for a directory (MS-SMB2, 2.2.13, CreateOptions).
pub(super) const DIRECTORY: u32 = 1;
