//! A request over TCP, in the calls that strace shows of the original, tbench 4.00: the client sends it,
//! receives the length of the answer and discards the answer; the server receives the length of the
//! packet, then the packet, and sends the answer.

use std::io::Write;

use super::assert_calls;

#[test]
fn a_request_and_its_answer_are_six_system_calls() {
    for lines in [
        "QUERY_FS_INFORMATION 1 NT_STATUS_OK",
        r#"Mkdir "\a" NT_STATUS_OK"#,
        // A packet that TCP cuts up.
        "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nWriteX 1 0 1000000 1000000 NT_STATUS_OK",
    ] {
        let mut load = tempfile::NamedTempFile::new().unwrap();
        load.write_all(lines.as_bytes()).unwrap();
        let parameter = format!("load={}", load.path().display());
        assert_calls(&format!("tbench {parameter}"), &[("sendto", 2.0), ("recvfrom", 4.0)]);
    }
}
