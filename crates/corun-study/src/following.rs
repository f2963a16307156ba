//! Predicted figures that follow from other predicted ones, as the published ones do.

use std::collections::BTreeMap;

use corun_record::Estimate;

use crate::computation::geometric_mean;
use crate::study::{Study, Value};

/// Adds the ratios and means of the study whose members all have an estimate.
pub(crate) fn add_following(study: &Study, estimates: &mut BTreeMap<String, Estimate>) {
    let mut following = BTreeMap::new();
    for figure in study.figures.iter().filter(|it| !estimates.contains_key(&it.id)) {
        let estimate = match &figure.value {
            Value::Computed(ratio) => {
                let both = estimates.get(&ratio.of).zip(estimates.get(&ratio.over));
                both.map(|(of, over)| apart(of, over).scaled(ratio.factor))
            }
            _ => together(&figure.geometric_mean_of, estimates),
        };
        following.extend(estimate.map(|it| (figure.id.clone(), it)));
    }
    estimates.extend(following);
}

fn apart(of: &Estimate, over: &Estimate) -> Estimate {
    Estimate {
        value: of.value / over.value,
        low: of.low / over.high,
        high: of.high / over.low,
        ..*of
    }
}

fn together(members: &[String], estimates: &BTreeMap<String, Estimate>) -> Option<Estimate> {
    let members: Option<Vec<&Estimate>> = members.iter().map(|id| estimates.get(id)).collect();
    let members = members.filter(|members| !members.is_empty())?;
    let mean = |of: fn(&Estimate) -> f64| geometric_mean(members.iter().map(|it| of(it)));
    Some(Estimate {
        value: mean(|it| it.value),
        low: mean(|it| it.low),
        high: mean(|it| it.high),
        ..*members[0]
    })
}
