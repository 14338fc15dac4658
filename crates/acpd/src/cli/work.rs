//! Arguments of the commands with which a user works with agents.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::group::{Group, examples};
use super::threads::ThreadArg;
use crate::options::Permissions;

/// Commands with which a user works with agents.
#[derive(Debug, Subcommand)]
pub enum Work {
    /// Send one prompt to an agent and show what it does
    #[command(before_help = examples([
        "acpd run \"fix the failing test\"",
        "acpd run -a claude -C ~/site \"add a sitemap\"",
        "acpd run -t @last \"now commit it\"",
        "acpd run --detach -m opus --mode plan \"plan the migration\"",
        "acpd run --attach error.png \"what is wrong here?\"",
        "acpd run -p deny - < prompt.md",
    ]))]
    Run(RunArgs),
    /// Follow a thread live in this terminal, and take part in it
    #[command(before_help = examples([
        "acpd attach",
        "acpd attach @last",
        "acpd attach --new --agent gemini -C ~/shop",
    ]))]
    Attach(AttachArgs),
    /// Send a prompt to a thread without waiting for the answer
    #[command(before_help = examples([
        "acpd send @last \"then update the changelog\"",
        "acpd send 5e31c427 --steer \"use the other file\"",
        "acpd send @last --model opus \"try again\"",
        "acpd send @last --replace turn_2 \"fix only the test\"",
    ]))]
    Send(SendArgs),
    /// Answer the oldest open question of a thread
    #[command(before_help = examples([
        "acpd answer @last           # asks, or shows the question where there is no terminal",
        "acpd answer @last allow",
        "acpd answer @last --input '{\"name\": \"main\"}'",
        "acpd answer @last --dismiss",
    ]))]
    Answer(AnswerArgs),
    /// Type into the terminal of a command that waits for input, or end the command
    #[command(before_help = examples([
        "acpd type @last             # asks for a line, such as a password, and does not show it",
        "acpd type @last yes",
        "acpd type 5e31c427 --end-of-input",
        "acpd type 5e31c427 --kill",
    ]))]
    Type(TypeArgs),
    /// Interrupt the running turn of a thread
    #[command(before_help = examples(["acpd interrupt @last"]))]
    Interrupt(InterruptArgs),
}

impl Group for Work {
    const HEADING: &'static str = "Work";
}

