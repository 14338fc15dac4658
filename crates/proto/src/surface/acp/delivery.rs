//! Delivery of thread events to one editor: selects the messages for this editor and orders them with the responses.

use std::collections::BTreeSet;

use acpd_model::{ErrorCode, Failure, RawJson, RequestId, Seq, ThreadId, TurnId};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::cursors::with_message_id;
use super::form::{self, FormInWords};
use super::frame::{Feature, Frame, FrameKind, INTERNAL, TurnResult};
use super::peer::{Peer, Prompt};
use super::session::{LateState, OpenMode, Opened, Opening, result_v2};
use super::subagents::with_name;
use super::v2::{options, update_of_agent, without_skills};
use super::version::Version;
use crate::surface::contract::{Delivery, OpenRequest, Output, Pending, Steps};
use crate::surface::request::RequestKind;
use crate::wire;

impl Peer {
    pub(super) fn deliver(&mut self, delivery: &Delivery<'_, Frame>) {
        let Delivery {
            thread,
            frames,
            last,
            pending,
        } = *delivery;
        for frame in frames {
            self.reached(thread, frame.seq.saturating_sub(1));
            self.frame(thread, frame, pending);
            if self.client.version == Version::Two {
                self.follow_foreground(thread, frame);
            }
        }
        // Once for all frames: the list can be many times as large as the change of one option.
        let late = self
            .sessions
            .get_mut(&thread)
            .and_then(|session| session.late.as_mut());
        if late.is_some_and(|late| late.take_changed()) {
            self.show_options(thread);
        }
        self.reached(thread, last);
        self.mark_reached(thread, last);
    }

    pub(super) fn opened(&mut self, request: OpenRequest, mode: OpenMode, mut opened: Opened) {
        let thread = opened.thread;
        let is_v2 = self.client.version == Version::Two;
        let resumes_early = mode == OpenMode::Resume && self.start.early.remove(&thread);
        // Unanswered questions of an earlier opening are still on the editor's screen.
        let session = self.sessions.entry(thread).or_default();
        session.since = opened.until;
        session.subagents.extend(opened.subagents.clone());
        session.opened_early = false;
        // The pipe keeps the response from the editor, which must learn what has changed meanwhile.
        session.late = resumes_early.then(|| Box::new(LateState::resumed(&opened.state)));
        if is_v2 {
            session.late = Some(Box::new(LateState::of_version_2(&opened.state)));
            let foreground = std::mem::take(&mut opened.foreground);
            session.foreground = match mode {
                OpenMode::Resume if self.start.after.remove(&thread).is_some() => {
                    foreground.continued(self.start.own.remove(&thread))
                }
                OpenMode::New | OpenMode::Load | OpenMode::Resume => {
                    foreground.reopened(&session.foreground, opened.until)
                }
            };
        }
        session.shown.earlier = opened.last_terminal;
        if mode == OpenMode::Resume {
            session.received = session.received.max(opened.until);
        }
        let earlier = session.opening.replace(Opening {
            request,
            mode,
            opened,
            queued: Vec::new(),
        });
        if let Some(earlier) = earlier {
            let failure = Failure::new(ErrorCode::Conflict, "the session was opened once more meanwhile");
            self.refuse(earlier.request, &failure);
        }
        match mode {
            OpenMode::Resume => self.open(thread, None),
            OpenMode::Load => self.reached(thread, 0),
            OpenMode::New => {}
        }
        self.take_early(thread);
    }

