//! The load-store queue: stores until they have reached the cache, forwarding to loads, loads that found no
//! MSHR and are replayed, and the machine clears of memory ordering.

pub(crate) mod agu;
mod alias;
pub(crate) mod banks;
pub(crate) mod machine_clear;
pub(crate) mod microtags;
pub(crate) mod operands;
pub(crate) mod predictive_forwarding;
pub(crate) mod repeats;
pub(crate) mod replay;
pub(crate) mod store_queue;
pub(crate) mod translation;
