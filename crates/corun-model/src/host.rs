//! Which model is this host's core: by vendor, family and model, as CPUID reports them.
//!
//! Marketing names do not identify a core: a virtual machine's is `AMD EPYC` from Zen 1 on. Families and models are
//! those of the kernel's `arch/x86/kernel/cpu/amd.c` and `arch/x86/include/asm/intel-family.h`.

use std::fmt;

/// A core as CPUID names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCore {
    /// Twelve letters: `AuthenticAMD`, `GenuineIntel`, ...
    pub vendor: String,
    /// The family, extended.
    pub family: u32,
    /// The model, extended.
    pub model: u32,
    /// The stepping of the model.
    pub stepping: u32,
}

/// The model that is nearest to a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suited {
    /// The model's name.
    pub model: &'static str,
    /// Likeness of the model to the core.
    pub fit: Fit,
}

/// Likeness of a model to a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The model is of the core's own design.
    Own,
    /// The model is of the P cores of a machine that has E cores, too.
    PCores,
    /// There is no model of the core's design, which is named.
    Nearest(&'static str),
}

impl fmt::Display for HostCore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} family {} model {}", self.vendor, self.family, self.model)
    }
}

/// This host's core; none where there is no CPUID.
#[cfg(target_arch = "x86_64")]
pub fn host_core() -> Option<HostCore> {
    use std::arch::x86_64::__cpuid;

    use corun_machine::Signature;

    let vendor = __cpuid(0);
    let letters = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat();
    let Signature { family, model, stepping } = Signature::of(__cpuid(1).eax);
    let vendor = String::from_utf8_lossy(&letters).into_owned();
    Some(HostCore { vendor, family, model, stepping })
}

/// This host's core; none where there is no CPUID.
#[cfg(not(target_arch = "x86_64"))]
pub fn host_core() -> Option<HostCore> {
    None
}

/// The model of a core, or the nearest one; none for cores of which nothing is known.
pub fn suited(core: &HostCore) -> Option<Suited> {
    match core.vendor.as_str() {
        "AuthenticAMD" => amd(core.family, core.model),
        "HygonGenuine" => Some(near("zen2", "a Zen core by Hygon")),
        "GenuineIntel" => intel(core.family, core.model),
        _ => None,
    }
}

fn amd(family: u32, model: u32) -> Option<Suited> {
    match (family, model) {
        (0x0f..=0x16, _) => Some(near("zen2", "a core before Zen")),
        (0x17, 0x00..=0x2f) => Some(near("zen2", "Zen or Zen+")),
        (0x17, _) => Some(same("zen2")),
        (0x19, 0x00..=0x0f) => Some(same("zen3-milan")),
        (0x19, 0x20..=0x5f) => Some(same("zen3")),
        (0x19, 0xa0..=0xaf) => Some(same("zen4c")),
        (0x19, 0x10..=0x1f | 0x60..=0x9f) => Some(same("zen4")),
        (0x19, _) => Some(near("zen4", "a core of family 25 that is not known")),
        (0x1a, 0x10..=0x1f) => Some(same("zen5c")),
        (0x1a, 0x00..=0x0f | 0x40..=0x4f) => Some(same("zen5")),
        (0x1a, 0x20..=0x3f | 0x60..=0x7f) => {
            Some(near("zen5", "a Zen 5 with narrower vector units"))
        }
        (0x1a.., _) => Some(near("zen5", "a core after Zen 5")),
        _ => None,
    }
}

fn intel(family: u32, model: u32) -> Option<Suited> {
    match (family, model) {
        (0x06, 0x3a | 0x3e) => Some(same("ivy-bridge")),
        (0x06, 0x4e | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6) => Some(same("coffee-lake")),
        (0x06, 0x0f | 0x16 | 0x17 | 0x1d) => Some(near("ivy-bridge", "a Core 2")),
        (0x06, 0x1a | 0x1e | 0x1f | 0x25 | 0x2c | 0x2e | 0x2f) => {
            Some(near("ivy-bridge", "Nehalem or Westmere"))
        }
        (0x06, 0x2a | 0x2d) => Some(near("ivy-bridge", "Sandy Bridge")),
        (0x06, 0x3c | 0x3f | 0x45 | 0x46) => Some(near("coffee-lake", "Haswell")),
        (0x06, 0x3d | 0x47 | 0x4f | 0x56) => Some(near("coffee-lake", "Broadwell")),
        (0x06, 0x55) => Some(same("skylake-server")),
        (0x06, 0x6a | 0x6c) => Some(same("sunny-cove")),
        (0x06, 0xa7) => Some(same("rocket-lake")),
        (0x06, 0x7d | 0x7e) => {
            Some(near("rocket-lake", "Ice Lake of laptops, the same core at another clock"))
        }
        (0x06, 0x8c | 0x8d) => {
            Some(near("sunny-cove", "Tiger Lake, the same core with other caches"))
        }
        (0x06, 0x8f | 0xcf) => Some(same("golden-cove")),
        (0x06, 0x97 | 0x9a) => Some(p_cores("alder-lake")),
        (0x06, 0xb7 | 0xba | 0xbf) => Some(near(
            "alder-lake",
            "Raptor Lake, whose P cores are the same with a larger L2; of its E cores there is no model",
        )),
        (0x06, 0xaa | 0xac | 0xb5) => Some(near(
            "alder-lake",
            "the P core after Raptor Lake; of its E cores there is no model",
        )),
        (0x06, 0xad | 0xae) => {
            Some(near("golden-cove", "Granite Rapids, a later core of its line"))
        }
        (0x06, 0x60..) => {
            Some(near("coffee-lake", "a small core, or a large one after Granite Rapids"))
        }
        (0x0f, 0x00 | 0x01) => Some(same("netburst-xeon-mp")),
        (0x0f, _) => Some(near("netburst-xeon-mp", "a later NetBurst")),
        (0x07..=0x0e | 0x10.., _) => Some(near("coffee-lake", "a core of a later family")),
        _ => None,
    }
}

