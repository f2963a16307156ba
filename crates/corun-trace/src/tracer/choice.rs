//! Which tracer is used: the first of the preferred order that works here, or the one asked for.

use super::{TraceError, Tracer, Unavailable};

/// A tracer and why it is the one.
#[derive(Clone)]
pub struct Chosen<'a> {
    /// It works here.
    pub tracer: &'a dyn Tracer,
    /// For people, in one line: what it is good at, and why those preferred to it are not used.
    pub reason: String,
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
pub fn choose(name: Option<&str>) -> Result<Chosen<'static>, TraceError> {
    choose_of(all(), name)
}

/// How to ask for another tracer than this one.
pub(crate) fn others(name: &str) -> String {
    let others = all().iter().map(|tracer| tracer.name()).filter(|&other| other != name);
    others.map(|other| format!("--tracer {other}")).collect::<Vec<_>>().join(" or ")
}

fn choose_of<'a>(tracers: &[&'a dyn Tracer], name: Option<&str>) -> Result<Chosen<'a>, TraceError> {
    let names: Vec<_> = tracers.iter().map(|tracer| tracer.name()).collect();
    match name {
        Some(found) if names.contains(&found) => {}
        Some(found) if KNOWN.contains(&found) => return Err(left_out(found).into()),
        Some(found) => return Err(TraceError::NoTracer { names, found: found.to_owned() }),
        None => {}
    }
    let mut refused: Vec<(&str, Unavailable)> = Vec::new();
    for &tracer in tracers {
        if name.is_some_and(|name| name != tracer.name()) {
            continue;
        }
        match tracer.ready() {
            Ok(()) => {
                let reason = reason(tracer, name.is_some(), &refused);
                return Ok(Chosen { tracer, reason });
            }
            Err(unavailable) => refused.push((tracer.name(), unavailable)),
        }
    }
    Err(none_of(&refused).into())
}

fn reason(tracer: &dyn Tracer, asked: bool, refused: &[(&str, Unavailable)]) -> String {
    let others: String = refused.iter().map(|refused| describe(refused) + "; ").collect();
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
    use crate::{Plan, Sink, Target, Traced};

    struct Pretended(&'static str, bool);

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
            _: Plan,
            _: &mut dyn Sink,
            _: &AtomicBool,
        ) -> Result<Traced, TraceError> {
            unreachable!("only chosen")
        }
    }

    fn chosen(first_works: bool, name: Option<&str>) -> Result<String, String> {
        let (fast, slow) = (Pretended("fast", first_works), Pretended("slow", true));
        choose_of(&[&fast, &slow], name)
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
}
