//! The fold from events to the blocks of a document. It stores the entries of one turn, and at most
//! [`EXPORT_TURN_BYTES`] of its finished content.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::event::{Always, MarkdownPlan, Outcome, PermissionOption, PlanEntry};
use acpd_model::limits::{EXPORT_PICTURES_BYTES, EXPORT_TURN_BYTES};
use acpd_model::subject::CallSubject;
use acpd_model::{
    Event, EventKind, HostEvent, ItemEnd, ItemEvent, ItemId, ItemStart, LaneId, Millis, Origin, RawJson,
    RequestEvent, RequestId, SessionEvent, Summary, ThreadEvent, ThreadId, TurnEvent, TurnId,
};

use super::block::{Block, NEST, Page, Part, code, word};
use super::item::{item_block, message_parts};
use super::text::{command, moment, pieces, short_path, turn_title};
use super::{note, text};
use crate::projection::{Item, ItemView, ToolView};
use crate::surface::contract::LostEvents;
use acpd_policy::{PartInWords, part_in_words};

/// A document that is being written.
#[derive(Debug)]
pub struct Story {
    /// When the last event was recorded.
    at: Millis,
    page: &'static dyn Page,
    /// The directory of the thread, to which paths are relative.
    cwd: String,
    /// Written text that the caller has not received yet.
    text: String,
    /// The running turn.
    turn: Option<TurnId>,
    /// The turn that has just ended. Its section is open for the rest of its messages.
    over: Option<TurnId>,
    /// The client that requested the turn.
    asker: Origin,
    turns: u32,
    in_section: bool,
    /// The entries since the last write, in order.
    entries: Vec<Entry>,
    /// Positions of the items among the entries.
    places: BTreeMap<ItemId, usize>,
    /// Approximate size of the entries, in bytes.
    held: usize,
    /// Bytes of the pictures that were written.
    pictures: usize,
    queued: BTreeMap<TurnId, (Origin, Vec<RawJson>)>,
    /// The names of the subagents.
    subagents: BTreeMap<LaneId, String>,
    usage: Option<(u64, u64)>,
}

/// An entry of the document, which may still change.
#[derive(Debug)]
enum Entry {
    Item {
        at: Millis,
        by: Origin,
        turn: Option<TurnId>,
        item: Item,
    },
    Question(QuestionEntry),
    Plan(PlanShown),
    Note(Block),
}

/// A plan of the main agent. Those of subagents are in the log only.
#[derive(Debug)]
struct PlanShown {
    at: Millis,
    /// The agent's id for the plan.
    id: String,
    entries: Vec<PlanEntry>,
    markdown: Option<Box<MarkdownPlan>>,
    /// Whether it was removed since: it keeps its place, but is not shown.
    removed: bool,
}

impl PlanShown {
    /// Returns the size of what is shown, in bytes.
    fn bytes(&self) -> usize {
        let steps: usize = self.entries.iter().map(|entry| entry.content.len()).sum();
        steps + self.markdown.as_ref().map_or(0, |plan| plan.content.len())
    }
}

#[derive(Debug)]
struct QuestionEntry {
    at: Millis,
    /// The subagent that asks.
    lane: Option<LaneId>,
    /// The text before its title.
    asked: &'static str,
    request: RequestId,
    title: String,
    options: Vec<PermissionOption>,
    subjects: Box<[CallSubject]>,
    always: Option<Box<Always>>,
    answer: Option<(Millis, Origin, Result<Outcome, String>)>,
}

impl Entry {
    fn is_open(&self) -> bool {
        match self {
            Self::Item { item, .. } => item.end.is_none(),
            Self::Question(question) => question.answer.is_none(),
            Self::Plan(_) | Self::Note(_) => false,
        }
    }

    /// Returns the turn of what may come when that has ended: a message of the main agent, or an item of a subagent.
    fn turn_of_rest(&self) -> Option<TurnId> {
        match self {
            Self::Item { turn, item, .. }
                if item.lane.is_some() || matches!(item.start, ItemStart::Message { .. }) =>
            {
                *turn
            }
            Self::Item { .. } | Self::Question(_) | Self::Plan { .. } | Self::Note(_) => None,
        }
    }

