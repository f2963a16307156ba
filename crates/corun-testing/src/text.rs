//! Something to compress that is the same on every machine: words that follow each other like those of
//! a language, few of them often and many of them rarely, with numbers in between.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const WORDS: usize = 20_000;

/// So many bytes, and the rest of the last line.
pub fn text(bytes: usize) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let words: Vec<String> = (0..WORDS).map(|_| word(&mut random)).collect();
    let mut text = String::with_capacity(bytes + 100);
    while text.len() < bytes {
        for _ in 0..random.random_range(4..14) {
            if random.random_range(0..20) == 0 {
                let number = random.random_range(0..10_000);
                write!(text, "{number} ").expect("a string takes everything");
            } else {
                // The rank of a word falls off as in Zipf's law.
                let rank = (WORDS as f64).powf(random.random::<f64>()) as usize - 1;
                text.push_str(&words[rank]);
                text.push(' ');
            }
        }
        text.push('\n');
    }
    text
}

fn word(random: &mut ChaCha8Rng) -> String {
    (0..random.random_range(2..11)).map(|_| random.random_range(b'a'..=b'z') as char).collect()
}
