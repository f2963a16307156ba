//! Conversions, judged by readers that share no code with the writers, and by the simulators themselves
//! where they are installed.

mod acceptance;
mod champsim;
mod program;
mod sift;
