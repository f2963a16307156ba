//! A load replayed without a disk: what it takes of one at most, and the first request that ends
//! otherwise than its line says, both known before anything is written.

use super::files::Files;
use super::{Action, Load, LoadMismatch};

/// Rehearsal: properties of a load without replaying it on a disk.
#[derive(Debug)]
pub(crate) struct Rehearsal {
    /// The most that one client's files take at any time, in bytes, each file in whole blocks.
    pub(crate) most_bytes: u64,
    /// The first request that ends otherwise than its line says.
    pub(crate) mismatch: Option<LoadMismatch>,
}

impl Load {
    /// Replays the load twice, since the second pass begins with what the first has left.
    pub(crate) fn rehearse(&self) -> Rehearsal {
        let mut files = Files::default();
        let mut rehearsal = Rehearsal { most_bytes: 0, mismatch: None };
        let is_plain = self.paths.iter().all(|path| is_plain(path));
        for pass in ["", " when the load is replayed again"] {
            files.close_all();
            for line in &self.lines {
                let ended = files.carry_out(line.action, line.succeeds, &self.paths);
                rehearsal.most_bytes = rehearsal.most_bytes.max(files.bytes);
                if let Err(mut mismatch) = self.judge(line, ended)
                    && is_plain
                    && rehearsal.mismatch.is_none()
                {
                    mismatch.found.push_str(pass);
                    rehearsal.mismatch = Some(mismatch);
                }
            }
        }
        rehearsal
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

/// True if a path has one spelling only, below the client's folder, that every file system takes.
fn is_plain(path: &str) -> bool {
    let parts = || path.split('/').skip(1);
    parts().all(|part| !matches!(part, "" | ".") && part.len() <= 200) && path.len() <= 2000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::files::BLOCK;

    fn most(lines: &str) -> u64 {
        Load::parse("test", lines).unwrap().rehearse().most_bytes
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
        // The second pass renames `a` over an open `b`, which stays until it is closed.
        assert_eq!(most(&format!("{TWO}\n{renamed}\nUnlink \"\\c\" 0x0")), (4 + 4 + 4) * BLOCK);
        let without = TWO.replacen(
            "NTCreateX \"\\b\"",
            "Close 1 0x0\nUnlink \"\\a\" 0x0\nNTCreateX \"\\b\"",
            1,
        );
        // The second pass writes `a` again while `b` is there.
        assert_eq!(most(&without), (4 + 2) * BLOCK);
        assert_eq!(most(&format!("{without}\nUnlink \"\\b\" 0x0")), 4 * BLOCK);
        let in_folder =
            format!("Mkdir \"\\folder\" 0x0\n{}", without.replace("\"\\", "\"\\folder\\"));
        assert_eq!(most(&in_folder), (4 + 2) * BLOCK);
        assert_eq!(most(&format!("Deltree \"\\folder\" 0x0\n{in_folder}")), 4 * BLOCK);
    }

    #[test]
    fn a_load_that_asks_for_everything_is_counted_without_overflow() {
        let huge = format!("NTCreateX \"\\a\" 0 2 1 0x0\nWriteX 1 {} 9 9 0x0", i64::MAX);
        assert!(most(&huge) >= i64::MAX as u64);
        assert!(most(&huge) >= Load::parse("test", &huge).unwrap().longest_file());
    }

    fn mismatch(lines: &str) -> Option<(u32, String)> {
        let found = Load::parse("test", lines).unwrap().rehearse().mismatch?;
        Some((found.line, format!("{}, not {}", found.found, found.expected)))
    }

    #[test]
    fn a_request_that_ends_otherwise_than_its_line_says_is_found() {
        let create = |status: &str| format!("NTCreateX \"\\a\" 0 2 1 {status}");
        let found = [
            "Unlink \"\\a\" 0 0x0".to_owned(),
            format!("{}\nUnlink \"\\a\" 0 0xC0000034", create("0x0")),
            format!("{}\nReadX 1 0 512 512 0x0", create("0x0")),
            "NTCreateX \"\\a\" 0 1 1 0xC0000034\nNTCreateX \"\\a\" 0 2 1 0x0".to_owned(),
            "NTCreateX \"\\a\\b\" 0 2 1 0x0".to_owned(),
        ]
        .map(|lines| {
            mismatch(&lines).map_or("none".to_owned(), |(line, why)| format!("{line}: {why}"))
        });
        insta::assert_snapshot!(found.join("\n"), @"
        1: No such file or directory (os error 2), not success
        2: success, not a failure
        2: 0, not 512 bytes
        1: success when the load is replayed again, not a failure
        1: No such file or directory (os error 2), not success
        ");
    }

    #[test]
    fn creating_what_exists_fails_where_the_line_says_so() {
        let directory = |status: &str| format!("NTCreateX \"\\d\" 1 2 1 {status}");
        let file = |status: &str| format!("NTCreateX \"\\f\" 0 2 1 {status}");
        for lines in [
            format!("Mkdir \"\\d\" 0x0\n{}", directory("0xc0000035")),
            format!("Mkdir \"\\d\" 0x0\n{}\nClose 1 0x0", directory("0x0")),
            format!("{}\nClose 1 0x0\n{}", file("0x0"), file("0xc0000035")),
            format!("{}\nClose 1 0x0\n{}\nClose 1 0x0", file("0x0"), file("0x0")),
        ] {
            assert_eq!(mismatch(&lines), None, "{lines}");
        }
        // Nothing is there to collide with, and opening makes no collision.
        for lines in [directory("0xc0000035"), file("0xc0000035")] {
            assert_eq!(mismatch(&lines), Some((1, "success, not a failure".to_owned())));
        }
        let opened = format!("{}\nNTCreateX \"\\f\" 0 1 2 0xc0000035", file("0x0"));
        assert_eq!(mismatch(&opened), Some((2, "success, not a failure".to_owned())));
    }

    #[test]
    fn a_name_with_a_stroke_behind_it_is_the_same_directory() {
        let lines = "Mkdir \"\\d\" 0x0\nNTCreateX \"\\d\\\" 1 2 1 0xc0000035\n\
                     NTCreateX \"\\d\\a\" 0 2 2 0x0\nNTCreateX \"\\\" 1 1 3 0x0";
        let load = Load::parse("test", lines).unwrap();
        let mut files = Files::default();
        for line in &load.lines {
            let ended = files.carry_out(line.action, line.succeeds, &load.paths);
            assert!(load.judge(line, ended).is_ok(), "{line:?}");
        }
    }

    #[test]
    fn what_its_line_says_and_odd_paths_are_no_mismatch() {
        assert_eq!(Load::own().rehearse().mismatch, None);
        for lines in [
            "Unlink \"\\a\" 0 0xC0000034",
            "NTCreateX \"\\a\" 0 2 1 0x0\nReadX 1 0 512 0 0x0\nUnlink \"\\a\" 0 0x0",
            // The answer of this request is not checked.
            "Mkdir \"\\a\" 0xC0000035",
            // Two spellings of one path.
            "NTCreateX \"\\a\" 0 2 1 0x0\nUnlink \"\\.\\a\" 0 0x0",
        ] {
            assert_eq!(mismatch(lines), None, "{lines}");
        }
    }
}
