//! Predicted against measured cycles of blocks, those that the model was tuned by and the others.

use std::fs::File;
use std::path::Path;

use corun_blocks::{
    BlockError, COPIES, Listed, Vendor, agreement, execute, is_held_out, read_list,
};
use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::uops::Lowering;
use corun_sim::{Copies, steady_state};

pub(crate) fn show(model: &CoreModel, timings: &TimingTable) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/measured");
    let Ok(file) = File::open(folder.join(format!("{}-blocks.csv", model.name))) else {
        return println!("left out: no blocks were measured on {}", model.title);
    };
    let blocks = read_list(file).expect("the list comes with corun");
    let mut lowering = Lowering::new(model, timings);
    let (mut tuned, mut held_out) = (Vec::new(), Vec::new());
    for block in &blocks {
        let Some(measured) = block.cycles else { continue };
        // One that cannot be run counts as an error of 100 %.
        let predicted = predict(model, &mut lowering, block).unwrap_or(0.0);
        let part = if is_held_out(&block.hexadecimal) { &mut held_out } else { &mut tuned };
        part.push((predicted, measured));
    }
    println!(
        "{:<12} {:>8} {:>12} {:>8} {:>8}",
        "blocks", "number", "mean error", "median", "tau-b"
    );
    for (name, pairs) in [("tuned", tuned), ("held out", held_out)] {
        let Some(score) = agreement(&pairs) else { continue };
        println!(
            "{name:<12} {:>8} {:>10.2} % {:>6.2} % {:>8.3}",
            score.count,
            100.0 * score.mean,
            100.0 * score.median,
            score.tau,
        );
    }
}

fn predict(
    model: &CoreModel,
    lowering: &mut Lowering<'_>,
    block: &Listed,
) -> Result<f64, BlockError> {
    let executed = execute(&block.code, 2 * (COPIES + 1))?;
    let values: Vec<Vec<u64>> = executed.iterations().map(<[u64]>::to_vec).collect();
    let copies = Copies { block: &executed.block, values: &values };
    let vendor = match model.vendor {
        corun_model::Vendor::Intel => Vendor::Intel,
        corun_model::Vendor::Amd | corun_model::Vendor::Generic => Vendor::Other,
    };
    let steady = steady_state(model, lowering, copies, executed.copies(vendor).0 as u32);
    Ok(steady.expect("the core makes progress").0)
}
