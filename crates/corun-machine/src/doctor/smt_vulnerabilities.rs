//! SMT among the processor's vulnerabilities, as the kernel reports it, in plain words.
//!
//! Facts from the kernel's `Documentation/admin-guide/hw-vuln/`, one document a vulnerability; the
//! phrases are those of `arch/x86/kernel/cpu/bugs.c`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::Evidence;
use super::system::{CPUS, System};
use crate::Core;

/// A vulnerability whose state depends on SMT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmtVulnerability {
    /// The kernel's name for it.
    pub name: String,
    /// Evidence from the kernel.
    pub evidence: Evidence,
    /// Exposure to attacks by way of a sibling.
    pub exposure: Exposure,
    /// Description of the vulnerability.
    pub what: String,
    /// Meaning of the kernel's phrase for siblings that run at the same time.
    pub meaning: String,
    /// Cost of the present choice, and of another.
    pub cost: String,
}

/// Exposure of what runs on the sibling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exposure {
    /// It can.
    Exposed,
    /// It cannot, in this way.
    Closed,
    /// Programs that ask for protection have it.
    OnRequest,
    /// The kernel does not know, or uses words that this version does not.
    Unknown,
}

/// The siblings that are online.
#[derive(Debug, Clone, Copy)]
enum Siblings {
    Active,
    None,
    /// None, as far as a virtual machine can see.
    OnlyTheHostKnows,
}

/// Meaning of a phrase of the kernel.
struct Phrase {
    words: &'static str,
    exposure: Exposure,
    meaning: &'static str,
    cost: &'static str,
}

/// Reads the lines that mention SMT, or the protection of siblings' branch predictions (STIBP).
pub(super) fn read(system: &mut System<'_>) -> Vec<SmtVulnerability> {
    let online = system.machine.online();
    let has_siblings = |core: &Core| core.cpus.intersection(&online).len() > 1;
    let siblings = if system.machine.cores.iter().any(has_siblings) {
        Siblings::Active
    } else if system.machine.hypervisor.is_some() {
        Siblings::OnlyTheHostKnows
    } else {
        Siblings::None
    };
    let folder = format!("{CPUS}/vulnerabilities");
    let names = system.list(&folder).into_iter();
    let explained = names.filter_map(|name| {
        let evidence = system.read(&format!("{folder}/{name}")).ok()?;
        explain(name, evidence, siblings)
    });
    explained.collect()
}

/// Puts a line in plain words; `None` if it mentions no sibling.
fn explain(name: String, evidence: Evidence, siblings: Siblings) -> Option<SmtVulnerability> {
    let clauses = || evidence.text.split([';', ',']);
    let from = |word| clauses().find_map(|clause| Some(clause[clause.find(word)?..].trim()));
    let words = from("SMT").or_else(|| from("STIBP"))?;
    let what = WHAT.iter().find(|(known, _)| *known == name).map_or(UNKNOWN_WHAT, |(_, what)| what);
    let phrase = match (words, siblings) {
        ("STIBP: disabled", Siblings::None) => &NO_SIBLINGS,
        ("STIBP: disabled", Siblings::OnlyTheHostKnows) => &NO_SIBLINGS_KNOWN,
        ("SMT vulnerable", _) if name == "l1tf" => &L1TF_VULNERABLE,
        _ => PHRASES.iter().find(|phrase| phrase.words == words).unwrap_or(&UNKNOWN_PHRASE),
    };
    Some(SmtVulnerability {
        what: what.to_owned(),
        exposure: phrase.exposure,
        meaning: phrase.meaning.to_owned(),
        cost: phrase.cost.to_owned(),
        name,
        evidence,
    })
}

const WHAT: &[(&str, &str)] = &[
    (
        "l1tf",
        "L1 terminal fault (Intel): a guest of a virtual machine reads whatever lies in the L1 \
         data cache, which siblings share.",
    ),
    (
        "mds",
        "Microarchitectural data sampling (Intel): a program reads leftovers in store buffers, \
         fill buffers and load ports, which siblings share.",
    ),
    (
        "tsx_async_abort",
        "TSX asynchronous abort (Intel): a program reads the same buffers as with MDS, by way of \
         transactions that abort.",
    ),
    (
        "mmio_stale_data",
        "MMIO stale data (Intel): reading and writing device memory leaves old data in the fill \
         buffers, where they can be read as with MDS.",
    ),
    (
        "retbleed",
        "Retbleed (AMD up to Zen 2, Intel around Skylake): predictions that an attacker has \
         trained lead the kernel's returns astray.",
    ),
    (
        "spec_rstack_overflow",
        "Speculative return stack overflow (AMD Zen 1 to 4): an attacker poisons the prediction of \
         the kernel's returns; on Zen 1 and 2 that needs an active sibling.",
    ),
    (
        "spectre_v2",
        "Branch target injection: a program trains the prediction of indirect branches for \
         another; siblings may share the predictor.",
    ),
];

