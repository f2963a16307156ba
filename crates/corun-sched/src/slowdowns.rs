//! Slowdowns of work by what runs on the siblings.
//!
//! The figures come by hand, or from a file of measured or predicted pairs; work is then kept in units in
//! which every speed is a whole number, so that nothing is lost to rounding.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::{Pairs, ScheduleError};

/// A positive number as a fraction of whole numbers, as exact as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

/// A busy sibling makes nothing faster, but for what a measurement leaves open.
const LEAST_SLOWDOWN: f64 = 0.95;

/// Slowdowns by pairs of kinds of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slowdowns {
    /// Of every pair that is not named.
    default: Ratio,
    /// Slowdown of the first kind beside the second.
    pairs: BTreeMap<(String, String), Ratio>,
}

impl Ratio {
    /// One.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The fraction, in lowest terms; `None` if it is not positive.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        let divisor = greatest_common_divisor(numerator, denominator);
        (numerator > 0 && denominator > 0)
            .then(|| Self { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// Slowdowns in which each of the siblings adds to the time of the others' work, from the SMT yield
    /// of a core of so many: 2 / yield for two. `None` if the siblings would speed each other up without
    /// end.
    pub fn of_yield(smt_yield: Self, smt_width: u64) -> Option<Self> {
        let Self { numerator, denominator } = smt_yield;
        let others = smt_width.checked_sub(1).filter(|&others| others > 0)?;
        // 1 + (width / yield - 1) / (width - 1)
        let all = smt_width.checked_mul(denominator)?;
        let rest = numerator.checked_mul(others - 1)?;
        Self::new(all.checked_add(rest)?, numerator.checked_mul(others)?)
    }

    /// The nearest floating-point number.
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl FromStr for Ratio {
    type Err = String;

    /// A decimal number such as `1.8`, or a fraction such as `4.6/2.55`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected a number above 0 such as 1.8, or a fraction such as 46/25, found \"{text}\""
            )
        };
        let decimal = |text: &str| -> Option<(u64, u64)> {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            let is_plain = |it: &str| it.len() <= 9 && it.bytes().all(|byte| byte.is_ascii_digit());
            let scale = 10_u64.pow(part.len().try_into().ok().filter(|&it: &u32| it <= 9)?);
            (is_plain(whole) && is_plain(part) && !(whole.is_empty() && part.is_empty()))
                .then_some(())?;
            let digits = |it: &str| if it.is_empty() { Some(0) } else { it.parse::<u64>().ok() };
            Some((digits(whole)?.checked_mul(scale)?.checked_add(digits(part)?)?, scale))
        };
        let (over, under) = text.split_once('/').unwrap_or((text, "1"));
        let (over, under) =
            (decimal(over.trim()).ok_or_else(wrong)?, decimal(under.trim()).ok_or_else(wrong)?);
        let reduced =
            |(numerator, denominator)| Self::new(numerator, denominator).ok_or_else(wrong);
        let (over, under) = (reduced(over)?, reduced(under)?);
        let numerator = over.numerator.checked_mul(under.denominator).ok_or_else(wrong)?;
        let denominator = over.denominator.checked_mul(under.numerator).ok_or_else(wrong)?;
        let ratio = Self::new(numerator, denominator).ok_or_else(wrong)?;
        let is_sensible = (1e-3..=1e3).contains(&ratio.value());
        if is_sensible { Ok(ratio) } else { Err(wrong()) }
    }
}

impl Ratio {
    /// True if work takes as long beside a sibling as alone, or longer; what was measured may be a little below.
    pub fn is_slowdown(self) -> bool {
        self.value() >= LEAST_SLOWDOWN
    }
}

impl Slowdowns {
    /// Slowdowns with one value for every pair.
    pub fn uniform(slowdown: Ratio) -> Self {
        Self { default: slowdown, pairs: BTreeMap::new() }
    }

    /// Nothing is slowed down.
    pub fn none() -> Self {
        Self::uniform(Ratio::ONE)
    }

    /// Slowdowns with one value for both of a pair.
    #[must_use]
    pub fn with_pair(mut self, one: &str, other: &str, slowdown: Ratio) -> Self {
        self.pairs.insert((one.to_owned(), other.to_owned()), slowdown);
        self.pairs.insert((other.to_owned(), one.to_owned()), slowdown);
        self
    }

