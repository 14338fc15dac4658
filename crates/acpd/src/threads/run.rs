//! `acpd run`: runs one turn from start to end.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use acpd_client::protocol::{self, MessageType, Notification, Thread, ThreadResumed, TurnStatus};
use acpd_policy::Preset;
use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::{RunArgs, SessionArgs};
use crate::client::{Client, Received};
use crate::exit::Exit;
use crate::incoming::Incoming;
use crate::settings::Settings;
use crate::terminal::input::input;
use crate::terminal::items::short_id;
use crate::terminal::plain::{plain, plain_line, visible_line};
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::terminal::questions::{Inquiry, Questions, Wants};
use crate::terminal::render::Renderer;
use crate::threads::attachments::Attachments;
use crate::threads::find::find;
use crate::threads::options;

/// Time for the daemon to announce a thread that the user no longer wants.
const ANNOUNCED: Duration = Duration::from_secs(3);

/// Runs one turn and prints it.
pub async fn run(settings: &Settings, args: RunArgs) -> anyhow::Result<Exit> {
    let mut pressed = signal(SignalKind::interrupt())?;
    options::check(&args.session)?;
    let prepare = async {
        let text = read_prompt(&args.prompt).await?;
        Prompt::prepare(settings, &args, &text).await
    };
    let prepared = tokio::select! {
        prepared = prepare => prepared?,
        _ = pressed.recv() => return Ok(interrupted_early()),
    };
    let (mut client, mut prompt) = prepared;
    let needs_thread = args.session.is_any() || prompt.files.are_large();
    if needs_thread
        && !prompt
            .configure(settings, &mut client, &args.session, &mut pressed)
            .await?
    {
        return Ok(interrupted_early());
    }
    prompt.attach(settings).await?;
    // A thread that was started to be configured has nothing but its prompt.
    let started = match &args.thread {
        None => prompt.thread.as_ref().map(|thread| thread.id.clone()),
        Some(_) => None,
    };
    let (exit, is_refused) = match prompt.send(&mut client, &args).await {
        Ok(mut turn) => {
            let exit = turn.follow(&mut client, &mut pressed).await;
            turn.progress.end();
            turn.renderer.end_answer();
            (exit, turn.is_refused)
        }
        Err(error) => (Err(error), true),
    };
    match exit {
        Err(refused) if is_refused && started.is_some() => {
            let removed = remove_started(&mut client, started, true, &mut pressed).await;
            Err(with_kept(refused, removed))
        }
        exit => exit,
    }
}

/// Adds to an error that the thread which was started before it remains, and why.
fn with_kept(error: anyhow::Error, removed: anyhow::Result<()>) -> anyhow::Error {
    match removed {
        Ok(()) => error,
        Err(kept) => error.context(format!("the new thread could not be removed ({kept})")),
    }
}

fn interrupted_early() -> Exit {
    print::hint("interrupted; nothing was sent to an agent");
    Exit::Interrupted
}

/// Returns a prompt of the arguments; reads `-` from standard input. Fails if it is empty.
pub async fn read_prompt(prompt: &str) -> anyhow::Result<String> {
    let text = match prompt {
        "-" => input().await?,
        text => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(Exit::Usage.error("the prompt is empty"));
    }
    Ok(text)
}

/// A prompt that is about to be sent.
struct Prompt {
    agent: String,
    /// The thread, unless it has to be started.
    thread: Option<Thread>,
    /// The params of `thread/start`.
    start: Value,
    /// The members of the prompt, for the request that sends it.
    members: Map<String, Value>,
    /// The files that go along, until they are among the members.
    files: Attachments,
    own: String,
    progress: Progress,
}

