//! QEMU's control connection (QMP, the QEMU Machine Protocol): one JSON object a line.
//!
//! It also tells when the guest has ended, because QEMU then closes it; so a boot needs no polling.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::{Value, json};

/// The connection, from greeting to the end of QEMU.
pub(crate) struct Qmp {
    stream: BufReader<UnixStream>,
    /// What has arrived of the next message.
    line: String,
    deadline: Instant,
}

/// How the wait for QEMU's end ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// QEMU closed the connection.
    Ended,
    /// The guest showed no sign of life.
    Frozen,
}

impl Qmp {
    /// Takes QEMU's greeting; every later wait ends at `deadline` with `io::ErrorKind::TimedOut`.
    pub(crate) fn new(stream: UnixStream, deadline: Instant) -> io::Result<Self> {
        let mut qmp = Self { stream: BufReader::new(stream), line: String::new(), deadline };
        qmp.receive(Duration::MAX)?;
        qmp.execute("qmp_capabilities")?;
        Ok(qmp)
    }

    /// The host threads that run the guest's CPUs, in the order of these.
    pub(crate) fn cpu_threads(&mut self) -> io::Result<Vec<Pid>> {
        cpu_threads(&self.execute("query-cpus-fast")?)
            .ok_or_else(|| io::Error::other("QEMU's answer lists no CPUs"))
    }

    /// Starts the guest's CPUs.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        self.execute("cont").map(drop)
    }

    /// Waits until QEMU has closed the connection, at its end, or `sign_of_life` has stayed the same
    /// for as long as `patience`.
    pub(crate) fn wait_for_end(
        &mut self,
        patience: Duration,
        sign_of_life: impl Fn() -> u64,
    ) -> io::Result<End> {
        let mut last_sign = None;
        loop {
            match self.receive(patience) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(End::Ended);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut && !self.is_over() => {
                    let sign = Some(sign_of_life());
                    if sign == last_sign {
                        return Ok(End::Frozen);
                    }
                    last_sign = sign;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// The `return` of a command, events in between passed over.
    fn execute(&mut self, command: &str) -> io::Result<Value> {
        writeln!(self.stream.get_mut(), "{}", json!({ "execute": command }))?;
        loop {
            let mut message = self.receive(Duration::MAX)?;
            if let Some(answer) = message.get_mut("return") {
                return Ok(answer.take());
            }
            if let Some(error) = message.get("error") {
                return Err(io::Error::other(format!("QEMU refused {command}: {error}")));
            }
        }
    }

    /// The next message, if it arrives before the deadline and within `patience`.
    fn receive(&mut self, patience: Duration) -> io::Result<Value> {
        let left = self.deadline.saturating_duration_since(Instant::now()).min(patience);
        // A timeout of zero would mean none.
        self.stream.get_ref().set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match self.stream.read_line(&mut self.line) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(serde_json::from_str(&std::mem::take(&mut self.line))?),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::TimedOut.into())
            }
            // QEMU may end with bytes unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Err(error) => Err(error),
        }
    }
}

fn cpu_threads(answer: &Value) -> Option<Vec<Pid>> {
    let mut threads: Vec<(u64, Pid)> = answer
        .as_array()?
        .iter()
        .map(|cpu| {
            let thread = i32::try_from(cpu.get("thread-id")?.as_i64()?).ok()?;
            Some((cpu.get("cpu-index")?.as_u64()?, Pid::from_raw(thread)?))
        })
        .collect::<Option<_>>()?;
    threads.sort_unstable_by_key(|&(index, _)| index);
    Some(threads.into_iter().map(|(_, thread)| thread).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn connected(sent: &str, deadline: Instant) -> (io::Result<Qmp>, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(sent.as_bytes()).unwrap();
        (Qmp::new(ours, deadline), theirs)
    }

    const GREETING: &str = "{\"QMP\": {}}\r\n{\"return\": {}}\r\n";

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn events_between_command_and_answer_are_passed_over() {
        let answers = "{\"event\": \"RESUME\"}\r\n{\"return\": [\
            {\"cpu-index\": 1, \"thread-id\": 12}, {\"cpu-index\": 0, \"thread-id\": 34}]}\r\n";
        let (qmp, _theirs) = connected(&format!("{GREETING}{answers}"), soon());
        let threads = qmp.unwrap().cpu_threads().unwrap();
        assert_eq!(threads, [34, 12].map(|id| Pid::from_raw(id).unwrap()));
    }

    #[test]
    fn the_end_of_qemu_is_the_end_of_waiting() {
        let (qmp, theirs) =
            connected(&format!("{GREETING}{{\"event\": \"SHUTDOWN\"}}\r\n"), soon());
        drop(theirs);
        assert_eq!(qmp.unwrap().wait_for_end(Duration::MAX, || 0).unwrap(), End::Ended);
    }

    #[test]
    fn a_guest_without_a_sign_of_life_is_frozen() {
        let (qmp, _theirs) = connected(GREETING, soon());
        let sign = Cell::new(0);
        let grows_three_times = || {
            sign.set(3.min(sign.get() + 1));
            sign.get()
        };
        let end = qmp.unwrap().wait_for_end(Duration::from_millis(1), grows_three_times);
        assert_eq!((end.unwrap(), sign.get()), (End::Frozen, 3));
    }

    #[test]
    fn a_silent_qemu_is_given_up_at_the_deadline() {
        let (qmp, _theirs) = connected("", Instant::now());
        assert_eq!(qmp.err().unwrap().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_refusal_names_the_command() {
        let refusal = "{\"error\": {\"desc\": \"no\"}}\r\n";
        let (qmp, _theirs) = connected(&format!("{GREETING}{refusal}"), soon());
        assert!(qmp.unwrap().start().unwrap_err().to_string().contains("cont"));
    }
}
