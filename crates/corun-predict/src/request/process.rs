//! The process that is predicted: a run without a tracer says which one does the work of a command.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use corun_record::{Caveat, MeasuredRuns};
use corun_trace::{Survey, SurveyedProgram, SystemCall, Target};

use crate::PredictError;
use crate::limit::until;

/// A program that does the work of a command, and what is known of its processes.
pub(crate) struct FollowedTarget {
    /// The program.
    pub(crate) target: Target,
    /// The caveats about its processes.
    pub(crate) caveats: Vec<Caveat>,
    /// True if it works for a time, so that a slower run does less.
    pub(crate) is_timed: bool,
}

impl FollowedTarget {
    /// A program that can run only once.
    pub(crate) fn unknown(target: Target) -> Self {
        let sentence = "It is not known whether processes that the program starts do its work, since it reads a pipe and ran \
                        only once.";
        let caveats = vec![Caveat::new("processes-unknown", sentence)];
        Self { target, caveats, is_timed: false }
    }

    /// The program that the process of a command becomes, if that does its work; `which` is the subject of sentences on it.
    /// False where only a part of the run counts: the work of processes before it is not told apart.
    ///
    /// # Errors
    /// If other processes do the work, or the program cannot be run without what comes before it.
    pub(crate) fn of(
        target: Target,
        (which, counts_from): (&str, Option<SystemCall>),
        end: Instant,
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        match until(end, stop, |stop| Survey::run(&target, stop)) {
            _ if stop.load(Ordering::Relaxed) => {
                Err(PredictError::Interrupted { during: "run to see its processes" })
            }
            Ok(survey) => Self::from_survey(target, (which, counts_from), &survey),
            // Where it cannot be run at all, the tracer says so.
            Err(error) => {
                let sentence = format!(
                    "It is not known whether other processes do the work of {}: {error}.",
                    which.to_lowercase()
                );
                let caveats = vec![Caveat::new("processes-unknown", sentence)];
                Ok(Self { target, caveats, is_timed: false })
            }
        }
    }

    fn from_survey(
        target: Target,
        (which, counts_from): (&str, Option<SystemCall>),
        survey: &Survey,
    ) -> Result<Self, PredictError> {
        let main = survey.main();
        let share = |of: &SurveyedProgram| survey.share(|it| std::ptr::eq(it, of));
        let of_children = survey.share(|it| !it.is_in_first_process);
        if let Some(child) = survey.child()
            && of_children > MeasuredRuns::MAX_CHILDREN_SHARE
            && counts_from.is_none()
        {
            return Err(PredictError::OtherProcesses {
                program: PredictError::name(&target),
                share: of_children,
                other: child.line(),
                of_other: share(child),
                is_executed: child.is_executed,
            });
        }
        let mut caveats = Vec::new();
        if of_children >= MeasuredRuns::NOTABLE_CHILDREN_SHARE {
            let before = counts_from
                .map(|call| format!(", with what comes before {call},"))
                .unwrap_or_default();
            caveats.push(Caveat::new(
                "children",
                format!(
                    "{which} starts processes that take {:.0} % of its processor time{before}: what is predicted is its \
                     own work, that of `{}`.",
                    100.0 * of_children,
                    main.line()
                ),
            ));
        }
        if survey.has_alarms {
            caveats.push(Caveat::new(
                "runs-by-time",
                format!(
                    "{which} works until a time is over that it sets (SIGALRM): under the tracer, which is slower, it does \
                     less than alone, or other work, and what is predicted is what it did there."
                ),
            ));
        }
        let is_timed = survey.has_alarms;
        if !main.is_executed {
            return Ok(Self { target, caveats, is_timed });
        }
        let found = main.target.clone().map_err(|why| PredictError::NotAlone {
            program: PredictError::name(&target),
            other: main.line(),
            why,
        })?;
        let share = share(main);
        caveats.push(Caveat::new(
            "becomes-another",
            format!(
                "{which} becomes `{}` (exec), which takes {:.0} % of the processor time: that is what is predicted.",
                main.line(),
                100.0 * share
            ),
        ));
        Ok(Self { target: found, caveats, is_timed })
    }
}