impl Prompt {
    /// Connects and finds the thread, or what a new one needs.
    async fn prepare(settings: &Settings, args: &RunArgs, text: &str) -> anyhow::Result<(Client, Self)> {
        let policy = args.policy.as_deref().map(preset).transpose()?;
        // A detached command answers no questions.
        let mut client = Client::connect(settings, !args.detach).await?;
        let (agent, thread, start) = match &args.thread {
            Some(given) => {
                let id = find(&mut client, given).await?;
                let resume = json!({ "threadId": id, "limit": 1, "startAgent": false });
                let resumed = client.request("thread/resume", resume).await?;
                let ThreadResumed { thread, .. } = response(resumed)?;
                (plain_line(&thread.agent_type), Some(thread), Value::Null)
            }
            None => {
                let cwd = directory(settings, args.cwd.as_deref(), "set --cwd to")?;
                let more = args.add_dir.iter();
                let more = more.map(|dir| directory(settings, Some(dir), "set --add-dir to"));
                let more = more.collect::<anyhow::Result<Vec<_>>>()?;
                let agent = match &args.agent {
                    Some(agent) => agent.clone(),
                    None => default_agent(&mut client, settings).await?,
                };
                let mut start = json!({ "agentType": agent, "cwd": cwd });
                if !more.is_empty() {
                    start["additionalDirectories"] = json!(more);
                }
                if let Some(policy) = policy {
                    start["policy"] = json!(policy);
                }
                (agent, None, start)
            }
        };
        let own = own_id();
        let mut members = Map::new();
        members.insert("text".to_owned(), json!(text));
        members.insert("clientTurnId".to_owned(), json!(own));
        let files = Attachments::read(&args.attach, text, client.message_bytes()).await?;
        let progress = Progress::begin(&starting(&mut client, &agent).await?);
        let prompt = Self {
            agent,
            thread,
            start,
            members,
            files,
            own,
            progress,
        };
        Ok((client, prompt))
    }

    /// Starts the thread, if it is a new one, and sets what the user wants before the agent receives the prompt. Large files are
    /// stored then, too. If that fails, a new thread is removed again. Returns `false` if the user interrupted it.
    async fn configure(
        &mut self,
        settings: &Settings,
        client: &mut Client,
        session: &SessionArgs,
        pressed: &mut Signal,
    ) -> anyhow::Result<bool> {
        let is_new = self.thread.is_none();
        let configure = async {
            if is_new {
                // The options of an agent are known once its session is open.
                let started = client.request("thread/start", self.start.clone()).await?;
                self.thread = response::<Started>(started)?.thread;
            }
            options::apply(client, &json!(self.thread), session).await?;
            self.attach(settings).await
        };
        let configured = tokio::select! {
            configured = configure => Some(configured),
            _ = pressed.recv() => None,
        };
        if let Some(Ok(())) = configured {
            return Ok(true);
        }
        self.progress.end();
        let removed = if is_new {
            let id = self.thread.as_ref().map(|thread| thread.id.clone());
            remove_started(client, id, configured.is_some(), pressed).await
        } else {
            Ok(())
        };
        match configured {
            Some(Err(error)) => Err(with_kept(error, removed)),
            _ => removed.map(|()| false),
        }
    }

    /// Adds the files to the prompt. The thread must exist if one of them is large.
    async fn attach(&mut self, settings: &Settings) -> anyhow::Result<()> {
        let thread = self.thread.as_ref().map_or("", |thread| thread.id.as_str());
        let files = std::mem::take(&mut self.files);
        let blocks = files.send(settings, thread).await?;
        if !blocks.is_empty() {
            self.members.insert("input".to_owned(), json!(blocks));
        }
        Ok(())
    }

    /// Sends the prompt, in a new thread or an existing one.
    async fn send(self, client: &mut Client, args: &RunArgs) -> anyhow::Result<Turn> {
        let (method, mut params) = match &self.thread {
            None => ("thread/start", self.start),
            Some(thread) => ("turn/start", json!({ "threadId": thread.id })),
        };
        if let Some(params) = params.as_object_mut() {
            params.extend(self.members);
        }
        let request = client.start(method, params).await?;
        let mut turn = Turn {
            as_json: args.json,
            is_detached: args.detach,
            agent: self.agent,
            questions: Questions::new(args.permissions),
            renderer: Renderer::new(print::is_verbose()),
            progress: self.progress,
            request,
            own: self.own,
            thread: None,
            id: None,
            is_refused: false,
            sent: false,
            interrupts: 0,
        };
        if let Some(thread) = self.thread {
            turn.announce(&thread.id);
        }
        Ok(turn)
    }
}

