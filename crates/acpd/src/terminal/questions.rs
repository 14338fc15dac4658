//! The daemon's questions to the user at the terminal.
//!
//! In: the daemon's requests, and when one is resolved. Out: responses. Owns: the terminal and its typed lines. Never:
//! accepts for a user who cannot be asked; it declines, and prints why.

mod choice;
mod field;
mod form;
pub mod typed;
mod wording;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};
use tokio::sync::mpsc;

pub use self::choice::Choice;
pub use self::form::{Form, Taken, dismissed};
use self::wording::wording;
use crate::exit::Exit;
use crate::incoming::Incoming;
use crate::options::Permissions;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;

/// Capacity of the queue of typed lines.
const TYPED_LINES: usize = 16;

/// The daemon's open questions, answered one at a time.
pub struct Questions {
    how: Permissions,
    open: VecDeque<Question>,
    terminal: Option<Terminal>,
    /// Whether a question was declined because there was no terminal.
    declined: bool,
}

struct Question {
    /// The id of the daemon's request.
    id: Value,
    params: Value,
    /// Whether the terminal shows it.
    shown: bool,
    wants: Wants,
}

/// The kind of question.
enum Wants {
    Permission,
    Information(Form),
    /// A question that the terminal cannot show, and why.
    Unknown(anyhow::Error),
}

impl Questions {
    /// Creates an empty queue. `how` permission requests are answered.
    pub fn new(how: Permissions) -> Self {
        Self {
            how,
            open: VecDeque::new(),
            terminal: None,
            declined: false,
        }
    }

    /// Returns whether there is a terminal to ask on.
    pub fn has_terminal() -> bool {
        File::options().read(true).write(true).open("/dev/tty").is_ok()
    }

    /// Returns whether a question was declined because there was no terminal to ask on.
    pub fn declined(&self) -> bool {
        self.declined
    }

    /// Returns whether the user sees permission requests.
    pub fn are_shown(&self) -> bool {
        self.how == Permissions::Ask && Self::has_terminal()
    }

    /// Adds a question. `id` is the id of the daemon's request.
    pub fn add(&mut self, id: Value, incoming: Incoming) {
        let wants = if is_permission(&incoming) {
            Wants::Permission
        } else {
            Form::read(&incoming.text).map_or_else(Wants::Unknown, Wants::Information)
        };
        self.open.push_back(Question {
            id,
            params: incoming.params,
            shown: false,
            wants,
        });
    }

    /// Removes a question that a client has answered, this one included.
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

    /// Returns the next response: the request's id and its `result`. Waits forever if no question is open. Cancel-safe.
    pub async fn next(&mut self) -> (Value, Value) {
        let Some(question) = self.open.front_mut() else {
            return std::future::pending().await;
        };
        // The answer to permission requests does not apply to questions for information: only the user knows those.
        let result = match (&mut question.wants, self.how) {
            (Wants::Permission, Permissions::Allow) => json!({ "decision": "accept" }),
            (Wants::Permission, Permissions::Deny) => json!({ "decision": "decline" }),
            (Wants::Permission, Permissions::Ask) => match ask(&mut self.terminal, question).await {
                Ok(choice) => choice.response(),
                Err(why) => {
                    self.declined |= why.is_no_terminal();
                    let tip = match why {
                        Unanswered::NoTerminal => " (--permissions answers without one)",
                        _ => "",
                    };
                    print::err(&format!("acpd: declined, since {why}{tip}\n"));
                    json!({ "decision": "decline" })
                }
            },
            (Wants::Information(form), _) => {
                let asked = inquire(&mut self.terminal, form, &mut question.shown).await;
                asked.unwrap_or_else(|why| {
                    self.declined |= why.is_no_terminal();
                    dismiss(&question.params, &format!("since {why}"))
                })
            }
            (Wants::Unknown(error), _) => dismiss(&question.params, &format!("since {error:#}")),
        };
        let id = question.id.take();
        self.open.pop_front();
        (id, result)
    }
}

/// Prints that a question for information is dismissed, and returns the response.
fn dismiss(params: &Value, why: &str) -> Value {
    let title = plain(params["title"].as_str().unwrap_or_default());
    print::err(&format!(
        "acpd: the agent wants to know {title:?}: dismissed, {why}\n"
    ));
    dismissed()
}

/// The controlling terminal; standard input and output may be pipes.
struct Terminal {
    out: File,
    /// The typed lines; `None` is an end of input, after which more lines may follow.
    lines: mpsc::Receiver<Option<String>>,
}

