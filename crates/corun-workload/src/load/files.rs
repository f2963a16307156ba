//! What a load leaves on a disk at most: it is replayed on files that are nothing but lengths.

use std::collections::HashMap;

use super::{Action, Disposition, Handle, Load, PathId};

/// What a file system may need beside a file's bytes: its blocks are not filled to the end.
const BLOCK: u64 = 4096;

impl Load {
    /// The most that one client's files take at any time, in bytes, each file in whole blocks.
    pub(crate) fn most_bytes(&self) -> u64 {
        let mut files = Files::default();
        // The second pass begins with what the first one left.
        for line in self.lines.iter().chain(&self.lines).filter(|line| line.succeeds) {
            files.apply(line.action, &self.paths);
        }
        files.most
    }

    /// The longest file that one client writes, in bytes.
    pub(crate) fn longest_file(&self) -> u64 {
        let ends = self.lines.iter().map(|line| match line.action {
            Action::Write { offset, bytes, .. } => offset.saturating_add(bytes.into()),
            _ => 0,
        });
        ends.max().unwrap_or(0)
    }
}

#[derive(Default)]
struct Files {
    lengths: HashMap<PathId, u64>,
    open: HashMap<Handle, PathId>,
    bytes: u64,
    most: u64,
}

impl Files {
    fn apply(&mut self, action: Action, paths: &[String]) {
        match action {
            Action::Create { path, directory, disposition, handle } => {
                self.open.insert(handle, path);
                if disposition == Disposition::Overwrite && !directory {
                    self.remove(path);
                }
                let length = self.lengths.get(&path).copied().unwrap_or(0);
                self.grow(path, length);
            }
            Action::Close { handle } => _ = self.open.remove(&handle),
            Action::Write { handle, offset, bytes } => {
                if let Some(&path) = self.open.get(&handle) {
                    self.grow(path, offset.saturating_add(bytes.into()));
                }
            }
            Action::Unlink { path } => self.remove(path),
            Action::RemoveTree { path } => {
                let tree = &paths[path.index()];
                let is_below = |path: &PathId| {
                    let rest = paths[path.index()].strip_prefix(tree.as_str());
                    rest.is_some_and(|rest| rest.starts_with('/'))
                };
                let below: Vec<PathId> = self.lengths.keys().copied().filter(is_below).collect();
                below.into_iter().for_each(|path| self.remove(path));
            }
            Action::Rename { from, to } => {
                let length = self.lengths.get(&from).copied();
                self.remove(from);
                self.remove(to);
                self.grow(to, length.unwrap_or(0));
            }
            _ => {}
        }
    }

    fn grow(&mut self, path: PathId, length: u64) {
        let before = self.lengths.get(&path).copied();
        let after = length.max(before.unwrap_or(0));
        self.bytes = self.bytes.saturating_sub(before.map_or(0, on_disk));
        self.bytes = self.bytes.saturating_add(on_disk(after));
        self.lengths.insert(path, after);
        self.most = self.most.max(self.bytes);
    }

    fn remove(&mut self, path: PathId) {
        let removed = self.lengths.remove(&path).map_or(0, on_disk);
        self.bytes = self.bytes.saturating_sub(removed);
    }
}

/// With the block that its name and its description may need.
fn on_disk(length: u64) -> u64 {
    (length.div_ceil(BLOCK) + 1).saturating_mul(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(lines: &str) -> u64 {
        Load::parse("test", lines).unwrap().most_bytes()
    }

    const TWO: &str = r#"NTCreateX "\a" 0 2 1 0x0
WriteX 1 10000 1 1 0x0
NTCreateX "\b" 0 2 2 0x0
WriteX 2 4095 1 1 0x0"#;

    #[test]
    fn files_are_counted_in_blocks_while_they_are_there() {
        assert_eq!(most(TWO), (4 + 2) * BLOCK);
        let renamed =
            "Rename \"\\a\" \"\\b\" 0x0\nNTCreateX \"\\c\" 0 2 3 0x0\nWriteX 3 0 9000 9000 0x0";
        assert_eq!(most(&format!("{TWO}\n{renamed}\nUnlink \"\\c\" 0x0")), (4 + 4) * BLOCK);
        let without = TWO.replacen("NTCreateX \"\\b\"", "Unlink \"\\a\" 0x0\nNTCreateX \"\\b\"", 1);
        // The second pass writes `a` again while `b` is there.
        assert_eq!(most(&without), (4 + 2) * BLOCK);
        assert_eq!(most(&format!("{without}\nUnlink \"\\b\" 0x0")), 4 * BLOCK);
        let in_folder = without.replace("\"\\", "\"\\folder\\");
        assert_eq!(most(&in_folder), (4 + 2) * BLOCK);
        assert_eq!(most(&format!("Deltree \"\\folder\" 0x0\n{in_folder}")), 4 * BLOCK);
    }

    #[test]
    fn a_load_that_asks_for_everything_is_counted_without_overflow() {
        let huge = format!("NTCreateX \"\\a\" 0 2 1 0x0\nWriteX 1 {} 9 9 0x0", i64::MAX);
        assert!(most(&huge) >= i64::MAX as u64);
        assert!(most(&huge) >= Load::parse("test", &huge).unwrap().longest_file());
    }
}