/// Deletes the thread that this connection has started. `known` is its id if the request was answered with it, and
/// `is_answered` is false if no answer was awaited. The user can end it.
async fn remove_started(
    client: &mut Client,
    known: Option<String>,
    is_answered: bool,
    pressed: &mut Signal,
) -> anyhow::Result<()> {
    tokio::select! {
        removed = remove(client, known, is_answered) => removed,
        _ = pressed.recv() => Err(Exit::Interrupted.error(
            "interrupted; a thread without a prompt may remain: \"acpd threads\" lists it",
        )),
    }
}

async fn remove(client: &mut Client, known: Option<String>, is_answered: bool) -> anyhow::Result<()> {
    let mut id = known.or_else(|| client.kept().find_map(announced));
    if id.is_none() && !is_answered {
        // The request is under way. If the daemon does not announce a thread soon, there may be none.
        let next = tokio::time::timeout(ANNOUNCED, next_started(client)).await;
        id = next.unwrap_or(Ok(None))?;
    }
    let Some(id) = id else {
        return Ok(());
    };
    let params = json!({ "threadId": id });
    match client.request("thread/delete", params.clone()).await {
        // Only the owner may delete threads.
        Err(error) if Exit::of(&error) == Exit::Forbidden => {
            client.request("thread/archive", params).await.map(drop)
        }
        deleted => deleted.map(drop),
    }
}

/// Returns the id of the thread that a message announces.
fn announced(incoming: &Incoming) -> Option<String> {
    match incoming.notification() {
        Notification::ThreadStarted(started) => Some(started.thread_id),
        _ => None,
    }
}

/// Returns the id of the thread that the daemon announces next; `None` if the request for it fails.
async fn next_started(client: &mut Client) -> anyhow::Result<Option<String>> {
    loop {
        match client.next().await? {
            Received::Message(incoming) => {
                if let Some(id) = announced(&incoming) {
                    return Ok(Some(id));
                }
            }
            Received::Response {
                result: Ok(started), ..
            } => {
                let thread = response::<Started>(started)?.thread;
                return Ok(thread.map(|thread| thread.id));
            }
            Received::Response { result: Err(_), .. } => return Ok(None),
        }
    }
}

/// Reads the result of a request.
fn response<T: DeserializeOwned>(result: Value) -> anyhow::Result<T> {
    serde_json::from_value(result).context("the daemon's response cannot be read")
}

/// Returns the name of the preset that a user names.
fn preset(given: &str) -> anyhow::Result<&'static str> {
    let preset = Preset::named(&given.trim().to_lowercase());
    preset.map(Preset::name).ok_or_else(|| {
        let names = Preset::ALL.map(Preset::name).join(", ");
        Exit::Usage.error(format!("unknown policy {given:?}: use one of {names}"))
    })
}

struct Turn {
    as_json: bool,
    /// Whether the command ends as soon as the daemon has accepted the prompt.
    is_detached: bool,
    agent: String,
    questions: Questions,
    renderer: Renderer,
    progress: Progress,
    /// The id of the request that starts the turn.
    request: Value,
    /// The turn's `clientTurnId`.
    own: String,
    /// The ids of the thread and the turn, once the daemon has announced them.
    thread: Option<String>,
    id: Option<String>,
    /// Whether the daemon has refused the prompt.
    is_refused: bool,
    /// Whether the agent may have received the prompt.
    sent: bool,
    /// How often the user pressed Ctrl-C.
    interrupts: u32,
}

/// The result of `thread/start` or `turn/start`.
#[derive(Deserialize)]
struct Started {
    thread: Option<Thread>,
    turn: Option<protocol::Turn>,
}

impl Turn {
    /// Takes the thread's id, and prints it when it is new.
    fn announce(&mut self, thread: &str) {
        if self.thread.is_none() {
            self.thread = Some(thread.to_owned());
            if !self.as_json && !self.is_detached && !print::is_quiet() {
                self.progress.print(&format!("thread {thread}\n"));
            }
        }
    }

