//! Commands that run other commands.
//!
//! In: a command's words. Out: where the inner command begins. An unknown command is returned as it is.

use acpd_model::limits::COMMAND_DEPTH;

use super::command_words::CommandWords;
use super::path::normalise;
use super::shell::{self, Assignment, Found, Word};
use super::variables::is_harmless;

/// Programs that run a command line.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"];
/// Programs whose arguments name another command, run with more rights, more arguments, or somewhere else.
const LAUNCHERS: [&str; 72] = [
    "sudo",
    "doas",
    "su",
    "runuser",
    "pkexec",
    "xargs",
    "find",
    "fd",
    "ssh",
    "watch",
    "parallel",
    "strace",
    "ltrace",
    "gdb",
    "chroot",
    "nsenter",
    "unshare",
    "bwrap",
    "firejail",
    "script",
    "flock",
    "entr",
    "busybox",
    "toybox",
    "docker",
    "podman",
    "kubectl",
    "npx",
    "bunx",
    "uvx",
    "ionice",
    "taskset",
    "systemd-run",
    "at",
    "repeat",
    "noglob",
    "nocorrect",
    "command",
    "env",
    "timeout",
    "nohup",
    "setsid",
    "nice",
    "stdbuf",
    "exec",
    "time",
    "builtin",
    "setpriv",
    "chrt",
    "prlimit",
    "setarch",
    "linux32",
    "linux64",
    "sg",
    "ssh-agent",
    "dbus-run-session",
    "dbus-launch",
    "choom",
    "numactl",
    "cpulimit",
    "fakeroot",
    "fakechroot",
    "proot",
    "eatmydata",
    "unbuffer",
    "faketime",
    "xvfb-run",
    "run0",
    "uv",
    "pnpm",
    "direnv",
    "capsh",
];
/// Returns whether a program may run another one that its arguments name. This includes a shell outside of the system's
/// program directories.
pub fn launches(program: &str) -> bool {
    base_name(program).is_some_and(|name| LAUNCHERS.contains(&name) || SHELLS.contains(&name))
}

/// Number of a launcher's words that are tried as the start of a command.
const LAUNCHED_MAX: usize = 64;

/// Adds the commands that a launcher may run: its arguments from each position on, and each argument as a command line.
pub fn launched(words: &CommandWords, also: &mut Vec<CommandWords>) {
    for at in 1..words.len().min(LAUNCHED_MAX) {
        also.push(words.starting_at(at));
        if words[at].text.contains([' ', '\t', '\n', ';']) {
            let (found, _) = shell::read(&words[at].text, COMMAND_DEPTH - 1);
            also.extend(found.into_iter().filter_map(|found| match found {
                Found::Command(simple) => Some(simple.words.into()),
                Found::Write(_) => None,
            }));
        }
    }
}

/// Returns the name of a program that is found on PATH or in the system's program directories.
pub fn plain_name(word: &str) -> Option<&str> {
    if !word.contains('/') {
        return Some(word);
    }
    let path = normalise(word, "/", None).filter(|_| word.starts_with('/'))?;
    let (directory, _) = path.rsplit_once('/')?;
    let is_known = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"].contains(&directory);
    base_name(word).filter(|name| is_known && path.ends_with(name))
}

/// Returns whether `program` is a shell that is found on PATH or in the system's program directories.
pub fn is_shell(program: &str) -> bool {
    plain_name(program).is_some_and(|name| SHELLS.contains(&name))
}

/// Returns the last segment of a program's path.
pub fn base_name(word: &str) -> Option<&str> {
    word.rsplit('/').next().filter(|name| !name.is_empty())
}

pub enum Script {
    /// `-c` with this text, and whether it has arguments.
    Inline(String, bool),
    /// A script file, or no script.
    File,
    /// Any other form.
    Unknown,
}