    /// Those of these pairs; pairs that none of them has get `default`.
    ///
    /// # Errors
    /// If several have the same pair.
    pub fn of_pairs(
        files: impl IntoIterator<Item = Pairs>,
        default: Ratio,
    ) -> Result<Self, ScheduleError> {
        let mut pairs = BTreeMap::new();
        for file in files {
            for (one, other, slowdown) in file.iter() {
                if pairs.insert((one.to_owned(), other.to_owned()), slowdown).is_some() {
                    let why = format!(
                        "expected {one} beside {other} in one of the files, found it in two"
                    );
                    return Err(ScheduleError::Pairs { why });
                }
            }
        }
        Ok(Self { default, pairs })
    }

    /// The pairs that are named: kind, kind beside it, and how much longer the first takes then.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str, Ratio)> {
        self.pairs.iter().map(|((one, other), it)| (one.as_str(), other.as_str(), *it))
    }

    /// The kinds of the pairs that are named.
    pub fn kinds(&self) -> BTreeSet<&str> {
        self.pairs.keys().map(|(kind, _)| kind.as_str()).collect()
    }

    /// Slowdown of one kind of work beside another.
    pub fn of(&self, one: &str, other: &str) -> Ratio {
        self.pairs.get(&(one.to_owned(), other.to_owned())).copied().unwrap_or(self.default)
    }

    /// The speeds of work of these kinds on cores of this SMT width.
    pub(super) fn speeds(&self, kinds: &[String], smt_width: usize) -> Speeds {
        Speeds::new(self, kinds, smt_width)
    }
}

/// Speeds as whole numbers: so many units of work in a nanosecond.
#[derive(Debug)]
pub(super) struct Speeds {
    /// Units in a nanosecond of work alone on a core.
    pub(super) unit: u64,
    /// The class of each kind: kinds that no pair names are one.
    classes: Vec<usize>,
    /// Addition of each class to the time of another's work, over `scale`.
    added: Vec<Vec<i128>>,
    scale: i128,
    /// By class, and class on the only busy sibling.
    beside_one: Vec<Vec<u64>>,
}

/// A unit that is fine enough where none is exact: rounding then loses 10^-12 of the work at most.
const FINE: u64 = 1_000_000_000_000;
/// Sums of slowdowns that are tried to find an exact unit.
const FEW: usize = 256;

impl Speeds {
    fn new(slowdowns: &Slowdowns, kinds: &[String], smt_width: usize) -> Self {
        let named = slowdowns.kinds();
        let mut members: Vec<&String> = Vec::new();
        let classes = kinds.iter().map(|kind| {
            let is_alike = |known: &&String| {
                *known == kind || !named.contains(known.as_str()) && !named.contains(kind.as_str())
            };
            members.iter().position(is_alike).unwrap_or_else(|| {
                members.push(kind);
                members.len() - 1
            })
        });
        let classes = classes.collect();
        let kinds = members;
        let ratio = |one: &String, other: &String| slowdowns.of(one, other);
        let all =
            || kinds.iter().flat_map(|&one| kinds.iter().map(move |&other| ratio(one, other)));
        let scale = all().try_fold(1, |scale, it| common_multiple(scale, it.denominator));
        let scale = scale.filter(|&it| it <= FINE).unwrap_or(FINE);
        let added = |one: &String, other: &String| {
            let Ratio { numerator, denominator } = ratio(one, other);
            let scaled = u128::from(numerator) * u128::from(scale) / u128::from(denominator);
            scaled as i128 - i128::from(scale)
        };
        let added: Vec<Vec<i128>> =
            kinds.iter().map(|one| kinds.iter().map(|other| added(one, other)).collect()).collect();
        let mut speeds =
            Self { unit: FINE, classes, added, scale: i128::from(scale), beside_one: Vec::new() };
        if let Some(unit) = speeds.exact_unit(smt_width) {
            speeds.unit = unit;
        }
        let count = kinds.len();
        let row = |one| (0..count).map(|other| speeds.beside_classes(one, [other])).collect();
        speeds.beside_one = (0..count).map(row).collect();
        speeds
    }

    /// A unit in which the speed beside any siblings is a whole number.
    fn exact_unit(&self, smt_width: usize) -> Option<u64> {
        let mut unit = 1;
        for row in &self.added {
            let mut sums = vec![0];
            for _ in 1..smt_width {
                let longer = sums.iter().flat_map(|sum| row.iter().map(move |added| sum + added));
                sums = longer.chain(sums.iter().copied()).collect();
                sums.sort_unstable();
                sums.dedup();
                if sums.len() > FEW {
                    return None;
                }
            }
            for sum in sums {
                let total = u64::try_from(self.scale + sum).ok().filter(|&total| total > 0)?;
                let speed = Ratio::new(u64::try_from(self.scale).ok()?, total)?;
                unit = common_multiple(unit, speed.denominator).filter(|&unit| unit <= FINE)?;
            }
        }
        Some(unit)
    }