const UNKNOWN_WHAT: &str = "A vulnerability that this version of corun does not know; the kernel's \
                            Documentation/admin-guide/hw-vuln/ describes it.";

/// The cost of mitigating a vulnerability by switching SMT off.
const OFF_COSTS: &str = "Cheaper than switching SMT off is to let only programs that trust each \
                         other share a core (core scheduling, whole cores for each tenant). Off \
                         costs each program its SMT yield, which `corun measure` measures.";
const OFF_HAS_COST: &str = "The cost is the SMT yield of each program; `corun measure` measures it \
                            on a machine with siblings online.";
const HOST_COSTS: &str = "Nothing can be chosen here: the host's operator can give the guest whole \
                          cores, or use core scheduling.";
const STIBP_COSTS: &str = "Indirect branches are predicted less well while both siblings are \
                           active; the SMT yield that corun measures here has that in it.";

const PHRASES: &[Phrase] = &[
    Phrase {
        words: "SMT vulnerable",
        exposure: Exposure::Exposed,
        meaning: "Siblings are active, and what the kernel does between two programs on one CPU \
                  does not help between siblings: programs that do not trust each other should \
                  not share a core.",
        cost: OFF_COSTS,
    },
    Phrase {
        words: "SMT disabled",
        exposure: Exposure::Closed,
        meaning: "No core has two active siblings, so that the way across siblings is closed.",
        cost: OFF_HAS_COST,
    },
    Phrase {
        words: "SMT mitigated",
        exposure: Exposure::Closed,
        meaning: "Siblings are active; on this processor it suffices that the kernel clears the \
                  buffers, also when a sibling goes idle.",
        cost: "Each return to a program and each going idle costs a clearing of the buffers; SMT \
               need not be switched off.",
    },
    Phrase {
        words: "SMT Host state unknown",
        exposure: Exposure::Unknown,
        meaning: "This is a virtual machine: whether the sibling of its CPU runs another guest, \
                  only the host knows.",
        cost: HOST_COSTS,
    },
    Phrase {
        words: "SMT enabled with STIBP protection",
        exposure: Exposure::Closed,
        meaning: "Siblings are active, and neither uses branch predictions that the other has \
                  trained.",
        cost: STIBP_COSTS,
    },
    Phrase {
        words: "SMT",
        exposure: Exposure::Exposed,
        meaning: "Siblings are active and any user may load eBPF programs: together they get \
                  around the mitigation.",
        cost: "`sudo sysctl kernel.unprivileged_bpf_disabled=1` closes it, and costs no speed.",
    },
    Phrase {
        words: "STIBP: disabled",
        exposure: Exposure::Exposed,
        meaning: "Siblings are active, and either may use branch predictions that the other has \
                  trained.",
        cost: OFF_COSTS,
    },
    Phrase {
        words: "STIBP: conditional",
        exposure: Exposure::OnRequest,
        meaning: "Programs that ask for it (prctl, or seccomp on older kernels) do not use branch \
                  predictions that their sibling has trained; others may.",
        cost: "Only programs that ask pay, with branches that are predicted less well while both \
               siblings are active.",
    },
    Phrase {
        words: "STIBP: always-on",
        exposure: Exposure::Closed,
        meaning: "Neither sibling uses branch predictions that the other has trained.",
        cost: STIBP_COSTS,
    },
    Phrase {
        words: "STIBP: forced",
        exposure: Exposure::Closed,
        meaning: "Neither sibling uses branch predictions that the other has trained; the boot \
                  line asks for it.",
        cost: STIBP_COSTS,
    },
];

const L1TF_VULNERABLE: Phrase = Phrase {
    words: "SMT vulnerable",
    exposure: Exposure::Exposed,
    meaning: "Siblings are active, and emptying the cache before a guest runs does not help \
              against what the sibling brings in meanwhile. Without guests that are not trusted \
              there is no danger.",
    cost: OFF_COSTS,
};

const NO_SIBLINGS: Phrase = Phrase {
    words: "STIBP: disabled",
    exposure: Exposure::Closed,
    meaning: "No core has two active siblings, so that there is no sibling to protect from.",
    cost: "It costs nothing.",
};

const NO_SIBLINGS_KNOWN: Phrase = Phrase {
    words: "STIBP: disabled",
    exposure: Exposure::Unknown,
    meaning: "The kernel of this virtual machine knows no siblings, and protects from none; \
              whether another guest runs on the sibling of its CPU, only the host knows.",
    cost: HOST_COSTS,
};

const UNKNOWN_PHRASE: Phrase = Phrase {
    words: "",
    exposure: Exposure::Unknown,
    meaning: "The kernel uses words that this version of corun does not know.",
    cost: "The kernel's Documentation/admin-guide/hw-vuln/ describes it.",
};

impl Exposure {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exposed => "exposed",
            Self::Closed => "closed",
            Self::OnRequest => "on request",
            Self::Unknown => "unknown",
        }
    }
}
