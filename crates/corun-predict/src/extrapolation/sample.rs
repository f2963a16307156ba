//! Windows as a weighted sample of a run: weights, means and their variances.

use corun_sim::SimulatedWindow;

/// Windows, and what they are of.
pub(crate) struct Sample<'a> {
    /// Each window, with how many times it counts.
    pub(super) windows: Vec<(&'a SimulatedWindow, f64)>,
    /// True if they were chosen to count so many times, as simulation points.
    pub(super) is_chosen: bool,
    /// Instructions of the windows, ...
    pub(crate) instructions: f64,
    /// ... of all that is recorded, ...
    pub(super) recorded: f64,
    /// ... and of the run.
    pub(crate) total: f64,
}

/// Parts that are longer than this share of the longest one are equal ones; those before are at most half as long.
const MOST_OF_EQUAL: f64 = 0.75;

pub(super) fn instructions(window: &SimulatedWindow) -> f64 {
    window.events.instructions as f64
}

impl<'a> Sample<'a> {
    pub(crate) fn of(windows: &'a [SimulatedWindow], total: u64) -> Option<Self> {
        let weights = || windows.iter().map(|window| window.weight);
        let are_weighted = weights().all(|weight| weight.is_some());
        let is_chosen = weights().all(|weight| weight.is_some_and(|it| it.point.is_some()));
        let times = |it: &SimulatedWindow| {
            it.weight.filter(|_| are_weighted).map_or(1.0, |it| it.all as f64 / it.own as f64)
        };
        let sum = |of: fn(&SimulatedWindow) -> u64| windows.iter().map(of).sum::<u64>() as f64;
        let instructions = sum(|it| it.events.instructions);
        (instructions > 0.0).then(|| Self {
            windows: windows.iter().map(|window| (window, times(window))).collect(),
            is_chosen,
            instructions,
            recorded: sum(|it| it.events_with_warm_up.instructions),
            total: total as f64,
        })
    }

    /// Weight of each window.
    pub(crate) fn times(&self) -> Vec<f64> {
        self.windows.iter().map(|(_, times)| *times).collect()
    }

    /// Instructions that the windows stand for.
    pub(super) fn stand_for(&self) -> f64 {
        self.windows.iter().map(|(it, times)| times * instructions(it)).sum()
    }

    /// Of something of windows, for each instruction of the run.
    pub(crate) fn mean(&self, of: impl Fn(&SimulatedWindow) -> f64) -> f64 {
        self.windows.iter().map(|(it, times)| times * of(it)).sum::<f64>() / self.stand_for()
    }

    /// Mean over the run of a value for each window.
    pub(crate) fn mean_of(&self, values: &[f64]) -> f64 {
        let sum = |((_, times), value): (&(&SimulatedWindow, f64), &f64)| times * value;
        self.windows.iter().zip(values).map(sum).sum::<f64>() / self.stand_for()
    }

    /// Of something of windows, how much of it what is not recorded has; nothing unless they stand for that.
    pub(super) fn left_out(&self, of: impl Fn(&SimulatedWindow) -> f64) -> f64 {
        let times = |it: &SimulatedWindow| {
            let weight = it.weight.filter(|_| self.is_chosen);
            let left_out = weight.and_then(|it| Some((it.point?.left_out, it.own)));
            left_out.map_or(0.0, |(left_out, own)| left_out as f64 / own as f64)
        };
        self.windows.iter().map(|(it, _)| times(it) * of(it)).sum()
    }

    /// Each window, with how many times the events of the window and its warm-up count in the estimate for the run. They
    /// represent the window's part. In equal parts all count the same number of times: of a run that is recorded whole,
    /// each instruction once. Those of simulation points count once: the plan says how many instructions are left out.
    pub(super) fn records(&self) -> Vec<(&'a SimulatedWindow, f64)> {
        let recorded = |it: &SimulatedWindow| it.events_with_warm_up.instructions as f64;
        let stands_for = |&(it, times): &(&SimulatedWindow, f64)| times * instructions(it);
        let most = self.windows.iter().map(stands_for).fold(0.0, f64::max);
        let is_equal = |one: &&(&SimulatedWindow, f64)| stands_for(one) > MOST_OF_EQUAL * most;
        let equal = || self.windows.iter().filter(is_equal);
        let of_equal = equal().map(stands_for).sum::<f64>()
            / equal().map(|(it, _)| recorded(it)).sum::<f64>().max(1.0);
        let times = |one: &(&SimulatedWindow, f64)| match self.is_chosen {
            true => 1.0,
            false if is_equal(&one) => of_equal,
            false => stands_for(one) / recorded(one.0).max(1.0),
        };
        self.windows.iter().map(|one| (one.0, times(one))).collect()
    }

    /// Something of each window.
    pub(super) fn each(&self, of: impl Fn(&SimulatedWindow) -> f64) -> Vec<f64> {
        self.windows.iter().map(|(it, _)| of(it)).collect()
    }

    /// Of the mean of these, one a window, for each instruction of the run, if the windows were random: by how much it
    /// would be another one without each of them in turn (jackknife), so that a window which stands for most of the run
    /// does not confirm itself.
    pub(crate) fn variance(&self, values: &[f64], freedom_lost: usize) -> f64 {
        let all = self.stand_for();
        let windows = || self.windows.iter().zip(values);
        let mean = windows().map(|((_, times), value)| times * value).sum::<f64>() / all;
        let deviations = windows().map(|((it, times), value)| {
            let part = times * instructions(it) / all;
            part * (value / instructions(it) - mean) / (1.0 - part).max(f64::EPSILON)
        });
        let count = self.windows.len() as f64;
        let deviations: Vec<f64> = deviations.collect();
        variance(deviations.into_iter(), freedom_lost) * (count - 1.0).powi(2) / count
    }
}

/// Of values whose mean is 0.
pub(super) fn variance(values: impl ExactSizeIterator<Item = f64>, freedom_lost: usize) -> f64 {
    let freedom = values.len().saturating_sub(freedom_lost).max(1) as f64;
    values.map(|value| value * value).sum::<f64>() / freedom
}
