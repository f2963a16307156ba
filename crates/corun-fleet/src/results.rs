//! The result files of a campaign, and which of a task's results counts.
//!
//! A task that was requeued, or ran twice, may leave several. The first that is chosen counts from then on: the choice
//! is a symbolic link, which symlink(2) makes for one of several processes only.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;

use corun_files::InputKind;
use serde::de::DeserializeOwned;

use crate::error::FleetError;
use crate::layout::{Attempt, Directory, TaskResult, attempt_file, task_name};
use crate::plan::Plan;

/// Attempts and results in a campaign's directory.
#[derive(Debug, Default)]
pub struct CampaignFiles {
    /// The attempts that began.
    pub attempts: Vec<Attempt>,
    /// The attempts that ended.
    pub results: Vec<TaskResult>,
    /// Files that cannot be read or do not belong there: the name, and what is wrong.
    pub damaged: Vec<(String, String)>,
}

/// Reads all attempts and results of a campaign.
///
/// # Errors
/// If a folder cannot be listed. A file that cannot be read is damaged.
pub fn read(plan: &Plan, directory: &Directory) -> Result<CampaignFiles, FleetError> {
    let mut found = CampaignFiles::default();
    each_file(&directory.attempts(), |name, path| {
        // What began is of use only where it can be read.
        if let Ok(attempt) = parsed::<Attempt>(path)
            && belongs(plan, &attempt, name)
        {
            found.attempts.push(attempt);
        }
    })?;
    each_file(&directory.results(), |name, path| match parsed::<TaskResult>(path) {
        Ok(result)
            if (result.format.as_str(), result.version)
                != (TaskResult::FORMAT, TaskResult::VERSION) =>
        {
            let reason = format!("format {:?} of version {}", result.format, result.version);
            found.damaged.push((name.to_owned(), reason));
        }
        Ok(result) if !belongs(plan, &result.attempt, name) => {
            found.damaged.push((name.to_owned(), "it is of another campaign or task".to_owned()));
        }
        Ok(result) => found.results.push(result),
        Err(reason) => found.damaged.push((name.to_owned(), reason)),
    })?;
    Ok(found)
}

fn each_file(folder: &Path, mut act: impl FnMut(&str, &Path)) -> Result<(), FleetError> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(FleetError::file(folder))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(FleetError::file(folder))?.file_name());
    }
    names.sort();
    // Files that are being written have names that begin with a dot.
    let is_complete = |name: &&OsStr| !name.as_encoded_bytes().starts_with(b".");
    for name in names.iter().map(OsString::as_os_str).filter(is_complete) {
        act(&name.to_string_lossy(), &folder.join(name));
    }
    Ok(())
}

fn parsed<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = corun_files::text(path, InputKind::DOCUMENT).map_err(|error| error.to_string())?;
    // Its document is kept as it was written, which only a reader of text can do.
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// True if an attempt is one of the campaign's, and in the file that is its own.
fn belongs(plan: &Plan, attempt: &Attempt, name: &str) -> bool {
    attempt.campaign == plan.campaign
        && plan.numbers().contains(&attempt.task)
        && attempt_file(attempt.task, &attempt.attempt) == name
}

/// The result that counts for each task that is done: the one that was chosen, else the one that ended first.
pub fn counted<'a>(
    directory: &Directory,
    found: &'a CampaignFiles,
) -> BTreeMap<u32, &'a TaskResult> {
    let mut done: BTreeMap<u32, Vec<&TaskResult>> = BTreeMap::new();
    for result in found.results.iter().filter(|it| it.is_done()) {
        done.entry(result.attempt.task).or_default().push(result);
    }
    let counts = |(task, results): (u32, Vec<&'a TaskResult>)| {
        let chosen = chosen(directory, task);
        let is_chosen =
            |it: &&TaskResult| chosen.as_ref() == Some(&attempt_file(task, &it.attempt.attempt));
        let first = results.iter().copied().min_by_key(|it| (&it.ended, &it.attempt.attempt))?;
        Some((task, results.into_iter().find(is_chosen).unwrap_or(first)))
    };
    done.into_iter().filter_map(counts).collect()
}

