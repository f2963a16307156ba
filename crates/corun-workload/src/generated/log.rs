//! Text to search: the log of a web server.

use std::fmt::Write;

use super::Random;

/// At least `bytes` bytes of whole lines, each with a time, a client's address, a request, its
/// status, the bytes sent and the seconds it took.
pub(crate) fn log(bytes: usize) -> Vec<u8> {
    let mut random = Random::new(2);
    let mut text = String::with_capacity(bytes + 256);
    let mut milliseconds = 0;
    while text.len() < bytes {
        milliseconds += random.below(100);
        line(&mut random, milliseconds, &mut text);
    }
    text.into_bytes()
}

fn line(random: &mut Random, milliseconds: u64, text: &mut String) {
    let (seconds, thousandths) = (milliseconds / 1000, milliseconds % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let address = [(); 4].map(|()| random.below(256));
    let [a, b, c, d] = address;
    let method = random.one_of(&["GET", "GET", "GET", "GET", "HEAD", "POST", "PUT"]);
    let folder = random.one_of(&["albums", "artists", "images", "search", "tracks", "users"]);
    let item = random.below(100_000);
    let status = random.one_of(&["200", "200", "200", "200", "301", "304", "404", "500", "503"]);
    let sent = random.below(100_000);
    let took = random.below(1000);
    writeln!(
        text,
        "{hours:02}:{minutes:02}:{seconds:02}.{thousandths:03} {a}.{b}.{c}.{d} \
         \"{method} /{folder}/{item}\" {status} {sent} 0.{took:03}"
    )
    .expect("a string takes any text");
}
