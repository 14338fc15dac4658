//! What users chose for the session, set again in each process that opens it: agents keep their mode, model and options in the
//! process, and begin with their defaults.
//!
//! In: the choices, what the opened session reported, the agent's answers. Out: requests for the agent, and a notice for each
//! choice that the process does not have. Owns: how far that is. Never: changes a choice.

use acpd_model::event::{ChosenOption, Level};
use acpd_model::text::shorten;
use acpd_model::{EventKind, Failure, Origin, RawJson, SessionEvent};

use super::Session;
use super::agent_requests::{Continuation, check_known, list_as_result};
use crate::agent::{AgentRequest, ConfigValue, modes};
use crate::projection::{Choices, Live, SessionState, current_value, has_options, listed_value};
use crate::thread::journal::Journal;

/// The first number of the requests that set choices again. Commands of clients have smaller numbers.
const FIRST_REQUEST: u64 = 1 << 63;

/// How often choices are set before the process counts as set. What an agent offers, and the values of some of its options, may
/// depend on others.
const ROUNDS: u8 = 3;

/// Characters of a choice, or of a value, in a notice.
const WORDS: usize = 200;

/// Characters of the reason why the agent does not have a choice: it may list all values.
const REASON: usize = 1_000;

/// The choices that a process is being set to.
#[derive(Debug, Default)]
pub(super) struct Restoration {
    /// All choices, in the order in which they are set.
    wanted: Vec<Wanted>,
    /// The rounds that may follow.
    rounds_left: u8,
}

/// A choice of a user, and what the process has of it.
#[derive(Debug)]
struct Wanted {
    /// The request that sets it.
    request: AgentRequest,
    /// Whether it is the agent's mode.
    is_mode: bool,
    state: State,
    /// Whether the thread says that the process does not have it.
    is_said: bool,
}

#[derive(Debug)]
enum State {
    /// The process has another value, or has not reported one.
    Open,
    /// The agent was asked for it.
    Requested,
    /// The process has reported it, or has accepted it and reports its values.
    Reported,
    /// The agent has accepted it, and does not report the value.
    Accepted,
    /// The agent has answered with this value instead.
    Other(String),
    /// The agent does not offer it now.
    NotOffered(Failure),
    /// The agent refuses it.
    Refused(Failure),
}

impl Wanted {
    fn new(request: AgentRequest, is_mode: bool, is_reported: bool) -> Self {
        let state = if is_reported { State::Reported } else { State::Open };
        Self {
            request,
            is_mode,
            state,
            is_said: false,
        }
    }

    /// Returns the value that the session reports instead, if it does.
    fn other(&self, live: &Live) -> Option<String> {
        let differs = |current: Option<&String>, wanted: &String| {
            let other = current.filter(|current| *current != wanted)?;
            Some(format!("{other:?}"))
        };
        match &self.request {
            AgentRequest::SetMode { mode_id } => differs(live.mode.as_ref(), mode_id),
            AgentRequest::SetModel { model_id } => differs(live.model.as_ref(), model_id),
            AgentRequest::SetConfigOption { config_id, value } => {
                match current_value(live.config_options.as_ref()?, config_id) {
                    Some(current) if current == value.to_json() => None,
                    Some(current) => Some(current.get().to_owned()),
                    None => Some("nothing".to_owned()),
                }
            }
            _ => None,
        }
    }

    /// Returns the state after the agent has accepted the request.
    fn answered(&self, answer: &RawJson) -> State {
        let AgentRequest::SetConfigOption { config_id, value } = &self.request else {
            return State::Reported;
        };
        match listed_value(answer, config_id) {
            Some(listed) if listed == value.to_json() => State::Reported,
            Some(listed) => State::Other(listed.get().to_owned()),
            None if has_options(answer) => State::Other("nothing".to_owned()),
            None => State::Accepted,
        }
    }

    fn words(&self) -> String {
        match &self.request {
            AgentRequest::SetMode { mode_id } => format!("the mode {mode_id:?}"),
            AgentRequest::SetModel { model_id } => format!("the model {model_id:?}"),
            AgentRequest::SetConfigOption { config_id, value } => {
                format!(
                    "the option {config_id:?} with the value {}",
                    value.to_json().get()
                )
            }
            request => request.method().to_owned(),
        }
    }
}

