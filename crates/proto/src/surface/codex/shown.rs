//! The unfinished items that one client has been shown of a thread.
//!
//! In: frames. Out: messages about items. Owns: what was shown of each unfinished item. Never: keeps a finished one.
//!
//! Codex's items differ from acpd's in three ways. The type of an item cannot change, so that a tool call is shown when
//! its type is clear. A tool call contains its terminal and its file changes, which have no items of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::collections::free_if_empty;
use acpd_model::{ItemId, ItemOutcome, ItemStart, Millis, Origin, RawJson, ThreadId, TurnId};
use bytes::Bytes;

use super::bounded;
use super::call::{Call, FileUpdate, Shape};
use super::frame::{Frame, FrameKind, TerminalStart};
use super::item::{
    CommandOutput, Progress, ShownCall, command_line, write_call, write_files, write_terminal,
    write_user_message,
};
use super::spoken::Spoken;
use super::write::{notification, put_turn};
use crate::projection::{ItemView, Live};

/// Messages, each with its method.
pub(super) type Messages = Vec<(&'static str, Bytes)>;

/// The unfinished items of a thread, as one client knows them.
#[derive(Debug, Default)]
pub(super) struct Shown {
    calls: BTreeMap<ItemId, OpenCall>,
    terminals: BTreeMap<ItemId, OpenTerminal>,
    /// The calls that unfinished file changes belong to.
    files: BTreeMap<ItemId, ItemId>,
    /// The client's own ids for the next message of the user in each turn, such as its prompt.
    prompts: BTreeMap<TurnId, Arc<str>>,
    /// The open message or thought.
    spoken: Option<Spoken>,
    cwd: String,
}

#[derive(Debug, Default)]
struct OpenCall {
    call: Call,
    /// The type of its item, once it is shown.
    shape: Option<Shape>,
    /// The changes that its item started with.
    shown_changes: Vec<FileUpdate>,
    /// The changes of its files that have ended.
    files: Vec<FileUpdate>,
    /// The output of its terminal.
    terminal: Option<Arc<CommandOutput>>,
    denied: bool,
}

#[derive(Debug)]
struct OpenTerminal {
    start: Arc<TerminalStart>,
    owner: TerminalOwner,
    /// How and when its command ended, if it is not shown yet.
    ended: Option<(ItemOutcome, Arc<CommandOutput>)>,
}

impl OpenCall {
    fn shows(&self, terminal: &TerminalStart) -> bool {
        self.call.terminals().contains(&terminal.terminal_id)
    }
}

impl OpenTerminal {
    fn new(start: Arc<TerminalStart>, owner: TerminalOwner) -> Self {
        Self {
            start,
            owner,
            ended: None,
        }
    }
}

/// Where a terminal is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminalOwner {
    /// It is not known whether it belongs to a call.
    Unclear,
    /// It is an item.
    Item,
    /// It belongs to this call.
    Call(ItemId),
}

/// Where and when something happened.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub thread: ThreadId,
    pub turn: Option<TurnId>,
    time: Millis,
}

impl At {
    /// Adds the message that an item started.
    pub fn started(self, messages: &mut Messages, write: impl FnOnce(&mut Vec<u8>)) {
        self.item(messages, "item/started", "startedAtMs", write);
    }

    /// Adds the message that an item is complete.
    pub fn completed(self, messages: &mut Messages, write: impl FnOnce(&mut Vec<u8>)) {
        self.item(messages, "item/completed", "completedAtMs", write);
    }

    fn item(
        self,
        messages: &mut Messages,
        method: &'static str,
        at: &'static str,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut out = Vec::new();
        notification(&mut out, method, |params| {
            params.put("threadId", &self.thread);
            put_turn(params, self.thread, self.turn);
            params.with("item", |out| bounded::write_item(out, self.thread, write));
            params.put(at, &self.time);
        });
        messages.push((method, out.into()));
    }
}

/// Returns the type of item that shows a call that has ended.
pub(super) fn final_shape(call: &Call, files: &[FileUpdate]) -> Shape {
    let shape = call.shape();
    if matches!(shape, Shape::Files) && files.is_empty() && call.changes().is_empty() {
        return Shape::Tool;
    }
    shape
}

impl Shown {
    /// Sets the directory that the thread works in.
    pub fn works_in(&mut self, cwd: &str) {
        cwd.clone_into(&mut self.cwd);
    }

