//! What acpd says between the items: notices and answers, whether they were followed or read, and the steps of plans.

use acpd_client::protocol::{
    By, Level, Notice, PlacedAnswer, PlacedNotice, Plan, PlanEntry, PlanUpdated, Resolution, Resolved,
    TerminalWaiting, Turn,
};

use super::short_id;
use crate::terminal::plain::{plain, plain_line, visible_line};

/// A notice.
pub struct ShownNotice<'n> {
    pub level: &'n Level,
    pub turn: Option<&'n str>,
    /// The lane of the subagent that it is about.
    pub lane: Option<&'n str>,
    pub seq: u64,
    code: &'n str,
    message: &'n str,
    detail: Option<&'n str>,
    by: Option<&'n By>,
}

/// The answer to a question.
pub struct ShownAnswer<'a> {
    /// The item that the question was about.
    pub item: Option<&'a str>,
    pub outcome: &'a Resolution,
    pub option_kind: Option<&'a str>,
    pub reason: Option<&'a str>,
    pub by: &'a By,
    pub turn: Option<&'a str>,
    pub seq: u64,
}

/// Reads the types of the protocol that have the same members.
macro_rules! shown {
    ($($notice:ty, $answer:ty;)+) => {$(
        impl<'n> From<&'n $notice> for ShownNotice<'n> {
            fn from(notice: &'n $notice) -> Self {
                Self {
                    level: &notice.level,
                    turn: notice.turn_id.as_deref(),
                    lane: notice.lane.as_deref(),
                    seq: notice.seq,
                    code: &notice.code,
                    message: &notice.message,
                    detail: notice.detail.as_deref(),
                    by: notice.by.as_ref(),
                }
            }
        }

        impl<'a> From<&'a $answer> for ShownAnswer<'a> {
            fn from(answer: &'a $answer) -> Self {
                Self {
                    item: answer.item_id.as_deref(),
                    outcome: &answer.outcome,
                    option_kind: answer.option_kind.as_deref(),
                    reason: answer.reason.as_deref(),
                    by: &answer.by,
                    turn: answer.turn_id.as_deref(),
                    seq: answer.seq,
                }
            }
        }
    )+};
}

shown! {
    Notice, Resolved;
    PlacedNotice, PlacedAnswer;
}

impl ShownNotice<'_> {
    /// Returns whether only agent developers need it: the agent violated the protocol, or called an unknown method. Refusals
    /// by a policy, a client or the daemon are useful to all users.
    pub fn is_about_protocol(&self) -> bool {
        let is_refused_call = self.code == "callRefused" && matches!(self.by, Some(By::Agent));
        self.is_info() && (self.code == "protocolViolation" || is_refused_call)
    }

    /// Returns whether it is neither a warning nor an error.
    pub fn is_info(&self) -> bool {
        *self.level == Level::Info
    }

    /// Returns its message.
    pub fn message(&self) -> String {
        plain(self.message)
    }

    /// Returns the rest of a warning or an error: why it is one, or the setting or command that fixes it.
    pub fn detail(&self) -> Option<String> {
        let detail = plain(self.detail?.trim_end());
        (!self.is_info() && !detail.trim().is_empty()).then_some(detail)
    }
}

/// Says that a command waits for input, and how to type.
pub fn waits_for_input(waiting: &TerminalWaiting) -> String {
    let (thread, terminal) = (plain_line(&waiting.thread_id), plain_line(&waiting.terminal_id));
    format!(
        "the command in {terminal} is waiting for input; answer with: acpd type {} --terminal {terminal}",
        short_id(&thread)
    )
}

/// A plan of the agent, from a page or a notification.
#[derive(Debug, Clone, Copy)]
pub struct ShownPlan<'a> {
    /// The agent's id for the plan; empty for the plan without an id.
    pub id: &'a str,
    entries: &'a [PlanEntry],
    markdown: Option<&'a str>,
    path: Option<&'a str>,
}

impl<'a> ShownPlan<'a> {
    /// Returns the plans of a turn.
    pub fn of_turn(turn: &'a Turn) -> Vec<Self> {
        match (&turn.plans, &turn.plan) {
            (Some(plans), _) => plans.iter().map(Self::from).collect(),
            (None, Some(entries)) => vec![Self {
                id: "",
                entries,
                markdown: None,
                path: None,
            }],
            (None, None) => Vec::new(),
        }
    }

    /// Returns the lines of the plan, of each its beginning. Of a long text, those at its beginning, and how many follow.
    pub fn first_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines().into_iter().map(beginning).collect();
        let more = lines.len().saturating_sub(TEXT_LINES);
        if self.markdown.is_some() && more > 0 {
            lines.truncate(TEXT_LINES);
            lines.push(format!("… {more} more lines"));
        }
        lines
    }

    /// Returns the lines of the plan: a line for each step, or the file and the text. Each begins with a sign, so that none can look
    /// like a remark of acpd.
    pub fn lines(&self) -> Vec<String> {
        let Some(text) = self.markdown else {
            return self.entries.iter().map(plan_line).collect();
        };
        let path = self.path.map(|path| format!("○ Plan in {}", visible_line(path)));
        let text = plain(text.trim_end());
        let text = text.lines().map(|line| format!("│ {line}"));
        path.into_iter().chain(text).collect()
    }
}

