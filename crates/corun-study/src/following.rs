//! Predicted figures that follow from other predicted ones, as the published ones do.

use std::collections::BTreeMap;

use corun_record::Estimate;

use crate::computation::geometric_mean;
use crate::figure::{By, Figure, Value, range_of};

/// Adds the ratios and means among the figures whose members all have an estimate. Figures in whose seconds others are given
/// count with their published value, so that a ratio to one is what was predicted.
pub(crate) fn add_following<'a>(
    figures: &[Figure],
    bases: impl Iterator<Item = &'a String>,
    estimates: &mut BTreeMap<String, Estimate>,
) {
    let published = bases.map(|id| {
        let value = range_of(figures, id, By::Mean).value;
        (id.clone(), Estimate { value, low: value, high: value, level: 1.0, blocks: 1 })
    });
    let published: BTreeMap<String, Estimate> = published.collect();
    let of = |id: &String| published.get(id).or_else(|| estimates.get(id));
    let mut following = BTreeMap::new();
    for figure in figures.iter().filter(|it| !estimates.contains_key(&it.id)) {
        let estimate = match &figure.value {
            Value::Computed(ratio) => {
                let both = of(&ratio.of).zip(of(&ratio.over));
                both.map(|(of, over)| apart(of, over).scaled(ratio.factor))
            }
            _ => together(figure.geometric_mean_of.iter().map(of)),
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

fn together<'a>(members: impl Iterator<Item = Option<&'a Estimate>>) -> Option<Estimate> {
    let members: Option<Vec<&Estimate>> = members.collect();
    let members = members.filter(|members| !members.is_empty())?;
    let mean = |of: fn(&Estimate) -> f64| geometric_mean(members.iter().map(|it| of(it)));
    Some(Estimate {
        value: mean(|it| it.value),
        low: mean(|it| it.low),
        high: mean(|it| it.high),
        ..*members[0]
    })
}
