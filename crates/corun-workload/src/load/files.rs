//! Files that are nothing but names and lengths, for rehearsing a load.
//!
//! Requests end as on Linux (open(2), rename(2), rmdir(2), unlink(2)) for a user who may do everything.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::{Action, Answer, Disposition, Failure, Handle, PathId};

/// Space that a file system may need beside a file's bytes: its blocks are not filled to the end.
pub(super) const BLOCK: u64 = 4096;

/// The files of one client. A name is there only if its directory is.
#[derive(Default)]
pub(super) struct Files {
    entries: BTreeMap<String, Entry>,
    files: Vec<File>,
    open: Vec<(Handle, Entry)>,
    /// Space they take of the disk now, in whole blocks.
    pub(super) bytes: u64,
}

/// Entry of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Directory,
    File(usize),
}

#[derive(Default)]
struct File {
    length: u64,
    /// Number of its names and of the handles on it.
    holders: u32,
}

impl Files {
    /// Outcome of the request, and its effects.
    pub(super) fn carry_out(
        &mut self,
        action: Action,
        succeeds: bool,
        paths: &[String],
    ) -> Result<Answer, Failure> {
        match action {
            Action::Create { path, directory, disposition, handle } => {
                let path = name(paths, path);
                let existed = path.is_empty() || self.entries.contains_key(path);
                let entry = self.create(path, directory, disposition)?;
                if disposition.collides(existed, succeeds) {
                    return Err(Errno::EXIST.into());
                }
                if succeeds {
                    self.hold(entry);
                    self.open.push((handle, entry));
                }
            }
            Action::Close { handle } => {
                let at = self.open.iter().position(|&(open, _)| open == handle);
                let (_, entry) = self.open.remove(at.ok_or(Errno::BADF)?);
                self.release(entry);
            }
            Action::Read { handle, offset, bytes, expected } => {
                let Entry::File(file) = self.opened(handle)? else {
                    return Err(Errno::ISDIR.into());
                };
                let remaining = self.files[file].length.saturating_sub(offset);
                return Answer::moved(expected, remaining.min(bytes.into()) as usize);
            }
            Action::Write { handle, offset, bytes } => {
                // A directory is open for reading alone.
                let Entry::File(file) = self.opened(handle)? else {
                    return Err(Errno::BADF.into());
                };
                if bytes > 0 {
                    let end = offset.saturating_add(bytes.into());
                    self.set_length(file, end.max(self.files[file].length));
                }
                return Answer::moved(bytes, bytes as usize);
            }
            Action::FileInformation { handle } => {
                let value = match self.opened(handle)? {
                    Entry::Directory => 0,
                    Entry::File(file) => self.files[file].length,
                };
                return Ok(Answer { bytes: 0, value });
            }
            Action::Flush { handle }
            | Action::SetFileInformation { handle }
            | Action::Lock { handle, .. }
            | Action::Unlock { handle, .. } => _ = self.opened(handle)?,
            Action::Unlink { path } => self.unlink(name(paths, path))?,
            Action::Rename { from, to } => {
                self.rename(name(paths, from), name(paths, to))?;
            }
            // The answer is not checked.
            Action::MakeDirectory { path } => _ = self.make_directory(name(paths, path)),
            Action::RemoveDirectory { path } => self.remove_directory(name(paths, path))?,
            Action::RemoveTree { path } => {
                let below = self.below(name(paths, path));
                let files = below.into_iter().filter(|(_, entry)| *entry != Entry::Directory);
                files.for_each(|(path, _)| self.remove(&path));
            }
            Action::PathInformation { .. }
            | Action::FileSystemInformation
            | Action::Find { .. }
            | Action::Sleep { .. } => {}
        }
        Ok(Answer::DONE)
    }

    fn opened(&self, handle: Handle) -> Result<Entry, Errno> {
        let found = self.open.iter().find(|&&(open, _)| open == handle);
        found.map(|&(_, entry)| entry).ok_or(Errno::BADF)
    }

    pub(super) fn close_all(&mut self) {
        for (_, entry) in std::mem::take(&mut self.open) {
            self.release(entry);
        }
    }

    fn create(
        &mut self,
        path: &str,
        directory: bool,
        disposition: Disposition,
    ) -> Result<Entry, Errno> {
        if directory {
            // It may be there.
            let _ = self.make_directory(path);
        }
        if path.is_empty() {
            return Ok(Entry::Directory);
        }
        match self.entries.get(path) {
            Some(Entry::File(_)) if directory => Err(Errno::NOTDIR),
            Some(&Entry::File(file)) => {
                if disposition == Disposition::Overwrite {
                    self.set_length(file, 0);
                }
                Ok(Entry::File(file))
            }
            Some(Entry::Directory) => Ok(Entry::Directory),
            None => {
                self.ensure_parent(path)?;
                if directory || disposition == Disposition::Open {
                    return Err(Errno::NOENT);
                }
                self.files.push(File::default());
                let entry = Entry::File(self.files.len() - 1);
                self.bytes = self.bytes.saturating_add(on_disk(0));
                self.add(path.to_owned(), entry);
                Ok(entry)
            }
        }
    }

