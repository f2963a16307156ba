-- The store, version 1. Times are UTC in RFC 3339, figures in the unit that stands beside them.

-- A run is what one command answers.
CREATE TABLE runs (
    number        INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    format        TEXT NOT NULL,
    version       INTEGER NOT NULL,
    corun_version TEXT NOT NULL,
    started       TEXT NOT NULL,
    elapsed_s     REAL NOT NULL,
    host          TEXT,
    command       TEXT NOT NULL,            -- the subcommand, such as 'bench run'
    line          BLOB NOT NULL,            -- all arguments, each ended by a NUL
    folder        TEXT NOT NULL,            -- the folder that it was started in
    workload      TEXT NOT NULL,
    answer        TEXT NOT NULL,            -- in one sentence
    ending        TEXT,                     -- NULL: blocks only, no answer yet
    writer        TEXT,                     -- the process that is writing blocks
    digest        TEXT,                     -- of what was imported or answered
    note          TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX runs_by_start ON runs (started, number);
CREATE INDEX runs_by_digest ON runs (digest);

CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;

-- The answer as JSON, compressed by zstd.
CREATE TABLE documents (
    run  INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    json BLOB NOT NULL
) STRICT;

-- A run of one workload has one part; benches and studies have one for each of their runs.
CREATE TABLE parts (
    run       INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    part      INTEGER NOT NULL,
    workload  TEXT NOT NULL,
    operation TEXT NOT NULL,                -- what throughput counts
    beginning BLOB,                         -- the run before its first block, until there is an answer
    PRIMARY KEY (run, part)
) STRICT;

CREATE TABLE arms (
    run       INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    part      INTEGER NOT NULL,
    arm       TEXT NOT NULL,
    placement TEXT NOT NULL,
    workers   INTEGER NOT NULL,
    twin_of   TEXT,
    PRIMARY KEY (run, part, arm)
) STRICT, WITHOUT ROWID;

-- Finished blocks of a run without an answer: all of their samples, as compressed JSON.
CREATE TABLE blocks (
    run       INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    part      INTEGER NOT NULL,
    block     INTEGER NOT NULL,
    elapsed_s REAL NOT NULL,
    samples   BLOB NOT NULL,
    PRIMARY KEY (run, part, block)
) STRICT;

-- Predicted cells of a sweep without an answer, in the order in which they were finished, as compressed JSON.
CREATE TABLE cells (
    run       INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    cell      INTEGER NOT NULL,
    elapsed_s REAL NOT NULL,
    json      BLOB NOT NULL,
    PRIMARY KEY (run, cell)
) STRICT;

CREATE TABLE samples (
    run          INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    part         INTEGER NOT NULL,
    block        INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    arm          TEXT NOT NULL,
    seconds      REAL NOT NULL,
    throughput   REAL NOT NULL,
    clock_ghz    REAL,
    steal_s      REAL,
    foreign_busy REAL,
    cpu_wait     REAL,
    migrations   INTEGER,
    user_s       REAL NOT NULL,
    system_s     REAL NOT NULL,
    joules       REAL,
    PRIMARY KEY (run, part, block, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE observations (
    run     INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    part    INTEGER NOT NULL,
    place   INTEGER NOT NULL,               -- its place among those of the part
    metric  TEXT NOT NULL,
    arm     TEXT NOT NULL,
    against TEXT,
    of      TEXT,
    unit    TEXT NOT NULL,
    value   REAL NOT NULL,
    low     REAL NOT NULL,
    high    REAL NOT NULL,
    level   REAL NOT NULL,
    blocks  INTEGER NOT NULL,
    source  TEXT NOT NULL,
    PRIMARY KEY (run, part, place)
) STRICT, WITHOUT ROWID;

-- For people: a row says all that it is about.
CREATE VIEW every_sample AS
SELECT runs.id AS run, runs.started, runs.host, runs.command, part, parts.workload, samples.arm, arms.placement, arms.workers,
       samples.block, samples.position, samples.seconds AS value, 's' AS unit, samples.throughput, parts.operation,
       samples.clock_ghz, samples.steal_s, samples.foreign_busy, samples.cpu_wait, samples.migrations, samples.user_s,
       samples.system_s, samples.joules
FROM samples
JOIN runs ON runs.number = samples.run
JOIN parts USING (run, part)
LEFT JOIN arms USING (run, part, arm);

CREATE VIEW every_observation AS
SELECT runs.id AS run, runs.started, runs.host, runs.command, part, parts.workload, observations.metric, observations.arm,
       observations.against, observations.of, observations.value, observations.low, observations.high,
       observations.unit, observations.level, observations.blocks, observations.source
FROM observations
JOIN runs ON runs.number = observations.run
JOIN parts USING (run, part);
