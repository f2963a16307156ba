//! The indices of a job array as Slurm writes them: `0-2,5`, with a limit of tasks at once after `%`.

/// Reads a list; what is cut off at its end (`...`) or makes no sense is left out.
pub(super) fn from_text(text: &str) -> Vec<u32> {
    let list = text.split('%').next().unwrap_or_default();
    let list = list.trim_matches(['[', ']']);
    let mut indices = Vec::new();
    for part in list.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last), Ok(step)) =
            (first.parse::<u32>(), last.parse::<u32>(), step.parse::<usize>())
            && step > 0
        {
            // MaxArraySize is at most 4000001.
            let most: u32 = 4_000_001;
            indices.extend((first..=last.min(most)).step_by(step));
        }
    }
    indices
}

/// Writes ascending indices as short as possible.
pub(super) fn to_text(indices: &[u32]) -> String {
    let runs = indices.chunk_by(|before, next| before + 1 == *next);
    let written = runs.map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => unreachable!("a run has an index"),
    });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_of_slurm_are_read() {
        assert_eq!(from_text("1-3%2"), [1, 2, 3]);
        assert_eq!(from_text("[0,4,6-7]"), [0, 4, 6, 7]);
        assert_eq!(from_text("0-6:3"), [0, 3, 6]);
        assert_eq!(from_text("2,5,..."), [2, 5]);
        assert!(
            from_text("").is_empty()
                && from_text("7-3").is_empty()
                && from_text("1-9:0").is_empty()
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(indices in proptest::collection::btree_set(0_u32..2000, 0..60)) {
            let list: Vec<u32> = indices.iter().copied().collect();
            let again: BTreeSet<u32> = from_text(&to_text(&list)).into_iter().collect();
            prop_assert_eq!(again, indices);
        }

        #[test]
        fn no_text_is_too_odd(text in "[0-9,:%.\\-]{0,20}") {
            from_text(&text);
        }
    }
}
