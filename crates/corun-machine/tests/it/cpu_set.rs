//! CPU sets in the text forms of the kernel.

use corun_machine::{CpuSet, CpuSetError, HIGHEST_CPU};
use proptest::prelude::*;

fn list(text: &str) -> Vec<u32> {
    CpuSet::from_list(text).unwrap().as_slice().to_vec()
}

fn mask(text: &str) -> Vec<u32> {
    CpuSet::from_mask(text).unwrap().as_slice().to_vec()
}

#[test]
fn lists_as_kernels_write_them() {
    assert_eq!(list("0-3,8\n"), [0, 1, 2, 3, 8]);
    assert_eq!(list(""), [0u32; 0]);
    assert_eq!(list("\0\0\n"), [0u32; 0]);
    assert_eq!(list("7\n\0\0\0"), [7]);
    assert_eq!(list("8,0-1,1"), [0, 1, 8]);
    // A stride: the first 2 of each 4 (Documentation/admin-guide/kernel-parameters.rst).
    assert_eq!(list("0-9:2/4"), [0, 1, 4, 5, 8, 9]);
}

#[test]
fn masks_as_kernels_write_them() {
    assert_eq!(mask("ff\n"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(mask("1,00000000,80000001"), [0, 31, 64]);
    assert_eq!(mask("00000000,00000000"), [0u32; 0]);
    assert_eq!(mask("\0"), [0u32; 0]);
}

#[test]
fn damage_is_an_error_that_quotes_it() {
    for wrong in ["a", "1-", "-1", "3-1", "1--2", "+1", "0-3:0/2", "0-3:3/2", "0-3:1", "0x1"] {
        let error = CpuSet::from_list(wrong).unwrap_err();
        assert_eq!(error, CpuSetError::NoListElement(wrong.to_owned()));
        assert!(error.to_string().contains(wrong));
    }
    for wrong in ["g", "+1", "123456789"] {
        assert_eq!(CpuSet::from_mask(wrong), Err(CpuSetError::NoMaskWord(wrong.to_owned())));
    }
    assert_eq!(CpuSet::from_mask("1,,2"), Err(CpuSetError::NoMaskWord(String::new())));
    let beyond = u64::from(HIGHEST_CPU) + 1;
    assert_eq!(CpuSet::from_list(&beyond.to_string()), Err(CpuSetError::TooHigh(beyond)));
    assert!(CpuSet::from_list("0-99999999999").is_err());
    assert!(CpuSet::from_list("99999999999999999999999").is_err());
}

fn sets() -> impl Strategy<Value = CpuSet> {
    prop::collection::vec(0..2000u32, 0..80).prop_map(|numbers| numbers.into_iter().collect())
}

fn as_mask(set: &CpuSet) -> String {
    let words = set.iter().next_back().unwrap_or(0) / 32;
    let word = |word: u32| {
        set.iter().filter(|cpu| cpu / 32 == word).map(|cpu| 1u32 << (cpu % 32)).sum::<u32>()
    };
    (0..=words).rev().map(|index| format!("{:08x}", word(index))).collect::<Vec<_>>().join(",")
}

proptest! {
    #[test]
    fn both_forms_read_back_what_was_written(set in sets()) {
        prop_assert_eq!(&set.to_string().parse::<CpuSet>().unwrap(), &set);
        prop_assert_eq!(&CpuSet::from_mask(&as_mask(&set)).unwrap(), &set);
        let json = serde_json::to_string(&set).unwrap();
        prop_assert_eq!(&serde_json::from_str::<CpuSet>(&json).unwrap(), &set);
    }

    #[test]
    fn members_ascend_without_duplicates(numbers in prop::collection::vec(0..50u32, 0..80)) {
        let mut inserted = CpuSet::new();
        numbers.iter().for_each(|&number| inserted.insert(number));
        prop_assert!(inserted.as_slice().is_sorted_by(|one, next| one < next));
        prop_assert!(numbers.iter().all(|&number| inserted.contains(number)));
        prop_assert_eq!(numbers.into_iter().collect::<CpuSet>(), inserted);
    }

    #[test]
    fn set_operations_agree_with_membership(one in sets(), other in sets()) {
        for cpu in one.union(&other).iter() {
            prop_assert!(one.contains(cpu) || other.contains(cpu));
            prop_assert_eq!(one.intersection(&other).contains(cpu), one.contains(cpu) && other.contains(cpu));
            prop_assert_eq!(one.difference(&other).contains(cpu), one.contains(cpu) && !other.contains(cpu));
        }
        prop_assert_eq!(one.union(&other).len(), one.len() + other.difference(&one).len());
        prop_assert_eq!(one.is_disjoint(&other), one.intersection(&other).is_empty());
        prop_assert!(one.intersection(&other).is_subset(&one));
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,40}", almost in "[0-9,:/x\\- \\x00-\\x20a-f]{0,40}") {
        for text in [text, almost] {
            let _ = CpuSet::from_list(&text);
            let _ = CpuSet::from_mask(&text);
        }
    }
}
