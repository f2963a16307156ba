//! Text for compressors: words that differ in frequency as in a natural language, so that there is
//! as much for a compressor to find.

use super::Random;

/// Different words: 2 to the power of this many.
const VOCABULARY_BITS: u64 = 14;

/// `bytes` bytes of sentences made of invented words, the k-th word about as frequent as 1/k (Zipf's
/// law), in paragraphs.
pub(crate) fn prose(bytes: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    let vocabulary: Vec<String> = (0..1 << VOCABULARY_BITS).map(|_| word(&mut random)).collect();
    let mut text = String::with_capacity(bytes + 256);
    while text.len() < bytes {
        let words = 4 + random.below(14);
        for position in 0..words {
            let range = 1 << random.below(VOCABULARY_BITS + 1);
            text.push_str(&vocabulary[random.below(range) as usize]);
            text.push_str(if position + 1 < words { " " } else { ". " });
        }
        if random.below(6) == 0 {
            text.push('\n');
        }
    }
    text.truncate(bytes);
    text.into_bytes()
}

/// One to four syllables.
fn word(random: &mut Random) -> String {
    let mut word = String::new();
    for _ in 0..=random.below(4) {
        word.push_str(
            random.one_of(&["b", "d", "f", "k", "l", "m", "n", "r", "s", "st", "t", "w"]),
        );
        word.push_str(random.one_of(&["a", "e", "e", "i", "o", "u", "ea"]));
        word.push_str(random.one_of(&["", "", "n", "r", "s", "t"]));
    }
    word
}
