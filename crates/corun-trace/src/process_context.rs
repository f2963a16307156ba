//! The environment, folder, standard streams and limits of a program that is traced or measured, where they are not corun's own.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::InheritedAttributes;

/// The environment, folder, standard streams and limits of a program; corun's own where nothing is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessContext {
    /// The whole environment.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The working directory.
    pub directory: Option<PathBuf>,
    /// The file that every run reads as its standard input, from the start.
    pub input: Option<PathBuf>,
    /// True if what it writes to standard output is thrown away.
    pub is_silent: bool,
    /// Limits, CPUs and the like.
    pub inherited: InheritedAttributes,
}

impl ProcessContext {
    /// Sets a command up so; variables that a tracer has set for itself stay.
    ///
    /// # Errors
    /// If the file for standard input cannot be opened.
    #[expect(clippy::disallowed_methods, reason = "the program reads it")]
    pub fn apply(&self, command: &mut Command) -> io::Result<()> {
        if let Some(environment) = &self.environment {
            let is_wanted = |name: &OsStr| environment.iter().any(|(wanted, _)| wanted == name);
            for (name, _) in std::env::vars_os().filter(|(name, _)| !is_wanted(name)) {
                command.env_remove(name);
            }
            command.envs(environment.iter().map(|(name, value)| (name, value)));
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some(input) = &self.input {
            command.stdin(File::open(input)?);
        }
        if self.is_silent {
            command.stdout(Stdio::null());
        }
        self.inherited.apply(command);
        Ok(())
    }

    /// A program of their search path, or of their folder.
    pub(crate) fn find(&self, program: &OsStr) -> io::Result<PathBuf> {
        let of_environment = |environment: &Vec<(OsString, OsString)>| {
            let path = environment.iter().find(|(name, _)| name == "PATH");
            path.map(|(_, path)| path.clone())
        };
        let path = match &self.environment {
            Some(environment) => of_environment(environment),
            None => std::env::var_os("PATH"),
        };
        let own = std::env::current_dir().unwrap_or_default();
        let folder = own.join(self.directory.as_deref().unwrap_or(Path::new("")));
        let is_file = Path::new(program).components().count() > 1;
        let kind = match folder.join(program).exists() && is_file {
            true => io::ErrorKind::PermissionDenied,
            false => io::ErrorKind::NotFound,
        };
        which::which_in(program, path, folder).map_err(|_| kind.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_its_surroundings_and_what_the_tracer_set() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("input");
        std::fs::write(&input, "a line\n").unwrap();
        let context = ProcessContext {
            environment: Some(vec![("A".into(), "1".into())]),
            directory: Some(folder.path().to_owned()),
            input: Some(input),
            ..ProcessContext::default()
        };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "read line; echo $A $OWN $HOME $line; pwd -P"]).env("OWN", "2");
        context.apply(&mut command).unwrap();
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let place = folder.path().canonicalize().unwrap();
        assert_eq!(output, format!("1 2 a line\n{}\n", place.display()));
    }

    #[test]
    fn a_program_whose_output_is_thrown_away_writes_to_nothing() {
        let is_silenced = |is_silent| {
            let mut command = Command::new("/bin/sh");
            let asked = "[ /proc/$$/fd/1 -ef /dev/null ]";
            command.args(["-c", asked]).stdout(Stdio::piped());
            let context = ProcessContext { is_silent, ..ProcessContext::default() };
            context.apply(&mut command).unwrap();
            command.spawn().unwrap().wait_with_output().unwrap().status.success()
        };
        assert!(is_silenced(true) && !is_silenced(false));
    }

    #[test]
    fn a_program_is_found_on_their_search_path_and_in_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("own-program");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let find = |name: &str, context: ProcessContext| context.find(OsStr::new(name)).ok();
        let path = |path: &Path| ProcessContext {
            environment: Some(vec![("PATH".into(), path.into())]),
            ..ProcessContext::default()
        };
        let here =
            ProcessContext { directory: Some(folder.path().into()), ..ProcessContext::default() };
        assert_eq!(find("own-program", path(folder.path())), Some(program));
        assert!(find("./own-program", here).is_some_and(|it| it.is_file()));
        assert_eq!(find("own-program", ProcessContext::default()), None);
        assert!(find("sh", ProcessContext::default()).is_some());
    }
}
