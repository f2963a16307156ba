//! Rows as CSV (RFC 4180) that is safe to open: names and commands come from others, and a spreadsheet takes a text that
//! begins like a formula for one.

use std::borrow::Cow;

/// A table as CSV, with a header line.
pub struct CsvText(csv::Writer<Vec<u8>>);

impl CsvText {
    /// A table with this header and no rows.
    pub fn with_header(header: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut table = Self(csv::Writer::from_writer(Vec::new()));
        table.row(header);
        table
    }

    /// Adds a row, which has as many cells as the header.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let cells: Vec<_> = cells.into_iter().collect();
        let cells = cells.iter().map(|it| harmless(it.as_ref()).into_owned());
        // Writing to memory cannot fail, and every row has the header's length.
        let _ = self.0.write_record(cells);
    }

    /// The text of the table.
    pub fn finish(self) -> String {
        String::from_utf8(self.0.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

/// A cell, behind an apostrophe if it would be a formula. Numbers with a sign stay numbers.
fn harmless(cell: &str) -> Cow<'_, str> {
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{cell}")),
        false => Cow::Borrowed(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_run_is_text_and_numbers_are_numbers() {
        let mut table = CsvText::with_header(["command", "value"]);
        for cells in
            [["=cmd|' /C calc'!A0", "-0.5"], ["@SUM(A1)", "+1e3"], ["-x", "\tA"], ["a, b", ""]]
        {
            table.row(cells);
        }
        assert_eq!(
            table.finish(),
            "command,value\n'=cmd|' /C calc'!A0,-0.5\n'@SUM(A1),+1e3\n'-x,'\tA\n\"a, b\",\n"
        );
    }
}
