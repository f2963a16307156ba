//! What machine this is: topology, caches, allowed CPUs, SMT state, evidence.
