//! Machines on which no code is timed.

use super::{InterferenceReading, ProbeRings};
use crate::CalibrateError;

/// Memory that there is not.
#[derive(Debug)]
pub enum InterferenceProbe {}

impl InterferenceProbe {
    /// Fails: timed code is x86-64's, under Linux.
    ///
    /// # Errors
    /// Always.
    pub fn new(_rings: ProbeRings) -> Result<Self, CalibrateError> {
        Err(crate::Native::new(0, 0).map_or_else(|error| error, |_| CalibrateError::Interrupted))
    }

    /// None.
    pub fn rings(&self) -> ProbeRings {
        match *self {}
    }

    /// Nothing.
    pub fn sample(&mut self) -> InterferenceReading {
        match *self {}
    }
}
