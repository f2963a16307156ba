//! Makes corun's own load for `dbench` and `tbench`, from a fixed seed:
//! `cargo run -p corun-workload --example office_load > crates/corun-workload/loads/office.txt`.
//!
//! How often each request occurs is what dbench's second version (2002) counted in a trace of office
//! programs, a tenth of it, with the requests that version 4 added; sizes and the share of
//! requests that fail are those of version 4. The files and their order are made up.

use std::fmt::Write;

#[allow(dead_code, unused_imports, reason = "only its random numbers are of use here")]
#[path = "../src/generated/mod.rs"]
mod generated;

use generated::Random;

fn main() {
    print!("{}", load());
}

/// The text of the load.
pub(crate) fn load() -> String {
    let mut office = Office::new();
    let mut left = REQUESTS.map(|(_, count)| count);
    loop {
        let possible: Vec<usize> =
            (0..left.len()).filter(|&at| left[at] > 0 && office.can(REQUESTS[at].0)).collect();
        let Some(at) = office.weighted(&possible.iter().map(|&at| left[at]).collect::<Vec<_>>())
        else {
            return office.text;
        };
        left[possible[at]] -= 1;
        office.request(REQUESTS[possible[at]].0);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Open,
    OpenDirectory,
    OpenMissing,
    Close,
    Read,
    Write,
    Flush,
    Unlink,
    Rename,
    QueryPath,
    QueryMissingPath,
    QueryFile,
    QueryFileSystem,
    SetFile,
    Find,
    FindNothing,
    Lock,
    MakeDirectory,
    RemoveDirectory,
}

const REQUESTS: [(Request, u64); 19] = [
    (Request::Open, 780),
    (Request::OpenDirectory, 56),
    (Request::OpenMissing, 264),
    (Request::Close, 836),
    (Request::Read, 1788),
    (Request::Write, 748),
    (Request::Flush, 72),
    (Request::Unlink, 204),
    (Request::Rename, 44),
    (Request::QueryPath, 442),
    (Request::QueryMissingPath, 295),
    (Request::QueryFile, 185),
    (Request::QueryFileSystem, 171),
    (Request::SetFile, 90),
    (Request::Find, 171),
    (Request::FindNothing, 186),
    (Request::Lock, 4),
    (Request::MakeDirectory, 2),
    (Request::RemoveDirectory, 2),
];

/// Bytes and how often a request is about so many.
const READS: [(u64, u64); 7] =
    [(4096, 83), (61440, 17), (8192, 5), (2048, 5), (16384, 2), (512, 1), (1024, 1)];
const WRITES: [(u64, u64); 6] =
    [(65536, 127), (4096, 99), (1, 74), (2048, 17), (8192, 12), (512, 4)];

const FOLDERS: [(&str, &str); 4] =
    [("LETTERS", "DOC"), ("LEDGERS", "XLS"), ("SLIDES", "PPT"), ("MAIL", "MSG")];
const ROOT: &str = r"\clients\client1";

const LONGEST_FILE: u64 = 1 << 20;
const MIN_FILES: usize = 20;
const MAX_FILES: usize = 40;
const MAX_OPEN: usize = 6;

struct File {
    folder: usize,
    number: usize,
    bytes: u64,
    handles: usize,
}

impl File {
    fn path(&self) -> String {
        let (folder, ending) = FOLDERS[self.folder];
        format!(r"{ROOT}\{folder}\{}{:04}.{ending}", &folder[..4], self.number)
    }
}

struct Office {
    text: String,
    random: Random,
    files: Vec<File>,
    /// Handles, and the numbers of the files they are of; directories have none.
    open: Vec<(usize, Option<usize>)>,
    numbers: usize,
    handles: usize,
    spare_folder: bool,
}

impl Office {
    fn new() -> Self {
        let mut office = Self {
            text: "# Requests of office programs, made up; see examples/office_load.rs.\n"
                .to_owned(),
            random: Random::new(4),
            files: Vec::new(),
            open: Vec::new(),
            numbers: 0,
            handles: 9000,
            spare_folder: false,
        };
        office.line(format_args!(r#"Deltree "{ROOT}""#));
        office.line(format_args!(r#"Mkdir "\clients""#));
        office.directory(ROOT, 2);
        for (folder, _) in FOLDERS {
            office.directory(&format!(r"{ROOT}\{folder}"), 2);
        }
        office
    }

    fn can(&self, request: Request) -> bool {
        match request {
            Request::Open | Request::OpenDirectory => self.open.len() < MAX_OPEN,
            Request::Close => !self.open.is_empty(),
            Request::Read => self.open_files().any(|file| file.bytes > 0),
            Request::Write
            | Request::Flush
            | Request::QueryFile
            | Request::SetFile
            | Request::Lock => self.open_files().next().is_some(),
            Request::Unlink => self.files.len() > MIN_FILES && self.closed().next().is_some(),
            Request::Rename | Request::QueryPath => self.closed().next().is_some(),
            Request::RemoveDirectory => self.spare_folder,
            Request::MakeDirectory => !self.spare_folder,
            _ => true,
        }
    }

    fn request(&mut self, request: Request) {
        match request {
            Request::Open => self.open(),
            Request::OpenDirectory => {
                let (folder, _) = FOLDERS[self.random.below(4) as usize];
                self.handles += 1;
                let handle = self.handles;
                self.line(format_args!(r#"NTCreateX "{ROOT}\{folder}" 0x1 0x1 {handle}"#));
                self.open.push((handle, None));
            }
            Request::OpenMissing => {
                let path = self.missing();
                self.handles += 1;
                let handle = self.handles;
                self.failing(format_args!(r#"NTCreateX "{path}" 0x40 0x1 {handle}"#));
            }
            Request::Close => {
                let at = self.random.below(self.open.len() as u64) as usize;
                let (handle, number) = self.open.remove(at);
                if let Some(file) = number.and_then(|number| self.file(number)) {
                    file.handles -= 1;
                }
                self.line(format_args!("Close {handle}"));
            }
            Request::Read => self.read(),
            Request::Write => self.write(),
            Request::Unlink => {
                let at = self.a_closed();
                let path = self.files.remove(at).path();
                self.line(format_args!(r#"Unlink "{path}" 6"#));
            }
            Request::Rename => {
                let at = self.a_closed();
                let from = self.files[at].path();
                self.numbers += 1;
                self.files[at].number = self.numbers;
                let to = self.files[at].path();
                self.line(format_args!(r#"Rename "{from}" "{to}""#));
            }
            Request::QueryPath => {
                let at = self.a_closed();
                let path = self.files[at].path();
                self.line(format_args!(r#"QUERY_PATH_INFORMATION "{path}" 1004"#));
            }
            Request::QueryMissingPath => {
                let path = self.missing();
                self.failing(format_args!(r#"QUERY_PATH_INFORMATION "{path}" 1004"#));
            }
            Request::QueryFileSystem => self.line(format_args!("QUERY_FS_INFORMATION 1")),
            Request::Find => {
                let at = self.random.below(4) as usize;
                let found = 2 + self.files.iter().filter(|file| file.folder == at).count();
                let folder = FOLDERS[at].0;
                self.line(format_args!(r#"FIND_FIRST "{ROOT}\{folder}\*" 260 1366 {found}"#));
            }
            Request::FindNothing => {
                let (folder, _) = FOLDERS[self.random.below(4) as usize];
                let pattern = format!(r"{ROOT}\{folder}\*.TMP");
                self.end(format_args!(r#"FIND_FIRST "{pattern}" 260 1366 0"#), "NO_SUCH_FILE");
            }
            Request::MakeDirectory => {
                self.spare_folder = true;
                self.line(format_args!(r#"Mkdir "{ROOT}\SPARE""#));
            }
            Request::RemoveDirectory => {
                self.spare_folder = false;
                self.line(format_args!(r#"Rmdir "{ROOT}\SPARE""#));
            }
            Request::Flush => self.of_handle("Flush", ""),
            Request::QueryFile => self.of_handle("QUERY_FILE_INFORMATION", " 258"),
            Request::SetFile => self.of_handle("SET_FILE_INFORMATION", " 1004"),
            Request::Lock => {
                let (handle, _) = self.an_open();
                self.line(format_args!("LockX {handle} 2147483538 1"));
                self.line(format_args!("UnlockX {handle} 2147483538 1"));
            }
        }
    }

    /// Opens a file; as many are made as are removed.
    fn open(&mut self) {
        let is_new = self.files.len() < MIN_FILES
            || self.files.len() < MAX_FILES && self.random.below(3) == 0;
        let at = if is_new {
            self.numbers += 1;
            let folder = self.random.below(4) as usize;
            self.files.push(File { folder, number: self.numbers, bytes: 0, handles: 0 });
            self.files.len() - 1
        } else {
            self.random.below(self.files.len() as u64) as usize
        };
        self.handles += 1;
        let handle = self.handles;
        let file = &mut self.files[at];
        file.handles += 1;
        let (path, number) = (file.path(), file.number);
        self.open.push((handle, Some(number)));
        let disposition = if is_new { 2 } else { 1 };
        self.line(format_args!(r#"NTCreateX "{path}" 0x40 0x{disposition} {handle}"#));
    }

    fn read(&mut self) {
        let (handle, number) = loop {
            let (handle, number) = self.an_open();
            if self.file(number).is_some_and(|file| file.bytes > 0) {
                break (handle, number);
            }
        };
        let bytes = self.size(&READS);
        let length = self.file(number).map_or(0, |file| file.bytes);
        let offset = self.random.below(length.saturating_sub(bytes) / 512 + 1) * 512;
        let read = bytes.min(length - offset);
        self.line(format_args!("ReadX {handle} {offset} {bytes} {read}"));
    }

    /// Most writes append; a byte by itself makes a file longer, as programs do before
    /// they fill it.
    fn write(&mut self) {
        let (handle, number) = self.an_open();
        let bytes = self.size(&WRITES);
        let within = self.random.below(4) == 0;
        let pick = self.random.any();
        let Some(file) = self.file(number) else { return };
        let mut offset = if bytes == 1 { file.bytes + 65534 } else { file.bytes };
        if within || offset + bytes > LONGEST_FILE {
            offset = pick % (file.bytes / 512 + 1) * 512 % (LONGEST_FILE - bytes);
        }
        file.bytes = file.bytes.max(offset + bytes);
        self.line(format_args!("WriteX {handle} {offset} {bytes} {bytes}"));
    }

    fn of_handle(&mut self, name: &str, rest: &str) {
        let (handle, _) = self.an_open();
        self.line(format_args!("{name} {handle}{rest}"));
    }

    fn directory(&mut self, path: &str, disposition: u32) {
        self.handles += 1;
        let handle = self.handles;
        self.line(format_args!(r#"NTCreateX "{path}" 0x1 0x{disposition} {handle}"#));
        self.line(format_args!("Close {handle}"));
    }

    /// A path that has never been there.
    fn missing(&mut self) -> String {
        let folder = self.random.below(4) as usize;
        let number = 5000 + self.random.below(200) as usize;
        File { folder, number, bytes: 0, handles: 0 }.path()
    }

    fn file(&mut self, number: usize) -> Option<&mut File> {
        self.files.iter_mut().find(|file| file.number == number)
    }

    fn open_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.handles > 0)
    }

    fn closed(&self) -> impl Iterator<Item = usize> {
        (0..self.files.len()).filter(|&at| self.files[at].handles == 0)
    }

    fn a_closed(&mut self) -> usize {
        let closed: Vec<usize> = self.closed().collect();
        closed[self.random.below(closed.len() as u64) as usize]
    }

    /// An open file: its handle and its number.
    fn an_open(&mut self) -> (usize, usize) {
        let open: Vec<_> =
            self.open.iter().filter_map(|&(handle, number)| Some((handle, number?))).collect();
        open[self.random.below(open.len() as u64) as usize]
    }

    fn size(&mut self, sizes: &[(u64, u64)]) -> u64 {
        let weights: Vec<u64> = sizes.iter().map(|&(_, weight)| weight).collect();
        self.weighted(&weights).map_or(0, |at| sizes[at].0)
    }

    /// One of these, as often as its weight says; `None` of none.
    fn weighted(&mut self, weights: &[u64]) -> Option<usize> {
        let mut pick = self.random.below(weights.iter().sum());
        weights.iter().position(|&weight| {
            let is_it = pick < weight;
            pick = pick.saturating_sub(weight);
            is_it
        })
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.end(line, "OK");
    }

    fn failing(&mut self, line: std::fmt::Arguments<'_>) {
        self.end(line, "OBJECT_NAME_NOT_FOUND");
    }

    fn end(&mut self, line: std::fmt::Arguments<'_>, status: &str) {
        writeln!(self.text, "{line} NT_STATUS_{status}").expect("a string takes any text");
    }
}
