//! One entry of the conversation: an item, a notice, an answer, a plan, or the end of a turn.
//!
//! In: turns of pages, and notifications. Out: lines. Never: lets an agent's text look like one of acpd's remarks.

use acpd_client::protocol::{By, Level, LogDamaged, Resolution, TerminalWaiting, Turn, TurnStatus};

use super::line::{Line, Tone};
use super::markup::marked;
use crate::terminal::items::remarks::{ShownAnswer, ShownNotice, ShownPlan, waits_for_input};
use crate::terminal::items::{Block, Item, Role};
use crate::terminal::plain::{plain, plain_line};

/// Number of lines of a folded text at its beginning and at its end.
const FOLDED: (usize, usize) = (3, 3);

/// Maximum length of a line in a folded text, in bytes.
const FOLDED_LINE: usize = 400;

/// A part of the conversation.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Id, unique in the thread.
    pub id: String,
    /// The turn that it belongs to.
    pub turn: Option<String>,
    /// The lane of the subagent that it is about.
    pub lane: Option<String>,
    pub body: Body,
}

#[derive(Debug, Clone)]
pub enum Body {
    Item(Item),
    /// A remark of acpd.
    Remark {
        tone: Tone,
        text: String,
    },
    Plan(Vec<String>),
}

impl Entry {
    /// Creates an entry for an item.
    pub fn item(turn: Option<&str>, item: Item) -> Self {
        Self {
            id: item.id.clone(),
            turn: turn.map(str::to_owned),
            lane: item.lane.clone(),
            body: Body::Item(item),
        }
    }

    fn remark(id: String, turn: Option<&str>, tone: Tone, text: String) -> Self {
        Self {
            id,
            turn: turn.map(str::to_owned),
            lane: None,
            body: Body::Remark { tone, text },
        }
    }

    /// Creates an entry for a notice, unless only agent developers need it.
    pub fn notice(notice: &ShownNotice<'_>) -> Option<Self> {
        if notice.is_about_protocol() {
            return None;
        }
        let (tone, mark) = match notice.level {
            Level::Error => (Tone::Failed, "✗"),
            Level::Warning => (Tone::Warning, "!"),
            _ => (Tone::Remark, "·"),
        };
        let mut text = format!("{mark} {}", notice.message());
        if let Some(detail) = notice.detail() {
            text.push_str(&format!("\n{detail}"));
        }
        let id = format!("notice {}", notice.seq);
        Some(Self {
            lane: notice.lane.map(str::to_owned),
            ..Self::remark(id, notice.turn, tone, text)
        })
    }

    /// Creates an entry for a command that waits for input.
    pub fn waiting(waiting: &TerminalWaiting) -> Self {
        let text = format!("! {}", waits_for_input(waiting));
        let id = format!("waiting {}", waiting.seq);
        Self::remark(id, waiting.turn_id.as_deref(), Tone::Warning, text)
    }

    /// Creates an entry for the answer to a question.
    pub fn answer(answer: &ShownAnswer<'_>) -> Self {
        let by = originator(answer.by);
        let text = match answer.outcome {
            Resolution::Accepted if answer.option_kind.is_none() => format!("✓ answered by {by}"),
            Resolution::Accepted => format!("✓ allowed by {by}"),
            Resolution::Declined => format!("✗ declined by {by}"),
            _ => match answer.reason {
                Some(why) => format!("· question closed: {}", plain_line(why)),
                None => format!("· question closed by {by}"),
            },
        };
        let id = format!("answer {}", answer.seq);
        Self::remark(id, answer.turn, Tone::Remark, text)
    }

