//! Programs as the guest runs them: linked statically, because the guest has no C library.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Unavailable;

/// Naming the target keeps the flags below away from build scripts and procedural macros.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// As quick to build as it can be without being slow.
const PROFILE: &str = "guest";

/// Builds a program of a package in the target folder `cache`, if it is out of date, and returns its
/// path.
pub(crate) fn build(cache: &Path, package: &str, name: &str) -> Result<PathBuf, Unavailable> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--quiet", "--profile", PROFILE, "--locked", "--target", TARGET])
        .args(["--package", package, "--bin", name])
        .arg("--target-dir")
        .arg(cache)
        .current_dir(corun_testing::repository())
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Unavailable::Broken(format!("cannot run cargo: {error}")))?;
    if !output.status.success() {
        return Err(Unavailable::Broken(format!(
            "cannot build {name} for the guest:\n{}",
            String::from_utf8_lossy(&output.stderr)
        )));
    }
    Ok(cache.join(TARGET).join(PROFILE).join(name))
}