    /// Returns whether this is a running command. Commands may outlive their turn.
    fn is_running_command(&self) -> bool {
        matches!(self, Self::Item { item, .. } if item.end.is_none()
            && matches!(item.start, ItemStart::TerminalCommand { .. }))
    }
}

impl Story {
    /// Writes the head of the document.
    pub fn begin(page: &'static dyn Page, thread: ThreadId, summary: &Summary, out: &mut Vec<u8>) -> Self {
        let mut text = String::new();
        let title = summary.name.as_deref().map(str::trim).unwrap_or_default();
        let title = if title.is_empty() {
            "Thread without a name"
        } else {
            title
        };
        let facts = [
            ("Agent", vec![code(&summary.agent)]),
            ("Folder", vec![code(&summary.cwd)]),
            ("Started", vec![word(moment(summary.created_at))]),
            ("Last turn", vec![word(moment(summary.updated_at))]),
            ("Turns", vec![word(summary.turns.to_string())]),
            ("Thread", vec![code(thread.to_string())]),
        ];
        page.head(&mut text, title, &facts);
        out.extend_from_slice(text.as_bytes());
        Self {
            at: summary.created_at,
            page,
            cwd: summary.cwd.clone(),
            text: String::new(),
            turn: None,
            over: None,
            asker: Origin::Daemon,
            turns: 0,
            in_section: false,
            entries: Vec::new(),
            places: BTreeMap::new(),
            held: 0,
            pictures: 0,
            queued: BTreeMap::new(),
            subagents: BTreeMap::new(),
            usage: None,
        }
    }

    /// Says which events cannot be read.
    pub fn lost(&mut self, lost: &LostEvents) {
        self.entries.push(Entry::Note(note::lost(self.at, lost)));
    }

