//! Boots of the kernel: what belonged to another boot is no more, though its numbers may be used again.

use std::path::Path;

use crate::kernel_text;

/// The kernel's file with the identifier of its boot, below the root.
pub const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

/// The identifier of this boot; `None` where it cannot be read: it is then equal to no other.
pub fn boot_id() -> Option<String> {
    boot_id_below(Path::new("/"))
}

fn boot_id_below(root: &Path) -> Option<String> {
    let text = kernel_text(root.join(BOOT_ID)).ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_that_is_not_said_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(boot_id_below(folder.path()), None);
        let file = folder.path().join(BOOT_ID);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        for (text, id) in [("", None), ("\n", None), ("1f-2e\n", Some("1f-2e".to_owned()))] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(boot_id_below(folder.path()), id, "{text:?}");
        }
    }
}
