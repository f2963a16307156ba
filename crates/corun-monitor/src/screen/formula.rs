//! Formula of used capacity from busy siblings, in words for the help and for docs/top.md.

/// The formula with its derivation and source; lines fit 74 columns.
pub const FORMULA: &str = include_str!("formula.txt");

#[cfg(test)]
mod tests {
    use super::FORMULA;

    #[test]
    fn the_documentation_repeats_the_help_word_for_word() {
        let page = corun_testing::repository().join("docs/top.md");
        let page = std::fs::read_to_string(page).unwrap();
        let indented: Vec<String> =
            FORMULA.lines().map(|line| format!("    {line}").trim_end().to_owned()).collect();
        assert!(page.contains(&indented.join("\n")), "docs/top.md lacks screen/formula.txt");
    }

    #[test]
    fn lines_fit_a_terminal() {
        assert!(FORMULA.lines().all(|line| line.chars().count() <= 74));
    }
}
