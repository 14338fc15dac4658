//! The daemon's questions to the user at the terminal.
//!
//! In: the daemon's questions, and when one is resolved. Out: answers. Owns: the terminal and its typed lines. Never:
//! accepts for a user who cannot be asked; it declines, and prints why.

mod answer;
mod choice;
mod field;
mod form;
mod inquiry;
mod wording;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use acpd_client::protocol::Approval;
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub use self::answer::Answer;
pub use self::choice::Choice;
pub use self::form::{Form, Taken, dismissed};
pub use self::inquiry::{Inquiry, Wants};
pub use self::wording::subjects;
use self::wording::with_options;
use crate::exit::Exit;
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
    inquiry: Inquiry,
    /// Whether the terminal shows it.
    shown: bool,
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

    /// Adds a question.
    pub fn add(&mut self, inquiry: Inquiry) {
        self.open.push_back(Question {
            inquiry,
            shown: false,
        });
    }

    /// Removes a question that a client has answered, this one included.
    pub fn settled(&mut self, request: &str) {
        let before = self.open.len();
        let shown = self.open.front().is_some_and(|first| first.shown);
        self.open.retain(|question| question.inquiry.request != request);
        let first = self.open.front().is_some_and(|first| first.shown);
        if self.open.len() < before && shown && !first {
            print::err("\nacpd: the question is no longer open\n");
        }
    }

    /// Returns the next answer, after the id of its question. Waits forever if no question is open. Cancel-safe.
    pub async fn next(&mut self) -> (String, Value) {
        let Some(question) = self.open.front_mut() else {
            return std::future::pending().await;
        };
        let (inquiry, shown) = (&mut question.inquiry, &mut question.shown);
        // The answer to permission requests does not apply to questions for information: only the user knows those.
        let result = match (&mut inquiry.wants, self.how) {
            (Wants::Permission(_), Permissions::Allow) => json!({ "decision": "accept" }),
            (Wants::Permission(_), Permissions::Deny) => json!({ "decision": "decline" }),
            (Wants::Permission(approval), Permissions::Ask) => {
                match ask(&mut self.terminal, approval, shown).await {
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
                }
            }
            (Wants::Information(form), _) => match inquire(&mut self.terminal, form, shown).await {
                Ok(response) => response,
                Err(why) => {
                    self.declined |= why.is_no_terminal();
                    dismiss(form.title(), &format!("since {why}"))
                }
            },
            (Wants::Unknown { title, why }, _) => dismiss(title, &format!("since {why:#}")),
        };
        let id = std::mem::take(&mut question.inquiry.request);
        self.open.pop_front();
        (id, result)
    }
}

/// Prints that a question for information is dismissed, and returns the response.
fn dismiss(title: &str, why: &str) -> Value {
    let title = plain(title);
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
async fn ask(
    terminal: &mut Option<Terminal>,
    approval: &Approval,
    shown: &mut bool,
) -> Result<Choice, Unanswered> {
    let terminal = opened(terminal)?;
    let choices = Choice::of(approval);
    let prompt = format!("Your choice [1-{}]: ", choices.len());
    if !*shown {
        terminal.begin(&format!("\n{}{prompt}", with_options(approval, &choices)))?;
        *shown = true;
    }
    loop {
        let line = terminal.typed().await?.ok_or(Unanswered::EndOfInput)?;
        match Choice::pick(choices.iter(), &line) {
            Some(choice) => return Ok(choice.clone()),
            None => terminal.show(&format!("{} is not an option. {prompt}", quoted(&line)))?,
        }
    }
}

fn quoted(line: &str) -> String {
    match line.trim() {
        "" => "An empty line".to_owned(),
        line => format!("{:?}", plain_line(line)),
    }
}

/// Returns the response to a permission request that a user chose by number or by name.
pub fn chosen(approval: &Approval, option: &str) -> anyhow::Result<Value> {
    let choices = Choice::of(approval);
    let chosen = Choice::pick(choices.iter(), option).map(Choice::response);
    chosen.ok_or_else(|| {
        Exit::Usage.error(format!(
            "invalid option {option:?}: this question takes a number from 1 to {}, \"allow\" or \"reject\"",
            choices.len()
        ))
    })
}
