//! A request over TCP: the client writes it, reads the length of the answer and discards the answer;
//! the server reads the length of the packet, then the packet, and writes the answer.

use std::io::Write;

use super::assert_calls;

#[test]
fn a_request_and_its_answer_are_six_system_calls() {
    for line in ["QUERY_FS_INFORMATION 1 NT_STATUS_OK", r#"Mkdir "\a" NT_STATUS_OK"#] {
        let mut load = tempfile::NamedTempFile::new().unwrap();
        load.write_all(line.as_bytes()).unwrap();
        let parameter = format!("load={}", load.path().display());
        let calls = [("write", 2.0), ("read", 3.0), ("recvfrom", 1.0)];
        assert_calls(&format!("tbench {parameter}"), &calls);
    }
}
