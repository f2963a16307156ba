//! The simulated core from outside: cycles that follow by hand, properties of any code, and every cycle as it was; and the
//! direction of its modules' imports.

mod blocks;
mod bounds;
mod cycles;
mod damaged;
mod directions;
mod liveness;
mod made;
mod neighbours;
mod pipeline;
mod policies;
mod siblings;
