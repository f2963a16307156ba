//! The programs: those that the models may be tuned with, and those that are held out.
//!
//! Which programs, and on which side, was written down before the first of them was looked at. Later changes concern
//! only how much they do: less, so that some runs have the core to themselves, or more beside their start in the kernel.

use std::ffi::OsString;
use std::path::Path;

use crate::inputs::Inputs;

/// A program with its arguments.
pub struct Program {
    pub name: &'static str,
    pub side: Side,
    pub command: Vec<OsString>,
}

/// What a program may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Models may be mended by looking at it.
    Tuned,
    /// Looked at only to say how good the models are.
    HeldOut,
}

/// All programs; each runs for about a tenth of a second, so that some runs have the core to themselves.
pub fn programs(inputs: &Inputs, corun: &Path) -> Vec<Program> {
    let mut programs = Vec::new();
    let mut add = |side, name, command: &[&str]| {
        let command = command.iter().map(|&word| inputs.filled_in(word)).collect();
        programs.push(Program { name, side, command });
    };
    add(Side::Tuned, "gzip", &["gzip", "-6kc", "{text}"]);
    add(Side::Tuned, "xz", &["xz", "-1kc", "-T1", "{text}"]);
    add(Side::Tuned, "bash", &["bash", "-c", REGN]);
    add(Side::Tuned, "python", &["/usr/bin/python3", "-S", "-c", PYTHON]);
    add(Side::HeldOut, "perl", &["perl", "-e", PERL, "{text}"]);
    add(Side::HeldOut, "cc1", &["{cc1}", "-quiet", "-O1", "{c}", "-o", "/dev/null"]);
    add(Side::HeldOut, "sqlite3", &["sqlite3", ":memory:", SQL]);
    add(Side::HeldOut, "node", &["node", "--single-threaded", "-e", JAVASCRIPT]);
    add(Side::HeldOut, "sort", &["sort", "-f", "-k3", "-k2", "--parallel=1", "-S64M", "{text}"]);
    add(Side::HeldOut, "zstd", &["zstd", "-q", "-12", "-c", "--single-thread", "{text}"]);
    add(Side::HeldOut, "bzip2", &["bzip2", "-kc", "{text}"]);
    add(Side::HeldOut, "awk", &["awk", AWK, "{text}"]);
    let workloads = [
        (Side::Tuned, "matmul", "4000000000", None),
        (Side::Tuned, "chase", "1000000", Some("size=8M")),
        (Side::HeldOut, "branchy", "40000000", None),
        (Side::HeldOut, "hash", "150000000", None),
        (Side::HeldOut, "json", "10000000", None),
    ];
    for (side, name, operations, parameter) in workloads {
        let mut command: Vec<OsString> = vec![corun.into()];
        command.extend(["kernel-worker", "--operations", operations, name].map(Into::into));
        command.extend(parameter.map(Into::into));
        programs.push(Program { name, side, command });
    }
    programs.sort_by_key(|program| program.side == Side::HeldOut);
    programs
}

/// The lecture's `regn`: a shell that counts.
const REGN: &str = "i=0; s=0; while ((i < 40000)); do ((s += i)); ((i += 1)); done; echo $s";

const PYTHON: &str = "
words = {}
state = 1
for index in range(120000):
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
        let tuned = programs.iter().filter(|program| program.side == Side::Tuned).count();
        assert!(tuned == 6 && programs.len() - tuned >= 8);
        let names: HashSet<&str> = programs.iter().map(|program| program.name).collect();
        assert_eq!(names.len(), programs.len());
        let words = programs.iter().flat_map(|program| &program.command);
        assert!(
            words
                .into_iter()
                .all(|word| !["{text}", "{c}", "{cc1}"].contains(&&*word.to_string_lossy()))
        );
    }
}
