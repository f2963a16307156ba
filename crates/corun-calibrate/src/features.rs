//! The instruction-set extensions of this host's core.

use iced_x86::CpuidFeature;

/// True if the core has it; what is not known here is taken as missing.
pub(crate) fn has(feature: CpuidFeature) -> bool {
    match feature {
        CpuidFeature::INTEL8086
        | CpuidFeature::INTEL186
        | CpuidFeature::INTEL286
        | CpuidFeature::INTEL386
        | CpuidFeature::INTEL486
        | CpuidFeature::MULTIBYTENOP
        | CpuidFeature::X64
        | CpuidFeature::FPU
        | CpuidFeature::FPU287
        | CpuidFeature::FPU387
        | CpuidFeature::PAUSE
        | CpuidFeature::TSC
        | CpuidFeature::CLFSH
        | CpuidFeature::FXSR
        | CpuidFeature::CMOV
        | CpuidFeature::MMX
        | CpuidFeature::SSE
        | CpuidFeature::SSE2 => true,
        CpuidFeature::SSE3 => std::is_x86_feature_detected!("sse3"),
        CpuidFeature::SSSE3 => std::is_x86_feature_detected!("ssse3"),
        CpuidFeature::SSE4_1 => std::is_x86_feature_detected!("sse4.1"),
        CpuidFeature::SSE4_2 => std::is_x86_feature_detected!("sse4.2"),
        CpuidFeature::AVX => std::is_x86_feature_detected!("avx"),
        CpuidFeature::AVX2 => std::is_x86_feature_detected!("avx2"),
        CpuidFeature::FMA => std::is_x86_feature_detected!("fma"),
        CpuidFeature::BMI1 => std::is_x86_feature_detected!("bmi1"),
        CpuidFeature::BMI2 => std::is_x86_feature_detected!("bmi2"),
        CpuidFeature::LZCNT => std::is_x86_feature_detected!("lzcnt"),
        CpuidFeature::POPCNT => std::is_x86_feature_detected!("popcnt"),
        CpuidFeature::ADX => std::is_x86_feature_detected!("adx"),
        CpuidFeature::AES => std::is_x86_feature_detected!("aes"),
        CpuidFeature::PCLMULQDQ => std::is_x86_feature_detected!("pclmulqdq"),
        CpuidFeature::AVX512F => std::is_x86_feature_detected!("avx512f"),
        CpuidFeature::AVX512VL => std::is_x86_feature_detected!("avx512vl"),
        CpuidFeature::AVX512BW => std::is_x86_feature_detected!("avx512bw"),
        CpuidFeature::AVX512DQ => std::is_x86_feature_detected!("avx512dq"),
        CpuidFeature::AVX512CD => std::is_x86_feature_detected!("avx512cd"),
        CpuidFeature::AVX512_IFMA => std::is_x86_feature_detected!("avx512ifma"),
        CpuidFeature::AVX512_VBMI => std::is_x86_feature_detected!("avx512vbmi"),
        CpuidFeature::AVX512_VBMI2 => std::is_x86_feature_detected!("avx512vbmi2"),
        CpuidFeature::AVX512_VNNI => std::is_x86_feature_detected!("avx512vnni"),
        CpuidFeature::AVX512_BITALG => std::is_x86_feature_detected!("avx512bitalg"),
        CpuidFeature::AVX512_VPOPCNTDQ => std::is_x86_feature_detected!("avx512vpopcntdq"),
        CpuidFeature::AVX512_BF16 => std::is_x86_feature_detected!("avx512bf16"),
        CpuidFeature::AVX512_VP2INTERSECT => std::is_x86_feature_detected!("avx512vp2intersect"),
        CpuidFeature::GFNI => std::is_x86_feature_detected!("gfni"),
        CpuidFeature::VAES => std::is_x86_feature_detected!("vaes"),
        CpuidFeature::VPCLMULQDQ => std::is_x86_feature_detected!("vpclmulqdq"),
        CpuidFeature::SHA => std::is_x86_feature_detected!("sha"),
        CpuidFeature::MOVBE => std::is_x86_feature_detected!("movbe"),
        CpuidFeature::RDRAND => std::is_x86_feature_detected!("rdrand"),
        CpuidFeature::RDSEED => std::is_x86_feature_detected!("rdseed"),
        CpuidFeature::SSE4A => std::is_x86_feature_detected!("sse4a"),
        CpuidFeature::CMPXCHG16B => std::is_x86_feature_detected!("cmpxchg16b"),
        CpuidFeature::F16C => std::is_x86_feature_detected!("f16c"),
        // What the standard library does not report: leaf, subleaf, register and bit of CPUID (AMD, Architecture
        // Programmer's Manual, volume 3, appendix E; Intel, Software Developer's Manual, CPUID).
        CpuidFeature::CX8 => bit(1, 0, EDX, 8),
        CpuidFeature::RDTSCP => bit(0x8000_0001, 0, EDX, 27),
        CpuidFeature::PREFETCHW => bit(0x8000_0001, 0, ECX, 8),
        CpuidFeature::CLFLUSHOPT => bit(7, 0, EBX, 23),
        CpuidFeature::CLWB => bit(7, 0, EBX, 24),
        CpuidFeature::RDPID => bit(7, 0, ECX, 22),
        CpuidFeature::MOVDIRI => bit(7, 0, ECX, 27),
        CpuidFeature::AVX_VNNI => bit(7, 1, EAX, 4) && std::is_x86_feature_detected!("avx2"),
        CpuidFeature::CLZERO => bit(0x8000_0008, 0, EBX, 0),
        _ => false,
    }
}

const EAX: usize = 0;
const EBX: usize = 1;
const ECX: usize = 2;
const EDX: usize = 3;

#[allow(unused_unsafe, reason = "safe in newer versions of the standard library")]
fn bit(leaf: u32, subleaf: u32, register: usize, bit: u32) -> bool {
    use std::arch::x86_64::__cpuid_count;
    // SAFETY: every core of x86-64 has CPUID.
    let (last, found) =
        unsafe { (__cpuid_count(leaf & 0x8000_0000, 0).eax, __cpuid_count(leaf, subleaf)) };
    let registers = [found.eax, found.ebx, found.ecx, found.edx];
    leaf <= last && registers[register] >> bit & 1 == 1
}
