//! Measured figures: a field of the model, or what the model has no field for.

use crate::Spread;

/// A measured figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The path of the model's field (`back.rob.entries`), or what it is where the model has none.
    pub name: String,
    /// True if the name is a field of the model.
    pub is_field: bool,
    /// Measured value, in the unit.
    pub measured: Spread,
    /// Cycles, entries, KiB, a cycle.
    pub unit: &'static str,
}

impl Figure {
    /// Of a field of the model.
    pub fn field(name: impl Into<String>, unit: &'static str, measured: Spread) -> Self {
        Self { name: name.into(), is_field: true, measured, unit }
    }

    /// Of what the model has no field for.
    pub fn beside(name: impl Into<String>, unit: &'static str, measured: Spread) -> Self {
        Self { name: name.into(), is_field: false, measured, unit }
    }
}

/// Measurements of a form of instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct FormFigure {
    /// As timing tables name it.
    pub form: String,
    /// Cycles from an instruction to the next that waits for it; none where no chain of the form exists.
    pub latency: Option<Spread>,
    /// Cycles of one of many that wait for nothing; none where each waits for the flags of another.
    pub cycles: Option<Spread>,
    /// Slots of renaming; none where other things than slots decide how long it takes.
    pub slots: Option<Spread>,
    /// An instruction of the form.
    pub sample: Option<iced_x86::Instruction>,
}
