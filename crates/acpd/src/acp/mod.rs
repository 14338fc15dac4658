//! `acpd acp`: the agent process that an editor starts. It connects standard input and output to the daemon.
//!
//! It runs as long as the editor does. When the daemon is gone, it waits for the daemon to return. If none does and the
//! editor waits for a response, it starts one. It writes nothing but ACP to standard output.

mod message;
mod pipe;

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::cli::AcpArgs;
use crate::client::connect::connect;
use crate::client::link::Link;
use crate::client::reach::{Reached, reach, reach_running};
use crate::client::stdio::{self, Stdout};
use crate::exit::{Exit, sentence};
use crate::settings::Settings;
use crate::terminal::plain::plain;
use crate::terminal::print;
use crate::threads::find;

use pipe::{Output, Pipe, Purpose};

/// Time for a lost daemon to return before the pipe starts another one.
const RESTART_PATIENCE: Duration = Duration::from_secs(3);

/// Time for a remote daemon to be unreachable before the pipe gives up.
const AWAY_PATIENCE: Duration = Duration::from_mins(10);

/// Time for an editor to send its first request, when there is no daemon to serve it.
const FIRST_REQUEST: Duration = Duration::from_secs(5);

/// The longest line that is read of an editor whose settings cannot be read.
const EDITOR_LINE_BYTES: usize = 1 << 20;

/// The shortest and the longest wait between two connection attempts.
const ATTEMPTS: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// The reason why the pipe ends.
enum End {
    /// The editor closed standard input or output.
    Editor,
    /// An error that the pipe cannot recover from.
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for End {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

/// Serves the editor that started this process.
pub async fn acp(settings: &Settings, args: AcpArgs) -> anyhow::Result<Exit> {
    let AcpArgs { agent, thread } = args;
    let thread = match thread {
        Some(given) => match find_thread(settings, &given).await {
            Ok(thread) => Some(thread),
            Err(error) => {
                refuse(&error).await;
                return Err(error);
            }
        },
        None => None,
    };
    // On a remote daemon's host, the local directory means nothing.
    let cwd = settings
        .remote
        .is_none()
        .then(std::env::current_dir)
        .transpose()?;
    let mut session = Session {
        settings,
        pipe: Pipe::new(Purpose { agent, cwd, thread }),
        lines: stdio::lines(settings.daemon.limits.editor_message_bytes()),
        held: None,
        stdout: Stdout::start(),
    };
    let ended = session.run().await;
    if let End::Failed(error) = &ended {
        // An editor shows no standard error, but the error of its first request.
        session.first_request().await;
        session.pipe.give_up(&sentence(error));
        // If the editor is gone too, there is no one to notify.
        let _ = session.outputs(&mut None).await;
    }
    match ended {
        End::Editor => Ok(Exit::Success),
        End::Failed(error) => {
            session.stdout.finish();
            Err(error)
        }
    }
}

async fn find_thread(settings: &Settings, given: &str) -> anyhow::Result<String> {
    let client = connect(settings, false).await?;
    find::find_thread(&client, given).await
}

/// Answers the first request of the editor with the reason why it is not served.
pub async fn refuse(reason: &anyhow::Error) {
    let lines = stdio::lines(EDITOR_LINE_BYTES);
    let stdout = Stdout::start();
    let purpose = Purpose {
        agent: None,
        cwd: None,
        thread: None,
    };
    let mut pipe = Pipe::new(purpose);
    wait_for_request(&mut pipe, lines).await;
    pipe.give_up(&sentence(reason));
    while let Some(output) = pipe.poll_output() {
        if let Output::ToEditor(text) = output
            && !stdout.write(text).await
        {
            break;
        }
    }
    stdout.finish();
}

/// Reads lines of the editor until one is a request, for a limited time.
async fn wait_for_request(pipe: &mut Pipe, mut lines: mpsc::Receiver<String>) {
    let read = async {
        while !pipe.is_awaited() {
            match lines.recv().await {
                Some(line) => pipe.handle_editor_message(line),
                None => return,
            }
        }
    };
    // Without a request, only standard error has the reason.
    let _ = tokio::time::timeout(FIRST_REQUEST, read).await;
}

async fn open(reached: Reached) -> anyhow::Result<Link> {
    Link::open(reached, "/acp").await
}

struct Session<'a> {
    settings: &'a Settings,
    pipe: Pipe,
    lines: mpsc::Receiver<String>,
    /// A line that the editor sent while there was no connection.
    held: Option<String>,
    stdout: Stdout,
}

impl Session<'_> {
    async fn run(&mut self) -> End {
        let first = async { open(reach(self.settings).await?).await };
        let mut link = match first.await {
            Ok(link) => Some(link),
            Err(error) => return End::Failed(error),
        };
        self.pipe.attached();
        loop {
            if let Err(end) = self.step(&mut link).await {
                return end;
            }
        }
    }

