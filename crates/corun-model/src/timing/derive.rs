//! Forms that take the same micro-ops as another, apart from loads and stores.
//!
//! Tables need not have a row for each combination of operands: a form with memory computes what the form
//! with a register does.

/// Names of forms that compute the same as this one, the nearest first.
pub(super) fn candidates(form: &str) -> impl Iterator<Item = String> {
    let bare = form.strip_suffix(" {k}");
    let mut names = Vec::new();
    // A repeated string instruction does what one does, for each element.
    if let Some(once) = form.strip_prefix("rep ").or_else(|| form.strip_prefix("repne ")) {
        names.push(once.to_owned());
    }
    if let Some(bare) = bare {
        names.push(bare.to_owned());
    }
    let bare = bare.unwrap_or(form);
    let bare = bare.strip_prefix("lock ").is_none().then_some(bare);
    let words: Vec<&str> = bare.unwrap_or_default().split(' ').collect();
    let place = words.iter().position(|word| is_memory(word));
    if let Some(place) = place.filter(|_| !only_copies(words[0])) {
        for kind in replacements(words[place], &words) {
            let mut words = words.clone();
            words[place] = kind;
            names.push(words.join(" "));
        }
    }
    names.into_iter()
}

/// Names of the forms that have a register instead of this one's memory, the nearest first; none where the
/// register would be a general-purpose one beside a vector, which is another way to go.
pub fn with_registers(form: &str) -> impl Iterator<Item = String> {
    let has_vector = form.split(' ').any(|word| matches!(word, "x" | "y" | "z" | "mm"));
    let own: Vec<String> = form.split(' ').map(str::to_owned).collect();
    let is_masked = form.ends_with(" {k}");
    candidates(form).filter(move |name| {
        let mut changed = name.split(' ').zip(&own).filter(|(one, other)| one != other);
        !is_masked && !changed.any(|(one, _)| has_vector && one.starts_with('r'))
    })
}

/// With a register instead of memory, these are another micro-op than a load or store.
fn only_copies(mnemonic: &str) -> bool {
    let bare = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    ["mov", "broadcast", "pbroadcast", "lddqu", "push", "pop", "pextr", "extract"]
        .iter()
        .any(|start| bare.starts_with(start))
}

fn is_memory(word: &str) -> bool {
    let width = word.strip_prefix('m').map(|width| width.strip_suffix('b').unwrap_or(width));
    width
        .is_some_and(|width| !width.is_empty() && width.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Kinds of register that the instruction may take instead of this memory.
fn replacements(memory: &str, words: &[&str]) -> Vec<&'static str> {
    let widest = ["z", "y", "x"].into_iter().find(|kind| words.contains(kind));
    if memory.ends_with('b') {
        return widest.into_iter().collect();
    }
    let general = match memory {
        "m8" => Some("r8"),
        "m16" => Some("r16"),
        "m32" => Some("r32"),
        "m64" => Some("r64"),
        _ => None,
    };
    let vector = match memory {
        "m512" => "z",
        "m256" => "y",
        _ => "x",
    };
    let others = if words.contains(&"mm") {
        Some("mm")
    } else if words.contains(&"k") {
        Some("k")
    } else {
        None
    };
    // Beside a vector, a number in memory is a vector's element more often than a general register.
    let (first, second) = match widest {
        Some(_) => (Some(vector), general),
        None => (general, Some(vector)),
    };
    others.into_iter().chain(first).chain(second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_registers_for_memory() {
        let first = |form| candidates(form).next();
        assert_eq!(first("add r64 m64").as_deref(), Some("add r64 r64"));
        assert_eq!(first("addsd x m64").as_deref(), Some("addsd x x"));
        assert_eq!(first("vpaddd z z m32b").as_deref(), Some("vpaddd z z z"));
        assert_eq!(first("vpaddd y y m256 {k}").as_deref(), Some("vpaddd y y m256"));
        assert_eq!(first("rep movsb").as_deref(), Some("movsb"));
        assert_eq!(first("lock add m64 r64"), None);
        assert_eq!(first("vgatherdps y vm32y y"), None);
        assert_eq!(first("add r64 r64"), None);
        assert_eq!(first("movzx r32 m8"), None);
    }
}
