//! One session that a connection has open.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use acpd_model::event::{Binding, LeaseHolder};
use acpd_model::{LaneId, RawJson, RequestId, Seq, ThreadId};
use bytes::Bytes;
use serde_json::{Value, json};

use super::cursors::Cursors;
use super::delegated::QueuedRequest;
use super::foreground::Foreground;
use super::frame::{QuestionKind, Setting};
use super::handshake::with_acpd;
use super::terminals::Terminals;
use super::v2::options;
use crate::agent::ConfigValue;
use crate::projection::{LEGACY_MODE, LEGACY_MODEL, Live, Options, SessionState, has_options};
use crate::surface::contract::OpenRequest;
use crate::wire::{member, object, spliced};

/// The way to open a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// The session is new: the response is the agent's. Messages that the agent sent before it follow the response.
    New,
    /// The whole history is sent, then the response.
    Load,
    /// The session continues from its current state, without history.
    Resume,
}

/// A thread at the time when the connection opened it.
#[derive(Debug)]
pub(super) struct Opened {
    pub thread: ThreadId,
    /// The latest event at that time.
    pub until: Seq,
    /// The modes, models and options of the session.
    pub state: RawJson,
    /// The highest terminal number so far.
    pub last_terminal: u64,
    pub lease: Option<LeaseHolder>,
    /// Updates that an editor receives after it opens the session without history: `update` objects, such as the
    /// commands.
    pub updates: Vec<RawJson>,
    /// The names of the subagents.
    pub subagents: BTreeMap<LaneId, Box<str>>,
    /// What announces the subagents to an editor that knows none of them: updates, each with its session.
    pub announced: Vec<(String, RawJson)>,
    /// What the agent does at that time.
    pub foreground: Foreground,
}

impl From<&Live> for Opened {
    fn from(live: &Live) -> Self {
        Self {
            thread: live.thread,
            until: live.last_seq,
            state: session_state(live),
            last_terminal: live.last_terminal,
            lease: live.lease.clone(),
            updates: live.commands.iter().cloned().collect(),
            subagents: live
                .lanes
                .all()
                .filter_map(|(lane, subagent)| Some((*lane, subagent.title.as_deref()?.into())))
                .collect(),
            announced: Vec::new(),
            foreground: Foreground::from(live),
        }
    }
}

/// A request to open a session that has no response yet.
#[derive(Debug)]
pub(super) struct Opening {
    pub request: OpenRequest,
    pub mode: OpenMode,
    pub opened: Opened,
    /// Messages to send after the response; questions have their ids.
    pub queued: Vec<(Option<RequestId>, Bytes)>,
}

/// One session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub opening: Option<Opening>,
    /// Whether the response for the new session was sent before the agent opened it, because the agent asks something first.
    pub opened_early: bool,
    /// What the agent has offered after that response. Editors of version 2 have modes and models only as options, so that theirs
    /// always has it.
    pub late: Option<Box<LateState>>,
    /// Questions that were sent on this connection and not answered on it.
    pub asked: BTreeMap<RequestId, QuestionKind>,
    /// Whether the agent waits for a user to sign in.
    pub wants_sign_in: bool,
    /// The latest event at the time when the session was opened.
    pub since: Seq,
    /// The last event that the editor has received.
    pub received: Seq,
    /// Requests of the agent to its client, each with the event that the editor must receive before.
    pub queued: VecDeque<QueuedRequest>,
    /// The names of the subagents.
    pub subagents: BTreeMap<LaneId, Box<str>>,
    /// Terminals that the editor did not create.
    pub shown: Terminals,
    /// Terminals that the editor created: the daemon's ids and the editor's.
    pub terminals: VecDeque<(String, String)>,
    /// The cursors that the editor has.
    pub cursors: Cursors,
    /// What an editor of version 2 knows of the agent's work.
    pub foreground: Foreground,
    /// Messages and tool calls that were emptied for the history that an editor of version 2 loads, by the hashes of their names.
    pub cleared: BTreeSet<u64>,
}

/// The modes, models and options of a session that came after its response. ACP has no update for the first two, so that
/// options represent them.
#[derive(Debug, Default)]
pub(super) struct LateState {
    state: SessionState,
    mode: Option<String>,
    model: Option<String>,
    /// Whether the editor has no list of the options with which the agent has opened the session.
    is_first: bool,
    /// Whether a setting has changed since the last list.
    is_touched: bool,
    /// Whether the editor receives the list for every change, because it has none of the agent's own updates.
    is_only_list: bool,
    /// Whether the editor's last list has an option.
    has_some: bool,
    reports: Reports,
}