    /// Prints notifications until the turn is over.
    async fn follow(&mut self, client: &mut Client, pressed: &mut Signal) -> anyhow::Result<Exit> {
        loop {
            let due = self.renderer.due();
            let received = tokio::select! {
                received = client.next() => received?,
                (id, result) = self.questions.next() => {
                    client.respond(&id, &result).await?;
                    continue;
                }
                () = until(due) => {
                    self.renderer.show_tool_calls();
                    continue;
                }
                _ = pressed.recv() => {
                    self.interrupts += 1;
                    if self.interrupts > 1 {
                        print::err("\nacpd: the turn keeps running in the daemon\n");
                        return Ok(Exit::Interrupted);
                    }
                    self.progress.end();
                    print::err("\nacpd: interrupting the turn; press Ctrl-C again to exit and leave it running\n");
                    self.interrupt(client).await?;
                    continue;
                }
            };
            let exit = match received {
                Received::Message(incoming) => self.take(client, incoming).await?,
                Received::Response { id, result } if id == self.request => {
                    self.is_refused = result.is_err();
                    self.started(client, result?).await?
                }
                Received::Response { .. } => None,
            };
            if let Some(exit) = exit {
                return Ok(exit);
            }
        }
    }

    /// Interrupts the turn, once its id is known.
    async fn interrupt(&self, client: &mut Client) -> anyhow::Result<()> {
        if self.id.is_some() {
            let params = json!({ "threadId": self.thread, "turnId": self.id });
            client.start("turn/interrupt", params).await?;
        }
        Ok(())
    }

    /// Takes the response to the request that started the turn.
    async fn started(&mut self, client: &mut Client, result: Value) -> anyhow::Result<Option<Exit>> {
        let started: Started = response(result)?;
        if let Some(thread) = &started.thread {
            // A new thread has its agent now. In another thread, the agent may still start.
            self.sent = true;
            self.announce(&thread.id);
        }
        let Some(turn) = started.turn else {
            return Ok(None);
        };
        self.know_turn(client, &turn).await?;
        Ok(self.is_detached.then(|| self.leave(&turn)))
    }

    /// Prints where the turn is, and leaves it to the daemon. The prompt is in the log.
    fn leave(&mut self, turn: &protocol::Turn) -> Exit {
        self.progress.end();
        let id = plain_line(self.thread.as_deref().unwrap_or_default());
        if self.as_json {
            let left = json!({
                "threadId": self.thread,
                "turnId": turn.id,
                "status": turn.status,
                "agentType": self.agent,
            });
            print::json(&left.to_string());
        } else {
            print::out(&format!("{id}\n"));
            let is_queued = turn.status == TurnStatus::Queued;
            let state = if is_queued { "queued" } else { "started" };
            print::hint(&format!("{state}; follow it: acpd attach {}", short_id(&id)));
        }
        Exit::Success
    }

    async fn know_turn(&mut self, client: &mut Client, turn: &protocol::Turn) -> anyhow::Result<()> {
        if self.id.is_none() && turn.id.is_some() {
            self.id.clone_from(&turn.id);
            if self.interrupts > 0 {
                self.interrupt(client).await?;
            }
        }
        Ok(())
    }

    async fn take(&mut self, client: &mut Client, incoming: Incoming) -> anyhow::Result<Option<Exit>> {
        let notification = incoming.notification();
        if let Notification::ThreadStarted(started) = &notification {
            self.announce(&started.thread_id);
        }
        if notification.thread_id() != self.thread.as_deref() {
            return Ok(None);
        }
        // The response comes only when the agent runs, which can take long.
        if let Notification::TurnStarted(changed) | Notification::TurnQueued(changed) = &notification
            && changed.turn.client_turn_id.as_ref() == Some(&self.own)
        {
            self.know_turn(client, &changed.turn).await?;
            if self.is_detached {
                return Ok(Some(self.leave(&changed.turn)));
            }
        }
        if self.is_detached {
            return Ok(None);
        }
        if incoming.id.is_some() || is_of_agent(&notification) {
            self.sent = true;
            self.progress.end();
        }
        if self.as_json {
            print::json(&incoming.text);
        } else {
            self.renderer.show(&notification);
        }
        match &notification {
            Notification::ServerRequestResolved(answer) => self.questions.settled(&answer.request_id),
            Notification::TurnCompleted(completed) if completed.turn.id == self.id => {
                return Ok(Some(self.ended(&completed.turn)));
            }
            _ => {}
        }
        if let Some(id) = &incoming.id
            && let Some(inquiry) = Inquiry::read(&notification)
        {
            self.renderer.end_answer();
            if let Wants::Permission(approval) = &inquiry.wants
                && self.questions.are_shown()
            {
                self.renderer.skip_shown_changes(approval);
            }
            self.questions.add(id.clone(), inquiry);
        }
        Ok(None)
    }

