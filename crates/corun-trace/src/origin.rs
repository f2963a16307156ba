//! Origin of a trace: the machine, the kernel and the environment it was made in.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

/// The name of the CPU model, as the kernel gives it; empty if it does not.
pub(crate) fn cpu(root: &Path) -> String {
    cpuinfo(root, "model name").unwrap_or_default()
}

/// The features of the CPU, by their names in the kernel, sorted.
pub(crate) fn features(root: &Path) -> Vec<String> {
    let flags = cpuinfo(root, "flags").or_else(|| cpuinfo(root, "Features")).unwrap_or_default();
    let mut flags: Vec<_> = flags.split_whitespace().map(str::to_owned).collect();
    flags.sort();
    flags
}

/// The kernel's name and release.
pub(crate) fn kernel() -> String {
    let uname = rustix::system::uname();
    let [name, release] = [uname.sysname(), uname.release()].map(|text| text.to_string_lossy());
    format!("{name} {release}")
}

/// Equal for equal variables, whatever their order; it reveals nothing of their values.
pub(crate) fn environment() -> String {
    let variables: BTreeMap<_, _> = std::env::vars_os().collect();
    let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
    for (name, value) in variables {
        for text in [name, value] {
            digest.update(text.as_bytes());
            digest.update(&[0]);
        }
    }
    digest.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 3339, in UTC.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// The first CPU's value of a key.
fn cpuinfo(root: &Path, key: &str) -> Option<String> {
    let text = corun_files::kernel_text(root.join("proc/cpuinfo")).ok()?;
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = pairs.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim());
    values.next().map(str::to_owned)
}
