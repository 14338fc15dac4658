//! `acpd run`: runs one turn from start to end.

use std::io::Read;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Format, RunArgs};
use crate::client::{Client, Incoming};
use crate::settings::Settings;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::questions::Questions;
use crate::terminal::render::Renderer;

/// Exit codes, by the outcome of the turn.
mod exit {
    pub const COMPLETED: u8 = 0;
    pub const FAILED: u8 = 1;
    pub const REFUSED: u8 = 3;
    pub const LIMITED: u8 = 4;
    pub const INTERRUPTED: u8 = 130;
}

/// Runs one turn and prints it.
pub async fn run(settings: &Settings, args: RunArgs) -> anyhow::Result<ExitCode> {
    let text = read_prompt(&args.prompt)?;
    if text.trim().is_empty() {
        bail!("the prompt is empty");
    }
    let mut client = Client::connect(settings, true).await?;
    let mut turn = Turn {
        format: args.format,
        questions: Questions::new(args.permissions),
        renderer: Renderer::new(args.verbose),
    };
    let (thread, turn_id) = match &args.thread {
        Some(thread) => {
            let resumed = client
                .request("thread/resume", json!({ "threadId": thread, "limit": 1 }))
                .await?;
            let started = client
                .request("turn/start", json!({ "threadId": thread, "text": text }))
                .await?;
            (resumed["thread"]["id"].clone(), started["turn"]["id"].clone())
        }
        None => turn.begin(&mut client, settings, &args, &text).await?,
    };
    let code = turn.follow(&mut client, &thread, &turn_id).await?;
    if args.format == Format::Text {
        turn.renderer.end_answer();
        print::err(&format!("thread {}\n", thread.as_str().unwrap_or_default()));
    }
    Ok(ExitCode::from(code))
}

fn read_prompt(prompt: &str) -> anyhow::Result<String> {
    if prompt != "-" {
        return Ok(prompt.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("standard input cannot be read")?;
    Ok(text)
}

struct Turn {
    format: Format,
    questions: Questions,
    renderer: Renderer,
}

impl Turn {
    /// Starts a thread with its first turn.
    async fn begin(
        &mut self,
        client: &mut Client,
        settings: &Settings,
        args: &RunArgs,
        text: &str,
    ) -> anyhow::Result<(Value, Value)> {
        let cwd = match &args.cwd {
            // The directory is on the daemon's host, so it cannot be checked here.
            Some(cwd) if settings.remote.is_some() => cwd.clone(),
            None if settings.remote.is_some() => {
                bail!("set --cwd to a directory on the daemon's host")
            }
            Some(cwd) => {
                let real = cwd
                    .canonicalize()
                    .with_context(|| format!("directory not found: {}", cwd.display()))?;
                if std::path::absolute(cwd).is_ok_and(|named| named != real) {
                    // An agent with write access to a parent directory may have replaced it by a link.
                    print::err(&format!(
                        "acpd: the agent works in {}\n",
                        plain_line(&real.display().to_string())
                    ));
                }
                real
            }
            None => std::env::current_dir()?,
        };
        let agent = match &args.agent {
            Some(agent) => agent.clone(),
            None => only_agent(client, settings).await?,
        };
        let started = client
            .request(
                "thread/start",
                json!({ "agentType": agent, "cwd": cwd, "text": text }),
            )
            .await?;
        Ok((started["thread"]["id"].clone(), started["turn"]["id"].clone()))
    }

    /// Prints notifications until the turn is over; returns the exit code.
    async fn follow(&mut self, client: &mut Client, thread: &Value, turn: &Value) -> anyhow::Result<u8> {
        let mut pressed = signal(SignalKind::interrupt())?;
        let mut interrupts = 0;
        loop {
            let due = self.renderer.due();
            let incoming = tokio::select! {
                incoming = client.next() => incoming?,
                (id, result) = self.questions.next() => {
                    client.respond(&id, &result).await?;
                    continue;
                }
                () = until(due) => {
                    self.renderer.show_tool_calls();
                    continue;
                }
                _ = pressed.recv() => {
                    interrupts += 1;
                    if interrupts > 1 {
                        print::err("\nacpd: the turn keeps running in the daemon\n");
                        return Ok(exit::INTERRUPTED);
                    }
                    print::err("\nacpd: interrupting the turn; press Ctrl-C again to exit and leave it running\n");
                    client.start("turn/interrupt", json!({ "threadId": thread, "turnId": turn })).await?;
                    continue;
                }
            };
            if incoming.params["threadId"] != *thread {
                continue;
            }
            self.show(&incoming);
            if let Some(id) = incoming.id.clone() {
                self.renderer.end_answer();
                self.questions.add(id, incoming);
                continue;
            }
            if incoming.method == "serverRequest/resolved" {
                self.questions.settled(&incoming.params["requestId"]);
            }
            if incoming.method == "turn/completed" && incoming.params["turn"]["id"] == *turn {
                return Ok(self.ended(&incoming.params["turn"]));
            }
        }
    }

    fn show(&mut self, incoming: &Incoming) {
        match self.format {
            Format::Jsonl => print::json(&incoming.text),
            Format::Text => self.renderer.show(&incoming.method, &incoming.params),
        }
    }

    fn ended(&mut self, turn: &Value) -> u8 {
        self.renderer.end_answer();
        let reason = turn["error"].as_str().or(turn["stopReason"].as_str());
        let (code, what) = match turn["status"].as_str() {
            Some("completed") => return exit::COMPLETED,
            Some("interrupted") => (exit::INTERRUPTED, "the turn was interrupted"),
            Some("refused") => (exit::REFUSED, "the agent refused"),
            Some("limited") => (exit::LIMITED, "the turn reached a limit"),
            _ => (exit::FAILED, "the turn failed"),
        };
        let reason = reason.map_or_else(String::new, |reason| format!(": {}", plain(reason)));
        print::err(&format!("acpd: {what}{reason}\n"));
        code
    }
}

/// Waits until `due`; forever if it is `None`.
async fn until(due: Option<std::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

/// Returns the only configured agent.
async fn only_agent(client: &mut Client, settings: &Settings) -> anyhow::Result<String> {
    let listed = client.request("agent/list", json!({})).await?;
    let agents: Vec<_> = listed["data"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|a| a["source"] == "config")
        .filter_map(|a| a["id"].as_str())
        .collect();
    match agents[..] {
        [only] => Ok(only.to_owned()),
        [] => {
            let file = settings
                .config_file
                .as_ref()
                .map_or("~/.config/acpd/config.toml".into(), |f| f.display().to_string());
            bail!(
                "no agent is configured: name one of \"acpd agents list\" with --agent, \
                 or add [agents.NAME] with a command to {file}"
            )
        }
        _ => bail!(
            "several agents are configured, name one with --agent: {}",
            agents.join(", ")
        ),
    }
}
