//! Commands that run other commands.
//!
//! In: a command's words. Out: where the inner command begins. An unknown command is returned as it is.

use acpd_model::limits::COMMAND_DEPTH;

use super::command_words::CommandWords;
use super::path::normalise;
use super::shell::{self, Assignment, Found, Word};
use super::variables::{is_harmless, is_harmless_in_line};

/// Programs that run a command line, in the grammar that the parser accepts.
const SHELLS: [&str; 12] = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "lksh", "oksh", "yash", "rbash",
];
/// Shells' options, each a letter, that change neither what a script is nor how its words are read. `n` only reads it.
const SHELL_FLAGS: &str = "eluxn";
/// Names behind a shell's `-o`, of the same kind.
pub const SHELL_OPTIONS: [&str; 4] = ["errexit", "nounset", "pipefail", "xtrace"];
/// Options of bash with the same effect on a script: none.
const BASH_OPTIONS: [&str; 3] = ["--login", "--norc", "--noprofile"];
/// Programs whose arguments name another command, run with more rights, more arguments, or somewhere else.
const LAUNCHERS: [&str; 78] = [
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
    "fish",
    "csh",
    "tcsh",
    "nu",
    "pwsh",
    "posh",
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

/// Returns what the shell `name` with these arguments runs. Only listed options are understood: a letter may have a value
/// in one shell and none in another, and some change how the script is read.
pub fn script(name: &str, args: &[Word]) -> Script {
    let mut inline = false;
    let mut rest = args.iter();
    let operand = loop {
        let Some(word) = rest.next() else { break None };
        let is_flag = |letter: char| SHELL_FLAGS.contains(letter);
        match word.text.strip_prefix('-') {
            _ if word.dynamic => break Some(word),
            None if word.text.starts_with('+') => return Script::Unknown,
            None => break Some(word),
            Some(_) if inline => return Script::Unknown,
            Some(_) if BASH_OPTIONS.contains(&word.text.as_str()) && base_name(name) == Some("bash") => {}
            Some(letters) => match letters.strip_suffix(['c', 'o']) {
                Some(flags) if !flags.chars().all(is_flag) => return Script::Unknown,
                Some(_) if letters.ends_with('c') => inline = true,
                Some(_) => match rest.next() {
                    Some(name) if !name.dynamic && SHELL_OPTIONS.contains(&name.text.as_str()) => {}
                    _ => return Script::Unknown,
                },
                None if !letters.is_empty() && letters.chars().all(is_flag) => {}
                None => return Script::Unknown,
            },
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
    /// The inner command is unknown, because an option is not understood.
    Unknown,
    /// The wrapper sets or removes a variable that may affect the inner command.
    Poisoned,
}

/// How a wrapper's words before the command are understood.
struct Words {
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options whose value is attached, or the next word.
    valued: &'static [&'static str],
    /// Number of words between the options and the command.
    operands: usize,
}

/// Returns the options of the wrapper `name`, or `None` for another program.
fn words_of(name: &str) -> Option<Words> {
    let (flags, valued, operands): (&[&str], &[&str], usize) = match name {
        // Without a PATH, a shell looks for programs where it was built to, which can be the working directory: the environment
        // is not emptied.
        "env" => (&["-0", "-v"], &["-u", "--unset", "-C", "--chdir"], 0),
        "nohup" | "exec" => (&[], &[], 0),
        "setsid" => (&["-f", "-c", "-w", "--fork", "--ctty", "--wait"], &[], 0),
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
        _ => return None,
    };
    Some(Words {
        flags,
        valued,
        operands,
    })
}

impl Words {
    /// Returns the number of words that the option `text` takes, or `None` if it is not listed.
    fn taken(&self, name: &str, text: &str) -> Option<usize> {
        let attached = |option: &&str| match option.strip_prefix("--") {
            Some(_) => text
                .strip_prefix(*option)
                .is_some_and(|rest| rest.starts_with('=')),
            None => text.len() > 2 && text.starts_with(*option),
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if self.flags.contains(&text)
            || self.valued.iter().any(attached)
            || (name == "nice" && text.strip_prefix('-').is_some_and(is_number))
        {
            Some(1)
        } else {
            self.valued.contains(&text).then_some(2)
        }
    }
}

/// Returns the variable that an option of `env` removes.
fn unset<'a>(option: &'a str, next: Option<&'a Word>) -> Option<&'a str> {
    let name = option
        .strip_prefix("-u")
        .or_else(|| option.strip_prefix("--unset"))?;
    match name.strip_prefix('=').unwrap_or(name) {
        "" => Some(next.map_or("", |word| word.text.as_str())),
        name => Some(name),
    }
}

/// Returns what a wrapper runs. Only listed options are understood.
pub fn unwrapped(name: &str, args: &[Word]) -> Wrapper {
    let Some(words) = words_of(name) else {
        return Wrapper::None;
    };
    // It only says what a name means.
    if name == "command"
        && args
            .first()
            .is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"))
    {
        return Wrapper::None;
    }
    let mut at = 0;
    while let Some(word) = args.get(at) {
        if word.dynamic {
            return Wrapper::Unknown;
        }
        if word.text == "--" {
            at += 1;
            break;
        }
        if !word.text.starts_with('-') {
            break;
        }
        let Some(taken) = words.taken(name, &word.text) else {
            return Wrapper::Unknown;
        };
        if name == "env"
            && let Some(variable) = unset(&word.text, args.get(at + 1))
            && !is_harmless_in_line(&Assignment::fixed(variable, ""))
        {
            return Wrapper::Poisoned;
        }
        at += taken;
    }
    if name == "env" {
        while let Some((variable, value)) = args.get(at).and_then(|word| word.text.split_once('=')) {
            if args[at].dynamic || !is_harmless(&Assignment::fixed(variable, value)) {
                return Wrapper::Poisoned;
            }
            at += 1;
        }
    }
    let operands = args.iter().skip(at).take(words.operands);
    if operands.clone().any(|word| word.dynamic) {
        return Wrapper::Unknown;
    }
    at += operands.count();
    if at < args.len() {
        Wrapper::Runs(at)
    } else {
        Wrapper::None
    }
}
