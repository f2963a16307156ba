//! Lines that a shell understands and nothing else: by their first word, or by their syntax.

/// Commands and words of the POSIX shell (POSIX.1-2024, 2.4 and 2.15) that are no programs.
const SHELL: &[&str] = &[
    ".", ":", "!", "{", "(", "alias", "bg", "break", "case", "cd", "command", "continue", "eval",
    "exec", "exit", "export", "fc", "fg", "for", "getopts", "hash", "if", "jobs", "read",
    "readonly", "return", "set", "shift", "time", "times", "trap", "type", "ulimit", "umask",
    "unalias", "unset", "until", "wait", "while",
];

/// Commands that only bash has (its manual, "Bash Builtin Commands" and "Compound Commands").
const BASH: &[&str] = &[
    "((",
    "[[",
    "bind",
    "builtin",
    "caller",
    "compgen",
    "complete",
    "declare",
    "dirs",
    "disown",
    "enable",
    "function",
    "help",
    "history",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "select",
    "shopt",
    "source",
    "suspend",
    "typeset",
];

/// Operators that a shell would not hand on.
pub(super) const OPERATORS: &[&str] =
    &["|", "||", "&&", "|&", "&", ">", ">>", "<", "2>", "2>>", "2>&1", "&>"];

/// Characters that mean something to a shell where they are not quoted (POSIX.1-2024, 2.2).
const SYNTAX: &str = "|&;<>()$`*?[~#\n";

/// Meaning of a name that no program has.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// A program that is not there.
    Program,
    /// A program with its arguments, in one word.
    Words(Vec<String>),
    /// A variable to set before the program.
    Environment,
    /// A line for this shell.
    Shell(&'static str),
}

impl Meant {
    pub(super) fn by(name: &str) -> Self {
        let has_spaces = name.contains(char::is_whitespace);
        match shell_of(name) {
            Some(_) if !has_spaces && is_assignment(name) => return Self::Environment,
            Some(shell) => return Self::Shell(shell),
            None => {}
        }
        let is_syntax = |character: char| SYNTAX.contains(character) || "\"'\\".contains(character);
        match shell_words::split(name) {
            Ok(words) if has_spaces && !name.contains(is_syntax) && !words.is_empty() => {
                Self::Words(words)
            }
            _ if name.contains(is_syntax) => Self::Shell("sh"),
            _ => Self::Program,
        }
    }
}

/// Shell that a line is for by its first word: a command or word that is no program, or a variable that is set.
pub(super) fn shell_of(line: &str) -> Option<&'static str> {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_posix = SHELL.contains(&first) || OPERATORS.contains(&first) || is_assignment(first);
    match BASH.contains(&first) {
        true => Some("bash"),
        false => is_posix.then_some("sh"),
    }
}

/// True if a line has syntax of the shell outside of quotes, which words alone would lose.
pub(super) fn needs_shell(line: &str) -> bool {
    let (mut quote, mut is_escaped, mut starts_word) = (None, false, true);
    for it in line.chars() {
        let (was_escaped, at_start) = (is_escaped, starts_word);
        (is_escaped, starts_word) = (false, quote.is_none() && it.is_whitespace());
        match (it, quote) {
            _ if was_escaped => {}
            ('\\', None | Some('"')) => is_escaped = true,
            (_, Some(open)) if it == open => quote = None,
            ('$' | '`', Some('"')) => return true,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(it),
            // Within a word these are letters.
            ('~' | '#', None) if !at_start => {}
            (_, None) if SYNTAX.contains(it) => return true,
            _ => {}
        }
    }
    false
}

/// True if a word is `NAME=VALUE`.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
            && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_shell_is_distinguished_from_a_missing_program() {
        let words = |words: &[&str]| Meant::Words(words.iter().map(|&it| it.to_owned()).collect());
        for (name, meant) in [
            ("slep", Meant::Program),
            ("./missing", Meant::Program),
            ("", Meant::Program),
            ("sleep 0.1", words(&["sleep", "0.1"])),
            ("./run -j {workers}", words(&["./run", "-j", "{workers}"])),
            ("cd", Meant::Shell("sh")),
            ("ulimit -n 64", Meant::Shell("sh")),
            ("source", Meant::Shell("bash")),
            ("[[ -e x ]]", Meant::Shell("bash")),
            ("a | b", Meant::Shell("sh")),
            ("a&&b", Meant::Shell("sh")),
            ("ls *.c", Meant::Shell("sh")),
            ("echo 'unbalanced", Meant::Shell("sh")),
            ("OMP_NUM_THREADS=4", Meant::Environment),
            ("OMP_NUM_THREADS=4 ./run", Meant::Shell("sh")),
            ("a-b=c", Meant::Program),
            ("xz -T{workers} x | wc -c", Meant::Shell("sh")),
            ("OMP_NUM_THREADS={workers}", Meant::Environment),
        ] {
            assert_eq!(Meant::by(name), meant, "{name}");
        }
    }

    #[test]
    fn a_line_needs_a_shell_for_syntax_outside_of_quotes() {
        for line in [
            "a | b",
            "a>b",
            "a; b",
            "a &",
            "ls *.c",
            "ls a?",
            "echo $HOME",
            "echo \"$HOME\"",
            "a\nb",
            "echo \"`a`\"",
            "ls ~",
            "a # b",
            "(a)",
        ] {
            assert!(needs_shell(line), "{line}");
        }
        for line in [
            "a b",
            "a 'b | c'",
            "a \"b; c\"",
            "a b\\;c",
            "a 'it $x'",
            "a~",
            "a#b",
            "a \"\\$x\"",
            "a {workers}",
        ] {
            assert!(!needs_shell(line), "{line}");
        }
    }
}