/// Returns all that users chose, in the order in which it is set: what an agent offers may depend on its model.
fn all_wanted(live: &Live, reported: &SessionState, agent: &str) -> Vec<Wanted> {
    let (choices, options) = (&live.choices, live.options());
    // A newer version of an agent may have an option for what was a mode or a model of its own kind.
    let by_option = |category: &str, id: &str| {
        reported.config_options.as_ref()?;
        let option = options.selector(category)?;
        option.offered.iter().any(|offered| offered == id).then(|| {
            let request = AgentRequest::SetConfigOption {
                config_id: option.id,
                value: ConfigValue::Id(id.to_owned()),
            };
            let is_reported = option.current.as_deref() == Some(id);
            Wanted::new(request, category == "mode", is_reported)
        })
    };
    let mut wanted = Vec::new();
    if let Some(model) = &choices.model {
        let replaced = reported
            .models
            .is_none()
            .then(|| by_option("model", model))
            .flatten();
        wanted.push(replaced.unwrap_or_else(|| {
            let model_id = model.clone();
            let is_reported = reported.model().as_ref() == Some(model);
            Wanted::new(AgentRequest::SetModel { model_id }, false, is_reported)
        }));
    }
    let mode = choices.mode.as_ref();
    if let Some(mode) = mode.filter(|mode| !(choices.mode_by_agent && modes::decides(agent, mode))) {
        let replaced = reported
            .modes
            .is_none()
            .then(|| by_option("mode", mode))
            .flatten();
        wanted.push(replaced.unwrap_or_else(|| {
            let mode_id = mode.clone();
            let is_reported = reported.mode().as_ref() == Some(mode);
            Wanted::new(AgentRequest::SetMode { mode_id }, true, is_reported)
        }));
    }
    let (models, others): (Vec<_>, Vec<_>) = choices.options.iter().partition(|(id, _)| options.is_model(id));
    for (id, chosen) in models.into_iter().chain(others) {
        let Ok(value) = chosen.read::<ConfigValue>() else {
            continue;
        };
        let is_mode = options.is_mode(id);
        let decides = || matches!(&value, ConfigValue::Id(mode) if modes::decides(agent, mode));
        if is_mode && choices.options_by_agent.contains(id) && decides() {
            continue;
        }
        let list = reported.config_options.as_ref();
        let is_reported = list.and_then(|list| current_value(list, id)).as_ref() == Some(chosen);
        let config_id = id.clone();
        let request = AgentRequest::SetConfigOption { config_id, value };
        wanted.push(Wanted::new(request, is_mode, is_reported));
    }
    wanted
}

/// Returns the options that users chose, for the request that opens the session. A mode that the agent took by itself is left out:
/// it may be one in which it decides by itself.
pub(super) fn chosen_options(live: &Live) -> Vec<(String, ConfigValue)> {
    let (choices, options) = (&live.choices, live.options());
    let is_users = |id: &String| !(options.is_mode(id) && choices.options_by_agent.contains(id));
    let chosen = choices.options.iter().filter(|(id, _)| is_users(id));
    let (models, others): (Vec<_>, Vec<_>) = chosen.partition(|(id, _)| options.is_model(id));
    let value = |(id, value): (&String, &RawJson)| Some((id.clone(), value.read().ok()?));
    models.into_iter().chain(others).filter_map(value).collect()
}

impl Session {
    /// Requests what users chose, if the open session `reported` something else or nothing. A prompt waits for the answers. A
    /// mode in which the `agent` decides by itself, and which it took by itself, does not count. Returns whether a user's choice
    /// of the mode remains.
    pub(super) fn restore_choices(
        &mut self,
        journal: &mut Journal,
        reported: &SessionState,
        agent: &str,
    ) -> bool {
        self.mode_refused = None;
        let wanted = all_wanted(journal.live(), reported, agent);
        let has_mode = wanted.iter().any(|wanted| wanted.is_mode);
        self.restoration = Restoration {
            wanted,
            rounds_left: ROUNDS,
        };
        self.request_choices(journal);
        has_mode
    }

    /// Requests the choices that are open.
    fn request_choices(&mut self, journal: &mut Journal) {
        self.restoration.rounds_left = self.restoration.rounds_left.saturating_sub(1);
        let mut requests = Vec::new();
        for (index, wanted) in self.restoration.wanted.iter_mut().enumerate() {
            if matches!(wanted.state, State::Open) {
                wanted.state = State::Requested;
                requests.push((index, wanted.request.clone()));
            }
        }
        for (number, (index, request)) in (FIRST_REQUEST..).zip(requests) {
            let then = Some(Continuation::Restore(index));
            self.request(journal, number, Origin::Daemon, request, then);
        }
    }

    /// Handles the agent's answer about a choice. After the last one, what the process has is compared with all choices.
    pub fn restored(&mut self, journal: &mut Journal, index: usize, answer: Result<RawJson, Failure>) {
        // The process is about to exit. The next one is asked again.
        if !self.is_ready() {
            return;
        }
        let Some(wanted) = self.restoration.wanted.get_mut(index) else {
            return;
        };
        wanted.state = match answer {
            Ok(answer) => wanted.answered(&answer),
            Err(failure) if check_known(journal, &wanted.request).is_err() => State::NotOffered(failure),
            Err(failure) => State::Refused(failure),
        };
        let is_requested = |wanted: &Wanted| matches!(wanted.state, State::Requested);
        if self.restoration.wanted.iter().any(is_requested) {
            return;
        }
        if self.restoration.rounds_left > 0 && self.reopen_choices(journal) {
            return self.request_choices(journal);
        }
        self.report_lost(journal);
    }

