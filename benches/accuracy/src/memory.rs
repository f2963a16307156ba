//! What memory takes on this machine, which is no part of a core: a server's is slower than a desktop's, and a virtual
//! machine's slower still.

use std::path::Path;
use std::process::Command;

/// What of the hierarchy is measured here.
const FIELDS: [&str; 3] =
    ["hierarchy.l2.miss", "hierarchy.main.nanoseconds", "hierarchy.walk.cycles"];

/// Settings of the model, as `corun predict --set` takes them, that `corun calibrate` finds here.
///
/// # Errors
/// If this core cannot be measured.
pub fn settings(corun: &Path, model: Option<&str>) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("a folder: {error}"))?;
    let file = folder.path().join("host.toml");
    let mut command = Command::new(corun);
    command.arg("calibrate").arg("--output").arg(&file);
    command.args(model.iter().map(|model| format!("--base={model}")));
    let told = command.output().map_err(|error| format!("{}: {error}", corun.display()))?;
    if !told.status.success() {
        return Err(String::from_utf8_lossy(&told.stderr).trim().to_owned());
    }
    let text =
        std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let host: toml::Value = toml::from_str(&text).map_err(|error| error.to_string())?;
    let value = |path: &str| {
        let found = path.split('.').try_fold(&host, |at, key| at.get(key))?;
        found.as_float().or_else(|| Some(found.as_integer()? as f64))
    };
    Ok(FIELDS.iter().filter_map(|path| Some(format!("{path}={}", value(path)?.round()))).collect())
}
