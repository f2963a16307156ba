//! Machines on which no code is timed.

use super::{Circles, Seen};
use crate::Cannot;

/// Memory that there is not.
#[derive(Debug)]
pub enum Surroundings {}

impl Surroundings {
    /// Fails: timed code is x86-64's, under Linux.
    ///
    /// # Errors
    /// Always.
    pub fn new(_circles: Circles) -> Result<Self, Cannot> {
        Err(crate::Native::new(0, 0).map_or_else(|error| error, |_| Cannot::Interrupted))
    }

    /// None.
    pub fn circles(&self) -> Circles {
        match *self {}
    }

    /// Nothing.
    pub fn look(&mut self) -> Seen {
        match *self {}
    }
}
