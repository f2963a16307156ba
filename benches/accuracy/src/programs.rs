//! The programs: those that the models may be tuned with, those that are held out, and loops whose memory is known.
//!
//! Which programs, and on which side, was written down before the first of them was looked at. Later changes concern
//! only how much they do: less, so that some runs have the core to themselves, or more beside their start in the kernel.

use std::ffi::OsString;
use std::path::Path;

use crate::inputs::Inputs;

/// A program with its arguments.
pub(crate) struct Program {
    pub name: String,
    pub side: Side,
    pub command: Vec<OsString>,
    /// The system call after which its work begins, if what comes before is none.
    pub from_call: Option<&'static str>,
    /// What it does, where that can be counted: how many of what.
    pub work: Option<(f64, &'static str)>,
}

/// What a program may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Models may be mended by looking at it.
    Tuned,
    /// Looked at only to say how good the models are.
    HeldOut,
    /// A point of a curve: a loop whose memory has a given size.
    Memory,
}

/// Programs that models may be mended by; all others are held out.
const TUNED: [&str; 6] = ["gzip", "xz", "bash", "python", "matmul", "chase"];

impl Side {
    /// The side of a program that is no point of a curve.
    pub(crate) fn of(program: &str) -> Self {
        if TUNED.contains(&program) { Self::Tuned } else { Self::HeldOut }
    }
}

/// All programs; those that are no points of a curve run for about a tenth of a second, so that some runs have the core to
/// themselves.
pub(crate) fn programs(inputs: &Inputs, corun: &Path) -> Vec<Program> {
    let mut programs = Vec::new();
    let mut add = |name: &str, command: &[&str]| {
        let command = command.iter().map(|&word| inputs.filled_in(word)).collect();
        programs.push(Program {
            name: name.to_owned(),
            side: Side::of(name),
            command,
            from_call: None,
            work: None,
        });
    };
    add("gzip", &["gzip", "-6kc", "{text}"]);
    add("xz", &["xz", "-1kc", "-T1", "{text}"]);
    add("bash", &["bash", "-c", REGN]);
    add("python", &["/usr/bin/python3", "-S", "-c", PYTHON]);
    add("perl", &["perl", "-e", PERL, "{text}"]);
    add("cc1", &["{cc1}", "-quiet", "-O1", "{c}", "-o", "/dev/null"]);
    add("sqlite3", &["sqlite3", ":memory:", SQL]);
    add("node", &["node", "--single-threaded", "-e", JAVASCRIPT]);
    add("sort", &["sort", "-f", "-k3", "-k2", "--parallel=1", "-S64M", "{text}"]);
    add("zstd", &["zstd", "-q", "-12", "-c", "--single-thread", "{text}"]);
    add("bzip2", &["bzip2", "-kc", "{text}"]);
    add("awk", &["awk", AWK, "{text}"]);
    let workloads: [(&str, u64, &[&str]); 5] = [
        ("matmul", 4_000_000_000, &[]),
        ("chase", 1_000_000, &["size=8M"]),
        ("branchy", 40_000_000, &[]),
        ("hash", 150_000_000, &[]),
        ("json", 10_000_000, &[]),
    ];
    let workloads = workloads.map(|(workload, operations, parameters)| Program {
        name: workload.to_owned(),
        side: Side::of(workload),
        command: worker(corun, workload, operations, parameters),
        from_call: None,
        work: None,
    });
    programs.extend(workloads);
    programs.sort_by_key(|program| program.side == Side::HeldOut);
    programs.extend(curves(corun));
    programs
}

/// A latency ladder, the kernels of STREAM and walks through page tables, in pages of 4 KiB.
fn curves(corun: &Path) -> Vec<Program> {
    let mut points = Vec::new();
    let mut add = |workload: &str, parameters: &[&str], operations: u64, (each, unit)| {
        let all = [parameters, &["pages=small"]].concat();
        points.push(Program {
            name: format!("{workload} {}", parameters.join(" ")),
            side: Side::Memory,
            command: worker(corun, workload, operations, &all),
            from_call: Some(BEGINS),
            work: Some((operations as f64 / each, unit)),
        });
    };
    let (load, line) = ((1.0, "a load"), (64.0, "64 bytes"));
    for (size, operations) in LADDER {
        add("chase", &[&format!("size={size}")], operations, load);
    }
    for (size, bytes) in ARRAYS {
        for kernel in ["copy", "triad"] {
            add("stream", &[&format!("kernel={kernel}"), &format!("size={size}")], bytes, line);
        }
    }
    for kernel in ["copy", "scale", "add", "triad"] {
        add("stream", &[&format!("kernel={kernel}"), "size=64M"], 8_000_000_000, line);
    }
    for pages in TOUCHED {
        add("tlb", &[&format!("pages_touched={pages}")], 20_000_000, load);
    }
    points
}

