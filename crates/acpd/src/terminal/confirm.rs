//! Yes-or-no questions of commands.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use crate::exit::Exit;

/// Asks on the controlling terminal. Without one, fails and names `--yes`.
pub async fn confirm(question: &str) -> anyhow::Result<bool> {
    let question = question.to_owned();
    tokio::task::spawn_blocking(move || ask(&question)).await?
}

fn ask(question: &str) -> anyhow::Result<bool> {
    let Ok(mut terminal) = File::options().read(true).write(true).open("/dev/tty") else {
        return Err(Exit::Usage.error("there is no terminal to ask on; --yes does it without asking"));
    };
    write!(terminal, "{question} [y/N] ")?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