    /// Returns the items of a thread whose unfinished items the client has read.
    pub fn of(live: &Live) -> Self {
        let mut shown = Self {
            cwd: live.summary.cwd.clone(),
            ..Self::default()
        };
        for (id, open) in live.items.iter() {
            match &open.view {
                ItemView::Tool(view) => {
                    let call = Call::read(&view.to_json());
                    let shape = Some(final_shape(&call, &[]));
                    let shown_changes = call.changes().to_vec();
                    shown.calls.insert(
                        *id,
                        OpenCall {
                            call,
                            shape,
                            shown_changes,
                            ..OpenCall::default()
                        },
                    );
                }
                ItemView::File { .. } => {
                    if let Some(parent) = open.parent {
                        shown.files.insert(*id, parent);
                    }
                }
                ItemView::Terminal { .. } => {
                    if let Some(start) = TerminalStart::of(&open.start) {
                        shown
                            .terminals
                            .insert(*id, OpenTerminal::new(start, TerminalOwner::Item));
                    }
                }
                ItemView::Message(_) => shown.spoken = Spoken::of(*id, &open.view).or(shown.spoken),
            }
        }
        for terminal in shown.terminals.values_mut() {
            let call = shown.calls.iter().find(|(_, open)| open.shows(&terminal.start));
            if let Some((call, _)) = call {
                terminal.owner = TerminalOwner::Call(*call);
            }
        }
        shown
    }

    /// Adds the messages for a frame.
    pub fn frame(&mut self, thread: ThreadId, frame: &Frame, messages: &mut Messages) {
        let at = At {
            thread,
            turn: frame.turn,
            time: frame.at,
        };
        match &frame.kind {
            FrameKind::Named(name) => {
                if let (Some(turn), Some(name)) = (frame.turn, name) {
                    self.prompts.insert(turn, Arc::clone(name));
                }
            }
            FrameKind::TextStarted(item, role) => self.spoken = Some(Spoken::started(*item, *role)),
            FrameKind::Text(item, from, to) => {
                let spoken = self.spoken.as_mut().filter(|spoken| spoken.is(*item));
                if spoken.is_some_and(|spoken| !spoken.add(at, frame.escaped(*from, *to), messages)) {
                    return;
                }
            }
            FrameKind::TextEnded(item) => {
                let spoken = self.spoken.take_if(|spoken| spoken.is(*item));
                if spoken.is_some_and(|spoken| !spoken.end(at, messages)) {
                    return;
                }
            }
            FrameKind::UserMessage(item, content) => self.user_message(at, *item, content, messages),
            FrameKind::Call(item, update) => self.call(at, *item, update, messages),
            FrameKind::CallEnded(item, outcome, call) => {
                self.call_ended(at, *item, *outcome, call, messages);
            }
            FrameKind::FileStarted(item, call) => {
                self.files.insert(*item, *call);
            }
            FrameKind::FileEnded(item, outcome, file) => {
                self.file_ended(at, *item, *outcome, file, messages);
            }
            FrameKind::Terminal(item, start) => self.terminal(at, *item, start, messages),
            FrameKind::Output(item, from, to) => {
                return self.output(at, *item, frame.escaped(*from, *to), frame, messages);
            }
            FrameKind::TerminalEnded(item, outcome, output) => {
                self.terminal_ended(at, *item, *outcome, output, messages);
            }
            FrameKind::Answered(_, Some(item), true) => {
                if let Some(open) = self.calls.get_mut(item) {
                    open.denied = true;
                }
            }
            FrameKind::TurnEnded => {
                if let Some(turn) = frame.turn {
                    self.prompts.remove(&turn);
                }
                self.show_unclear(at, messages);
            }
            FrameKind::Message
            | FrameKind::Asked(_)
            | FrameKind::Answered(..)
            | FrameKind::Settings
            | FrameKind::Listed(_) => {}
        }
        if !frame.text.is_empty() {
            messages.push((frame.method, frame.text.clone()));
        }
        free_if_empty(&mut self.calls);
        free_if_empty(&mut self.terminals);
    }

    /// Ends the agent's text, because something else is shown.
    fn break_off(&mut self, at: At, messages: &mut Messages) {
        if let Some(spoken) = &mut self.spoken {
            spoken.end_part(at, messages);
        }
    }

    /// Ends the agent's text, because it is followed by a question.
    pub fn before_question(&mut self, thread: ThreadId, frame: &Frame, messages: &mut Messages) {
        let at = At {
            thread,
            turn: frame.turn,
            time: frame.at,
        };
        self.break_off(at, messages);
    }

    fn user_message(&mut self, at: At, item: ItemId, content: &[RawJson], messages: &mut Messages) {
        let name = at.turn.and_then(|turn| self.prompts.remove(&turn));
        let name = name.as_deref();
        at.started(messages, |out| write_user_message(out, item, name, content));
        at.completed(messages, |out| write_user_message(out, item, name, content));
    }

