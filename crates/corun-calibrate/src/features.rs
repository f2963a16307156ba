//! What instructions this host's core has.

use iced_x86::CpuidFeature;

/// Whether the core has it; what is not known here is taken as missing.
pub(crate) fn has(feature: CpuidFeature) -> bool {
    match feature {
        CpuidFeature::INTEL8086
        | CpuidFeature::INTEL186
        | CpuidFeature::INTEL286
        | CpuidFeature::INTEL386
        | CpuidFeature::INTEL486
        | CpuidFeature::MULTIBYTENOP
        | CpuidFeature::X64
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
        CpuidFeature::F16C => std::is_x86_feature_detected!("f16c"),
        _ => false,
    }
}
