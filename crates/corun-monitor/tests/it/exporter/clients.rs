//! Many, slow, huge and broken requests: none changes anything, and none keeps a good client from its answer.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use corun_monitor::exporter::{Limits, ProcessUse};
use corun_testing::skip;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::running::{GET, PATIENCE, Running, is_page, rest};

const MANY: usize = 1000;

/// Both ends of so many connections are in this process.
fn has_descriptors() -> bool {
    let needed = 4 * MANY as u64;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("every process has limits");
    soft >= needed || setrlimit(Resource::RLIMIT_NOFILE, needed, hard).is_ok()
}

#[test]
fn a_good_client_is_answered_beside_a_thousand_slow_ones() {
    if !has_descriptors() {
        return skip("thousand connections", "this process may not have 4000 descriptors");
    }
    let server = Running::new(Limits { deadline: Duration::from_secs(600), ..Limits::default() });
    let before = ProcessUse::now().resident_bytes.expect("Linux");
    let header = format!("GET /metrics HTTP/1.1\r\nX-Slow: {}", "x".repeat(7000));
    let mut slow: Vec<TcpStream> = (0..MANY).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(header.as_bytes()).expect("a part of a request");
    }
    server.serves_a_good_client();
    for stream in &mut slow {
        stream.write_all(b"x").expect("one byte more");
    }
    server.serves_a_good_client();
    let grown = ProcessUse::now().resident_bytes.expect("Linux").saturating_sub(before);
    assert!(grown < 100 << 20, "{MANY} connections hold {} MiB", grown >> 20);
    // They were slow, and not sent away.
    for stream in &mut slow {
        stream.write_all(b"\r\n\r\n").expect("the end of a request");
        is_page(&rest(stream));
    }
}

#[test]
fn a_thousand_clients_at_once_are_all_answered() {
    if !has_descriptors() {
        return skip("thousand connections", "this process may not have 4000 descriptors");
    }
    let server = Running::new(Limits::default());
    let mut clients: Vec<TcpStream> = (0..MANY).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.write_all(GET).expect("a request");
    }
    for client in &mut clients {
        is_page(&rest(client));
    }
}

#[test]
fn the_oldest_connection_makes_room_for_a_new_one() {
    let limits = Limits { connections: 4, deadline: Duration::from_secs(600) };
    let server = Running::new(limits);
    let mut silent: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    server.serves_a_good_client();
    let mut oldest = silent.remove(0);
    assert_eq!(rest(&mut oldest), "");
}

#[test]
fn bytes_that_dribble_do_not_put_off_the_deadline() {
    let server = Running::new(Limits { deadline: Duration::from_millis(200), ..Limits::default() });
    let mut stream = server.connect();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").expect("a part of a request");
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    let is_open = |stream: &mut TcpStream| match stream.read(&mut [0; 64]) {
        Ok(0) => false,
        Ok(_) => panic!("a request without an end was answered"),
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    };
    let sent = (0..2000).position(|_| stream.write_all(b"x").is_err() || !is_open(&mut stream));
    assert!(sent.is_some(), "a client that sends a byte now and then is never sent away");
}

#[test]
fn a_header_without_end_is_refused() {
    let server = Running::new(Limits::default());
    for request in [
        format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)),
        format!("GET /metrics?{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)),
        format!("GET /metrics HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1 << 17)),
        "x".repeat(1 << 20),
    ] {
        let answer = server.ask(request.as_bytes());
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(["", "400", "414", "431"].contains(&status), "{answer}");
    }
    server.serves_a_good_client();
}

#[test]
fn broken_requests_get_no_page() {
    let server = Running::new(Limits::default());
    let hello = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
    for request in [
        b"".as_slice(),
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET /met\0rics HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &hello,
        &[0xff; 100],
    ] {
        let mut stream = server.connect();
        let _ = stream.write_all(request);
        let _ = stream.shutdown(Shutdown::Write);
        let answer = rest(&mut stream);
        let request = String::from_utf8_lossy(request);
        assert!(!answer.contains(" 200 "), "{request:?}: {answer}");
    }
    server.serves_a_good_client();
}

#[test]
fn a_connection_has_one_request() {
    let server = Running::new(Limits::default());
    let answer = server.ask(&GET.repeat(50));
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 1, "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    is_page(&answer);
}

#[test]
fn an_old_client_that_says_nothing_more_is_answered() {
    let server = Running::new(Limits::default());
    let mut stream = server.connect();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request");
    stream.shutdown(Shutdown::Write).expect("an open connection");
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(answer.contains("corun_build_info"), "{answer}");
}

/// The request and the end of what the client sends are there before the server reads any of it.
#[test]
fn a_client_that_has_closed_its_side_is_answered() {
    let (_server, mut stream) = Running::after(Limits::default(), |address| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(GET).expect("a request");
        stream.shutdown(Shutdown::Write).expect("an open connection");
        stream
    });
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    is_page(&rest(&mut stream));
}

#[test]
fn a_name_that_is_not_of_this_host_reads_nothing() {
    let server = Running::new(Limits::default());
    let answer = server.ask(b"GET /metrics HTTP/1.1\r\nHost: evil.example:9745\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
    assert!(!answer.contains("corun_build_info"), "{answer}");
}

#[test]
fn head_says_what_get_would_send() {
    let server = Running::new(Limits::default());
    let length = |answer: &str| {
        let line = answer.lines().find_map(|line| line.strip_prefix("content-length: "));
        line.and_then(|it| it.parse::<usize>().ok()).expect("a length")
    };
    let head = server.ask(b"HEAD /metrics HTTP/1.1\r\n\r\n");
    let get = server.ask(GET);
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    let (_, body) = get.split_once("\r\n\r\n").expect("a body");
    assert_eq!((length(&head), length(&get)), (body.len(), body.len()));
}

#[test]
fn other_methods_and_paths_are_refused() {
    let server = Running::new(Limits::default());
    let posted = server.ask(b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nx=1");
    assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
    assert!(posted.contains("allow: GET, HEAD\r\n"), "{posted}");
    let missing = server.ask(b"GET /etc/passwd HTTP/1.1\r\n\r\n");
    assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
    server.serves_a_good_client();
}

#[test]
fn a_stop_waits_for_no_slow_client() {
    let mut server =
        Running::new(Limits { deadline: Duration::from_secs(600), ..Limits::default() });
    let mut slow = server.connect();
    slow.write_all(b"GET /metr").expect("a part of a request");
    server.serves_a_good_client();
    server.stop();
    assert_eq!(rest(&mut slow), "");
    assert!(TcpStream::connect(server.address).is_err(), "the port is free again");
}
