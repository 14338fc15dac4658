//! `acpd run`: runs one turn from start to end.

use std::collections::HashSet;

use acpd_client::protocol::{
    self, LanesListed, MessageType, Notification, QuestionAnswered, ThreadLanesParams, TurnInterruptParams,
    TurnStatus,
};
use acpd_client::{Client, Error, Follow, Notifications, Received, Subscription, Update};
use anyhow::Context as _;
use serde::Deserialize;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use crate::cli::RunArgs;
use crate::exit::{Exit, sentence};
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::terminal::questions::{Inquiry, Questions, Wants};
use crate::terminal::render::Renderer;
use crate::threads::open_question::send_answer;
use crate::threads::options;
use crate::threads::prompt::{Begun, Pending, Prompt, read_prompt, remove_started, with_kept};

/// Runs one turn and prints it.
pub async fn run(settings: &Settings, args: RunArgs) -> anyhow::Result<Exit> {
    let mut pressed = signal(SignalKind::interrupt())?;
    options::check(&args.session)?;
    let prepare = async {
        let text = read_prompt(&args.prompt).await?;
        Prompt::prepare(settings, &args, text).await
    };
    let prepared = tokio::select! {
        prepared = prepare => prepared?,
        _ = pressed.recv() => return Ok(interrupted_early()),
    };
    let mut prompt = prepared;
    let needs_thread = args.session.is_any() || prompt.files.are_large();
    if needs_thread && !prompt.configure(settings, &args.session, &mut pressed).await? {
        return Ok(interrupted_early());
    }
    prompt.attach(settings).await?;
    let client = prompt.client.clone();
    // A thread that was started to be configured has nothing but its prompt.
    let started = match &args.thread {
        None => prompt.thread.as_ref().map(|thread| thread.id.clone()),
        Some(_) => None,
    };
    let mut turn = Turn::begin(prompt, &args);
    let exit = turn.follow(&mut pressed).await;
    if args.detach {
        // The command ends before the turn, which may have been interrupted before it began.
        tokio::select! {
            () = finish(&mut turn.interrupting) => {}
            _ = pressed.recv() => {}
        }
    }
    turn.progress.end();
    turn.renderer.end_answer();
    match (exit, started) {
        (Err(refused), Some(started)) if turn.is_refused => {
            let removed = remove_started(&client, &started, &mut pressed).await;
            Err(with_kept(refused, removed))
        }
        (exit, _) => exit,
    }
}

fn interrupted_early() -> Exit {
    print::hint("interrupted; nothing was sent to an agent");
    Exit::Interrupted
}

/// Returns what a future returns, once; waits forever if there is none. Cancel-safe.
async fn finished<T>(pending: &mut Option<Pending<T>>) -> T {
    match pending {
        Some(future) => {
            let output = future.await;
            *pending = None;
            output
        }
        None => std::future::pending().await,
    }
}

/// Requests the names of the subagents that a thread has had before this turn, if they are shown.
fn list_lanes(prompt: &Prompt, args: &RunArgs) -> Option<Pending<Result<LanesListed, Error>>> {
    if args.thread.is_none() || args.json || args.detach {
        return None;
    }
    let params = ThreadLanesParams {
        thread_id: prompt.thread.as_ref()?.id.clone(),
    };
    let client = prompt.client.clone();
    Some(Box::pin(async move { client.thread_lanes(&params).await }))
}

/// Waits for requests.
async fn finish(requests: &mut JoinSet<Result<(), Error>>) {
    while requests.join_next().await.is_some() {}
}

/// Returns the next event of a subscription; waits forever if there is none. Cancel-safe.
async fn next_event(events: &mut Option<Subscription>) -> anyhow::Result<Received> {
    match events {
        Some(events) => match events.next_received().await {
            Some(event) => Ok(event?),
            None => Err(Exit::Failure.error("the thread was deleted")),
        },
        None => std::future::pending().await,
    }
}

