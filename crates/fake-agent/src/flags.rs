//! The command-line flags.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::scenarios;

/// The action that the command line requests.
#[derive(Debug)]
pub enum Request {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Run as an agent.
    Run(Flags),
}

/// The behaviour of the agent.
#[derive(Debug)]
pub struct Flags {
    /// `agentInfo.name`.
    pub name: String,
    /// Directory for session files; `None` keeps sessions in memory only.
    pub state: Option<PathBuf>,
    /// Whether the agent supports `session/load` and `session/resume`.
    pub load: bool,
    /// Whether a turn accepts messages while it runs (`_session/steering`).
    pub steer: bool,
    /// Whether the agent supports `session/fork`.
    pub fork: bool,
    /// Whether only one process at a time can use a session: the one that has made or opened it, until it ends.
    pub lock: bool,
    /// Whether the agent announces a cursor after each turn, at which it forks the session. Its messages have ids then.
    pub cursors: bool,
    /// Whether the agent supports `session/delete`.
    pub delete: bool,
    /// Whether the agent supports `session/options` and initial values of options.
    pub options: bool,
    /// Whether sessions take a system prompt, in both modes.
    pub system_prompt: bool,
    /// Whether `session/new` requires `authenticate` with the method `key`; enables `logout`.
    pub sign_in: bool,
    /// Whether there is also the method `browser`, which prints an address and a code, and never ends.
    pub sign_in_by_browser: bool,
    /// How long the agent refreshes its sign-in before it opens a session, in milliseconds. Another process with the same
    /// state is refused meanwhile.
    pub refresh: Option<u64>,
    /// Whether the agent sends an update before the response to `session/new`.
    pub early: bool,
    /// Whether the process keeps running after its stdin is closed.
    pub linger: bool,
    /// Pause between the chunks of the demo turn, in milliseconds.
    pub pace: u64,
    /// The recording to replay instead of running scripts.
    pub play: Option<Play>,
}

/// The recording to replay, and how.
#[derive(Debug, Clone)]
pub struct Play {
    /// Path of the recording, a JSONL file.
    pub file: PathBuf,
    /// The number of the recorded process to replay.
    pub proc: u64,
    /// 0 = without delays, 1 = as recorded, 2 = twice as fast.
    pub speed: f64,
    /// Milliseconds to wait for a recorded client message before skipping it; `None` waits forever.
    pub patience: Option<u64>,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            name: "fake-agent".into(),
            state: std::env::var_os("FAKE_AGENT_STATE").map(PathBuf::from),
            load: true,
            steer: false,
            fork: false,
            lock: false,
            cursors: false,
            delete: false,
            options: false,
            system_prompt: false,
            sign_in: false,
            sign_in_by_browser: false,
            refresh: None,
            early: false,
            linger: false,
            pace: 30,
            play: None,
        }
    }
}

const HEAD: &str = "\
A scripted ACP v1 agent over stdio, for tests and benchmarks.

Usage: acpd-fake-agent [FLAGS]
       acpd-fake-agent --play FILE [--proc N] [--speed X] [--patience MS]

Flags:
  --name NAME      agentInfo.name (default: fake-agent)
  --state DIR      keep sessions there as JSON files, so that another process can load them
                   (also: FAKE_AGENT_STATE=DIR)
  --forget         keep sessions in memory only, whatever FAKE_AGENT_STATE is
  --no-load        neither declare nor serve session/load and session/resume
  --steer          declare and serve _session/steering: words in mid-turn, for the step steered;
                   those with the word \"later\" are answered after the turn
  --fork           declare and serve session/fork
  --lock           let no other process with the same --state load or resume a session that this one has
                   made or opened, even closed, until this one ends; it can be forked
  --cursors        announce a cursor after each turn to clients that declare cursors, and fork there;
                   includes --fork
  --delete         declare and serve session/delete
  --options        declare and serve session/options, and take initial values of options
  --system-prompt  declare system prompts in both modes; without it, a session with one is refused
  --sign-in        declare the auth method \"key\" and logout; make no session without a sign-in, which
                   --state DIR keeps for other processes
  --sign-in-by-browser
                   declare the auth method \"browser\" too, which prints an address and a code and never ends
  --refresh MS     refresh the sign-in of --state DIR for that time before opening a session; other
                   processes are asked to sign in meanwhile
  --early          send an update before the answer to session/new
  --linger         do not exit when stdin closes
  --pace MS        pause between the chunks of the demo turn (default: 30)
  --play FILE      replay the agent's side of a recorded transcript
  --proc N         which process of the recording to be (default: 1)
  --speed X        0 = no delays (default), 1 = as recorded, 2 = twice as fast
  --patience MS    continue without a recorded client message after that time (default: wait for ever)
  --help, --version

