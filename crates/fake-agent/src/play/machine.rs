//! The matching of what a client does with what was recorded: a state machine without IO or time.
//!
//! It stands at a place in the recording, which is always a client message that has not come yet, or the end.
//!
//! - A **request** is the next recorded one of the same method and session. What lies between is skipped, but
//!   for the answers that the client waits for. A session that the recording does not know counts as any.
//! - A **notification** is the next recorded one of the same method and session, as long as no request lies
//!   between that would begin something new. Any other is ignored.
//! - A **response** is the recorded one of the same id: the agent's requests go out with their recorded ids.
//! - A recorded request that lies before a notification or response that came is not waited for any more: this
//!   client does not send it.

use super::recording::{Entry, Key, Kind};

/// What the client did. Ids are JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// It asked.
    Request {
        /// Its id for it.
        id: String,
        /// What.
        key: Key,
    },
    /// It notified.
    Notification {
        /// Of what.
        key: Key,
    },
    /// It answered the agent.
    Response {
        /// The agent's id.
        id: String,
    },
}

/// What the agent does about it.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Write a line.
    Send {
        /// Without its newline.
        line: String,
        /// Seconds to wait before, at recorded speed.
        after: f64,
    },
    /// Say that there is no such method.
    Refuse {
        /// The request.
        id: String,
        /// Why.
        message: String,
    },
}

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// Still to come.
    Open,
    /// It came; for a request, with this id, until that is answered.
    Seen(Option<String>),
    /// It is not waited for any more.
    Void,
}

/// See the module.
#[derive(Debug)]
pub struct Machine {
    entries: Vec<Entry>,
    states: Vec<State>,
    at: usize,
}

impl Machine {
    /// At the beginning of a recording.
    pub fn new(entries: Vec<Entry>) -> Self {
        let states = vec![State::Open; entries.len()];
        Self {
            entries,
            states,
            at: 0,
        }
    }

    /// What the agent says unasked.
    pub fn start(&mut self) -> Vec<Action> {
        self.advance(Vec::new())
    }

    /// Takes one message of the client.
    pub fn handle(&mut self, client: Client) -> Vec<Action> {
        match client {
            Client::Request { id, key } => self.request(id, &key),
            Client::Notification { key } => {
                let end = self.horizon();
                let found = self.find(
                    end,
                    |kind| matches!(kind, Kind::Notification(recorded) if fits(recorded, &key)),
                );
                self.arrived(found)
            }
            Client::Response { id } => {
                let found = self.find(
                    self.entries.len(),
                    |kind| matches!(kind, Kind::Response(recorded) if *recorded == id),
                );
                self.arrived(found)
            }
        }
    }

    /// Whether the client waits for an answer that is still to come in the recording.
    pub fn owes(&self) -> bool {
        self.last_owed().is_some()
    }

    /// Goes on without the message that is waited for.
    pub fn give_up(&mut self) -> Vec<Action> {
        if let Some(state) = self.states.get_mut(self.at) {
            *state = State::Void;
        }
        self.advance(Vec::new())
    }

    fn request(&mut self, id: String, key: &Key) -> Vec<Action> {
        let exact = |kind: &Kind| matches!(kind, Kind::Request(recorded) if fits(recorded, key));
        let alike = |kind: &Kind| matches!(kind, Kind::Request(recorded) if recorded.method == key.method);
        let end = self.entries.len();
        let mut found = self.find(end, exact);
        if found.is_none() && !self.knows(key) {
            found = self.find(end, alike);
        }
        let Some(found) = found else {
            let again = if self.entries.iter().any(|entry| alike(&entry.kind)) {
                "further "
            } else {
                ""
            };
            return vec![Action::Refuse {
                id,
                message: format!("the recording has no {again}{}", key.method),
            }];
        };
        let mut actions = Vec::new();
        for at in self.at..found {
            if self.states[at] == State::Open {
                self.states[at] = State::Void;
            }
            if matches!(self.entries[at].kind, Kind::Answered(..)) {
                actions.extend(self.line(at).map(|line| Action::Send { line, after: 0.0 }));
            }
        }
        self.at = found;
        self.states[found] = State::Seen(Some(id));
        self.advance(actions)
    }

    /// Marks a notification or response as seen, and the requests before it as not to come.
    fn arrived(&mut self, found: Option<usize>) -> Vec<Action> {
        let Some(found) = found else { return Vec::new() };
        for at in self.at..found {
            if self.states[at] == State::Open && matches!(self.entries[at].kind, Kind::Request(_)) {
                self.states[at] = State::Void;
            }
        }
        self.states[found] = State::Seen(None);
        self.advance(Vec::new())
    }

