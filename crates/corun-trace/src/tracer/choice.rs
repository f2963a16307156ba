//! Which tracer is used: the first of the preferred order that works here, or the one asked for.

use super::{TraceError, Tracer, Unavailable};
use crate::Target;

/// A selected tracer and the reason.
#[derive(Clone)]
pub struct TracerSelection<'a> {
    /// It works here.
    pub tracer: &'a dyn Tracer,
    /// For people, in one line: what it is good at, and why those preferred to it are not used.
    pub reason: String,
    /// Warning that it may fail on the program, and what to do; a sentence or more.
    pub warning: Option<String>,
}

/// The tracers that a corun may be built with.
const KNOWN: [&str; 3] = ["dynamorio", "qemu", "ptrace"];

/// All tracers that corun was built with, the preferred ones first.
pub fn all() -> &'static [&'static dyn Tracer] {
    &[
        #[cfg(all(feature = "dynamorio", target_os = "linux", target_arch = "x86_64"))]
        &super::DynamoRio,
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        &super::Qemu,
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        &super::Ptrace,
    ]
}

/// The tracer of this name, or the first one that works.
///
/// # Errors
/// If there is none of this name, or it does not work here, or none does.
pub fn choose(name: Option<&str>) -> Result<TracerSelection<'static>, TraceError> {
    choose_of(all(), name, None)
}

/// The tracer of this name, or the first one that works and bears the program, or else the first one that works.
///
/// # Errors
/// As [`choose`].
pub fn choose_for(
    name: Option<&str>,
    target: &Target,
) -> Result<TracerSelection<'static>, TraceError> {
    choose_of(all(), name, Some(target))
}

/// Options that ask for another tracer than this one.
pub(crate) fn others(name: &str) -> String {
    let others = all().iter().map(|tracer| tracer.name()).filter(|&other| other != name);
    others.map(|other| format!("--tracer {other}")).collect::<Vec<_>>().join(" or ")
}

fn choose_of<'a>(
    tracers: &[&'a dyn Tracer],
    name: Option<&str>,
    target: Option<&Target>,
) -> Result<TracerSelection<'a>, TraceError> {
    let names: Vec<_> = tracers.iter().map(|tracer| tracer.name()).collect();
    match name {
        Some(found) if names.contains(&found) => {}
        Some(found) if KNOWN.contains(&found) => return Err(left_out(found).into()),
        Some(found) => return Err(TraceError::NoTracer { names, found: found.to_owned() }),
        None => {}
    }
    let objection = |tracer: &dyn Tracer| target.and_then(|target| tracer.objection(target));
    let wanted = tracers.iter().copied();
    let wanted = wanted.filter(|tracer| name.is_none_or(|name| name == tracer.name()));
    let (bear, object): (Vec<&'a dyn Tracer>, Vec<&'a dyn Tracer>) =
        wanted.partition(|tracer| objection(*tracer).is_none());
    let mut refused: Vec<(&str, Unavailable)> = Vec::new();
    for tracer in bear.into_iter().chain(object.iter().copied()) {
        if let Err(unavailable) = tracer.ready() {
            refused.push((tracer.name(), unavailable));
            continue;
        }
        let mut passed_over: Vec<String> = refused.iter().map(describe).collect();
        let warning = objection(tracer).map(|why| {
            let others = tracers.iter().filter(|other| objection(**other).is_none());
            warning(tracer, why, others.map(|other| other.name()))
        });
        if warning.is_none() {
            let why = object.iter().filter_map(|other| Some((other.name(), objection(*other)?)));
            passed_over.extend(why.map(|(name, why)| format!("{name} is not used: {why}")));
        }
        return Ok(TracerSelection {
            tracer,
            reason: reason(tracer, name.is_some(), &passed_over),
            warning,
        });
    }
    Err(none_of(&refused).into())
}

/// Warning where a tracer is used that may fail.
fn warning<'a>(
    tracer: &dyn Tracer,
    objection: &str,
    others: impl Iterator<Item = &'a str>,
) -> String {
    let name = tracer.name();
    let others: Vec<_> = others.map(|other| format!("--tracer {other}")).collect();
    let advice = match others.as_slice() {
        [] => String::new(),
        others => format!(" Take {} if it can be used.", others.join(" or ")),
    };
    format!("{name} may fail on this program: {objection}.{advice}")
}

fn reason(tracer: &dyn Tracer, asked: bool, passed_over: &[String]) -> String {
    let others: String = passed_over.iter().map(|why| format!("{why}; ")).collect();
    let why = if asked { "asked for" } else { tracer.merit() };
    format!("{others}{}: {why}", tracer.name())
}