    /// Creates an entry for the end of a turn. `before` are the entries before it, which may have the reason already.
    pub fn end<'e>(turn: &Turn, mut before: impl Iterator<Item = &'e Self>) -> Self {
        let why = turn.error.as_deref().or(turn.stop_reason.as_deref());
        let why = why.filter(|why| *why != "end_turn");
        let has_noted = |why: &str, entry: &Self| match &entry.body {
            // Behind the message, a notice may have a detail.
            Body::Remark { text, .. } => {
                let why = plain(why);
                text.ends_with(&why) || text.contains(&format!("{why}\n"))
            }
            _ => false,
        };
        let why = why
            .filter(|why| !before.any(|entry| has_noted(why, entry)))
            .map(plain_line);
        let tone = if turn.status == TurnStatus::Failed {
            Tone::Failed
        } else {
            Tone::Remark
        };
        let changed = turn.changes.as_ref().map(|changes| {
            let files = changes.files;
            let plural = if files == 1 { "" } else { "s" };
            format!(" · {files} file{plural} +{} −{}", changes.added, changes.removed)
        });
        let text = format!(
            "── {}{}{}",
            plain_line(turn.status.as_str()),
            why.map(|why| format!(": {why}")).unwrap_or_default(),
            changed.unwrap_or_default()
        );
        let turn = turn.id.as_deref();
        Self::remark(Self::end_id(turn), turn, tone, text)
    }

    /// Returns the id of the entry for the end of a turn.
    pub fn end_id(turn: Option<&str>) -> String {
        format!("end {}", turn.unwrap_or_default())
    }

    /// Creates an entry for a plan.
    pub fn plan(turn: Option<&str>, plan: ShownPlan<'_>) -> Self {
        Self {
            id: Self::plan_id(turn, plan.id),
            turn: turn.map(str::to_owned),
            lane: None,
            body: Body::Plan(plan.lines()),
        }
    }

    /// Returns the id of the entry for a plan.
    pub fn plan_id(turn: Option<&str>, plan_id: &str) -> String {
        let turn = turn.unwrap_or_default();
        match plan_id {
            "" => format!("plan {turn}"),
            plan_id => format!("plan {turn} {plan_id}"),
        }
    }

    /// Creates an entry for events that cannot be read.
    pub fn damage(damaged: &LogDamaged) -> Self {
        let text = format!(
            "✗ events {} to {} cannot be read: {}",
            damaged.first_seq,
            damaged.seq,
            plain_line(&damaged.reason)
        );
        Self::remark(format!("damage {}", damaged.seq), None, Tone::Failed, text)
    }

    /// Returns the entries of a turn of a page. `continues`: whether the end of the turn is on a later page.
    pub fn of_turn(turn: &Turn, continues: bool) -> Vec<Self> {
        let id = turn.id.as_deref();
        let items = Item::of_turn(turn).into_iter();
        let mut entries: Vec<Self> = items.map(|item| Self::item(id, item)).collect();
        let mut place = |after: Option<&str>, entry: Self| {
            let mut at = match after {
                Some(after) => {
                    let at = entries.iter().rposition(|entry| entry.id == after);
                    at.map_or(entries.len(), |at| at + 1)
                }
                None => 0,
            };
            // Behind those that were placed there before.
            while entries
                .get(at)
                .is_some_and(|entry| !matches!(entry.body, Body::Item(_)))
            {
                at += 1;
            }
            entries.insert(at, entry);
        };
        let mut late = Vec::new();
        for notice in turn.notices.iter().flatten() {
            match Self::notice(&notice.into()) {
                // It came while no turn was running.
                Some(entry) if notice.after_turn == Some(true) => late.push(entry),
                Some(entry) => place(notice.after_item_id.as_deref(), entry),
                None => {}
            }
        }
        for answer in turn.answers.iter().flatten() {
            let after = answer.item_id.as_deref().or(answer.after_item_id.as_deref());
            place(after, Self::answer(&answer.into()));
        }
        if continues {
            return entries;
        }
        for plan in ShownPlan::of_turn(turn) {
            if !plan.lines().is_empty() {
                entries.push(Self::plan(id, plan));
            }
        }
        if id.is_some() && turn.status != TurnStatus::Running {
            let end = Self::end(turn, entries.iter());
            entries.push(end);
        }
        entries.append(&mut late);
        entries
    }

    /// Returns the entry's size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let body = match &self.body {
            Body::Item(item) => item.bytes(),
            Body::Remark { text, .. } => text.len(),
            Body::Plan(steps) => steps.iter().map(String::len).sum(),
        };
        let ids = [&self.turn, &self.lane].into_iter().flatten().map(String::len);
        size_of::<Self>() + self.id.len() + ids.sum::<usize>() + body
    }

    /// Returns whether the entry is a title with little text, so that entries like it need no gap between them.
    pub fn is_brief(&self) -> bool {
        match &self.body {
            Body::Item(item) => item
                .blocks()
                .first()
                .is_some_and(|first| matches!(first.role, Role::Title | Role::Failed)),
            Body::Remark { .. } => true,
            Body::Plan(_) => false,
        }
    }

    /// Returns the lines of the entry. `open`: whether to show long texts in full. `columns`: the room for tables.
    pub fn lines(&self, open: bool, columns: usize) -> Vec<Line> {
        match &self.body {
            Body::Item(item) => item
                .blocks()
                .iter()
                .flat_map(|block| lines_of(block, open, columns))
                .collect(),
            Body::Remark { tone, text } => text.lines().map(|line| Line::new(*tone, "", line)).collect(),
            Body::Plan(steps) => steps
                .iter()
                .map(|step| Line::new(Tone::Remark, "", step))
                .collect(),
        }
    }
}

