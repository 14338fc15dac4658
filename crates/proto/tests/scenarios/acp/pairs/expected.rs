//! What an editor of a pair shows after a scene: all of it, but for the losses that the documents list. Each place that asks for a loss is
//! one that is permitted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::act::{Act, Asked, KINDS, Options, Version};
use super::told::{Entry, Piece, Question, Role, Told, UNNAMED};

/// A version of the agent, and one of the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub agent: Version,
    pub editor: Version,
}

/// All pairs.
pub const PAIRS: [Pair; 4] = {
    use Version::{One, Two};
    [
        Pair {
            agent: One,
            editor: One,
        },
        Pair {
            agent: One,
            editor: Two,
        },
        Pair {
            agent: Two,
            editor: One,
        },
        Pair {
            agent: Two,
            editor: Two,
        },
    ]
};

/// Something that a pair cannot carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// The states of the foreground.
    States,
    /// The exit of a terminal of acpd.
    AcpdsTerminal,
    MessageId,
    FileChange,
    MoveOrDeletion,
    SessionLink,
    StopReason,
    OpenCall,
    AgentsTerminal,
    Patch,
    Revision,
    CallStatus,
    EarlierStatus,
    ClearedInput,
    StepStatus,
    Question,
    Background,
    OddOption,
}

impl Loss {
    /// Returns whether a pair has the loss.
    fn is_of(self, pair: Pair) -> bool {
        let Pair { agent, editor } = pair;
        match self {
            Self::States | Self::OpenCall => editor == Version::One,
            Self::AcpdsTerminal => (agent, editor) == (Version::One, Version::One),
            Self::MessageId | Self::FileChange => (agent, editor) == (Version::One, Version::Two),
            Self::SessionLink => true,
            // What an agent of version 2 sent is returned to editors of version 2.
            Self::MoveOrDeletion | Self::StopReason => (agent, editor) != (Version::Two, Version::Two),
            Self::OddOption => agent == Version::Two,
            Self::AgentsTerminal
            | Self::Patch
            | Self::Revision
            | Self::CallStatus
            | Self::EarlierStatus
            | Self::ClearedInput
            | Self::StepStatus
            | Self::Question
            | Self::Background => (agent, editor) == (Version::Two, Version::One),
        }
    }
}

/// What the editor shows, as far as the scene has been played.
pub struct Expected {
    pair: Pair,
    told: Told,
    /// What was lost.
    pub lost: BTreeSet<Loss>,
    terminals: BTreeMap<&'static str, (Vec<u8>, Option<i64>)>,
    runs: bool,
    queue: VecDeque<String>,
    is_cancelled: bool,
    /// Whether a process has ended, and its terminals with it.
    has_died: bool,
    /// Whether the agent works in the background.
    works_beside: bool,
    /// The number of open questions.
    open: usize,
    /// The calls about which a question was answered, and whether the answer was yes.
    answered: BTreeMap<String, bool>,
    /// The number of questions without a call.
    invented: usize,
    pub options: Options,
    /// What the agent has received.
    pub heard: Vec<String>,
}

impl Expected {
    pub fn new(pair: Pair, options: Options) -> Self {
        Self {
            pair,
            told: Told::default(),
            lost: BTreeSet::new(),
            terminals: BTreeMap::new(),
            runs: false,
            queue: VecDeque::new(),
            is_cancelled: false,
            has_died: false,
            works_beside: false,
            open: 0,
            answered: BTreeMap::new(),
            invented: 0,
            options,
            heard: Vec::new(),
        }
    }

    fn loses(&mut self, loss: Loss) -> bool {
        let loses = loss.is_of(self.pair);
        if loses {
            self.lost.insert(loss);
        }
        loses
    }

    /// Returns what is shown now.
    pub fn shown(&mut self) -> Told {
        let mut told = self.told.clone();
        told.options = self
            .options
            .iter()
            .map(|(id, value)| ((*id).to_owned(), (*value).to_owned()))
            .collect();
        if self.loses(Loss::States) {
            told.states.clear();
        }
        let terminals = self.terminals.clone();
        let (mut ran, closed) = (false, self.has_died);
        let (of_acpd, of_agent) = (
            Loss::AcpdsTerminal.is_of(self.pair),
            Loss::AgentsTerminal.is_of(self.pair),
        );
        told.change_pieces(&mut |piece| {
            let Piece::Terminal(id) = piece else {
                return Some(piece);
            };
            ran = true;
            let (output, exit) = terminals[&*id].clone();
            let output = String::from_utf8_lossy(&output).into_owned();
            if of_agent {
                let fenced = (!output.is_empty()).then(|| format!("```\n{}\n```", output.trim_end()));
                let exit = exit
                    .filter(|code| *code != 0)
                    .map(|code| format!("Exit code {code}"));
                let parts: Vec<String> = fenced.into_iter().chain(exit).collect();
                return (!parts.is_empty()).then(|| Piece::Text(parts.join("\n\n")));
            }
            if of_acpd {
                // The output comes with the end of the command.
                let has_ended = exit.is_some() || closed;
                return Some(Piece::Text(if has_ended { output } else { String::new() }));
            }
            Some(Piece::Ran(output, exit))
        });
        if ran {
            self.loses(Loss::AcpdsTerminal);
            self.loses(Loss::AgentsTerminal);
        }
        told
    }

