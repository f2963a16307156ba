//! Accesses to a page whose translation the first level does not have yet: each has taken its port for nothing, and is issued
//! again when the translation is there.

use smallvec::SmallVec;

use corun_model::CoreModel;

/// Bits of an offset in a page.
const PAGE_SHIFT: u32 = 12;

/// Pages whose translations are on their way.
#[derive(Debug)]
pub(super) struct LateTranslations {
    is_repeated: bool,
    pages: SmallVec<[(u64, u64); 8]>,
}

impl LateTranslations {
    pub(super) fn of(model: &CoreModel) -> Self {
        Self { is_repeated: model.memory.dtlb.repeats, pages: SmallVec::new() }
    }

    /// When an access that begins `now` has its translation, which takes it `cycles` if it is not on its way already, and
    /// how often it is repeated.
    pub(super) fn access(&mut self, linear: u64, now: u64, cycles: u64) -> (u64, u32) {
        if !self.is_repeated {
            return (now, 0);
        }
        self.pages.retain(|(_, from)| *from > now);
        let page = linear >> PAGE_SHIFT;
        if let Some(&(_, from)) = self.pages.iter().find(|(late, _)| *late == page) {
            return (from, 1);
        }
        if cycles == 0 {
            return (now, 0);
        }
        self.pages.push((page, now + cycles));
        (now + cycles, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_accesses_to_a_page_wait_for_its_translation() {
        let mut late = LateTranslations { is_repeated: true, pages: SmallVec::new() };
        assert_eq!(late.access(0x1000, 5, 0), (5, 0));
        assert_eq!(late.access(0x2000, 5, 9), (14, 1));
        assert_eq!(late.access(0x2ff8, 8, 0), (14, 1));
        assert_eq!(late.access(0x1000, 8, 0), (8, 0));
        assert_eq!(late.access(0x2ff8, 14, 0), (14, 0));
    }
}