    fn ended(&mut self, turn: &protocol::Turn) -> Exit {
        self.progress.end();
        self.renderer.end_answer();
        let reason = turn.error.as_deref().or(turn.stop_reason.as_deref());
        let (exit, what) = match turn.status {
            TurnStatus::Completed if self.questions.declined() => {
                print::err("acpd: a question was declined, since there was no terminal to ask on\n");
                return Exit::Declined;
            }
            TurnStatus::Completed => return Exit::Success,
            // An agent that has the prompt ends it with a stop reason.
            TurnStatus::Interrupted if !self.sent && turn.stop_reason.is_none() => (
                Exit::Interrupted,
                "the prompt was taken back; the agent has not received it",
            ),
            TurnStatus::Interrupted => (Exit::Interrupted, "the turn was interrupted"),
            TurnStatus::Refused => (Exit::Refused, "the agent refused"),
            TurnStatus::Limited => (Exit::Limited, "the turn reached a limit"),
            _ => (Exit::Failure, "the turn failed"),
        };
        let reason = reason
            .map(plain)
            .filter(|reason| !self.renderer.has_noted(reason));
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        print::err(&format!("acpd: {what}{reason}\n"));
        exit
    }
}

/// Returns a `clientTurnId` that no other process uses.
fn own_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("cli-{}-{}", std::process::id(), now.as_nanos())
}

/// Returns whether a notification shows that the agent works on the turn, or that there is something to print.
fn is_of_agent(notification: &Notification) -> bool {
    match notification {
        Notification::ItemUserMessage(_) => false,
        Notification::ItemStarted(message) => message.r#type != MessageType::UserMessage,
        Notification::ItemCompleted(message) => message.r#type != MessageType::UserMessage,
        Notification::TurnPlanUpdated(_) | Notification::ThreadNotice(_) => true,
        other => other.method().starts_with("item/"),
    }
}

/// Describes the start of an agent. The first start of an agent that npx or uvx runs is a download.
async fn starting(client: &mut Client, agent: &str) -> anyhow::Result<String> {
    let mut text = format!("starting {agent}");
    if Progress::is_shown() {
        let listed = client.request("agent/list", json!({})).await?;
        let agents = listed["data"].as_array().map_or(&[][..], Vec::as_slice);
        let runs = agents.iter().find(|listed| listed["id"] == agent);
        if let Some(program @ ("npx" | "uvx")) = runs.and_then(|listed| listed["runs"].as_str()) {
            text.push_str(&format!(" with {program}, which may download it first"));
        }
    }
    Ok(text)
}

/// Returns the agent's working directory: the given one, or else the current one. `how` says how to give one.
pub fn directory(settings: &Settings, given: Option<&Path>, how: &str) -> anyhow::Result<PathBuf> {
    match given {
        // The directory is on the daemon's host, so it cannot be checked here.
        Some(cwd) if settings.remote.is_some() => Ok(cwd.to_owned()),
        None if settings.remote.is_some() => {
            Err(Exit::Usage.error(format!("{how} a directory on the daemon's host")))
        }
        Some(cwd) => {
            let wrong = |why: &dyn std::fmt::Display| Exit::Usage.error(format!("{}: {why}", cwd.display()));
            let real = cwd.canonicalize().map_err(|error| match error.kind() {
                ErrorKind::NotFound => Exit::Usage.error(format!("directory not found: {}", cwd.display())),
                ErrorKind::NotADirectory => wrong(&"not a directory"),
                _ => wrong(&error),
            })?;
            if !real.is_dir() {
                return Err(wrong(&"not a directory"));
            }
            if std::path::absolute(cwd).is_ok_and(|named| named != real) {
                // An agent with write access to a parent directory may have replaced it by a link.
                print::err(&format!(
                    "acpd: the agent works in {}\n",
                    visible_line(&real.display().to_string())
                ));
            }
            Ok(real)
        }
        None => Ok(std::env::current_dir()?),
    }
}