    /// Waits for a request of the editor, unless there was one already.
    async fn first_request(&mut self) {
        let (_, none) = mpsc::channel(1);
        let lines = std::mem::replace(&mut self.lines, none);
        wait_for_request(&mut self.pipe, lines).await;
    }

    async fn step(&mut self, link: &mut Option<Link>) -> Result<(), End> {
        self.outputs(link).await?;
        let Some(daemon) = link else {
            self.pipe.lost();
            self.outputs(&mut None).await?;
            *link = Some(self.again().await?);
            self.pipe.attached();
            return Ok(());
        };
        if self.pipe.takes_lines()
            && let Some(line) = self.held.take()
        {
            self.pipe.handle_editor_message(line);
            return Ok(());
        }
        tokio::select! {
            line = self.lines.recv(), if self.pipe.takes_lines() => match line {
                Some(line) => self.pipe.handle_editor_message(line),
                None => {
                    daemon.close().await;
                    return Err(End::Editor);
                }
            },
            text = daemon.next() => match text {
                Some(text) => self.pipe.handle_daemon_message(text),
                None => *link = None,
            },
        }
        Ok(())
    }

    async fn outputs(&mut self, link: &mut Option<Link>) -> Result<(), End> {
        while let Some(output) = self.pipe.poll_output() {
            match (output, &mut *link) {
                (Output::ToEditor(text), _) => {
                    if !self.stdout.write(text).await {
                        return Err(End::Editor);
                    }
                }
                (Output::ToDaemon(text), Some(daemon)) => {
                    if !daemon.send(text).await {
                        *link = None;
                    }
                }
                // The caller notifies the pipe of the loss next.
                (Output::ToDaemon(_), None) => {}
                (Output::Say(text), _) => print::err(&format!("acpd: {}\n", plain(&text))),
                (Output::Fail(text), _) => return Err(anyhow::anyhow!(text).into()),
            }
        }
        Ok(())
    }

    /// Waits until the daemon is reachable again.
    async fn again(&mut self) -> Result<Link, End> {
        print::err("acpd: connection to the daemon lost; reconnecting\n");
        let since = Instant::now();
        let [mut wait, longest] = ATTEMPTS;
        loop {
            let is_local = self.settings.remote.is_none();
            let is_wanted = self.held.is_some() || self.pipe.is_awaited();
            let reached = if is_local && is_wanted && since.elapsed() > RESTART_PATIENCE {
                reach(self.settings).await.map(Some)
            } else {
                reach_running(self.settings).await
            };
            let opened = match reached {
                Ok(Some(reached)) => open(reached).await.map(Some),
                Ok(None) => Ok(None),
                Err(error) => Err(error),
            };
            match opened {
                Ok(Some(link)) => {
                    print::err("acpd: reconnected to the daemon\n");
                    return Ok(link);
                }
                Err(error) if since.elapsed() > self.patience() => return Err(error.into()),
                // A daemon that is starting or stopping may refuse the connection.
                Ok(None) | Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => wait = (2 * wait).min(longest),
                line = self.lines.recv(), if self.held.is_none() => match line {
                    Some(line) => self.held = Some(line),
                    None => return Err(End::Editor),
                },
            }
        }
    }

    fn patience(&self) -> Duration {
        if self.settings.remote.is_some() {
            AWAY_PATIENCE
        } else {
            RESTART_PATIENCE
        }
    }
}
