//! The terminal's modes: raw input, the alternate screen, bracketed paste.
//!
//! Owns: the terminal, from [`Screen::enter`] until it is dropped. Never: leaves it in these modes, whether the program
//! returns, fails or panics.

use std::io::{self, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// The screen, in its modes.
pub struct Screen {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

/// Whether the terminal is in these modes.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

static HOOK: Once = Once::new();

impl Screen {
    /// Takes the terminal.
    pub fn enter() -> io::Result<Self> {
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // The message of the panic must not be lost with the alternate screen.
                leave();
                before(panic);
            }));
        });
        take()?;
        match empty() {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    /// Gives the terminal back.
    pub fn leave() {
        leave();
    }

    /// Takes the terminal again.
    pub fn return_to(&mut self) -> io::Result<()> {
        take()?;
        self.clear()
    }

    /// Empties the screen, so that the next picture is drawn as a whole.
    pub fn clear(&mut self) -> io::Result<()> {
        self.terminal = empty()?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Empties the screen. A terminal of ratatui that clears itself asks for the place of the cursor, and the answer would
/// arrive among the keys.
fn empty() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    execute!(io::stdout(), Clear(ClearType::All))?;
    Terminal::new(CrosstermBackend::new(io::stdout()))
}

fn take() -> io::Result<()> {
    IS_ENTERED.store(true, Ordering::Relaxed);
    let entered =
        enable_raw_mode().and_then(|()| execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste));
    if entered.is_err() {
        leave();
    }
    entered
}

fn leave() {
    if !IS_ENTERED.swap(false, Ordering::Relaxed) {
        return;
    }
    // The terminal may be gone, and then there is nothing to restore.
    let mut stdout = io::stdout();
    let _ = execute!(stdout, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = stdout.flush();
    let _ = disable_raw_mode();
}