    fn call(&mut self, at: At, item: ItemId, update: &Call, messages: &mut Messages) {
        let open = self.calls.entry(item).or_default();
        open.call.apply(update);
        if open.call.is_clear() {
            self.show_call(at, item, messages);
        }
        self.link_terminals(at, item, messages);
    }

    /// Shows a call, if it is not shown yet.
    fn show_call(&mut self, at: At, item: ItemId, messages: &mut Messages) {
        let Some(open) = self.calls.get_mut(&item).filter(|open| open.shape.is_none()) else {
            return;
        };
        if let Some(spoken) = &mut self.spoken {
            spoken.end_part(at, messages);
        }
        let shape = final_shape(&open.call, &open.files);
        open.shape = Some(shape);
        open.shown_changes = open.call.changes().to_vec();
        let shown = ShownCall {
            call: &open.call,
            cwd: &self.cwd,
            files: &open.files,
            terminal: None,
        };
        at.started(messages, |out| {
            write_call(out, item, shape, &shown, Progress::Running)
        });
    }

    /// Shows the call of a question. Returns whether the client sees exactly `changes`, which the question is about.
    pub fn show_asked(
        &mut self,
        thread: ThreadId,
        frame: &Frame,
        item: ItemId,
        call: &Call,
        changes: Option<&[FileUpdate]>,
        messages: &mut Messages,
    ) -> bool {
        let at = At {
            thread,
            turn: frame.turn,
            time: frame.at,
        };
        let open = self.calls.entry(item).or_default();
        open.call.apply(call);
        let sees = match (changes, open.shape) {
            (None, _) => false,
            (Some(changes), Some(shape)) => shape == Shape::Files && open.shown_changes == changes,
            (Some(changes), None) => {
                open.call.show_changes(changes.to_vec());
                true
            }
        };
        if sees && open.shape.is_none() {
            open.call.set_kind("edit");
        }
        self.show_call(at, item, messages);
        sees
    }

    fn call_ended(
        &mut self,
        at: At,
        item: ItemId,
        outcome: ItemOutcome,
        ended: &Call,
        messages: &mut Messages,
    ) {
        self.calls.entry(item).or_default().call.apply(ended);
        self.link_terminals(at, item, messages);
        self.show_call(at, item, messages);
        let Some(open) = self.calls.remove(&item) else {
            return;
        };
        let shown = ShownCall {
            call: &open.call,
            cwd: &self.cwd,
            files: &open.files,
            terminal: open.terminal.as_deref(),
        };
        let shape = open.shape.unwrap_or(Shape::Tool);
        let progress = Progress::ended(outcome, open.denied);
        at.completed(messages, |out| write_call(out, item, shape, &shown, progress));
        if !self.waits_for_terminal() {
            self.show_unclear(at, messages);
        }
    }

    fn file_ended(
        &mut self,
        at: At,
        item: ItemId,
        outcome: ItemOutcome,
        file: &FileUpdate,
        messages: &mut Messages,
    ) {
        let parent = self.files.remove(&item);
        free_if_empty(&mut self.files);
        let call = parent.and_then(|call| self.calls.get_mut(&call));
        if let Some(open) = call.filter(|open| open.shape.unwrap_or(open.call.shape()) == Shape::Files) {
            return open.files.push(file.clone());
        }
        self.break_off(at, messages);
        let progress = Progress::ended(outcome, false);
        let files = std::slice::from_ref(file);
        at.started(messages, |out| write_files(out, item, files, Progress::Running));
        at.completed(messages, |out| write_files(out, item, files, progress));
    }

    /// Returns whether there is a command that may have a terminal and has not shown one.
    fn waits_for_terminal(&self) -> bool {
        self.calls
            .values()
            .any(|open| open.call.may_have_terminal() && open.terminal.is_none())
    }

    fn terminal(&mut self, at: At, item: ItemId, start: &Arc<TerminalStart>, messages: &mut Messages) {
        let call = self.calls.iter().find(|(_, open)| open.shows(start));
        let owner = match call {
            Some((call, _)) => TerminalOwner::Call(*call),
            None if self.waits_for_terminal() && !start.by_user => TerminalOwner::Unclear,
            None => TerminalOwner::Item,
        };
        self.terminals
            .insert(item, OpenTerminal::new(Arc::clone(start), owner));
        if owner == TerminalOwner::Item {
            self.show_terminal(at, item, messages);
        }
    }

