//! Plausibility of timings: a table with what no core does is wrong, whatever its source.
//!
//! Each rule compares a row with another row of the same table, or with the least that the instruction can
//! take on any core. Times do not count the load of a form that loads (`docs/timing-tables.md`).

use std::collections::BTreeSet;

use super::derive;
use super::table::{Timing, TimingTable};

/// A row that says what no core does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implausible {
    /// The form.
    pub form: String,
    /// Bound of what a core can do.
    pub expected: String,
    /// Value of the row.
    pub found: String,
    /// The form that it is compared with, if it is.
    pub other: Option<String>,
}

/// All faults of a table, in the order of the forms.
pub(super) fn faults(table: &TimingTable) -> Vec<Implausible> {
    let rows =
        table.rows().filter(|(form, _)| !form.starts_with("class:") || form.contains("gather"));
    rows.filter_map(|(form, timing)| Row { table, form, timing }.fault()).collect()
}

/// A throughput may be this share better than it should be, since measured ones are rounded.
const ROUNDED: f64 = 0.85;

struct Row<'t> {
    table: &'t TimingTable,
    form: &'t str,
    timing: &'t Timing,
}

/// A fault: the bound of a core, the value of the row, and another row that contradicts it.
type Fault = (String, String, Option<String>);

impl Row<'_> {
    fn fault(&self) -> Option<Implausible> {
        let rules: [fn(&Self) -> Option<Fault>; 8] = [
            Self::takes_a_slot,
            Self::is_no_placeholder,
            Self::takes_time,
            Self::is_microcode,
            Self::gathers,
            Self::takes_no_less_than_with_registers,
            Self::takes_no_less_than_a_narrower_one,
            Self::takes_no_less_than_the_plain_one,
        ];
        let (expected, found, other) = rules.iter().find_map(|rule| rule(self))?;
        Some(Implausible { form: self.form.to_owned(), expected, found, other })
    }

    fn words(&self) -> Vec<&str> {
        self.form.split(' ').collect()
    }

    /// The mnemonic, without `v`.
    fn mnemonic(&self) -> &str {
        let words = self.words();
        let is_prefix = matches!(words[0], "lock" | "rep" | "repne") && words.len() > 1;
        bare(words[usize::from(is_prefix)])
    }

    fn latency(&self) -> Cycles {
        Cycles(self.timing.latency)
    }

    fn takes_a_slot(&self) -> Option<Fault> {
        (self.timing.slots == 0).then(|| ("1 slot at least".to_owned(), "0 slots".to_owned(), None))
    }

    /// A load and nothing else is what a copy from memory does.
    fn is_no_placeholder(&self) -> Option<Fault> {
        let only_loads = self.timing.uops.is_empty() && self.timing.loads > 0;
        let wrong = only_loads
            && self.timing.latency == 0
            && self.timing.stores == 0
            && !copies(self.mnemonic());
        wrong.then(|| {
            (
                "micro-ops after the load of a form that computes".to_owned(),
                "latency 0 and a load alone (a placeholder)".to_owned(),
                None,
            )
        })
    }

    /// Only what renaming does by itself, or what has no result, takes no time.
    fn takes_time(&self) -> Option<Fault> {
        let stores =
            self.timing.stores > 0 && (self.timing.uops.is_empty() || self.timing.loads == 0);
        let loads = self.timing.loads > 0 && self.timing.uops.is_empty();
        let wrong = self.timing.latency == 0 && !stores && !loads && !is_free(self.mnemonic());
        wrong.then(|| ("latency 1 at least".to_owned(), self.latency().to_string(), None))
    }

    /// Microprograms take their time on every core.
    fn is_microcode(&self) -> Option<Fault> {
        let least = least_cycles(self.mnemonic(), self.form, self.table)?;
        let most = self.cost();
        (most < f64::from(least)).then(|| {
            (
                format!("{least} cycles at least of a microprogram"),
                format!("{} and {} slots", self.latency(), self.timing.slots),
                None,
            )
        })
    }

    /// The larger of latency and throughput.
    fn cost(&self) -> f64 {
        f64::from(self.timing.latency)
            .max(cycles(self.timing))
            .max(f64::from(self.timing.slots) / 8.0)
    }

    /// Fault of a gather or scatter with fewer accesses than addresses.
    fn gathers(&self) -> Option<Fault> {
        let is_vector = |word: &&str| {
            word.strip_prefix("vm")
                .is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
        };
        let is_gather = self.form == "class:gather" || self.words().iter().any(is_vector);
        let accesses = self.timing.loads.max(self.timing.stores);
        let wrong = is_gather && accesses < 2 && self.cost() < 2.0;
        wrong.then(|| {
            ("an access for each element".to_owned(), format!("{accesses} accesses in all"), None)
        })
    }

    fn takes_no_less_than_with_registers(&self) -> Option<Fault> {
        if self.form.ends_with(" {k}") || self.form.starts_with("rep") {
            return None;
        }
        let (name, other) = derive::candidates(self.form)
            .find_map(|name| Some((self.table.row(&name)?, name)).map(|(row, name)| (name, row)))?;
        // A number from memory need not go from a general-purpose register to a vector first.
        let goes_over = name.split(' ').zip(self.words()).any(|(one, own)| {
            one != own
                && one.starts_with('r')
                && self.words().iter().any(|word| matches!(*word, "x" | "y" | "z" | "mm"))
        });
        if goes_over {
            return None;
        }
        let against = |what: String| format!("{what}, as of {name:?}");
        if self.timing.latency < other.latency {
            let expected = against(format!("latency {} at least", other.latency));
            return Some((expected, self.latency().to_string(), Some(name)));
        }
        let (own, others) = (cycles(self.timing), cycles(other));
        let as_many = self.timing.uops.len() >= other.uops.len();
        let expected = against(format!("{others:.2} cycles of one of many at least"));
        (as_many && own < ROUNDED * others).then(|| (expected, format!("{own:.2}"), Some(name)))
    }

    /// Twice as many elements are not done sooner than half of them.
    fn takes_no_less_than_a_narrower_one(&self) -> Option<Fault> {
        for (wide, narrow, bits, half) in [("z", "y", "m512", "m256"), ("y", "x", "m256", "m128")] {
            let words = self.words();
            if !words.contains(&wide) || is_free(self.mnemonic()) {
                continue;
            }
            let change = |word: &&str| {
                match *word {
                    word if word == wide => narrow,
                    word if word == bits => half,
                    word => word,
                }
                .to_owned()
            };
            let name = words.iter().map(change).collect::<Vec<_>>().join(" ");
            let Some(other) = self.table.row(&name) else { continue };
            if self.timing.latency < other.latency {
                let expected = format!("latency {} at least, as of {name:?}", other.latency);
                return Some((expected, self.latency().to_string(), Some(name)));
            }
            let (own, others) = (cycles(self.timing), cycles(other));
            if own < ROUNDED * others - 0.02 {
                let expected =
                    format!("{others:.2} cycles of one of many at least, as of {name:?}");
                return Some((expected, format!("{own:.2}"), Some(name)));
            }
        }
        None
    }

    /// A lock or a mask makes nothing quicker.
    fn takes_no_less_than_the_plain_one(&self) -> Option<Fault> {
        let plain = self.form.strip_prefix("lock ").or_else(|| self.form.strip_suffix(" {k}"))?;
        let other = self.table.row(plain)?;
        let is_quicker = self.timing.latency < other.latency
            || cycles(self.timing) < ROUNDED * cycles(other) - 0.02;
        is_quicker.then(|| {
            (
                format!(
                    "no less than {plain:?}: latency {}, {:.2} cycles of one of many",
                    other.latency,
                    cycles(other)
                ),
                format!("{}, {:.2} cycles", self.latency(), cycles(self.timing)),
                Some(plain.to_owned()),
            )
        })
    }
}

