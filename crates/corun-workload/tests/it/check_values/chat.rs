//! Every message reaches everybody else in the room, so the sum of all that is received has a closed
//! formula.

use proptest::prelude::*;

use super::{kernels, run_at_once};

/// The sum, and the messages delivered.
fn expected(members: u64, bytes: u64, messages: u64) -> (u64, u64) {
    let of_sender = |sender: u64| {
        let sent = messages / members + if sender == 0 { messages % members } else { 0 };
        let numbers = (sender + 1) * (sent * (sent + 1) / 2);
        (members - 1) * (numbers + sent * (bytes - 16) * (sender % 256))
    };
    ((0..members).map(of_sender).sum(), messages * (members - 1))
}

#[test]
fn chat_delivers_every_message_to_all_others() {
    let mut kernels = kernels("chat", &[], 2);
    for messages in [1, 2, 19, 20, 21, 1000, 4321] {
        let (sum, delivered) = expected(20, 100, messages);
        assert_eq!(run_at_once(&mut kernels, &[messages; 2]), [sum; 2], "{messages}");
        assert!(kernels.iter().all(|kernel| kernel.tallies() == [delivered]));
    }
}

/// Queues hold fewer of these messages than are sent.
#[test]
fn chat_waits_for_slow_members() {
    let mut kernels = kernels("chat", &["members=3".into(), "message=64KiB".into()], 1);
    assert_eq!(run_at_once(&mut kernels, &[200]), [expected(3, 64 << 10, 200).0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn chat_is_right_for_any_room(members in 2..9_u64, bytes in 16..300_u64, messages in 1..300_u64) {
        let parameters = [format!("members={members}"), format!("message={bytes}")];
        let mut kernels = kernels("chat", &parameters, 1);
        let (sum, delivered) = expected(members, bytes, messages);
        prop_assert_eq!(run_at_once(&mut kernels, &[messages]), vec![sum]);
        prop_assert_eq!(kernels[0].tallies(), vec![delivered]);
    }
}
