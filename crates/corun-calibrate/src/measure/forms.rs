//! Latency and throughput of each form of instruction.

use corun_sim::timing::TimingTable;

use crate::assembly::{encode, encode_all};
use crate::figure::FormFigure;
use crate::forms::{Form, all};
use crate::{Bench, Cannot, Routine, Spread};

/// Instructions of a chain, and of a stream (a multiple of the registers that it writes in turn).
const LINKS: usize = 60;
const STREAM: usize = 220;

/// Every form that the core has. `base` tells how long moves between registers of different kinds take
/// one way: only there and back can be measured.
pub(crate) fn forms(bench: &mut dyn Bench, base: &TimingTable) -> Result<Vec<FormFigure>, Cannot> {
    let known = all().filter(|form| bench.knows(&form.sample())).collect::<Vec<_>>();
    known.into_iter().map(|form| measure(bench, form, base)).collect()
}

fn measure(bench: &mut dyn Bench, form: Form, base: &TimingTable) -> Result<FormFigure, Cannot> {
    let stream = encode_all(&form.stream(STREAM));
    let mut routine = Routine::new(format!("cycles {}", form.name), stream, STREAM);
    routine.vector = form.vector();
    let cycles = match form.is_chained_by_flags() {
        true => None,
        false => Some(bench.time(&routine)?),
    };
    Ok(FormFigure { form: form.name.to_owned(), latency: latency(bench, form, base)?, cycles })
}

fn latency(
    bench: &mut dyn Bench,
    form: Form,
    base: &TimingTable,
) -> Result<Option<Spread>, Cannot> {
    let name = format!("latency {}", form.name);
    let (link, partner) = match (form.link(), form.round_trip()) {
        (Some(link), _) => (encode(&link), 0.0),
        (None, Some((both, back))) => {
            let partner = base.row(back).map_or(0.0, |row| f64::from(row.latency));
            (encode_all(&both), partner)
        }
        (None, None) => return Ok(None),
    };
    let mut routine = Routine::new(name, link.repeat(LINKS), LINKS);
    routine.vector = form.vector();
    let latency = bench.time(&routine)?;
    Ok(Some(latency.map(|cycles| cycles - partner)))
}