/// Latency as it is written.
struct Cycles(u16);

impl std::fmt::Display for Cycles {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "latency {}", self.0)
    }
}

fn bare(mnemonic: &str) -> &str {
    match mnemonic {
        "verr" | "verw" => mnemonic,
        _ => mnemonic.strip_prefix('v').unwrap_or(mnemonic),
    }
}

/// True if a form of it from memory is a load and nothing else.
fn copies(mnemonic: &str) -> bool {
    [
        "mov",
        "broadcast",
        "pbroadcast",
        "lddqu",
        "push",
        "pop",
        "prefetch",
        "fld",
        "ret",
        "leave",
        "nop",
        "ldmxcsr",
        "lods",
        "jmp",
        "call",
    ]
    .iter()
    .any(|start| mnemonic.starts_with(start))
}

/// True if renaming may do it by itself, or it has no result.
fn is_free(mnemonic: &str) -> bool {
    matches!(
        mnemonic,
        "nop"
            | "endbr64"
            | "endbr32"
            | "fnop"
            | "fxch"
            | "fld"
            | "fstp"
            | "fst"
            | "ffree"
            | "fincstp"
            | "fdecstp"
            | "xchg"
            | "zeroupper"
            | "zeroall"
            | "jmp"
            | "lddqu"
            | "clc"
            | "stc"
            | "cmc"
            | "ud2"
    ) || mnemonic.starts_with("mov")
        || mnemonic.starts_with("prefetch")
}

