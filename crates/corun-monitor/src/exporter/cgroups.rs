//! Seconds by control group, for a bounded number of them.
//!
//! Each is a label value, and so a time series. Groups are cut to their first levels, and when all places are taken, a
//! new group gets the place of one that has not run for long, or counts among the others.

use std::collections::BTreeMap;

/// Depth to which groups are distinguished: `/system.slice/nginx.service`.
const DEPTH: usize = 2;

/// Idle time after which a group loses its place: Prometheus has scraped its last value by then.
const IDLE_S: f64 = 600.0;

/// Seconds by control group.
#[derive(Debug, Clone, Default)]
pub(super) struct Cgroups {
    places: usize,
    groups: BTreeMap<String, Group>,
    others: Seconds,
}

#[derive(Debug, Clone, Default)]
struct Group {
    seconds: Seconds,
    last_ran_s: f64,
}

/// Processor time of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Seconds {
    /// Processor time.
    pub(super) used: f64,
    /// Part of it beside a busy sibling.
    pub(super) co_busy: f64,
}

impl Cgroups {
    pub(super) fn new(places: usize) -> Self {
        Self { places, ..Self::default() }
    }

    /// Adds what a task of a group used until `now_s`.
    pub(super) fn add(&mut self, group: &str, seconds: Seconds, now_s: f64) {
        let name = shortened(group);
        let counted = match self.place_of(&name, now_s) {
            Some(group) => {
                group.last_ran_s = now_s;
                &mut group.seconds
            }
            None => &mut self.others,
        };
        counted.used += seconds.used;
        counted.co_busy += seconds.co_busy;
    }

    fn place_of(&mut self, name: &str, now_s: f64) -> Option<&mut Group> {
        if !self.groups.contains_key(name) && self.groups.len() >= self.places {
            let idle = |(name, group): (&String, &Group)| (group.last_ran_s, name.clone());
            let (last_ran_s, longest) =
                self.groups.iter().map(idle).min_by(|(a, _), (b, _)| a.total_cmp(b))?;
            if now_s - last_ran_s < IDLE_S {
                return None;
            }
            self.groups.remove(&longest);
        }
        Some(self.groups.entry(name.to_owned()).or_default())
    }

    /// The groups by name, and all others as one without a name.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Option<&str>, Seconds)> {
        let named = self.groups.iter().map(|(name, group)| (Some(name.as_str()), group.seconds));
        named.chain(std::iter::once((None, self.others)))
    }
}

/// A group's first levels.
fn shortened(group: &str) -> String {
    let levels: Vec<&str> = group.split('/').filter(|it| !it.is_empty()).take(DEPTH).collect();
    format!("/{}", levels.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Seconds = Seconds { used: 1.0, co_busy: 0.5 };

    fn used(groups: &Cgroups) -> Vec<(Option<&str>, f64)> {
        groups.rows().map(|(name, seconds)| (name, seconds.used)).collect()
    }

    #[test]
    fn a_service_counts_with_all_that_is_below_it() {
        let mut groups = Cgroups::new(10);
        for name in [
            "/system.slice/nginx.service",
            "/system.slice/nginx.service/worker",
            "//system.slice/nginx.service/",
            "/",
        ] {
            groups.add(name, ONE, 1.0);
        }
        let expected = [(Some("/"), 1.0), (Some("/system.slice/nginx.service"), 3.0), (None, 0.0)];
        assert_eq!(used(&groups), expected);
    }

    #[test]
    fn a_new_group_takes_the_place_of_one_that_has_not_run_for_long() {
        let mut groups = Cgroups::new(2);
        groups.add("/a", ONE, 1.0);
        groups.add("/b", ONE, 500.0);
        groups.add("/c", ONE, 501.0);
        assert_eq!(used(&groups), [(Some("/a"), 1.0), (Some("/b"), 1.0), (None, 1.0)]);
        groups.add("/c", ONE, 1.0 + IDLE_S);
        assert_eq!(used(&groups), [(Some("/b"), 1.0), (Some("/c"), 1.0), (None, 1.0)]);
    }

    #[test]
    fn ten_thousand_groups_are_as_many_rows_as_there_are_places() {
        let mut groups = Cgroups::new(50);
        for number in 0..10_000 {
            groups.add(&format!("/machine.slice/{number}.scope"), ONE, 1.0);
        }
        assert_eq!(groups.rows().count(), 51);
        assert_eq!(groups.rows().map(|(_, seconds)| seconds.used).sum::<f64>(), 10_000.0);
    }

    #[test]
    fn without_places_everything_counts_among_the_others() {
        let mut groups = Cgroups::new(0);
        groups.add("/a", ONE, 1e6);
        assert_eq!(used(&groups), [(None, 1.0)]);
    }
}
