//! Which core this is: marketing names of virtual machines do not distinguish generations.

/// Vendor, brand, family, model and stepping, as CPUID reports them.
#[cfg(target_arch = "x86_64")]
pub fn core_name() -> String {
    use std::arch::x86_64::__cpuid;

    use corun_machine::Signature;

    let brand: Vec<u8> = (0x8000_0002..=0x8000_0004)
        .filter(|_| __cpuid(0x8000_0000).eax >= 0x8000_0004)
        .map(__cpuid)
        .flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx])
        .flat_map(u32::to_le_bytes)
        .take_while(|&byte| byte != 0)
        .collect();
    let brand = String::from_utf8_lossy(&brand);
    let Signature { family, model, stepping } = Signature::of(__cpuid(1).eax);
    format!("{} (family {family} model {model} stepping {stepping})", brand.trim())
}

/// No core that runs blocks.
#[cfg(not(target_arch = "x86_64"))]
pub fn core_name() -> String {
    std::env::consts::ARCH.to_owned()
}
