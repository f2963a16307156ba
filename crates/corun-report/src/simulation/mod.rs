//! Simulated programs, placements and blocks for the terminal, each from its document.

mod blocks;
mod placements;
mod program;
#[cfg(test)]
mod tests;

pub use blocks::{blocks_to_csv, blocks_to_terminal};
pub use placements::placements_to_terminal;
pub use program::simulation_to_terminal;

use corun_record::{Caveat, PageSize, SimulatedCore, on_one_line};

use crate::terminal::wrap;

/// The kind of the caveat that belongs to the core, and stands below its name.
const OF_MODEL: &str = "unvalidated-model";

/// Heading of a simulation, with the changes of the core against its title.
fn heading(
    title: &str,
    core: &SimulatedCore,
    pages: PageSize,
    caveats: &[Caveat],
    columns: u16,
) -> String {
    let mut text = format!("{}\n", on_one_line(title));
    for (field, value) in &core.settings {
        text += &format!("with {field} = {}\n", on_one_line(value));
    }
    if pages == PageSize::Huge {
        text += "with data in pages of 2 MiB\n";
    }
    for caveat in caveats.iter().filter(|it| it.kind == OF_MODEL) {
        text += &format!("{}\n", wrapped(&on_one_line(&caveat.sentence), columns));
    }
    text
}

/// Limits of trust in the figures, a paragraph each.
fn limits(caveats: &[Caveat], columns: u16) -> String {
    let others = caveats.iter().filter(|it| it.kind != OF_MODEL);
    others.map(|it| format!("\n{}\n", wrapped(&on_one_line(&it.sentence), columns))).collect()
}

/// Text in lines of so many columns.
fn wrapped(text: &str, columns: u16) -> String {
    wrap(text, "", columns).trim_end().to_owned()
}