fn same(model: &'static str) -> Suited {
    Suited { model, fit: Fit::Own }
}

/// Cores of both kinds have the same family and model.
fn p_cores(model: &'static str) -> Suited {
    Suited { model, fit: Fit::PCores }
}

fn near(model: &'static str, design: &'static str) -> Suited {
    Suited { model, fit: Fit::Nearest(design) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::names;

    fn of(vendor: &str, family: u32, model: u32) -> Option<Suited> {
        suited(&HostCore { vendor: vendor.to_owned(), family, model, stepping: 0 })
    }

    #[test]
    fn each_model_is_that_of_its_own_cores() {
        for (vendor, family, model, name) in [
            ("AuthenticAMD", 25, 0x01, "zen3-milan"),
            ("AuthenticAMD", 25, 0x21, "zen3"),
            ("AuthenticAMD", 25, 0x50, "zen3"),
            ("AuthenticAMD", 25, 0x11, "zen4"),
            ("AuthenticAMD", 25, 0x61, "zen4"),
            ("AuthenticAMD", 25, 0xa0, "zen4c"),
            ("AuthenticAMD", 26, 0x11, "zen5c"),
            ("AuthenticAMD", 26, 0x02, "zen5"),
            ("AuthenticAMD", 26, 0x44, "zen5"),
            ("AuthenticAMD", 23, 0x31, "zen2"),
            ("AuthenticAMD", 23, 0x71, "zen2"),
            ("GenuineIntel", 6, 58, "ivy-bridge"),
            ("GenuineIntel", 6, 158, "coffee-lake"),
            ("GenuineIntel", 6, 142, "coffee-lake"),
            ("GenuineIntel", 6, 0x55, "skylake-server"),
            ("GenuineIntel", 6, 0x6a, "sunny-cove"),
            ("GenuineIntel", 6, 0xa7, "rocket-lake"),
            ("GenuineIntel", 6, 0x8f, "golden-cove"),
            ("GenuineIntel", 6, 0xcf, "golden-cove"),
            ("GenuineIntel", 15, 1, "netburst-xeon-mp"),
        ] {
            assert_eq!(of(vendor, family, model), Some(same(name)), "{vendor} {family} {model}");
        }
    }

    #[test]
    fn other_cores_get_the_nearest_and_a_notice() {
        for (vendor, family, model, name, design) in [
            ("AuthenticAMD", 23, 0x01, "zen2", "Zen or Zen+"),
            ("AuthenticAMD", 26, 0x24, "zen5", "a Zen 5 with narrower vector units"),
            ("AuthenticAMD", 26, 0x50, "zen5", "a core after Zen 5"),
            ("HygonGenuine", 24, 0x00, "zen2", "a Zen core by Hygon"),
            ("GenuineIntel", 6, 0x2a, "ivy-bridge", "Sandy Bridge"),
            ("GenuineIntel", 6, 0x3c, "coffee-lake", "Haswell"),
            ("GenuineIntel", 6, 0xad, "golden-cove", "Granite Rapids, a later core of its line"),
            (
                "GenuineIntel",
                6,
                0x86,
                "coffee-lake",
                "a small core, or a large one after Granite Rapids",
            ),
            ("GenuineIntel", 15, 2, "netburst-xeon-mp", "a later NetBurst"),
        ] {
            assert_eq!(of(vendor, family, model), Some(near(name, design)), "{family} {model}");
        }
    }

    #[test]
    fn a_hybrid_machine_gets_the_model_of_its_p_cores() {
        assert_eq!(of("GenuineIntel", 6, 0x97), Some(p_cores("alder-lake")));
    }

    #[test]
    fn of_other_vendors_nothing_is_known() {
        for vendor in ["CentaurHauls", "  Shanghai  ", "", "authenticamd"] {
            assert_eq!(of(vendor, 25, 1), None, "{vendor}");
        }
        assert_eq!(of("GenuineIntel", 5, 2), None);
    }

    proptest! {
        #[test]
        fn what_is_suited_is_a_model_that_exists(
            vendor in prop_oneof![Just("AuthenticAMD"), Just("GenuineIntel"), Just("HygonGenuine")],
            family in 0_u32..300,
            model in 0_u32..256,
        ) {
            if let Some(suited) = of(vendor, family, model) {
                prop_assert!(names().any(|name| name == suited.model), "{suited:?}");
            }
        }
    }
}
