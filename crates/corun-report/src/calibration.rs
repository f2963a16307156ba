//! A measured core in words: each figure beside the base's and what was published, and what was not
//! measured.

use corun_calibrate::overlay::Row;
use corun_calibrate::{Calibration, Change, Disturbed, FormFigure, MeasuredModel, Spread};
use corun_model::{CoreModel, cycles_of_many};
use serde::Serialize;

use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{grid, section, wrap};

/// A core that was measured.
#[derive(Debug, Clone)]
pub struct MeasuredCore<'a> {
    /// Which machine it is.
    pub core: String,
    /// The logical CPU.
    pub cpu: u32,
    /// What could not be measured is this model's.
    pub base: &'a CoreModel,
    /// Why that one.
    pub reason: &'a str,
    /// What was measured.
    pub calibration: &'a Calibration,
    /// The model made of it.
    pub measured: &'a MeasuredModel,
    /// The timing overlay made of it.
    pub rows: &'a [Row],
    /// What else ran meanwhile.
    pub disturbed: Disturbed,
}

/// The form of [`MeasuredCore::to_json`].
#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    core: &'a str,
    cpu: u32,
    base: &'a str,
    reason: &'a str,
    fields: &'a [Change],
    beside: Vec<&'a corun_calibrate::Figure>,
    forms: &'a [FormFigure],
    not_measured: &'a [String],
    disturbed: Disturbed,
}

impl MeasuredCore<'_> {
    /// As JSON.
    ///
    /// # Panics
    /// Never: a measured core is JSON.
    pub fn to_json(&self) -> String {
        let document = Document {
            format: "corun-calibration",
            version: 1,
            core: &self.core,
            cpu: self.cpu,
            base: &self.base.name,
            reason: self.reason,
            fields: &self.measured.changes,
            beside: self.calibration.figures.iter().filter(|it| !it.is_field).collect(),
            forms: &self.calibration.forms,
            not_measured: &self.measured.kept,
            disturbed: self.disturbed,
        };
        corun_record::json_text(&document)
    }

    /// As text for a terminal of this many columns.
    pub fn describe(&self, columns: u16) -> String {
        let mut text = wrap(&format!("{}, CPU {}", self.core, self.cpu), "  ", columns);
        let base = format!(
            "What cannot be measured is that of the model {}: {}.",
            self.base.name, self.reason
        );
        text += &wrap(&base, "", columns);
        for table in [self.fields(), self.beside(), self.forms()] {
            if !table.rows.is_empty() {
                text += &format!("\n{}\n", grid(&table, columns));
            }
        }
        let is_told = |row: &&Row| !row.has_ports_of_base;
        let bent = self.rows.iter().filter(is_told).count();
        let measured = &self.measured;
        let differing = measured.changes.iter().filter(|it| differs(it.value, it.base)).count();
        text += &format!(
            "\n{} of {} measured fields differ from {}; {} measured, the ports of {bent} of them bent \
             to the measured throughput.\n",
            differing,
            measured.changes.len(),
            self.base.name,
            plural(self.calibration.forms.len(), "form"),
        );
        let kept = vec![measured.kept.join(", ")];
        section(&mut text, &format!("Not measured, of {}", self.base.name), kept, columns);
        section(&mut text, "What limits trust", self.caveats(), columns);
        text
    }

    fn fields(&self) -> Table {
        let row = |it: &Change| {
            vec![
                it.field.clone(),
                it.value.to_string(),
                range(it.measured),
                it.base.to_string(),
                it.published.map_or("-".to_owned(), |it| it.to_string()),
                mark(it.value, it.base),
            ]
        };
        table(
            ["field", "measured", "p10 to p90", &self.base.name, "published", ""],
            self.measured.changes.iter().map(row).collect(),
        )
    }

    fn beside(&self) -> Table {
        let figures = self.calibration.figures.iter().filter(|it| !it.is_field);
        let row = |it: &corun_calibrate::Figure| {
            let measured = format!("{:.2} {}", it.measured.median, it.unit);
            vec![it.name.clone(), measured, range(it.measured)]
        };
        table(["beside the model's fields", "measured", "p10 to p90"], figures.map(row).collect())
    }

    /// Forms that take something else than the base says.
    fn forms(&self) -> Table {
        let rows = self.rows.iter().filter_map(|row| {
            let base = row.base.as_ref()?;
            let is_other = row.timing.latency != base.latency || !row.has_ports_of_base;
            let figure = self.calibration.forms.iter().find(|it| it.form == row.form)?;
            let cell = |it: Option<Spread>| {
                it.map_or("-".to_owned(), |it| format!("{:.2} ({})", it.median, range(it)))
            };
            is_other.then(|| {
                vec![
                    row.form.clone(),
                    cell(figure.latency),
                    base.latency.to_string(),
                    cell(figure.cycles),
                    format!("{:.2}", cycles_of_many(base, self.base)),
                ]
            })
        });
        let base = &self.base.name;
        table(
            ["form that differs", "latency", base, "cycles of one of many", &format!("{base} ")],
            rows.collect(),
        )
    }

    fn caveats(&self) -> Vec<String> {
        let Disturbed { samples, unsteady, switched, shared, never_alone } = self.disturbed;
        let mut caveats = vec![format!(
            "Of {samples} samples {unsteady} were left out since the clock changed, {switched} since \
             the kernel gave the CPU to something else, and {shared} since somebody took slots of the \
             core.",
        )];
        if never_alone > 0 {
            caveats.push(format!(
                "For {} the core was shared too often, and the least shared moments had to do: rates \
                 may be too low, and what siblings share too small.",
                plural(never_alone, "routine")
            ));
        }
        caveats
    }
}

