//! Replays one session of a recording: the agent's lines unchanged, and the client's lines as commands.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use acpd_model::limits::RESTART_MILLIS_MAX;
use acpd_model::{ErrorCode, Failure, PreviousContent, RawJson, TurnId};
use acpd_proto::projection::Spec;
use acpd_proto::thread::{Answer, HostReply, Input};
use serde_json::Value;

use super::client::wake;
use super::recording::{Line, Recording};
use super::scene::Scene;

/// A session of a recording, across all of its processes.
pub struct Conversation {
    /// The agent's id of the session.
    pub session: String,
    /// The indexes of the lines that opened the session, one for each process.
    pub openings: Vec<usize>,
    /// Whether lines about unopened sessions belong to this session, because it is the first of its process.
    pub takes_strays: bool,
}

/// Returns the sessions of a recording, in the order of their creation.
pub fn conversations(recording: &Recording) -> Vec<Conversation> {
    let mut found: Vec<Conversation> = Vec::new();
    let mut processes = BTreeSet::new();
    for (at, line) in recording.lines.iter().enumerate() {
        match line.method().filter(|_| !line.from_agent) {
            Some("session/new") => {
                let answer = recording
                    .answer_to(at)
                    .map(|answer| &recording.lines[answer].json);
                let Some(session) = answer.and_then(|json| json["result"]["sessionId"].as_str()) else {
                    continue;
                };
                found.push(Conversation {
                    session: session.to_owned(),
                    openings: vec![at],
                    takes_strays: processes.insert(line.process),
                });
            }
            Some("session/load" | "session/resume") => {
                let known = found
                    .iter_mut()
                    .find(|known| Some(known.session.as_str()) == line.session());
                // Recordings also contain requests for sessions that do not exist. No thread has these.
                let Some(known) = known else { continue };
                let last = recording.lines[*known.openings.last().unwrap()].process;
                if last != line.process {
                    processes.insert(line.process);
                    known.openings.push(at);
                }
            }
            _ => {}
        }
    }
    found
}

/// A request of the agent without a response of the recording's client.
enum Asked {
    Person(u32),
    Host(u64),
    Nobody,
}

/// The replay of a conversation.
pub struct Replay<'r> {
    recording: &'r Recording,
    conversation: &'r Conversation,
    /// All sessions that the client opened.
    opened: BTreeSet<&'r str>,
    pub scene: Scene,
    /// The time of the first line of the conversation.
    beginning: Duration,
    /// The lines that were not replayed, by kind and number.
    pub left_out: BTreeMap<String, usize>,
    /// The recording's prompts of the current process by id, and our turns for them.
    turns: BTreeMap<String, TurnId>,
    /// Responses that the recording contains before our request. The daemon never sends a second prompt during a turn.
    early: BTreeMap<TurnId, &'r Line>,
    asked: BTreeMap<String, Asked>,
}

impl<'r> Replay<'r> {
    /// Replays all of `conversation`.
    pub fn play(
        recording: &'r Recording,
        all: &'r [Conversation],
        conversation: &'r Conversation,
        scene: Scene,
    ) -> Self {
        let mut replay = Self {
            recording,
            conversation,
            opened: all.iter().map(|one| one.session.as_str()).collect(),
            beginning: scene.now.mono,
            scene,
            left_out: BTreeMap::new(),
            turns: BTreeMap::new(),
            early: BTreeMap::new(),
            asked: BTreeMap::new(),
        };
        let first = recording.lines[conversation.openings[0]].at;
        for opening in &conversation.openings {
            replay.process(*opening, first);
        }
        replay
    }

    fn process(&mut self, opening: usize, first: Duration) {
        let request = &self.recording.lines[opening];
        let beginning = self.beginning;
        self.scene.until(beginning + request.at.saturating_sub(first));
        self.turns.clear();
        self.early.clear();
        self.asked.clear();
        if self.scene.log.is_empty() {
            let cwd = request.json["params"]["cwd"].as_str().unwrap().to_owned();
            self.scene.create_as(Spec {
                agent: "recorded".into(),
                cwd,
                ..Spec::default()
            });
        } else {
            self.scene.ask(wake()).unwrap();
            // The daemon delays the restart of an agent that failed before.
            if self.scene.agent.is_none() {
                self.scene.later(RESTART_MILLIS_MAX);
            }
        }
        if self.open(opening) {
            for line in &self.recording.lines[opening + 1..] {
                if line.process == request.process {
                    self.scene.until(beginning + line.at.saturating_sub(first));
                    self.line(line, opening);
                    self.answer_early();
                }
            }
        }
        self.scene.exits("exit status 0");
    }

    /// Opens the session as in the recording. Requests without a recorded response fail.
    fn open(&mut self, opening: usize) -> bool {
        let request = &self.recording.lines[opening];
        let hello = self
            .recording
            .lines
            .iter()
            .position(|line| line.process == request.process && line.method() == Some("initialize"));
        let answer = self.recording.answer_to(hello.unwrap()).unwrap();
        self.says_under(
            self.scene.open_request("initialize"),
            &self.recording.lines[answer],
        );
        loop {
            let ways = ["session/resume", "session/load", "session/new"];
            let Some(way) = ways.into_iter().find(|way| self.scene.awaits(way)) else {
                return false;
            };
            if request.method() == Some(way) {
                return true;
            }
            self.scene.refuse(way, -32601, "not in this recording");
        }
    }