    /// Applies the next event. What is not part of the conversation is written if it has a [`note`].
    pub fn fold(&mut self, event: &Event, out: &mut Vec<u8>) {
        use EventKind as K;
        self.at = event.at;
        if let K::Thread(ThreadEvent::DirectoriesSet(directories)) = &event.kind {
            self.cwd.clone_from(&directories.cwd);
        }
        match &event.kind {
            K::Turn(TurnEvent::Queued { input, .. }) => {
                if let Some(turn) = event.turn {
                    self.queued.insert(turn, (event.by.clone(), input.clone()));
                }
            }
            K::Turn(TurnEvent::Started { .. }) => self.start_turn(event),
            K::Turn(TurnEvent::Settled { .. }) => self.settle_turn(event),
            K::Item(ItemEvent::Started { item, parent, start }) => {
                self.held += event.raw.as_ref().map_or(0, |raw| raw.get().len());
                self.places.insert(*item, self.entries.len());
                let item = Item {
                    id: *item,
                    parent: *parent,
                    lane: event.lane,
                    started_at: Some(event.at),
                    start: start.clone(),
                    view: Some(ItemView::new(start, event.raw.as_ref())),
                    end: None,
                };
                // The daemon only forwards queued prompts: their sender is the originator.
                let by = if event.by == Origin::Daemon {
                    &self.asker
                } else {
                    &event.by
                };
                self.entries.push(Entry::Item {
                    at: event.at,
                    by: by.clone(),
                    turn: event.turn,
                    item,
                });
            }
            K::Item(
                ItemEvent::Delta { item, .. }
                | ItemEvent::Content { item, .. }
                | ItemEvent::Updated { item, .. }
                | ItemEvent::UserMessageAdded { item, .. },
            )
            | K::Host(HostEvent::TerminalOutput { item, .. }) => self.change_item(*item, event),
            K::Item(ItemEvent::Completed { item, outcome, end }) => {
                self.held += weight(end);
                let place = self.places.get(item).copied();
                if let Some(Entry::Item { item, .. }) = place.and_then(|at| self.entries.get_mut(at)) {
                    item.view = None;
                    item.end = Some((*outcome, end.clone()));
                }
            }
            K::Request(RequestEvent::PermissionRequested {
                request,
                item,
                title,
                options,
                subjects,
                always,
                ..
            }) => self.entries.push(Entry::Question(QuestionEntry {
                at: event.at,
                lane: event.lane,
                asked: match item {
                    Some(_) => "Permission, in the agent's words: ",
                    None => "Permission: ",
                },
                request: *request,
                title: title.clone(),
                options: options.to_vec(),
                subjects: subjects.clone(),
                always: always.clone(),
                answer: None,
            })),
            K::Request(RequestEvent::InputRequested { request, message, .. }) => {
                self.entries.push(Entry::Question(QuestionEntry {
                    at: event.at,
                    lane: event.lane,
                    asked: "Asked for information: ",
                    request: *request,
                    title: message.clone(),
                    options: Vec::new(),
                    subjects: Box::default(),
                    always: None,
                    answer: None,
                }))
            }
            K::Request(RequestEvent::Settled { request, outcome, .. }) => {
                self.answer(*request, event, Ok(outcome.clone()))
            }
            K::Request(RequestEvent::Voided { request, reason }) => {
                self.answer(*request, event, Err(reason.clone()))
            }
            K::Turn(TurnEvent::PlanReplaced {
                plan_id,
                entries,
                markdown,
            }) if event.lane.is_none() => self.replace_plan(PlanShown {
                at: event.at,
                id: plan_id.clone(),
                entries: entries.clone(),
                markdown: markdown.clone(),
                removed: false,
            }),
            // One that is written already stays.
            K::Turn(TurnEvent::PlanRemoved { plan_id, .. }) if event.lane.is_none() => {
                if self.plan(plan_id).is_some() {
                    self.replace_plan(PlanShown {
                        at: event.at,
                        id: plan_id.clone(),
                        entries: Vec::new(),
                        markdown: None,
                        removed: true,
                    });
                }
            }
            K::Session(SessionEvent::SubagentUpdated(patch)) => {
                if let (Some(lane), Some(name)) =
                    (event.lane, patch.title.set().or(patch.session_id.as_ref()))
                {
                    self.subagents.insert(lane, name.clone());
                }
                // It is about the agent that has created the subagent.
                self.entries
                    .extend(note::block(event, &self.cwd).map(Entry::Note));
            }
            K::Turn(TurnEvent::UsageUpdated { used, size, .. }) => self.usage = Some((*used, *size)),
            K::Thread(_)
            | K::Session(_)
            | K::Turn(_)
            | K::Host(_)
            | K::Request(
                RequestEvent::CallPermitted { .. }
                | RequestEvent::AnswerRemembered { .. }
                | RequestEvent::AnswerRevoked { .. },
            )
            | K::Unknown => {
                if let Some(block) = note::block(event, &self.cwd) {
                    self.held += event.raw.as_ref().map_or(0, |raw| raw.get().len());
                    self.entries.push(Entry::Note(block.of(event.lane)));
                }
            }
        }
        if self.held > EXPORT_TURN_BYTES {
            self.write(Entry::is_open);
        }
        self.hand_out(out);
    }

