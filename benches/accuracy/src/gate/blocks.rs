//! Blocks of each list that was measured on a core: every so manyth of them, whether held out or not.

use std::io::Write;
use std::path::Path;

use corun_blocks::agreement;

use super::figures::{Figure, Kind, Set};
use crate::blocks::{LISTS, List, folder, simulate};

/// One block of so many is simulated.
const ONE_OF: usize = 4;

pub(super) fn lists() -> impl Iterator<Item = &'static List> {
    LISTS.iter()
}

/// The errors of a list's blocks.
///
/// # Errors
/// If the list cannot be simulated.
pub(super) fn set(corun: &Path, list: &List) -> Result<Set, String> {
    let text = std::fs::read_to_string(folder().join(list.file)).map_err(|it| it.to_string())?;
    let mut sample = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    sample.write_all(part(&text).as_bytes()).map_err(|error| error.to_string())?;
    let simulated = simulate(corun, list.model, sample.path())?;
    let blocks = &simulated.body.blocks;
    let pairs = blocks.iter().filter_map(|it| Some((it.predicted.unwrap_or(0.0), it.measured?)));
    let found = agreement(&pairs.collect::<Vec<_>>()).ok_or("it has no measured blocks")?;
    let figure = |name: &str, kind, ideal, now| Figure { name: name.to_owned(), kind, ideal, now };
    Ok(Set {
        name: format!("one of {ONE_OF} blocks of {}", list.file),
        figures: vec![
            figure("mean error", Kind::Mean, 0.0, found.mean),
            figure("median error", Kind::Median, 0.0, found.median),
            figure("tau-b", Kind::Tau, 1.0, found.tau),
        ],
    })
}

/// The head of a list and one of so many blocks.
fn part(list: &str) -> String {
    let is_head = |line: &&str| line.starts_with('#') || line.starts_with("block,");
    let head = list.lines().filter(is_head);
    let blocks = list.lines().filter(|line| !is_head(line)).step_by(ONE_OF);
    head.chain(blocks).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_head_and_every_so_manyth_block() {
        let list = "# Measured.\nblock,cycles\n90,1\n91,2\n92,3\n93,4\n94,5\n";
        assert_eq!(part(list), "# Measured.\nblock,cycles\n90,1\n94,5\n");
    }
}
