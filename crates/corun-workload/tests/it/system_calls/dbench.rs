//! Requests on files, in loads of eight lines that leave everything as it was, so that every pass but
//! the first makes the same calls. They are those that strace shows of the original, dbench 4.00, for
//! the same lines, by the names that the crate `rustix` calls them: the original's `openat` is `open`, and so on.

#![cfg(target_arch = "x86_64")]

use std::io::Write;

use super::assert_calls;

/// Counts of each call for the eight lines.
fn assert_calls_of(lines: [&str; 8], expected: &[(&str, u32)]) {
    let mut load = tempfile::NamedTempFile::new().unwrap();
    load.write_all(lines.join("\n").as_bytes()).unwrap();
    let parameter = format!("load={}", load.path().display());
    let per_line: Vec<_> =
        expected.iter().map(|&(call, calls)| (call, f64::from(calls) / 8.0)).collect();
    assert_calls(&format!("dbench {parameter}"), &per_line);
}

#[test]
fn requests_about_an_open_file() {
    let lines = [
        r#"NTCreateX "\a" 0x40 0x2 1 NT_STATUS_OK"#,
        "WriteX 1 0 4096 4096 NT_STATUS_OK",
        "ReadX 1 0 4096 4096 NT_STATUS_OK",
        "LockX 1 0 1 NT_STATUS_OK",
        "UnlockX 1 0 1 NT_STATUS_OK",
        "QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK",
        "SET_FILE_INFORMATION 1 1004 NT_STATUS_OK",
        "Close 1 NT_STATUS_OK",
    ];
    // Builds with debug assertions ask before they close.
    let asks = u32::from(cfg!(debug_assertions));
    let calls = [
        // The look-up of the name.
        ("newfstatat", 1),
        ("open", 1),
        ("fstat", 3),
        ("pwrite64", 1),
        ("pread64", 1),
        ("fcntl", 2 + asks),
        ("utimensat", 1),
        ("close", 1),
    ];
    assert_calls_of(lines, &calls);
}

/// Where a name is missing, the whole directory is listed: it is opened, stat'ed, read to its end
/// and closed.
#[test]
fn requests_about_names() {
    let lines = [
        r#"NTCreateX "\a" 0x40 0x2 1 NT_STATUS_OK"#,
        "Flush 1 NT_STATUS_OK",
        "Close 1 NT_STATUS_OK",
        r#"Rename "\a" "\b" NT_STATUS_OK"#,
        r#"Unlink "\b" 6 NT_STATUS_OK"#,
        r#"Mkdir "\c" NT_STATUS_OK"#,
        r#"Rmdir "\c" NT_STATUS_OK"#,
        r#"FIND_FIRST "\*" 260 1366 0 NT_STATUS_NO_SUCH_FILE"#,
    ];
    let lists = 5;
    let calls = [
        ("newfstatat", 7),
        ("open", lists + 1),
        ("fstat", lists + 1),
        ("getdents64", 2 * lists),
        ("close", lists + 1),
        ("fsync", 1),
        ("renameat", 1),
        ("mkdirat", 1),
        // Of the file, and of the directory.
        ("unlinkat", 2),
    ];
    assert_calls_of(lines, &calls);
}
