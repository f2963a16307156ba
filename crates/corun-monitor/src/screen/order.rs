//! In which order rows stand.

/// Sort key of rows.
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

    /// Word for the command line.
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
    /// Sort key.
    pub by: SortBy,
    /// True if the order is turned round.
    pub reversed: bool,
}
