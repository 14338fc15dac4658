//! Asking the person at the terminal.
//!
//! In: the daemon's questions, and when one is settled. Out: responses. Owns: the terminal and what is typed in it.
//! Never: answers for a person who cannot be asked, except with a refusal that is told.

mod choice;
mod field;
mod form;
mod wording;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::choice::Choice;
use self::form::{Form, Taken};
use self::wording::wording;
use crate::cli::Permissions;
use crate::client::Incoming;
use crate::plain::plain;
use crate::print;

/// Lines that were typed and wait to be looked at.
const TYPED_LINES: usize = 16;

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
    wants: Wants,
}

/// What the agent wants.
enum Wants {
    Permission,
    Information(Form),
    /// Something that cannot be asked for, and why.
    Unknown(anyhow::Error),
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

    /// Takes a question, which is to be answered under `id`.
    pub fn add(&mut self, id: Value, incoming: Incoming) {
        let wants = match incoming.method.as_str() {
            "item/tool/requestUserInput" => {
                Form::read(&incoming.text).map_or_else(Wants::Unknown, Wants::Information)
            }
            _ => Wants::Permission,
        };
        self.open.push_back(Question {
            id,
            params: incoming.params,
            shown: false,
            wants,
        });
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
        // How permissions are to be answered says nothing about what only the person knows.
        let result = match (&mut question.wants, self.how) {
            (Wants::Permission, Permissions::Allow) => json!({ "decision": "accept" }),
            (Wants::Permission, Permissions::Deny) => json!({ "decision": "decline" }),
            (Wants::Permission, Permissions::Ask) => match ask(&mut self.terminal, question).await {
                Ok(choice) => choice.response(),
                Err(error) => {
                    print::err(&format!(
                        "acpd: declined, no terminal to ask on: {error} (see --permissions)\n"
                    ));
                    json!({ "decision": "decline" })
                }
            },
            (Wants::Information(form), _) => {
                let asked = inquire(&mut self.terminal, form, &mut question.shown).await;
                asked.unwrap_or_else(|error| {
                    let why = format!("since nobody can be asked: {error}");
                    dismiss(&question.params, &why)
                })
            }
            (Wants::Unknown(error), _) => dismiss(&question.params, &format!("since {error:#}")),
        };
        let id = question.id.take();
        self.open.pop_front();
        (id, result)
    }
}

/// The response to a question for information that is not put to anybody, which is told.
fn dismiss(params: &Value, why: &str) -> Value {
    let title = plain(params["title"].as_str().unwrap_or_default());
    print::err(&format!(
        "acpd: the agent wants to know {title:?}: dismissed, {why}\n"
    ));
    form::dismissed()
}

/// The terminal itself: standard input and output may be pipes.
struct Terminal {
    out: File,
    /// What is typed, line by line; `None` is an end of input, after which more may come.
    lines: mpsc::Receiver<Option<String>>,
}

impl Terminal {
    fn open() -> std::io::Result<Self> {
        let out = File::options().read(true).write(true).open("/dev/tty")?;
        let mut typed = BufReader::new(out.try_clone()?);
        let (told, lines) = mpsc::channel(TYPED_LINES);
        // A thread of its own, which ends with the process: a read from a terminal cannot be given up.
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                let line = match typed.read_until(b'\n', &mut line) {
                    Ok(0) => None,
                    Ok(_) => Some(
                        String::from_utf8_lossy(&line)
                            .trim_end_matches(['\n', '\r'])
                            .to_owned(),
                    ),
                    Err(_) => return,
                };
                if told.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { out, lines })
    }

    /// Shows the first of a question. What was typed before it is no answer to it.
    fn begin(&mut self, text: &str) -> std::io::Result<()> {
        for _ in 0..TYPED_LINES {
            if self.lines.try_recv().is_err() {
                break;
            }
        }
        self.show(text)
    }

    fn show(&mut self, text: &str) -> std::io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// What is typed next. Safe to cancel.
    async fn typed(&mut self) -> anyhow::Result<Option<String>> {
        let line = self.lines.recv().await;
        line.ok_or_else(|| anyhow::anyhow!("the terminal was closed"))
    }
}

fn opened(terminal: &mut Option<Terminal>) -> std::io::Result<&mut Terminal> {
    match terminal {
        Some(open) => Ok(open),
        None => Ok(terminal.insert(Terminal::open()?)),
    }
}

/// Asks for all that a form wants; answers the response. Safe to cancel: the form keeps what was answered.
async fn inquire(
    terminal: &mut Option<Terminal>,
    form: &mut Form,
    shown: &mut bool,
) -> anyhow::Result<Value> {
    let terminal = opened(terminal)?;
    if !*shown {
        terminal.begin(&format!("\n{}{}", form.heading(), form.question()))?;
        *shown = true;
    }
    loop {
        let line = terminal.typed().await?;
        if line.is_none() {
            // The person's own line has no end.
            terminal.show("\n")?;
        }
        match form.take(line.as_deref()) {
            Taken::Next => terminal.show(&form.question())?,
            Taken::Again(why) => terminal.show(&format!("{why}\n{}", form.prompt()))?,
            Taken::Done(response) => {
                if response == form::dismissed() {
                    terminal.show("The question is dismissed.\n")?;
                }
                return Ok(response);
            }
        }
    }
}

/// Shows a question and waits for a choice.
async fn ask(terminal: &mut Option<Terminal>, question: &mut Question) -> anyhow::Result<Choice> {
    let terminal = opened(terminal)?;
    let mut choices = Choice::read(&question.params);
    let prompt = format!("Your choice [1-{}]: ", choices.len());
    if !question.shown {
        terminal.begin(&format!("\n{}", wording(&question.params)))?;
        for (at, choice) in choices.iter().enumerate() {
            terminal.show(&format!("  {}) {}\n", at + 1, choice.line()))?;
        }
        terminal.show(&prompt)?;
        question.shown = true;
    }
    loop {
        let line = terminal.typed().await?;
        let line = line.ok_or_else(|| anyhow::anyhow!("there is no more input"))?;
        let chosen = line.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        if let Some(at) = chosen.filter(|at| *at < choices.len()) {
            return Ok(choices.swap_remove(at));
        }
        terminal.show(&prompt)?;
    }
}
