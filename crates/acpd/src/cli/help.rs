//! Parsing of the arguments, and the layout of help and usage errors.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command as Clap, CommandFactory, FromArgMatches};

use super::{Cli, Command};
use crate::exit::Exit;
use crate::terminal::print;

/// The groups of commands in the help of `acpd`.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Work", &["run", "attach", "send", "answer", "interrupt"]),
    (
        "Threads",
        &[
            "threads",
            "show",
            "search",
            "rename",
            "archive",
            "unarchive",
            "delete",
            "export",
        ],
    ),
    ("Agents and editors", &["agents", "acp"]),
    ("Daemon", &["serve", "open", "status", "stop", "restart", "logs"]),
    (
        "Configuration, access and tools",
        &["config", "token", "policy", "schema", "completions", "man"],
    ),
];

const FIRST_STEPS: &str = "\
First steps:
  acpd serve --demo         start the daemon with a demo agent
  acpd open                 open the web UI, signed in
  acpd agents list          list the agents that can run here
  acpd run \"fix the test\"   send a prompt from this directory";

/// Examples of commands, which come first in their help.
const EXAMPLES: [(&str, &str); 19] = [
    (
        "run",
        "acpd run \"fix the failing test\"
acpd run -a claude -C ~/site \"add a sitemap\"
acpd run -t @last \"now commit it\"
acpd run -p deny - < prompt.md",
    ),
    ("attach", "acpd attach @last\nacpd attach 5e31c427"),
    (
        "threads",
        "acpd threads\nacpd threads -s waiting\nacpd threads -n 100 --json",
    ),
    (
        "search",
        "acpd search migration\nacpd search -t @last \"\\\"exact phrase\\\"\"",
    ),
    ("show", "acpd show @last\nacpd show 5e31c427 -n 1"),
    (
        "send",
        "acpd send @last \"then update the changelog\"\nacpd send 5e31c427 --steer \"use the other file\"",
    ),
    (
        "answer",
        "acpd answer @last           # shows the question\nacpd answer @last allow",
    ),
    ("interrupt", "acpd interrupt @last"),
    ("rename", "acpd rename 5e31c427 \"Fix the login\""),
    ("archive", "acpd archive 5e31c427"),
    ("unarchive", "acpd unarchive \"Fix the login\""),
    ("delete", "acpd delete 5e31c427"),
    (
        "export",
        "acpd export @last -o story.md\nacpd export 5e31c427 | jq .type",
    ),
    (
        "serve",
        "acpd serve\nacpd serve --demo\nacpd serve --listen 127.0.0.1:5000",
    ),
    ("open", "acpd open\nacpd open --print"),
    ("status", "acpd status\nacpd status --json"),
    ("logs", "acpd logs -f"),
    (
        "acp",
        "acpd acp --agent claude     # as the agent command of an editor",
    ),
    (
        "completions",
        "acpd completions bash > ~/.local/share/bash-completion/completions/acpd",
    ),
];

const LAYOUT: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// Parses the arguments of this process. Otherwise prints help or an error, and returns the exit code.
pub fn parse() -> Result<Cli, Exit> {
    let parsed = command().try_get_matches();
    parsed
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| show(&error))
}

/// Returns the command line with its help texts.
pub fn command() -> Clap {
    let mut command = Cli::command();
    for (name, examples) in EXAMPLES {
        let examples = examples.replace('\n', "\n  ");
        command = command.mut_subcommand(name, |command| {
            command.before_help(format!("Examples:\n  {examples}"))
        });
    }
    for name in Command::ON_HOST {
        command = on_host(command, name);
    }
    let top = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{FIRST_STEPS}\n\n{}{}\nacpd help COMMAND explains a command. A running daemon serves the documents at /docs/.\n",
        groups(&command),
        options(&command),
    );
    laid_out(command).help_template(top)
}

fn laid_out(command: Clap) -> Clap {
    command.mut_subcommands(|command| laid_out(command).help_template(LAYOUT))
}

/// Hides the options for remote daemons from a command that works only on the daemon's host.
fn on_host(command: Clap, name: &str) -> Clap {
    let remote = command.get_arguments().filter(|arg| is_remote(arg)).cloned();
    let hidden: Vec<Arg> = remote.map(|arg| arg.hide(true)).collect();
    command.mut_subcommand(name, |command| hide_in(command, &hidden))
}

fn hide_in(command: Clap, hidden: &[Arg]) -> Clap {
    command
        .args(hidden)
        .mut_subcommands(|command| hide_in(command, hidden))
}

fn is_remote(arg: &Arg) -> bool {
    matches!(arg.get_id().as_str(), "connect" | "tls_fingerprint")
}

fn groups(command: &Clap) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("{group}:\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Clap::get_about);
            let about = about.map(StyledStr::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<12} {about}\n"));
        }
        text.push('\n');
    }
    text
}

fn options(command: &Clap) -> String {
    let mut text = String::from("Options of all commands:\n");
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let short = arg
            .get_short()
            .map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
        let long = arg.get_long().unwrap_or_default();
        let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
        let value = value
            .and_then(|names| names.first())
            .map(|name| format!(" <{name}>"));
        let option = format!("{short}--{long}{}", value.unwrap_or_default());
        let help = arg.get_help().map(StyledStr::to_string).unwrap_or_default();
        text.push_str(&format!("  {option:<28} {help}\n"));
    }
    text
}

