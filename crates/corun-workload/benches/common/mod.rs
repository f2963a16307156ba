//! Code that benchmarks against other code share: building a peer from C, and comparing by
//! alternating runs in one process, where whatever else the machine does hits both sides alike.

#![allow(dead_code, reason = "not every benchmark uses all of it")]

use std::ffi::CString;
use std::fmt;
use std::path::Path;
use std::process::Command;

use corun_workload::{Job, Kernel, Parameters, find};
use libloading::Library;
use rustix::time::{ClockId, clock_gettime};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A built and loaded peer; its functions may be called as long as it lives.
pub(crate) struct Peer {
    library: Library,
    _folder: tempfile::TempDir,
}

impl Peer {
    /// The function called `name`.
    ///
    /// # Safety
    /// `Function` is its type, and it is not called when the peer is gone.
    pub(crate) unsafe fn function<Function: Copy>(&self, name: &str) -> Function {
        let name = CString::new(name).expect("a name without a zero");
        // SAFETY: the caller says so.
        *unsafe { self.library.get(name.as_bytes_with_nul()) }.expect("the source has it")
    }
}

/// Builds `benches/peers/SOURCE` with `cc` and these flags, or says why that cannot be.
pub(crate) fn peer(source: &str, flags: &[&str]) -> Result<Peer, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let object = folder.path().join("peer.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(source);
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O3"])
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&object)
        .output()
        .map_err(|error| format!("`cc` cannot be started: {error}"))?;
    if !built.status.success() {
        return Err(format!("`cc` failed:\n{}", String::from_utf8_lossy(&built.stderr)));
    }
    // SAFETY: the peers have no initialisers.
    let library = unsafe { Library::new(&object) }.map_err(|error| error.to_string())?;
    Ok(Peer { library, _folder: folder })
}

/// The kernel of one worker of a built-in workload, reset.
pub(crate) fn kernel(workload: &str, parameters: &[String]) -> Box<dyn Kernel> {
    let workload = find(workload).expect("it is built in");
    let parameters =
        Parameters::parse(workload.descriptor(), parameters).expect("they are its own");
    match workload.prepare(&parameters, std::num::NonZeroUsize::MIN) {
        Ok(Job::Kernels(mut kernels)) => {
            let mut kernel = kernels.remove(0);
            kernel.reset();
            kernel
        }
        Ok(Job::Program(_)) => panic!("{} is a program", workload.descriptor().name),
        Err(error) => panic!("{error}"),
    }
}

/// The seconds of CPU time that `work` takes on this thread: while others have the CPU, none passes.
pub(crate) fn seconds(work: impl FnOnce()) -> f64 {
    let now = || clock_gettime(ClockId::ThreadCPUTime);
    let start = now();
    work();
    let end = now();
    (end.tv_sec - start.tv_sec) as f64 + (end.tv_nsec - start.tv_nsec) as f64 * 1e-9
}

/// Lets the contenders take turns for a number of rounds, after a round that does not count; returns
/// what each of them returned, in seconds, round by round.
///
/// Each round begins with a random one and goes forwards or backwards at random, always in the same
/// way: a regular order would give whatever else happens regularly, like the scheduler's slices, to
/// one contender more than to another.
pub(crate) fn alternating(
    rounds: usize,
    contenders: &mut [&mut dyn FnMut() -> f64],
) -> Vec<Vec<f64>> {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    contenders.iter_mut().for_each(|contender| _ = contender());
    let mut random = 88_172_645_463_325_252_u64;
    for _ in 0..rounds {
        // Marsaglia, Xorshift RNGs, 2003.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let first = (random >> 32) as usize % contenders.len();
        let backwards = random & 1 == 1;
        for turn in 0..contenders.len() {
            let steps = if backwards { contenders.len() - turn } else { turn };
            let at = (first + steps) % contenders.len();
            times[at].push(contenders[at]());
        }
    }
    times
}

/// Two sides that took turns, `rounds` times each.
pub(crate) fn paired(
    rounds: usize,
    mut one: impl FnMut() -> f64,
    mut other: impl FnMut() -> f64,
) -> (Vec<f64>, Vec<f64>) {
    let mut times = alternating(rounds, &mut [&mut one, &mut other]);
    let other = times.pop().expect("two contenders");
    (times.pop().expect("two contenders"), other)
}

/// A ratio with its 95 % interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ratio {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    /// `times` to `other_times` of the same rounds: the mean of the logarithms with its t interval.
    pub(crate) fn of(times: &[f64], other_times: &[f64]) -> Self {
        let logs: Vec<f64> =
            times.iter().zip(other_times).map(|(one, other)| (one / other).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("two rounds or more");
        let half = student.inverse_cdf(0.975) * (variance / count).sqrt();
        Self { estimate: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.4} [{:.4}, {:.4}]", self.estimate, self.low, self.high)
    }
}

/// The geometric mean.
pub(crate) fn mean(times: &[f64]) -> f64 {
    (times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64).exp()
}
