//! Audit of the real kernel's scheduler, property by property.
//!
//! A [`Property`] lays out a load, whose tasks note where they run ([`load`], [`timeline`]); what that
//! says is judged without a clock. Only [`native`] touches the machine.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod audit;
mod facts;
mod judgement;
pub mod load;
pub mod native;
mod property;
mod registry;
mod repairing;
mod sharing;
pub mod timeline;
mod waking;

pub use audit::{AuditOutcome, ObserveError, Settings, System, run_audit};
pub use facts::Facts;
pub use property::{Figure, Property, PropertyPlan, Read, Reading, property_list};
pub use registry::{ALL, find};
