//! A file that is no store of today is reported and left as it is.

use std::path::Path;

use corun_record::{Actionable, Document};
use corun_store::{Store, StoreError};
use rusqlite::Connection;

use crate::runs::{Folder, origin, run};

#[test]
fn a_damaged_store_is_reported_and_left_as_it_is() {
    let folder = Folder::new();
    let path = folder.file("corun.db");
    let mut store = folder.store();
    store.add(&origin("measure"), &run("2026-11-01T00:00:00Z", 20).to_json()).unwrap();
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    let half = whole[..whole.len() / 2].to_vec();
    let mut overwritten = whole;
    overwritten[100..8000].fill(0x5a);
    for damaged in
        [b"no database at all, but longer than its head has to be".repeat(40), half, overwritten]
    {
        std::fs::write(&path, &damaged).unwrap();
        let tried = Store::open(&path).and_then(|mut store| {
            store.add(&origin("measure"), &run("2026-11-02T00:00:00Z", 20).to_json())
        });
        let error = tried.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        assert!(error.next_step().contains("It is left as it is."), "{}", error.next_step());
        assert!(std::fs::read(&path).unwrap() == damaged, "it was changed");
    }
}

#[test]
fn what_is_no_file_is_said_to_be_what_it_is() {
    let folder = Folder::new();
    let pipe = folder.file("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (path, found) in [
        (Path::new("/dev/null"), "found a device"),
        (Path::new("/"), "found a folder"),
        (&pipe, "found a pipe"),
    ] {
        for error in [Store::open(path).unwrap_err(), Store::open_existing(path).unwrap_err()] {
            assert!(error.to_string().ends_with(found), "{error}");
            assert!(error.next_step().contains("CORUN_STORE"), "{}", error.next_step());
        }
    }
}

/// An id becomes the name of a file, and this store was written by somebody else.
#[test]
fn an_id_that_is_none_is_refused_wherever_it_is_read() {
    for id in ["../../pwned", "/tmp/pwned", "", "ABCDEF00", "0123 567"] {
        let folder = Folder::new();
        let mut store = folder.store();
        store.add(&origin("measure"), &run("2026-11-01T00:00:00Z", 20).to_json()).unwrap();
        drop(store);
        let connection = Connection::open(folder.file("corun.db")).unwrap();
        connection.execute("UPDATE runs SET id = ?1", [id]).unwrap();
        drop(connection);
        let mut store = folder.store();
        let listed = store.list(&Default::default()).map(|_| ()).unwrap_err();
        assert!(listed.to_string().contains("expected an id of hexadecimal digits"), "{listed}");
        assert!(store.resume("last").is_err(), "{id}");
    }
}

/// A process that was killed leaves a log beside its store. Where the store was moved away without it, the log is not written
/// into the new one.
#[test]
fn the_log_of_a_store_that_was_moved_away_is_set_aside() {
    let folder = Folder::new();
    let (path, log) = (folder.file("corun.db"), folder.file("corun.db-wal"));
    let mut store = folder.store();
    for second in 10..40 {
        let started = format!("2026-11-01T00:00:{second}Z");
        store.add(&origin("measure"), &run(&started, 20).to_json()).unwrap();
    }
    let left = std::fs::read(&log).expect("a log of what was written");
    drop(store);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&log, &left).unwrap();

    let mut store = folder.store();
    assert_eq!(store.count(&Default::default()).unwrap(), 0);
    store.add(&origin("measure"), &run("2026-11-02T00:00:00Z", 20).to_json()).unwrap();
    drop(store);
    assert_eq!(folder.store().count(&Default::default()).unwrap(), 1);
    let connection = Connection::open(&path).unwrap();
    let checked: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(checked, "ok");
    assert!(std::fs::read(folder.file("corun.db-wal.old")).unwrap() == left);
}

#[test]
fn databases_of_others_and_of_newer_versions_are_refused() {
    let folder = Folder::new();
    let path = folder.file("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE people (name TEXT)").unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Foreign { .. })));

    drop(folder.store());
    let path = folder.file("corun.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 999, .. }), "{error}");
    assert!(error.next_step().contains("newer"), "{}", error.next_step());
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = Folder::new();
    std::fs::write(folder.file("corun.db"), "").unwrap();
    let mut store = folder.store();
    assert!(
        store.add(&origin("measure"), &run("2026-11-01T00:00:00Z", 2).to_json()).unwrap().is_new
    );
}

#[test]
fn what_is_no_document_of_a_run_is_not_kept() {
    let folder = Folder::new();
    let mut store = folder.store();
    let newer =
        run("2026-11-01T00:00:00Z", 2).to_json().replace("\"version\": 1", "\"version\": 99");
    for (text, found) in [
        ("", "expected a document written by corun as JSON"),
        ("[]", "expected a document written by corun as JSON"),
        (r#"{"format":"corun-models","version":1}"#, "found \"corun-models\""),
        (r#"{"format":"corun-run","version":1}"#, "missing field"),
        (newer.as_str(), "version up to"),
    ] {
        let error = store.add(&origin(""), text).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
    assert_eq!(store.count(&Default::default()).unwrap(), 0);
}

#[test]
fn the_folder_of_a_new_store_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.file("data/corun/corun.db");
    Store::open(&path).unwrap();
    let mode = path.parent().unwrap().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing else is left there: {names:?}");
}
