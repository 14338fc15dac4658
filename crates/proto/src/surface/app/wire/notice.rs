//! Notices for the user.

use std::borrow::Cow;

use acpd_model::event::Level;
use acpd_model::{Event, EventKind, ItemId, RawJson, SessionEvent};

use super::At;
use super::origin::By;
use crate::projection::is_too_large;

wire! {
    /// A notice for the user.
    struct Notice<'a> {
        [flatten] at: At<'a>,
        /// Who refused the call of the agent or of a user.
        by: Option<By<'a>>,
        /// The client whose user wanted to run a command that was refused.
        requested_by: Option<By<'a>>,
        level: Level,
        code: &'a str,
        message: Cow<'a, str>,
        detail: Option<&'a str>,
        /// The folder in which the agent was denied a path, if `thread/directories/add` may open it. The agent has named the path: show
        /// the folder to the user first.
        folder: Option<&'a str>,
        /// Length of a line that is not a message.
        bytes: Option<u64>,
        /// The agent's own update, unchanged.
        update: Option<&'a RawJson>,
        /// Whether it is larger than 16 KiB: then pages of turns leave it out.
        omitted: Option<bool>,
    }

    /// A notice, and its place.
    struct PlacedNotice<'a> {
        [flatten] notice: Notice<'a>,
        /// Id of the item before the notice. Absent if the notice comes after the end of the turn, or before the first turn.
        after_item_id: Option<ItemId>,
        /// Whether the notice comes after the end of the turn: no turn was running.
        after_turn: Option<bool>,
    }
}

impl<'a> Notice<'a> {
    /// Describes an event that is a notice for the user; `None` for any other event.
    pub fn of(at: At<'a>, event: &'a Event) -> Option<Self> {
        let omitted = is_too_large(event).then_some(true);
        let notice = Self::shown(at, event)?;
        Some(Self { omitted, ..notice })
    }

    fn shown(at: At<'a>, event: &'a Event) -> Option<Self> {
        Some(match &event.kind {
            EventKind::Session(SessionEvent::AgentLost {
                reason,
                stderr,
                expected,
            }) => {
                let level = if *expected { Level::Info } else { Level::Error };
                Self {
                    detail: Some(stderr),
                    ..Self::plain(at, level, "agentLost", reason)
                }
            }
            EventKind::Session(SessionEvent::NoticeGiven {
                level,
                code,
                message,
                detail,
                folder,
            }) => Self {
                detail: detail.as_deref(),
                folder: folder.as_deref(),
                update: event.raw.as_ref(),
                ..Self::plain(at, *level, code, message)
            },
            EventKind::Session(SessionEvent::LineMalformed { reason, text, bytes }) => {
                let message = format!("The agent wrote an invalid line: {reason}");
                Self {
                    detail: Some(text),
                    bytes: Some(*bytes),
                    ..Self::plain(at, Level::Warning, "malformedLine", message)
                }
            }
            EventKind::Session(SessionEvent::CallRefused {
                method,
                reason,
                requested_by,
            }) => {
                let message = match requested_by {
                    Some(user) => format!(
                        "{} wanted to run a command and was refused: {reason}",
                        user.principal
                    ),
                    None => format!("The agent called {method} and was refused: {reason}"),
                };
                Self {
                    by: Some(By::from(&event.by)),
                    requested_by: requested_by.as_deref().map(By::from),
                    ..Self::plain(at, Level::Info, "callRefused", message)
                }
            }
            EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Item(_)
            | EventKind::Host(_)
            | EventKind::Request(_)
            | EventKind::Unknown => return None,
        })
    }

    fn plain(at: At<'a>, level: Level, code: &'a str, message: impl Into<Cow<'a, str>>) -> Self {
        Self {
            at,
            by: None,
            requested_by: None,
            level,
            code,
            message: message.into(),
            detail: None,
            folder: None,
            bytes: None,
            update: None,
            omitted: None,
        }
    }
}