    /// Says everything up to the next message that has not come.
    fn advance(&mut self, mut actions: Vec<Action>) -> Vec<Action> {
        while let Some(entry) = self.entries.get(self.at) {
            let after = entry.after;
            match entry.kind {
                Kind::Request(_) | Kind::Notification(_) | Kind::Response(_) => {
                    if self.states[self.at] == State::Open {
                        break;
                    }
                }
                Kind::Said(_) | Kind::Answered(..) => {
                    actions.extend(self.line(self.at).map(|line| Action::Send { line, after }));
                }
            }
            self.at += 1;
        }
        actions
    }

    /// The agent's line at a place; none if it answers what this client did not ask.
    fn line(&mut self, at: usize) -> Option<String> {
        match &self.entries[at].kind {
            Kind::Said(line) => Some(line.clone()),
            Kind::Answered(request, head, tail) => match &mut self.states[*request] {
                State::Seen(id) => id.take().map(|id| format!("{head}{id}{tail}")),
                State::Open | State::Void => None,
            },
            _ => None,
        }
    }

    /// The next open entry of that kind, before `end`.
    fn find(&self, end: usize, is: impl Fn(&Kind) -> bool) -> Option<usize> {
        (self.at..end).find(|at| self.states[*at] == State::Open && is(&self.entries[*at].kind))
    }

    /// Up to where a notification may be looked for: the next request, or the end of what is being answered.
    fn horizon(&self) -> usize {
        let next = self.find(self.entries.len(), |kind| matches!(kind, Kind::Request(_)));
        next.unwrap_or(self.entries.len())
            .max(self.last_owed().unwrap_or(0))
    }

    fn last_owed(&self) -> Option<usize> {
        (self.at..self.entries.len())
            .rev()
            .find(|at| match self.entries[*at].kind {
                Kind::Answered(request, ..) => matches!(self.states[request], State::Seen(Some(_))),
                _ => false,
            })
    }

    /// Whether the recording has this key's session anywhere. A key without one names none that is strange.
    fn knows(&self, key: &Key) -> bool {
        key.session.is_some()
            && self.entries.iter().any(|entry| match &entry.kind {
                Kind::Request(recorded) | Kind::Notification(recorded) => recorded.session == key.session,
                _ => false,
            })
    }
}

