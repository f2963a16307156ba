//! `corun-accuracy`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    corun_accuracy::main()
}