/// Number of lines of a text that are shown at each of its changes.
const TEXT_LINES: usize = 24;

/// Most of a line that is shown at each change of its plan, in bytes.
const LINE_BYTES: usize = 400;

/// Cuts a line at a character.
fn beginning(mut line: String) -> String {
    if line.len() > LINE_BYTES {
        line.truncate(line.floor_char_boundary(LINE_BYTES));
        line.push('…');
    }
    line
}

impl<'a> From<&'a Plan> for ShownPlan<'a> {
    fn from(plan: &'a Plan) -> Self {
        Self {
            id: plan.plan_id.as_deref().unwrap_or_default(),
            entries: &plan.entries,
            markdown: plan.markdown.as_deref(),
            path: plan.path.as_deref(),
        }
    }
}

impl<'a> From<&'a PlanUpdated> for ShownPlan<'a> {
    fn from(plan: &'a PlanUpdated) -> Self {
        Self {
            id: plan.plan_id.as_deref().unwrap_or_default(),
            entries: &plan.entries,
            markdown: plan.markdown.as_deref(),
            path: plan.path.as_deref(),
        }
    }
}

fn plan_line(entry: &PlanEntry) -> String {
    let mark = match entry.status.as_str() {
        "completed" => "●",
        "in_progress" => "◐",
        _ => "○",
    };
    format!("{mark} {}", plain_line(&entry.content))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::terminal::items::fixtures::read;

    #[test]
    fn fixes_are_shown_for_warnings_and_not_for_remarks() {
        let detail = |members: Value| {
            let notice: Notice = read("thread/notice", members);
            ShownNotice::from(&notice).detail()
        };
        assert_eq!(
            detail(json!({ "level": "warning", "detail": "add \u{1b}it\n" })).as_deref(),
            Some("add \u{fffd}it")
        );
        assert_eq!(
            detail(json!({ "level": "error", "detail": "last words" })).as_deref(),
            Some("last words")
        );
        for nothing in [
            json!({ "level": "info", "detail": "x" }),
            json!({ "level": "warning", "detail": " \n" }),
            json!({ "level": "error" }),
        ] {
            assert_eq!(detail(nothing.clone()), None, "{nothing}");
        }
    }

    #[test]
    fn a_plan_has_a_line_for_each_step_or_its_text() {
        let plan = |json: Value| serde_json::from_value::<Plan>(json).unwrap();
        let steps = plan(json!({ "entries": [
            { "content": "a\u{1b}\nb", "priority": "low", "status": "completed" },
            { "content": "c", "priority": "low", "status": "_later" },
        ] }));
        assert_eq!(ShownPlan::from(&steps).lines(), ["● a\u{fffd}\u{fffd}b", "○ c"]);
        let text = "x\u{1b}\n".repeat(30);
        let text = plan(
            json!({ "entries": [], "form": "markdown", "planId": "p", "markdown": text, "path": "/a\nb" }),
        );
        let shown = ShownPlan::from(&text);
        assert_eq!((shown.id, shown.lines().len()), ("p", 31));
        assert_eq!(shown.lines()[..2], ["○ Plan in /a\u{fffd}b", "│ x\u{fffd}"]);
        let first = shown.first_lines();
        assert_eq!(
            (first.len(), first.last().map(String::as_str)),
            (25, Some("… 7 more lines"))
        );
        let long = "ä".repeat(10_000);
        for plan in [
            plan(json!({ "entries": [], "markdown": long })),
            plan(json!({ "entries": [{ "content": long, "priority": "low", "status": "pending" }] })),
        ] {
            let shown = ShownPlan::from(&plan);
            assert!(shown.lines()[0].len() > long.len());
            let first = shown.first_lines().concat();
            assert!(first.ends_with("ä…") && first.len() < 410, "{first}");
        }
        let empty = plan(json!({ "entries": [], "markdown": "" }));
        assert_eq!(ShownPlan::from(&empty).lines(), Vec::<String>::new());
    }

    #[test]
    fn a_turn_has_the_plan_of_earlier_daemons_or_all_plans() {
        let entry = json!({ "content": "a", "priority": "low", "status": "pending" });
        let turn = |more: Value| {
            let mut turn = json!({ "status": "completed", "plan": [entry] });
            turn.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let turn: Turn = serde_json::from_value(turn).unwrap();
            let plans = ShownPlan::of_turn(&turn);
            plans.iter().map(|plan| plan.id.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(turn(json!({})), [""]);
        let plans = json!([{ "entries": [entry] }, { "entries": [], "planId": "b", "markdown": "B" }]);
        assert_eq!(turn(json!({ "plans": plans })), ["", "b"]);
    }
}