The text of a prompt is a list of steps, separated by newlines or `;`:

  WORD [word...] [key=value...]

Words are quoted with '...' or \"...\" (the latter with \\n, \\t, \\\", \\\\). A bare word after key=value belongs to
that value. Other text gets the demo turn. Steps:

";

/// Returns the text of `--help`: the flags, then the table of scenarios.
pub fn help() -> String {
    let mut text = String::from(HEAD);
    for scenario in scenarios::TABLE {
        let usage = format!("{} {}", scenario.name, scenario.usage);
        // Writing to a String cannot fail.
        let _ = match usage.trim_end() {
            short if short.len() <= 44 => writeln!(text, "  {short:<44} {}", scenario.about),
            long => writeln!(text, "  {long}\n  {:<44} {}", "", scenario.about),
        };
    }
    text
}

/// Parses the command line, without the program name.
pub fn parse(args: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut args = args;
    let mut flags = Flags::default();
    let (mut file, mut proc, mut speed, mut patience) = (None, None, None, None);
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} requires a value"));
        match flag.as_str() {
            "--help" | "-h" => return Ok(Request::Help),
            "--version" | "-V" => return Ok(Request::Version),
            "--no-load" => flags.load = false,
            "--steer" => flags.steer = true,
            "--fork" => flags.fork = true,
            "--lock" => flags.lock = true,
            "--cursors" => (flags.fork, flags.cursors) = (true, true),
            "--delete" => flags.delete = true,
            "--options" => flags.options = true,
            "--system-prompt" => flags.system_prompt = true,
            "--sign-in" => flags.sign_in = true,
            "--sign-in-by-browser" => flags.sign_in_by_browser = true,
            "--refresh" => flags.refresh = Some(number(&flag, &value()?)?),
            "--early" => flags.early = true,
            "--linger" => flags.linger = true,
            "--name" => flags.name = value()?,
            "--forget" => flags.state = None,
            "--state" => flags.state = Some(value()?.into()),
            "--pace" => flags.pace = number(&flag, &value()?)?,
            "--play" => file = Some(PathBuf::from(value()?)),
            "--proc" => proc = Some(number(&flag, &value()?)?),
            "--speed" => speed = Some(number::<f64>(&flag, &value()?)?),
            "--patience" => patience = Some(number(&flag, &value()?)?),
            _ => return Err(format!("unknown flag {flag}; see --help")),
        }
    }
    if speed.is_some_and(|x| !x.is_finite() || x < 0.0) {
        return Err("--speed requires a number that is not negative".into());
    }
    match file {
        Some(file) => {
            let (proc, speed) = (proc.unwrap_or(1), speed.unwrap_or(0.0));
            flags.play = Some(Play {
                file,
                proc,
                speed,
                patience,
            });
        }
        None if proc.is_some() || speed.is_some() || patience.is_some() => {
            return Err("--proc, --speed and --patience belong to --play".into());
        }
        None => {}
    }
    Ok(Request::Run(flags))
}

fn number<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("{flag} requires a number, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn play_has_defaults() {
        let Ok(Request::Run(Flags { play: Some(play), .. })) = flags("--play x.jsonl") else {
            panic!("not parsed");
        };
        assert_eq!((play.proc, play.patience), (1, None));
        assert!(play.speed.abs() < f64::EPSILON);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--what",
            "--name",
            "--pace x",
            "--proc 1",
            "--play x --speed -1",
            "--play x --speed nan",
        ] {
            assert!(flags(line).is_err(), "{line}");
        }
    }

    #[test]
    fn help_names_every_scenario() {
        let help = help();
        for scenario in scenarios::TABLE {
            assert!(
                help.contains(&format!("\n  {}", scenario.name)),
                "{}",
                scenario.name
            );
        }
    }
}
