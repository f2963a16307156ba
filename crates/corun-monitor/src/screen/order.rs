//! In which order rows stand.

use std::cmp::Ordering;

use super::rows::Row;

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortBy {
    /// The processor time used, the most first.
    #[default]
    Used,
    /// The number of the thread or process, ascending.
    Number,
    /// The last logical CPU, ascending.
    Cpu,
    /// The changes of the logical CPU, the most first.
    Migrations,
    /// The processor time beside a busy sibling, the most first.
    Beside,
    /// The name.
    Name,
}

impl SortBy {
    /// All of them, in the order of the columns that they sort.
    pub const ALL: [Self; 6] =
        [Self::Number, Self::Cpu, Self::Used, Self::Migrations, Self::Beside, Self::Name];

    /// Its word for the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Number => "number",
            Self::Cpu => "cpu",
            Self::Migrations => "migrations",
            Self::Beside => "beside",
            Self::Name => "name",
        }
    }
}

/// An order of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Order {
    /// What decides.
    pub by: SortBy,
    /// Whether the order is turned round.
    pub reversed: bool,
}

impl Order {
    /// Which of two rows stands first; `name` gives a row's name. Rows that are equal stand by their number.
    pub(super) fn compare<'a>(
        self,
        one: &Row,
        other: &Row,
        name: impl Fn(&Row) -> &'a str,
    ) -> Ordering {
        let most_first = |value: fn(&Row) -> f64| value(other).total_cmp(&value(one));
        let by_key = match self.by {
            SortBy::Used => most_first(Row::used),
            SortBy::Number => Ordering::Equal,
            SortBy::Cpu => one.cpu.cmp(&other.cpu),
            SortBy::Migrations => other.migrations.cmp(&one.migrations),
            SortBy::Beside => most_first(Row::beside_time),
            SortBy::Name => name(one).cmp(name(other)),
        };
        let ordering = by_key.then_with(|| one.number.cmp(&other.number));
        if self.reversed { ordering.reverse() } else { ordering }
    }
}