    /// Shows a terminal as an item.
    fn show_terminal(&mut self, at: At, item: ItemId, messages: &mut Messages) {
        self.break_off(at, messages);
        let Some(open) = self.terminals.get_mut(&item) else {
            return;
        };
        open.owner = TerminalOwner::Item;
        let start = Arc::clone(&open.start);
        let ended = open.ended.take();
        let nothing = CommandOutput::default();
        at.started(messages, |out| {
            start.write(out, item, Progress::Running, &nothing)
        });
        if let Some((outcome, output)) = ended {
            self.terminals.remove(&item);
            let progress = Progress::ended(outcome, false);
            at.completed(messages, |out| start.write(out, item, progress, &output));
        }
    }

    /// Shows the terminals as items that turned out to belong to no call.
    fn show_unclear(&mut self, at: At, messages: &mut Messages) {
        let unclear = self
            .terminals
            .iter()
            .filter(|(_, open)| open.owner == TerminalOwner::Unclear);
        let unclear: Vec<ItemId> = unclear.map(|(item, _)| *item).collect();
        for item in unclear {
            self.show_terminal(at, item, messages);
        }
    }

    /// Connects a call with the terminals that it shows.
    fn link_terminals(&mut self, at: At, item: ItemId, messages: &mut Messages) {
        let Some(open) = self
            .calls
            .get_mut(&item)
            .filter(|open| !open.call.terminals().is_empty())
        else {
            return;
        };
        let shows = |terminal: &OpenTerminal| {
            terminal.owner == TerminalOwner::Unclear
                && open.call.terminals().contains(&terminal.start.terminal_id)
        };
        let mut ended = Vec::new();
        for (id, terminal) in self.terminals.iter_mut().filter(|(_, terminal)| shows(terminal)) {
            terminal.owner = TerminalOwner::Call(item);
            if let Some((_, output)) = terminal.ended.take() {
                open.terminal = Some(output);
                ended.push(*id);
            }
        }
        for id in ended {
            self.terminals.remove(&id);
        }
        self.show_call(at, item, messages);
    }

    fn output(&mut self, at: At, item: ItemId, text: &str, frame: &Frame, messages: &mut Messages) {
        match self
            .terminals
            .get(&item)
            .map_or(TerminalOwner::Item, |open| open.owner)
        {
            TerminalOwner::Item => messages.push((frame.method, frame.text.clone())),
            TerminalOwner::Call(call) if self.calls.contains_key(&call) => {
                self.show_call(at, call, messages);
                let mut out = Vec::new();
                notification(&mut out, frame.method, |params| {
                    params.put("threadId", &at.thread);
                    put_turn(params, at.thread, at.turn);
                    params.put("itemId", &call);
                    params.with("delta", |out| {
                        out.push(b'"');
                        out.extend_from_slice(text.as_bytes());
                        out.push(b'"');
                    });
                });
                messages.push((frame.method, out.into()));
            }
            // It is not known yet where it is shown, or the call has ended.
            TerminalOwner::Unclear | TerminalOwner::Call(_) => {}
        }
    }

    fn terminal_ended(
        &mut self,
        at: At,
        item: ItemId,
        outcome: ItemOutcome,
        output: &Arc<CommandOutput>,
        messages: &mut Messages,
    ) {
        let Some(open) = self.terminals.get_mut(&item) else {
            return;
        };
        match open.owner {
            TerminalOwner::Unclear => open.ended = Some((outcome, Arc::clone(output))),
            TerminalOwner::Item => {
                let start = Arc::clone(&open.start);
                self.terminals.remove(&item);
                let progress = Progress::ended(outcome, false);
                at.completed(messages, |out| start.write(out, item, progress, output));
            }
            TerminalOwner::Call(call) => {
                self.terminals.remove(&item);
                if let Some(open) = self.calls.get_mut(&call) {
                    open.terminal = Some(Arc::clone(output));
                }
            }
        }
    }
}

impl TerminalStart {
    /// Reads the start of a terminal's item.
    pub fn of(start: &ItemStart) -> Option<Arc<Self>> {
        let ItemStart::TerminalCommand {
            terminal_id,
            command,
            args,
            cwd,
            ..
        } = start
        else {
            return None;
        };
        Some(Arc::new(Self {
            terminal_id: terminal_id.clone(),
            command: command_line(command, args),
            cwd: cwd.to_string(),
            by_user: start.requester() != Origin::Agent,
        }))
    }

    fn write(&self, out: &mut Vec<u8>, item: ItemId, progress: Progress, output: &CommandOutput) {
        write_terminal(
            out,
            item,
            &self.command,
            self.by_user,
            &self.cwd,
            progress,
            output,
        );
    }
}
