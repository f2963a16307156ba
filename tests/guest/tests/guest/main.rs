//! corun on a real kernel with siblings: what it says is compared with what is known of the guest, and what it switches
//! comes back.

mod audit;
mod bench;
mod doctor;
mod harness;
mod monitor;
mod probe;
mod studies;
mod switch;
mod systemd;
mod threads;
mod topology;
mod yields;
