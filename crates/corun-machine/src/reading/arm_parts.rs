//! The names of Arm cores, which `/proc/cpuinfo` does not give.
//!
//! Numbers and names are those of the cores' technical reference manuals and of the vendors'
//! identification registers (MIDR_EL1).

/// The name of a core by the fields Implementer and PartNum of MIDR_EL1; the implementer's name and
/// the part's number if the part is unknown, both numbers if the implementer is, too.
pub(super) fn part_name(implementer: u64, part: u64) -> String {
    let found = IMPLEMENTERS.iter().find(|known| known.number == implementer);
    let Some(Implementer { name, parts, .. }) = found else {
        return format!("part {implementer:#04x}:{part:#05x}");
    };
    match parts.iter().find(|(number, _)| *number == part) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("{name} part {part:#05x}"),
    }
}

/// Who designed cores, and which.
struct Implementer {
    number: u64,
    name: &'static str,
    parts: &'static [(u64, &'static str)],
}

/// By their numbers.
#[rustfmt::skip]
const IMPLEMENTERS: [Implementer; 19] = [
    Implementer { number: 0x41, name: "Arm", parts: &[
        (0x810, "ARM810"),
        (0x920, "ARM920"),
        (0x922, "ARM922"),
        (0x926, "ARM926"),
        (0x940, "ARM940"),
        (0x946, "ARM946"),
        (0x966, "ARM966"),
        (0xa20, "ARM1020"),
        (0xa22, "ARM1022"),
        (0xa26, "ARM1026"),
        (0xb02, "ARM11 MPCore"),
        (0xb36, "ARM1136"),
        (0xb56, "ARM1156"),
        (0xb76, "ARM1176"),
        (0xc05, "Cortex-A5"),
        (0xc07, "Cortex-A7"),
        (0xc08, "Cortex-A8"),
        (0xc09, "Cortex-A9"),
        (0xc0d, "Cortex-A17"),
        (0xc0e, "Cortex-A17"),
        (0xc0f, "Cortex-A15"),
        (0xd01, "Cortex-A32"),
        (0xd02, "Cortex-A34"),
        (0xd03, "Cortex-A53"),
        (0xd04, "Cortex-A35"),
        (0xd05, "Cortex-A55"),
        (0xd06, "Cortex-A65"),
        (0xd07, "Cortex-A57"),
        (0xd08, "Cortex-A72"),
        (0xd09, "Cortex-A73"),
        (0xd0a, "Cortex-A75"),
        (0xd0b, "Cortex-A76"),
        (0xd0c, "Neoverse-N1"),
        (0xd0d, "Cortex-A77"),
        (0xd0e, "Cortex-A76AE"),
        (0xd40, "Neoverse-V1"),
        (0xd41, "Cortex-A78"),
        (0xd42, "Cortex-A78AE"),
        (0xd43, "Cortex-A65AE"),
        (0xd44, "Cortex-X1"),
        (0xd46, "Cortex-A510"),
        (0xd47, "Cortex-A710"),
        (0xd48, "Cortex-X2"),
        (0xd49, "Neoverse-N2"),
        (0xd4a, "Neoverse-E1"),
        (0xd4b, "Cortex-A78C"),
        (0xd4c, "Cortex-X1C"),
        (0xd4d, "Cortex-A715"),
        (0xd4e, "Cortex-X3"),
        (0xd4f, "Neoverse-V2"),
        (0xd80, "Cortex-A520"),
        (0xd81, "Cortex-A720"),
        (0xd82, "Cortex-X4"),
        (0xd84, "Neoverse-V3"),
        (0xd85, "Cortex-X925"),
        (0xd87, "Cortex-A725"),
        (0xd8e, "Neoverse-N3"),
    ] },
    Implementer { number: 0x42, name: "Broadcom", parts: &[
        (0x00f, "Brahma-B15"),
        (0x100, "Brahma-B53"),
        (0x516, "ThunderX2"),
    ] },
    Implementer { number: 0x43, name: "Cavium", parts: &[
        (0x0a0, "ThunderX"),
        (0x0a1, "ThunderX-88XX"),
        (0x0a2, "ThunderX-81XX"),
        (0x0a3, "ThunderX-83XX"),
        (0x0af, "ThunderX2-99xx"),
        (0x0b0, "OcteonTX2"),
        (0x0b1, "OcteonTX2-98XX"),
        (0x0b2, "OcteonTX2-96XX"),
        (0x0b3, "OcteonTX2-95XX"),
        (0x0b8, "ThunderX3-T110"),
    ] },
    Implementer { number: 0x44, name: "DEC", parts: &[] },
    Implementer { number: 0x46, name: "Fujitsu", parts: &[
        (0x001, "A64FX"),
    ] },
    Implementer { number: 0x48, name: "HiSilicon", parts: &[
        (0xd01, "Kunpeng-920"),
    ] },
    Implementer { number: 0x49, name: "Infineon", parts: &[] },
    Implementer { number: 0x4d, name: "Motorola", parts: &[] },
    Implementer { number: 0x4e, name: "NVIDIA", parts: &[
        (0x000, "Denver"),
        (0x003, "Denver 2"),
        (0x004, "Carmel"),
    ] },
    Implementer { number: 0x50, name: "APM", parts: &[
        (0x000, "X-Gene"),
    ] },
    Implementer { number: 0x51, name: "Qualcomm", parts: &[
        (0x00f, "Scorpion"),
        (0x02d, "Scorpion"),
        (0x04d, "Krait"),
        (0x06f, "Krait"),
        (0x201, "Kryo"),
        (0x205, "Kryo"),
        (0x211, "Kryo"),
        (0x800, "Kryo-2XX-Gold"),
        (0x801, "Kryo-2XX-Silver"),
        (0x802, "Kryo-3XX-Gold"),
        (0x803, "Kryo-3XX-Silver"),
        (0x804, "Kryo-4XX-Gold"),
        (0x805, "Kryo-4XX-Silver"),
        (0xc00, "Falkor"),
        (0xc01, "Saphira"),
    ] },
    Implementer { number: 0x53, name: "Samsung", parts: &[
        (0x001, "Exynos-M1"),
        (0x002, "Exynos-M3"),
        (0x003, "Exynos-M4"),
        (0x004, "Exynos-M5"),
    ] },
    Implementer { number: 0x56, name: "Marvell", parts: &[
        (0x131, "Feroceon-88FR131"),
        (0x581, "PJ4"),
        (0x584, "PJ4B-MP"),
    ] },
    Implementer { number: 0x61, name: "Apple", parts: &[
        (0x020, "Icestorm-A14"),
        (0x021, "Firestorm-A14"),
        (0x022, "Icestorm-M1"),
        (0x023, "Firestorm-M1"),
        (0x024, "Icestorm-M1-Pro"),
        (0x025, "Firestorm-M1-Pro"),
        (0x028, "Icestorm-M1-Max"),
        (0x029, "Firestorm-M1-Max"),
        (0x030, "Blizzard-A15"),
        (0x031, "Avalanche-A15"),
        (0x032, "Blizzard-M2"),
        (0x033, "Avalanche-M2"),
    ] },
    Implementer { number: 0x66, name: "Faraday", parts: &[] },
    Implementer { number: 0x69, name: "Intel", parts: &[] },
    Implementer { number: 0x6d, name: "Microsoft", parts: &[] },
    Implementer { number: 0x70, name: "Phytium", parts: &[
        (0x660, "FTC660"),
        (0x661, "FTC661"),
        (0x662, "FTC662"),
        (0x663, "FTC663"),
    ] },
    Implementer { number: 0xc0, name: "Ampere", parts: &[
        (0xac3, "Ampere-1"),
        (0xac4, "Ampere-1a"),
    ] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_parts_keep_their_numbers() {
        assert_eq!(part_name(0x41, 0xd87), "Cortex-A725");
        assert_eq!(part_name(0x61, 0x22), "Icestorm-M1");
        assert_eq!(part_name(0x48, 0xd01), "Kunpeng-920");
        assert_eq!(part_name(0x41, 0x001), "Arm part 0x001");
        assert_eq!(part_name(0x99, 0x22), "part 0x99:0x022");
    }

    #[test]
    fn no_number_stands_twice() {
        for (place, one) in IMPLEMENTERS.iter().enumerate() {
            assert!(IMPLEMENTERS[..place].iter().all(|other| other.number < one.number));
            for (place, (number, _)) in one.parts.iter().enumerate() {
                assert!(one.parts[..place].iter().all(|(other, _)| other < number), "{number:#x}");
            }
        }
    }
}
