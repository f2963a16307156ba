//! A server in a thread, and what is on its page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use corun_measure::execution::Interrupt;
use corun_monitor::exporter::{Exposition, Limits, Page, Server, ServerError};

/// No answer takes so long; a test that would wait forever fails instead.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server, stopped when it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) page: Arc<Page>,
    stop: UnixStream,
    thread: Option<JoinHandle<Result<(), ServerError>>>,
}

impl Running {
    pub(crate) fn new(limits: Limits) -> Self {
        Self::after(limits, |_| ()).0
    }

    /// A server that begins to answer after something was done at its address.
    pub(crate) fn after<T>(limits: Limits, act: impl FnOnce(SocketAddr) -> T) -> (Self, T) {
        let server = Server::bind(([127, 0, 0, 1], 0).into(), limits).expect("a free port");
        let address = server.address();
        let done = act(address);
        let page = Arc::new(Page::default());
        page.publish(Exposition { version: "1.2.3".to_owned(), ..Exposition::default() });
        let (interrupt, stop) = Interrupt::new().expect("a pair of sockets");
        let shown = Arc::clone(&page);
        let thread = Some(std::thread::spawn(move || server.run(shown, &interrupt)));
        (Self { address, page, stop, thread }, done)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// All that comes back until the server closes the connection.
    pub(crate) fn ask(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // A server that has seen enough may have closed the connection already.
        let _ = stream.write_all(request);
        rest(&mut stream)
    }

    /// Asks as a good client does, which must get the page.
    #[track_caller]
    pub(crate) fn serves_a_good_client(&self) {
        is_page(&self.ask(GET));
    }

    /// Stops the server and waits for its end.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.write_all(b"x");
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic").expect("an orderly end");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

pub(crate) const GET: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[track_caller]
pub(crate) fn is_page(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("corun_build_info{version=\"1.2.3\"} 1\n"), "{answer}");
}

/// Text until the end; a connection that is reset has ended, too.
pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("no end: {error}"),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}