    fn line(&mut self, line: &'r Line, opening: usize) {
        match (line.from_agent, line.method()) {
            (true, Some(method)) => {
                let ours = match line.session() {
                    Some(session) => {
                        session == self.conversation.session
                            || self.conversation.takes_strays && !self.opened.contains(session)
                    }
                    None => true,
                };
                if ours {
                    self.agent_says(line, method);
                }
            }
            (true, None) => self.agent_answers(line, opening),
            (false, Some(method)) => self.client_says(line, method),
            (false, None) => self.client_answers(line),
        }
    }

    fn agent_says(&mut self, line: &Line, method: &str) {
        let before = self.scene.thread.live().last_request;
        let waiting = self.scene.waiting.len();
        self.scene.says(&line.text);
        if line.is_request() {
            let asked = if self.scene.thread.live().last_request > before {
                Asked::Person(before + 1)
            } else if self.scene.waiting.len() > waiting {
                Asked::Host(self.scene.waiting[waiting].0)
            } else {
                self.leave_out(&format!("the client's answer to {method}"));
                Asked::Nobody
            };
            self.asked.insert(line.json["id"].to_string(), asked);
        }
    }

    fn agent_answers(&mut self, line: &'r Line, opening: usize) {
        if line.json["id"].is_null() {
            return self.scene.says(&line.text);
        }
        let asks = |asking: &&Line| {
            !asking.from_agent && asking.process == line.process && asking.json["id"] == line.json["id"]
        };
        let asking = self.recording.lines.iter().find(asks).unwrap();
        if asking.json["id"] == self.recording.lines[opening].json["id"] {
            let id = self.scene.open_request(asking.method().unwrap());
            return self.says_under(id, line);
        }
        if asking.session() == Some(self.conversation.session.as_str())
            && asking.method() == Some("session/prompt")
            && let Some(turn) = self.turns.get(&line.json["id"].to_string())
        {
            self.early.insert(*turn, line);
        }
    }

    /// Delivers the early responses to prompts that were sent.
    fn answer_early(&mut self) {
        while let Some((id, turn)) = self.scene.open_prompt() {
            let Some(line) = self.early.remove(&turn) else {
                return;
            };
            self.says_under(id, line);
        }
    }

    fn says_under(&mut self, id: u64, line: &Line) {
        self.scene.says_answer(id, &line.with_id(id));
    }

    fn client_says(&mut self, line: &Line, method: &str) {
        let ours = line.session() == Some(self.conversation.session.as_str());
        match method {
            "session/prompt" if ours => {
                let prompt: Prompt = serde_json::from_str(&line.text).unwrap();
                let view = self.scene.start_turn(prompt.params.prompt, None).unwrap();
                self.turns.insert(line.json["id"].to_string(), view.id);
            }
            "session/cancel" if ours => self.cancel(),
            _ if ours => self.leave_out(method),
            _ => {}
        }
    }

    fn cancel(&mut self) {
        if self.scene.interrupt_turn(None).is_err() {
            self.leave_out("a cancel between turns");
        }
    }

    fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_owned()).or_default() += 1;
    }

    fn client_answers(&mut self, line: &Line) {
        match self.asked.remove(&line.json["id"].to_string()) {
            Some(Asked::Person(number)) => self.decide(number, &line.json["result"]["outcome"]),
            Some(Asked::Host(call)) => self.machine_answers(call, &line.json),
            Some(Asked::Nobody) | None => {}
        }
    }

    fn decide(&mut self, number: u32, outcome: &Value) {
        let answer = match outcome["optionId"].as_str() {
            Some(option) => Answer::Option(option.into()),
            None => Answer::Cancel,
        };
        let cancelled = answer == Answer::Cancel;
        match self.scene.decide(number, answer) {
            Ok(()) => {}
            // The daemon cancels requests when a turn is interrupted. The recording's client did so a moment later.
            Err(failure) if failure.code == ErrorCode::AlreadyResolved && cancelled => {}
            Err(failure) => panic!("{failure}"),
        }
    }

    fn machine_answers(&mut self, call: u64, answer: &Value) {
        let at = self
            .scene
            .waiting
            .iter()
            .position(|(waiting, _)| *waiting == call);
        // The agent may have continued without the response.
        let Some(at) = at else { return };
        self.scene.waiting.remove(at);
        let result = match (answer.get("error"), answer["result"]["content"].as_str()) {
            (Some(error), _) => {
                let message = error["message"].as_str().unwrap_or_default();
                Err(Failure::new(ErrorCode::NotFound, message))
            }
            (None, Some(content)) => Ok(HostReply::Read {
                content: content.to_owned(),
            }),
            (None, None) => Ok(HostReply::Written {
                old: PreviousContent::Nothing,
            }),
        };
        self.scene.handle(Input::Host { call, result });
    }
}

#[derive(serde::Deserialize)]
struct Prompt {
    params: PromptParams,
}

#[derive(serde::Deserialize)]
struct PromptParams {
    prompt: Vec<RawJson>,
}
