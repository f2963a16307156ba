//! Which generation a core is of: marketing names of virtual machines do not say.

/// Family, model and stepping, extended ones added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The vendor's number of the family.
    pub family: u32,
    /// The model within the family.
    pub model: u32,
    /// The stepping of the model.
    pub stepping: u32,
}

impl Signature {
    /// Signature from `eax` of CPUID's leaf 1.
    ///
    /// AMD, Architecture Programmer's Manual, volume 3, appendix E.3.2.
    pub fn of(eax: u32) -> Self {
        let (base_family, base_model) = (eax >> 8 & 0xf, eax >> 4 & 0xf);
        let family = base_family + if base_family == 0xf { eax >> 20 & 0xff } else { 0 };
        let is_extended = matches!(base_family, 0x6 | 0xf);
        let model = base_model + if is_extended { (eax >> 16 & 0xf) << 4 } else { 0 };
        Self { family, model, stepping: eax & 0xf }
    }
}

#[cfg(test)]
mod tests {
    use super::Signature;

    #[test]
    fn extended_families_and_models_are_added() {
        for (eax, family, model, stepping) in [
            (0x00a0_0f11, 25, 1, 1),
            (0x00a1_0f11, 25, 17, 1),
            (0x0009_06ea, 6, 158, 10),
            (0x0000_0f29, 15, 2, 9),
        ] {
            assert_eq!(Signature::of(eax), Signature { family, model, stepping });
        }
    }
}
