//! The packets, as long as those of tbench 4, so that its server understands them: two numbers of
//! four bytes, the highest first, say how many bytes follow in the packet and how many are wanted
//! after the first number of the answer.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::{RecvFlags, recv};

use super::ABOUT;
use crate::load::{Action, Answer, Client, Line, Load, PathId};
use crate::{LoadMismatch, WorkloadError, loopback};

/// The numbers before everything else.
const NUMBER: usize = 4;

/// The packet that begins a connection, and its answer.
const GREETING: [usize; 2] = [2 * NUMBER, 2 * NUMBER];

/// A connection and what keeps its server.
pub(super) struct Connection<S> {
    pub(super) stream: TcpStream,
    #[allow(dead_code, reason = "it is there to be dropped after the connection")]
    pub(super) server: S,
}

/// Fills the buffer by one recv(2), as the original does: the kernel waits until all is there.
///
/// # Errors
/// The system's, or [`io::ErrorKind::UnexpectedEof`] if the other side is gone.
pub(super) fn receive(stream: &TcpStream, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        // A signal may still cut it short.
        match retry_on_intr(|| recv(stream, &mut *into, RecvFlags::WAITALL))?.1 {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            received => into = &mut into[received..],
        }
    }
    Ok(())
}

/// A client that a server is started for, or looked for, by `connect`, which is given how long a
/// packet or an answer is at most.
pub(super) struct NetworkClient<S, F> {
    load: Arc<Load>,
    name_lengths: Vec<usize>,
    packet: Vec<u8>,
    connect: F,
    connection: Option<Connection<S>>,
}

impl<S, F: FnMut(usize) -> io::Result<Connection<S>>> NetworkClient<S, F> {
    pub(super) fn new(load: &Arc<Load>, worker: usize, connect: F) -> Self {
        // The original's files lie in the current directory unless an option says otherwise.
        let paths = load.paths_of(worker, ".");
        let name_lengths: Vec<usize> = paths.iter().map(String::len).collect();
        let sizes = load.lines.iter().filter_map(|line| sizes(line.action, &name_lengths));
        let longest = sizes.flatten().fold(GREETING[0], usize::max);
        Self {
            load: Arc::clone(load),
            name_lengths,
            packet: vec![0; longest],
            connect,
            connection: None,
        }
    }

    /// Sends a packet and waits for the answer, in three system calls as in the original; the bytes
    /// of the answer are discarded in the kernel, but for the first number.
    fn exchange(&mut self, [packet, answer]: [usize; 2]) -> io::Result<()> {
        let connection = self.connection.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let expected = answer - NUMBER;
        self.packet[..NUMBER].copy_from_slice(&((packet - NUMBER) as u32).to_be_bytes());
        self.packet[NUMBER..2 * NUMBER].copy_from_slice(&(expected as u32).to_be_bytes());
        connection.stream.write_all(&self.packet[..packet])?;
        let mut first = [0; NUMBER];
        receive(&connection.stream, &mut first)?;
        if u32::from_be_bytes(first) as usize != expected {
            return Err(io::Error::other("the server's answer is not as long as was asked for"));
        }
        let flags = RecvFlags::WAITALL | RecvFlags::TRUNC;
        let (_, received) = recv(&connection.stream, &mut self.packet[..expected], flags)?;
        if received != expected {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

impl<S: Send, F: FnMut(usize) -> io::Result<Connection<S>> + Send> Client for NetworkClient<S, F> {
    /// The server sees the end of the old connection.
    fn reset(&mut self) -> Result<(), WorkloadError> {
        self.connection = None;
        let connected = (self.connect)(self.packet.len()).and_then(|connection| {
            self.connection = Some(connection);
            self.exchange(GREETING)
        });
        connected.map_err(|error| loopback::refused(ABOUT.name, error))
    }

    fn request(&mut self, line: &Line) -> Result<Answer, LoadMismatch> {
        let Some(sizes) = sizes(line.action, &self.name_lengths) else {
            if let Action::Sleep { microseconds } = line.action {
                std::thread::sleep(Duration::from_micros(microseconds.into()));
            }
            return Ok(Answer { bytes: 0, value: 0 });
        };
        self.exchange(sizes).map_err(|error| self.load.mismatch(line, "an answer", error))?;
        let bytes = match line.action {
            Action::Read { expected, .. } => expected,
            Action::Write { bytes, .. } => bytes,
            _ => 0,
        };
        Ok(Answer { bytes: bytes.into(), value: sizes[1] as u64 })
    }
}

/// Length of the packet of a request, and of its answer, in bytes; `None` where nothing is sent.
///
/// A file name takes two bytes a letter, as in the protocol that is imitated.
fn sizes(action: Action, name_lengths: &[usize]) -> Option<[usize; 2]> {
    let name = |path: PathId| 2 * name_lengths[path.index()];
    Some(match action {
        Action::Create { path, .. } => [74 + name(path), 87],
        Action::Close { .. } => [47, 39],
        Action::Read { expected, .. } => [59, 59 + expected as usize],
        Action::Write { bytes, .. } => [59 + bytes as usize, 55],
        Action::Flush { .. } => [41, 39],
        Action::Unlink { path }
        | Action::MakeDirectory { path }
        | Action::RemoveDirectory { path } => [43 + name(path), 39],
        Action::Rename { from, to } => [47 + name(from) + name(to), 39],
        Action::PathInformation { path } => [55 + name(path), 71],
        Action::FileInformation { .. } | Action::FileSystemInformation => [59, 71],
        Action::Find { pattern, found, .. } => [59 + name(pattern), 39 + 90 * found as usize],
        Action::SetFileInformation { .. } => [71, 47],
        Action::Lock { .. } | Action::Unlock { .. } => [51, 39],
        Action::RemoveTree { .. } | Action::Sleep { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// The server that dbench brings along, at the port that it always has.
    struct Original(Child);

    impl Drop for Original {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn connect_to_original(_: usize) -> io::Result<Connection<Original>> {
        let quiet = Command::new("tbench_srv").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut server = Original(quiet?);
        loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", 7003)) {
                stream.set_nodelay(true)?;
                return Ok(Connection { stream, server });
            }
            if server.0.try_wait()?.is_some() {
                return Err(io::Error::other("it does not get its port"));
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_original_server_understands_every_packet() {
        let load = Arc::new(Load::own());
        match connect_to_original(0) {
            Ok(connection) => {
                let mut connection = Some(connection);
                let connect = |_| connection.take().ok_or_else(|| io::Error::other("used up"));
                let mut client = NetworkClient::new(&load, 0, connect);
                client.reset().unwrap();
                let answers = load.lines.iter().map(|line| client.request(line).unwrap());
                assert!(answers.map(|answer| answer.bytes).sum::<u64>() > 0);
            }
            Err(error) => corun_testing::skip("tbench_srv", &error.to_string()),
        }
    }
}
