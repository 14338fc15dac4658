//! Turns: queued, running, settled.
//!
//! In: prompts, interrupts, the agent's responses to prompts. Out: prompts for the agent, events of turns. Owns: the
//! state of the running turn that its events do not contain. Never: starts an agent, or ends items.

mod input;
mod result;

use std::num::NonZeroU64;
use std::time::Duration;

use acpd_model::event::{DiffSize, PlanEvents, TurnStatus};
use acpd_model::{ErrorCode, EventKind, Failure, Millis, Origin, RawJson, Seq, TurnEvent, TurnId};

use super::journal::Journal;
use super::reply::TurnView;
use crate::agent::{AgentCommand, Capabilities};
use crate::projection::{Interrupter, Live, latest_steps};
use crate::time::Instant;

pub(super) use input::{UnsentPrompt, check_input};
pub(super) use result::TurnResult;

/// The action after an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// No action: the turn was only queued and is settled now.
    Dequeued,
    /// No action: a client has already interrupted the running turn.
    Known,
    /// End the running turn. The agent `knows` if it was already asked to.
    End { knows: bool },
}

/// What is going on in the running turn.
#[derive(Debug, Default)]
enum Work {
    /// Nothing yet, or no turn runs.
    #[default]
    Nothing,
    /// The agent has this turn's prompt, which is unanswered.
    Prompt(TurnId),
    /// The turn consists of commands of users, without a prompt.
    Commands,
    /// The agent has answered the prompt, or is being stopped in the middle of a message. The turn ends with this result at this
    /// time, because the end of a text may come after the answer, and may still be in the agent's pipe. What comes prolongs
    /// it up to `latest`.
    Tail {
        until: Instant,
        latest: Instant,
        end: Box<(TurnResult, Origin)>,
    },
    /// The agent began the turn, without a prompt. The turn ends when the agent is silent until this time.
    Unprompted { until: Instant },
}

/// The most tails that a turn takes while the agent sends more of it.
const TAILS: u32 = 10;

/// A turn that has ended without its tail, because a client interrupted it.
#[derive(Debug, Clone, Copy)]
struct CutOff {
    turn: TurnId,
    /// What the agent sends until then belongs to the turn: it gets no prompt before.
    until: Instant,
}

/// The turns of a thread.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The running turn's prompt, until it is sent to the agent.
    prompt: Option<UnsentPrompt>,
    work: Work,
    /// The deadline for the agent to end a cancelled turn.
    cancel_deadline: Option<Instant>,
    /// The last turn, while its rest may come.
    cut_off: Option<CutOff>,
}

impl Turns {
    /// Returns whether the agent has an unanswered prompt.
    pub fn is_prompted(&self) -> bool {
        matches!(self.work, Work::Prompt(_))
    }

    /// Returns whether the agent has the unanswered prompt of this turn.
    pub fn is_prompted_for(&self, turn: TurnId) -> bool {
        matches!(self.work, Work::Prompt(prompted) if prompted == turn)
    }

    /// Returns whether a prompt waits for the agent.
    pub fn has_unsent(&self) -> bool {
        !self.is_prompted() && self.prompt.is_some()
    }

    /// Returns `_meta` of the running turn's prompt, until it is sent.
    pub fn unsent_meta(&self) -> Option<&RawJson> {
        self.prompt.as_ref()?.meta.as_ref()
    }

    /// Returns the deadline for the agent to end a cancelled turn.
    pub fn cancel_deadline(&self) -> Option<Instant> {
        self.cancel_deadline
    }

    /// Starts a turn. Its prompt waits for the agent.
    pub fn begin(
        &mut self,
        journal: &mut Journal,
        turn: TurnId,
        by: &Origin,
        prompt: UnsentPrompt,
        client_turn_id: Option<String>,
    ) {
        let kind = EventKind::Turn(TurnEvent::Started {
            client_turn_id,
            imported: false,
        });
        journal.emit_in(Some(turn), by.clone(), kind, None);
        journal.note_status();
        journal.add_user_message(turn, by, &prompt.blocks, None);
        self.prompt = Some(prompt);
    }

