//! Arguments of the commands about threads.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::group::{Group, examples};

/// Commands about threads.
#[derive(Debug, Subcommand)]
#[expect(clippy::enum_variant_names, reason = "they are the names of commands")]
pub enum Threads {
    /// List threads, the last changed first
    #[command(alias = "ls")]
    #[command(before_help = examples([
        "acpd threads",
        "acpd threads -s waiting",
        "acpd threads -n 100 --json",
    ]))]
    Threads(ThreadsArgs),
    /// Show a thread: its turns, what the agent did, and open questions
    #[command(before_help = examples(["acpd show @last", "acpd show 5e31c427 -n 1"]))]
    Show(ShowArgs),
    /// Search the text of all threads, newest first
    #[command(before_help = examples([
        "acpd search migration",
        "acpd search -t @last \"\\\"exact phrase\\\"\"",
    ]))]
    Search(SearchArgs),
    /// Rename a thread
    #[command(before_help = examples([
        "acpd rename 5e31c427 \"Fix the login\"",
        "acpd rename 5e31c427 --reset",
    ]))]
    Rename(RenameArgs),
    /// Let a thread work in another directory, such as its own after a move
    #[command(before_help = examples([
        "acpd move @last",
        "acpd move 5e31c427 ~/src/app --add-dir ~/src/library",
    ]))]
    Move(MoveArgs),
    /// Let a thread's agent use a further directory, for which it starts anew
    #[command(before_help = examples(["acpd add-dir @last ~/src/library"]))]
    AddDir(AddDirArgs),
    /// Pin a thread: clients list it first, for all users
    #[command(before_help = examples(["acpd pin @last"]))]
    Pin(ThreadArgs),
    /// Remove the pin of a thread
    #[command(before_help = examples(["acpd unpin \"Fix the login\""]))]
    Unpin(ThreadArgs),
    /// Archive a thread, hiding it from "acpd threads"
    #[command(before_help = examples(["acpd archive 5e31c427"]))]
    Archive(ThreadArgs),
    /// Unarchive a thread
    #[command(before_help = examples(["acpd unarchive \"Fix the login\""]))]
    Unarchive(ThreadArgs),
    /// Delete a thread and its log, for good
    #[command(alias = "rm")]
    #[command(before_help = examples(["acpd delete 5e31c427"]))]
    Delete(DeleteArgs),
    /// Remove threads and attachments beyond the limits of the configuration
    #[command(before_help = examples(["acpd prune --dry-run", "acpd prune --yes --json | jq .bytes"]))]
    Prune(PruneArgs),
    /// Show the tokens and costs of threads, by day, agent, thread or folder
    #[command(before_help = examples([
        "acpd usage",
        "acpd usage --days 7 --by agent",
        "acpd usage --by thread --json | jq .spent",
    ]))]
    Usage(UsageArgs),
    /// Export a thread as JSON lines, Markdown or HTML
    #[command(before_help = examples(["acpd export @last -o story.md", "acpd export 5e31c427 | jq .type"]))]
    Export(ExportArgs),
    /// Create, list and revoke links with which anyone can read one thread
    #[command(subcommand)]
    Share(ShareCommand),
}

impl Group for Threads {
    const HEADING: &'static str = "Threads";
}

/// The thread of a command.
#[derive(Debug, Args)]
pub struct ThreadArg {
    /// Thread: the beginning or end of its id, its name, or @last for the last changed one
    #[arg(value_name = "THREAD")]
    pub thread: String,
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
    #[command(before_help = examples([
        "acpd share create @last",
        "acpd share create 5e31c427 --expires 24h --name \"for the review\"",
        "acpd share create @last --url https://box.example:4127",
    ]))]
    Create(ShareCreateArgs),
    /// List links
    #[command(before_help = examples(["acpd share list", "acpd share list @last"]))]
    List(ShareListArgs),
    /// Revoke a link and close its connections
    #[command(before_help = examples(["acpd share revoke 9f2c41d07b6e5a38"]))]
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