    /// Records that the editor has received all events up to `seq`.
    pub(super) fn reached(&mut self, thread: ThreadId, seq: Seq) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        session.received = session.received.max(seq);
        let opening = session.opening.as_ref();
        if opening.is_some_and(|opening| seq >= opening.opened.until) {
            self.open(thread, None);
        }
        self.send_queued(thread);
    }

    /// Sends the response that opens a session, then the messages that were held back for it.
    fn open(&mut self, thread: ThreadId, bound: Option<&RawJson>) {
        if self.client.version == Version::Two {
            return self.open_v2(thread);
        }
        let Some(opening) = self
            .sessions
            .get_mut(&thread)
            .and_then(|session| session.opening.take())
        else {
            return;
        };
        let result = opening.result(bound, &self.connection);
        let Opening {
            request,
            mode,
            opened,
            queued,
        } = opening;
        self.answer(request, &result);
        if mode == OpenMode::Resume {
            for update in &opened.updates {
                let mut out = Vec::new();
                wire::notification(&mut out, "session/update", |params| {
                    params.put("sessionId", &thread).raw("update", update.get());
                });
                self.send(out);
            }
        }
        self.announce(&opened.announced);
        for (_, text) in queued {
            self.out.push(Output::Send(text));
        }
    }

    /// Sends updates, each in its session.
    fn announce(&mut self, announced: &[(String, RawJson)]) {
        for (session, update) in announced {
            let mut out = Vec::new();
            wire::notification(&mut out, "session/update", |params| {
                params.put("sessionId", session).raw("update", update.get());
            });
            self.send(out);
        }
    }

    /// Opens the session of an editor of version 2 in the same way: it has the state of the foreground before the response.
    fn open_v2(&mut self, thread: ThreadId) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        let Some(opening) = session.opening.take() else {
            return;
        };
        session.cleared = BTreeSet::new();
        let is_continued = session.foreground.is_continued();
        let result = result_v2(&opening, session.late.as_deref(), &self.connection);
        if let Some(late) = &mut session.late {
            late.has_list();
        }
        let Opening {
            request,
            mode,
            opened,
            queued,
        } = opening;
        if mode == OpenMode::Load {
            self.show_replayed(thread);
        }
        if mode != OpenMode::New && !is_continued {
            self.snapshot_state(thread, opened.until);
        }
        self.answer(request, &result);
        if mode == OpenMode::Resume {
            let unnamed = String::new;
            let updates = opened.updates.iter();
            // Commands are the same in both versions.
            let updates: Vec<_> = updates
                .filter_map(|update| update_of_agent(update, false, unnamed))
                .collect();
            for update in updates {
                let update = RawJson::trusted(&update);
                let kept = without_skills(&update).filter(|_| !self.client.takes(Feature::Skills));
                let mut out = Vec::new();
                wire::notification(&mut out, "session/update", |params| {
                    params
                        .put("sessionId", &thread)
                        .raw("update", kept.as_ref().unwrap_or(&update).get());
                });
                self.send(out);
            }
        }
        self.announce(&opened.announced);
        for (_, text) in queued {
            self.out.push(Output::Send(text));
        }
        if mode == OpenMode::New {
            self.show_state(thread, opened.until);
        }
    }

    fn frame(&mut self, thread: ThreadId, frame: &Frame, pending: &Pending) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        let replays = session.replays(frame.seq);
        match &frame.kind {
            FrameKind::Update => self.show(thread, frame, None),
            FrameKind::Chunk(item) => {
                let named = self.client.takes(Feature::Cursors).then_some(frame.text.as_ref());
                match named.flatten().and_then(|text| with_message_id(text, *item)) {
                    Some(named) => self.show_text(thread, named, None),
                    None => self.show(thread, frame, None),
                }
            }
            FrameKind::Began(anchor) => {
                if self.client.takes(Feature::Cursors) {
                    session.cursors.begins(frame.turn, anchor);
                }
            }
            FrameKind::RolledBack(kept) => self.withdraw_cursors(thread, *kept),
            FrameKind::Setting(setting) => {
                // The state of a session that is loaded is newer than its history.
                if let Some(late) = session.late.as_mut().filter(|_| !replays) {
                    late.change(setting);
                }
                self.show(thread, frame, None);
            }
            FrameKind::Declared(feature) => {
                let is_past = matches!(feature, Feature::Notices | Feature::AuthStatus) && replays;
                if self.client.takes(*feature) && !is_past {
                    self.show(thread, frame, None);
                }
            }
            FrameKind::DeclaredOfSubagent(feature) => {
                if self.client.takes(Feature::Subagents) && self.client.takes(*feature) {
                    self.show(thread, frame, None);
                }
            }
            FrameKind::Undeclared(feature) => {
                if !self.client.takes(*feature) {
                    self.show(thread, frame, None);
                }
            }
            FrameKind::Subagent(lane, name) => {
                session.subagents.insert(*lane, name.clone());
            }
            FrameKind::OfSubagent(lane) => {
                let text = frame
                    .text
                    .clone()
                    .filter(|_| !self.client.takes(Feature::Subagents));
                if let Some(text) = text {
                    let text = match session.subagents.get(lane) {
                        Some(name) => with_name(text, name),
                        None => text,
                    };
                    let text = session.in_its_words(text);
                    self.hand_over(thread, text, None);
                }
            }
            FrameKind::Remark => {
                let is_past = frame.seq <= session.since;
                if !is_past && !self.client.takes(Feature::Notices) {
                    self.show(thread, frame, None);
                }
            }
            FrameKind::Prompt => {
                let own = |prompt: &Prompt| prompt.thread == thread && prompt.turn == frame.turn;
                if replays || !self.prompts.iter().any(own) {
                    self.show(thread, frame, None);
                } else {
                    session.cursors.lacks_last();
                }
            }
            FrameKind::Asked(request, question) => {
                if !self.exchange.permissions().may(RequestKind::Answer)
                    || !pending.is_open(frame.seq, *request)
                {
                    return;
                }
                self.open_early(thread);
                if !self.client.answers(*question) {
                    return self.tell_question(thread, frame);
                }
                let Some(session) = self.sessions.get_mut(&thread) else {
                    return;
                };
                if session.asked.insert(*request, *question).is_none() {
                    self.show(thread, frame, Some(*request));
                }
            }
            FrameKind::Answered(request) => {
                if session.asked.remove(request).is_none() {
                    return;
                }
                let queued = session.opening.as_mut().map(|opening| &mut opening.queued);
                let before = queued.as_ref().map_or(0, |queued| queued.len());
                let left = queued.map_or(0, |queued| {
                    queued.retain(|(question, _)| *question != Some(*request));
                    queued.len()
                });
                if left == before && self.client.knows_notifications {
                    self.show(thread, frame, None);
                }
            }
            FrameKind::PromptAccepted(Some(name)) => {
                if let Some(turn) = frame.turn {
                    let is_meant = |prompt: &Prompt| prompt.thread == thread && *prompt.name == **name;
                    self.turn_known(is_meant, turn);
                }
            }
            FrameKind::Ended(turn_result) => {
                self.offer_cursor(thread, frame.turn);
                self.turn_ended(thread, frame.turn, turn_result);
            }
            FrameKind::Bound(how, bound) => {
                session.wants_sign_in = false;
                let is_new = session.is_new();
                if std::mem::take(&mut session.opened_early) && session.late.is_none() {
                    session.late = Some(Box::<LateState>::default());
                }
                if let Some(late) = session.late.as_mut().filter(|_| !replays) {
                    late.bind(*how, bound);
                }
                if is_new {
                    self.open(thread, Some(bound));
                }
            }
            FrameKind::Terminal(terminal) => {
                for text in session.terminal_changed(&thread.to_string(), terminal) {
                    self.hand_over(thread, text, None);
                }
            }
            FrameKind::SignIn => session.wants_sign_in = true,
            FrameKind::Inserted(item) => self.inserted(thread, frame, *item),
            FrameKind::Cleared(name) => {
                // A message may continue in another item.
                if replays && session.cleared.insert(*name) {
                    self.show(thread, frame, None);
                }
            }
            // These concern the state of the foreground, and prompts that have no name.
            FrameKind::PromptAccepted(None)
            | FrameKind::Running
            | FrameKind::Stopped(_)
            | FrameKind::Blocked(_)
            | FrameKind::Background(..) => {}
            FrameKind::Lease => {
                // An editor that opens a session receives the lease's state in the response.
                if frame.seq > session.since && self.client.knows_notifications {
                    self.show(thread, frame, None);
                }
            }
        }
    }

    /// Answers the request for a new session, if the agent asks something before it opens it: no editor shows a question
    /// of a session that it does not know.
    fn open_early(&mut self, thread: ThreadId) {
        if let Some(session) = self.sessions.get_mut(&thread).filter(|session| session.is_new()) {
            session.opened_early = true;
            self.open(thread, None);
        }
    }

    /// Sends the options of a session that the response could not contain yet.
    fn show_options(&mut self, thread: ThreadId) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        let Some(late) = &mut session.late else { return };
        let list = late.options().to_list();
        let list = match self.client.version {
            Version::One => list,
            Version::Two => options(&list),
        };
        if !late.shows(&list) {
            return;
        }
        let mut out = Vec::new();
        wire::notification(&mut out, "session/update", |params| {
            params.put("sessionId", &thread).object("update", |update| {
                update
                    .plain("sessionUpdate", "config_option_update")
                    .put("configOptions", &list);
            });
        });
        self.hand_over(thread, out.into(), None);
    }

    /// Writes what a question asks for the user of an editor that cannot show it, and where to answer it.
    fn tell_question(&mut self, thread: ThreadId, frame: &Frame) {
        #[derive(Deserialize)]
        struct Asked {
            params: RawJson,
        }
        let text = frame.text.as_deref().and_then(|text| str::from_utf8(text).ok());
        let Some(asked) = text.and_then(|text| acpd_model::json::read::<Asked>(text).ok()) else {
            return;
        };
        let FormInWords { message, fields } = form::in_words(&asked.params);
        if self.client.version == Version::Two {
            let notice = json!({
                "sessionUpdate": "notice",
                "severity": "warning",
                "title": format!("The agent asks: {message}"),
                "description": format!(
                    "This editor cannot show the question. Answer it in acpd’s web UI (acpd open), or with: acpd answer \
                     {thread}\n\n{fields}"
                ),
            });
            return self.tell(thread, &notice);
        }
        let text = format!(
            "\n\nThe agent asks: {message} This editor cannot show the question. Answer it in acpd’s web UI (acpd open), or \
             with: acpd answer {thread}\n\n{fields}\n"
        );
        let update = json!({
            "sessionUpdate": "agent_message_chunk",
            "content": { "type": "text", "text": text },
        });
        self.tell(thread, &update);
    }

    fn tell(&mut self, thread: ThreadId, update: &serde_json::Value) {
        let mut out = Vec::new();
        wire::notification(&mut out, "session/update", |params| {
            params.put("sessionId", &thread).put("update", update);
        });
        self.hand_over(thread, out.into(), None);
    }

    /// Sends a frame's message. Before the response for a new session, messages and questions are held back.
    pub(super) fn show(&mut self, thread: ThreadId, frame: &Frame, question: Option<RequestId>) {
        if let Some(text) = frame.text.clone() {
            self.show_text(thread, text, question);
        }
    }

    fn show_text(&mut self, thread: ThreadId, text: Bytes, question: Option<RequestId>) {
        let text = match self.sessions.get_mut(&thread) {
            // Editors of version 2 have no terminals of their own.
            Some(session) if self.client.version == Version::One => session.in_its_words(text),
            _ => text,
        };
        self.hand_over(thread, text, question);
    }

    /// Sends a message of a session, or queues it until the session is open.
    pub(super) fn hand_over(&mut self, thread: ThreadId, text: Bytes, question: Option<RequestId>) {
        let mut session = self.sessions.get_mut(&thread);
        let opening = session.as_mut().and_then(|session| session.opening.as_mut());
        match opening.filter(|opening| opening.mode == OpenMode::New || question.is_some()) {
            Some(opening) => opening.queued.push((question, text)),
            None => self.out.push(Output::Send(text)),
        }
    }

    pub(super) fn turn_ended(&mut self, thread: ThreadId, turn: Option<TurnId>, turn_result: &TurnResult) {
        if let Some(turn) = turn.filter(|_| self.client.version == Version::Two) {
            return self.prompts_left(thread, turn, turn_result);
        }
        let own = |prompt: &mut Prompt| prompt.thread == thread && turn.is_some() && prompt.turn == turn;
        let ended = self.prompts.extract_if(.., own);
        let requests: Vec<OpenRequest> = ended.filter_map(|prompt| prompt.request).collect();
        for request in requests {
            self.answer_prompt(thread, request, turn_result);
        }
    }

    pub(super) fn answer_prompt(&mut self, thread: ThreadId, request: OpenRequest, turn_result: &TurnResult) {
        match turn_result {
            TurnResult::Stopped(response) | TurnResult::Original(response) => self.answer(request, response),
            TurnResult::Failed(error) => {
                let session = self.sessions.get(&thread);
                let mut error = error.clone();
                // Editors recognize by this code that the user must sign in.
                if error.code == INTERNAL && session.is_some_and(|session| session.wants_sign_in) {
                    error.code = ErrorCode::SignInRequired.rpc();
                }
                self.answer_error(request, &error);
            }
        }
    }
}
