//! Names that stand for nothing: what a user may have meant.
//!
//! Workloads, models, studies, policies and fields are all asked for by name. Whichever is asked for,
//! the nearest of the names that there are comes first, and is proposed only if it is near.

/// Names in an answer that does not list all of them.
const SHOWN: usize = 8;
/// The longest text that is compared, in bytes: no name comes near, and the time grows with the square.
const LONGEST: usize = 256;

/// The names in the order of the typing mistakes that lie between them and `found`, fewest first;
/// where they are as many, in the order given.
pub fn nearest_first<N: AsRef<str>>(found: &str, names: impl IntoIterator<Item = N>) -> Vec<N> {
    nearest_first_by(found, names, AsRef::as_ref)
}

/// [`nearest_first`] of names of which only a part is compared.
pub fn nearest_first_by<N>(
    found: &str,
    names: impl IntoIterator<Item = N>,
    compared: impl Fn(&N) -> &str,
) -> Vec<N> {
    let mut names: Vec<N> = names.into_iter().collect();
    names.sort_by_cached_key(|name| distance(found, compared(name)));
    names
}

/// True if a person who typed `found` may have meant `name`: one mistake, more in long names.
pub fn may_mean(found: &str, name: &str) -> bool {
    distance(found, name) <= 1 + name.len() / 4
}

/// The next step of a person who typed `found` for the name or the file of a `kind`, to which `nearest` comes nearest.
pub fn name_or_file(found: &str, nearest: Option<&impl AsRef<str>>, kind: &str) -> String {
    match nearest.map(AsRef::as_ref) {
        Some(nearest) if may_mean(found, nearest) => {
            format!("Did you mean `{nearest}`? A path that ends in .toml is taken as a file.")
        }
        _ => format!("Give one of these names, or the path of a {kind} file (.toml)."),
    }
}

/// Typing mistakes between two texts; what is too long for any name is equally far from all of them.
fn distance(found: &str, name: &str) -> usize {
    match found.len().max(name.len()) > LONGEST {
        true => usize::MAX,
        false => strsim::osa_distance(found, name),
    }
}

/// The nearest names with commas between, and `...` behind them if there are more.
pub fn nearest_listed<N: AsRef<str>>(found: &str, names: impl IntoIterator<Item = N>) -> String {
    let names = nearest_first(found, names);
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first_and_only_near_ones_are_meant() {
        let names = ["zen2", "zen3", "ivy-bridge"];
        assert_eq!(nearest_first("zen33", names), ["zen3", "zen2", "ivy-bridge"]);
        assert_eq!(nearest_first("ivybridge", names), ["ivy-bridge", "zen2", "zen3"]);
        assert!(may_mean("zen33", "zen3") && may_mean("ivybirdge", "ivy-bridge"));
        assert!(!may_mean("skylake", "zen3") && !may_mean("x", "zen3"));
    }

    #[test]
    fn a_text_that_is_too_long_for_a_name_takes_no_time() {
        // Compared letter by letter, each of these takes hundreds of millions of steps.
        let long = "y".repeat(20_000);
        let names: Vec<String> = (0..2_000).map(|number| format!("{number}{long}")).collect();
        assert_eq!(nearest_first(&long, &names).len(), names.len());
        assert!(names.iter().all(|name| !may_mean(&long, name)));
    }

    #[test]
    fn not_all_of_a_long_list_is_shown() {
        assert_eq!(nearest_listed("b", ["ab", "b"]), "b, ab");
        let many = (0..20).map(|number| format!("name{number:02}"));
        assert_eq!(
            nearest_listed("name05", many),
            "name05, name00, name01, name02, name03, name04, name06, name07, ..."
        );
    }
}
