//! `--pairs`: files that have slowdowns of pairs, and what their kinds are called here.

use std::path::PathBuf;

use corun_files::InputKind;
use corun_sched::Pairs;

use crate::problem::Problem;

/// A file that has slowdowns of pairs.
#[derive(Debug, Clone)]
pub(super) struct NamedPairs {
    pub(super) file: PathBuf,
    /// Names of its kinds here, in its order; their own names if there are none.
    kinds: Vec<String>,
}

/// `FILE`, `KIND=FILE` or `KIND,KIND=FILE`; what has a `/` before its first `=` is a file.
///
/// # Errors
/// A sentence on what was expected.
pub(super) fn named(text: &str) -> Result<NamedPairs, String> {
    match text.split_once('=') {
        Some((kinds, file)) if !kinds.contains('/') => {
            let kinds: Vec<String> = kinds.split(',').map(str::to_owned).collect();
            match kinds.iter().any(String::is_empty) || file.is_empty() {
                true => Err(format!("expected FILE or KIND=FILE, found \"{text}\"")),
                false => Ok(NamedPairs { file: file.into(), kinds }),
            }
        }
        _ => Ok(NamedPairs { file: text.into(), kinds: Vec::new() }),
    }
}

impl NamedPairs {
    pub(super) fn read(&self) -> Result<Pairs, Problem> {
        let file = &self.file;
        let text = corun_files::text(file, InputKind::DOCUMENT).map_err(|error| {
            let next_step = "Name a file that `corun simulate --placement spread,full --json FILE` or \
                             `corun measure --placement spread,full --json FILE` wrote.";
            Problem::unreadable(&error, next_step).in_file(file)
        })?;
        let named = |pairs: Pairs| match self.kinds.is_empty() {
            true => Ok(pairs),
            false => pairs.renamed(&self.kinds),
        };
        let pairs = Pairs::from_json(&text).and_then(named);
        pairs.map_err(|error| Problem::from(error).in_file(file))
    }
}
