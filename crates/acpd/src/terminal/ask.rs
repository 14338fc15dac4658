//! Questions of commands that are answered with a line.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use super::print;
use crate::exit::Exit;

/// Asks on the controlling terminal. Returns the answer without its line end.
pub async fn ask(question: &str) -> anyhow::Result<String> {
    let question = question.to_owned();
    tokio::task::spawn_blocking(move || read(&question)).await?
}

/// Asks until `accept` takes the answer. Its error says what to type.
pub async fn repeat_until<T>(
    question: &str,
    accept: impl Fn(&str) -> Result<T, String>,
) -> anyhow::Result<T> {
    loop {
        match accept(&ask(question).await?) {
            Ok(answer) => return Ok(answer),
            Err(advice) => print::err(&format!("{advice}\n")),
        }
    }
}

fn read(question: &str) -> anyhow::Result<String> {
    let Ok(mut terminal) = File::options().read(true).write(true).open("/dev/tty") else {
        return Err(Exit::Usage.error("there is no terminal to ask on"));
    };
    write!(terminal, "{question}")?;
    terminal.flush()?;
    let mut answer = String::new();
    let read = BufReader::new(terminal).read_line(&mut answer)?;
    if read == 0 {
        // Ctrl-D: the user answers nothing more.
        print::err("\n");
        return Err(Exit::Interrupted.error("no answer; nothing was changed"));
    }
    Ok(answer.trim_end_matches(['\n', '\r']).to_owned())
}