    /// Writes the rest of the document.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.write(|_| false);
        self.end_section();
        self.page.foot(&mut self.text);
        self.hand_out(out);
    }

    fn name_of(&self, lane: LaneId) -> String {
        let name = self.subagents.get(&lane).cloned();
        name.unwrap_or_else(|| lane.to_string())
    }

    fn hand_out(&mut self, out: &mut Vec<u8>) {
        let text = std::mem::take(&mut self.text);
        out.extend_from_slice(text.as_bytes());
    }

    fn start_turn(&mut self, event: &Event) {
        self.write(Entry::is_running_command);
        self.end_section();
        let queued = event.turn.and_then(|turn| self.queued.remove(&turn));
        let by = queued.map_or_else(|| event.by.clone(), |(by, _)| by);
        self.turn = event.turn;
        self.turns += 1;
        let title = [word(turn_title(event.turn))];
        let imported = matches!(
            event.kind,
            EventKind::Turn(TurnEvent::Started { imported: true, .. })
        );
        let note = if imported {
            vec![word(format!(
                "Held outside of acpd, taken over {}",
                moment(event.at)
            ))]
        } else {
            let mut note = vec![word(format!("Started {}, asked for by ", moment(event.at)))];
            note.extend(text::who(&by));
            note
        };
        self.asker = by;
        self.page.section(&mut self.text, &title, &note);
        self.in_section = true;
    }

    fn settle_turn(&mut self, event: &Event) {
        let Some(mut block) = note::turn_end(event, self.usage) else {
            return;
        };
        if event.turn == self.turn && self.in_section {
            self.write(Entry::is_running_command);
            for entry in &self.entries {
                if let Entry::Item { item, .. } = entry {
                    block.parts.push(Part::Line(vec![
                        word("Still running: "),
                        code(command(&item.start)),
                    ]));
                }
            }
            self.page.block(&mut self.text, &block);
            self.over = self.turn.take();
        } else if let Some((by, input)) = event.turn.and_then(|turn| self.queued.remove(&turn)) {
            // The turn was queued and never started. Its prompt is shown with its end.
            let mut spans = vec![word("Asked for by ")];
            spans.extend(text::who(&by));
            let mut parts = vec![Part::Line(spans)];
            parts.extend(message_parts(pieces(&input)));
            parts.append(&mut block.parts);
            block.parts = parts;
            self.entries.push(Entry::Note(block));
        } else {
            self.entries.push(Entry::Note(block));
        }
    }

    fn change_item(&mut self, id: ItemId, event: &Event) {
        self.held += event.raw.as_ref().map_or(0, |raw| raw.get().len());
        let place = self.places.get(&id).copied();
        let Some(Entry::Item { item, .. }) = place.and_then(|at| self.entries.get_mut(at)) else {
            self.late_change(event);
            return;
        };
        match (&mut item.view, &mut item.end) {
            (Some(view), _) => view.apply(&event.kind, event.raw.as_ref()),
            // An update of a tool call that has already ended still changes its content.
            (None, Some((_, ItemEnd::ToolCall { call, .. }))) => {
                let mut tool = ToolView::default();
                tool.apply(call);
                if let Some(raw) = &event.raw {
                    tool.apply(raw);
                }
                *call = tool.to_json();
            }
            _ => {}
        }
    }

    /// Writes a note about an update of an item that is already written.
    fn late_change(&mut self, event: &Event) {
        if let (EventKind::Item(ItemEvent::Updated { status, .. }), Some(raw)) = (&event.kind, &event.raw) {
            let mut tool = ToolView::default();
            tool.apply(raw);
            let id: String = tool.read("toolCallId").unwrap_or_default();
            let title = vec![word("Later update of tool call "), code(id)];
            let block = Block::new("tool", event.at, title)
                .line(vec![word("Status: "), word(status.as_acp())])
                .verbatim("json", raw.get());
            self.entries.push(Entry::Note(block.of(event.lane)));
        }
    }

    fn answer(&mut self, request: RequestId, event: &Event, answer: Result<Outcome, String>) {
        let asked = self.entries.iter_mut().rev().find_map(|entry| match entry {
            Entry::Question(question) => Some(question).filter(|question| question.request == request),
            Entry::Item { .. } | Entry::Plan(_) | Entry::Note(_) => None,
        });
        if let Some(question) = asked {
            question.answer = Some((event.at, event.by.clone(), answer));
        }
    }

    /// Returns the plan with this id, if it is not written yet.
    fn plan(&mut self, id: &str) -> Option<&mut PlanShown> {
        self.entries.iter_mut().rev().find_map(|entry| match entry {
            Entry::Plan(plan) => Some(plan).filter(|plan| plan.id == id),
            Entry::Item { .. } | Entry::Question(_) | Entry::Note(_) => None,
        })
    }

    fn replace_plan(&mut self, new: PlanShown) {
        let before = self.plan(&new.id).map_or(0, |old| old.bytes());
        self.held = (self.held + new.bytes()).saturating_sub(before);
        match self.plan(&new.id) {
            Some(old) => *old = new,
            None => self.entries.push(Entry::Plan(new)),
        }
    }

    /// Writes the entries, except those that `keep` selects. What a subagent did is in one block, where it began.
    fn write(&mut self, keep: impl Fn(&Entry) -> bool) {
        let entries = std::mem::take(&mut self.entries);
        self.places.clear();
        self.held = 0;
        let files: BTreeSet<(ItemId, String)> = entries.iter().filter_map(file_of).collect();
        let mut blocks: Vec<(Option<TurnId>, Block)> = Vec::new();
        let mut nests: BTreeMap<LaneId, usize> = BTreeMap::new();
        for entry in entries {
            if keep(&entry) {
                if let Entry::Item { item, .. } = &entry {
                    self.places.insert(item.id, self.entries.len());
                }
                self.entries.push(entry);
                continue;
            }
            let turn = entry.turn_of_rest();
            let Some(block) = draw(entry, &files, &self.cwd) else {
                continue;
            };
            let Some(lane) = block.lane else {
                blocks.push((turn, block));
                continue;
            };
            let nest = *nests.entry(lane).or_insert_with(|| {
                blocks.push((None, self.nest(lane, block.at)));
                blocks.len() - 1
            });
            if let Some((last, nest)) = blocks.get_mut(nest) {
                // It is in the turn of the last of its items.
                *last = turn.max(*last);
                nest.parts.push(Part::Block(Box::new(block)));
            }
        }
        for (turn, mut block) in blocks {
            if self.over.is_some() && turn != self.over {
                self.end_section();
            }
            if turn.is_some() && turn != self.turn && turn != self.over {
                let note = vec![word("Belongs to "), word(turn_title(turn)), word(".")];
                block.parts.insert(0, Part::Line(note));
            }
            self.open_section();
            self.bound_pictures(&mut block);
            self.page.block(&mut self.text, &block);
        }
    }

    /// Creates the block for what a subagent did.
    fn nest(&self, lane: LaneId, at: Millis) -> Block {
        let title = vec![word("Subagent "), code(self.name_of(lane))];
        let mut block = Block::new(NEST, at, title);
        block.folded = true;
        block
    }

    /// Puts words in place of the pictures for which the document has no room left.
    fn bound_pictures(&mut self, block: &mut Block) {
        for part in &mut block.parts {
            if let Part::Block(inner) = part {
                self.bound_pictures(inner);
            } else if let Part::Picture(picture) = part {
                let pictures = self.pictures + picture.bytes();
                if pictures > EXPORT_PICTURES_BYTES {
                    *part = Part::Line(vec![code(picture.label())]);
                } else {
                    self.pictures = pictures;
                }
            }
        }
    }

    /// Starts a section for events between turns, unless a section is open.
    fn open_section(&mut self) {
        if !self.in_section {
            let title = if self.turns == 0 {
                "Before the first turn"
            } else {
                "Between turns"
            };
            self.page.section(&mut self.text, &[word(title)], &[]);
            self.in_section = true;
        }
    }

    fn end_section(&mut self) {
        self.over = None;
        if std::mem::take(&mut self.in_section) {
            self.page.end_section(&mut self.text);
        }
    }
}

