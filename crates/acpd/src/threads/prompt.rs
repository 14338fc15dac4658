//! A prompt on its way to the agent: what the arguments say about it, its thread, and the request that sends it.
//!
//! In: the arguments of `acpd run`. Out: the request that starts the turn, and what follows the turn. Never: leaves a thread behind that
//! has no prompt because something before it failed.

use std::io::ErrorKind;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use acpd_client::protocol::{
    AcpObject, Notification, StartThread, Thread, ThreadArchiveParams, ThreadDeleteParams, Turn,
    TurnStartParams,
};
use acpd_client::{Client, Error, Follow, Notifications, Subscription, Update};
use acpd_model::ErrorCode;
use acpd_policy::Preset;
use anyhow::Context as _;
use futures_util::FutureExt;
use serde_json::json;
use tokio::signal::unix::Signal;

use crate::cli::{RunArgs, SessionArgs};
use crate::client::connect::connect_with;
use crate::exit::{Exit, sentence};
use crate::path_text::path_text;
use crate::settings::Settings;
use crate::terminal::input::input;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::threads::attachments::Attachments;
use crate::threads::default_agent::{agents, default_agent};
use crate::threads::find::find_thread;
use crate::threads::options;
use crate::threads::system_prompt::system_prompt;

/// Time for the daemon to announce a thread that the user no longer wants.
const ANNOUNCED: Duration = Duration::from_secs(3);

/// A future that is waited for beside others.
pub type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What the daemon has begun.
pub struct Begun {
    /// The id of the thread, if it is a new one.
    pub thread: Option<String>,
    pub turn: Option<Turn>,
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
pub struct Prompt {
    pub client: Client,
    /// What belongs to no subscription, such as that the daemon has created the thread.
    pub notifications: Notifications,
    pub agent: String,
    /// The thread, unless it has to be started.
    pub thread: Option<Thread>,
    /// The events of a thread that was there before.
    pub events: Option<Subscription>,
    /// The params of `thread/start`, without the prompt.
    start: StartThread,
    text: String,
    /// The files that go along, until they are blocks.
    pub files: Attachments,
    /// The blocks of the files.
    blocks: Vec<AcpObject>,
    pub own: String,
    pub progress: Progress,
}

impl Prompt {
    /// Connects and finds the thread, or what a new one needs.
    pub async fn prepare(settings: &Settings, args: &RunArgs, text: String) -> anyhow::Result<Self> {
        let policy = args.policy.as_deref().map(preset).transpose()?;
        // A detached command answers no questions, and shows no events.
        let client = connect_with(settings, |options| {
            options.approvals(!args.detach).texts(args.json && !args.detach)
        })
        .await?;
        let notifications = client.notifications();
        let mut start = StartThread::default();
        let (mut thread, mut events) = (None, None);
        let agent = if let Some(given) = &args.thread {
            let id = find_thread(&client, given).await?;
            let follow = Follow {
                limit: Some(1),
                start_agent: Some(false),
                repeat_questions: true,
                ..Follow::default()
            };
            let mut followed = client.follow(&id, follow).await?;
            let resumed = followed.take_resumed().context("the thread cannot be read")?;
            events = Some(followed);
            let agent = plain_line(&resumed.thread.agent_type);
            thread = Some(resumed.thread);
            agent
        } else {
            start.cwd = directory(settings, args.cwd.as_deref(), "set --cwd to")?;
            let more = args.add_dir.iter();
            let more = more.map(|dir| directory(settings, Some(dir), "set --add-dir to"));
            start.additional_directories = more.collect::<anyhow::Result<_>>()?;
            start.policy = policy.map(|policy| json!(policy));
            if let Some(given) = &args.system_prompt {
                start.system_prompt = Some(system_prompt(given, args.override_instructions).await?);
            }
            start.agent_type = match &args.agent {
                Some(agent) => agent.clone(),
                None => default_agent(&client, settings).await?,
            };
            start.agent_type.clone()
        };
        let room = client.ready().await?.limits.message_bytes;
        let files = Attachments::read(&args.attach, &text, room.try_into().unwrap_or(usize::MAX)).await?;
        let progress = Progress::begin(&starting(&client, &agent).await?);
        Ok(Self {
            client,
            notifications,
            agent,
            thread,
            events,
            start,
            text,
            files,
            blocks: Vec::new(),
            own: own_id(),
            progress,
        })
    }

    /// Starts the thread, if it is a new one, and sets what the user wants before the agent receives the prompt. Large files are
    /// stored then, too. If that fails, a new thread is removed again. Returns `false` if the user interrupted it.
    pub async fn configure(
        &mut self,
        settings: &Settings,
        session: &SessionArgs,
        pressed: &mut Signal,
    ) -> anyhow::Result<bool> {
        let is_new = self.thread.is_none();
        let client = self.client.clone();
        let start = self.start.clone();
        // Whether the daemon creates a thread is known even if the user no longer waits for it.
        let mut starting = Box::pin(async move { client.thread_start(&start).await });
        let configure = async {
            if is_new {
                // The options of an agent are known once its session is open.
                self.thread = Some((&mut starting).await?.thread);
            }
            if let Some(thread) = &self.thread {
                options::set(&self.client, thread, session).await?;
            }
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
            let known = match &self.thread {
                Some(thread) => Some(thread.id.clone()),
                // It has failed, but the thread may be there.
                None if configured.is_some() => announced(&mut self.notifications).now_or_never().flatten(),
                // The request is under way. If the daemon does not announce a thread soon, there may be none.
                None => {
                    let soon = async {
                        tokio::select! {
                            biased;
                            id = announced(&mut self.notifications) => id,
                            started = starting => started.ok().map(|started| started.thread.id),
                        }
                    };
                    tokio::time::timeout(ANNOUNCED, soon).await.ok().flatten()
                }
            };
            match known {
                Some(id) => remove_started(&self.client, &id, pressed).await,
                None => Ok(()),
            }
        } else {
            Ok(())
        };
        match configured {
            Some(Err(error)) => Err(with_kept(error, removed)),
            _ => removed.map(|()| false),
        }
    }

