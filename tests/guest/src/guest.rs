//! The description of a guest: a machine that may look unlike the one it runs on.

use std::time::Duration;

/// How many sockets, cores a socket and threads a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Sockets: packages, in the kernel's words.
    pub sockets: u32,
    /// Cores of each socket.
    pub cores: u32,
    /// Threads of each core: the SMT width.
    pub threads: u32,
}

impl Shape {
    /// The number of logical CPUs.
    pub fn cpus(self) -> u32 {
        self.sockets * self.cores * self.threads
    }
}

/// The emulated CPU model. QEMU gives SMT to emulated CPUs of Intel only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// A core of 2008: little to emulate, so that it boots quickly.
    Nehalem,
    /// A core that the kernel takes for vulnerable, so that `mitigations=auto,nosmt` counts.
    SkylakeClient,
    /// A core of AMD: the kernel sees no siblings.
    Epyc,
}

impl Cpu {
    /// Newer kernels crash on the emulated cmpxchg16b. Without rdrand a guest, in which nothing
    /// happens at random, has no random numbers for minutes, and a process that asks for one waits.
    fn model(self) -> &'static str {
        match self {
            Self::Nehalem => "Nehalem,-cx16,+rdrand",
            Self::SkylakeClient => "Skylake-Client,-cx16",
            Self::Epyc => "EPYC",
        }
    }
}

/// A machine to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    shape: Shape,
    cpu: Cpu,
    kernel_arguments: Vec<String>,
    pub(crate) pins: Vec<usize>,
    pub(crate) deadline: Duration,
}

impl Guest {
    /// A guest of this shape with [`Cpu::Nehalem`], not pinned, killed after two minutes.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            cpu: Cpu::Nehalem,
            kernel_arguments: Vec::new(),
            pins: Vec::new(),
            deadline: Duration::from_secs(120),
        }
    }

    /// Emulates another CPU model.
    #[must_use]
    pub fn cpu(mut self, cpu: Cpu) -> Self {
        self.cpu = cpu;
        self
    }

    /// Adds an argument to the kernel's command line.
    #[must_use]
    pub fn kernel_argument(mut self, argument: &str) -> Self {
        self.kernel_arguments.push(argument.to_owned());
        self
    }

    /// Pins the guest's CPUs, in order, to cores of the host; 0 is the first that this process may
    /// use. A pinned guest is there to be timed: no other guest runs beside it.
    #[must_use]
    pub fn pins(mut self, pins: &[usize]) -> Self {
        self.pins = pins.to_owned();
        self
    }

    /// Kills the guest when it has run for this long.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The number of logical CPUs.
    pub fn cpus(&self) -> u32 {
        self.shape.cpus()
    }

    /// QEMU's arguments, its control connection on standard input and output; files without a
    /// folder are in the working folder.
    pub(crate) fn qemu_arguments(&self) -> Vec<String> {
        let Shape { sockets, cores, threads } = self.shape;
        let shape = format!("{},sockets={sockets},cores={cores},threads={threads}", self.cpus());
        // On a busy host an emulated timer is late, and the kernel would give up on it.
        let kernel_arguments = ["console=ttyS0", "quiet", "panic=-1", "no_timer_check"]
            .into_iter()
            .chain(self.kernel_arguments.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" ");
        [
            &["-machine", "q35", "-accel", "tcg,thread=multi", "-m", "768M"][..],
            &["-cpu", self.cpu.model(), "-smp", &shape],
            &["-initrd", "initramfs", "-append", &kernel_arguments],
            &["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
            &["-serial", "file:console", "-serial", "file:results"],
            // Stopped until told to go.
            &["-S", "-qmp", "stdio"],
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_becomes_arguments() {
        let guest = Guest::new(Shape { sockets: 2, cores: 3, threads: 4 })
            .cpu(Cpu::SkylakeClient)
            .kernel_argument("mitigations=auto,nosmt");
        let arguments = guest.qemu_arguments().join(" ");
        for expected in [
            "-smp 24,sockets=2,cores=3,threads=4",
            "-cpu Skylake-Client,-cx16",
            "no_timer_check mitigations=auto,nosmt",
        ] {
            assert!(arguments.contains(expected), "expected {expected} in {arguments}");
        }
    }
}
