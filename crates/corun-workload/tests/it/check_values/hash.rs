//! Digests by SHA-256 as its standard writes it down.

use super::generated::Random;
use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn hash_chains_the_digests_of_its_messages() {
    for (message, most) in [(32, 5000), (55, 5000), (56, 5000), (100, 5000), (16 << 10, u64::MAX)] {
        let mut kernels = kernels("hash", &[format!("message={message}")], 2);
        for operations in OPERATIONS.into_iter().filter(|&operations| operations <= most) {
            let expected = hash_check(message, operations as usize);
            let case = format!("{operations} bytes in messages of {message}");
            assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
        }
    }
}

fn hash_check(message: usize, mut bytes: usize) -> u64 {
    let mut random = Random::new(5);
    let mut message: Vec<u8> = (0..message).map(|_| random.any() as u8).collect();
    while bytes > 0 {
        let length = message.len().min(bytes);
        let digest = sha256(&message[..length]);
        message[..32].copy_from_slice(&digest);
        bytes -= length;
    }
    u64::from_be_bytes(*message.first_chunk().unwrap())
}

/// FIPS 180-4, section 6.2, with the constants from their definition in section 4.2.2: the first 32
/// bits of the fractional parts of cube roots (of square roots for the first state) of primes.
fn sha256(message: &[u8]) -> [u8; 32] {
    let primes: Vec<u32> = (2..312).filter(|&n| (2..n).all(|divisor| n % divisor != 0)).collect();
    let constants: Vec<u32> =
        primes.iter().map(|&prime| fraction(f64::from(prime).cbrt())).collect();
    let mut state: [u32; 8] = std::array::from_fn(|n| fraction(f64::from(primes[n]).sqrt()));

    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((message.len() + 9).next_multiple_of(64) - 8, 0);
    padded.extend((8 * message.len() as u64).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words: Vec<u32> = block
            .chunks_exact(4)
            .map(|bytes| u32::from_be_bytes(*bytes.first_chunk().unwrap()))
            .collect();
        for t in 16..64 {
            let [w2, w7, w15, w16] = [2, 7, 15, 16].map(|back| words[t - back]);
            let small_sigma_0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
            let small_sigma_1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
            words
                .push(w16.wrapping_add(small_sigma_0).wrapping_add(w7).wrapping_add(small_sigma_1));
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for (constant, word) in constants.iter().zip(words) {
            let sigma_1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let first = [sigma_1, choice, *constant, word].into_iter().fold(h, u32::wrapping_add);
            let sigma_0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            let second = sigma_0.wrapping_add(majority);
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(second));
        }
        for (sum, word) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(word);
        }
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn fraction(number: f64) -> u32 {
    (number.fract() * 2_f64.powi(32)) as u32
}

#[test]
fn the_digest_of_the_standards_example_is_known() {
    let digest = sha256(b"abc");
    assert_eq!(digest[..8], [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]);
    assert_eq!(digest[24..], [0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad]);
}