    /// Starts a turn for commands of users. The agent has no part in it.
    pub fn begin_commands(&mut self, journal: &mut Journal, turn: TurnId, by: Origin) {
        let kind = EventKind::Turn(TurnEvent::Started {
            client_turn_id: None,
            imported: false,
        });
        journal.emit_in(Some(turn), by, kind, None);
        journal.note_status();
        self.work = Work::Commands;
    }

    /// Returns whether the running turn consists of commands of users.
    pub fn has_only_commands(&self) -> bool {
        matches!(self.work, Work::Commands)
    }

    /// Starts a turn in which the agent works without a prompt.
    pub fn begin_unprompted(&mut self, journal: &mut Journal, turn: TurnId) {
        let kind = EventKind::Turn(TurnEvent::Started {
            client_turn_id: None,
            imported: false,
        });
        journal.emit_in(Some(turn), Origin::Agent, kind, None);
        journal.note_status();
        self.work = Work::Unprompted {
            until: tail_end(journal),
        };
    }

    /// Returns whether the agent began the running turn without a prompt.
    pub fn is_unprompted(&self) -> bool {
        matches!(self.work, Work::Unprompted { .. })
    }

    /// Keeps a turn open that ends by itself, because the agent sent something of it. What subagents send may outlive the turn of
    /// a prompt, which does not wait for them.
    pub fn extend(&mut self, journal: &Journal) {
        match &mut self.work {
            Work::Unprompted { until } => *until = tail_end(journal),
            Work::Tail { until, latest, .. } if journal.lane().is_none() => {
                *until = tail_end(journal).min(*latest).max(*until);
            }
            Work::Tail { .. } | Work::Nothing | Work::Prompt(_) | Work::Commands => {}
        }
    }

    /// Keeps a turn open that ends by itself, because a question in it was answered.
    pub fn question_settled(&mut self, journal: &Journal) {
        if let Work::Tail { until, .. } | Work::Unprompted { until } = &mut self.work {
            *until = tail_end(journal);
        }
    }

    /// Keeps the turn open for what the agent sends after its answer to the prompt, and longer while it does.
    pub fn begin_tail(&mut self, journal: &Journal, result: TurnResult) {
        let latest = journal.now().mono + tail(journal) * TAILS;
        self.end_after(journal, latest, (result, Origin::Agent));
    }

    /// Keeps the turn open for what may still be in the pipe of an agent that is being stopped, or that ends a turn which a client
    /// interrupted. `by` has ended it.
    pub fn begin_last_tail(&mut self, journal: &Journal, result: TurnResult, by: Origin) {
        self.end_after(journal, tail_end(journal), (result, by));
    }

    fn end_after(&mut self, journal: &Journal, latest: Instant, end: (TurnResult, Origin)) {
        self.cancel_deadline = None;
        self.work = Work::Tail {
            until: tail_end(journal),
            latest,
            end: Box::new(end),
        };
    }

    /// Leaves the rest of a turn that is about to end at once. The agent gets no prompt until `until`.
    pub fn cut_off(&mut self, turn: TurnId, until: Instant) {
        self.cut_off = Some(CutOff { turn, until });
    }

    /// Returns the ended turn that the agent may still send the rest of.
    pub fn cut_off_turn(&self) -> Option<TurnId> {
        self.cut_off.map(|cut_off| cut_off.turn)
    }

    /// Returns when no rest of the last turn comes any more.
    pub fn cut_off_deadline(&self) -> Option<Instant> {
        self.cut_off.map(|cut_off| cut_off.until)
    }

    /// Stops waiting for the rest of the last turn.
    pub fn end_cut_off(&mut self) {
        self.cut_off = None;
    }

    /// Returns whether the agent has a prompt, or has just answered one.
    pub fn is_answering(&self) -> bool {
        matches!(self.work, Work::Prompt(_) | Work::Tail { .. })
    }

    /// Returns whether the running turn ends by itself, without another answer of the agent.
    pub fn is_ending(&self) -> bool {
        matches!(self.work, Work::Tail { .. } | Work::Unprompted { .. })
    }

    /// Returns when the running turn ends by itself.
    pub fn end_deadline(&self) -> Option<Instant> {
        match self.work {
            Work::Tail { until, .. } | Work::Unprompted { until } => Some(until),
            _ => None,
        }
    }

