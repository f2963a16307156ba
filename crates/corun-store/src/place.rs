//! Default place of the store, unless the user says otherwise.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The store below the user's folder for data: `$XDG_DATA_HOME/corun/corun.db`, else below `~/.local/share`
/// (XDG Base Directory Specification).
///
/// # Errors
/// If no such folder is known, or `HOME` belongs to another user: `sudo` may leave it as it was, and files of
/// root in there would lock the user out.
pub fn default_path() -> Result<PathBuf, StoreError> {
    let user = rustix::process::geteuid().as_raw();
    let owner = |home: &Path| home.metadata().ok().map(|it| it.uid());
    below(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"), |home| {
        owner(home).is_none_or(|owner| owner == user)
    })
}

fn below(
    data: Option<OsString>,
    home: Option<OsString>,
    is_own: impl Fn(&Path) -> bool,
) -> Result<PathBuf, StoreError> {
    // A relative path there is to be ignored, says the specification.
    let absolute = |it: Option<OsString>| it.map(PathBuf::from).filter(|it| it.is_absolute());
    let folder = match (absolute(data), absolute(home)) {
        (Some(data), _) => data,
        (None, Some(home)) if is_own(&home) => home.join(".local/share"),
        (None, Some(home)) => return Err(StoreError::HomeOfAnother { home }),
        (None, None) => return Err(StoreError::NoPlace),
    };
    Ok(folder.join("corun/corun.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_for_data_goes_before_the_home() {
        let below = |data: Option<&str>, home: Option<&str>| {
            below(data.map(Into::into), home.map(Into::into), |home| home != Path::new("/other"))
        };
        let place = |it: Result<PathBuf, StoreError>| it.unwrap().to_str().unwrap().to_owned();
        assert_eq!(place(below(Some("/data"), Some("/home"))), "/data/corun/corun.db");
        assert_eq!(place(below(Some("data"), Some("/home"))), "/home/.local/share/corun/corun.db");
        assert_eq!(place(below(Some(""), Some("/home"))), "/home/.local/share/corun/corun.db");
        assert!(matches!(below(None, Some("/other")), Err(StoreError::HomeOfAnother { .. })));
        assert!(matches!(below(None, None), Err(StoreError::NoPlace)));
    }
}