/// Returns what a shell with these arguments runs.
pub fn script(args: &[Word]) -> Script {
    let mut inline = false;
    let mut rest = args.iter();
    let operand = loop {
        let Some(word) = rest.next() else { break None };
        if word.dynamic {
            break Some(word);
        }
        match word.text.as_str() {
            "-" | "--" => break rest.next(),
            "--login" | "--norc" | "--noprofile" | "--posix" | "--noediting" | "--verbose" => {}
            text if text.starts_with("--") => return Script::Unknown,
            text if text.len() > 1 && text.starts_with(['-', '+']) => {
                if !text[1..]
                    .bytes()
                    .all(|letter| b"abcefhiklmnopuvxBCEHPT".contains(&letter))
                {
                    return Script::Unknown;
                }
                // `+c` counts as well.
                inline |= text.contains('c');
                if text.contains('o') && rest.next().is_none_or(|name| name.dynamic) {
                    return Script::Unknown;
                }
            }
            _ => break Some(word),
        }
    };
    match operand {
        Some(word) if word.dynamic => Script::Unknown,
        Some(word) if inline => Script::Inline(word.text.clone(), rest.next().is_some()),
        None if inline => Script::Unknown,
        _ => Script::File,
    }
}

pub enum Wrapper {
    /// The command is not a wrapper.
    None,
    /// The inner command begins at this argument.
    Runs(usize),
    /// The inner command is unknown.
    Unknown,
    /// The wrapper sets a variable that may affect the inner command.
    Poisoned,
}

/// Returns what a wrapper runs. With an option that is not listed here, the command counts as it is written, so that a
/// rule must name it.
pub fn unwrapped(name: &str, args: &[Word]) -> Wrapper {
    // Options without a value, options whose value is the next word, and the number of words before the command.
    let (flags, valued, operands): (&[&str], &[&str], usize) = match name {
        "env" => (
            &["-i", "-", "--ignore-environment", "-0", "-v"],
            &["-u", "--unset", "-C", "--chdir"],
            0,
        ),
        "nohup" | "builtin" => (&[], &[], 0),
        "setsid" => (&["-f", "-c", "-w", "--fork", "--ctty", "--wait"], &[], 0),
        "exec" => (&["-c", "-l", "-cl"], &["-a"], 0),
        "command" => (&["-p"], &[], 0),
        "nice" => (&[], &["-n", "--adjustment"], 0),
        "time" => (
            &["-p", "-v", "--verbose", "--portability"],
            &["-f", "--format"],
            0,
        ),
        "stdbuf" => (&[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
        "timeout" => (
            &["--foreground", "--preserve-status", "-v", "--verbose"],
            &["-s", "--signal", "-k", "--kill-after"],
            1,
        ),
        _ => return Wrapper::None,
    };
    let mut at = 0;
    let mut operands = operands;
    while let Some(word) = args.get(at) {
        if word.dynamic {
            return Wrapper::Unknown;
        }
        let text = word.text.as_str();
        let attached = |option: &&&str| match option.strip_prefix("--") {
            Some(_) => text
                .strip_prefix(**option)
                .is_some_and(|rest| rest.starts_with('=')),
            None => text.len() > 2 && text.starts_with(**option),
        };
        if text == "--" {
            at += 1;
            break;
        } else if flags.contains(&text) || valued.iter().find(attached).is_some() {
            at += 1;
        } else if valued.contains(&text) {
            at += 2;
        } else if name == "nice" && text.len() > 1 && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            at += 1;
        } else if text.starts_with('-') {
            return if matches!(name, "env" | "exec") {
                Wrapper::Unknown
            } else {
                Wrapper::None
            };
        } else {
            break;
        }
    }
    if name == "env" {
        while let Some((variable, value)) = args.get(at).and_then(|word| word.text.split_once('=')) {
            if args[at].dynamic || !is_harmless(&Assignment::fixed(variable, value)) {
                return Wrapper::Poisoned;
            }
            at += 1;
        }
    }
    while operands > 0 && at < args.len() {
        if args[at].dynamic {
            return Wrapper::Unknown;
        }
        operands -= 1;
        at += 1;
    }
    if at < args.len() {
        Wrapper::Runs(at)
    } else {
        Wrapper::None
    }
}