    /// Takes the result of a running turn that ends by itself, and who has ended it.
    pub fn take_result(&mut self) -> Option<(TurnResult, Origin)> {
        match std::mem::take(&mut self.work) {
            Work::Tail { end, .. } => Some(*end),
            Work::Unprompted { .. } => Some((TurnResult::completed(), Origin::Agent)),
            other => {
                self.work = other;
                None
            }
        }
    }

    /// Takes the prompt that waits for the agent, and checks that the agent supports its blocks.
    pub fn take_prompt(
        &mut self,
        capabilities: Option<&Capabilities>,
    ) -> Option<Result<UnsentPrompt, Failure>> {
        let prompt = self.prompt.take()?;
        Some(prompt.check(capabilities).map(|()| prompt))
    }

    /// Sends the prompt of a turn to the agent.
    pub fn send(&mut self, journal: &mut Journal, turn: TurnId, prompt: UnsentPrompt) {
        let UnsentPrompt { blocks, meta } = prompt;
        self.work = Work::Prompt(turn);
        journal.send_to_agent(AgentCommand::Prompt {
            turn,
            prompt: blocks,
            meta,
        });
    }

    /// Handles the response to a prompt. Returns whether that prompt was pending.
    pub fn prompt_ended(&mut self, turn: TurnId) -> bool {
        let had = self.is_prompted_for(turn);
        if had {
            self.work = Work::Nothing;
        }
        had
    }

    /// Asks the agent to end the turn before the cancel deadline.
    pub fn cancel(&mut self, journal: &mut Journal) {
        journal.send_to_agent(AgentCommand::Cancel);
        let patience = Duration::from_secs(journal.limits().cancel_secs);
        self.cancel_deadline = Some(journal.now().mono + patience);
    }

    /// Stops waiting for the agent to end the turn.
    pub fn give_up_cancel(&mut self) {
        self.cancel_deadline = None;
    }

    /// Forgets the pending prompt, because the agent was asked to stop.
    pub fn agent_stopped(&mut self) {
        self.end_cut_off();
        self.end_prompt();
    }

    /// Forgets the pending prompt, because the agent has exited. Returns `false` if the running turn's prompt was not
    /// sent.
    pub fn abandon(&mut self) -> bool {
        self.end_cut_off();
        self.end_prompt() || self.prompt.is_none()
    }

    /// Forgets the unanswered prompt. Returns whether there was one.
    fn end_prompt(&mut self) -> bool {
        let had = self.is_prompted();
        if had {
            self.work = Work::Nothing;
        }
        had
    }

    /// Clears the state of the running turn.
    pub fn end(&mut self) {
        self.cancel_deadline = None;
        self.prompt = None;
        if !self.is_prompted() {
            self.work = Work::Nothing;
        }
    }
}

/// Returns when a turn ends that the agent keeps open now.
pub(super) fn tail_end(journal: &Journal) -> Instant {
    journal.now().mono + tail(journal)
}

fn tail(journal: &Journal) -> Duration {
    Duration::from_millis(journal.limits().turn_tail_millis)
}

/// Interrupts this turn, or the running one, for a client.
pub(super) fn interrupt(
    journal: &mut Journal,
    by: &Origin,
    turn: Option<TurnId>,
) -> Result<Interrupt, Failure> {
    let is_queued = |id: &TurnId| journal.live().queue.iter().any(|queued| queued.id == *id);
    if let Some(queued) = turn.filter(is_queued) {
        settle_queued(journal, queued, TurnResult::interrupted(), by);
        return Ok(Interrupt::Dequeued);
    }
    let Some(running) = journal.live().turn else {
        return Err(Failure::new(ErrorCode::Conflict, "no turn is running"));
    };
    if turn.is_some_and(|id| id != running.id) {
        return Err(Failure::new(ErrorCode::Conflict, "that turn is not running"));
    }
    if running.interrupted == Some(Interrupter::Client) {
        return Ok(Interrupt::Known);
    }
    let kind = EventKind::Turn(TurnEvent::InterruptRequested {});
    journal.emit_in(Some(running.id), by.clone(), kind, None);
    let knows = running.interrupted.is_some();
    Ok(Interrupt::End { knows })
}