/// Has this result count for its task from now on, unless another one does already. Where the directory may not be
/// changed, nothing is chosen, and [`counted`] finds the same result again as long as none that ended earlier comes.
///
/// # Errors
/// If the choice cannot be written for another reason.
pub(crate) fn choose(directory: &Directory, result: &TaskResult) -> Result<(), FleetError> {
    let Attempt { task, attempt, .. } = &result.attempt;
    let link = directory.chosen().join(task_name(*task));
    let target = Path::new("../results").join(attempt_file(*task, attempt));
    match std::os::unix::fs::symlink(target, &link) {
        Err(error)
            if !matches!(
                error.kind(),
                ErrorKind::AlreadyExists
                    | ErrorKind::PermissionDenied
                    | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Err(FleetError::file(&link)(error))
        }
        _ => Ok(()),
    }
}

/// The name of the result file that was chosen for a task.
fn chosen(directory: &Directory, task: u32) -> Option<String> {
    let target = std::fs::read_link(directory.chosen().join(task_name(task))).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: &str = r#"{"format": "corun-fleet-result", "version": 1, "attempt": {"campaign": "1a2b", "task": TASK,
        "attempt": "NAME", "node": "n1", "job": null, "started": "", "online_cpus": "0", "allowed_cpus": "0",
        "cpus_differ": null}, "ended": "ENDED", "failure": null, "document": {"elapsed_s": 0.1}}"#;

    struct Made(tempfile::TempDir);

    impl Made {
        fn new() -> Self {
            let made = Self(tempfile::tempdir().unwrap());
            for folder in [made.directory().results(), made.directory().chosen()] {
                std::fs::create_dir(folder).unwrap();
            }
            made
        }

        fn directory(&self) -> Directory {
            Directory::new(self.0.path().to_owned())
        }

        fn write(&self, file: &str, text: &str) {
            std::fs::write(self.directory().results().join(file), text).unwrap();
        }

        fn done(&self, task: u32, name: &str, ended: &str) {
            let text = DONE.replace("TASK", &task.to_string()).replace("NAME", name);
            self.write(&attempt_file(task, name), &text.replace("ENDED", ended));
        }

        fn found(&self) -> CampaignFiles {
            let text = "format = \"corun-campaign\"\nversion = 1\nname = \"it\"\nrepeats = 3\n\
                        [[program]]\nworkload = \"fib\"\n";
            let campaign = crate::Campaign::from_toml("it.toml", text).unwrap();
            let plan = Plan::of(&campaign, crate::Facts::default()).unwrap();
            read(&Plan { campaign: "1a2b".to_owned(), ..plan }, &self.directory()).unwrap()
        }

        /// The attempt that counts for task 1.
        fn counted(&self) -> String {
            let found = self.found();
            counted(&self.directory(), &found)[&1].attempt.attempt.clone()
        }
    }

    #[test]
    fn the_first_answer_counts_until_one_is_chosen_and_then_forever() {
        let made = Made::new();
        made.done(1, "8-1", "2026-01-02");
        assert_eq!(made.counted(), "8-1");
        made.done(1, "8-2", "2026-01-01");
        assert_eq!(made.counted(), "8-2");
        let found = made.found();
        choose(&made.directory(), counted(&made.directory(), &found)[&1]).unwrap();
        made.done(1, "8-0", "2025-12-31");
        assert_eq!(made.counted(), "8-2");
        // Another process that would choose otherwise finds the choice made.
        let found = made.found();
        let other = found.results.iter().find(|it| it.attempt.attempt == "8-0").unwrap();
        choose(&made.directory(), other).unwrap();
        assert_eq!(made.counted(), "8-2");
        // A choice that is damaged since is none.
        made.write("00001.8-2.json", "{");
        assert_eq!(made.counted(), "8-0");
    }

    #[test]
    fn what_cannot_be_read_or_is_foreign_is_named_and_does_not_count() {
        let made = Made::new();
        made.done(0, "8-0", "");
        made.write(".corun-half", "{");
        let whole = DONE.replace("TASK", "0").replace("NAME", "8-0");
        for (file, text) in [
            ("00001.8-0.json", whole.as_str()),
            ("00000.8-1.json", &whole.replace("8-0", "8-1").replace("1a2b", "ffff")),
            ("00000.8-2.json", &whole[..whole.len() - 9]),
            ("00000.8-3.json", ""),
            (
                "00000.8-4.json",
                &whole.replace("8-0", "8-4").replace("\"version\": 1", "\"version\": 99"),
            ),
            ("00009.8-0.json", &whole.replace("\"task\": 0", "\"task\": 9")),
        ] {
            made.write(file, text);
        }
        let found = made.found();
        assert_eq!((found.results.len(), found.damaged.len()), (1, 6), "{:?}", found.damaged);
    }
}
