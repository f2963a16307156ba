//! Single forms in steady state, beside what was measured and published of them (docs/evidence/forms.md).

use super::assert_near;
use crate::blocks::{cycles, model, steady_at};

/// Core, code, cycles of a copy as measured, and by how much of that the model may be off.
type Case<'c> = (&'c str, &'c [u8], f64, f64);

/// Asserts that every case is as near as it says.
fn check(cases: &[Case<'_>]) {
    let far = |(core, code, measured, share): &Case<'_>| {
        let found = cycles(core, code);
        let is_far = (found - measured).abs() > share * measured;
        is_far.then(|| format!("{core} {code:02x?}: {found} for {measured}"))
    };
    let all: Vec<String> = cases.iter().filter_map(far).collect();
    assert!(all.is_empty(), "{all:#?}");
}

const AMD: [&str; 4] = ["zen2", "zen3", "zen4", "zen5"];

#[test]
fn a_form_waits_for_the_target_that_it_only_writes_where_the_core_does() {
    // rbx, rax; popcnt from [rax] too
    let popcnt = [0xf3, 0x48, 0x0f, 0xb8, 0xd8];
    let from_memory = [0xf3, 0x48, 0x0f, 0xb8, 0x18];
    let tzcnt = [0xf3, 0x48, 0x0f, 0xbc, 0xd8];
    let lzcnt = [0xf3, 0x48, 0x0f, 0xbd, 0xd8];
    let lowest = |which: u8| [0xc4, 0xe2, 0xe0, 0xf3, 0xc0 | which << 3];
    for core in ["ivy-bridge", "coffee-lake"] {
        check(&[(core, &popcnt, 3.0, 0.01), (core, &from_memory, 3.0, 0.01)]);
    }
    check(&[("coffee-lake", &tzcnt, 1.0, 0.01), ("coffee-lake", &lzcnt, 1.0, 0.01)]);
    check(&[("zen5", &tzcnt, 1.0, 0.01)]);
    // blsr, blsmsk, blsi
    for which in 1..=3 {
        check(&[("zen5", &lowest(which), 1.0, 0.01)]);
        assert!(cycles("zen4", &lowest(which)) < 0.5);
    }
    for core in AMD {
        assert!(cycles(core, &popcnt) < 0.5 && cycles(core, &lzcnt) < 0.5, "{core}");
    }
    // vpexpandd zmm1{k1}{z}, zmm2; vpcompressd zmm1{k1}{z}, zmm2; vpcompressd xmm1{k1}{z}, xmm2
    let expand = [0x62, 0xf2, 0x7d, 0xc9, 0x89, 0xca];
    let compress = [0x62, 0xf2, 0x7d, 0xc9, 0x8b, 0xd1];
    let short = [0x62, 0xf2, 0x7d, 0x89, 0x8b, 0xd1];
    for core in ["zen4", "zen5"] {
        check(&[
            (core, &expand, 5.0, 0.01),
            (core, &compress, 5.0, 0.01),
            (core, &short, 2.0, 0.01),
        ]);
    }
}

#[test]
fn permutes_across_lanes_take_their_micro_ops_on_zen_2() {
    // vpermpd ymm0, ymm0, 27; vpermq; vpermd ymm0, ymm1, ymm0
    let vpermpd = [0xc4, 0xe3, 0xfd, 0x01, 0xc0, 0x1b];
    let vpermq = [0xc4, 0xe3, 0xfd, 0x00, 0xc0, 0x1b];
    let vpermd = [0xc4, 0xe2, 0x75, 0x36, 0xc0];
    // vpermpd ymm2, ymm1, 27; vpermpd ymm3, ymm1, 27
    let two = [0xc4, 0xe3, 0xfd, 0x01, 0xd1, 0x1b, 0xc4, 0xe3, 0xfd, 0x01, 0xd9, 0x1b];
    // vpmovzxbw ymm2, xmm1; vpbroadcastb ymm0, xmm0; vextracti128 xmm0, ymm0, 1
    let extend = [0xc4, 0xe2, 0x7d, 0x30, 0xd1];
    let broadcast = [0xc4, 0xe2, 0x7d, 0x78, 0xc0];
    let extract = [0xc4, 0xe3, 0x7d, 0x39, 0xc0, 0x01];
    check(&[
        ("zen2", &vpermpd, 6.0, 0.02),
        ("zen2", &vpermq, 6.0, 0.02),
        ("zen2", &vpermd, 8.0, 0.1),
        ("zen2", &two, 2.34, 0.2),
        ("zen2", &extend, 1.0, 0.1),
        ("zen2", &broadcast, 4.0, 0.02),
        ("zen2", &extract, 3.0, 0.02),
        ("zen3", &extract, 3.12, 0.05),
        ("zen3", &vpermd, 8.3, 0.05),
    ]);
}