struct Turn {
    client: Client,
    as_json: bool,
    /// Whether the command ends as soon as the daemon has accepted the prompt.
    is_detached: bool,
    agent: String,
    questions: Questions,
    /// The ids of all questions so far. The daemon repeats open ones to a client that follows the thread again.
    asked: HashSet<String>,
    /// The answers on their way.
    answers: JoinSet<Result<(), Error>>,
    /// The requests to interrupt the turn. Its events say how it ends; if it has ended before, there is nothing to interrupt.
    interrupting: JoinSet<Result<(), Error>>,
    renderer: Renderer,
    /// The request for the names of earlier subagents, until its response.
    lanes: Option<Pending<Result<LanesListed, Error>>>,
    progress: Progress,
    notifications: Notifications,
    /// A subscription that the daemon has yet to confirm.
    following: Option<Pending<Result<Subscription, Error>>>,
    /// The events of the thread, unless the command is detached.
    events: Option<Subscription>,
    /// The request that starts the turn, until its response.
    begun: Option<Pending<Result<Begun, Error>>>,
    /// The turn's `clientTurnId`.
    own: String,
    /// The ids of the thread and the turn, once the daemon has announced them.
    thread: Option<String>,
    id: Option<String>,
    /// Whether the thread's id was printed.
    is_announced: bool,
    /// Number of the last event that was there when the daemon confirmed the subscription.
    known_seq: u64,
    /// The turn, if it has failed before the response arrived.
    failed: Option<protocol::Turn>,
    /// Why the daemon has refused the prompt, until all events before are shown.
    refused: Option<anyhow::Error>,
    /// Whether the daemon has refused the prompt.
    is_refused: bool,
    /// Whether the agent may have received the prompt.
    sent: bool,
    /// Whether the turn runs.
    has_started: bool,
    /// How often the user pressed Ctrl-C.
    interrupts: u32,
}

impl Turn {
    /// Begins to send a prompt.
    fn begin(mut prompt: Prompt, args: &RunArgs) -> Self {
        let lanes = list_lanes(&prompt, args);
        let begun = Some(prompt.begin());
        let mut turn = Self {
            client: prompt.client,
            as_json: args.json,
            is_detached: args.detach,
            agent: prompt.agent,
            questions: Questions::new(args.permissions),
            asked: HashSet::new(),
            answers: JoinSet::new(),
            interrupting: JoinSet::new(),
            renderer: Renderer::new(print::is_verbose()),
            lanes,
            progress: prompt.progress,
            notifications: prompt.notifications,
            following: None,
            events: prompt.events,
            begun,
            own: prompt.own,
            thread: None,
            id: None,
            is_announced: false,
            known_seq: 0,
            failed: None,
            refused: None,
            is_refused: false,
            sent: false,
            has_started: false,
            interrupts: 0,
        };
        if let Some(thread) = prompt.thread {
            turn.know_thread(thread.id);
        }
        turn
    }

    /// Takes the thread's id, and follows the thread from its first event unless it is followed.
    fn know_thread(&mut self, thread: String) {
        if self.thread.is_some() {
            return;
        }
        if self.events.is_none() && !self.is_detached {
            let (client, thread) = (self.client.clone(), thread.clone());
            let follow = Follow {
                start_agent: Some(false),
                ..Follow::all()
            };
            self.following = Some(Box::pin(async move { client.follow(&thread, follow).await }));
        }
        self.thread = Some(thread);
    }

    /// Prints the thread's id when the first message about it arrives.
    fn announce(&mut self) {
        if let Some(thread) = &self.thread
            && !std::mem::replace(&mut self.is_announced, true)
            && !self.as_json
            && !self.is_detached
            && !print::is_quiet()
        {
            self.progress.print(&format!("thread {thread}\n"));
        }
    }

    /// Prints notifications until the turn is over.
    async fn follow(&mut self, pressed: &mut Signal) -> anyhow::Result<Exit> {
        loop {
            let due = self.renderer.due();
            // Events come before the response that followed them, and the user before both.
            let exit = tokio::select! {
                biased;
                _ = pressed.recv() => {
                    self.interrupts += 1;
                    if self.interrupts > 1 {
                        print::err("\nacpd: the turn keeps running in the daemon\n");
                        return Ok(Exit::Interrupted);
                    }
                    self.progress.end();
                    print::err("\nacpd: interrupting the turn; press Ctrl-C again to exit and leave it running\n");
                    self.interrupt();
                    None
                }
                () = until(due) => {
                    self.renderer.show_tool_calls();
                    None
                }
                (question, answer) = self.questions.next() => {
                    let client = self.client.clone();
                    let answer = QuestionAnswered::deserialize(answer).context("the answer cannot be sent")?;
                    self.answers.spawn(async move { send_answer(&client, &question, &answer).await });
                    None
                }
                Some(answered) = self.answers.join_next() => {
                    if let Err(error) = answered? {
                        // The question is still open, and another client can answer it.
                        let why = sentence(&error.into());
                        print::err(&plain(&format!("acpd: the answer is not accepted: {why}\n")));
                    }
                    None
                }
                listed = finished(&mut self.lanes) => {
                    // Lines about a subagent without a name say "subagent". An older daemon has no names.
                    if let Ok(listed) = listed {
                        self.renderer.add_lanes(&listed);
                    }
                    None
                }
                event = next_event(&mut self.events) => self.take(&event?)?,
                followed = finished(&mut self.following) => {
                    self.begin_events(followed)?;
                    None
                }
                update = self.notifications.next() => match update {
                    Some(Ok(Update::Notification(received))) => self.notice(&received),
                    Some(Ok(Update::Gap)) => None,
                    Some(Err(error)) => return Err(error.into()),
                    None => return Err(Error::Closed.into()),
                },
                begun = finished(&mut self.begun) => self.started(begun)?,
            };
            if let Some(exit) = exit {
                return Ok(exit);
            }
            if self.has_caught_up()
                && let Some(refused) = self.refused.take()
            {
                return Err(self.beyond_notice(refused));
            }
        }
    }

