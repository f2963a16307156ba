//! Boots a stock kernel with a real SMT topology and runs corun in it.