    /// Returns the output of a terminal, and its exit.
    pub fn output(&self, id: &str) -> (String, Option<i64>) {
        let (output, exit) = &self.terminals[id];
        (String::from_utf8_lossy(output).into_owned(), *exit)
    }

    fn state(&mut self) {
        let state = match (self.runs, self.open) {
            (false, _) => "idle",
            (true, 0) => "running",
            (true, _) => "requires_action",
        };
        let last = self.told.states.last().map_or("idle", String::as_str);
        if last != state {
            self.told.states.push(state.to_owned());
        }
    }

    /// A list of work in the background is in a report of the state, which is the same.
    fn repeats_state(&mut self) {
        let state = self.told.states.last().cloned();
        self.told.states.push(state.unwrap_or_else(|| "idle".to_owned()));
    }

    fn begins(&mut self, text: &str) {
        self.runs = true;
        self.is_cancelled = false;
        self.state();
        self.told.add_prompt(text);
        self.heard.push(format!("prompt {text}"));
    }

    fn ends(&mut self, reason: &str) {
        // A turn ends when nothing is asked any more.
        let dismissed = std::iter::repeat_n("answer dismissed".to_owned(), self.open);
        self.heard.extend(dismissed);
        self.withdraws();
        self.state();
        self.runs = false;
        self.told.stops.push(reason.to_owned());
        self.state();
        self.closes_calls(reason);
        if let Some(next) = self.queue.pop_front() {
            self.begins(&next);
        }
    }

    /// Ends the calls whose end the agent has not reported, as far as the end of the turn says how.
    fn closes_calls(&mut self, reason: &str) {
        let is_open = |status: &str| !matches!(status, "completed" | "failed" | "cancelled");
        let calls = self
            .told
            .lanes
            .values()
            .flatten()
            .filter_map(|entry| match entry {
                Entry::Call(call) if is_open(&call.status) => Some(call.id.clone()),
                _ => None,
            });
        let open: BTreeSet<String> = calls.collect();
        let lost = match reason {
            "cancelled" if open.is_empty() || self.loses(Loss::OpenCall) => Some("failed"),
            "cancelled" => Some("cancelled"),
            "error" => Some("failed"),
            _ => None,
        };
        for entry in self.told.lanes.values_mut().flatten() {
            let Entry::Call(call) = entry else { continue };
            let of_answer = match self.answered.get(&call.id) {
                Some(false) => Some("failed"),
                // Nobody reports the end of a call that is only a question.
                Some(true) if call.id.starts_with("acpd:question:") => Some("completed"),
                _ => None,
            };
            if let Some(status) = lost.or(of_answer).filter(|_| open.contains(&call.id)) {
                status.clone_into(&mut call.status);
            }
        }
    }

    fn withdraws(&mut self) {
        self.open = 0;
        for question in &mut self.told.questions {
            if question.outcome == "open" {
                "withdrawn".clone_into(&mut question.outcome);
            }
        }
    }

    fn answered(&mut self, outcome: &str) {
        let question = self
            .told
            .questions
            .iter_mut()
            .find(|question| question.outcome == "open");
        let question = question.unwrap();
        outcome.clone_into(&mut question.outcome);
        self.answered
            .insert(question.about.clone(), outcome.starts_with("allow"));
        self.open -= 1;
        self.heard.push(format!("answer {outcome}"));
        self.state();
    }

    fn asks(&mut self, about: &str, options: &[&str]) {
        self.open += 1;
        self.told.questions.push(Question {
            about: about.to_owned(),
            options: options.iter().map(|kind| (*kind).to_owned()).collect(),
            outcome: "open".to_owned(),
        });
        self.state();
    }

