//! Lists the study files, so that a new study is one new file.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let studies = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo says where we are"))
        .join("../../studies");
    println!("cargo:rerun-if-changed={}", studies.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&studies)
        .expect("the folder of the studies")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let entries: String = files
        .iter()
        .map(|path| {
            let name = path.file_stem().expect("a file has a name");
            format!("    ({name:?}, include_str!({path:?})),\n")
        })
        .collect();
    let list =
        Path::new(&env::var("OUT_DIR").expect("cargo says where to write")).join("studies.rs");
    fs::write(list, format!("&[\n{entries}]\n")).expect("the list can be written");
}
