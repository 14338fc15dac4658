//! What acpd says between the items: notices and answers, whether they were followed or read, and the steps of plans.

use acpd_client::protocol::{
    By, Level, Notice, PlacedAnswer, PlacedNotice, PlanEntry, Resolution, Resolved, TerminalWaiting,
};

use super::short_id;
use crate::terminal::plain::{plain, plain_line};

/// A notice.
pub struct ShownNotice<'n> {
    pub level: &'n Level,
    pub turn: Option<&'n str>,
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

/// Formats a step of a plan.
pub fn plan_line(entry: &PlanEntry) -> String {
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
}