/// Returns the file of a tool call that has its own entry.
fn file_of(entry: &Entry) -> Option<(ItemId, String)> {
    let Entry::Item { item, .. } = entry else {
        return None;
    };
    let ItemStart::FileChange { path } = &item.start else {
        return None;
    };
    Some((item.parent?, path.clone()))
}

/// Returns the approximate size of an item's content, in bytes.
fn weight(end: &ItemEnd) -> usize {
    match end {
        ItemEnd::Message { content, .. } => content.iter().map(|block| block.get().len()).sum(),
        ItemEnd::ToolCall { call, .. } => call.get().len(),
        ItemEnd::FileChange { diff, .. } => diff.len(),
        ItemEnd::TerminalCommand { output, .. } => output.len(),
    }
}

fn draw(entry: Entry, files: &BTreeSet<(ItemId, String)>, cwd: &str) -> Option<Block> {
    match entry {
        Entry::Item { at, by, item, .. } => {
            let block = item_block(at, &by, &item, files, cwd)?;
            Some(block.of(item.lane))
        }
        Entry::Question(question) => Some(question_block(&question).of(question.lane)),
        Entry::Plan(plan) => (!plan.removed).then(|| plan_block(plan, cwd)),
        Entry::Note(block) => Some(block),
    }
}

fn plan_block(plan: PlanShown, cwd: &str) -> Block {
    let PlanShown {
        at,
        entries,
        markdown,
        ..
    } = plan;
    let mut block = Block::new("plan", at, vec![word("Plan")]);
    if let Some(plan) = markdown {
        let MarkdownPlan { content, path } = *plan;
        if let Some(path) = path {
            block = block.line(vec![word("In "), code(short_path(&path, cwd))]);
        }
        if !content.trim().is_empty() {
            block.parts.push(Part::Prose(content));
        }
        return block;
    }
    if entries.is_empty() {
        return block.line(vec![word("Empty.")]);
    }
    let line = |entry: &PlanEntry| {
        let mark = match &entry.status[..] {
            "completed" => "✓ ",
            "in_progress" => "→ ",
            _ => "○ ",
        };
        vec![word(mark), word(entry.content.clone())]
    };
    block.parts.push(Part::List(entries.iter().map(line).collect()));
    block
}

