//! TCP connections of this machine with itself, both ends in this process, for workloads that hand an
//! end to a thread or to a child; small messages are sent at once (no-delay).

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use rustix::io::Errno;

use crate::WorkloadError;

/// Where connections are made.
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
                near.set_nodelay(true)?;
                far.set_nodelay(true)?;
                return Ok([near, far]);
            }
        }
    }
}

/// Tries whether there can be a connection at all.
///
/// # Errors
/// [`WorkloadError::NoLoopback`], or [`WorkloadError::NoDescriptors`].
pub(crate) fn ensure_available(workload: &'static str) -> Result<(), WorkloadError> {
    let connected = Loopback::listen().and_then(|loopback| loopback.connect());
    connected.map(drop).map_err(|source| match Errno::from_io_error(&source) {
        Some(Errno::MFILE | Errno::NFILE) => WorkloadError::NoDescriptors { workload, source },
        _ => WorkloadError::NoLoopback { workload, source },
    })
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
            let [mut near, mut far] = loopback.connect().unwrap();
            near.write_all(b"ask").unwrap();
            let mut found = [0; 3];
            far.read_exact(&mut found).unwrap();
            assert_eq!(&found, b"ask");
            assert!(near.nodelay().unwrap() && far.nodelay().unwrap());
        }
        drop(stranger);
    }
}