#[test]
fn bit_scans_and_rotations_through_the_carry_take_what_was_measured() {
    // bsr rdx, rbx; bsf rdx, rbx; bsf rdx, rdx; rcl rax, 3; rcr rax, 3
    let bsr = [0x48, 0x0f, 0xbd, 0xd3];
    let bsf = [0x48, 0x0f, 0xbc, 0xd3];
    let chain = [0x48, 0x0f, 0xbc, 0xd2];
    let rcl = [0x48, 0xc1, 0xd0, 0x03];
    let rcr = [0x48, 0xc1, 0xd8, 0x03];
    for core in ["zen2", "zen3"] {
        check(&[(core, &bsr, 4.0, 0.02), (core, &bsf, 3.0, 0.02), (core, &chain, 3.0, 0.02)]);
    }
    for core in AMD {
        check(&[(core, &rcl, 4.0, 0.02), (core, &rcr, 3.0, 0.02)]);
    }
}

#[test]
fn exchanges_of_registers_are_renamed() {
    // xchg rax, rbx; xchg eax, ebx; fxch st1
    for code in [&[0x48, 0x93][..], &[0x93], &[0xd9, 0xc9]] {
        for core in AMD {
            let found = cycles(core, code);
            assert!(found < 0.36, "{core} {code:02x?}: {found}");
        }
    }
    // The value goes with the name: imul rax, rax; xchg rax, rbx has two chains.
    let two = [0x48, 0x0f, 0xaf, 0xc0, 0x48, 0x93];
    check(&[("zen3", &two, 1.5, 0.02), ("zen5", &two, 1.5, 0.02)]);
    // Intel's cores take three micro-ops.
    assert!(cycles("coffee-lake", &[0x48, 0x93]) >= 1.0);
}

#[test]
fn locked_forms_take_what_was_measured_with_their_load() {
    // lock add dword [rsp-16], 1; xchg [rsp-16], eax; lock or byte [rcx], 4
    for code in [
        &[0xf0, 0x83, 0x44, 0x24, 0xf0, 0x01][..],
        &[0x87, 0x44, 0x24, 0xf0],
        &[0xf0, 0x80, 0x09, 0x04],
    ] {
        check(&[
            ("ivy-bridge", code, 22.0, 0.1),
            ("coffee-lake", code, 18.0, 0.1),
            ("zen2", code, 17.7, 0.1),
            ("zen3", code, 7.5, 0.1),
            ("zen4", code, 7.7, 0.1),
            ("zen5", code, 19.7, 0.1),
        ]);
    }
    // cmpxchg [rsi], ecx, not locked
    let code = [0x0f, 0xb1, 0x0e];
    check(&[("zen4", &code, 9.0, 0.2), ("zen5", &code, 9.0, 0.02)]);
}

#[test]
fn string_instructions_and_the_direction_flag_take_what_was_measured() {
    // cmpsb, stosq, lodsb, scasb; movsb, which must not read what it wrote before; cld; std
    let single: [&[u8]; 4] = [&[0xa6], &[0x48, 0xab], &[0xac], &[0xae]];
    let copy = |core: &str| steady_at(&model(core), &[0xa4], vec![0x10_0000, 0x10_0100]).0;
    for core in AMD {
        for code in single {
            check(&[(core, code, 3.0, 0.06)]);
        }
        check(&[(core, &[0xfc], 3.0, 0.02), (core, &[0xfd], 4.0, 0.02)]);
        assert_near(copy(core), 3.0);
    }
    for core in ["ivy-bridge", "coffee-lake"] {
        check(&[(core, single[0], 4.0, 0.02), (core, &[0xfd], 4.0, 0.05)]);
        assert_near(copy(core), 4.0);
    }
}

#[test]
fn an_address_of_three_parts_takes_longer_from_its_base_than_from_its_index() {
    // lea rax, [rax+rcx+1]; lea rax, [rcx+rax+1]
    let base = [0x48, 0x8d, 0x44, 0x08, 0x01];
    let index = [0x48, 0x8d, 0x44, 0x01, 0x01];
    for core in ["zen3", "zen4", "zen5"] {
        check(&[(core, &base, 2.0, 0.02), (core, &index, 1.0, 0.02)]);
    }
    // lea rax, [rax+8*rcx], lea rax, [8*rax]
    for code in [&[0x48, 0x8d, 0x04, 0xc8][..], &[0x48, 0x8d, 0x04, 0xc5, 0, 0, 0, 0]] {
        check(&[("zen3", code, 1.0, 0.02), ("zen4", code, 1.0, 0.02), ("zen5", code, 1.0, 0.02)]);
    }
}