    fn make_directory(&mut self, path: &str) -> Result<(), Errno> {
        self.ensure_parent(path)?;
        if self.entries.contains_key(path) {
            return Err(Errno::EXIST);
        }
        self.add(path.to_owned(), Entry::Directory);
        Ok(())
    }

    fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        match self.existing(path)? {
            Entry::Directory => Err(Errno::ISDIR),
            Entry::File(_) => {
                self.remove(path);
                Ok(())
            }
        }
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Errno> {
        match self.existing(path)? {
            Entry::File(_) => Err(Errno::NOTDIR),
            Entry::Directory if !self.below(path).is_empty() => Err(Errno::NOTEMPTY),
            Entry::Directory => {
                self.remove(path);
                Ok(())
            }
        }
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        self.ensure_parent(from)?;
        self.ensure_parent(to)?;
        let moved = self.existing(from)?;
        if is_below(to, from) {
            return Err(Errno::INVAL);
        }
        if from == to {
            return Ok(());
        }
        let replaced = self.entries.get(to).copied();
        match (moved, replaced) {
            (Entry::Directory, Some(Entry::File(_))) => return Err(Errno::NOTDIR),
            (_, Some(Entry::Directory)) if is_below(from, to) => return Err(Errno::NOTEMPTY),
            (Entry::File(_), Some(Entry::Directory)) => return Err(Errno::ISDIR),
            (_, Some(Entry::Directory)) if !self.below(to).is_empty() => {
                return Err(Errno::NOTEMPTY);
            }
            _ => {}
        }
        if replaced.is_some() {
            self.remove(to);
        }
        for (path, entry) in self.below(from) {
            self.entries.remove(&path);
            self.entries.insert(format!("{to}{}", &path[from.len()..]), entry);
        }
        self.entries.remove(from);
        self.entries.insert(to.to_owned(), moved);
        Ok(())
    }

    fn existing(&self, path: &str) -> Result<Entry, Errno> {
        match self.entries.get(path) {
            Some(&entry) => Ok(entry),
            None => self.ensure_parent(path).and(Err(Errno::NOENT)),
        }
    }

    /// Checks that a name can be in this place.
    fn ensure_parent(&self, path: &str) -> Result<(), Errno> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        match self.entries.get(parent) {
            _ if parent.is_empty() => Ok(()),
            Some(Entry::Directory) => Ok(()),
            Some(Entry::File(_)) => Err(Errno::NOTDIR),
            None => self.ensure_parent(parent).and(Err(Errno::NOENT)),
        }
    }

    /// Everything below a directory.
    fn below(&self, directory: &str) -> Vec<(String, Entry)> {
        let first = format!("{directory}/");
        let from_there = self.entries.range(first.clone()..);
        let below = from_there.take_while(|(path, _)| path.starts_with(&first));
        below.map(|(path, &entry)| (path.clone(), entry)).collect()
    }

    fn add(&mut self, path: String, entry: Entry) {
        self.hold(entry);
        self.entries.insert(path, entry);
    }

    fn remove(&mut self, path: &str) {
        if let Some(entry) = self.entries.remove(path) {
            self.release(entry);
        }
    }

    fn hold(&mut self, entry: Entry) {
        if let Entry::File(file) = entry {
            self.files[file].holders += 1;
        }
    }

    /// A file is on the disk as long as it has a name or is open.
    fn release(&mut self, entry: Entry) {
        if let Entry::File(file) = entry {
            let file = &mut self.files[file];
            file.holders -= 1;
            if file.holders == 0 {
                self.bytes = self.bytes.saturating_sub(on_disk(file.length));
            }
        }
    }

    fn set_length(&mut self, file: usize, length: u64) {
        let before = std::mem::replace(&mut self.files[file].length, length);
        self.bytes = self.bytes.saturating_sub(on_disk(before)).saturating_add(on_disk(length));
    }
}

/// A path without the strokes at its end, which a directory's name may have; empty for the root.
fn name(paths: &[String], path: PathId) -> &str {
    paths[path.index()].trim_end_matches('/')
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// With the block that its name and its description may need.
fn on_disk(length: u64) -> u64 {
    (length.div_ceil(BLOCK) + 1).saturating_mul(BLOCK)
}
