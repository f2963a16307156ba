//! The metrics endpoint as its clients meet it: good ones, bad ones, and a real Prometheus.

mod clients;
mod prometheus;
mod running;
mod unit;
