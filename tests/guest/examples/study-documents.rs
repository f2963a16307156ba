//! Runs studies on a guest of two cores with two siblings each, and keeps their documents: what `scripts/gallery` shows of a
//! machine with siblings where this one has none.
//!
//! `cargo run -p corun-guest-tests --example study-documents -- FOLDER STUDY...` writes `FOLDER/STUDY-guest.json`. The
//! siblings of the guest take turns on one core of this machine, so that a yield of about 1 is expected.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use corun_guest_tests::{Guest, Host, Scenario, Shape};

/// What one study may take.
const LIMIT: Duration = Duration::from_secs(120);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, studies @ ..] = &arguments[..] else {
        return Err("expected a folder for the documents, and studies".into());
    };
    let host = Host::get()?;
    for study in studies {
        let run = format!(
            "ifconfig lo up\n\
             corun study run {study} --max-time {}s --quiet --json /results/study\n",
            LIMIT.as_secs()
        );
        let shape = Shape { sockets: 1, cores: 2, threads: 2 };
        let guest = Guest::new(shape).pins(&[0, 0, 1, 1]).deadline(4 * LIMIT);
        let outcome = guest.boot(host, &Scenario::new(run))?;
        let path = Path::new(folder).join(format!("{study}-guest.json"));
        std::fs::write(&path, outcome.text("study"))?;
        println!("{}", path.display());
    }
    Ok(())
}
