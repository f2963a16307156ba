//! A message: who sent it, the how manyth of the sender's it is, and filling.

/// Number of members of a room, and of bytes of each message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) members: usize,
    pub(super) bytes: usize,
}

impl Shape {
    /// The messages that a member sends of so many: as many as the others, and the first member the
    /// rest.
    pub(super) fn share(self, member: usize, messages: u64) -> u64 {
        let members = self.members as u64;
        messages / members + if member == 0 { messages % members } else { 0 }
    }
}

/// The shortest message: the two numbers.
pub(super) const MIN_BYTES: usize = 16;

/// Writes the message into `message`.
pub(super) fn write(message: &mut [u8], sender: u64, sequence: u64) {
    let (numbers, filling) = message.split_at_mut(MIN_BYTES);
    numbers[..8].copy_from_slice(&sender.to_le_bytes());
    numbers[8..].copy_from_slice(&sequence.to_le_bytes());
    filling.fill(sender as u8);
}

/// Messages that a member has received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) messages: u64,
    /// The sum of the products of sender and sequence, both from 1, and of all bytes of the filling.
    pub(super) sum: u64,
}

/// A member's ear: it knows which message of each sender comes next.
pub(super) struct Listener {
    next: Vec<u64>,
    pub(super) received: Received,
}

impl Listener {
    pub(super) fn new(shape: Shape) -> Self {
        Self { next: vec![0; shape.members], received: Received::default() }
    }

    /// Takes a message, or says what is wrong with it.
    pub(super) fn hear(&mut self, message: &[u8]) -> Result<(), String> {
        let (numbers, filling) = message.split_at(MIN_BYTES);
        let number = |at: usize| {
            u64::from_le_bytes(numbers[at..at + 8].try_into().expect("eight bytes of sixteen"))
        };
        let (sender, sequence) = (number(0), number(8));
        let next = self.next.get_mut(sender as usize).ok_or("a message of no member")?;
        if *next != sequence {
            return Err(format!(
                "message {sequence} of member {sender} came when message {next} was due"
            ));
        }
        *next += 1;
        let filling: u64 = filling.iter().copied().map(u64::from).sum();
        let numbers = (sender + 1).wrapping_mul(sequence + 1);
        self.received.messages += 1;
        self.received.sum = self.received.sum.wrapping_add(numbers).wrapping_add(filling);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { members: 3, bytes: 20 };

    #[test]
    fn shares_add_up() {
        for messages in [0, 1, 2, 3, 4, 100] {
            let shares = (0..3).map(|member| SHAPE.share(member, messages));
            assert_eq!(shares.sum::<u64>(), messages);
        }
    }

    #[test]
    fn a_message_that_is_not_the_next_of_its_sender_is_noticed() {
        let mut listener = Listener::new(SHAPE);
        let mut message = [0; 20];
        write(&mut message, 2, 0);
        listener.hear(&message).unwrap();
        assert_eq!(listener.received, Received { messages: 1, sum: 3 + 4 * 2 });
        for (sender, sequence) in [(2, 0), (2, 2), (1, 1), (3, 0)] {
            write(&mut message, sender, sequence);
            listener.hear(&message).unwrap_err();
        }
        write(&mut message, 2, 1);
        listener.hear(&message).unwrap();
    }
}