/// Cycles of one of many, as its ports allow.
fn cycles(timing: &Timing) -> f64 {
    let sets: BTreeSet<&[String]> = timing.uops.iter().map(|it| &it.ports[..]).collect();
    let of = |set: &[String]| {
        let inside = timing.uops.iter().filter(|it| it.ports.iter().all(|port| set.contains(port)));
        inside.map(|it| f64::from(it.busy.max(1))).sum::<f64>() / set.len().max(1) as f64
    };
    sets.into_iter().map(of).fold(0.0, f64::max)
}

/// The least cycles, latency or throughput, that a microprogram takes on any core.
///
/// Below what InstLatX64 (github.com/InstLatx64/InstLatx64) measured on Zen 2 to 5, Ivy Bridge and Coffee Lake:
/// fsin 49, fcos 49, cpuid 100, rdtsc 25, rdrand 65, cmpxchg8b 8, cmpxchg16b 14, pcmpestri 3, pcmpistrm 2, mpsadbw
/// 4, dpps 11, dppd 7, haddps 4, mfence 33, maskmovdqu 6, and pdep 19 on Zen 2. The others are assumed: less than
/// any core could need for so many steps.
fn least_cycles(mnemonic: &str, form: &str, table: &TimingTable) -> Option<u16> {
    Some(match mnemonic {
        "fsin" | "fcos" | "fsincos" | "fptan" | "fpatan" | "fyl2x" | "fyl2xp1" | "f2xm1" => 20,
        "fbld" | "fbstp" => 20,
        "fprem" | "fprem1" => 10,
        "fxsave" | "fxsave64" | "fxrstor" | "fxrstor64" | "fnsave" | "frstor" | "fnstenv"
        | "fldenv" => 20,
        "xsave" | "xsave64" | "xsavec" | "xsavec64" | "xsaveopt" | "xsaveopt64" | "xrstor"
        | "xrstor64" => 20,
        "cpuid" => 50,
        "rdtsc" | "rdtscp" | "rdpmc" => 10,
        "rdrand" | "rdseed" | "syscall" | "sysenter" | "iretq" | "iretd" | "int" => 20,
        "cmpxchg8b" | "cmpxchg16b" => 5,
        "pcmpestri" | "pcmpestrm" | "mpsadbw" => 3,
        "pcmpistri" | "pcmpistrm" => 2,
        "dpps" | "dppd" => 5,
        "haddps" | "haddpd" | "hsubps" | "hsubpd" => 3,
        "mfence" => 5,
        "maskmovdqu" => 5,
        // A bit of a string of bits in memory, which another register chooses.
        "bt" | "bts" | "btr" | "btc" if is_bit_string(form) => 2,
        // The first two generations of Zen have these in microcode, one bit of the mask after the other.
        "pdep" | "pext" if is_zen_2(table) => 18,
        _ => return None,
    })
}

fn is_bit_string(form: &str) -> bool {
    let mut operands = form.split(' ').skip(1);
    matches!(
        (operands.next(), operands.next()),
        (Some("m16" | "m32" | "m64"), Some("r16" | "r32" | "r64"))
    )
}

