//! The rest of the C library: strings, sorting and searching, and what it knows about the process and
//! its user.

mod auxiliary;
mod classes;
mod sorting;
mod strings;

pub(super) use auxiliary::MISC_RTNS_1;
pub(super) use sorting::SORT_RTNS_1;
pub(super) use strings::STRING_RTNS;