/// Whether a real message may be a recorded one.
fn fits(recorded: &Key, real: &Key) -> bool {
    recorded.method == real.method && (recorded.session.is_none() || recorded.session == real.session)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording in short: `>m id [session]` the client asks, `!m [session]` it notifies, `=id` it answers,
    /// `<id` the agent answers, anything else is what it says.
    fn machine(script: &[&str]) -> Machine {
        let mut asked = std::collections::HashMap::new();
        let mut entries = Vec::new();
        for line in script {
            let words: Vec<&str> = line[1..].split(' ').collect();
            let key = |session: usize| Key {
                method: words[0].into(),
                session: words.get(session).map(|word| String::from(*word)),
            };
            let kind = match &line[..1] {
                ">" => {
                    asked.insert(words[1], entries.len());
                    Kind::Request(key(2))
                }
                "!" => Kind::Notification(key(1)),
                "=" => Kind::Response(words[0].into()),
                "<" => Kind::Answered(asked[words[0]], "answer ".into(), String::new()),
                _ => Kind::Said((*line).into()),
            };
            entries.push(Entry { after: 1.0, kind });
        }
        Machine::new(entries)
    }

    fn lines(actions: Vec<Action>) -> Vec<String> {
        actions
            .into_iter()
            .map(|action| match action {
                Action::Send { line, .. } => line,
                Action::Refuse { id, message } => format!("refuse {id}: {message}"),
            })
            .collect()
    }

    /// What the agent does about one message, in the same short form; here ids are the real ones.
    fn on(machine: &mut Machine, message: &str) -> Vec<String> {
        let words: Vec<&str> = message[1..].split(' ').collect();
        let key = |session: usize| Key {
            method: words[0].into(),
            session: words.get(session).map(|word| String::from(*word)),
        };
        let client = match &message[..1] {
            ">" => Client::Request {
                id: words[1].into(),
                key: key(2),
            },
            "!" => Client::Notification { key: key(1) },
            _ => Client::Response { id: words[0].into() },
        };
        lines(machine.handle(client))
    }

    #[test]
    fn a_conversation_as_recorded_with_other_ids() {
        let mut m = machine(&[
            "hello",
            ">init 0",
            "<0",
            ">prompt 1 s",
            "a",
            "ask",
            "=0",
            "b",
            "<1",
        ]);
        assert_eq!(lines(m.start()), ["hello"]);
        assert_eq!(on(&mut m, ">init \"x\""), ["answer \"x\""]);
        assert!(!m.owes());
        assert_eq!(on(&mut m, ">prompt 9 s"), ["a", "ask"]);
        assert!(m.owes());
        assert_eq!(on(&mut m, "=5"), [""; 0]);
        assert_eq!(on(&mut m, "=0"), ["b", "answer 9"]);
        assert_eq!(
            on(&mut m, ">prompt 10 s"),
            ["refuse 10: the recording has no further prompt"]
        );
        assert_eq!(on(&mut m, ">what 11"), ["refuse 11: the recording has no what"]);
    }

    #[test]
    fn a_request_skips_ahead_and_owes_nothing() {
        let mut m = machine(&[
            ">prompt 1 s",
            "a",
            "!cancel s",
            "b",
            "<1",
            ">mode 2 s",
            "c",
            "<2",
            ">prompt 3 s",
            "d",
            "<3",
        ]);
        assert_eq!(on(&mut m, ">prompt 1 s"), ["a"]);
        assert_eq!(on(&mut m, ">prompt 2 s"), ["answer 1", "d", "answer 2"]);
        assert!(!m.owes());
    }

    #[test]
    fn requests_are_told_apart_by_session() {
        let script = [
            ">prompt 1 no-such",
            "error",
            "<1",
            "!cancel no-such",
            ">prompt 2 s",
            "a",
            "<2",
        ];
        let mut m = machine(&script);
        assert_eq!(on(&mut m, ">prompt 1 s"), ["a", "answer 1"]);
        assert_eq!(
            on(&mut m, ">prompt 2 s"),
            ["refuse 2: the recording has no further prompt"]
        );
        let mut m = machine(&script);
        assert_eq!(on(&mut m, ">prompt 1 strange"), ["error", "answer 1"]);
    }

    #[test]
    fn a_notification_is_awaited_and_may_come_early() {
        let script = [
            ">prompt 1 s",
            "ask",
            "!cancel s",
            "=0",
            "a",
            "<1",
            ">prompt 2 s",
            "!cancel s",
            "<2",
        ];
        let mut m = machine(&script);
        assert_eq!(on(&mut m, "!cancel s"), [""; 0]);
        assert_eq!(on(&mut m, ">prompt 1 s"), ["ask"]);
        assert_eq!(on(&mut m, "=0"), [""; 0]);
        assert_eq!(on(&mut m, "!cancel other"), [""; 0]);
        assert_eq!(on(&mut m, "!cancel s"), ["a", "answer 1"]);
        // One too many must not count for the turn that follows.
        assert_eq!(on(&mut m, "!cancel s"), [""; 0]);
        assert_eq!(on(&mut m, ">prompt 2 s"), [""; 0]);
        assert_eq!(on(&mut m, "!cancel s"), ["answer 2"]);
    }

    #[test]
    fn a_request_that_never_comes_does_not_block_the_turn() {
        let script = [
            ">prompt 1 s",
            "a",
            ">prompt 2 s",
            "busy",
            "<2",
            "!cancel s",
            "b",
            "<1",
        ];
        let mut m = machine(&script);
        on(&mut m, ">prompt 1 s");
        assert_eq!(on(&mut m, "!cancel s"), ["busy", "b", "answer 1"]);
        let script = [">prompt 1 s", "ask", ">prompt 2 s", "<2", "=0", "<1"];
        let mut m = machine(&script);
        on(&mut m, ">prompt 1 s");
        assert_eq!(on(&mut m, "=0"), ["answer 1"]);
    }

    #[test]
    fn giving_up_goes_on_without_it() {
        let mut m = machine(&[">prompt 1 s", "a", "!cancel s", "b", "<1", ">prompt 2 s", "<2"]);
        on(&mut m, ">prompt 1 s");
        assert_eq!(lines(m.give_up()), ["b", "answer 1"]);
        assert!(!m.owes());
    }

    #[test]
    fn gaps_are_those_of_the_recording() {
        let mut m = machine(&[">prompt 1 s", "a", "<1"]);
        let actions = m.handle(Client::Request {
            id: "1".into(),
            key: Key {
                method: "prompt".into(),
                session: Some("s".into()),
            },
        });
        let gaps: f64 = actions
            .iter()
            .map(|a| {
                if let Action::Send { after, .. } = a {
                    *after
                } else {
                    0.0
                }
            })
            .sum();
        assert!((gaps - 2.0).abs() < 1e-9);
    }
}
