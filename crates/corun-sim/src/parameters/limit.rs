//! Limit of the entries of a buffer that a thread may take, beside siblings that want them too.

use corun_model::{Policy, Sharing};

/// The entries of one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The most of one thread.
    pub(crate) own: u32,
    /// The most of all threads together.
    pub(crate) all: u32,
    /// The most of a thread whose siblings are halted.
    pub(crate) alone: u32,
}

impl Limit {
    /// Of a buffer, when so many threads are active.
    pub(crate) fn of(entries: u32, sharing: &Sharing, active: u32) -> Self {
        let own = match sharing.policy {
            _ if active <= 1 => entries,
            Policy::Partitioned => (entries / active).max(1),
            Policy::Shared => sharing.cap.unwrap_or(entries).min(entries),
            Policy::Replicated | Policy::Alternating => entries,
        };
        let is_common = matches!(sharing.policy, Policy::Shared | Policy::Alternating);
        let all = if is_common { entries } else { u32::MAX };
        Self { own, all, alone: entries }
    }

    /// Of two buffers that so many active threads use as one.
    pub(crate) fn and(self, other: Self, active: u32) -> Self {
        let all = |limit: Self| match limit.all {
            u32::MAX => limit.own.saturating_mul(active),
            all => all,
        };
        let is_common = self.all != u32::MAX || other.all != u32::MAX;
        Self {
            own: self.own + other.own,
            all: if is_common { all(self).saturating_add(all(other)) } else { u32::MAX },
            alone: self.alone + other.alone,
        }
    }

    /// True if a thread that holds `own` of the `all` taken entries gets `wanted` more.
    #[inline]
    pub(crate) fn has_room(self, own: u32, all: u32, wanted: u32) -> bool {
        own + wanted <= self.own && u64::from(all) + u64::from(wanted) <= u64::from(self.all)
    }

    /// True if it would get them if its siblings were halted.
    pub(crate) fn is_taken(self, own: u32, wanted: u32) -> bool {
        own + wanted <= self.alone
    }
}

#[cfg(test)]
mod tests {
    use crate::parameters::limit::*;

    fn limit(policy: Policy, cap: Option<u32>, active: u32) -> Limit {
        let sharing = Sharing { policy, cap, source: "a test".into(), assumed: true };
        Limit::of(64, &sharing, active)
    }

    #[test]
    fn parts_are_whole_again_when_the_siblings_halt() {
        let two = limit(Policy::Partitioned, None, 2);
        assert!(two.has_room(31, 63, 1) && !two.has_room(32, 32, 1));
        assert!(two.is_taken(32, 1) && !two.is_taken(64, 1));
        assert!(limit(Policy::Partitioned, None, 1).has_room(63, 63, 1));
    }

    #[test]
    fn a_common_buffer_has_room_for_whoever_comes_first_up_to_its_cap() {
        let common = limit(Policy::Shared, Some(48), 2);
        assert!(common.has_room(47, 47, 1) && !common.has_room(48, 48, 1));
        assert!(!common.has_room(20, 64, 1), "the sibling has the others");
        assert!(limit(Policy::Shared, Some(48), 1).has_room(63, 63, 1), "no cap alone");
    }

    #[test]
    fn two_buffers_in_a_row_keep_their_policies() {
        let [common, parts, own] = [Policy::Shared, Policy::Partitioned, Policy::Replicated]
            .map(|policy| limit(policy, None, 2));
        assert_eq!(common.and(common, 2), Limit { own: 128, all: 128, alone: 128 });
        assert_eq!(common.and(parts, 2), Limit { own: 96, all: 128, alone: 128 });
        assert_eq!(common.and(own, 2), Limit { own: 128, all: 192, alone: 128 });
        assert_eq!(parts.and(own, 2), Limit { own: 96, all: u32::MAX, alone: 128 });
    }

    #[test]
    fn a_copy_of_its_own_never_notices_the_sibling() {
        let own = limit(Policy::Replicated, None, 2);
        assert!(own.has_room(63, 127, 1) && !own.has_room(64, 64, 1));
    }
}
