//! The pager for long output, on terminals alone.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use super::print;

/// Prints a text. On a terminal, the program in `PAGER` shows it; `less` by default, which exits at once if the text fits.
pub fn page(text: &str) {
    if !std::io::stdout().is_terminal() || !shown_by_pager(text) {
        print::out(text);
    }
}

fn shown_by_pager(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_default();
    let mut words = pager.split_whitespace();
    let program = words.next().unwrap_or("less");
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut stdin) = child.stdin.take() {
        // The user may quit before the end.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}
