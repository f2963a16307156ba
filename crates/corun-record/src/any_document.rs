//! A document of whichever format: who is given a text asks here what it is.
//!
//! What keeps, shows, compares and draws documents matches on [`AnyDocument`]. A new format is a line below; the
//! compiler then names every place that has to say what becomes of it.

use crate::checked_json::CheckedJson;
use crate::json::{checked, format_of};
use crate::{
    Audit, Bench, Blocks, CapacityCurve, Document, FleetReport, Placements, Prediction,
    PredictionSweep, PredictionTable, ReadError, Record, Run, RunComparison, Schedule, Simulation,
    StudyResult, ThreadSweep, Tree, Trend,
};

macro_rules! documents {
    ($($(#[$what:meta])+ $name:ident($form:ty),)+) => {
        /// A document that was read.
        #[derive(Debug, Clone, PartialEq)]
        pub enum AnyDocument {
            $($(#[$what])+ $name(Box<$form>),)+
            /// A document of another format: a listing, a description, or none of corun.
            Other {
                /// Format of the document.
                format: String,
                /// Fields of the document.
                fields: Tree,
            },
        }

        impl AnyDocument {
            /// The names of all formats but [`Other`](Self::Other).
            pub const FORMATS: &[&str] = &[$(<$form as Document>::FORMAT,)+];

            /// Reads a document of any format.
            ///
            /// # Errors
            /// If the text is no JSON with a format, or lacks what its format has.
            pub fn from_json(text: &str) -> Result<Self, ReadError> {
                Self::from_checked(checked(text, "a document")?)
            }

            /// As [`from_json`](Self::from_json), of a text that is known to be JSON.
            ///
            /// # Errors
            /// As [`from_json`](Self::from_json).
            pub fn from_checked(json: CheckedJson<'_>) -> Result<Self, ReadError> {
                let format = format_of(json, "a document")?;
                match format.as_str() {
                    $(<$form as Document>::FORMAT => {
                        <$form>::from_checked(json).map(|it| Self::$name(Box::new(it)))
                    })+
                    _ => {
                        let fields = json.read();
                        let fields =
                            fields.map_err(|it| ReadError::of_field("a document", &it))?;
                        Ok(Self::Other { format, fields })
                    }
                }
            }

            /// The name of its format.
            pub fn format(&self) -> &str {
                match self {
                    $(Self::$name(_) => <$form as Document>::FORMAT,)+
                    Self::Other { format, .. } => format,
                }
            }
        }
    };
}

documents! {
    /// Document of `corun measure`.
    Run(Run),
    /// Document of `corun bench run` and `corun bench memory-hierarchy`.
    Bench(Bench),
    /// Document of `corun study run`.
    Study(StudyResult),
    /// Document of `corun audit`.
    Audit(Audit),
    /// Document of `corun predict` for one core model.
    Prediction(Prediction),
    /// Document of `corun predict` for several core models.
    Predictions(PredictionTable),
    /// Document of a sweep of `corun predict`.
    Sweep(Record<PredictionSweep>),
    /// Document of `corun threads`.
    Threads(Record<ThreadSweep>),
    /// Document of `corun capacity`.
    Capacity(Record<CapacityCurve>),
    /// Document of `corun simulate`.
    Simulation(Record<Simulation>),
    /// Document of `corun simulate --placement`.
    Placements(Record<Placements>),
    /// Document of `corun simulate` for blocks of code.
    Blocks(Record<Blocks>),
    /// Document of `corun schedule`.
    Schedule(Record<Schedule>),
    /// Document of `corun compare`.
    Comparison(Record<RunComparison>),
    /// Document of `corun compare --over-time`.
    Trend(Record<Trend>),
    /// Document of `corun fleet report`.
    FleetReport(Record<FleetReport>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_without_a_type_keeps_its_fields() {
        let text = r#"{ "format": "corun-doctor", "version": 1, "checks": [] }"#;
        let document = AnyDocument::from_json(text).unwrap();
        assert_eq!(document.format(), "corun-doctor");
        let AnyDocument::Other { fields, .. } = document else { panic!("{document:?}") };
        assert_eq!(fields.get("checks"), Some(&Tree::List(Vec::new())));
    }

    #[test]
    fn a_known_format_is_read_as_its_type_or_refused() {
        for text in [
            "",
            "[1]",
            "{}",
            r#"["corun-doctor", 1]"#,
            r#"{ "format": 3 }"#,
            r#"{ "format": "corun-run", "version": 1 }"#,
        ] {
            let error = AnyDocument::from_json(text).unwrap_err();
            assert!(matches!(error, ReadError::Form { .. }), "{text}: {error}");
        }
        let newer = r#"{ "format": "corun-threads", "version": 99 }"#;
        let error = AnyDocument::from_json(newer).unwrap_err();
        assert!(matches!(error, ReadError::Version { found: 99, .. }), "{error}");
    }
}
