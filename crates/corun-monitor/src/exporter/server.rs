//! The endpoint: HTTP/1 by hyper on one thread, with bounds on what clients can take.
//!
//! A connection has one request, and its whole life ends at a deadline, whatever bytes it sends or does not read. When
//! all places are taken, the oldest connection goes, so that a new client is served even then.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use corun_measure::execution::Interrupt;
use corun_record::{Actionable, Exit};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::Page;
use super::response::{Names, response};

/// Of a request's line and headers; hyper takes no less.
const MAX_HEADER_BYTES: usize = 8192;

/// Descriptors that connections do not need: files, signals, the sampler's counters.
const OTHER_DESCRIPTORS: u64 = 128;

/// Time that open connections have when the server ends.
const LAST_RESPONSES: Duration = Duration::from_secs(1);

/// Time to wait when the system has no descriptor for a connection.
const NO_DESCRIPTOR: Duration = Duration::from_millis(50);

/// Limits of clients.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time for which a connection may be open.
    pub deadline: Duration,
    /// Limit of open connections; fewer if the system permits no more descriptors.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), connections: 1024 }
    }
}

/// Why metrics are not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened at.
    #[error("expected an address and a port that are free here, found {address}: {source}")]
    Address {
        /// Address asked for.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The system refuses what every server needs.
    #[error("could not serve: {0}")]
    System(#[source] io::Error),
}

impl Actionable for ServerError {
    fn exit(&self) -> Exit {
        match self {
            Self::Address { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Exit::NotPermitted
            }
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Address { .. } => {
                "Name another port, or 0 for any that is free: --listen 127.0.0.1:0".to_owned()
            }
            Self::System(_) => "See what limits this process (a sandbox, descriptors).".to_owned(),
        }
    }
}

/// A server that listens, and answers once it runs.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
}

impl Server {
    /// Listens at an address.
    ///
    /// # Errors
    /// If that is not possible.
    pub fn bind(address: SocketAddr, limits: Limits) -> Result<Self, ServerError> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_io().enable_time().build().map_err(ServerError::System)?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(|source| ServerError::Address { address, source })?;
        let address = listener.local_addr().map_err(ServerError::System)?;
        let connections = limits.connections.min(permitted(limits.connections)).max(1);
        Ok(Self { runtime, listener, address, limits: Limits { connections, ..limits } })
    }

    /// Address at which it listens, with the port that it was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers with what is on the page until it is to stop; responses that have begun are finished.
    ///
    /// # Errors
    /// If the system refuses what every server needs.
    pub fn run(self, page: Arc<Page>, stop: &Interrupt) -> Result<(), ServerError> {
        let Self { runtime, listener, address, limits } = self;
        let places = Arc::new(Semaphore::new(limits.connections));
        runtime.block_on(async {
            let stop = signal(stop).map_err(ServerError::System)?;
            let names = if address.ip().is_loopback() { Names::Local } else { Names::Any };
            let accepting =
                tokio::spawn(accept(listener, page, names, Arc::clone(&places), limits));
            stop.readable().await.map_err(ServerError::System)?;
            accepting.abort();
            let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
            let _ = timeout(LAST_RESPONSES, places.acquire_many(all)).await;
            Ok(())
        })
    }
}

/// The request to stop, as a socket that the runtime waits for.
fn signal(stop: &Interrupt) -> io::Result<UnixStream> {
    let stop = std::os::unix::net::UnixStream::from(stop.as_fd().try_clone_to_owned()?);
    stop.set_nonblocking(true)?;
    UnixStream::from_std(stop)
}

/// Takes connections until the process ends.
async fn accept(
    listener: TcpListener,
    page: Arc<Page>,
    names: Names,
    places: Arc<Semaphore>,
    limits: Limits,
) -> Infallible {
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let accepted = listener.accept().await;
        open.retain(|connection| !connection.is_finished());
        let is_full = accepted.is_err() || places.available_permits() == 0;
        if is_full && let Some(oldest) = open.pop_front() {
            oldest.abort();
        }
        let Ok((stream, _)) = accepted else {
            sleep(NO_DESCRIPTOR).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { continue };
        let page = Arc::clone(&page);
        let connection = tokio::spawn(async move {
            // What goes wrong on a connection is its client's alone.
            let _ = timeout(limits.deadline, answer(stream, page, names)).await;
            drop(place);
        });
        open.push_back(connection.abort_handle());
    }
}

/// Answers the one request of a connection, also where its client has closed its side already.
async fn answer(stream: TcpStream, page: Arc<Page>, names: Names) -> hyper::Result<()> {
    let service = service_fn(move |request| {
        let response = response(&request, &page, names);
        async { Ok::<_, Infallible>(response) }
    });
    http1::Builder::new()
        .keep_alive(false)
        .half_close(true)
        .max_buf_size(MAX_HEADER_BYTES)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// Number of connections for which the system has descriptors; the soft limit is raised as far as they are needed.
fn permitted(connections: usize) -> usize {
    let needed = connections as u64 + OTHER_DESCRIPTORS;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return connections };
    if soft >= needed {
        return connections;
    }
    let raised = needed.min(hard);
    let soft = setrlimit(Resource::RLIMIT_NOFILE, raised, hard).map_or(soft, |()| raised);
    usize::try_from(soft.saturating_sub(OTHER_DESCRIPTORS)).unwrap_or(usize::MAX)
}
