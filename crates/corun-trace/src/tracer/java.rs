//! Detection of a Java virtual machine in a program, before it runs.
//!
//! The launchers of every JDK (java, javac, jshell) are linked to libjli, which loads the virtual machine; other
//! programs that have one inside are linked to libjvm.

use std::io::{Read, Seek};
use std::path::Path;

use object::LittleEndian;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader};

use super::image;
use crate::Target;

const LIBRARIES: [&[u8]; 2] = [b"libjli.so", b"libjvm.so"];

/// True if the program, or what interprets it, is linked to the Java virtual machine or to its launcher. What cannot
/// be read is not.
pub(super) fn is_started_by(target: &Target) -> bool {
    image::resolve(target).is_ok_and(|line| needs_java(&line.image))
}

fn needs_java(path: &Path) -> bool {
    corun_files::random(path).is_ok_and(|file| needs_any(file, &LIBRARIES).unwrap_or(false))
}

/// True if an executable of 64 bits needs one of these libraries.
fn needs_any(file: impl Read + Seek, libraries: &[&[u8]]) -> object::Result<bool> {
    let data = &ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let Some((entries, link)) = sections.dynamic(endian, data)? else { return Ok(false) };
    let names = sections.strings(endian, data, link)?;
    let needed = entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED);
    let mut needed = needed.filter_map(|entry| entry.string(endian, names).ok());
    Ok(needed.any(|name| libraries.contains(&name)))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use corun_machine::descendants::spawn_unmarked;

    use super::*;

    /// A program linked to a library of this name, which does nothing.
    fn linked_to(library: &str, folder: &Path) -> Target {
        let build = |arguments: &[&str]| {
            let mut compiler = Command::new("cc");
            compiler.args(arguments).current_dir(folder).stderr(Stdio::piped());
            // Other tests of this process start commands, and end what has their mark.
            let done = spawn_unmarked(&mut compiler).unwrap().wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{arguments:?}: {}: {said}", done.status);
        };
        std::fs::write(folder.join("library.c"), "int begin(void) { return 0; }").unwrap();
        std::fs::write(folder.join("main.c"), "int begin(void); int main() { return begin(); }")
            .unwrap();
        let named = format!("-Wl,-soname,{library}");
        build(&["-shared", "-fPIC", &named, "-o", library, "library.c"]);
        build(&["-o", "program", "main.c", library]);
        Target { program: folder.join("program"), ..Target::default() }
    }

    #[test]
    fn launchers_of_java_are_known_by_what_they_are_linked_to() {
        for (library, expected) in
            [("libjli.so", true), ("libjvm.so", true), ("libjvm-not.so", false)]
        {
            let folder = tempfile::tempdir().unwrap();
            let target = linked_to(library, folder.path());
            assert_eq!(is_started_by(&target), expected, "{library}");
            let script = folder.path().join("script");
            std::fs::write(&script, format!("#!{}\n", target.program.display())).unwrap();
            let target = Target { program: script, ..Target::default() };
            assert_eq!(is_started_by(&target), expected, "a script that {library} interprets");
        }
    }

    #[test]
    fn what_is_no_executable_starts_no_java() {
        let folder = tempfile::tempdir().unwrap();
        let damaged = folder.path().join("damaged");
        std::fs::write(&damaged, b"\x7fELF\x02\x01\x01 and then nothing of use, libjvm.so")
            .unwrap();
        for program in [damaged, folder.path().join("missing"), "/bin/sh".into()] {
            assert!(!is_started_by(&Target { program, ..Target::default() }));
        }
    }
}