impl Terminal {
    fn open() -> std::io::Result<Self> {
        let out = File::options().read(true).write(true).open("/dev/tty")?;
        let mut typed = BufReader::new(out.try_clone()?);
        let (lines_tx, lines) = mpsc::channel(TYPED_LINES);
        // A terminal read cannot be cancelled, so this thread runs until the process exits.
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
                if lines_tx.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { out, lines })
    }

    /// Shows a new question. Discards lines that were typed before it.
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

    /// Returns the next typed line. Cancel-safe.
    async fn typed(&mut self) -> Result<Option<String>, Unanswered> {
        self.lines.recv().await.ok_or(Unanswered::EndOfInput)
    }
}

/// Why a question got no answer on the terminal.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("there is no terminal to ask on")]
    NoTerminal,
    #[error("the input ended")]
    EndOfInput,
    #[error("the terminal cannot be written: {0}")]
    Terminal(#[from] std::io::Error),
}

impl Unanswered {
    fn is_no_terminal(&self) -> bool {
        matches!(self, Self::NoTerminal)
    }
}

fn opened(terminal: &mut Option<Terminal>) -> Result<&mut Terminal, Unanswered> {
    match terminal {
        Some(open) => Ok(open),
        None => Ok(terminal.insert(Terminal::open().map_err(|_| Unanswered::NoTerminal)?)),
    }
}

/// Asks for all fields of a form; returns the response. Cancel-safe: the form keeps the answers so far.
async fn inquire(
    terminal: &mut Option<Terminal>,
    form: &mut Form,
    shown: &mut bool,
) -> Result<Value, Unanswered> {
    let terminal = opened(terminal)?;
    if !*shown {
        terminal.begin(&format!("\n{}{}", form.heading(), form.question()))?;
        *shown = true;
    }
    loop {
        let line = terminal.typed().await?;
        if line.is_none() {
            // The Ctrl-D left the cursor in the middle of a line.
            terminal.show("\n")?;
        }
        match form.take(line.as_deref()) {
            Taken::Next => terminal.show(&form.question())?,
            Taken::Again(why) => terminal.show(&format!("{why}\n{}", form.prompt()))?,
            Taken::Done(response) => {
                if response == dismissed() {
                    terminal.show("The question is dismissed.\n")?;
                }
                return Ok(response);
            }
        }
    }
}

/// Shows a permission request and waits for a choice.
async fn ask(terminal: &mut Option<Terminal>, question: &mut Question) -> Result<Choice, Unanswered> {
    let terminal = opened(terminal)?;
    let choices = Choice::read(&question.params);
    let prompt = format!("Your choice [1-{}]: ", choices.len());
    if !question.shown {
        terminal.begin(&format!("\n{}{prompt}", with_options(&question.params, &choices)))?;
        question.shown = true;
    }
    loop {
        let line = terminal.typed().await?.ok_or(Unanswered::EndOfInput)?;
        match Choice::pick(choices.iter(), &line) {
            Some(choice) => return Ok(choice.clone()),
            None => terminal.show(&format!("{} is no option. {prompt}", quoted(&line)))?,
        }
    }
}

fn quoted(line: &str) -> String {
    match line.trim() {
        "" => "An empty line".to_owned(),
        line => format!("{:?}", plain_line(line)),
    }
}

/// Returns the text of a permission request with its numbered options.
fn with_options(params: &Value, choices: &[Choice]) -> String {
    let mut text = wording(params);
    for (at, choice) in choices.iter().enumerate() {
        text.push_str(&format!("  {}) {}\n", at + 1, choice.line()));
    }
    text
}

/// Returns whether a request of the daemon asks for permission, not for information.
pub fn is_permission(incoming: &Incoming) -> bool {
    incoming.method != "item/tool/requestUserInput"
}

/// Returns the text of a question.
pub fn shown(incoming: &Incoming) -> String {
    if is_permission(incoming) {
        return with_options(&incoming.params, &Choice::read(&incoming.params));
    }
    match Form::read(&incoming.text) {
        Ok(form) => form.outline(),
        Err(error) => typed::not_shown(&error),
    }
}

/// Returns whether a request for information only sends the user to an address.
pub fn is_url(incoming: &Incoming) -> bool {
    Form::read(&incoming.text).is_ok_and(|form| form.is_url())
}

/// Returns the response to a permission request that a user chose by number or by name.
pub fn chosen(params: &Value, option: &str) -> anyhow::Result<Value> {
    let choices = Choice::read(params);
    let chosen = Choice::pick(choices.iter(), option).map(Choice::response);
    chosen.ok_or_else(|| {
        Exit::Usage.error(format!(
            "{option:?} is no option of this question; write a number from 1 to {}, \"allow\" or \"reject\"",
            choices.len()
        ))
    })
}
