//! Arguments of the commands about access: tokens and the policy.

use std::path::PathBuf;

use acpd_model::Role;
use clap::{Args, Subcommand};

use super::group::examples;

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it once
    #[command(before_help = examples([
        "acpd token create --name phone --role approver",
        "acpd token create --name ci --role operator --expires 30d > token",
    ]))]
    Create(TokenCreateArgs),
    /// List tokens
    #[command(before_help = examples(["acpd token list"]))]
    List(TokenListArgs),
    /// Revoke a token and close its connections
    #[command(before_help = examples(["acpd token revoke phone"]))]
    Revoke(TokenRevokeArgs),
    /// Print an address at which an editor that cannot send a token can open one connection
    #[command(before_help = examples(["acpd token ticket --agent claude"]))]
    Ticket(TokenTicketArgs),
}

#[derive(Debug, Args)]
pub struct TokenCreateArgs {
    /// Name of the token, recorded in the log with every action
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// Role: observer, approver, operator or owner; each includes the previous ones
    #[arg(long, value_name = "ROLE")]
    pub role: Role,
    /// Lifetime: 90m, 12h, 30d or 2w [default: unlimited]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<String>,
    /// Print JSON, with the token as a member
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TokenListArgs {
    /// Print JSON, one token per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TokenRevokeArgs {
    /// Name of the token
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TokenTicketArgs {
    /// Agent, as named by "acpd agents list" [default: the configured default, or the only configured agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PairArgs {
    /// Role of the device: observer, approver, operator or owner; at most your own
    #[arg(long, value_name = "ROLE", default_value_t = Role::Approver)]
    pub role: Role,
    /// Time in which the device must open the link: 1m to 1h
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub ttl: String,
    /// Address at which the device reaches the daemon [default: where the daemon listens]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Let Tailscale of this host forward its address to the daemon, and use that
    #[arg(long, conflicts_with = "url")]
    pub tailscale: bool,
    /// Name of the device, recorded in the log with every action
    #[arg(long, value_name = "NAME", default_value = "phone")]
    pub name: String,
    /// Print the link as JSON without waiting for the device
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Show whether an action would be allowed, asked or denied, and by which rule
    #[command(before_help = examples([
        "acpd policy test --bash \"git push\"",
        "acpd policy test --agent claude --write src/main.rs",
    ]))]
    Test(PolicyTestArgs),
    /// List the remembered answers that apply to all threads of an agent
    #[command(before_help = examples([
        "acpd policy answers",
        "acpd policy answers --agent claude --json | jq .rule",
    ]))]
    Answers(PolicyAnswersArgs),
    /// Revoke a remembered answer that applies to all threads of an agent
    #[command(before_help = examples(["acpd policy revoke claude 4294967297"]))]
    Revoke(PolicyRevokeArgs),
}

#[derive(Debug, Args)]
pub struct PolicyAnswersArgs {
    /// Only answers for this agent [default: every agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Print JSON, one answer per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PolicyRevokeArgs {
    /// Agent, as named by "acpd policy answers"
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Id of the answer, as in "acpd policy answers"
    #[arg(value_name = "ID")]
    pub id: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PolicyTestArgs {
    #[command(flatten)]
    pub subject: PolicySubject,
    /// Requesting agent [default: any]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Working directory of the thread [default: current directory]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Policy of the thread: name of a preset, or JSON
    #[arg(long, value_name = "POLICY")]
    pub thread_policy: Option<String>,
    /// Print the decision and all matching rules as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct PolicySubject {
    /// Shell command line
    #[arg(long, value_name = "LINE")]
    pub bash: Option<String>,
    /// Read access to a file
    #[arg(long, value_name = "PATH")]
    pub read: Option<String>,
    /// Write access to a file
    #[arg(long, value_name = "PATH")]
    pub write: Option<String>,
    /// Tool of an MCP server
    #[arg(long, value_name = "SERVER/TOOL")]
    pub mcp: Option<String>,
    /// ACP tool call
    #[arg(long, value_name = "JSON")]
    pub tool_call: Option<String>,
}
