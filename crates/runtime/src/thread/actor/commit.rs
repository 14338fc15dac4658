//! Applies the machine's effects: first the log, then replies and clients, then the rest.

use std::sync::Arc;

use acpd_log::{Append, LogError, LogFuture, SharedLog};
use acpd_model::{ErrorCode, Event, EventKind, Extract, Failure, Origin, Summary, ThreadId, TurnEvent};
use acpd_proto::agent::AgentCommand;
use acpd_proto::projection::extract;
use acpd_proto::thread::{EditorCommand, Effect, Input, Reply};
use tokio::time::Instant;

use crate::agent::running::Rank;
use crate::feed::batch::Shown;
use crate::feed::publisher::Encoded;
use crate::host::paths;
use crate::observe::words;
use crate::stored::log_failure;
use crate::thread::actor::deletion::PendingDeletion;
use crate::thread::actor::{ThreadActor, from_agent, scene};
use crate::thread::history::{exchanges_input, history_input};

/// Commits during which agent messages are still accepted, before commands get their turn.
const HEARING_ROUNDS: u32 = 8;

impl ThreadActor {
    /// Applies the machine's effects: first the log, then everything else. While the log stores events, the actor
    /// accepts agent messages, for a limited number of rounds. On return every event is stored.
    pub(super) async fn settle(&mut self) -> Result<(), LogError> {
        let mut rounds = HEARING_ROUNDS;
        let mut events = Vec::new();
        while self.machine.waiting() > 0 {
            self.settle_round(&mut events, rounds > 0).await?;
            rounds = rounds.saturating_sub(1);
        }
        if let Some(using) = &self.using {
            let rank = if self.machine.would_forget() {
                Rank::Forgets
            } else {
                Rank::KeepsSession
            };
            let idle = self.machine.is_idle() || self.machine.is_stopping();
            using.note(idle, rank, self.context.clock.now().wall);
        }
        self.charge = None;
        // The machine keeps the other of the two buffers; a quiet thread keeps neither.
        self.machine.take_events(&mut Vec::new());
        Ok(())
    }

