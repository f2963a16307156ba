//! Measurements as the documents of `corun models calibrate`.

use corun_model::{CoreModel, cycles_of_many};
use corun_record::{
    BaseForm, CalibratedCoreField, CalibratedFigure, CalibratedForm, Caveat, CoreCalibration,
    DisturbedSamples, FormCalibration, MeasuredSpread,
};

use crate::overlay::Row;
use crate::{Calibration, Change, Disturbed, FormFigure, MeasuredModel, Spread};

/// A core that was measured.
#[derive(Debug, Clone)]
pub struct MeasuredCore<'a> {
    /// Which machine it is.
    pub core: String,
    /// The logical CPU.
    pub cpu: u32,
    /// Model that supplies what could not be measured.
    pub base: &'a CoreModel,
    /// The measurements.
    pub calibration: &'a Calibration,
    /// The timing overlay made of it.
    pub rows: &'a [Row],
    /// Disturbance by other work meanwhile.
    pub disturbed: Disturbed,
}

impl MeasuredCore<'_> {
    /// All that was measured, with the model made of it and why this base.
    pub fn document(&self, measured: &MeasuredModel, reason: &str) -> CoreCalibration {
        let figures = self.calibration.figures.iter().filter(|it| !it.is_field);
        let figure = |it: &crate::Figure| CalibratedFigure {
            name: it.name.clone(),
            measured: it.measured.into(),
            unit: it.unit.to_owned(),
        };
        let field = |it: &Change| CalibratedCoreField {
            field: it.field.clone(),
            measured: it.measured.into(),
            value: it.value,
            base: it.base,
            published: it.published,
        };
        CoreCalibration {
            core: self.core.clone(),
            cpu: self.cpu,
            base: self.base.name.clone(),
            reason: reason.to_owned(),
            fields: measured.changes.iter().map(field).collect(),
            figures: figures.map(figure).collect(),
            forms: self.forms(),
            timing_rows: self.rows.len(),
            adjusted_rows: self.adjusted_rows(),
            not_measured: measured.kept.clone(),
            disturbed: self.disturbed.into(),
        }
    }

    /// The forms of instructions, where they alone were measured.
    pub fn form_document(&self) -> FormCalibration {
        FormCalibration {
            core: self.core.clone(),
            cpu: self.cpu,
            base: self.base.name.clone(),
            forms: self.forms(),
            timing_rows: self.rows.len(),
            adjusted_rows: self.adjusted_rows(),
            disturbed: self.disturbed.into(),
        }
    }

    /// Limits of trust in the figures.
    pub fn caveats(&self) -> Vec<Caveat> {
        let Disturbed { samples, unsteady, switched, shared, never_alone } = self.disturbed;
        let left_out = format!(
            "Of {samples} samples {unsteady} were left out since the clock changed, {switched} since \
             the kernel gave the CPU to something else, and {shared} since somebody took slots of the \
             core."
        );
        let mut caveats = vec![Caveat::new("disturbed-samples", left_out)];
        if never_alone > 0 {
            let routines = match never_alone {
                1 => "1 routine".to_owned(),
                count => format!("{count} routines"),
            };
            let shared = format!(
                "For {routines} the core was shared too often. Forms of instructions among them count as \
                 not measured; for the others the least shared moments had to do: rates may be too low, \
                 and what siblings share too small."
            );
            caveats.push(Caveat::new("shared-core", shared));
        }
        caveats
    }

    fn adjusted_rows(&self) -> usize {
        self.rows.iter().filter(|row| !row.has_ports_of_base).count()
    }

    fn forms(&self) -> Vec<CalibratedForm> {
        let form = |figure: &FormFigure| CalibratedForm {
            form: figure.form.clone(),
            latency: figure.latency.map(Into::into),
            cycles: figure.cycles.map(Into::into),
            slots: figure.slots.map(Into::into),
            differing_base: self.differing_base(&figure.form),
        };
        self.calibration.forms.iter().map(form).collect()
    }

    /// Timing of a form in the base, where the overlay says something else.
    fn differing_base(&self, form: &str) -> Option<BaseForm> {
        let row = self.rows.iter().find(|row| row.form == form)?;
        let base = row.base.as_ref()?;
        let differs = row.timing.latency != base.latency || !row.has_ports_of_base;
        differs.then(|| BaseForm {
            latency: base.latency.into(),
            cycles: cycles_of_many(base, self.base),
        })
    }
}

impl From<Spread> for MeasuredSpread {
    fn from(Spread { median, p10, p90, samples }: Spread) -> Self {
        Self { median, p10, p90, samples }
    }
}

impl From<Disturbed> for DisturbedSamples {
    fn from(found: Disturbed) -> Self {
        let Disturbed { samples, unsteady, switched, shared, never_alone } = found;
        Self { samples, unsteady, switched, shared, never_alone }
    }
}

#[cfg(test)]
mod tests {
    use corun_model::timing::TimingTable;

    use super::*;
    use crate::{Figure, measured_model, overlay};

    #[test]
    fn what_differs_from_the_base_is_shown_with_the_figures_of_both() {
        let base = corun_model::find("zen3").unwrap();
        let timings = TimingTable::of(&base).unwrap();
        let form = |name: &str, latency: f64| FormFigure {
            form: name.to_owned(),
            latency: Some(Spread::exact(latency)),
            cycles: Some(Spread::exact(0.25)),
            slots: None,
            sample: None,
        };
        let calibration = Calibration {
            figures: vec![
                Figure::field("back.rob.entries", "entries", Spread::exact(240.0)),
                Figure::beside("latency of the second-level cache", "cycles", Spread::exact(12.0)),
            ],
            forms: vec![form("add r64 r64", 1.0), form("imul r64 r64", 2.0)],
        };
        let measured = measured_model(&base, &calibration.figures, "host", "a core").unwrap();
        let rows = overlay::rows(&calibration.forms, &timings, &base);
        let disturbed = Disturbed { samples: 90, never_alone: 2, ..Disturbed::default() };
        let core = MeasuredCore {
            core: "a core".to_owned(),
            cpu: 1,
            base: &base,
            calibration: &calibration,
            rows: &rows,
            disturbed,
        };
        let document = core.document(&measured, "it was asked for");
        assert_eq!((document.base.as_str(), document.fields[0].published), ("zen3", Some(256.0)));
        assert_eq!(document.figures.len(), 1);
        assert_eq!(document.forms[0].differing_base, None);
        let imul = timings.row("imul r64 r64").unwrap();
        let differing = document.forms[1].differing_base.unwrap();
        assert_eq!(differing.latency, u32::from(imul.latency));
        assert_eq!(differing.cycles, cycles_of_many(imul, &base));
        assert!(document.not_measured.contains(&"back.retire.entries".to_owned()));
        assert_eq!(core.form_document().forms, document.forms);
        assert!(core.caveats()[1].sentence.starts_with("For 2 routines the core"));
    }
}
