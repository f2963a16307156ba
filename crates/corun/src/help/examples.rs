//! Examples of every subcommand: what each does, and the line to type.
//!
//! A subcommand is a row; lines fit 80 columns. A program, a pipe into corun or `> FILE` may stand in a line.

/// One example.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Example {
    /// Effect of the line.
    pub(crate) does: &'static str,
    /// Line to type.
    pub(crate) line: &'static str,
}

const fn example(does: &'static str, line: &'static str) -> Example {
    Example { does, line }
}

/// The examples by subcommand; those of corun itself first.
pub(crate) const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            example("What siblings do to a program", "corun measure ./solver"),
            example("What would spoil a measurement here", "corun doctor"),
            example("Which logical CPUs share a core", "corun topo"),
        ],
    ),
    (
        "threads",
        &[
            example(
                "A program that takes its number of threads",
                "corun threads -- ./solver -j {workers}",
            ),
            example(
                "A program with OpenMP",
                "corun threads --env OMP_NUM_THREADS={workers} ./solver",
            ),
            example("How many copies at once", "corun threads ./job input.dat"),
            example("MPI", "corun threads -- mpirun -np {workers} --bind-to none ./solver"),
            example(
                "What a build needs before each run",
                "corun threads --prepare 'make clean' -- make -j {workers}",
            ),
            example("A built-in workload", "corun threads --workload fib"),
        ],
    ),
    (
        "measure",
        &[
            example("A copy of a program on each worker's CPU", "corun measure ./solver input.dat"),
            example(
                "A program that takes its number of threads; `--` before its options",
                "corun measure -- ./solver -j {workers}",
            ),
            example(
                "Two placements, a minute at most",
                "corun measure --placement spread,full --max-time 1m ./solver",
            ),
            example(
                "Two CPUs against two others, by number",
                "corun measure --arm siblings=0,4 --arm cores=0,1 ./solver",
            ),
            example(
                "A program that reports its own speed",
                "corun measure --throughput 'rate: ([0-9.]+)' ./server-test",
            ),
            example("A built-in workload", "corun measure --workload fib"),
            example(
                "The run that was killed, from its last block on",
                "corun measure --resume last",
            ),
            example(
                "Input from a pipe, read from its start by each run",
                "zcat input.gz | corun measure --stdin - ./parser",
            ),
        ],
    ),
    (
        "capacity",
        &[
            example("How much is used when half is reported", "corun capacity ./server-test"),
            example("For a mix of work", "corun capacity --mix fib,stream"),
            example("With a picture", "corun capacity --workload fib --svg capacity.svg"),
            example(
                "On another core, by prediction",
                "corun capacity --model zen4 -- gzip -kc FILE",
            ),
        ],
    ),
    (
        "compare",
        &[
            example("Whether a change made a program faster", "corun compare"),
            example(
                "With earlier runs, so that noise raises no alarm",
                "corun compare old.json new.json --history runs/*.json",
            ),
            example(
                "For continuous integration, with a summary for the pull request",
                "corun compare old.json new.json --fail-on worse:2% --markdown s.md",
            ),
            example("Two arms of one run", "corun compare run.json#spread run.json#full"),
            example("When a program became slower", "corun compare --over-time --workload gzip"),
        ],
    ),
    ("bench", &[example("The built-in workloads", "corun bench")]),
    (
        "bench list",
        &[
            example("Those that exercise memory", "corun bench list --tag memory"),
            example("For a program", "corun bench list --json -"),
        ],
    ),
    ("bench show", &[example("One workload with its parameters", "corun bench show chase")]),
    (
        "bench run",
        &[
            example("Two workloads", "corun bench run fib chase"),
            example(
                "One workload with several values of a parameter",
                "corun bench run chase --param size=32K,1M,64M",
            ),
            example("The rows of LMbench", "corun bench run --suite lmbench --json lmbench.json"),
        ],
    ),
    (
        "bench memory-hierarchy",
        &[
            example("From the first-level cache to memory", "corun bench memory-hierarchy"),
            example("Up to twice the last-level cache", "corun bench memory-hierarchy --to 2xL3"),
            example("With a picture", "corun bench memory-hierarchy --svg memory.svg"),
        ],
    ),
    ("study", &[example("The studies that there are", "corun study")]),
    ("study list", &[example("For a program", "corun study list --json -")]),
    (
        "study show",
        &[
            example("One study in full", "corun study show NAME"),
            example("Its programs simulated again", "corun study show NAME --predict"),
        ],
    ),
    (
        "study run",
        &[
            example("Published figures beside those of this machine", "corun study run NAME"),
            example(
                "In ten minutes at most",
                "corun study run NAME --max-time 10m --markdown result.md",
            ),
            example("Two rows of it", "corun study run NAME --only ROW --only ROW"),
        ],
    ),
    (
        "report",
        &[
            example("The newest result as a page", "corun report"),
            example(
                "Several on one page, and their pictures as files",
                "corun report before.json after.json -o report.html --plots pictures",
            ),
            example(
                "A result straight from the measurement",
                "corun measure --json - ./solver | corun report - -o report.html",
            ),
        ],
    ),
    ("models", &[example("The core models that there are", "corun models")]),
    ("models list", &[example("For a program", "corun models list --json -")]),
    ("models show", &[example("One model in full", "corun models show zen4")]),
    ("models check", &[example("A model of your own", "corun models check host.toml")]),
    (
        "models calibrate",
        &[
            example("This host's core as a model", "corun models calibrate --output host.toml"),
            example("Quicker, and less sure", "corun models calibrate --quick"),
        ],
    ),
    ("models diff", &[example("Where two models differ", "corun models diff zen4 host.toml")]),
    (
        "simulate",
        &[
            example("A recorded program on a core", "corun simulate --model zen4 gzip.trace"),
            example(
                "On cores of their own, and as siblings",
                "corun simulate --model zen4 --placement spread,full gzip.trace",
            ),
            example(
                "With a larger reorder buffer",
                "corun simulate --model zen4 --set rob.entries=512 gzip.trace",
            ),
        ],
    ),
    (
        "predict",
        &[
            example("What a busy sibling does to a program", "corun predict -- gzip -kc FILE"),
            example(
                "On which core it helps most",
                "corun predict --model zen4,ivy-bridge --no-measure ./solver",
            ),
            example(
                "Beside another program",
                "corun predict --beside 'xz -kc FILE' -- gzip -kc FILE",
            ),
            example("Its threads on one core", "corun predict -- xz -T{workers} -kc FILE"),
            example(
                "What this machine's siblings really do, beside it",
                "corun predict --measure ./solver",
            ),
            example(
                "Two programs on all cores that there are models of",
                "corun predict --model all --program './solver input' --workload chase",
            ),
            example(
                "Sizes of the reorder buffer, for a spreadsheet",
                "corun predict --model zen4 --set rob.entries=128,512 --csv r.csv -- ./job",
            ),
            example(
                "Going on where that was interrupted",
                "corun predict --model all --resume last -- ./solver input",
            ),
            example(
                "A task for each program on a cluster",
                "corun predict --model all --slurm /shared/s --program ./a --program ./b",
            ),
        ],
    ),
    ("runs", &[example("The runs that are kept", "corun runs")]),
    (
        "runs list",
        &[
            example("What was measured this week", "corun runs list --command measure --since 7d"),
            example(
                "Runs of a program, for a program",
                "corun runs list --workload ./solver --json -",
            ),
        ],
    ),
    (
        "runs show",
        &[
            example("The newest answer once more", "corun runs show last"),
            example("The one before it, as JSON", "corun runs show last~1 --json run.json"),
        ],
    ),
    ("runs tag", &[example("A name for the newest run", "corun runs tag last before-upgrade")]),
    ("runs note", &[example("A line beside it", "corun runs note last 'with the fan cleaned'")]),
    (
        "runs delete",
        &[
            example("One run", "corun runs delete 3f2a9c1b"),
            example("All runs of a workload", "corun runs delete --workload fib --all"),
        ],
    ),
    (
        "runs export",
        &[
            example("Every sample of two runs", "corun runs export last last~1 --csv samples.csv"),
            example("For pandas, R or DuckDB", "corun runs export --since 30d --directory runs"),
        ],
    ),
    (
        "runs import",
        &[
            example("Runs of another machine", "corun runs import --tag cluster node*.json"),
            example("What hyperfine measured", "corun runs import hyperfine.json"),
        ],
    ),
    (
        "schedule",
        &[example(
            "A load under every policy on two packages of four cores",
            "corun schedule --topology 2x4x2 --yield 1.25 --load make:jobs=8",
        )],
    ),
    ("schedule list", &[example("For a program", "corun schedule list --json -")]),
    (
        "top",
        &[
            example("How much of this machine is left, and who shares cores", "corun top"),
            example(
                "With the SMT yields of the programs that run here",
                "corun top --yield 1.1..1.35",
            ),
            example(
                "Each of several jobs, with the CPUs that it visited",
                "corun top -- sh -c './job a & ./job b & wait'",
            ),
            example("One interval of 5 s, for a program", "corun top --interval 5s --once --json"),
            example("For a log, a minute apart", "corun top --batch --interval 1m > top.log"),
        ],
    ),
    (
        "topo",
        &[
            example("This machine", "corun topo"),
            example("What pairs of logical CPUs really share", "corun topo --probe"),
            example("For a program", "corun topo --json -"),
        ],
    ),
    (
        "trace",
        &[
            example("All that a program executes", "corun trace -o gzip.trace -- gzip -kc FILE"),
            example(
                "Ten intervals of five million instructions",
                "corun trace -o run.trace --sample 10:5M ./solver",
            ),
            example("A built-in workload", "corun trace -o fib.trace --workload fib"),
        ],
    ),
    ("trace info", &[example("What a trace holds", "corun trace info gzip.trace")]),
    ("trace check", &[example("Whether a trace is complete", "corun trace check gzip.trace")]),
    (
        "trace convert",
        &[example("For ChampSim", "corun trace convert --to champsim gzip.trace -o gzip.champsim")],
    ),
    (
        "audit",
        &[
            example("What the scheduler does here", "corun audit"),
            example("The properties that can be audited", "corun audit --list"),
        ],
    ),
    (
        "doctor",
        &[
            example("What would spoil a measurement here", "corun doctor"),
            example("Watching for ten seconds, for a program", "corun doctor --watch 10s --json -"),
        ],
    ),
    (
        "fleet",
        &[example("What a campaign submits, and what it costs", "corun fleet plan yield.toml")],
    ),
    (
        "fleet plan",
        &[
            example("What a campaign submits, and what it costs", "corun fleet plan yield.toml"),
            example("With a time limit from a run here", "corun fleet plan --pilot yield.toml"),
        ],
    ),
    (
        "fleet submit",
        &[
            example("Submit what has no answer yet", "corun fleet submit yield.toml"),
            example(
                "The same tasks on this machine",
                "corun fleet submit --engine local yield.toml",
            ),
        ],
    ),
    (
        "fleet status",
        &[example("The state of each node's tasks", "corun fleet status yield.fleet")],
    ),
    (
        "fleet collect",
        &[
            example("Keep the answers, each once", "corun fleet collect yield.fleet"),
            example(
                "With the fate of each task, for a program",
                "corun fleet collect --json - yield.fleet",
            ),
        ],
    ),
    (
        "fleet report",
        &[
            example(
                "Each hardware type's yield, and the nodes that differ",
                "corun fleet report yield.fleet",
            ),
            example("As a page to look at", "corun fleet report -o report.html yield.fleet"),
            example(
                "The value of each node, for a spreadsheet",
                "corun fleet report --csv nodes.csv yield.fleet",
            ),
        ],
    ),
    ("fleet cancel", &[example("Cancel what waits or runs", "corun fleet cancel yield.fleet")]),
    (
        "exporter",
        &[
            example("For a Prometheus on this host", "corun exporter --listen 127.0.0.1:9745"),
            example(
                "For node_exporter, every 15 s",
                "corun exporter --textfile /run/metrics/corun.prom --interval 15s",
            ),
            example("What the metrics look like", "corun exporter --textfile - --once"),
            example(
                "With the yields that `corun capacity` measured here",
                "corun exporter --listen 127.0.0.1:9745 --yield measured",
            ),
        ],
    ),
    ("smt", &[example("Whether SMT is on, and who switched it", "corun smt")]),
    ("smt status", &[example("For a program", "corun smt status --json -")]),
    ("smt off", &[example("Without siblings until `corun smt restore`", "corun smt off")]),
    ("smt on", &[example("With siblings until `corun smt restore`", "corun smt on")]),
    ("smt restore", &[example("Everything as it was", "corun smt restore")]),
    (
        "smt run",
        &[example("One command without siblings", "corun smt run --state off -- make -j8")],
    ),
    ("schema", &[example("What a run's JSON holds", "corun schema corun-run > run.schema.json")]),
    (
        "completions",
        &[
            example(
                "For bash, from the next shell on",
                "corun completions bash > ~/.local/share/bash-completion/completions/corun",
            ),
            example("For fish", "corun completions fish > ~/.config/fish/completions/corun.fish"),
            example("For zsh, into a folder of its fpath", "corun completions zsh > _corun"),
        ],
    ),
    ("man", &[example("A page for each subcommand", "corun man ~/.local/share/man/man1")]),
];
