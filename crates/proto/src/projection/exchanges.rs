//! A conversation in rounds, to be held against what an agent tells of it when it goes on with its session.
//!
//! In: events of the log, or what the agent tells. Out: where the agent's telling goes beyond the log. Owns: nothing of
//! the conversation but the beginnings and the digests of its texts. Never: takes what the log has for new. Agents cut
//! texts otherwise than they sent them, give new ids, leave out thoughts, shorten the beginning; so a round is found
//! again by any of what a person said, what the agent said, and the tool calls, and where it is in doubt nothing is new.

use std::collections::{BTreeSet, VecDeque};

use acpd_model::event::TurnStatus;
use acpd_model::limits::{EXCHANGE_HEAD_BYTES, KNOWN_EXCHANGES, REPORTED_EXCHANGES};
use acpd_model::{Event, EventKind, ItemStart, MessageType, TurnId};

use super::history_filter::HistoryFilter;
use super::{DroppedTurns, content_text};

/// A text without its white space, as far as it must be told from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Characters.
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

/// Characters that a text must have so that its being part of another one means anything.
const TELLING_CHARS: u64 = 12;

impl Digest {
    /// Adds text. Answers how much of it was taken, in bytes, if no more than `most` characters may be there then.
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
                // FNV-1a: the same wherever the text is cut.
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

    /// Whether one of them may be a part of the other.
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

/// What a person said, and all that the agent did until the person spoke again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    user: Digest,
    /// What the agent said.
    pub agent: Digest,
    tools: BTreeSet<String>,
    /// Its last turn failed, so that the agent may have gone on unheard.
    failed: bool,
}

impl Exchange {
    /// Whether the agent did anything.
    pub fn is_answered(&self) -> bool {
        !self.agent.is_empty() || !self.tools.is_empty()
    }

    /// Whether the agent called this tool in it.
    pub fn has_tool(&self, id: &str) -> bool {
        self.tools.contains(id)
    }

    /// How sure it is that they are the same; 0 if they are not. The longer a text is, the more it says that it is there
    /// again.
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
            // People say the same again, and get another answer.
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

/// A conversation, oldest round first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchanges {
    all: VecDeque<Exchange>,
    most: usize,
    kept: HistoryFilter,
}

/// What of an agent's telling the log does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewExchanges {
    /// The rounds from this one on.
    pub from: usize,
    /// Of this round that the log has, what comes after so much of the agent's words.
    pub rest_of: Option<(usize, Exchange)>,
}

impl Exchanges {
    /// The end of what the log has, without the turn `except` and those that were dropped.
    pub fn known(except: Option<TurnId>, dropped: DroppedTurns) -> Self {
        Self {
            all: VecDeque::new(),
            most: KNOWN_EXCHANGES,
            kept: HistoryFilter::new(except, dropped),
        }
    }

    /// What an agent tells, which is bounded already.
    pub fn reported() -> Self {
        Self {
            most: usize::MAX,
            ..Self::known(None, DroppedTurns::default())
        }
    }

    /// The rounds.
    pub fn exchanges(&self) -> &VecDeque<Exchange> {
        &self.all
    }

    /// Somebody said something. Answers whether a round begins with it.
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

    /// The agent called a tool. Answers whether a round begins with it.
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

    /// Takes the next event of the log.
    pub fn fold(&mut self, event: &Event) {
        if !self.kept.has(event) {
            return;
        }
        match &event.kind {
            EventKind::UserMessageAdded { content, .. } => {
                self.said(MessageType::UserMessage, &content_text(content));
            }
            EventKind::ItemDelta { role, text, .. } => {
                self.said(*role, text);
            }
            EventKind::ItemContent { role, block, .. } => {
                self.said(*role, &content_text(std::slice::from_ref(block)));
            }
            EventKind::ItemStarted {
                start: ItemStart::ToolCall { tool_call_id, .. },
                ..
            } => {
                self.called(tool_call_id);
            }
            EventKind::TurnSettled { status, .. } => {
                if let Some(exchange) = self.all.back_mut() {
                    exchange.failed = *status == TurnStatus::Failed;
                }
            }
            _ => {}
        }
    }

    /// What is new in `reported`; `None` if nothing of it is found here, so that nobody can say.
    pub fn new_in(&self, reported: &Self) -> Option<NewExchanges> {
        let known: Vec<&Exchange> = self.all.iter().collect();
        // A prompt that failed and got no word may never have reached the agent.
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
        // Those that are here and were not found may be the next ones, told in words that nobody knows again.
        let unfound = known[last + 1..].iter().filter(told_before).count();
        let from = (skipped + at + 1 + unfound).min(reported.all.len());
        let exchange = known[last];
        let rest_of = (last + 1 == known.len() && exchange.failed).then(|| (skipped + at, exchange.clone()));
        Some(NewExchanges { from, rest_of })
    }
}

/// The last pair of the best way to lay `reported` beside `known`, in order: as many rounds as possible, as sure as
/// possible, and where that leaves a choice, the later ones of what is told.
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

    fn told(said: impl IntoIterator<Item = (String, String)>) -> Exchanges {
        rounds(Exchanges::reported(), said)
    }

    fn numbered(number: usize) -> (String, String) {
        (format!("question {number}"), format!("answer {number}"))
    }

    fn from(known: &Exchanges, reported: &Exchanges) -> Option<usize> {
        known.new_in(reported).map(|fresh| fresh.from)
    }

    #[test]
    fn of_a_long_conversation_the_end_is_compared() {
        let log = known((0..1000).map(numbered));
        assert_eq!(log.exchanges().len(), KNOWN_EXCHANGES);
        for new in [0, 1, 100] {
            assert_eq!(from(&log, &told((0..1000 + new).map(numbered))), Some(1000));
        }
        // So much was said elsewhere that nobody can say where it began.
        assert_eq!(
            from(&log, &told((0..1000 + REPORTED_EXCHANGES).map(numbered))),
            None
        );
        assert_eq!(from(&known([]), &told((0..1000).map(numbered))), Some(0));
    }

    #[test]
    fn the_same_again_and_again_is_counted() {
        let same = |times: usize| std::iter::repeat_n(("go on".to_owned(), "ok".to_owned()), times);
        for times in 1..5 {
            assert_eq!(from(&known(same(times)), &told(same(times))), Some(times));
            // Shortened at its beginning.
            assert_eq!(from(&known(same(times)), &told(same(1))), Some(1));
            let more = told(same(times).chain([numbered(1)]));
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
