//! Lists the core models, their timing tables and published figures, so that a new core is one new file.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let models = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo says where we are"))
        .join("../../models");
    list(&models, "toml", "models.rs");
    list(&models.join("timing"), "csv", "timings.rs");
    list(&models.join("published"), "csv", "published.rs");
}

/// Writes a slice of (name, text) of the folder's files with this extension, by name.
fn list(folder: &Path, extension: &str, into: &str) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of the models")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    let entry = |path: &PathBuf| {
        let name = path.file_stem().expect("a file has a name");
        format!("    ({name:?}, include_str!({path:?})),\n")
    };
    let entries: String = files.iter().map(entry).collect();
    let into = Path::new(&env::var("OUT_DIR").expect("cargo says where to write")).join(into);
    fs::write(into, format!("&[\n{entries}]\n")).expect("the list can be written");
}
