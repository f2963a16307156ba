//! Machines on which no code is timed.

use crate::{CalibrateError, Disturbed, Routine, RoutineTimer, Spread};

/// A bench that there is not.
#[derive(Debug)]
pub struct Native(());

impl Native {
    /// Fails: timed code is x86-64's, under Linux.
    ///
    /// # Errors
    /// Always.
    pub fn new(_cpu: u32, _samples: usize) -> Result<Self, CalibrateError> {
        let found = format!("{} under {}", std::env::consts::ARCH, std::env::consts::OS);
        Err(CalibrateError::OtherMachine { found })
    }

    /// Samples that were disturbed: none.
    pub fn disturbed(&self) -> Disturbed {
        Disturbed::default()
    }
}

impl RoutineTimer for Native {
    fn time(&mut self, _routine: &Routine) -> Result<Spread, CalibrateError> {
        Err(Self::new(0, 0).map_or_else(|error| error, |_| CalibrateError::Interrupted))
    }

    fn knows(&self, _instruction: &iced_x86::Instruction) -> bool {
        false
    }
}
