//! The command line, and what is said of one that has no meaning: there arguments are shown as everything
//! else that corun did not write itself.

use std::process::ExitCode;

use clap::Parser;
use corun_record::{excerpt, on_one_line, shown};

use crate::problem::complain;

/// What was asked for.
///
/// # Errors
/// The exit code, once help was shown or a mistake told.
pub fn command_line<T: Parser>() -> Result<T, ExitCode> {
    T::try_parse().map_err(|error| {
        let exit = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        if std::env::args_os().all(|argument| excerpt(&shown(&argument)).as_str() == argument) {
            // With its colours; whether anybody listens changes nothing.
            let _ = error.print();
        } else {
            complain(&mistake(&error.render().to_string()));
        }
        exit
    })
}

/// The mistake alone, on one line: in what follows it arguments cannot be told from clap's own lines.
fn mistake(rendered: &str) -> String {
    let end = ["\n\nUsage: ", "\n\nFor more information"]
        .iter()
        .filter_map(|it| rendered.rfind(it))
        .min();
    let sentence = rendered[..end.unwrap_or(rendered.len())].trim_end();
    format!("{}\n\nFor more information, try '--help'.", on_one_line(sentence))
}