/// How often the agent has reported the value of each setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reports {
    mode: u64,
    model: u64,
    options: u64,
}

impl LateState {
    /// Takes the state of a session that an earlier connection of the editor had opened early.
    pub fn resumed(state: &RawJson) -> Self {
        let mut late = Self::default();
        late.bind(Binding::New, state);
        late
    }

    /// Takes the state of a session that an editor of version 2 opens. It has the list in the response.
    pub fn of_version_2(state: &RawJson) -> Self {
        Self {
            is_first: false,
            is_only_list: true,
            ..Self::resumed(state)
        }
    }

    /// Records that the editor has the list.
    pub fn has_list(&mut self) {
        (self.is_first, self.is_touched) = (false, false);
        self.has_some = !self.options().to_list().is_empty();
    }

    /// Returns whether this list tells the editor something, and records that the editor has it.
    pub fn shows(&mut self, list: &[RawJson]) -> bool {
        let had_some = std::mem::replace(&mut self.has_some, !list.is_empty());
        had_some || self.has_some
    }

    /// Returns how often the agent has reported the value of an option.
    pub fn reports(&self, id: &str) -> u64 {
        match id {
            LEGACY_MODE => self.reports.mode,
            LEGACY_MODEL => self.reports.model,
            _ => self.reports.options,
        }
    }

    /// Records an option that the editor has set, with the agent's result. What the agent has reported since `before`, the number of its
    /// reports when the editor set the option, is newer.
    pub fn set(&mut self, id: &str, value: &ConfigValue, result: &RawJson, before: u64) {
        if self.reports(id) != before {
            return;
        }
        match (id, value) {
            (LEGACY_MODE, ConfigValue::Id(mode)) => self.mode = Some(mode.clone()),
            (LEGACY_MODEL, ConfigValue::Id(model)) => self.model = Some(model.clone()),
            _ if has_options(result) => {
                self.state.config_options = member(result, "configOptions").map(RawJson::trusted);
            }
            _ => {}
        }
    }

    /// Takes the state of the session from the agent's result. A session that the agent continues, such as after it started again, keeps
    /// what the result does not name.
    pub fn bind(&mut self, how: Binding, bound: &RawJson) {
        if how == Binding::New {
            *self = Self {
                is_only_list: self.is_only_list,
                has_some: self.has_some,
                reports: self.reports,
                ..Self::default()
            };
        }
        self.is_first = true;
        let Reports { mode, model, options } = &mut self.reports;
        for count in [mode, model, options] {
            *count += 1;
        }
        let opened: SessionState = bound.read().unwrap_or_default();
        let (mode, model) = (opened.mode(), opened.model());
        if opened.modes.is_some() {
            (self.mode, self.state.modes) = (mode, opened.modes);
        }
        if opened.models.is_some() {
            (self.model, self.state.models) = (model, opened.models);
        }
        if opened.config_options.is_some() {
            self.state.config_options = opened.config_options;
        }
    }

    /// Changes a setting.
    pub fn change(&mut self, setting: &Setting) {
        match setting {
            Setting::Mode(mode) => {
                self.reports.mode += 1;
                self.mode = Some((**mode).to_owned());
            }
            Setting::Model(model) => {
                self.reports.model += 1;
                self.model = Some((**model).to_owned());
            }
            Setting::Options(options) => {
                self.reports.options += 1;
                self.state.config_options = Some(options.clone());
            }
        }
        self.is_touched = true;
    }

    /// Returns whether the editor must receive the list of options now. It is read once for all changes of a delivery. If the agent itself
    /// declares all options, the editor needs no more than the agent's own updates after the first list.
    pub fn take_changed(&mut self) -> bool {
        let is_touched = std::mem::take(&mut self.is_touched);
        std::mem::take(&mut self.is_first)
            || is_touched && (self.is_only_list || self.options().has_substitutes())
    }

    /// Returns the options of the session.
    pub fn options(&self) -> Options<'_> {
        self.state.options(self.mode.as_deref(), self.model.as_deref())
    }
}

impl Session {
    /// Returns whether a request for a new session has no response yet.
    pub fn is_new(&self) -> bool {
        let opening = self.opening.as_ref();
        opening.is_some_and(|opening| opening.mode == OpenMode::New)
    }