    /// Units of work a nanosecond of one kind beside these on its siblings. Each sibling adds what it
    /// would add alone.
    pub(super) fn beside(&self, kind: usize, others: impl IntoIterator<Item = usize>) -> u64 {
        let others = others.into_iter().map(|other| self.classes[other]);
        self.beside_classes(self.classes[kind], others)
    }

    fn beside_classes(&self, class: usize, others: impl IntoIterator<Item = usize>) -> u64 {
        let added: i128 = others.into_iter().map(|other| self.added[class][other]).sum();
        let total = (self.scale + added).max(1);
        let speed = (i128::from(self.unit) * self.scale + total / 2) / total;
        u64::try_from(speed).unwrap_or(u64::MAX).max(1)
    }

    /// As [`beside`](Self::beside) with one busy sibling.
    pub(super) fn beside_one(&self, kind: usize, other: usize) -> u64 {
        self.beside_one[self.classes[kind]][self.classes[other]]
    }
}

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one.max(1)
}

fn common_multiple(one: u64, other: u64) -> Option<u64> {
    (one / greatest_common_divisor(one, other)).checked_mul(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(text: &str) -> Ratio {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_kept_as_they_are_typed() {
        assert_eq!(ratio("1.8"), Ratio { numerator: 9, denominator: 5 });
        assert_eq!(ratio("4.6/2.55"), Ratio { numerator: 92, denominator: 51 });
        for wrong in ["", ".", "0", "-1", "1e3", "nan", "1/0", "2/", "1.0000000001", "12345678901"]
        {
            assert!(wrong.parse::<Ratio>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn speeds_are_exact() {
        let kinds = ["a".to_owned(), "b".to_owned()];
        let slowdowns = Slowdowns::uniform(ratio("1.8")).with_pair("a", "b", ratio("4.6/2.55"));
        let speeds = slowdowns.speeds(&kinds, 2);
        // 1.8 of the time is 5/9 of the speed; 4.6/2.55 is 51/92.
        assert_eq!(speeds.unit, 9 * 92);
        assert_eq!(speeds.beside(0, []), 9 * 92);
        assert_eq!(speeds.beside_one(0, 0), 5 * 92);
        assert_eq!(speeds.beside_one(0, 1), 51 * 9);
    }

    #[test]
    fn each_busy_sibling_adds_its_part() {
        let kinds = ["a".to_owned()];
        let speeds = Slowdowns::uniform(ratio("1.5")).speeds(&kinds, 4);
        let share = |busy: usize| speeds.beside(0, vec![0; busy]) as f64 / speeds.unit as f64;
        assert_eq!([share(0), share(1), share(2), share(3)], [1.0, 1.0 / 1.5, 0.5, 0.4]);
    }

    #[test]
    fn a_yield_is_what_all_siblings_reach_together() {
        assert_eq!(Ratio::of_yield(ratio("1.25"), 2), Some(ratio("1.6")));
        let kinds = ["a".to_owned()];
        let slowdown = Ratio::of_yield(ratio("2"), 4).unwrap();
        let speeds = Slowdowns::uniform(slowdown).speeds(&kinds, 4);
        assert_eq!(4 * speeds.beside(0, [0, 0, 0]), 2 * speeds.unit);
        assert_eq!(Ratio::of_yield(ratio("1.25"), 1), None);
    }

    #[test]
    fn a_file_of_pairs_is_read_or_refused() {
        let text = r#"{"format":"corun-pairs","version":1,"kinds":["a","b"],"slowdowns":[[1.8,1.2],[1.5,2]]}"#;
        let slowdowns = Slowdowns::of_pairs([Pairs::from_json(text).unwrap()], Ratio::ONE).unwrap();
        assert_eq!(slowdowns.of("a", "b"), ratio("1.2"));
        assert_eq!(slowdowns.of("b", "a"), ratio("1.5"));
        assert_eq!(slowdowns.of("a", "c"), Ratio::ONE);
        assert_eq!(slowdowns.kinds().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        for wrong in [
            "",
            "{}",
            &text.replace("pairs", "pear"),
            &text.replace(",2]", "]"),
            &text.replace('b', "a"),
        ] {
            assert!(Pairs::from_json(wrong).is_err(), "{wrong}");
        }
    }
}
