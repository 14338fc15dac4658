//! Parsing of the arguments, and the layout of help and usage errors.

use acpd_model::similar::nearest_command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command as Clap, CommandFactory, FromArgMatches};

use super::group::Listed;
use super::{Cli, groups};
use crate::exit::Exit;
use crate::options::Common;
use crate::terminal::print;

const FIRST_STEPS: &str = "\
First steps:
  acpd serve --demo         start the daemon with a demo agent
  acpd open                 open the web UI, signed in
  acpd agents list          list the agents that can run here
  acpd run \"fix the test\"   send a prompt from this directory";

const EXIT_CODES: &str = "\
Exit codes:
  0 success    2 wrong arguments    5 not found    7 not permitted
  1 failure    6 no daemon          130 interrupted
  \"acpd run\" also has 3, 4 and 8, and \"acpd policy test\" has 10 and 11";

/// Exit codes that only some commands have, for the end of their help.
const OWN_EXIT_CODES: [(&str, &str); 4] = [
    (
        "acp-check",
        "Exit codes: 0 no rule is violated, 1 a rule is violated, or the agent cannot be started",
    ),
    (
        "run",
        "Exit codes: 3 the agent refused, 4 the turn reached a limit, 8 a question was declined without a terminal",
    ),
    (
        "doctor",
        "Exit codes: 0 no problem was found, 1 a problem was found",
    ),
    ("policy test", "Exit codes: 0 allowed, 10 asked, 11 denied"),
];

const LAYOUT: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// The arguments of this process.
pub enum Parsed {
    /// A command.
    Command(Box<Cli>),
    /// No command; the common options, if they are valid.
    Bare(Option<Common>),
    /// Nothing more to do: help or an error was printed.
    Done(Exit),
}

/// Parses the arguments of this process.
pub fn parse() -> Parsed {
    let parsed = command()
        .try_get_matches_from(super::codex::separated(&Cli::command(), std::env::args_os()))
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, path(&matches))));
    match parsed {
        Ok((cli, path)) if cli.common.connect.is_some() && is_on_host(&path) => {
            print::err(&format!(
                "acpd: \"acpd {path}\" works only on the daemon's host: remove --connect, or unset ACPD_CONNECT\n"
            ));
            Parsed::Done(Exit::Usage)
        }
        Ok((cli, _)) => Parsed::Command(Box::new(cli)),
        Err(error) if is_incomplete(&error) && command_of(&usage(&error)) == "acpd" => {
            Parsed::Bare(bare_options())
        }
        Err(error) => Parsed::Done(show(
            &error,
            &named(
                std::env::args_os()
                    .skip(1)
                    .map(|arg| arg.to_string_lossy().into_owned()),
            ),
        )),
    }
}

/// Returns the command that arguments name, as far as they do: `acpd token create`.
fn named(args: impl Iterator<Item = String>) -> String {
    let whole = command();
    let mut name = whole.get_name().to_owned();
    let mut command = &whole;
    for arg in args.take_while(|arg| arg != "--") {
        if let Some(below) = command.find_subcommand(&arg) {
            name = format!("{name} {}", below.get_name());
            command = below;
        }
    }
    name
}

/// Returns the names of the subcommands: `token create`.
fn path(matches: &ArgMatches) -> String {
    let mut names = Vec::new();
    let mut matches = matches;
    while let Some((name, below)) = matches.subcommand() {
        names.push(name);
        matches = below;
    }
    names.join(" ")
}

fn is_on_host(path: &str) -> bool {
    groups().iter().flat_map(|group| group.on_host).any(|command| {
        let below = path.strip_prefix(command);
        below.is_some_and(|below| below.is_empty() || below.starts_with(' '))
    })
}

