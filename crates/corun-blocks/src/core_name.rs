//! Which core this is: marketing names of virtual machines do not tell one generation from the next.

/// Vendor, brand, family, model and stepping, as CPUID tells them.
#[cfg(target_arch = "x86_64")]
pub fn core_name() -> String {
    use std::arch::x86_64::__cpuid;
    let brand: Vec<u8> = (0x8000_0002..=0x8000_0004)
        .filter(|_| __cpuid(0x8000_0000).eax >= 0x8000_0004)
        .map(__cpuid)
        .flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx])
        .flat_map(u32::to_le_bytes)
        .take_while(|&byte| byte != 0)
        .collect();
    let brand = String::from_utf8_lossy(&brand);
    let (family, model, stepping) = signature(__cpuid(1).eax);
    format!("{} (family {family} model {model} stepping {stepping})", brand.trim())
}

/// No core that runs blocks.
#[cfg(not(target_arch = "x86_64"))]
pub fn core_name() -> String {
    std::env::consts::ARCH.to_owned()
}

/// Family, model and stepping, extended ones added, of what CPUID's leaf 1 gives in `eax`.
///
/// AMD, Architecture Programmer's Manual, volume 3, appendix E.3.2.
#[cfg(target_arch = "x86_64")]
fn signature(eax: u32) -> (u32, u32, u32) {
    let (base_family, base_model) = (eax >> 8 & 0xf, eax >> 4 & 0xf);
    let family = base_family + if base_family == 0xf { eax >> 20 & 0xff } else { 0 };
    let is_extended = matches!(base_family, 0x6 | 0xf);
    let model = base_model + if is_extended { (eax >> 16 & 0xf) << 4 } else { 0 };
    (family, model, eax & 0xf)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn families_beyond_fifteen_are_told() {
        assert_eq!(signature(0x00a1_0f11), (25, 17, 1));
        assert_eq!(signature(0x0009_06ea), (6, 158, 10));
        assert_eq!(signature(0x0000_0f29), (15, 2, 9));
    }
}
