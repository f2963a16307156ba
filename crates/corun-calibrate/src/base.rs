//! Which model is nearest to this host's core, by what CPUID tells.

use crate::Cannot;

/// A model to take from what cannot be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base {
    /// The model's name.
    pub name: &'static str,
    /// Why this one.
    pub reason: &'static str,
}

/// The nearest model for a core of this vendor, family and model as CPUID tells them (extended ones
/// added).
///
/// # Errors
/// If none is near.
pub fn nearest(vendor: &str, family: u32, model: u32) -> Result<Base, Cannot> {
    let base = |name, reason| Ok(Base { name, reason });
    match (vendor, family, model) {
        ("AuthenticAMD", 0x17, 0x30..) => base("zen2", "AMD family 17h from model 30h on is Zen 2"),
        ("AuthenticAMD", 0x17, _) => {
            base("zen2", "AMD family 17h below model 30h is Zen 1, and Zen 2 the nearest to it")
        }
        ("HygonGenuine", 0x18, _) => {
            base("zen2", "Hygon family 18h is a Zen 1, and Zen 2 the nearest to it")
        }
        ("AuthenticAMD", 0x19, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf) => {
            base("zen4", "these models of AMD family 19h are Zen 4")
        }
        ("AuthenticAMD", 0x19, _) => base("zen3", "these models of AMD family 19h are Zen 3"),
        ("AuthenticAMD", 0x1a, _) => {
            base("zen4", "AMD family 1Ah is Zen 5, and Zen 4 the nearest to it")
        }
        ("GenuineIntel", 0x06, 0x3a | 0x3e) => base("ivy-bridge", "this model is an Ivy Bridge"),
        ("GenuineIntel", 0x06, 0x2a | 0x2d) => {
            base("ivy-bridge", "this model is a Sandy Bridge, and Ivy Bridge the nearest to it")
        }
        ("GenuineIntel", 0x06, 0x4e | 0x5e | 0x55 | 0x8e | 0x9e | 0xa5 | 0xa6) => {
            base("coffee-lake", "this model is of the Skylake family, as Coffee Lake is")
        }
        ("GenuineIntel", 0x06, 0x3c..) => {
            base("coffee-lake", "Coffee Lake is the nearest model to Intel cores since Haswell")
        }
        ("GenuineIntel", 0x0f, _) => base("netburst-xeon-mp", "Intel family 15 is NetBurst"),
        _ => Err(Cannot::NoBase { found: format!("{vendor:?}, family {family}, model {model}") }),
    }
}

/// Vendor, family and model of the core that this runs on.
#[cfg(target_arch = "x86_64")]
pub fn identity() -> (String, u32, u32) {
    let leaf = std::arch::x86_64::__cpuid(0);
    let vendor = [leaf.ebx, leaf.edx, leaf.ecx].into_iter().flat_map(u32::to_le_bytes);
    let vendor = String::from_utf8_lossy(&vendor.collect::<Vec<_>>()).into_owned();
    let (family, model, _) = corun_blocks::signature(std::arch::x86_64::__cpuid(1).eax);
    (vendor, family, model)
}

/// No core that can be measured.
#[cfg(not(target_arch = "x86_64"))]
pub fn identity() -> (String, u32, u32) {
    (std::env::consts::ARCH.to_owned(), 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_base_is_a_model() {
        let known: Vec<&str> = corun_sim::model::names().collect();
        for (vendor, family, model, name) in [
            ("AuthenticAMD", 25, 1, "zen3"),
            ("AuthenticAMD", 25, 0x11, "zen4"),
            ("AuthenticAMD", 23, 0x31, "zen2"),
            ("AuthenticAMD", 26, 2, "zen4"),
            ("GenuineIntel", 6, 0x9e, "coffee-lake"),
            ("GenuineIntel", 6, 0x3a, "ivy-bridge"),
            ("GenuineIntel", 6, 0x8f, "coffee-lake"),
            ("GenuineIntel", 15, 2, "netburst-xeon-mp"),
        ] {
            let found = nearest(vendor, family, model).unwrap();
            assert_eq!(found.name, name, "{vendor} {family} {model}");
            assert!(known.contains(&found.name));
        }
    }

    #[test]
    fn a_core_that_no_model_is_near_to_is_told() {
        let error = nearest("CentaurHauls", 7, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected a core that one of the models is near to, found \"CentaurHauls\", family 7, model 1"
        );
    }
}
