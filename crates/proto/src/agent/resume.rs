//! A connection that continues the work of an earlier daemon, and does not send twice what that one has sent.
//!
//! In: a memo, the lines that were sent after it, the commands that the thread still waits for, and the lines of the agent from the memo
//! on. Out: the connection as it was; of the commands and answers, those lines alone that were not sent. Owns: what was sent
//! and is not matched yet. Never: drops a line that the earlier daemon has not sent, or one that it has sent twice more than once.
//!
//! A request that was sent has an id, but the purpose of it is the thread's: the command that is given again *claims* the id. Answers to
//! requests of the agent are found by their ids, and the other lines by their text.

use std::borrow::Cow;
use std::time::Duration;

use acpd_model::{RawJson, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::capabilities::Capabilities;
use super::connection::{AgentConnection, SIGN_IN, Sent, Start};
use super::memo::{ConnectionMemo, on_mono};
use super::opening::usual_prefix;
use super::v2;
use crate::text_hash::TextHash;
use crate::time::{Instant, Now};
use crate::wire::{Message, Pending, RpcError, number};

/// How long commands can claim what was sent. A thread gives those that it waits for at once; a later one is a new one.
const CLAIM: Duration = Duration::from_mins(1);
/// The time for a request that ran out of time between the daemons: its answer may be in the output that is read next.
const READ_AGAIN: Duration = Duration::from_secs(5);

/// A request that was sent after the memo, until a command claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Unclaimed {
    /// The hash of the method and the params.
    request: u64,
    /// Whether it is a prompt whose turn was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cancelled: bool,
}

/// A request that a command has claimed.
enum Claimed {
    /// The request with this id is not answered.
    Open(u64),
    /// The answer came before the command.
    Answered(Answer),
}

/// An answer of the agent.
type Answer = Result<Box<RawValue>, RpcError>;

/// What an earlier daemon has sent, as far as it is not matched.
#[derive(Debug)]
pub(super) struct SentEarlier {
    /// The turns and the other requests of the memo.
    turns: Vec<TurnId>,
    asks: Vec<u64>,
    is_closing: bool,
    /// The hashes of notifications.
    notifications: Vec<u64>,
    /// Ids of requests that were answered, of lines that are read again.
    answered: Vec<RawJson>,
    /// Answers to requests that no command has claimed yet.
    answers: Vec<(Unclaimed, Answer)>,
    /// Until when commands can claim.
    until: Instant,
    /// Whether a line was read. From then on, a new prompt ends the claims: later commands belong to its turn.
    has_read: bool,
}

impl AgentConnection {
    /// Continues a connection whose session is open. `start` has the parameters of the session, and `sent` whole lines that the journal has
    /// behind the memo. Give it first the commands that the thread still waits for, and then the lines of the agent from the memo on.
    pub fn resume(mut start: Start, memo: ConnectionMemo, sent: &[u8], now: Now) -> Self {
        let patience = start.patience;
        let pending = memo.pending.iter().map(|(id, sent, until)| {
            let most = match sent {
                Sent::Ask { signs_in: true, .. } => SIGN_IN,
                _ => patience,
            };
            let deadline = until.map(|until| on_mono(until, now, READ_AGAIN, most));
            (*id, sent.clone(), deadline)
        });
        let pending = Pending::restored(memo.next_id, pending);
        start.pending_session = false;
        if memo.prompt_left_out.is_some() {
            start.system_prompt = None;
        }
        let earlier = SentEarlier::of(&memo, now.mono);
        let mut connection = Self::unopened(start, 0, true);
        connection.prefix = usual_prefix(&memo.session);
        connection.capabilities = Capabilities::of_request_bits(memo.capabilities, memo.auth_methods());
        connection.pending = pending;
        connection.calls = memo.calls.into_iter().collect();
        connection.next_call = memo.next_call;
        connection.v2 = memo.v2;
        connection.session = Some(memo.session);
        connection.given_up = memo.given_up;
        connection.prompt_left_out = memo.prompt_left_out;
        connection.has_noted_flaw = memo.has_noted_flaw;
        connection.half = memo.half;
        connection.sent_earlier = Some(Box::new(earlier));
        connection.read_journal(sent);
        connection
    }

