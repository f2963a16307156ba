//! The built-in workloads: one file each, one line in the registry.