fn none_of(refused: &[(&str, Unavailable)]) -> Unavailable {
    match refused {
        [] => Unavailable {
            found: "no tracer was built for this kind of machine".to_owned(),
            next_step: "Trace on x86-64 Linux; a trace can be read anywhere.".to_owned(),
        },
        [(tracer, unavailable), rest @ ..] => Unavailable {
            found: refused.iter().map(describe).collect::<Vec<_>>().join("; "),
            next_step: match rest {
                [] => unavailable.next_step.clone(),
                _ => format!("For {tracer}: {}", unavailable.next_step),
            },
        },
    }
}

fn left_out(name: &str) -> Unavailable {
    Unavailable {
        found: format!("this corun was built without {name}"),
        next_step:
            "Build it with scripts/corun on x86-64 Linux, where cmake and a C compiler are; or \
                    take another tracer with --tracer."
                .to_owned(),
    }
}

fn describe((tracer, unavailable): &(&str, Unavailable)) -> String {
    format!("{tracer} cannot be used: {unavailable}")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{Sink, Target, TracePlan, Traced};

    /// Name, whether it works, why it cannot run a program.
    struct Pretended(&'static str, bool, Option<&'static str>);

    impl Tracer for Pretended {
        fn name(&self) -> &'static str {
            self.0
        }

        fn version(&self) -> String {
            String::new()
        }

        fn merit(&self) -> &'static str {
            "good"
        }

        fn slowdown(&self) -> u32 {
            1
        }

        fn objection(&self, _: &Target) -> Option<&'static str> {
            self.2
        }

        fn ready(&self) -> Result<(), Unavailable> {
            let missing = || Unavailable {
                found: "a part is missing".to_owned(),
                next_step: "Install it.".to_owned(),
            };
            self.1.then_some(()).ok_or_else(missing)
        }

        fn trace(
            &self,
            _: &Target,
            _: TracePlan,
            _: &mut dyn Sink,
            _: &AtomicBool,
        ) -> Result<Traced, TraceError> {
            unreachable!("only chosen")
        }
    }

    fn chosen(first_works: bool, name: Option<&str>) -> Result<String, String> {
        let (fast, slow) = (Pretended("fast", first_works, None), Pretended("slow", true, None));
        choose_of(&[&fast, &slow], name, None)
            .map(|chosen| chosen.reason)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_that_works_is_chosen_and_the_others_are_explained() {
        assert_eq!(chosen(true, None).unwrap(), "fast: good");
        assert_eq!(
            chosen(false, None).unwrap(),
            "fast cannot be used: a part is missing; slow: good"
        );
    }

    #[test]
    fn the_one_asked_for_is_chosen_or_refused() {
        assert_eq!(chosen(true, Some("slow")).unwrap(), "slow: asked for");
        assert_eq!(
            chosen(false, Some("fast")).unwrap_err(),
            "fast cannot be used: a part is missing"
        );
        assert_eq!(
            chosen(true, Some("magic")).unwrap_err(),
            "expected the name of a tracer (fast, slow), found \"magic\""
        );
        assert_eq!(chosen(true, Some("qemu")).unwrap_err(), "this corun was built without qemu");
    }

    /// Of a fast tracer that cannot run the program, one between that may not work, and a slow one that does
    /// not bear it either: the reason and the warning.
    fn chosen_for(between_works: bool, name: Option<&str>) -> (String, Option<String>) {
        let fast = Pretended("fast", true, Some("it is odd"));
        let between = Pretended("between", between_works, None);
        let slow = Pretended("slow", true, Some("it is long"));
        let target = Target { program: "odd".into(), ..Target::default() };
        let chosen = choose_of(&[&fast, &between, &slow], name, Some(&target)).unwrap();
        (chosen.reason, chosen.warning)
    }

    #[test]
    fn one_that_bears_the_program_is_preferred() {
        let reason = "fast is not used: it is odd; slow is not used: it is long; between: good";
        assert_eq!(chosen_for(true, None), (reason.to_owned(), None));
    }

    #[test]
    fn one_that_may_fail_is_used_with_a_warning_where_no_other_works_or_it_is_asked_for() {
        let warning =
            "fast may fail on this program: it is odd. Take --tracer between if it can be used.";
        let warning = Some(warning.to_owned());
        assert_eq!(chosen_for(true, Some("fast")), ("fast: asked for".to_owned(), warning.clone()));
        let reason = "between cannot be used: a part is missing; fast: good";
        assert_eq!(chosen_for(false, None), (reason.to_owned(), warning));
    }
}
