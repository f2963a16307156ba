//! Documents to parse: JSON as services exchange it.

use std::fmt::Write;

use super::Random;

/// At least `bytes` bytes of JSON: an object a line, with its keys in alphabetical order, no space
/// and every number as short as it can be, hence as a parser that sorts the keys writes it again.
pub(crate) fn records(bytes: usize) -> Vec<u8> {
    let mut random = Random::new(3);
    let mut text = String::with_capacity(bytes + 1024);
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        record(&mut random, number, &mut text);
    }
    text.into_bytes()
}

fn record(random: &mut Random, number: u64, text: &mut String) {
    let active = random.below(4) > 0;
    let city = random.one_of(&["Kraków", "Lima", "Łódź", "Oslo", "Osaka", "Perth", "Zürich"]);
    let name = random.one_of(&["Ada", "Edsger", "Frances", "Grace", "Ken", "Radia", "Tony"]);
    let latitude = random.below(180) as i64 - 90;
    let tenth = 1 + random.below(9);
    write!(
        text,
        "{{\"active\":{active},\"address\":{{\"city\":\"{city}\",\"latitude\":{latitude}.{tenth},\
         \"line\":\"{} Mill Lane\\nBox {}\"}},\"id\":{number},\"manager\":null,\"name\":\"{name}\",\
         \"orders\":[",
        random.below(300),
        random.below(1000),
    )
    .and_then(|()| {
        for order in 0..random.below(6) {
            let comma = if order == 0 { "" } else { "," };
            let (item, price) = (random.any() >> 24, random.below(500));
            let tenth = 1 + random.below(9);
            write!(
                text,
                "{comma}{{\"item\":{item},\"price\":{price}.{tenth},\"quantity\":{order}}}"
            )?;
        }
        text.write_str("]}\n")
    })
    .expect("a string takes any text");
}