    /// Reads the lines that were sent after the memo.
    fn read_journal(&mut self, sent: &[u8]) {
        let cancel = hash("session/cancel", Some(self.cancel_params().get()));
        let next_id = self.pending.next_id();
        let is_cancelled = match &self.v2 {
            // The answer to a prompt does not end its turn, and may never come.
            Some(v2) => v2.is_cancelled(),
            None => {
                let mut pending = self.pending.notes();
                pending.any(|sent| matches!(sent, Sent::Cancelled(_)))
            }
        };
        if is_cancelled && let Some(earlier) = &mut self.sent_earlier {
            earlier.notifications.push(cancel);
        }
        // The last prompt, and whether it was cancelled.
        let mut prompt: Option<(u64, Unclaimed)> = None;
        for line in sent.split_inclusive(|byte| *byte == b'\n') {
            // Half a line was not sent.
            let Some(line) = line.strip_suffix(b"\n") else {
                continue;
            };
            let text = std::str::from_utf8(line).unwrap_or_default();
            match Message::parse(text) {
                Ok(Message::Request { id, method, params }) => {
                    // Earlier ones are in the memo, if they are not answered.
                    let id = number(id.get()).filter(|id| *id >= next_id);
                    let unclaimed = Unclaimed {
                        request: hash(&method, params.map(RawValue::get)),
                        is_cancelled: false,
                    };
                    if let Some(id) = id {
                        self.pending.put(id, Sent::Unclaimed(unclaimed), None);
                        if *method == *"session/prompt" {
                            prompt = Some((id, unclaimed));
                        }
                    }
                }
                Ok(Message::Response { id, .. }) => self.note_answered(id),
                Ok(Message::Notification { method, params }) => {
                    let sent = hash(&method, params.map(RawValue::get));
                    if sent == cancel {
                        match (&mut prompt, &mut self.v2) {
                            (Some((id, unclaimed)), _) => {
                                unclaimed.is_cancelled = true;
                                self.pending.put(*id, Sent::Unclaimed(*unclaimed), None);
                            }
                            (None, v2) => {
                                if let Some(v2) = v2 {
                                    v2.cancel();
                                }
                                self.note_cancelled();
                            }
                        }
                    }
                    if let Some(earlier) = &mut self.sent_earlier {
                        earlier.notifications.push(sent);
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Records that the prompts that the agent has were cancelled.
    pub(super) fn note_cancelled(&mut self) {
        let of_prompt = |(id, sent, deadline): (u64, &Sent, Option<Instant>)| match sent {
            Sent::Prompt(turn) => Some((id, *turn, deadline)),
            _ => None,
        };
        let prompts: Vec<_> = self.pending.requests().filter_map(of_prompt).collect();
        for (id, turn, deadline) in prompts {
            self.pending.put(id, Sent::Cancelled(turn), deadline);
        }
    }

    /// Records that a request of the agent was answered: the oldest one with this id, since an agent can use it again only after the answer.
    fn note_answered(&mut self, id: &RawValue) {
        let id = RawJson::from(id);
        let mut calls = self.calls.iter();
        let call = calls.find(|(_, of_agent)| on_one_line(of_agent.get()) == on_one_line(id.get()));
        if let Some(call) = call.map(|(call, _)| *call) {
            self.calls.remove(&call);
        } else if let Some(earlier) = &mut self.sent_earlier {
            earlier.answered.push(id);
        }
    }

    /// Returns whether commands can still claim what was sent.
    pub(super) fn accepts_claims(&self, now: Instant) -> bool {
        let earlier = self.sent_earlier.as_ref();
        earlier.is_some_and(|earlier| now < earlier.until)
    }

    /// Returns whether answers wait for a command that claims their request.
    pub(super) fn holds_answers(&self) -> bool {
        let earlier = self.sent_earlier.as_ref();
        earlier.is_some_and(|earlier| !earlier.answers.is_empty())
    }

    /// Returns the ids of requests that the agent's next lines have and that were answered already.
    pub(super) fn answered_ahead(&self) -> &[RawJson] {
        match &self.sent_earlier {
            Some(earlier) => &earlier.answered,
            None => &[],
        }
    }

    /// Records that a line of the agent was read.
    pub(super) fn note_line(&mut self, now: Instant) {
        if let Some(earlier) = &mut self.sent_earlier {
            earlier.has_read = true;
            if earlier.until <= now {
                earlier.end();
            }
        }
    }

    /// Returns whether an answer to a request of the agent was sent earlier. Each such answer counts once.
    pub(super) fn takes_answered(&mut self, id: &str) -> bool {
        let Some(earlier) = &mut self.sent_earlier else {
            return false;
        };
        let id = on_one_line(id);
        let at = earlier
            .answered
            .iter()
            .position(|sent| on_one_line(sent.get()) == id);
        at.map(|at| earlier.answered.remove(at)).is_some()
    }

    /// Returns whether a notification was sent earlier. Each one counts once.
    pub(super) fn takes_notification(
        &mut self,
        method: &str,
        params: Option<&RawJson>,
        now: Instant,
    ) -> bool {
        let Some(earlier) = self.sent_earlier.as_mut().filter(|earlier| now < earlier.until) else {
            return false;
        };
        let wanted = hash(method, params.map(RawJson::get));
        let at = earlier.notifications.iter().position(|sent| *sent == wanted);
        at.map(|at| earlier.notifications.remove(at)).is_some()
    }

    /// Returns whether a request other than a prompt was sent earlier. Then its answer belongs to this purpose.
    pub(super) fn claims(
        &mut self,
        sent: &Sent,
        deadline: Option<Instant>,
        method: &str,
        params: Option<&RawJson>,
        now: Now,
    ) -> bool {
        let Some(earlier) = &self.sent_earlier else {
            return false;
        };
        let is_known = match sent {
            Sent::Ask { ask, .. } => earlier.asks.contains(ask),
            Sent::Close => earlier.is_closing,
            _ => false,
        };
        if is_known {
            return true;
        }
        let Some((_, claimed)) = self.claim(hash(method, params.map(RawJson::get)), now.mono) else {
            return false;
        };
        self.settle(claimed, sent.clone(), deadline, now);
        true
    }

    /// Returns whether a prompt was sent earlier. Which skill it invokes may have been known by a line that is read again later.
    pub(super) fn claims_prompt(
        &mut self,
        turn: TurnId,
        prompt: &[RawJson],
        meta: Option<&RawJson>,
        now: Now,
    ) -> bool {
        let Some(earlier) = &self.sent_earlier else {
            return false;
        };
        if earlier.turns.contains(&turn) {
            return true;
        }
        let mut forms = vec![(self.prompt_params(prompt, meta), None)];
        if self.v2.is_some()
            && let Some((blocks, invoked)) = v2::invoking(prompt, |_| true)
        {
            forms.push((self.prompt_params(&blocks, meta), Some(invoked)));
        }
        for (params, invoked) in forms {
            let request = hash("session/prompt", Some(params.get()));
            if let Some((unclaimed, claimed)) = self.claim(request, now.mono) {
                if let Some(v2) = &mut self.v2 {
                    v2.prompt_was_sent(turn, invoked);
                    if unclaimed.is_cancelled {
                        v2.cancel();
                    }
                }
                let sent = if unclaimed.is_cancelled {
                    Sent::Cancelled(turn)
                } else {
                    Sent::Prompt(turn)
                };
                self.settle(claimed, sent, None, now);
                return true;
            }
        }
        if let Some(earlier) = self.sent_earlier.as_mut().filter(|earlier| earlier.has_read) {
            earlier.end();
        }
        false
    }

    /// Returns the oldest request with this hash that no command has claimed.
    fn claim(&mut self, request: u64, now: Instant) -> Option<(Unclaimed, Claimed)> {
        let earlier = self.sent_earlier.as_mut();
        let earlier = earlier.filter(|earlier| now < earlier.until)?;
        let mut answers = earlier.answers.iter();
        if let Some(at) = answers.position(|(unclaimed, _)| unclaimed.request == request) {
            let (unclaimed, answer) = earlier.answers.remove(at);
            return Some((unclaimed, Claimed::Answered(answer)));
        }
        let mut requests = self.pending.requests();
        requests.find_map(|(id, sent, _)| match sent {
            Sent::Unclaimed(unclaimed) if unclaimed.request == request => {
                Some((*unclaimed, Claimed::Open(id)))
            }
            _ => None,
        })
    }

    /// Gives a claimed request its purpose, and handles its answer if it is there.
    fn settle(&mut self, claimed: Claimed, sent: Sent, deadline: Option<Instant>, now: Now) {
        match claimed {
            Claimed::Open(id) => self.pending.put(id, sent, deadline),
            Claimed::Answered(Ok(result)) => self.handle_response(sent, Ok(&result), now),
            Claimed::Answered(Err(error)) => self.handle_response(sent, Err(error), now),
        }
    }

    /// Keeps the answer to a request that no command has claimed, as long as one can.
    pub(super) fn hold_answer(
        &mut self,
        unclaimed: Unclaimed,
        result: Result<&RawValue, RpcError>,
        now: Instant,
    ) {
        let earlier = self.sent_earlier.as_mut();
        if let Some(earlier) = earlier.filter(|earlier| now < earlier.until) {
            earlier.answers.push((unclaimed, result.map(ToOwned::to_owned)));
        }
    }
}

impl SentEarlier {
    fn of(memo: &ConnectionMemo, now: Instant) -> Self {
        let mut earlier = Self {
            turns: Vec::new(),
            asks: Vec::new(),
            is_closing: false,
            notifications: Vec::new(),
            answered: memo.answered.clone(),
            answers: Vec::new(),
            until: now + CLAIM,
            has_read: false,
        };
        for (_, sent, _) in &memo.pending {
            match sent {
                Sent::Prompt(turn) | Sent::Cancelled(turn) => earlier.turns.push(*turn),
                Sent::Ask { ask, .. } => earlier.asks.push(*ask),
                Sent::Close => earlier.is_closing = true,
                Sent::Initialize | Sent::Open(_) | Sent::GivenUp | Sent::Unclaimed(_) => {}
            }
        }
        // In version 2, a prompt is answered long before its turn ends.
        earlier.turns.extend(memo.v2.as_ref().and_then(|v2| v2.turn()));
        earlier
    }

    /// Ends the claims. Answers are matched further: they belong to lines that are read again.
    fn end(&mut self) {
        self.until = Instant::ZERO;
        self.notifications = Vec::new();
        self.answers = Vec::new();
    }
}

/// Returns the hash of a message of ours, without its id. Line breaks in it were written as spaces.
fn hash(method: &str, params: Option<&str>) -> u64 {
    let mut hash = TextHash::default();
    hash.write(on_one_line(method).as_bytes());
    // No text has this byte.
    hash.write(&[0xff]);
    if let Some(params) = params {
        hash.write(on_one_line(params).as_bytes());
    }
    hash.finish()
}

/// Returns a text as it is in a line that was written.
fn on_one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\n', '\r']) {
        Cow::Owned(text.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(text)
    }
}