    /// Returns a refusal without what the last notice has already said.
    fn beyond_notice(&self, refused: anyhow::Error) -> anyhow::Error {
        match refused.downcast_ref() {
            Some(Error::Refused(refusal)) if self.renderer.has_noted(&plain(&refusal.message)) => {
                let detail = refusal.detail.as_deref().map(plain);
                let advice = || "\"acpd agents doctor NAME\" shows what the agent does".to_owned();
                let rest = detail.filter(|detail| !self.renderer.has_noted_detail(detail));
                Exit::of(&refused).error(rest.unwrap_or_else(advice))
            }
            _ => refused,
        }
    }

    /// Takes the subscription to a new thread.
    fn begin_events(&mut self, followed: Result<Subscription, Error>) -> anyhow::Result<()> {
        match followed {
            Ok(events) => {
                self.known_seq = events.resumed().map_or(0, |resumed| resumed.latest_seq);
                self.events = Some(events);
                Ok(())
            }
            // The refusal says more.
            Err(_) if self.refused.is_some() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether all events are shown that were there when the thread was followed.
    fn has_caught_up(&self) -> bool {
        let events = self.events.as_ref();
        self.following.is_none() && events.is_none_or(|events| events.cursor() >= self.known_seq)
    }

    /// Interrupts the turn, once its id is known.
    fn interrupt(&mut self) {
        if let (Some(thread), Some(turn)) = (&self.thread, &self.id) {
            let client = self.client.clone();
            let params = TurnInterruptParams {
                thread_id: thread.clone(),
                turn_id: Some(turn.clone()),
                ..TurnInterruptParams::default()
            };
            self.interrupting
                .spawn(async move { client.turn_interrupt(&params).await.map(drop) });
        }
    }

    /// Takes the response to the request that started the turn.
    fn started(&mut self, begun: Result<Begun, Error>) -> anyhow::Result<Option<Exit>> {
        let begun = match begun {
            Ok(begun) => begun,
            Err(error @ Error::Refused(_)) => {
                self.is_refused = true;
                self.refused = Some(error.into());
                return Ok(None);
            }
            Err(error) => {
                // What is too large was not sent. Without a connection, it is not known what the daemon did.
                self.is_refused = matches!(error, Error::RequestTooLarge { .. });
                return Err(error.into());
            }
        };
        if let Some(thread) = begun.thread {
            // A new thread has its agent now. In another thread, the agent may still start.
            self.sent = true;
            self.know_thread(thread);
        }
        self.announce();
        if let Some(failed) = self.failed.take() {
            return Ok(Some(self.ended(&failed)));
        }
        let Some(turn) = begun.turn else {
            return Ok(None);
        };
        self.know_turn(&turn);
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

    fn know_turn(&mut self, turn: &protocol::Turn) {
        if self.id.is_none() && turn.id.is_some() {
            self.id.clone_from(&turn.id);
            if self.interrupts > 0 {
                self.interrupt();
            }
        }
    }

    /// Takes a notification that belongs to no subscription.
    fn notice(&mut self, notification: &Notification) -> Option<Exit> {
        if let Notification::ThreadStarted(started) = notification {
            self.know_thread(started.thread_id.clone());
            self.announce();
        }
        // The events of a thread that is followed come with its subscription.
        let is_left = self.is_detached && notification.thread_id() == self.thread.as_deref();
        is_left.then(|| self.leave_own(notification)).flatten()
    }

    /// Leaves the turn of this command, if a notification says that the daemon has it.
    fn leave_own(&mut self, notification: &Notification) -> Option<Exit> {
        let turn = self.own_turn(notification)?;
        self.know_turn(turn);
        Some(self.leave(turn))
    }

    /// Returns the turn of this command, if the daemon has started or queued it. The response comes only when the agent runs, which can
    /// take long.
    fn own_turn<'n>(&self, notification: &'n Notification) -> Option<&'n protocol::Turn> {
        match notification {
            Notification::TurnStarted(changed) | Notification::TurnQueued(changed) => {
                Some(&changed.turn).filter(|turn| turn.client_turn_id.as_ref() == Some(&self.own))
            }
            _ => None,
        }
    }

    /// Returns whether a notification is about the rest of a message of an earlier turn, which does not belong to the answer of this one.
    fn is_of_earlier_turn(&self, notification: &Notification) -> bool {
        let turn = match notification {
            Notification::ItemStarted(message) => &message.turn_id,
            Notification::ItemAgentMessageDelta(delta) | Notification::ItemAgentThoughtDelta(delta) => {
                &delta.turn_id
            }
            Notification::ItemCompleted(message) => &message.turn_id,
            _ => return false,
        };
        self.has_started && turn.is_some() && *turn != self.id
    }

    /// Takes an event of the thread.
    fn take(&mut self, received: &Received) -> anyhow::Result<Option<Exit>> {
        let notification = &received.notification;
        if self.is_detached {
            return Ok(self.leave_own(notification));
        }
        self.announce();
        let inquiry = Inquiry::read(notification);
        if let Some(inquiry) = &inquiry
            && !self.asked.insert(inquiry.request.clone())
        {
            return Ok(None);
        }
        if let Some(turn) = self.own_turn(notification) {
            self.has_started |= matches!(notification, Notification::TurnStarted(_));
            self.know_turn(turn);
        }
        let is_of_earlier = self.is_of_earlier_turn(notification);
        if is_of_agent(notification) && !is_of_earlier {
            self.sent = true;
            self.progress.end();
        }
        if self.as_json {
            let text = received.text.as_deref();
            print::json(text.context("the text of a message is not there")?);
        } else if !is_of_earlier {
            self.renderer.show(notification);
        }
        match notification {
            Notification::ServerRequestResolved(answer) => self.questions.settled(&answer.request_id),
            Notification::TurnCompleted(completed)
                if completed.turn.id == self.id && self.refused.is_none() =>
            {
                return Ok(self.end(&completed.turn));
            }
            _ => {}
        }
        if let Some(inquiry) = inquiry {
            self.renderer.end_answer();
            if let Wants::Permission(approval) = &inquiry.wants
                && self.questions.are_shown()
            {
                self.renderer.skip_shown_changes(approval);
            }
            self.questions.add(inquiry);
        }
        Ok(None)
    }

    /// Ends with the turn. If the agent could not be started, the response says more than the turn, and may come after its end.
    fn end(&mut self, turn: &protocol::Turn) -> Option<Exit> {
        if turn.status == TurnStatus::Failed && self.begun.is_some() {
            self.failed = Some(turn.clone());
            return None;
        }
        Some(self.ended(turn))
    }

    /// Says which work of the agent continues after the turn.
    fn hint_at_subagents(&self) {
        let thread = plain_line(self.thread.as_deref().unwrap_or_default());
        let (subagents, them) = match self.renderer.subagents_at_work() {
            0 => return,
            1 => ("1 subagent is".to_owned(), "it"),
            more => (format!("{more} subagents are"), "them"),
        };
        print::hint(&format!(
            "{subagents} still at work; follow {them}: acpd attach {}",
            short_id(&thread)
        ));
    }

    fn ended(&mut self, turn: &protocol::Turn) -> Exit {
        self.progress.end();
        self.renderer.end_answer();
        if turn.status == TurnStatus::Completed {
            self.hint_at_subagents();
        }
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

/// Returns whether a notification shows that the agent works on the turn, or that there is something to print.
fn is_of_agent(notification: &Notification) -> bool {
    match notification {
        Notification::ItemUserMessage(_) => false,
        Notification::ItemStarted(message) => message.r#type != MessageType::UserMessage,
        Notification::ItemCompleted(message) => message.r#type != MessageType::UserMessage,
        Notification::TurnPlanUpdated(_)
        | Notification::TurnPlanRemoved(_)
        | Notification::ThreadNotice(_) => true,
        other => other.method().starts_with("item/"),
    }
}

/// Waits until `due`; forever if it is `None`.
async fn until(due: Option<std::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
