//! The machine itself: a thread on each CPU, asleep until its pair is measured.
//!
//! Workers meet at a time in the near future, not at a barrier: two virtual CPUs that take turns
//! could not be at a barrier at once.

use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::ProbeError;
use super::loops::Loop;
use super::shared_line::{SharedLine, Side};
use super::target::ProbeTarget;
use super::track::Track;
use crate::{Affinity, CpuSet};

/// From the order to the start: time for sleeping threads to wake.
const LEAD: Duration = Duration::from_micros(300);
/// Least duration of a chunk.
const CHUNK: Duration = Duration::from_micros(20);
/// Number of timed chunks that settle the number of steps; the fastest counts.
const TRIALS: u32 = 8;
/// Limit of the time of a rally.
const RALLY: Duration = Duration::from_millis(10);

/// The machine that this process runs on.
pub(super) struct Threads {
    begun: Instant,
    workers: BTreeMap<u32, Worker>,
}

struct Worker {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Run { which: Loop, begin: Instant, window: Duration, answer: Sender<(u32, Track)> },
    Rally { ball: Arc<SharedLine>, side: Side, end: Instant, answer: Sender<Vec<f64>> },
}

impl Threads {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), workers: BTreeMap::new() }
    }

    /// Starts the workers that are missing, so that orders reach all at about the same time.
    fn assemble(&mut self, cpus: &[u32]) -> Result<(), ProbeError> {
        for &cpu in cpus {
            if let Entry::Vacant(place) = self.workers.entry(cpu) {
                place.insert(Worker::start(cpu)?);
            }
        }
        Ok(())
    }

    fn order(&self, cpu: u32, order: Order) -> Result<(), ProbeError> {
        let orders = self.workers.get(&cpu).and_then(|worker| worker.orders.as_ref());
        let sent = orders.is_some_and(|orders| orders.send(order).is_ok());
        if sent { Ok(()) } else { Err(ProbeError::Silent { cpu }) }
    }
}

impl ProbeTarget for Threads {
    fn window(
        &mut self,
        which: Loop,
        cpus: &[u32],
        nanoseconds: u64,
    ) -> Result<Vec<Track>, ProbeError> {
        self.assemble(cpus)?;
        let (answer, answers) = channel();
        let begin = Instant::now() + LEAD;
        let window = Duration::from_nanos(nanoseconds);
        for &cpu in cpus {
            self.order(cpu, Order::Run { which, begin, window, answer: answer.clone() })?;
        }
        drop(answer);
        let mut tracks: BTreeMap<u32, Track> = answers.iter().collect();
        cpus.iter().map(|&cpu| tracks.remove(&cpu).ok_or(ProbeError::Silent { cpu })).collect()
    }

    fn round_trips(&mut self, cpus: [u32; 2]) -> Result<Vec<f64>, ProbeError> {
        self.assemble(&cpus)?;
        let ball = Arc::new(SharedLine::default());
        let end = Instant::now() + RALLY;
        let (answer, answers): (_, Receiver<Vec<f64>>) = channel();
        for (cpu, side) in cpus.into_iter().zip([Side::Serving, Side::Returning]) {
            let (ball, answer) = (Arc::clone(&ball), answer.clone());
            self.order(cpu, Order::Rally { ball, side, end, answer })?;
        }
        drop(answer);
        Ok(answers.iter().flatten().collect())
    }

    fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl Worker {
    /// A thread on `cpu` alone that knows how many steps of each loop make a chunk.
    fn start(cpu: u32) -> Result<Self, ProbeError> {
        let pin = move |source| ProbeError::Pin { cpu, source };
        let (orders, received) = channel();
        let (ready, readiness) = channel();
        let serve = move || match pinned(cpu).map(|()| Pace::measured()) {
            Ok(pace) => {
                let _ = ready.send(Ok(()));
                received.iter().for_each(|order| obey(cpu, order, &pace));
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        };
        let builder = std::thread::Builder::new().name(format!("probe {cpu}"));
        let thread = builder.spawn(serve).map_err(pin)?;
        readiness.recv().map_err(|_| ProbeError::Silent { cpu })?.map_err(pin)?;
        Ok(Self { orders: Some(orders), thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn pinned(cpu: u32) -> std::io::Result<()> {
    let only = CpuSet::from([cpu]);
    let granted = Affinity::new(&only).apply_and_verify(0)?;
    if granted == only {
        return Ok(());
    }
    Err(std::io::Error::other(format!("the kernel allows CPUs {granted} instead")))
}

fn obey(cpu: u32, order: Order, pace: &Pace) {
    // The thread that asked may have ended; then the answer is dropped.
    match order {
        Order::Run { which, begin, window, answer } => {
            let _ = answer.send((cpu, pace.of(which).run(which, begin, window)));
        }
        Order::Rally { ball, side, end, answer } => {
            let _ = answer.send(ball.play(side, end));
        }
    }
}

/// The chunks of each loop on one CPU.
struct Pace {
    ports: Chunk,
    chain: Chunk,
}

/// So many steps, and how long they take undisturbed.
struct Chunk {
    steps: u32,
    nominal: u64,
}

impl Pace {
    fn measured() -> Self {
        let [ports, chain] = Loop::ALL.map(Chunk::measured);
        Self { ports, chain }
    }

    fn of(&self, which: Loop) -> &Chunk {
        match which {
            Loop::Ports => &self.ports,
            Loop::Chain => &self.chain,
        }
    }
}

impl Chunk {
    fn measured(which: Loop) -> Self {
        let mut steps = 64;
        loop {
            let time = |_| {
                let begin = Instant::now();
                which.run(steps);
                begin.elapsed()
            };
            let fastest = (0..TRIALS).map(time).min().unwrap_or_default();
            if fastest >= CHUNK || steps >= 1 << 24 {
                return Self { steps, nominal: nanoseconds(fastest).max(1) };
            }
            steps *= 2;
        }
    }

    fn run(&self, which: Loop, begin: Instant, window: Duration) -> Track {
        let mut marks = Vec::with_capacity(window.as_nanos() as usize / self.nominal as usize + 2);
        while Instant::now() < begin {
            std::hint::spin_loop();
        }
        // A thread that wakes up too late begins later: that time it was away.
        let mut now = begin.elapsed();
        while now < window {
            marks.push(nanoseconds(now));
            which.run(self.steps);
            now = begin.elapsed();
        }
        Track { window: nanoseconds(window), nominal: self.nominal, marks }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
