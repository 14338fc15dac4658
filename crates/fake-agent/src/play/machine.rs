//! The matching of a client's messages with the recorded ones: a state machine without IO or time.
//!
//! Its position in the recording is always a client message that has not arrived yet, or the end.
//!
//! - A **request** matches the next recorded one of the same method and session. The machine skips the entries between
//!   them, except responses that the client awaits. A session that the recording does not contain matches any session.
//! - A **notification** matches the next recorded one of the same method and session, unless a request that would start
//!   something new lies between. The machine ignores any other notification.
//! - A **response** matches the recorded one of the same id: the agent's requests have their recorded ids.
//! - Once a notification or response has arrived, the machine no longer waits for recorded requests before it: this client
//!   does not send them.

use super::recording::{Entry, Key, Kind};

/// A message of the client. Ids are JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// A request.
    Request {
        /// The request's id.
        id: String,
        /// The request's method and session.
        key: Key,
    },
    /// A notification.
    Notification {
        /// The notification's method and session.
        key: Key,
    },
    /// A response to a request of the agent.
    Response {
        /// The id of the agent's request.
        id: String,
    },
}

/// An action of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Write a line.
    Send {
        /// The line, without its newline.
        line: String,
        /// Seconds to wait before it, at recorded speed.
        after: f64,
    },
    /// Respond with a "method not found" error.
    Refuse {
        /// The id of the client's request.
        id: String,
        /// The error message.
        message: String,
    },
}

/// The state of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// Not arrived or sent yet.
    Open,
    /// Arrived. A request keeps its real id until the agent responds.
    Seen(Option<String>),
    /// Skipped: the machine no longer waits for it.
    Void,
}

/// The state machine; see the module documentation.
#[derive(Debug)]
pub struct Machine {
    entries: Vec<Entry>,
    states: Vec<State>,
    at: usize,
}

impl Machine {
    /// Starts at the beginning of a recording.
    pub fn new(entries: Vec<Entry>) -> Self {
        let states = vec![State::Open; entries.len()];
        Self {
            entries,
            states,
            at: 0,
        }
    }

    /// Returns the agent's lines before the first client message.
    pub fn start(&mut self) -> Vec<Action> {
        self.advance(Vec::new())
    }

    /// Handles one message of the client.
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

    /// Returns whether the client awaits a response that follows later in the recording.
    pub fn owes(&self) -> bool {
        self.last_owed().is_some()
    }

    /// Skips the awaited message.
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

    /// Marks a notification or response as arrived, and skips the open requests before it.
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

    /// Adds the agent's lines up to the next client message that has not arrived.
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

    /// Returns the agent's line at a position; `None` for a response to a request that this client did not send.
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

    /// Returns the position of the next open entry of a kind, before `end`.
    fn find(&self, end: usize, is: impl Fn(&Kind) -> bool) -> Option<usize> {
        (self.at..end).find(|at| self.states[*at] == State::Open && is(&self.entries[*at].kind))
    }

    /// Returns the position up to which a notification may match: the next request, or the last awaited response.
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

    /// Returns whether the recording contains the key's session; `false` for a key without one.
    fn knows(&self, key: &Key) -> bool {
        key.session.is_some()
            && self.entries.iter().any(|entry| match &entry.kind {
                Kind::Request(recorded) | Kind::Notification(recorded) => recorded.session == key.session,
                _ => false,
            })
    }
}

/// Returns whether a real message matches a recorded one.
fn fits(recorded: &Key, real: &Key) -> bool {
    recorded.method == real.method && (recorded.session.is_none() || recorded.session == real.session)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a recording from short forms: `>m id [session]` is a client request, `!m [session]` a notification, `=id`
    /// a client response, `<id` an agent response. Anything else is a line of the agent.
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

    /// Returns the agent's lines after one message, which has the same short form with real ids.
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
    fn requests_are_distinguished_by_session() {
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
        // A surplus cancel must not count for the next turn.
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
    fn playback_continues_after_giving_up() {
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