fn question_block(question: &QuestionEntry) -> Block {
    let verdict = match &question.answer {
        Some((_, _, Ok(Outcome::Accepted { .. }))) => " (answered)",
        Some((_, _, Ok(outcome))) if outcome.allows() => " (allowed)",
        Some((_, _, Ok(outcome))) if outcome.refuses() => " (declined)",
        Some(_) => "",
        None => " (not answered)",
    };
    let title = vec![word(question.asked), code(&question.title), word(verdict)];
    let mut block = Block::new("permission", question.at, title);
    for part in &question.subjects {
        let PartInWords {
            verb,
            what,
            details,
            diff,
        } = part_in_words(part);
        let mut spans = vec![word("Would "), word(verb), word(": "), code(what)];
        for detail in details {
            spans.extend([word(", "), code(detail)]);
        }
        block = block.line(spans);
        if let Some(diff) = diff {
            block = block.verbatim("diff", diff);
        }
    }
    let label = |option: &PermissionOption| option.label(question.always.as_deref());
    let option = |option: &PermissionOption| vec![code(&option.kind), word(" "), word(label(option))];
    block
        .parts
        .push(Part::List(question.options.iter().map(option).collect()));
    if let Some(Always::NotRemembered(why)) = question.always.as_deref() {
        block = block.line(vec![
            word("acpd does not remember an answer: "),
            word(why.clone()),
        ]);
    }
    let Some((at, by, answer)) = &question.answer else {
        return block.line(vec![word("Not answered.")]);
    };
    let mut spans = match answer {
        Ok(
            outcome @ Outcome::Selected {
                option_id,
                kind,
                sent_option_id,
            },
        ) => {
            let decided = if outcome.allows() {
                "Allowed"
            } else if outcome.refuses() {
                "Declined"
            } else {
                "Answered"
            };
            let name = |id: &String| {
                let option = question.options.iter().find(|option| option.option_id == *id);
                word(option.map_or_else(|| id.clone(), label))
            };
            let mut spans = vec![
                word(decided),
                word(": "),
                name(option_id),
                word(" ("),
                code(kind),
                word(")"),
            ];
            if let Some(sent) = sent_option_id {
                spans.extend([word("; acpd remembers it, the agent was sent: "), name(sent)]);
            }
            spans
        }
        Ok(Outcome::Accepted { .. }) => vec![word("Answered")],
        Ok(Outcome::Declined) => vec![word("Not answered: declined")],
        Ok(Outcome::Cancelled) => vec![word("Dismissed")],
        Err(reason) => return block.line(vec![word("Void: "), word(reason.clone())]),
    };
    spans.push(word(", by "));
    spans.extend(text::who(by));
    spans.push(word(format!(", {}", moment(*at))));
    block.line(spans)
}
