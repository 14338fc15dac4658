//! Steps about the agent's process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::scenarios::args::Args;
use crate::turn::{End, Flow, Turn};
use crate::wire::{INTERNAL_ERROR, RpcError};

pub fn stderr(_: &mut Turn, args: &Args) -> Flow {
    eprintln!("{}", args.word());
    Ok(())
}

/// Starts a child that ignores SIGTERM; an ignored signal stays ignored over `exec`. Sends the pid only once it is
/// ignored.
pub fn spawn(turn: &mut Turn, args: &Args) -> Flow {
    let seconds = args.number("ms", 600_000_u64).div_ceil(1000);
    let script = format!("trap '' TERM; echo >&2; exec 2>/dev/null sleep {seconds}");
    let stdout = if args.word() == "hold" {
        Stdio::inherit()
    } else {
        Stdio::null()
    };
    let mut command = Command::new("sh");
    if args.word() == "away" {
        command = Command::new("setsid");
        command.arg("sh").env_clear();
    }
    let child = command
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn();
    let mut child =
        child.map_err(|error| End::Fail(RpcError::new(INTERNAL_ERROR, format!("spawn: {error}"))))?;
    if let Some(stderr) = child.stderr.take() {
        // Continue when the child has written its line or has exited.
        let _ = BufReader::new(stderr).read_line(&mut String::new());
    }
    turn.say(&format!("spawned {}", child.id()));
    Ok(())
}
