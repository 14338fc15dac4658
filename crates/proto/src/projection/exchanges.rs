//! A conversation as exchanges, for comparison with the history that an agent reports when it resumes its session.
//!
//! In: events of the log, or the agent's report. Out: the part of the report that the log does not have. Owns: the
//! beginnings and digests of the conversation's texts. Never: reports as new what the log has. In their reports, agents
//! split texts differently, assign new ids, leave out thoughts and shorten the beginning. An exchange is therefore
//! recognized by any of the user's text, the agent's text and the tool calls. In case of doubt nothing is new.

use std::collections::{BTreeSet, VecDeque};

use acpd_model::event::TurnStatus;
use acpd_model::{Event, EventKind, ItemEvent, ItemStart, MessageType, TurnEvent, TurnId};

use super::history_filter::HistoryFilter;
use super::{DroppedTurns, content_text};

/// Exchanges at the end of a thread's conversation that an agent's replay is matched against.
const KNOWN_EXCHANGES: usize = 128;
/// Exchanges at the end of an agent's replay that are matched.
const REPORTED_EXCHANGES: usize = 256;
/// Bytes of a text, without its white space, that are used to find it inside another text.
const EXCHANGE_HEAD_BYTES: usize = 1 << 10;

/// A text without its white space, reduced to what is needed to tell it from other texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Number of characters, without white space.
    pub chars: u64,
    hash: u64,
    head: String,
}

impl Default for Digest {
    fn default() -> Self {
        Self {
            chars: 0,
            hash: 0xcbf2_9ce4_8422_2325,
            head: String::new(),
        }
    }
}

/// Minimum length of a text, in characters, for its occurrence in another one to count as a match.
const TELLING_CHARS: u64 = 12;

impl Digest {
    /// Adds text until the digest has `most` characters. Returns how many bytes of `text` were added.
    pub fn add(&mut self, text: &str, most: u64) -> usize {
        for (at, letter) in text.char_indices() {
            if letter.is_whitespace() || letter.is_control() {
                continue;
            }
            if self.chars >= most {
                return at;
            }
            self.chars += 1;
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                // FNV-1a does not depend on how the text is split.
                self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            if self.head.len() < EXCHANGE_HEAD_BYTES {
                self.head.push(letter);
            }
        }
        text.len()
    }

    fn is_empty(&self) -> bool {
        self.chars == 0
    }

    /// Returns whether one of the texts may be a part of the other.
    fn is_like(&self, other: &Self) -> bool {
        let (short, long) = if self.chars <= other.chars {
            (self, other)
        } else {
            (other, self)
        };
        let whole = short.head.len() < EXCHANGE_HEAD_BYTES;
        short.chars >= TELLING_CHARS
            && if whole {
                long.head.contains(&short.head)
            } else {
                short.head == long.head
            }
    }
}

/// A user's message and everything that the agent did until the next one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    user: Digest,
    /// The agent's text.
    pub agent: Digest,
    tools: BTreeSet<String>,
    /// Whether its last turn failed, so that the agent may have continued without the daemon.
    failed: bool,
}

impl Exchange {
    /// Returns whether the agent wrote text or called a tool.
    pub fn is_answered(&self) -> bool {
        !self.agent.is_empty() || !self.tools.is_empty()
    }

    /// Returns whether the agent called this tool in the exchange.
    pub fn has_tool(&self, id: &str) -> bool {
        self.tools.contains(id)
    }

    /// Returns the confidence that both exchanges are the same; 0 if they are not. The longer a matching text is, the
    /// more points it gives.
    fn likeness(&self, reported: &Self) -> u64 {
        let same = |a: &Digest, b: &Digest| !a.is_empty() && a == b;
        let (user, agent) = (
            same(&self.user, &reported.user),
            same(&self.agent, &reported.agent),
        );
        let agent_like = self.agent.is_like(&reported.agent);
        let other_answer = !agent && !agent_like && !self.agent.is_empty() && !reported.agent.is_empty();
        let weight = |text: &Digest| 4 + text.chars.min(64) / 4;
        let mut points = match (user, other_answer) {
            (true, false) => weight(&self.user),
            // Users repeat a message and get a different answer.
            (true, true) => 3,
            (false, _) => 3 * u64::from(self.user.is_like(&reported.user)),
        };
        points += match (agent, agent_like) {
            (true, _) if user || self.agent.chars >= TELLING_CHARS => weight(&self.agent),
            (_, true) => 2,
            _ => 0,
        };
        points + 10 * u64::from(!self.tools.is_disjoint(&reported.tools))
    }
}