    /// Requests the choices that the agent offers only now: some read their models after they have opened a session. What a user
    /// is setting at this moment is newer.
    pub fn offered_later(&mut self, journal: &mut Journal) {
        if self.has_newer_setting() {
            return;
        }
        let is_requested = |wanted: &Wanted| matches!(wanted.state, State::Requested);
        let waits = self.restoration.wanted.iter().any(is_requested);
        if self.is_ready()
            && !waits
            && self.restoration.rounds_left > 0
            && self.restoration.wanted.iter().any(|wanted| wanted.is_said)
        {
            if self.reopen_choices(journal) {
                self.request_choices(journal);
            } else {
                self.report_lost(journal);
            }
        }
    }

    /// Requests no choices any more: a user has just set something.
    pub(super) fn end_restoration(&mut self) {
        self.restoration = Restoration::default();
    }

    /// Opens the choices that another one has reset or made possible. Returns whether there are any.
    fn reopen_choices(&mut self, journal: &Journal) -> bool {
        let live = journal.live();
        let mut any = false;
        for wanted in &mut self.restoration.wanted {
            let is_possible = match &wanted.state {
                State::Reported => true,
                State::NotOffered(_) => check_known(journal, &wanted.request).is_ok(),
                State::Open | State::Requested | State::Accepted | State::Other(_) | State::Refused(_) => {
                    false
                }
            };
            if !is_possible {
                continue;
            }
            wanted.state = if wanted.other(live).is_some() {
                any = true;
                State::Open
            } else {
                State::Reported
            };
        }
        any
    }

    /// Records the choices that the process does not have. Without the mode that a user chose it gets no prompt, because it might
    /// act more freely than the user allowed. Choices that the agent may offer later remain.
    fn report_lost(&mut self, journal: &mut Journal) {
        let has = |other: &str, words: &str| format!("has {other} instead of {words}, which was set before");
        let mut all = std::mem::take(&mut self.restoration.wanted);
        for wanted in &mut all {
            let words = shorten(&wanted.words(), WORDS);
            let lost = match &wanted.state {
                State::NotOffered(_) if wanted.is_said => continue,
                State::NotOffered(failure) | State::Refused(failure) => {
                    let reason = shorten(&failure.message, REASON);
                    format!("refuses {words}, which was set before: {reason}")
                }
                State::Other(other) => has(&shorten(other, WORDS), &words),
                State::Reported => match wanted.other(journal.live()) {
                    Some(other) => has(&shorten(&other, WORDS), &words),
                    None => {
                        if std::mem::take(&mut wanted.is_said) {
                            let message = format!("The agent has {words} now, which was set before.");
                            journal.notice(Level::Info, "settingRestored", &message);
                            if wanted.is_mode {
                                self.mode_refused = None;
                            }
                        }
                        continue;
                    }
                },
                State::Open | State::Requested | State::Accepted => continue,
            };
            wanted.is_said = true;
            let message =
                format!("The agent was started again and {lost}. Set it again, or choose another value.");
            journal.notice(Level::Warning, "settingLost", &message);
            // An agent without modes has no looser one.
            if wanted.is_mode && journal.live().options().mode().is_some() {
                self.mode_refused = Some(format!(
                    "the agent was started again without {words}, which was set before; choose a mode for the thread, then \
                     send the prompt again"
                ));
            }
        }
        // A choice that the process has may be changed by the agent from now on.
        all.retain(|wanted| matches!(wanted.state, State::NotOffered(_)));
        self.restoration.wanted = all;
    }

    /// Returns why the process gets no prompt, if it refuses the mode that a user chose.
    pub fn refused_mode(&self) -> Option<String> {
        self.mode_refused.clone()
    }
}

/// Records what a fork takes over of its origin's `choices`, where its own state has others. What the agent took by itself stays
/// behind.
pub fn adopt_choices(journal: &mut Journal, by: &Origin, choices: Choices) {
    let known = journal.live().choices.clone();
    let mode = choices.mode.filter(|_| !choices.mode_by_agent);
    if let Some(mode_id) = mode.filter(|mode| known.mode.as_ref() != Some(mode)) {
        journal.emit_in(
            None,
            by.clone(),
            EventKind::Session(SessionEvent::ModeChanged { mode_id }),
            None,
        );
    }
    if let Some(model_id) = choices.model.filter(|model| known.model.as_ref() != Some(model)) {
        journal.emit_in(
            None,
            by.clone(),
            EventKind::Session(SessionEvent::ModelChanged { model_id }),
            None,
        );
    }
    for (id, value) in choices.options {
        let is_known = known.options.get(&id) == Some(&value);
        let list = journal.live().config_options.as_ref().and_then(list_as_result);
        if !is_known && !choices.options_by_agent.contains(&id) && list.is_some() {
            let chosen = Some(ChosenOption { id, value });
            journal.emit_in(
                None,
                by.clone(),
                EventKind::Session(SessionEvent::ConfigOptionsReplaced { chosen }),
                list,
            );
        }
    }
}