fn table<const N: usize>(header: [&str; N], rows: Vec<Vec<String>>) -> Table {
    Table { header: header.map(str::to_owned).to_vec(), rows }
}

fn range(spread: Spread) -> String {
    format!("{:.2} to {:.2}", spread.p10, spread.p90)
}

fn differs(one: f64, other: f64) -> bool {
    (one - other).abs() > 1e-9
}

fn mark(value: f64, base: f64) -> String {
    if differs(value, base) { "differs" } else { "" }.to_owned()
}

#[cfg(test)]
mod tests {
    use corun_calibrate::{Figure, measured_model, overlay};
    use corun_model::timing::TimingTable;

    use super::*;

    #[test]
    fn figures_stand_beside_the_bases_and_what_was_published() {
        let base = corun_model::find("zen3").unwrap();
        let timings = TimingTable::of(&base).unwrap();
        let spread =
            |median: f64| Spread { median, p10: median - 0.5, p90: median + 0.25, samples: 9 };
        let form = |name: &str, latency: f64, cycles: f64| FormFigure {
            form: name.to_owned(),
            latency: Some(spread(latency)),
            cycles: Some(Spread::exact(cycles)),
            slots: None,
            sample: None,
        };
        let calibration = Calibration {
            figures: vec![
                Figure::field("back.rob.entries", "entries", spread(240.0)),
                Figure::field("memory.loads.latency", "cycles", spread(4.0)),
                Figure::beside("latency of the second-level cache", "cycles", spread(12.0)),
            ],
            forms: vec![form("add r64 r64", 1.0, 0.25), form("lea r64 bis", 1.0, 0.25)],
        };
        let measured = measured_model(&base, &calibration.figures, "host", "a core").unwrap();
        let rows = overlay::rows(&calibration.forms, &timings, &base);
        let core = MeasuredCore {
            core: "a core".to_owned(),
            cpu: 1,
            base: &base,
            reason: "these models of AMD family 19h are Zen 3",
            calibration: &calibration,
            measured: &measured,
            rows: &rows,
            disturbed: Disturbed {
                samples: 90,
                shared: 30,
                never_alone: 1,
                ..Disturbed::default()
            },
        };
        let text = core.describe(100);
        let (tables, _) = text.split_once("\nNot measured").unwrap();
        insta::assert_snapshot!(tables);
        assert!(text.contains("back.retire.entries") && text.contains("For 1 routine the core"));
        let json: serde_json::Value = serde_json::from_str(&core.to_json()).unwrap();
        assert_eq!(json["fields"][0]["published"], 256.0);
        assert_eq!(json["fields"][0]["measured"]["p10"], 239.5);
    }
}