/// Returns whether a subcommand is missing. Which of the two kinds it is depends on whether the environment sets options.
fn is_incomplete(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// Returns the common options of a command line without a command.
fn bare_options() -> Option<Common> {
    let args = std::env::args_os().chain(["status".into()]);
    let matches = command().try_get_matches_from(args).ok()?;
    Cli::from_arg_matches(&matches).ok().map(|cli| cli.common)
}

/// Returns the help of `acpd`.
pub fn help() -> String {
    command().render_help().to_string()
}

/// Returns the command line with its help texts.
pub fn command() -> Clap {
    let mut command = Cli::command();
    for (path, codes) in OWN_EXIT_CODES {
        command = changed(command, path, |command| command.after_help(codes));
    }
    let remote = command.get_arguments().filter(|arg| is_remote(arg)).cloned();
    let hidden: Vec<Arg> = remote.map(|arg| arg.hide(true)).collect();
    for path in groups().iter().flat_map(Listed::local) {
        command = changed(command, path, |command| hide_in(command, &hidden));
    }
    let top = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{FIRST_STEPS}\n\n{}{}\n{EXIT_CODES}\n\nacpd help COMMAND explains a command. A running daemon serves the documents at /docs/.\n",
        listed(&command),
        options(&command),
    );
    laid_out(command).help_template(top)
}

fn laid_out(command: Clap) -> Clap {
    command.mut_subcommands(|command| laid_out(command).help_template(LAYOUT))
}

/// Changes the command with this name, or these two: `token create`.
fn changed(command: Clap, path: &str, change: impl FnOnce(Clap) -> Clap) -> Clap {
    match path.split_once(' ') {
        Some((name, below)) => command.mut_subcommand(name, |command| command.mut_subcommand(below, change)),
        None => command.mut_subcommand(path, change),
    }
}

/// Hides the options for remote daemons from a command and those below it.
fn hide_in(command: Clap, hidden: &[Arg]) -> Clap {
    command
        .args(hidden)
        .mut_subcommands(|command| hide_in(command, hidden))
}

fn is_remote(arg: &Arg) -> bool {
    matches!(arg.get_id().as_str(), "connect" | "tls_fingerprint")
}

fn listed(command: &Clap) -> String {
    let mut text = String::new();
    for group in groups() {
        text.push_str(&format!("{}:\n", group.heading));
        for name in &group.names {
            let about = command.find_subcommand(name).and_then(Clap::get_about);
            let about = about.map(StyledStr::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<13} {about}\n"));
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
        text.push_str(&format!("  {option:<30} {help}\n"));
    }
    text
}

/// Prints help, or what is wrong with the arguments. `named` is the command that they name.
fn show(error: &clap::Error, named: &str) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print::out(&error.render().to_string());
            Exit::Success
        }
        _ if is_incomplete(error) => help_of(&command_of(&usage(error))),
        _ => {
            print::err(&sentence(error, named));
            Exit::Usage
        }
    }
}

/// Returns an error without the usage line, which lists options as required that the environment sets.
fn sentence(error: &clap::Error, named: &str) -> String {
    let text = in_words(&error.render().to_string());
    let mut said = String::new();
    for part in text.split("\n\n") {
        let part = part.trim_matches('\n');
        let leaves_out = part.starts_with("Usage:")
            || part.starts_with("For more information")
            || (error.kind() == ErrorKind::InvalidSubcommand && part.contains("tip:"))
            || part.contains("as a value, use '--");
        if !leaves_out && !part.is_empty() {
            let separator = if said.is_empty() { "" } else { "\n" };
            said.push_str(&format!("{separator}{part}"));
        }
    }
    let said = said.replacen("error: ", "acpd: ", 1);
    let tip = if is_unquoted_prompt(error) {
        "\n  tip: quote the prompt: acpd run \"fix the test\"".to_owned()
    } else {
        let similar = similar_command(error, named);
        similar.map_or_else(String::new, |similar| {
            format!("\n  tip: a similar subcommand exists: '{similar}'")
        })
    };
    // An error about a value has no usage.
    let usage = command_of(&usage(error));
    let command: &str = if usage.len() < named.len() { named } else { &usage };
    format!("{said}{tip}\nsee \"{command} --help\"\n")
}

