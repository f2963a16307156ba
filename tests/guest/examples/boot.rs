//! Boots a guest for one script, to try things by hand; prints what the guest printed and sent.
//!
//! `cargo run -p corun-guest-tests --example boot -- 1x2x2 0,0,1,1 SCRIPT [KERNEL_ARGUMENT...]`
//! (sockets x cores x threads; the host core of each guest CPU, `-` to leave them to the host).

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use corun_guest_tests::{Guest, Host, Scenario, Shape};

fn main() -> ExitCode {
    match boot() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn boot() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [shape, pins, script, kernel_arguments @ ..] = &arguments[..] else {
        return Err("expected SHAPE PINS SCRIPT [KERNEL_ARGUMENT...]".into());
    };
    let &[sockets, cores, threads] = &numbers(shape, 'x')?[..] else {
        return Err(format!("expected SOCKETSxCORESxTHREADS, found {shape}").into());
    };
    let mut guest = Guest::new(Shape { sockets, cores, threads });
    if pins != "-" {
        guest = guest.pins(&numbers(pins, ',')?);
    }
    for argument in kernel_arguments {
        guest = guest.kernel_argument(argument);
    }
    let host = Host::get()?;
    let scenario =
        Scenario::new(fs::read_to_string(script)?).file("/bin/kill-at-step", host.kill_at_step());
    let outcome = guest.boot(host, &scenario)?;
    println!("{}", outcome.console);
    for (name, content) in &outcome.results.files {
        println!("=== {name}\n{}", String::from_utf8_lossy(content));
    }
    println!("=== exit code {}, {:?}", outcome.results.exit, outcome.load);
    Ok(())
}

fn numbers<N>(text: &str, separator: char) -> Result<Vec<N>, N::Err>
where
    N: std::str::FromStr,
{
    text.split(separator).map(str::parse).collect()
}