/// Prints help, or what is wrong with the arguments.
fn show(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print::out(&error.render().to_string());
            Exit::Success
        }
        ErrorKind::MissingSubcommand => help_of(&command_of(&usage(error))),
        _ => {
            print::err(&sentence(error));
            Exit::Usage
        }
    }
}

/// Returns an error without the usage line, which lists options as required that the environment sets.
fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let mut said = String::new();
    for part in text.split("\n\n") {
        let part = part.trim_matches('\n');
        let leaves_out = part.starts_with("Usage:")
            || part.starts_with("For more information")
            || part.contains("as a value, use '--");
        if !leaves_out && !part.is_empty() {
            let separator = if said.is_empty() { "" } else { "\n" };
            said.push_str(&format!("{separator}{part}"));
        }
    }
    let said = said.replacen("error: ", "acpd: ", 1);
    let tip = if is_unquoted_prompt(error) {
        "\n  tip: quote the prompt: acpd run \"fix the test\""
    } else {
        ""
    };
    format!("{said}{tip}\nsee \"{} --help\"\n", command_of(&usage(error)))
}

/// Prints the help of a command that was given without its subcommand.
fn help_of(name: &str) -> Exit {
    match command().try_get_matches_from(name.split(' ').chain(["-h"])) {
        Err(help) if help.kind() == ErrorKind::DisplayHelp => show(&help),
        _ => Exit::Usage,
    }
}

fn usage(error: &clap::Error) -> String {
    let usage = error.get(ContextKind::Usage);
    usage.map(ToString::to_string).unwrap_or_default()
}

/// Returns the command at the beginning of a usage line: `Usage: acpd agents list [OPTIONS]`.
fn command_of(usage: &str) -> String {
    let words = usage.trim_start_matches("Usage:").split_whitespace();
    let words: Vec<&str> = words
        .take_while(|word| !word.starts_with(['-', '[', '<']))
        .collect();
    if words.is_empty() {
        "acpd".to_owned()
    } else {
        words.join(" ")
    }
}

fn is_unquoted_prompt(error: &clap::Error) -> bool {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
        return false;
    };
    error.kind() == ErrorKind::UnknownArgument && !word.starts_with('-') && usage(error).contains("<PROMPT>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.sort_unstable();
        let command = command();
        let mut visible: Vec<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Clap::get_name)
            .collect();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
        command.debug_assert();
    }

    const BEGIN: &str = "<!-- commands: written by make generate -->\n";
    const END: &str = "<!-- end -->\n";

    /// Returns the rows of a command and those below it.
    fn rows(command: &Clap, parent: &str) -> String {
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut text = String::new();
        for command in shown {
            let name = format!("{parent} {}", command.get_name());
            if command.has_subcommands() {
                text.push_str(&rows(command, &name));
            } else {
                let about = command.get_about().map(StyledStr::to_string).unwrap_or_default();
                text.push_str(&format!("| `{name}` | {about} |\n"));
            }
        }
        text
    }

    /// `make generate` writes the list.
    #[test]
    fn the_list_of_commands_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let mut list = String::new();
        let whole = command();
        for (group, names) in GROUPS {
            list.push_str(&format!("\n### {group}\n\n| Command | |\n|---|---|\n"));
            for name in names {
                let command = whole.find_subcommand(name).unwrap().clone();
                list.push_str(&rows(&Clap::new("acpd").subcommand(command), "acpd"));
            }
        }
        let right = format!("{before}{BEGIN}{list}\n{END}{after}");
        if std::env::var_os("ACPD_GENERATE").is_some() {
            std::fs::write(path, right).unwrap();
        } else {
            assert_eq!(page, right, "run make generate");
        }
    }

    #[test]
    fn an_error_names_the_argument_and_where_to_read_on() {
        let said = |args: &[&str]| {
            let args = std::iter::once("acpd").chain(args.iter().copied());
            sentence(&command().try_get_matches_from(args).unwrap_err())
        };
        assert_eq!(
            said(&["run", "--agnt", "x", "y"]),
            "acpd: unexpected argument '--agnt' found\n  tip: a similar argument exists: '--agent'\nsee \"acpd run --help\"\n"
        );
        assert_eq!(
            said(&["run", "fix", "the", "test"]),
            "acpd: unexpected argument 'the' found\n  tip: quote the prompt: acpd run \"fix the test\"\nsee \"acpd run --help\"\n"
        );
        assert!(
            said(&["run"]).ends_with("<PROMPT>\nsee \"acpd run --help\"\n"),
            "{}",
            said(&["run"])
        );
        assert!(
            said(&["agents", "lst"]).contains("'list'"),
            "{}",
            said(&["agents", "lst"])
        );
    }

    #[test]
    fn help_of_a_local_command_has_no_options_for_remote_daemons() {
        let help = |name: &str| {
            let error = command()
                .try_get_matches_from(["acpd", name, "--help"])
                .unwrap_err();
            error.render().to_string()
        };
        assert!(help("show").contains("--connect"), "{}", help("show"));
        assert!(!help("stop").contains("--connect"), "{}", help("stop"));
    }
}
