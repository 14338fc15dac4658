//! A command in a terminal of its own, as a person sees it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::{copy_surroundings, wait_until};

/// A terminal with a running command.
pub struct Screen {
    child: Child,
    keyboard: File,
    /// The command's end of the terminal, until the command is finished.
    terminal: Option<OwnedFd>,
    seen: Arc<Mutex<Seen>>,
    reader: Option<JoinHandle<()>>,
}

/// What the command wrote.
struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

impl Screen {
    /// Starts a command in a terminal of this size, which is its controlling terminal.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
        grantpt(&master)
            .and_then(|()| unlockpt(&master))
            .expect("it is ours");
        let path = ptsname(&master, Vec::new()).expect("it has a name");
        let path = path.to_str().expect("it is text");
        let terminal = File::options().read(true).write(true).open(path);
        let terminal: OwnedFd = terminal.expect("it can be opened").into();
        resize(&master, columns, rows);
        let stream = || Stdio::from(terminal.try_clone().expect("it can be shared"));
        let mut leader = Command::new("setsid");
        leader
            .arg("--ctty")
            .arg(command.get_program())
            .args(command.get_args())
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR");
        copy_surroundings(command, &mut leader);
        let child = leader
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .expect("it starts");
        let seen = Arc::new(Mutex::new(Seen {
            parser: vt100::Parser::new(rows, columns, 0),
            bytes: Vec::new(),
        }));
        let keyboard = File::from(master);
        let mut output = keyboard.try_clone().expect("it can be read");
        let shown = Arc::clone(&seen);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                let mut seen = lock(&shown);
                seen.parser.process(&buffer[..read]);
                seen.bytes.extend_from_slice(&buffer[..read]);
            }
        });
        Self {
            child,
            keyboard,
            terminal: Some(terminal),
            seen,
            reader: Some(reader),
        }
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types text or control characters.
    pub fn press(&self, keys: &str) {
        (&self.keyboard).write_all(keys.as_bytes()).expect("it reads");
    }

    /// Changes the size of the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        lock(&self.seen).parser.screen_mut().set_size(rows, columns);
        resize(&self.keyboard, columns, rows);
    }

    /// Returns the text on the screen, without the spaces at the end of its lines.
    pub fn text(&self) -> String {
        let text = lock(&self.seen).parser.screen().contents();
        text.lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }

    /// Returns everything that the command wrote.
    pub fn bytes(&self) -> Vec<u8> {
        lock(&self.seen).bytes.clone()
    }

    /// Returns whether a character on the screen has a colour.
    pub fn has_colors(&self) -> bool {
        let seen = lock(&self.seen);
        let screen = seen.parser.screen();
        let (rows, columns) = screen.size();
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let mut cells = cells.filter_map(|(row, column)| screen.cell(row, column));
        cells.any(|cell| cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default)
    }

    /// Waits until the screen has this text.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |shown| shown.contains(text));
    }

    /// Waits until the text on the screen is as wanted.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = std::time::Instant::now() + super::PATIENCE;
        loop {
            let text = self.text();
            if holds(&text) {
                return;
            }
            assert!(
                std::time::Instant::now() < deadline,
                "waited in vain for {what:?}; the screen:\n{text}"
            );
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Returns whether the terminal is as a shell left it: its lines are edited, and its main screen is shown.
    pub fn is_restored(&self) -> bool {
        self.edits_lines() && self.shows_main_screen()
    }

    fn edits_lines(&self) -> bool {
        let terminal = self.terminal.as_ref().expect("it is open");
        let modes = tcgetattr(terminal).expect("it is a terminal").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn shows_main_screen(&self) -> bool {
        let seen = lock(&self.seen);
        let screen = seen.parser.screen();
        !screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor()
    }

    /// Waits until the command exits, with everything on the screen.
    pub fn finish(mut self) -> (ExitStatus, String) {
        let mut status = None;
        wait_until("the command exits", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        assert!(self.edits_lines(), "the terminal is not restored");
        // What it wrote last may still be in the terminal. The reader ends behind that, once no one else has the terminal.
        self.terminal = None;
        let reader = self.reader.take().expect("it is finished once");
        wait_until("everything is on the screen", || reader.is_finished());
        assert!(self.shows_main_screen(), "the screen is not restored");
        (status.expect("it has exited"), self.text())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have exited already; a failed test must not leave a process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The reader ends with the process's end of the terminal, of which this one is a part.
        drop(self.reader.take());
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn resize(terminal: &impl AsFd, columns: u16, rows: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).expect("it has a size");
}
