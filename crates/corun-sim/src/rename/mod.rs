//! Register renaming: which micro-op gives each register its value.

mod move_elimination;
mod register_map;

pub(crate) use register_map::RegisterMap;
