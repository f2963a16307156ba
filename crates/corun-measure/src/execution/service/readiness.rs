//! Readiness check of a server: something answers at its place, or it says so.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use regex::Regex;

/// When a server counts as ready.
#[derive(Debug, Clone)]
pub enum Readiness {
    /// When one of these takes a connection.
    Port {
        /// As the user named it.
        name: String,
        /// Addresses that the name stands for.
        addresses: Vec<SocketAddr>,
    },
    /// When this socket takes a connection.
    Socket(PathBuf),
    /// When a line of its output matches.
    Line(Regex),
}

/// Time limit of a connection: a host that does not answer must not hold up the next try.
const PATIENCE: Duration = Duration::from_millis(200);

impl Readiness {
    /// Condition that is waited for, as the object of a sentence.
    pub(super) fn awaited(&self) -> String {
        match self {
            Self::Port { .. } | Self::Socket(_) => {
                format!("an answer at {}", self.place().unwrap_or_default())
            }
            Self::Line(pattern) => format!("a line of the server that matches \"{pattern}\""),
        }
    }

    /// Place where an answer is expected, if at a place.
    pub(super) fn place(&self) -> Option<String> {
        match self {
            Self::Port { name, .. } => Some(name.clone()),
            Self::Socket(path) => Some(corun_record::shown(path)),
            Self::Line(_) => None,
        }
    }

    /// True if something answers at the place.
    pub(super) fn answers(&self) -> bool {
        match self {
            Self::Port { addresses, .. } => {
                addresses.iter().any(|it| TcpStream::connect_timeout(it, PATIENCE).is_ok())
            }
            Self::Socket(path) => UnixStream::connect(path).is_ok(),
            Self::Line(_) => false,
        }
    }

    /// True if a server is ready that has written this.
    pub(super) fn is_met(&self, output: impl FnOnce() -> String) -> bool {
        match self {
            Self::Line(pattern) => output().lines().any(|line| pattern.is_match(line)),
            Self::Port { .. } | Self::Socket(_) => self.answers(),
        }
    }
}

/// `PORT`, `HOST:PORT`, `/SOCKET` or `line REGEX`.
impl FromStr for Readiness {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected PORT, HOST:PORT, the path of a socket or `line REGEX`, found \"{text}\""
            )
        };
        if let Some(pattern) = text.strip_prefix("line ").or_else(|| text.strip_prefix("line:")) {
            return Regex::new(pattern.trim_start()).map(Self::Line).map_err(|it| it.to_string());
        }
        if text.starts_with('/') {
            return Ok(Self::Socket(text.into()));
        }
        if let Ok(port) = text.parse::<u16>() {
            let addresses =
                vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()];
            return if port == 0 {
                Err(expected())
            } else {
                Ok(Self::Port { name: format!("port {port}"), addresses })
            };
        }
        let (_, port) = text.rsplit_once(':').ok_or_else(expected)?;
        port.parse::<u16>().map_err(|_| expected())?;
        let looked_up: io::Result<Vec<SocketAddr>> = text.to_socket_addrs().map(Iterator::collect);
        match looked_up {
            Ok(addresses) if !addresses.is_empty() => {
                Ok(Self::Port { name: text.to_owned(), addresses })
            }
            Ok(_) => Err(expected()),
            Err(error) => Err(format!("{}: {error}", expected())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_is_ready_when_it_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ready: Readiness = address.port().to_string().parse().unwrap();
        assert!(ready.is_met(String::new));
        let by_host: Readiness = address.to_string().parse().unwrap();
        assert!(by_host.answers());
    }

    #[test]
    fn a_line_is_looked_for_in_whole_lines() {
        let ready: Readiness = "line ^ready$".parse().unwrap();
        assert!(!ready.is_met(|| "not ready".to_owned()));
        assert!(ready.is_met(|| "starts\nready\n".to_owned()));
        assert_eq!(ready.place(), None);
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "0", "70000", "host", "host:", "host:many", "line ("] {
            assert!(text.parse::<Readiness>().is_err(), "{text}");
        }
        assert!(matches!("/run/x.sock".parse(), Ok(Readiness::Socket(_))));
    }
}
