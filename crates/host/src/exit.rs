//! Exit statuses, and messages for processes that could not be started.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::command::Program;
use crate::script::{interpreter_of, interpreter_words};

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// Exit code, if the command exited normally.
    pub code: Option<i32>,
    /// Signal that terminated the command.
    pub signal: Option<String>,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        Self {
            code: status.code(),
            signal: status.signal().map(signal_name),
        }
    }
}

fn signal_name(number: i32) -> String {
    const NAMES: [(i32, &str); 12] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
    ];
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {number}"),
    }
}

/// Returns whether the sandbox has denied the program: the daemon itself may execute it.
fn is_of_the_sandbox(program: &Program) -> bool {
    let may_run = |file: &Path| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    program.sandbox.is_some()
        && may_run(&program.cwd)
        && find(program, &program.command).is_none_or(|file| may_run(&file))
}

/// Finds a file as the program's own name is looked up.
fn find(program: &Program, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(program.cwd.join(name)).filter(|file| file.exists());
    }
    let search = program.env.get("PATH")?;
    let mut files = std::env::split_paths(search).map(|place| place.join(name));
    files.find(|file| file.is_file())
}

/// Returns the interpreter that the program's first line names, with its real path if it has another one.
fn interpreter(program: &Program) -> Option<String> {
    let words = interpreter_words(&find(program, &program.command)?)?;
    let named = interpreter_of(&words)?;
    let real = find(program, named).and_then(|file| file.canonicalize().ok());
    Some(real.map_or_else(|| named.to_owned(), |real| real.display().to_string()))
}

/// Returns the reason why the program could not be started. The system reports "not found" for a missing directory as
/// well.
pub(crate) fn cannot_start(program: &Program, error: &io::Error) -> String {
    let Program { command, cwd, .. } = program;
    let place = cwd.display();
    if command.is_empty() {
        return "no program was named".to_owned();
    }
    match (error.kind(), cwd.metadata()) {
        (_, Err(missing)) if missing.kind() == io::ErrorKind::NotFound => {
            format!("the directory {place} does not exist")
        }
        (_, Ok(there)) if !there.is_dir() => format!("{place} is not a directory"),
        (io::ErrorKind::NotFound, _) if command.contains('/') && cwd.join(command).exists() => {
            format!("the program {command:?} cannot be run: the interpreter that it names was not found")
        }
        (io::ErrorKind::NotFound, _) => format!("the program {command:?} was not found"),
        (io::ErrorKind::PermissionDenied, _) if is_of_the_sandbox(program) => {
            let interpreter = interpreter(program)
                .map(|interpreter| format!(" or its interpreter {interpreter:?}"))
                .unwrap_or_default();
            format!(
                "acpd's sandbox does not let the agent execute the program {command:?}{interpreter}, or enter the directory {place}: \
                 list it in \"read\" of its sandbox in the configuration (acpd agents doctor NAME shows what it may read)"
            )
        }
        (io::ErrorKind::PermissionDenied, _) => {
            format!(
                "the program {command:?} may not be executed, or the directory {place} may not be entered"
            )
        }
        (io::ErrorKind::ArgumentListTooLong, _) => {
            format!("the arguments and the environment of {command:?} are too long for this system")
        }
        (io::ErrorKind::InvalidInput, _) => {
            format!("the program {command:?}, its arguments or its environment hold a NUL character")
        }
        _ => format!("the program {command:?} could not be started: {error}"),
    }
}
