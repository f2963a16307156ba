//! The models and timing tables that come with corun, and what is said of wrong ones.

mod models;
mod timing_tables;
