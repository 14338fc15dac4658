//! Arguments of the commands about threads.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use crate::options::Permissions;

/// The thread of a command.
#[derive(Debug, Args)]
pub struct ThreadArg {
    /// Thread: the beginning or end of its id, its name, or @last for the last changed one
    #[arg(value_name = "THREAD")]
    pub thread: String,
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
pub struct ThreadsArgs {
    /// Maximum number of threads
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// List only threads of this agent
    #[arg(long, short, value_name = "NAME")]
    pub agent: Option<String>,
    /// List only threads in this directory of the daemon's host
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// List only threads with this status
    #[arg(long, short, value_name = "STATUS")]
    pub status: Option<Status>,
    /// List archived threads
    #[arg(long)]
    pub archived: bool,
    /// List only pinned threads
    #[arg(long)]
    pub pinned: bool,
    /// Print JSON, one thread per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Status {
    /// A turn runs, or waits for an answer
    Active,
    /// A turn runs and does not wait for an answer
    Running,
    /// A turn waits for an answer
    Waiting,
    /// No turn runs
    Idle,
    /// The last turn failed
    Failed,
}

#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Number of days until today, in UTC
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3660))]
    pub days: u32,
    /// What the rows are
    #[arg(long, value_name = "KIND", value_enum, default_value_t)]
    pub by: UsageBy,
    /// Print JSON, one row per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum UsageBy {
    /// Days, in UTC
    #[default]
    Day,
    /// Agents
    Agent,
    /// Threads
    Thread,
    /// Working directories
    Folder,
}

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words to find; use double quotes for a phrase
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
    /// Search only this thread; as in "acpd show"
    #[arg(long, short, value_name = "THREAD")]
    pub thread: Option<String>,
    /// Maximum number of results
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Print JSON, one result per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// Maximum number of turns, counted from the last one [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Print the thread as one line of JSON
    #[arg(long)]
    pub json: bool,
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

#[derive(Debug, Args)]
pub struct ThreadArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// Print the thread as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Thread: at least eight characters of its id, its name, or @last for the last changed one
    #[arg(value_name = "THREAD")]
    pub thread: String,
    /// Delete it without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Print the thread as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Remove nothing, and print what would be removed
    #[arg(long, short = 'n', conflicts_with = "yes")]
    pub dry_run: bool,
    /// Remove it without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Remove nothing, and confirm that the clock of the daemon's host is right
    #[arg(long, conflicts_with_all = ["yes", "dry_run", "json"])]
    pub confirm_clock: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RenameArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// New name
    #[arg(value_name = "NAME", required_unless_present = "reset", value_parser = name)]
    pub name: Option<String>,
    /// Restore the agent's title
    #[arg(long, conflicts_with = "name")]
    pub reset: bool,
    /// Print the thread as one line of JSON
    #[arg(long)]
    pub json: bool,
}

fn name(given: &str) -> Result<String, &'static str> {
    if given.trim().is_empty() {
        Err("the name is empty; --reset restores the agent's title")
    } else {
        Ok(given.to_owned())
    }
}

#[derive(Debug, Args)]
pub struct MoveArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// Directory that the thread works in from now on; by default the current one
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub directory: Option<PathBuf>,
    /// Further directory, in place of those that the thread has; repeatable. By default they stay, or move along
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub add_dir: Vec<PathBuf>,
    /// Leave out the further directories that the thread has
    #[arg(long, conflicts_with = "add_dir")]
    pub only: bool,
    /// Print the thread as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AddDirArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// Directory that the thread's agent and its commands may read and write, too
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// Print the thread as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// Output format [default: by the ending of the output file; md on a terminal, otherwise jsonl]
    #[arg(long, short, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,
    /// Leave out events that cannot be read because the log is damaged, and say which
    #[arg(long)]
    pub salvage: bool,
    /// Output file, replaced atomically; "-" is standard output [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Every event, one JSON object per line
    Jsonl,
    /// Markdown document
    Md,
    /// HTML page
    Html,
}

impl ExportFormat {
    /// Returns the daemon's name for the format.
    pub fn word(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Md => "md",
            Self::Html => "html",
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum ShareCommand {
    /// Create a link and print it once
    Create(ShareCreateArgs),
    /// List links
    List(ShareListArgs),
    /// Revoke a link and close its connections
    Revoke(ShareRevokeArgs),
}

#[derive(Debug, Args)]
pub struct ShareCreateArgs {
    #[command(flatten)]
    pub thread: ThreadArg,
    /// Lifetime: 90m, 12h, 30d or 2w, at most a year [default: 7d]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<String>,
    /// Name for the list of links; readers do not see it
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Address at which readers reach the daemon [default: that of --connect, or notifications.url of the configuration, or
    /// the daemon's own]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Print JSON, with the link and its secret as members
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShareListArgs {
    /// Thread whose links are listed [default: all threads]
    #[arg(value_name = "THREAD")]
    pub thread: Option<String>,
    /// Print JSON, one link per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShareRevokeArgs {
    /// Id of the link, as in "acpd share list"
    #[arg(value_name = "ID")]
    pub id: String,
    /// Print JSON
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
