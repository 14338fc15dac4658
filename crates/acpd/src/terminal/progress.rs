//! The line that shows that something is under way, on terminals alone.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::print;

/// Time between two pictures of the line.
const TICK: Duration = Duration::from_millis(120);

/// A line at the end of standard error, until it is ended.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Returns whether this process shows such lines.
    pub fn is_shown() -> bool {
        !print::is_quiet() && std::io::stderr().is_terminal()
    }

    /// Shows what is under way, with the elapsed time.
    pub fn begin(what: &str) -> Self {
        if !Self::is_shown() {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(TICK);
        Self(Some(bar))
    }

    /// Replaces the text of the line.
    pub fn set(&self, what: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(what.to_owned());
        }
    }

    /// Prints to standard error above the line.
    pub fn print(&self, text: &str) {
        match &self.0 {
            Some(bar) => bar.suspend(|| print::err(text)),
            None => print::err(text),
        }
    }

    /// Removes the line.
    pub fn end(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
