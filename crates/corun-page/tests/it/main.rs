//! Pages of documents, without a browser and in one.

mod browser;
mod memory;
mod page;