    async fn settle_round(&mut self, events: &mut Vec<Event>, receives: bool) -> Result<(), LogError> {
        self.machine.take_events(events);
        let effects: Vec<Effect> = std::iter::from_fn(|| self.machine.poll_effect()).collect();
        let blobs = self.machine.take_blobs();
        self.charge_agent(events, &blobs);
        // Blobs are stored before the events that name them. The events that create a thread are the exception: before
        // them no thread exists that could own a blob.
        let begins = self.machine.is_new_fork() || events.first().is_some_and(|event| event.seq == 1);
        let (before, after) = if begins {
            (Vec::new(), blobs)
        } else {
            (blobs, Vec::new())
        };
        let (mut replies, mut shown, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Reply { call, result } => replies.push((call, result)),
                Effect::Show {
                    turn,
                    at,
                    after,
                    shown: update,
                } => shown.push(Shown {
                    after,
                    turn,
                    at,
                    update,
                }),
                other => rest.push(other),
            }
        }
        self.expect_turns(events, &rest);
        keep(&self.context.log, self.id, before).await?;
        let encoded = self.store(events, &shown, receives).await?;
        keep(&self.context.log, self.id, after).await?;
        self.next_unsent = self.next_call;
        // Replies leave before notifications, so that a caller can match the notifications to its request.
        for (call, result) in replies {
            self.reply(call, result);
        }
        self.publisher.send(encoded);
        self.publisher.keep(shown);
        for effect in rest {
            self.carry_out(effect).await;
        }
        Ok(())
    }

    /// Counts what the log is about to store for the agent, which limits how fast the agent is read.
    fn charge_agent(&self, events: &[Event], blobs: &[Vec<u8>]) {
        let Some(agent) = &self.agent else { return };
        let events = events.iter();
        let caused = events.filter(|event| !matches!(event.by, Origin::Client(_)));
        let bytes: usize = caused.map(Event::weight).chain(blobs.iter().map(Vec::len)).sum();
        agent.process.budget().spend(bytes);
    }

    /// Appends `events` and returns the batches for subscribers. The frames are encoded while the log stores the events.
    /// If `receives`, the machine handles agent messages in the meantime.
    async fn store(
        &mut self,
        events: &[Event],
        shown: &[Shown],
        receives: bool,
    ) -> Result<Encoded, LogError> {
        if events.is_empty() {
            return Ok(self.publisher.encode(&self.id_text, events, shown));
        }
        let summary = self.machine.take_summary().cloned();
        let log = Arc::clone(&self.context.log);
        let begun = Instant::now();
        let mut appending = self.append(&log, events, summary.as_ref());
        let encoded = self.publisher.encode(&self.id_text, events, shown);
        let appended = loop {
            let room = receives && self.machine.has_room();
            tokio::select! {
                biased;
                appended = &mut appending => break appended,
                Some(from) = from_agent(self.agent.as_mut()), if room => self.handle_agent_event(from),
            }
        };
        appended?;
        self.context.metrics.appended(events, begun.elapsed());
        self.observer.observe(scene(&self.context, &self.machine), events);
        self.look_at_failed_calls(events);
        self.context.notifications.stored(self.id, events);
        if let Some(summary) = &summary {
            self.context.thread_list.changed(self.id, events, summary);
        }
        Ok(encoded)
    }

    /// Prepares the traces of turns that these events start.
    fn expect_turns(&mut self, events: &[Event], effects: &[Effect]) {
        if self.context.sinks.traces.is_none() {
            return;
        }
        for event in events {
            let (EventKind::Turn(TurnEvent::Started { imported: false, .. }), Some(started)) =
                (&event.kind, event.turn)
            else {
                continue;
            };
            let sent = effects.iter().find_map(|effect| match effect {
                Effect::Agent(AgentCommand::Prompt { turn, meta, .. }) if *turn == started => {
                    Some(meta.as_ref())
                }
                _ => None,
            });
            let meta = sent.unwrap_or_else(|| self.machine.unsent_meta(started));
            let scene = scene(&self.context, &self.machine);
            self.observer.expect_turn(scene, started, meta);
        }
    }

    /// Begins an append. A function of its own, so that the thread's task reserves no space for what it stores.
    fn append<'l>(
        &mut self,
        log: &'l SharedLog,
        events: &[Event],
        summary: Option<&Summary>,
    ) -> LogFuture<'l, ()> {
        let extract = Extract {
            marks: self.machine.take_marks(),
            ..extract(events)
        };
        let snapshot = self.snapshots.next(self.machine.live());
        log.store(Append {
            summary,
            extract: &extract,
            snapshot: snapshot.as_ref(),
            inherits: self.machine.take_inherited(),
            ..Append::new(self.id, events)
        })
    }

    pub(super) fn reply(&mut self, call: u64, result: Result<Reply, Failure>) {
        if let Some(reply) = self.replies.remove(&call) {
            // A caller that has gone does not wait for the reply.
            let _ = reply.send(result);
        }
    }

    /// Answers all callers after the log has failed. What their commands caused may have left the process already.
    pub(super) fn fail_callers(&mut self, error: &LogError) {
        for (call, reply) in std::mem::take(&mut self.replies) {
            let is_stored = call < self.next_unsent || matches!(error, LogError::UnknownOutcome(_));
            let failure = if is_stored {
                let message = format!("it is not known whether the request was carried out: {error}");
                Failure::new(ErrorCode::Internal, message)
            } else {
                let failure = log_failure(error);
                Failure::new(failure.code, format!("nothing was done: {}", failure.message))
            };
            // A caller that has gone needs no answer.
            let _ = reply.send(Err(failure));
        }
    }

    /// Observes an effect that is about to be carried out, and adds the trace to what the agent receives.
    fn observe_effect(&mut self, effect: &mut Effect) {
        let (call, word) = match effect {
            Effect::StartAgent(start) => {
                self.observer.agent_starts(self.context.clock.now());
                start.meta = self.observer.outgoing(None, start.meta.take());
                return;
            }
            Effect::Agent(AgentCommand::Prompt { turn, meta, .. }) => {
                *meta = self.observer.outgoing(Some(*turn), meta.take());
                return;
            }
            Effect::Editor {
                order: EditorCommand::Request { call, request, .. },
                ..
            } => (*call, words::editor_call(&request.method)),
            Effect::Host { call, what } => (*call, words::host_call(what)),
            _ => return,
        };
        let scene = scene(&self.context, &self.machine);
        let at = self.context.clock.now().wall;
        self.observer.callback_began(scene, call, word, at);
    }

    async fn carry_out(&mut self, mut effect: Effect) {
        self.observe_effect(&mut effect);
        match effect {
            // These were handled before all others.
            Effect::Reply { .. } | Effect::Show { .. } => {}
            // Boxed: it is rare and large, and the thread's task would reserve space for it all the time.
            Effect::StartAgent(start) => Box::pin(self.start_agent(start)).await,
            Effect::StopAgent => {
                self.host = None;
                if let Some(agent) = &self.agent {
                    agent.stop();
                }
            }
            Effect::Agent(command) => {
                if self.agent.is_some() && matches!(command, AgentCommand::Prompt { .. }) {
                    self.look_for_directory();
                }
                if let Some(agent) = &self.agent {
                    let answers = matches!(command, AgentCommand::Answer { .. });
                    let charge = self.charge.take_if(|_| answers);
                    agent.send_command(command, charge).await;
                }
            }
            Effect::Delete { call, by, reason } => {
                self.pending_deletion = Some(Box::new(PendingDeletion { call, by, reason }));
            }
            Effect::CollectHistory {
                except,
                dropped,
                bytes,
            } => {
                // Boxed for the same reason.
                self.collecting = Some(history_input(&self.context, self.id, except, dropped, bytes));
            }
            Effect::CollectExchanges { except, dropped } => {
                self.collecting = Some(exchanges_input(&self.context, self.id, except, dropped));
            }
            Effect::Resolve { waiter, paths } => {
                let spec = &self.machine.live().spec;
                let reserved = Arc::clone(&self.context.reserved);
                let workspace = paths::workspace(self.host.as_ref(), spec, reserved);
                let host = Arc::clone(&self.context.host);
                paths::look_up(host, workspace, waiter, paths, self.host_tx.clone());
            }
            Effect::ChangeRemembered { by, order } => {
                let agent = &self.machine.live().spec.agent;
                let outcome = self.context.answers.carry_out(agent, order).await;
                self.look_up_policies();
                self.machine
                    .handle(Input::RememberedChanged { by, outcome }, self.context.clock.now());
            }
            Effect::Editor { connection, order } => {
                let editors = self.editors.as_deref_mut();
                if let Some(refused) = editors.and_then(|editors| editors.order(connection, order)) {
                    self.machine.handle(refused, self.context.clock.now());
                }
            }
            // Boxed for the same reason.
            Effect::UserHost { call, what } => Box::pin(self.carry_out_for_user(call, what)).await,
            Effect::Host { call, what } => match &mut self.host {
                Some(host) => host.handle(call, what),
                // Nothing starts for an agent that is stopped or stopping.
                None => {
                    let result = Err(Failure::agent("the agent is gone"));
                    self.machine
                        .handle(Input::Host { call, result }, self.context.clock.now());
                }
            },
        }
    }
}

/// Stores blobs that events name.
async fn keep(log: &SharedLog, thread: ThreadId, blobs: Vec<Vec<u8>>) -> Result<(), LogError> {
    for blob in blobs {
        log.put_blob(thread, blob).await?;
    }
    Ok(())
}