/// Returns the turn that a client already started with this id.
pub(super) fn known_turn(journal: &Journal, client_turn_id: Option<&String>) -> Option<TurnView> {
    let turn = journal.live().client_turns.get(client_turn_id?)?;
    Some(turn_view(journal, turn.id, turn.status))
}

pub(super) fn turn_view(journal: &Journal, id: TurnId, status: Option<TurnStatus>) -> TurnView {
    let live = journal.live();
    TurnView {
        id,
        status,
        queued: live.queue.iter().any(|turn| turn.id == id),
        started_at: live.turn.filter(|turn| turn.id == id).map(|turn| turn.started_at),
    }
}

/// Enforces the limit on queued turns.
pub(super) fn check_queue(journal: &Journal) -> Result<(), Failure> {
    let waiting = journal.live().queue.len();
    if waiting < journal.limits().queued_turns {
        return Ok(());
    }
    Err(Failure::new(
        ErrorCode::Overloaded,
        format!("too many queued turns in this thread (limit {waiting})"),
    ))
}

/// Queues a turn.
pub(super) fn queue(
    journal: &mut Journal,
    turn: TurnId,
    by: Origin,
    prompt: UnsentPrompt,
    client_turn_id: Option<String>,
) {
    let kind = EventKind::Turn(TurnEvent::Queued {
        input: prompt.blocks,
        meta: prompt.meta,
        client_turn_id,
    });
    journal.emit_in(Some(turn), by, kind, None);
}

/// Returns whether a client interrupted the running turn.
pub(super) fn is_interrupted_by_client(journal: &Journal) -> bool {
    let interrupter = journal.live().turn.and_then(|turn| turn.interrupted);
    interrupter == Some(Interrupter::Client)
}

/// Records the end of a queued turn.
pub(super) fn settle_queued(journal: &mut Journal, turn: TurnId, result: TurnResult, by: &Origin) {
    let end = TurnEnd {
        started_at: None,
        changes: None,
        result,
    };
    settle(journal, turn, end, by);
}

/// The end of a turn.
pub(super) struct TurnEnd {
    /// When the turn started; `None` if it never did.
    pub started_at: Option<Millis>,
    /// The size of its diff.
    pub changes: Option<DiffSize>,
    pub result: TurnResult,
}

/// Returns the number of the event that last changed a plan with steps in a turn.
pub(super) fn plan_of(live: &Live, turn: TurnId) -> Option<NonZeroU64> {
    latest_steps(live.plans.of_turn(turn)).and_then(|plan| NonZeroU64::new(plan.seq))
}

/// Returns the numbers of the last events of a turn's plans, unless there is none or [`plan_of`] is the only one.
pub(super) fn plans_of(live: &Live, turn: TurnId) -> Option<Box<PlanEvents>> {
    let plans: Vec<Seq> = live.plans.of_turn(turn).map(|plan| plan.seq).collect();
    let is_known = plans.len() == 1 && plan_of(live, turn).is_some();
    (!plans.is_empty() && !is_known).then(|| Box::new(PlanEvents(plans)))
}

fn permitted(live: &Live, turn: TurnId) -> u32 {
    let running = live.turn.filter(|running| running.id == turn);
    running.map_or(0, |running| running.permitted)
}

fn waited_ms(journal: &Journal, turn: TurnId) -> u64 {
    let running = journal.live().turn.filter(|running| running.id == turn);
    running.map_or(0, |running| running.waited_until(journal.now().wall))
}

/// Records the end of a turn.
pub(super) fn settle(journal: &mut Journal, turn: TurnId, end: TurnEnd, by: &Origin) {
    let TurnEnd {
        started_at,
        changes,
        result,
    } = end;
    let TurnResult {
        status,
        stop_reason,
        error,
        usage,
        raw,
    } = result;
    let kind = EventKind::Turn(TurnEvent::Settled {
        status,
        stop_reason,
        error,
        started_at,
        usage: usage.map(Box::new),
        changes: changes.map(Box::new),
        plan: plan_of(journal.live(), turn),
        plans: plans_of(journal.live(), turn),
        permitted: permitted(journal.live(), turn),
        waited_ms: waited_ms(journal, turn),
    });
    journal.emit_in(Some(turn), by.clone(), kind, raw);
}
