//! Conversions, judged by a reader that shares no code with the writer, and by ChampSim itself where it is
//! installed.

mod acceptance;
mod champsim;
mod program;