    /// Plays an act.
    pub fn play(&mut self, act: &Act) {
        match act {
            Act::EditorPrompts(text) if self.runs => self.queue.push_back(text.clone()),
            Act::EditorPrompts(text) => self.begins(text),
            Act::EditorCancels => {
                self.told.dropped += self.queue.len();
                self.queue.clear();
                for _ in 0..self.open {
                    self.heard.push("answer dismissed".to_owned());
                }
                self.heard.push("cancel".to_owned());
                self.withdraws();
                self.state();
                self.is_cancelled = true;
            }
            Act::EditorPicks(kind) => self.answered(kind.unwrap_or("dismissed")),
            Act::EditorFills(content) => {
                let outcome = content
                    .as_ref()
                    .map_or_else(|| "declined".to_owned(), ToString::to_string);
                self.answered(&outcome);
            }
            Act::EditorSets(id, value) => {
                self.set(id, value);
                self.heard.push(format!("option {id} {value}"));
            }
            Act::Says {
                lane,
                role,
                id,
                piece,
            } => {
                if id.is_none() && self.loses(Loss::MessageId) {
                    return self.told.add(lane, *role, Some(UNNAMED), piece.clone());
                }
                self.told.add(lane, *role, id.as_deref(), piece.clone());
            }
            Act::Revises(id, text) => {
                assert_eq!(self.pair.agent, Version::Two, "no agent of version 1 revises");
                let piece = Piece::Text((*text).to_owned());
                if self.loses(Loss::Revision) {
                    let id = format!("{id}~acpd:1");
                    return self.told.add("", Role::Agent, Some(&id), piece);
                }
                self.told.replace("", Role::Agent, Some(id), vec![piece]);
            }
            Act::Calls {
                lane,
                id,
                members,
                pieces,
            } => self.calls(lane, id, members, pieces.as_deref()),
            Act::Adds(id, piece) => {
                let pieces = self.pieces(std::slice::from_ref(piece));
                self.told.call("", id).pieces.extend(pieces);
            }
            Act::Asks(Asked::Call(id)) => self.asks(id, &KINDS),
            Act::Asks(asked) => {
                assert_eq!(self.pair.agent, Version::Two, "no agent of version 1 asks this");
                if !self.loses(Loss::Question) {
                    return self.asks("", &KINDS);
                }
                self.invented += 1;
                let id = format!("acpd:question:{}", self.invented);
                let call = self.told.call("", &id);
                if let Asked::Command(line) = asked {
                    (*line).clone_into(&mut call.title);
                    "execute".clone_into(&mut call.kind);
                    call.input = serde_json::json!({ "command": line, "cwd": "/workspace" });
                } else {
                    "May it?".clone_into(&mut call.title);
                }
                self.asks(&id, &KINDS);
            }
            Act::AsksForm(message) => self.asks(message, &[]),
            Act::Runs(id, _) => drop(self.terminals.insert(*id, (Vec::new(), None))),
            Act::Prints(id, bytes) => self.terminals.get_mut(id).unwrap().0.extend(bytes),
            Act::Exits(id, code) => self.terminals.get_mut(id).unwrap().1 = Some(*code),
            Act::Plans(id, steps) => {
                let mut shown = Vec::new();
                for (text, status) in steps {
                    let status = match *status {
                        "cancelled" if self.loses(Loss::StepStatus) => "completed",
                        status if status.starts_with('_') && self.loses(Loss::StepStatus) => "pending",
                        status => status,
                    };
                    shown.push(((*text).to_owned(), status.to_owned()));
                }
                self.told.plans.insert(id.unwrap_or("plan").to_owned(), shown);
            }
            Act::Drops(id) => drop(self.told.plans.remove(*id)),
            Act::Changes(id, value) => self.set(id, value),
            Act::OffersOdd => assert!(self.loses(Loss::OddOption)),
            Act::HasCommands(commands, skills) => {
                let all = commands.iter().chain(skills);
                self.told.commands = all.map(|name| (*name).to_owned()).collect();
            }
            Act::HasTitle(title) => self.told.title = Some((*title).to_owned()),
            Act::Uses(used) => self.told.used = Some(*used),
            Act::Warns(title) => self.told.notices.push((*title).to_owned()),
            Act::Compacts(id, status) => {
                self.told
                    .compactions
                    .insert((*id).to_owned(), (*status).to_owned());
            }
            Act::Delegates(_, title, state) => {
                let state = ((*title).to_owned(), (*state).to_owned());
                self.told.subagents.insert("lane_1".to_owned(), state);
            }
            Act::WorksBeside if self.loses(Loss::Background) => {}
            Act::WorksBeside => {
                self.works_beside = true;
                self.repeats_state();
            }
            Act::Ends(reason) => {
                let is_known = !reason.starts_with('_');
                let reason = if !is_known && self.loses(Loss::StopReason) {
                    "end_turn"
                } else {
                    *reason
                };
                self.ends(reason);
            }
            Act::Fails(_) => self.ends("error"),
            Act::Dies => {
                self.told.notices.push("killed by signal 9".to_owned());
                self.has_died = true;
                if std::mem::take(&mut self.works_beside) {
                    self.repeats_state();
                }
                // A process that has ended receives nothing.
                self.withdraws();
                if self.runs {
                    self.ends(if self.is_cancelled { "cancelled" } else { "error" });
                }
            }
        }
    }

