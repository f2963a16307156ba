//! TCP connections of this machine with itself, both ends in this process, for workloads that hand an
//! end to a thread or to a child.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::WorkloadError;

/// Listener to which connections are made.
pub(crate) struct Loopback {
    listener: TcpListener,
    address: SocketAddr,
}

impl Loopback {
    /// Listens at a port that the system chooses, on the loopback interface alone.
    ///
    /// # Errors
    /// The system's, for instance where the interface is not up.
    pub(crate) fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Connects, and returns the end that connected and the end that accepted.
    ///
    /// # Errors
    /// The system's, for instance if it has no descriptors to give.
    pub(crate) fn connect(&self) -> io::Result<[TcpStream; 2]> {
        let near = TcpStream::connect(self.address)?;
        let address = near.local_addr()?;
        loop {
            let (far, peer) = self.listener.accept()?;
            // Anybody on this machine may connect to the port.
            if peer == address {
                return Ok([near, far]);
            }
        }
    }

    /// As [`connect`](Self::connect), and small messages are sent at once (no-delay).
    ///
    /// # Errors
    /// As there.
    pub(crate) fn connect_without_delay(&self) -> io::Result<[TcpStream; 2]> {
        let ends = self.connect()?;
        ends.iter().try_for_each(|end| end.set_nodelay(true))?;
        Ok(ends)
    }
}

/// A connection, the end that connected first, with as much room for what is on its way as the system gives, at most `bytes`
/// at each end.
///
/// # Errors
/// As [`Loopback::connect`].
pub(crate) fn roomy_connection(bytes: usize) -> io::Result<[OwnedFd; 2]> {
    let socket = || {
        rustix::net::socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
    };
    let (listener, near) = (socket()?, socket()?);
    // The accepted socket has what the listening one has; both are set before there is a window.
    sockopt::set_socket_send_buffer_size(&listener, bytes)?;
    sockopt::set_socket_send_buffer_size(&near, bytes)?;
    sockopt::set_socket_recv_buffer_size(&near, bytes)?;
    rustix::net::bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    rustix::net::listen(&listener, 1)?;
    rustix::net::connect(&near, &rustix::net::getsockname(&listener)?)?;
    let far = rustix::net::accept_with(&listener, SocketFlags::CLOEXEC)?;
    Ok([near, far])
}

/// Tries whether there can be a connection at all.
///
/// # Errors
/// [`WorkloadError::NoLoopback`], or [`WorkloadError::NoDescriptors`].
pub(crate) fn ensure_available(workload: &'static str) -> Result<(), WorkloadError> {
    let connected = Loopback::listen().and_then(|loopback| loopback.connect());
    connected.map(drop).map_err(|error| refused(workload, error))
}

/// The message for when the system gives no connection, or no process for its other end.
pub(crate) fn refused(workload: &'static str, source: io::Error) -> WorkloadError {
    match Errno::from_io_error(&source) {
        Some(Errno::MFILE | Errno::NFILE) => WorkloadError::NoDescriptors { workload, source },
        Some(Errno::AGAIN) => WorkloadError::NoProcesses { workload, processes: 1, source },
        _ => WorkloadError::NoLoopback { workload, source },
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn what_goes_in_at_one_end_comes_out_at_the_other() {
        let loopback = Loopback::listen().unwrap();
        let stranger = TcpStream::connect(loopback.address).unwrap();
        for _ in 0..3 {
            let [mut near, mut far] = loopback.connect_without_delay().unwrap();
            near.write_all(b"ask").unwrap();
            let mut found = [0; 3];
            far.read_exact(&mut found).unwrap();
            assert_eq!(&found, b"ask");
            assert!(near.nodelay().unwrap() && far.nodelay().unwrap());
        }
        drop(stranger);
    }
}
