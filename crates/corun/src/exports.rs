//! The files that a result is written to: found writable before anything is measured.

use std::path::Path;

use corun_record::Document;
use corun_report::{Destination, ExportError};

use crate::keeping::Keeper;
use crate::problem::{Problem, say};
use crate::terminal;

/// A way to write a result as text.
pub(crate) type Form<T> = fn(&T) -> String;

/// Destinations of a result, each with its form.
pub(crate) struct Exports<T> {
    files: Vec<(Destination, Form<T>)>,
    keeper: Keeper,
}

impl<T: Document> Exports<T> {
    /// Opens every place that is asked for.
    ///
    /// # Errors
    /// If two forms are to go to one place, or a place cannot be written.
    pub(crate) fn open<'a>(
        wanted: impl IntoIterator<Item = (Option<&'a Path>, Form<T>)>,
    ) -> Result<Self, Problem> {
        let wanted: Vec<(&Path, Form<T>)> =
            wanted.into_iter().filter_map(|(path, form)| Some((path?, form))).collect();
        for (index, (path, _)) in wanted.iter().enumerate() {
            if wanted[..index].iter().any(|(earlier, _)| earlier == path) {
                return Err(Problem::usage(
                    format!("expected a place of its own for each export, found {path:?} twice"),
                    "Name another file for one of them.",
                ));
            }
        }
        let mut files = Vec::new();
        for (path, form) in wanted {
            files.push((Destination::open(path)?, form));
        }
        Ok(Self { files, keeper: Keeper::new::<T>() })
    }

    /// The exports of a result of which something is kept already.
    pub(crate) fn kept_by(self, keeper: Keeper) -> Self {
        Self { keeper, ..self }
    }

    /// True if a person gets to see the result: no file takes standard output.
    pub(crate) fn are_beside_a_view(&self) -> bool {
        !self.files.iter().any(|(file, _)| file.is_standard_output())
    }

    /// As [`write`](Self::write), shown in corun's own colours.
    ///
    /// # Errors
    /// The first place that could not be written.
    pub(crate) fn write_coloured(
        self,
        result: &T,
        shown: impl Fn(&T) -> String,
        whole: Form<T>,
    ) -> Result<(), Problem> {
        self.write_by(terminal::show_coloured, result, shown, whole)
    }

    /// Keeps the result, shows it and writes every file; what cannot be written where it was asked for is
    /// kept whole in the folder for temporary files.
    ///
    /// # Errors
    /// The first place that could not be written.
    pub(crate) fn write(
        self,
        result: &T,
        shown: impl Fn(&T) -> String,
        whole: Form<T>,
    ) -> Result<(), Problem> {
        self.write_by(terminal::show, result, shown, whole)
    }

    fn write_by(
        mut self,
        show: fn(&str) -> Result<(), ExportError>,
        result: &T,
        shown: impl Fn(&T) -> String,
        whole: Form<T>,
    ) -> Result<(), Problem> {
        if self.keeper.is_asked() {
            self.keeper.finish(&whole(result));
        }
        let mut first_failure = None;
        if self.are_beside_a_view() {
            first_failure = show(&shown(result)).err();
        }
        for (file, form) in self.files {
            if let Err(error) = file.write(&form(result)) {
                first_failure = first_failure.or(Some(error));
            }
        }
        let Some(failure) = first_failure else { return Ok(()) };
        if let Ok(rescue) = corun_report::rescue(&whole(result)) {
            say(&format!("corun: the whole result is kept in {}", corun_record::shown(rescue)));
        }
        Err(failure.into())
    }
}