/// Returns the command that is spelled most like an unknown one.
fn similar_command(error: &clap::Error, named: &str) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let whole = command();
    let parent = named
        .split(' ')
        .skip(1)
        .try_fold(&whole, |command, name| command.find_subcommand(name))?;
    let shown = parent.get_subcommands().filter(|command| !command.is_hide_set());
    nearest_command(given, shown.map(Clap::get_name)).map(str::to_owned)
}

/// Replaces what Rust's library says about a value.
fn in_words(text: &str) -> String {
    [
        ("invalid digit found in string", "write a whole number"),
        ("cannot parse integer from empty string", "write a whole number"),
        (
            "number too large to fit in target type",
            "the number is too large",
        ),
        (
            "number too small to fit in target type",
            "the number is too small",
        ),
        (
            "invalid socket address syntax",
            "write an address with a port, such as 127.0.0.1:4127",
        ),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Prints the help of a command that was given without its subcommand.
fn help_of(name: &str) -> Exit {
    match command().try_get_matches_from(name.split(' ').chain(["-h"])) {
        Err(help) if help.kind() == ErrorKind::DisplayHelp => show(&help, name),
        _ => Exit::Usage,
    }
}

fn usage(error: &clap::Error) -> String {
    if let Some(usage) = error.get(ContextKind::Usage) {
        return usage.to_string();
    }
    // An error that is a help text has its usage only there.
    let text = error.render().to_string();
    let mut lines = text.lines();
    let line = lines.find(|line| line.starts_with("Usage:"));
    line.unwrap_or_default().to_owned()
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
        let groups = groups();
        let mut grouped: Vec<&str> = groups
            .iter()
            .flat_map(|group| &group.names)
            .map(String::as_str)
            .collect();
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
        for group in groups() {
            list.push_str(&format!("\n### {}\n\n| Command | |\n|---|---|\n", group.heading));
            for name in &group.names {
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
    fn every_command_has_examples() {
        fn check(command: &Clap, path: &str) {
            let below = command
                .get_subcommands()
                .filter(|below| !below.is_hide_set() && below.get_name() != "help");
            let mut is_leaf = true;
            for below in below {
                is_leaf = false;
                check(below, format!("{path} {}", below.get_name()).trim());
            }
            assert!(
                !is_leaf || command.get_before_help().is_some(),
                "{path} has no examples"
            );
        }
        check(&command(), "");
    }

    #[test]
    fn an_error_names_the_argument_and_where_to_read_on() {
        let said = |args: &[&str]| {
            let whole = std::iter::once("acpd").chain(args.iter().copied());
            let error = command().try_get_matches_from(whole).unwrap_err();
            sentence(&error, &named(args.iter().map(|arg| (*arg).to_owned())))
        };
        assert_eq!(
            said(&["rn", "hello"]),
            "acpd: unrecognized subcommand 'rn'\n  tip: a similar subcommand exists: 'run'\nsee \"acpd --help\"\n"
        );
        assert_eq!(
            said(&["threads", "-n", "abc"]),
            "acpd: invalid value 'abc' for '--limit <N>': write a whole number\nsee \"acpd threads --help\"\n"
        );
        assert!(
            said(&["-q", "token", "create", "--role", "king"])
                .ends_with("see \"acpd token create --help\"\n")
        );
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
                .try_get_matches_from(["acpd"].into_iter().chain(name.split(' ')).chain(["--help"]))
                .unwrap_err();
            error.render().to_string()
        };
        for far in ["show", "send", "agents list", "agents doctor", "token ticket"] {
            assert!(help(far).contains("--connect"), "{far}: {}", help(far));
        }
        for path in groups().iter().flat_map(Listed::local) {
            assert!(!help(path).contains("--connect"), "{path}: {}", help(path));
        }
        assert!(is_on_host("token create") && is_on_host("policy test") && is_on_host("stop"));
        assert!(!is_on_host("token ticket") && !is_on_host("agents list") && !is_on_host("status"));
    }
}
