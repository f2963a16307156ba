//! TCP connections of this machine with itself.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

/// Both ends of a new connection, as the system makes it.
///
/// # Errors
/// The system's, if there is no loopback interface or no descriptor.
pub(super) fn connection() -> io::Result<[OwnedFd; 2]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    Ok([near.into(), far.into()])
}

/// As [`connection`], with as much room for what is on its way as the system gives, at most `bytes`
/// at each end.
///
/// # Errors
/// As there.
pub(super) fn roomy_connection(bytes: usize) -> io::Result<[OwnedFd; 2]> {
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