/// Settings of the agent's session, by id or label in any case.
#[derive(Debug, Clone, Default, Args)]
pub struct SessionArgs {
    /// Model that answers, by its id or label; an unknown one prints the list
    #[arg(long, short, value_name = "NAME")]
    pub model: Option<String>,
    /// Mode of the agent, by its id or label; an unknown one prints the list
    #[arg(long, value_name = "NAME")]
    pub mode: Option<String>,
    /// Any option of the agent, such as effort=high; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

impl SessionArgs {
    /// Returns whether something is to be set.
    pub fn is_any(&self) -> bool {
        self.model.is_some() || self.mode.is_some() || !self.set.is_empty()
    }
}

#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// The prompt; "-" reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub prompt: String,
    /// Agent, as named by "acpd agents list" [default: the configured default, or the only configured agent]
    #[arg(long, short, value_name = "NAME", conflicts_with = "thread")]
    pub agent: Option<String>,
    /// Working directory of the agent [default: current directory]
    #[arg(long, short = 'C', value_name = "DIR", conflicts_with = "thread")]
    pub cwd: Option<PathBuf>,
    /// Continue this thread instead of starting a new one; as in "acpd show"
    #[arg(long, short, value_name = "THREAD")]
    pub thread: Option<String>,
    /// How to answer the agent's permission requests
    #[arg(long, short, value_name = "HOW", default_value = "ask")]
    pub permissions: Permissions,
    #[command(flatten)]
    pub session: SessionArgs,
    /// The new thread's own permission policy: permissive, standard, restricted or readonly
    #[arg(long, value_name = "NAME", conflicts_with = "thread")]
    pub policy: Option<String>,
    /// Another directory of the new thread; repeatable
    #[arg(long, value_name = "DIR", conflicts_with = "thread", value_hint = ValueHint::DirPath)]
    pub add_dir: Vec<PathBuf>,
    /// Instructions for the new thread's agent, beside its own; @FILE reads a file
    #[arg(long, value_name = "TEXT", conflicts_with = "thread")]
    pub system_prompt: Option<String>,
    /// Have the agent use --system-prompt instead of its own instructions
    #[arg(long, requires = "system_prompt")]
    pub override_instructions: bool,
    /// File of this host to send along, such as a picture; repeatable
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub attach: Vec<PathBuf>,
    /// Do not wait for the answer: print the thread's id once the daemon has accepted the prompt
    #[arg(long, short, conflicts_with = "permissions")]
    pub detach: bool,
    /// Print every notification of the app protocol as JSON, one per line; with --detach, the ids
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Default, Args)]
pub struct AttachArgs {
    /// Thread, as in "acpd show" [default: pick one of a list]
    #[arg(value_name = "THREAD")]
    pub thread: Option<String>,
    /// Start a thread; this is also what happens if there is none yet
    #[arg(long, short, conflicts_with = "thread")]
    pub new: bool,
    /// Agent of the new thread [default: the configured default, or the only configured agent]
    #[arg(long, short, value_name = "NAME", requires = "new")]
    pub agent: Option<String>,
    /// Working directory of the new thread's agent [default: current directory]
    #[arg(long, short = 'C', value_name = "DIR", requires = "new")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SendArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// The prompt; "-" reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub prompt: String,
    /// Add the prompt to the running turn, if the agent can, instead of queueing it
    #[arg(long)]
    pub steer: bool,
    /// Send the prompt in place of an earlier turn's, which leaves the conversation with all that followed
    #[arg(long, value_name = "TURN", value_parser = turn, conflicts_with = "steer")]
    pub replace: Option<String>,
    #[command(flatten)]
    pub session: SessionArgs,
    /// File of this host to send along, such as a picture; repeatable
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub attach: Vec<PathBuf>,
    /// Print the turn as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// Number of the option, as shown without this argument; "allow" and "reject" mean once
    #[arg(value_name = "OPTION", conflicts_with_all = ["input", "dismiss"])]
    pub option: Option<String>,
    /// Answers to a form, as a JSON object; "-" reads it from standard input
    #[arg(long, value_name = "JSON", conflicts_with = "dismiss")]
    pub input: Option<String>,
    /// Decline to answer a form
    #[arg(long)]
    pub dismiss: bool,
    /// Print the question, or the answer, as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TypeArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// A line to type; "-" reads all of standard input; without it, the line is asked for, and not shown if it is a secret
    #[arg(value_name = "TEXT", conflicts_with_all = ["end_of_input", "interrupt", "kill"])]
    pub text: Option<String>,
    /// The terminal, if several commands run
    #[arg(long, value_name = "ID")]
    pub terminal: Option<String>,
    /// Press Ctrl-D, which ends the input
    #[arg(long, conflicts_with_all = ["interrupt", "kill"])]
    pub end_of_input: bool,
    /// Press Ctrl-C
    #[arg(long, conflicts_with = "kill")]
    pub interrupt: bool,
    /// End the command
    #[arg(long)]
    pub kill: bool,
    /// Print the command as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct InterruptArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// Print the thread as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Reads the id of a turn, or its number alone.
fn turn(given: &str) -> Result<String, String> {
    let number = given.strip_prefix("turn_").unwrap_or(given);
    match number.parse::<u32>() {
        Ok(number) => Ok(format!("turn_{number}")),
        Err(_) => Err("a turn is named as \"acpd show\" does, such as turn_2".to_owned()),
    }
}
