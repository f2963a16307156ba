//! The studies that come with corun, and what is said of wrong ones.

mod findings;
mod loading;
mod modelled;
mod planning;
mod predicted;
mod published;
mod selecting;
