//! Questions of commands that are answered with a line.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

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

/// Asks as [`ask`] does, and does not show what is typed.
pub async fn ask_hidden(question: &str) -> anyhow::Result<String> {
    // Ctrl-C ends this task and not the thread that reads.
    let _hidden = Hidden::begin()?;
    let answer = ask(question).await?;
    print::err("\n");
    Ok(answer)
}

/// Hides what is typed on the controlling terminal until it is dropped.
struct Hidden(File, Termios);

impl Hidden {
    fn begin() -> anyhow::Result<Self> {
        let terminal = open_terminal()?;
        let before = tcgetattr(&terminal)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &modes)?;
        Ok(Self(terminal, before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // There is nothing else to do for a terminal that has gone.
        let _ = tcsetattr(&self.0, OptionalActions::Now, &self.1);
    }
}

fn open_terminal() -> anyhow::Result<File> {
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    terminal.map_err(|_| Exit::Usage.error("there is no terminal to ask on"))
}

fn read(question: &str) -> anyhow::Result<String> {
    let mut terminal = open_terminal()?;
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