    /// Returns whether the response for the session came before the agent had opened it.
    pub fn is_early(&self) -> bool {
        self.opened_early || self.late.is_some()
    }

    /// Returns whether an event is part of the history that the editor loads.
    pub fn replays(&self, seq: Seq) -> bool {
        let loads = |opening: &&Opening| opening.mode == OpenMode::Load;
        self.opening
            .as_ref()
            .filter(loads)
            .is_some_and(|opening| seq <= opening.opened.until)
    }
}

impl Opening {
    /// Returns the response. For a new session it is the agent's own result, `bound`.
    pub fn result(&self, bound: Option<&RawJson>, connection: &str) -> RawJson {
        let result = bound.unwrap_or(&self.opened.state);
        let Opened { thread, lease, .. } = &self.opened;
        let acpd = json!({ "threadId": thread, "connection": connection, "lease": lease });
        let meta = with_acpd(member(result, "_meta"), &acpd);
        let session = format!("\"{thread}\"");
        let mut put = vec![("_meta", meta.get())];
        if self.mode == OpenMode::New {
            put.push(("sessionId", &session));
        }
        spliced(result, &put)
    }
}

/// Returns the response of version 2 that opens a session.
pub(super) fn result_v2(opening: &Opening, late: Option<&LateState>, connection: &str) -> RawJson {
    let Opened {
        thread, lease, until, ..
    } = &opening.opened;
    object(|out| {
        if opening.mode == OpenMode::New {
            out.put("sessionId", thread);
        }
        let list = late.map(|late| options(&late.options().to_list()));
        out.list("configOptions", &list.unwrap_or_default());
        out.object("_meta", |meta| {
            meta.object("acpd", |acpd| {
                acpd.put("threadId", thread).put("connection", connection);
                acpd.put("lease", lease).put("seq", until);
            });
        });
    })
}

/// Returns the current modes, models and options of a session: ACP's response to `session/load`. The agent's
/// descriptions stay unchanged, except for the selected values.
fn session_state(live: &Live) -> RawJson {
    let with_current = |raw: &Option<RawJson>, name, current: &Option<String>| {
        let raw = raw.as_ref().filter(|raw| raw.get().starts_with('{'))?;
        Some(match current {
            Some(current) => spliced(raw, &[(name, &Value::from(current.as_str()).to_string())]),
            None => raw.clone(),
        })
    };
    let modes = with_current(&live.modes, "currentModeId", &live.mode);
    let models = with_current(&live.models, "currentModelId", &live.model);
    let options = live
        .config_options
        .as_ref()
        .filter(|raw| raw.get().starts_with('['));
    let members = [
        ("modes", modes.as_ref()),
        ("models", models.as_ref()),
        ("configOptions", options),
    ];
    let put: Vec<(&str, &str)> = members
        .iter()
        .filter_map(|(name, raw)| Some((*name, (*raw)?.get())))
        .collect();
    spliced(&RawJson::trusted("{}"), &put)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(value: bool) -> RawJson {
        let option = json!({ "id": "o", "name": "O", "type": "boolean", "currentValue": value });
        json!([option]).into()
    }

    #[test]
    fn a_report_that_came_before_the_reply_is_newer_than_it() {
        let value = ConfigValue::Boolean(false);
        let reply: RawJson = json!({ "configOptions": [] }).into();
        let mut late = LateState::of_version_2(&RawJson::trusted("{}"));
        let before = late.reports("o");
        late.change(&Setting::Mode("ask".into()));
        late.set("o", &value, &reply, before);
        assert_eq!(late.state.config_options, Some(RawJson::trusted("[]")));
        late.change(&Setting::Options(options(true)));
        late.set("o", &value, &reply, before);
        assert_eq!(late.state.config_options, Some(options(true)));
        let before = late.reports(LEGACY_MODE);
        let (plan, code) = ("plan".to_owned(), "code".to_owned());
        late.set(LEGACY_MODE, &ConfigValue::Id(plan.clone()), &reply, before);
        assert_eq!(late.mode.as_ref(), Some(&plan));
        late.change(&Setting::Mode(code.as_str().into()));
        late.set(LEGACY_MODE, &ConfigValue::Id(plan), &reply, before);
        assert_eq!(late.mode, Some(code));
    }
}
