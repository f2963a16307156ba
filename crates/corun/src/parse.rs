//! The command line, and what is said of one that has no meaning: there arguments are shown as everything
//! else that corun did not write itself.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use corun_record::{excerpt, on_one_line, shown};

use crate::problem::{Problem, complain};
use crate::{terminal, version};

/// What was asked for.
///
/// # Errors
/// The exit code, once help was shown or a mistake reported.
pub(crate) fn command_line<T: Parser>() -> Result<T, ExitCode> {
    T::try_parse().map_err(|error| {
        let exit = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        if !error.use_stderr() {
            return answered(&error, exit);
        }
        if std::env::args_os().all(|argument| excerpt(&shown(&argument)).as_str() == argument) {
            // With its colours; a closed output changes nothing.
            let _ = error.print();
        } else {
            complain(&mistake(&error.render().to_string()));
        }
        exit
    })
}

/// Help and the version are what was asked for: one that cannot be written is a failure.
fn answered(answer: &clap::Error, exit: ExitCode) -> ExitCode {
    let text = answer.render();
    let is_version = answer.kind() == ErrorKind::DisplayVersion;
    let shown = match terminal::has_colour() {
        _ if is_version && version::wants_notices() => {
            terminal::show(&format!("{text}\n{}", version::NOTICES))
        }
        true => terminal::show_coloured(&text.ansi().to_string()),
        false => terminal::show(&text.to_string()),
    };
    shown.map_or_else(|error| Problem::from(error).report(), |()| exit)
}

/// The mistake alone, on one line: in what follows it arguments is unknown from clap's own lines.
fn mistake(rendered: &str) -> String {
    let end = ["\n\nUsage: ", "\n\nFor more information"]
        .iter()
        .filter_map(|it| rendered.rfind(it))
        .min();
    let sentence = rendered[..end.unwrap_or(rendered.len())].trim_end();
    format!("{}\n\nFor more information, try '--help'.", on_one_line(sentence))
}