/// What a worker asks of the kernel when it has laid out its memory.
const BEGINS: &str = "sched_get_priority_max";

/// How much memory a chain of loads goes through, and how many loads there are.
const LADDER: [(&str, u64); 9] = [
    ("8K", 50_000_000),
    ("16K", 50_000_000),
    ("24K", 50_000_000),
    ("64K", 20_000_000),
    ("128K", 20_000_000),
    ("256K", 20_000_000),
    ("4M", 10_000_000),
    ("8M", 10_000_000),
    ("128M", 10_000_000),
];

/// The size of each array, and the bytes read and written.
const ARRAYS: [(&str, u64); 3] =
    [("4K", 8_000_000_000), ("64K", 4_000_000_000), ("2M", 2_000_000_000)];

/// Pages of which a chain of loads touches one line each.
const TOUCHED: [u32; 6] = [32, 256, 1024, 4096, 8192, 32768];

/// A workload of corun as a process of its own.
fn worker(corun: &Path, workload: &str, operations: u64, parameters: &[&str]) -> Vec<OsString> {
    let operations = operations.to_string();
    let own = ["kernel-worker", "--operations", &operations, workload];
    let words = own.into_iter().chain(parameters.iter().copied());
    std::iter::once(corun.into()).chain(words.map(Into::into)).collect()
}

/// The lecture's `regn`: a shell that counts.
const REGN: &str = "i=0; s=0; while ((i < 40000)); do ((s += i)); ((i += 1)); done; echo $s";

const PYTHON: &str = "
words = {}
state = 1
for index in range(200000):
    state = state * 1103515245 + 12345 & 0x7fffffff
    name = 'word%d' % (state % 5000)
    words[name] = words.get(name, 0) + 1
print(sorted((count, word) for word, count in words.items())[-1])
";

const PERL: &str = "
while (<>) { for my $word (split) { $count{$word}++ } }
my @words = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print qq($words[0] $count{$words[0]}\\n);
";

const SQL: &str = "
create table edges (a integer, b integer, weight real);
with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 40000)
insert into edges select n % 997, n * 7919 % 1009, n * 0.5 from numbers;
create index by_b on edges (b);
select count(*), sum(one.weight) from edges one join edges other on one.a = other.b where other.weight < 900;
select b, avg(weight) as mean from edges group by b order by mean desc limit 3;
";

const JAVASCRIPT: &str = "
const counts = new Map();
let state = 1, text = '';
for (let index = 0; index < 200000; index++) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    const name = 'word' + state % 5000;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (index % 7 === 0) text = JSON.stringify({ name, state, list: [index, index / 3] });
    if (index % 7 === 3) state ^= JSON.parse(text).list[0];
}
console.log([...counts].sort((one, other) => other[1] - one[1])[0]);
";

const AWK: &str = "
{ for (place = 1; place <= NF; place++) { count[$place]++; if ($place ~ /^a.*e$/) found++ } }
END { for (word in count) if (count[word] > most) most = count[word]; print most, found }
";

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn six_may_be_tuned_with_and_more_are_held_out() {
        let programs = programs(&Inputs::make().unwrap(), Path::new("corun"));
        let of = |side| programs.iter().filter(|program| program.side == side).count();
        assert!(of(Side::Tuned) == 6 && of(Side::HeldOut) >= 8 && of(Side::Memory) >= 20);
        let names: HashSet<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names.len(), programs.len());
        let words = programs.iter().flat_map(|program| &program.command);
        assert!(
            words
                .into_iter()
                .all(|word| !["{text}", "{c}", "{cc1}"].contains(&&*word.to_string_lossy()))
        );
    }
}