fn lines_of(block: &Block, open: bool, columns: usize) -> Vec<Line> {
    let plain_lines = |tone, lead| {
        block
            .text
            .lines()
            .map(|line| Line::new(tone, lead, line))
            .collect()
    };
    match block.role {
        Role::User => plain_lines(Tone::User, "> "),
        Role::Told => folded(&format!("(told) {}", block.text), open, |_| Tone::Thought),
        Role::Answer => marked(&block.text, columns),
        Role::Title => plain_lines(Tone::Title, ""),
        Role::Failed => plain_lines(Tone::Failed, ""),
        Role::Remark => plain_lines(Tone::Remark, "  "),
        Role::Thought => folded(&block.text, open, |_| Tone::Thought),
        Role::Output => folded(&block.text, open, |_| Tone::Output),
        Role::Diff => folded(&block.text, open, |line| match line.as_bytes().first() {
            Some(b'+') => Tone::Added,
            Some(b'-') => Tone::Removed,
            _ => Tone::Output,
        }),
    }
}

/// Returns the lines of a text, or its beginning and its end.
fn folded(text: &str, open: bool, tone: impl Fn(&str) -> Tone) -> Vec<Line> {
    let lines: Vec<&str> = text.lines().collect();
    let shown = |line: &&str| Line::new(tone(line), "│ ", line);
    if open {
        return lines.iter().map(shown).collect();
    }
    let short = |line: &&str| {
        if line.len() <= FOLDED_LINE {
            return shown(line);
        }
        let end = line.floor_char_boundary(FOLDED_LINE);
        shown(&&*format!("{}… (Ctrl+O)", &line[..end]))
    };
    let (first, last) = FOLDED;
    // One more line than fits takes no more room than the remark about it.
    if lines.len() <= first + last + 1 {
        return lines.iter().map(short).collect();
    }
    let hidden = lines.len() - first - last;
    let mut folded: Vec<Line> = lines[..first].iter().map(short).collect();
    folded.push(Line::new(
        Tone::Remark,
        "│ ",
        &format!("… {hidden} more lines (Ctrl+O)"),
    ));
    folded.extend(lines[lines.len() - last..].iter().map(short));
    folded
}

/// Describes who caused an event.
pub fn originator(by: &By) -> String {
    match by {
        By::Agent => "the agent".to_owned(),
        By::Daemon => "acpd".to_owned(),
        By::Policy { rule: Some(rule), .. } => format!("the policy ({})", plain_line(rule)),
        By::Policy { .. } => "the policy".to_owned(),
        By::Client { principal, client } => format!("{} ({})", plain_line(principal), plain_line(client)),
        _ => "a client (unknown)".to_owned(),
    }
}