    /// Turns the files into blocks. The thread must exist if one of them is large.
    pub async fn attach(&mut self, settings: &Settings) -> anyhow::Result<()> {
        let thread = self.thread.as_ref().map_or("", |thread| thread.id.as_str());
        let files = std::mem::take(&mut self.files);
        self.blocks.extend(files.send(settings, thread).await?);
        Ok(())
    }

    /// Begins to send the prompt, in a new thread or an existing one.
    pub fn begin(&mut self) -> Pending<Result<Begun, Error>> {
        let client = self.client.clone();
        let text = Some(std::mem::take(&mut self.text));
        let client_turn_id = Some(self.own.clone());
        let input = Some(std::mem::take(&mut self.blocks)).filter(|blocks| !blocks.is_empty());
        match &self.thread {
            None => {
                let params = StartThread {
                    client_turn_id,
                    input,
                    text,
                    ..std::mem::take(&mut self.start)
                };
                Box::pin(async move {
                    let started = client.thread_start(&params).await?;
                    Ok(Begun {
                        thread: Some(started.thread.id),
                        turn: started.turn,
                    })
                })
            }
            Some(thread) => {
                let params = TurnStartParams {
                    client_turn_id,
                    input,
                    text,
                    thread_id: thread.id.clone(),
                    ..TurnStartParams::default()
                };
                Box::pin(async move {
                    let started = client.turn_start(&params).await?;
                    Ok(Begun {
                        thread: None,
                        turn: Some(started.turn),
                    })
                })
            }
        }
    }
}

/// Deletes the thread that this connection has started. The user can end it.
pub async fn remove_started(client: &Client, id: &str, pressed: &mut Signal) -> anyhow::Result<()> {
    tokio::select! {
        removed = remove(client, id) => Ok(removed?),
        _ = pressed.recv() => Err(Exit::Interrupted.error(
            "interrupted; a thread without a prompt may remain: \"acpd threads\" lists it",
        )),
    }
}

async fn remove(client: &Client, id: &str) -> Result<(), Error> {
    let params = ThreadDeleteParams {
        thread_id: id.to_owned(),
    };
    match client.thread_delete(&params).await {
        // Only the owner may delete threads.
        Err(Error::Refused(refusal)) if refusal.code == ErrorCode::Forbidden.word() => {
            let params = ThreadArchiveParams {
                thread_id: id.to_owned(),
            };
            client.thread_archive(&params).await.map(drop)
        }
        deleted => deleted.map(drop),
    }
}

/// Returns the id of the thread that the daemon announces next; `None` if the connection ends.
async fn announced(notifications: &mut Notifications) -> Option<String> {
    loop {
        match notifications.next().await?.ok()? {
            Update::Notification(received) => {
                if let Notification::ThreadStarted(started) = &received.notification {
                    return Some(started.thread_id.clone());
                }
            }
            Update::Gap => {}
        }
    }
}

/// Returns the name of the preset that a user names.
fn preset(given: &str) -> anyhow::Result<&'static str> {
    let preset = Preset::named(&given.trim().to_lowercase());
    preset.map(Preset::name).ok_or_else(|| {
        let names = Preset::ALL.map(Preset::name).join(", ");
        Exit::Usage.error(format!("unknown policy {given:?}: use one of {names}"))
    })
}

/// Adds to an error that the thread which was started before it remains, and why.
pub fn with_kept(error: anyhow::Error, removed: anyhow::Result<()>) -> anyhow::Error {
    match removed {
        Ok(()) => error,
        Err(kept) => error.context(format!(
            "the new thread could not be removed ({})",
            sentence(&kept)
        )),
    }
}

/// Returns a `clientTurnId` that no other process uses.
fn own_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("cli-{}-{}", std::process::id(), now.as_nanos())
}

/// Describes the start of an agent. The first start of an agent that npx or uvx runs is a download.
async fn starting(client: &Client, agent: &str) -> anyhow::Result<String> {
    let mut text = format!("starting {agent}");
    if Progress::is_shown() {
        let agents = agents(client).await?;
        let runs = agents.iter().find(|listed| listed.id == agent);
        if let Some(program @ ("npx" | "uvx")) = runs.and_then(|listed| listed.runs.as_deref()) {
            text.push_str(&format!(" with {program}, which may download it first"));
        }
    }
    Ok(text)
}

/// Returns the agent's working directory: the given one, or else the current one. `how` says how to give one.
pub fn directory(settings: &Settings, given: Option<&Path>, how: &str) -> anyhow::Result<String> {
    match given {
        // The directory is on the daemon's host, so it cannot be checked here.
        Some(cwd) if settings.remote.is_some() => path_text(cwd),
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
            path_text(&real)
        }
        None => path_text(&std::env::current_dir()?),
    }
}
