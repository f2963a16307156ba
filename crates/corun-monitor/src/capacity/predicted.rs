//! A curve where siblings are missing: what a predicted yield makes of as many cores that have them.

use corun_record::{
    CapacityCurve, CapacityLevel, CapacityPoint, Caveat, CoreActivity, Estimate, Filling,
    FillingCurve, Metric, Mode, Prediction, Record, Source, Workload, YieldRange, YieldSource,
};

use super::answer;
use super::curve::ORDERS;
use super::formula::capacity_use;
use super::is_sensible;

/// The machine that a curve is predicted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictedMachine {
    /// Number of cores.
    pub cores: u32,
    /// S, the logical CPUs of each.
    pub smt_width: u32,
}

/// The curve of a machine whose cores have the yield of a prediction and do not slow each other.
pub fn predicted_curve(
    prediction: &Prediction,
    machine: PredictedMachine,
) -> Record<CapacityCurve> {
    let PredictedMachine { cores, smt_width } = machine;
    let found = yield_of(prediction, smt_width);
    let smt_yield = found.as_ref().ok().copied();
    let used = smt_yield.map(|smt_yield| Used { machine, smt_yield });
    let order = |filling| {
        let points = used.iter().flat_map(|used| used.points(filling));
        FillingCurve { filling, points: points.collect() }
    };
    let levels = used.iter().flat_map(Used::levels).collect();
    let mut body = CapacityCurve {
        workload: Workload {
            name: name_of(prediction),
            command: match prediction.workload {
                Some(_) => Vec::new(),
                None => prediction.command.clone(),
            },
            parameters: prediction.workload.iter().flat_map(|it| it.parameters.clone()).collect(),
            mode: Mode::Copies,
            operation: "runs".to_owned(),
            operations: 1.0,
            steady: true,
            load: None,
            program: None,
            input: None,
            prepare: None,
        },
        mix: Vec::new(),
        source: Source::Predicted,
        model: Some(prediction.core.model.clone()),
        cores,
        cpus: cores * smt_width,
        smt_width,
        answer: None,
        orders: ORDERS.map(order).into_iter().filter(|it| !it.points.is_empty()).collect(),
        levels,
        smt_yield,
        core_use: match (smt_width, used) {
            (2, Some(used)) => [1, 2].map(|busy| used.of_core(busy)).to_vec(),
            _ => Vec::new(),
        },
        scaling: None,
        reasons: Vec::new(),
        advice: Vec::new(),
        design: None,
        arms: Vec::new(),
        observations: prediction
            .observations
            .iter()
            .filter(|it| it.metric == Metric::SmtYield)
            .cloned()
            .collect(),
        samples: Vec::new(),
    };
    answer::complete(&mut body);
    let mut caveats = vec![Caveat::new(
        "predicted",
        format!(
            "Nothing here was measured: the curve follows from the yield predicted for {}, on as many cores as this \
             machine has, which are taken not to slow each other by caches, memory or clocks.",
            prediction.core.title
        ),
    )];
    let why = found.err();
    caveats.extend(why.map(|why| Caveat::new("not-predicted", format!("No answer: {why}"))));
    caveats.extend(prediction.caveats.iter().cloned());
    Record {
        corun_version: prediction.corun_version.clone(),
        machine: Some(prediction.machine.clone()),
        ending: prediction.ending.clone(),
        caveats,
        ..Record::new(prediction.started.clone(), prediction.elapsed_s, body)
    }
}