    fn set(&mut self, id: &'static str, value: &'static str) {
        for (known, now) in &mut self.options {
            if *known == id {
                *now = value;
            }
        }
    }

    fn calls(&mut self, lane: &str, id: &str, members: &serde_json::Value, pieces: Option<&[Piece]>) {
        let pieces = pieces.map(|pieces| self.pieces(pieces));
        let two = self.pair.agent == Version::Two;
        let status = members["status"].as_str();
        let order = |status: &str| {
            ["pending", "in_progress", "completed", "failed"]
                .iter()
                .position(|known| *known == status)
        };
        let mut status = status.map(|status| match status {
            "cancelled" if self.loses(Loss::CallStatus) => "failed",
            status if order(status).is_none() && self.loses(Loss::CallStatus) => "in_progress",
            status => status,
        });
        let before = order(&self.told.call(lane, id).status);
        if let Some(new) = status
            && order(new) < before
            && self.loses(Loss::EarlierStatus)
        {
            status = None;
        }
        let clears = two
            && ["rawInput", "rawOutput"]
                .iter()
                .any(|name| members.get(name).is_some_and(serde_json::Value::is_null));
        let keeps = clears && self.loses(Loss::ClearedInput);
        let untitled = if self.pair.editor == Version::Two {
            ""
        } else {
            "Tool call"
        };
        let call = self.told.call(lane, id);
        if let Some(status) = status {
            status.clone_into(&mut call.status);
        }
        for (name, value) in members.as_object().unwrap() {
            if value.is_null() && (!two || keeps && name.starts_with("raw")) {
                continue;
            }
            match name.as_str() {
                "title" => value.as_str().unwrap_or(untitled).clone_into(&mut call.title),
                "kind" => value.as_str().unwrap_or("other").clone_into(&mut call.kind),
                "rawInput" => call.input = value.clone(),
                "rawOutput" => call.output = value.clone(),
                _ => {}
            }
        }
        if let Some(pieces) = pieces {
            call.pieces = pieces;
        }
    }

    /// Returns the pieces as the editor shows them.
    fn pieces(&mut self, pieces: &[Piece]) -> Vec<Piece> {
        let two = self.pair.agent == Version::Two;
        let mut shown = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Linked(_) if self.loses(Loss::SessionLink) => {}
                Piece::Moved(from, to) if self.loses(Loss::MoveOrDeletion) => {
                    if two {
                        self.loses(Loss::Patch);
                        shown.push(Piece::Text(format!("Moved {from} to {to}")));
                    } else {
                        self.modified(&mut shown, from, &[("x\n".to_owned(), String::new())]);
                        shown.push(Piece::Added(to.clone(), "x\n".to_owned()));
                    }
                }
                Piece::Deleted(path, text) if self.loses(Loss::MoveOrDeletion) => {
                    self.modified(&mut shown, path, &[(text.clone(), String::new())]);
                }
                Piece::Modified(path, lines) => {
                    if two && lines.len() > 1 {
                        self.loses(Loss::Patch);
                    }
                    self.modified(&mut shown, path, lines);
                }
                piece => shown.push(piece.clone()),
            }
        }
        shown
    }

    fn modified(&mut self, shown: &mut Vec<Piece>, path: &str, lines: &[(String, String)]) {
        let Pair { agent, editor } = self.pair;
        if (agent, editor) == (Version::Two, Version::Two) {
            return shown.push(Piece::Modified(path.to_owned(), lines.to_vec()));
        }
        for lines in lines {
            if self.loses(Loss::FileChange) {
                shown.extend([Piece::Changed(path.to_owned()), Piece::Lines]);
            } else {
                shown.push(Piece::Modified(path.to_owned(), vec![lines.clone()]));
            }
        }
    }
}
