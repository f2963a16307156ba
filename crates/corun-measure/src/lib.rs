//! Experiment design, randomised blocks, running, statistics, verdict.