/// The predicted yield, or why there is none.
fn yield_of(prediction: &Prediction, smt_width: u32) -> Result<Estimate, String> {
    if let Some(why) = &prediction.not_predicted {
        return Err(why.clone());
    }
    if smt_width < 2 {
        return Err(format!("cores like {} have no siblings.", prediction.core.model));
    }
    match prediction.estimate(Metric::SmtYield, Source::Predicted) {
        None => {
            let why = prediction.caveats.iter().find(|it| it.kind == "implausible-yield");
            let why = why.map_or("", |caveat| &caveat.sentence);
            Err(format!("the yield was not predicted. {why}").trim_end().to_owned())
        }
        Some(found) if is_sensible(found) => Ok(*found),
        Some(found) => Err(format!(
            "the predicted yield, {:.2}, is too uncertain to follow a curve from; more time (--max-time) may help.",
            found.value
        )),
    }
}

fn name_of(prediction: &Prediction) -> String {
    if let Some(workload) = &prediction.workload {
        return workload.name.clone();
    }
    let program = prediction.command.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program).to_owned()
}

/// The share of the capacity that is used, by the formula.
#[derive(Debug, Clone, Copy)]
struct Used {
    machine: PredictedMachine,
    smt_yield: Estimate,
}

impl Used {
    fn cpus(self) -> u32 {
        self.machine.cores * self.machine.smt_width
    }

    /// With so many logical CPUs busy all the time.
    fn points(self, filling: Filling) -> impl Iterator<Item = CapacityPoint> {
        let steps = self.cpus().min(20);
        let counts = (1..=steps).map(move |step| self.cpus() * step / steps);
        counts.map(move |busy| CapacityPoint {
            arm: None,
            busy,
            nominal: f64::from(busy) / f64::from(self.cpus()),
            reported: None,
            used: self.at(filling, f64::from(busy)),
        })
    }

    fn levels(&self) -> impl Iterator<Item = CapacityLevel> + use<> {
        let used = *self;
        (1..=10).map(move |tenth| {
            let reported = f64::from(tenth) / 10.0;
            let at = |filling| used.at(filling, reported * f64::from(used.cpus()));
            CapacityLevel {
                reported,
                cores_first: at(Filling::CoresFirst),
                siblings_first: at(Filling::SiblingsFirst),
            }
        })
    }

    /// With as many busy siblings on every core.
    fn of_core(self, busy: u32) -> Estimate {
        self.at(Filling::CoresFirst, f64::from(busy * self.machine.cores))
    }

    /// The capacity used with so many busy; a part of a CPU is busy for that part of the time.
    fn at(self, filling: Filling, busy: f64) -> Estimate {
        let [fewer, part] = [(busy + 1e-9).floor(), (busy - (busy + 1e-9).floor()).max(0.0)];
        let [below, above] =
            [fewer as u32, fewer as u32 + 1].map(|busy| self.with(filling, busy.min(self.cpus())));
        let mean = |of: fn(&Estimate) -> f64| (1.0 - part) * of(&below) + part * of(&above);
        Estimate {
            value: mean(|it| it.value),
            low: mean(|it| it.low),
            high: mean(|it| it.high),
            ..self.smt_yield
        }
    }

    fn with(self, filling: Filling, busy: u32) -> Estimate {
        let PredictedMachine { cores, smt_width } = self.machine;
        let of_core = |core: u32| match filling {
            Filling::CoresFirst => busy / cores + u32::from(core < busy % cores),
            Filling::SiblingsFirst => busy.saturating_sub(core * smt_width).min(smt_width),
        };
        let core = |core: u32| {
            let mut busy_siblings = vec![0.0; smt_width as usize + 1];
            busy_siblings[of_core(core) as usize] = 1.0;
            CoreActivity { core, busy_siblings, ..CoreActivity::default() }
        };
        let activity: Vec<CoreActivity> = (0..cores).map(core).collect();
        let of = |low: f64, high: f64| {
            capacity_use(&activity, YieldRange { low, high, source: YieldSource::Predicted })
        };
        let Estimate { value, low, high, .. } = self.smt_yield;
        let (all, middle) = (of(low, high), of(value, value));
        Estimate {
            value: f64::midpoint(middle.used_low, middle.used_high),
            low: all.used_low,
            high: all.used_high,
            ..self.smt_yield
        }
    }
}
