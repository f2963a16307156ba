//! Numbers of cache lines.

/// A line's number: its physical address without the bits inside the line.
pub(super) type Line = u64;