/// Waits until `due`; forever if it is `None`.
async fn until(due: Option<std::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

/// Returns the agent that the daemon says is the default one, or else the configured one, which the daemon may not have read yet. A
/// daemon of an older version says nothing: then the only agent of the configuration is the default as well.
fn default_of<'a>(agents: &'a [Value], configured: Option<&'a str>) -> Option<&'a str> {
    let id = |agent: &'a Value| agent["id"].as_str();
    if agents.iter().any(|agent| agent.get("isDefault").is_some()) {
        let default = agents.iter().find(|agent| agent["isDefault"] == true);
        return default.and_then(id).or(configured);
    }
    let mut of_config = agents.iter().filter(|agent| agent["source"] == "config");
    let only = of_config.next().filter(|_| of_config.next().is_none());
    configured.or_else(|| only.and_then(id))
}

/// Returns the agent that the daemon has for clients that name none.
pub async fn default_agent(client: &mut Client, settings: &Settings) -> anyhow::Result<String> {
    let listed = client.request("agent/list", json!({})).await?;
    default_agent_among(&listed, settings)
}

/// Does the same as [`default_agent`], for commands that use the typed client. An older daemon lists agents without all members.
pub async fn default_agent_of(client: &acpd_client::Client, settings: &Settings) -> anyhow::Result<String> {
    let listed: Value = client.call("agent/list", &json!({})).await?;
    default_agent_among(&listed, settings)
}

fn default_agent_among(listed: &Value, settings: &Settings) -> anyhow::Result<String> {
    let agents = listed["data"].as_array().map_or(&[][..], Vec::as_slice);
    // The configuration here is that of a daemon elsewhere only by chance.
    let here = settings.daemon.default_agent.as_deref();
    if let Some(id) = default_of(agents, here.filter(|_| settings.remote.is_none())) {
        return Ok(id.to_owned());
    }
    let named = |is_wanted: &dyn Fn(&Value) -> bool| {
        let ids = agents.iter().filter(|agent| is_wanted(agent));
        let ids: Vec<_> = ids.filter_map(|agent| agent["id"].as_str()).map(plain).collect();
        ids.join(", ")
    };
    let configured = named(&|agent| agent["source"] == "config");
    if !configured.is_empty() {
        bail!(
            "several agents are configured and none is the default_agent, name one with --agent: {configured}; \"acpd agents \
             default NAME\" sets the default one"
        );
    }
    let file = settings
        .config_file
        .as_ref()
        .map_or("~/.config/acpd/config.toml".into(), |f| f.display().to_string());
    let set_up = named(&|agent| agent["isSetUp"] == true);
    let set_up = if set_up.is_empty() {
        "of \"acpd agents list\"".to_owned()
    } else {
        format!("of those that are set up ({set_up})")
    };
    bail!("no agent is configured: name one {set_up} with --agent, or write {file} with acpd setup")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_daemon_has_a_default_agent_too() {
        let agent = |id: &str, source: &str| json!({ "id": id, "source": source });
        let marked =
            |id: &str, is_default: bool| json!({ "id": id, "source": "config", "isDefault": is_default });
        let one = [agent("a", "config"), agent("b", "registry")];
        assert_eq!(default_of(&one, None), Some("a"));
        assert_eq!(default_of(&one, Some("b")), Some("b"));
        let two = [agent("a", "config"), agent("b", "config")];
        assert_eq!(default_of(&two, None), None);
        assert_eq!(default_of(&[], None), None);
        // What the daemon says counts.
        let says = [marked("a", false), marked("b", true)];
        assert_eq!(default_of(&says, Some("a")), Some("b"));
        let none = [marked("a", false), marked("b", false)];
        assert_eq!(default_of(&none, None), None);
        // It has not read the file yet.
        assert_eq!(default_of(&none, Some("a")), Some("a"));
    }
}
