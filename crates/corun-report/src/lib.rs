//! Tables and exports, from observations alone.