/// A conversation, oldest exchange first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchanges {
    all: VecDeque<Exchange>,
    /// The turn of the user's last message. Turns without one are not the agent's.
    prompted: Option<TurnId>,
    most: usize,
    kept: HistoryFilter,
}

/// The part of an agent's report that the log does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewExchanges {
    /// Index of the first new exchange in the report.
    pub from: usize,
    /// The index of a reported exchange that continues a failed one of the log, and that exchange as the log has it.
    /// Only what follows its agent text is new.
    pub rest_of: Option<(usize, Exchange)>,
}

impl Exchanges {
    /// Creates the last exchanges of a log, without the turn `except` and the dropped turns.
    pub fn known(except: Option<TurnId>, dropped: DroppedTurns) -> Self {
        Self {
            all: VecDeque::new(),
            prompted: None,
            most: KNOWN_EXCHANGES,
            kept: HistoryFilter::new(except, dropped),
        }
    }

    /// Creates the exchanges of an agent's report. They have no limit, because reports are already bounded.
    pub fn reported() -> Self {
        Self {
            most: usize::MAX,
            ..Self::known(None, DroppedTurns::default())
        }
    }

    /// Returns the exchanges, oldest first.
    pub fn exchanges(&self) -> &VecDeque<Exchange> {
        &self.all
    }

    /// Adds text of the user or the agent. Returns whether a new exchange starts with it.
    pub fn said(&mut self, role: MessageType, text: &str) -> bool {
        let user = role == MessageType::UserMessage;
        let begins = self
            .all
            .back()
            .is_none_or(|exchange| user && exchange.is_answered());
        if begins && role != MessageType::AgentThought {
            self.begin();
        }
        match (role, self.all.back_mut()) {
            (MessageType::UserMessage, Some(exchange)) => drop(exchange.user.add(text, u64::MAX)),
            (MessageType::AgentMessage, Some(exchange)) => drop(exchange.agent.add(text, u64::MAX)),
            _ => {}
        }
        begins && role != MessageType::AgentThought
    }

    /// Adds text of an event. The rest of an answer may come when the next prompt is there already.
    fn said_in(&mut self, turn: Option<TurnId>, role: MessageType, text: &str) {
        let is_late = turn.is_some() && turn < self.prompted && role == MessageType::AgentMessage;
        let before = self.all.len().checked_sub(2).filter(|_| is_late);
        match before.and_then(|at| self.all.get_mut(at)) {
            Some(exchange) => drop(exchange.agent.add(text, u64::MAX)),
            None => drop(self.said(role, text)),
        }
    }

    /// Adds a tool call of the agent. Returns whether a new exchange starts with it.
    pub fn called(&mut self, id: &str) -> bool {
        let begins = self.all.is_empty();
        if begins {
            self.begin();
        }
        if let Some(exchange) = self.all.back_mut() {
            exchange.tools.insert(id.to_owned());
        }
        begins
    }

    fn begin(&mut self) {
        if self.all.len() >= self.most {
            self.all.pop_front();
        }
        self.all.push_back(Exchange::default());
    }

    /// Applies the next event of the log.
    pub fn fold(&mut self, event: &Event) {
        // Subagents have sessions of their own, which an agent does not replay.
        if !self.kept.has(event) || event.lane.is_some() {
            return;
        }
        match &event.kind {
            EventKind::Item(ItemEvent::UserMessageAdded { content, .. }) => {
                self.prompted = event.turn;
                self.said(MessageType::UserMessage, &content_text(content));
            }
            EventKind::Item(ItemEvent::Delta { role, text, .. }) => {
                self.said_in(event.turn, *role, text);
            }
            EventKind::Item(ItemEvent::Content { role, block, .. }) => {
                self.said_in(event.turn, *role, &content_text(std::slice::from_ref(block)));
            }
            EventKind::Item(ItemEvent::Started {
                start: ItemStart::ToolCall { tool_call_id, .. },
                ..
            }) => {
                self.called(tool_call_id);
            }
            EventKind::Turn(TurnEvent::Settled { status, .. }) if event.turn == self.prompted => {
                if let Some(exchange) = self.all.back_mut() {
                    exchange.failed = *status == TurnStatus::Failed;
                }
            }
            EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Item(_)
            | EventKind::Host(_)
            | EventKind::Request(_)
            | EventKind::Unknown => {}
        }
    }

