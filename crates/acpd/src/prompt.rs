//! Asking the person at the terminal.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::cli::Permissions;
use crate::print;
use crate::render::plain;

/// The daemon's questions, answered one after the other.
pub struct Questions {
    how: Permissions,
    open: VecDeque<Question>,
    terminal: Option<Terminal>,
}

struct Question {
    /// Under which id it is to be answered.
    id: Value,
    params: Value,
    /// Whether it is on the screen.
    shown: bool,
}

impl Questions {
    /// None yet. `how` they are to be answered.
    pub fn new(how: Permissions) -> Self {
        Self {
            how,
            open: VecDeque::new(),
            terminal: None,
        }
    }

    /// Takes a question.
    pub fn add(&mut self, id: Value, params: Value) {
        let shown = false;
        self.open.push_back(Question { id, params, shown });
    }

    /// A question has been answered, by whomever.
    pub fn settled(&mut self, request: &Value) {
        let before = self.open.len();
        let shown = self.open.front().is_some_and(|first| first.shown);
        self.open
            .retain(|question| question.params["requestId"] != *request);
        let first = self.open.front().is_some_and(|first| first.shown);
        if self.open.len() < before && shown && !first {
            print::err("\nacpd: the question is no longer open\n");
        }
    }

    /// The next answer: a request's id and its `result`. Waits for ever if nothing is asked. Safe to cancel.
    pub async fn next(&mut self) -> (Value, Value) {
        let Some(question) = self.open.front_mut() else {
            return std::future::pending().await;
        };
        let result = match self.how {
            Permissions::Allow => json!({ "decision": "accept" }),
            Permissions::Deny => json!({ "decision": "decline" }),
            Permissions::Ask => match ask(&mut self.terminal, question).await {
                Ok(option) => json!({ "decision": "accept", "optionId": option }),
                Err(error) => {
                    print::err(&format!(
                        "acpd: declined, since nobody can be asked: {error} (see --permissions)\n"
                    ));
                    json!({ "decision": "decline" })
                }
            },
        };
        let id = question.id.take();
        self.open.pop_front();
        (id, result)
    }
}

/// The terminal itself: standard input and output may be pipes.
struct Terminal {
    out: File,
    /// What is typed, line by line.
    lines: mpsc::Receiver<String>,
}

impl Terminal {
    fn open() -> std::io::Result<Self> {
        let out = File::options().read(true).write(true).open("/dev/tty")?;
        let typed = BufReader::new(out.try_clone()?).lines();
        let (told, lines) = mpsc::channel(16);
        // A thread of its own, which ends with the process: a read from a terminal cannot be given up.
        std::thread::spawn(move || {
            for line in typed.map_while(Result::ok) {
                if told.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { out, lines })
    }
}

/// Shows a question and waits for a choice.
async fn ask(terminal: &mut Option<Terminal>, question: &mut Question) -> anyhow::Result<String> {
    let terminal = match terminal {
        Some(open) => open,
        None => terminal.insert(Terminal::open()?),
    };
    let options = question.params["options"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if !question.shown {
        // What was typed before the question is no answer to it.
        while terminal.lines.try_recv().is_ok() {}
        writeln!(terminal.out, "\n{}", wording(&question.params))?;
        for (at, option) in options.iter().enumerate() {
            let name = plain(option["name"].as_str().unwrap_or("?"));
            writeln!(terminal.out, "  {}) {name}", at + 1)?;
        }
        write!(terminal.out, "Your choice [1-{}]: ", options.len())?;
        question.shown = true;
    }
    loop {
        let line = terminal.lines.recv().await;
        let line = line.ok_or_else(|| anyhow::anyhow!("the terminal was closed"))?;
        let chosen = line
            .trim()
            .parse::<usize>()
            .ok()
            .and_then(|n| options.get(n.checked_sub(1)?));
        if let Some(id) = chosen.and_then(|option| option["optionId"].as_str()) {
            return Ok(id.to_owned());
        }
        write!(terminal.out, "Your choice [1-{}]: ", options.len())?;
    }
}

fn wording(params: &Value) -> String {
    let mut text = format!(
        "The agent asks: {}",
        plain(params["title"].as_str().unwrap_or("may I go on?"))
    );
    match &params["command"] {
        Value::String(command) => text.push_str(&format!("\n  $ {}", plain(command))),
        Value::Array(words) => text.push_str(&format!(
            "\n  $ {}",
            plain(&Value::from(words.clone()).to_string())
        )),
        _ => {}
    }
    if let Some(diff) = params["diff"].as_str().filter(|diff| !diff.is_empty()) {
        text.push('\n');
        text.push_str(&plain(diff));
    } else if let Some(path) = params["path"].as_str() {
        text.push_str(&format!("\n  {}", plain(path)));
    }
    text
}