fn is_zen_2(table: &TimingTable) -> bool {
    table
        .origin("add r64 r64")
        .is_some_and(|origin| matches!(&*origin.table, "zen" | "zen1" | "zen2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults reported of a table with these rows.
    fn reported(rows: &str) -> Vec<String> {
        let text = format!("form,slots,latency,ports,late\n{rows}");
        let table = TimingTable::parse("zen2", &text).unwrap();
        let sentence = |it: Implausible| format!("{}: {} for {}", it.form, it.found, it.expected);
        faults(&table).into_iter().map(sentence).collect()
    }

    #[test]
    fn what_no_core_does_is_found() {
        let wrong = [
            ("haddps x m128,1,0,L,\n", "haddps x m128: latency 0 and a load alone"),
            ("phaddd x m128,1,0,L,\n", "phaddd x m128: latency 0 and a load alone"),
            ("add r64 r64,1,1,A,\nadd r64 m64,0,1,L+A,\n", "add r64 m64: 0 slots"),
            (
                "cvtsd2si r64 x,2,7,A,\ncvtsd2si r64 m64,1,1,L+A,\n",
                "cvtsd2si r64 m64: latency 1 for latency 7",
            ),
            ("bt r64 r64,1,1,A,\nbt m64 r64,1,1,L+A|B,\n", "bt m64 r64: latency 1 and 1 slots"),
            ("xadd r64 r64,2,0,2*A,\n", "xadd r64 r64: latency 0 for latency 1"),
            ("vpmovm2b x k,1,0,,\n", "vpmovm2b x k: latency 0 for latency 1"),
            (
                "add r64 r64,1,1,A,\npdep r64 r64 r64,1,1,A,\n",
                "pdep r64 r64 r64: latency 1 and 1 slots",
            ),
            ("fsin,1,1,A,\n", "fsin: latency 1 and 1 slots"),
            ("mfence,1,1,,\n", "mfence: latency 1 and 1 slots"),
            ("lock add m64 r64,1,0,L+A+S,\n", "lock add m64 r64: latency 0 for latency 1"),
            (
                "lock xadd m64 r64,1,1,L+A+S,\nxadd m64 r64,1,2,L+A+S,\n",
                "lock xadd m64 r64: latency 1",
            ),
            (
                "lock add m64 r64,1,9,L+A+S,\nadd m64 r64,1,9,L+A:9+S,\n",
                "lock add m64 r64: latency 9, 1.00 cycles",
            ),
            ("vaddps y y y,1,3,A,\nvaddps z z z,1,2,A,\n", "vaddps z z z: latency 2 for latency 3"),
            (
                "vaddps y y m256,1,3,L+A:2,\nvaddps z z m512,1,3,L+A,\n",
                "vaddps z z m512: 1.00 for 2.00",
            ),
            ("vaddps z z z,1,3,A,\nvaddps z z z {k},1,2,A,\n", "vaddps z z z {k}: latency 2"),
            ("vpgatherdd x vm32x x,1,0,L,\n", "vpgatherdd x vm32x x: latency 0"),
            ("vpgatherdd x vm32x x,1,1,L+A,\n", "vpgatherdd x vm32x x: 1 accesses"),
            ("class:gather,1,1,L,\n", "class:gather: 1 accesses"),
        ];
        for (rows, beginning) in wrong {
            let found = reported(rows);
            assert!(found.iter().any(|it| it.starts_with(beginning)), "{rows}{found:?}");
        }
    }

    #[test]
    fn what_cores_do_is_let_be() {
        let right = "add r64 r64,1,1,A|B,\nadd r64 m64,1,1,L+A|B,\nmov r64 m64,1,0,L,\nmov r64 r64,1,0,,\n\
            mov m64 r64,1,0,S,\nnop,1,0,,\ncvtsi2sd x r64,2,7,A+B,\ncvtsi2sd x m64,1,4,L+B,\n\
            lock add m64 r64,9,18,L+A+S,\nadd m64 r64,1,1,L+A|B+S,\nprefetchnta m8,1,0,L,\n\
            vaddps y y y,1,3,A,\nvaddps z z z,1,3,A:2,\nvpgatherdd x vm32x x,9,8,4*L+A,\n\
            cvtps2pd x x,2,5,A+B,\ncvtps2pd x m64,1,5,L+A,\n";
        assert_eq!(reported(right), [""; 0]);
    }
}