    /// Returns the new part of `reported`; `None` if no exchange of it matches, so that its position is unknown.
    pub fn new_in(&self, reported: &Self) -> Option<NewExchanges> {
        let known: Vec<&Exchange> = self.all.iter().collect();
        // A failed prompt without any answer may never have reached the agent.
        let told_before = |exchange: &&&Exchange| exchange.is_answered() || !exchange.failed;
        let skipped = reported.all.len().saturating_sub(REPORTED_EXCHANGES);
        let tail: Vec<&Exchange> = reported.all.iter().skip(skipped).collect();
        let Some((last, at)) = last_pair(&known, &tail) else {
            let nothing = known.iter().filter(told_before).count() == 0;
            return nothing.then_some(NewExchanges {
                from: 0,
                rest_of: None,
            });
        };
        // Later known exchanges without a match may be the next ones of the report, in words that do not match.
        let unfound = known[last + 1..].iter().filter(told_before).count();
        let from = (skipped + at + 1 + unfound).min(reported.all.len());
        let exchange = known[last];
        let rest_of = (last + 1 == known.len() && exchange.failed).then(|| (skipped + at, exchange.clone()));
        Some(NewExchanges { from, rest_of })
    }
}

/// Returns the last pair of the best ordered alignment of `reported` with `known`. The best alignment has as many
/// exchanges and as much confidence as possible. If several are equal, it uses the later exchanges of the report.
fn last_pair(known: &[&Exchange], reported: &[&Exchange]) -> Option<(usize, usize)> {
    let width = reported.len() + 1;
    let likeness: Vec<u64> = known
        .iter()
        .flat_map(|known| reported.iter().map(|reported| known.likeness(reported)))
        .collect();
    let like = |k: usize, t: usize| likeness[k * reported.len() + t];
    let mut best = vec![0_u64; (known.len() + 1) * width];
    for k in (0..known.len()).rev() {
        for t in (0..reported.len()).rev() {
            let pair = match like(k, t) {
                0 => 0,
                points => points + best[(k + 1) * width + t + 1],
            };
            best[k * width + t] = pair.max(best[(k + 1) * width + t]).max(best[k * width + t + 1]);
        }
    }
    let (mut k, mut t, mut last) = (0, 0, None);
    while k < known.len() && t < reported.len() {
        let here = best[k * width + t];
        if here == best[k * width + t + 1] {
            t += 1;
        } else if here == best[(k + 1) * width + t] {
            k += 1;
        } else {
            last = Some((k, t));
            (k, t) = (k + 1, t + 1);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(mut exchanges: Exchanges, said: impl IntoIterator<Item = (String, String)>) -> Exchanges {
        for (user, agent) in said {
            exchanges.said(MessageType::UserMessage, &user);
            exchanges.said(MessageType::AgentMessage, &agent);
        }
        exchanges
    }

    fn known(said: impl IntoIterator<Item = (String, String)>) -> Exchanges {
        rounds(Exchanges::known(None, DroppedTurns::default()), said)
    }

    fn reported(said: impl IntoIterator<Item = (String, String)>) -> Exchanges {
        rounds(Exchanges::reported(), said)
    }

    fn numbered(number: usize) -> (String, String) {
        (format!("question {number}"), format!("answer {number}"))
    }

    fn from(known: &Exchanges, reported: &Exchanges) -> Option<usize> {
        known.new_in(reported).map(|fresh| fresh.from)
    }

    #[test]
    fn long_conversations_are_compared_at_their_end() {
        let log = known((0..1000).map(numbered));
        assert_eq!(log.exchanges().len(), KNOWN_EXCHANGES);
        for new in [0, 1, 100] {
            assert_eq!(from(&log, &reported((0..1000 + new).map(numbered))), Some(1000));
        }
        // The report has so many unknown exchanges that its start cannot be determined.
        assert_eq!(
            from(&log, &reported((0..1000 + REPORTED_EXCHANGES).map(numbered))),
            None
        );
        assert_eq!(from(&known([]), &reported((0..1000).map(numbered))), Some(0));
    }

    #[test]
    fn the_same_again_and_again_is_counted() {
        let same = |times: usize| std::iter::repeat_n(("continue".to_owned(), "ok".to_owned()), times);
        for times in 1..5 {
            assert_eq!(from(&known(same(times)), &reported(same(times))), Some(times));
            // The beginning is shortened.
            assert_eq!(from(&known(same(times)), &reported(same(1))), Some(1));
            let more = reported(same(times).chain([numbered(1)]));
            assert_eq!(from(&known(same(times)), &more), Some(times));
        }
    }

    #[test]
    fn a_text_is_cut_where_so_much_of_it_is_taken() {
        let mut digest = Digest::default();
        assert_eq!(digest.add("a b", 3), 3);
        assert_eq!(digest.add(" c\n d", 3), 4, "white space is none of it");
        let mut whole = Digest::default();
        whole.add("abc", u64::MAX);
        assert_eq!(digest, whole);
        assert_eq!(digest.add("x", 3), 0);
    }
}
