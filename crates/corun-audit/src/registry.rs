//! The list of all properties, in the order of the table. A new one is a file below `registry/`, its
//! line in [`list`] and its row in `docs/auditing.md`; its own file says the rest.

use corun_record::{may_mean, nearest_first};

use crate::property::Property;

/// Declares each property's module and lists its `PROPERTY`.
macro_rules! list {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every property, in the order of the table.
        pub static ALL: &[Property] = &[$($module::PROPERTY),*];
    };
}

list![
    idle_core,
    wake_sibling,
    wake_idle,
    repair_cores,
    repair,
    fairness,
    jobs,
    migrations,
    affinity,
    nice,
    autogroup,
    quota,
];

/// The property of this name.
///
/// # Errors
/// If there is none: the nearest name, if one is near.
pub fn find(name: &str) -> Result<&'static Property, Option<&'static str>> {
    if let Some(found) = ALL.iter().find(|property| property.name == name) {
        return Ok(found);
    }
    let known = nearest_first(name, ALL.iter().map(|property| property.name));
    Err(known.first().copied().filter(|nearest| may_mean(name, nearest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::machine;

    #[test]
    fn names_are_found_and_near_ones_are_proposed() {
        for property in ALL {
            assert_eq!(find(property.name).unwrap().name, property.name);
            assert!(property.question.ends_with('?') && !property.source.is_empty());
        }
        assert_eq!(find("fairnes").unwrap_err(), Some("fairness"));
        assert_eq!(find("something else").unwrap_err(), None);
    }

    #[test]
    fn every_property_can_be_shown_on_a_machine_that_has_everything() {
        let facts = machine(&[&[0, 2], &[1, 3]]);
        for property in ALL {
            let plan =
                (property.plan)(&facts).unwrap_or_else(|why| panic!("{}: {why}", property.name));
            assert!(plan.loads.iter().all(|load| load.length_ns() > 0), "{}", property.name);
        }
    }

    #[test]
    fn without_siblings_exactly_those_rows_are_left_out_that_need_them() {
        let facts = machine(&[&[0], &[1]]);
        let missing: Vec<&str> =
            ALL.iter().filter(|it| (it.plan)(&facts).is_err()).map(|it| it.name).collect();
        assert_eq!(missing, ["idle-core", "wake-sibling", "repair-cores"]);
        let facts = machine(&[&[0]]);
        let possible: Vec<&str> =
            ALL.iter().filter(|it| (it.plan)(&facts).is_ok()).map(|it| it.name).collect();
        assert_eq!(possible, ["fairness", "jobs", "nice", "autogroup", "quota"]);
    }
}
