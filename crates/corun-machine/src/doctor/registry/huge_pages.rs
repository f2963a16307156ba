//! Transparent huge pages (`Documentation/admin-guide/mm/transhuge.rst`).

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::System;
use crate::doctor::words::write;

pub(super) const CHECK: Check = Check {
    name: "huge-pages",
    why: "Whether a worker gets huge pages depends on what memory is free at that moment, and \
          siblings share the core's address translation: the same arm may differ from run to run.",
    examine,
};

const FILE: &str = "sys/kernel/mm/transparent_hugepage/enabled";

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let found = system.read(FILE)?;
    let chosen = found.text.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0));
    match chosen {
        Some("always") => {
            Ok(Answer::note("Every program may get huge pages, when there are some.")
                .seen([found])
                .advise(
                    "If identical arms differ, leave huge pages to programs that ask for them.",
                    [write("madvise", FILE)],
                ))
        }
        Some("madvise") => {
            Ok(Answer::fine("Only programs that ask for huge pages get them.").seen([found]))
        }
        Some("never") => Ok(Answer::fine("No program gets huge pages by itself.").seen([found])),
        _ => Err(found.unexpected("a choice in brackets")),
    }
}
