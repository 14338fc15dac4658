//! Notifications that change the conversation.

use acpd_client::protocol::Notification;
use serde_json::Value;

use super::entry::{Body, Entry};
use super::{Conversation, raw};
use crate::terminal::items::Item;

/// Number of entries before the end of a turn that may have the reason of its end.
const NOTED: usize = 4;

/// Number of entries among which a new one is looked for. Events arrive once, so an agent alone can repeat an item.
const RECENT: usize = 100;

/// How a notification was folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folded {
    /// The conversation is up to date.
    Done,
    /// The item is on a page that is not held.
    NotHeld,
    /// The conversation has to be read again.
    ReadAgain,
}

impl Conversation {
    /// Folds one notification.
    pub fn fold(&mut self, notification: &Notification) -> Folded {
        let params = match notification {
            Notification::ItemStarted(params) => raw(params),
            Notification::ItemToolCallStarted(params) => raw(params),
            Notification::ItemFileChangeStarted(params) => raw(params),
            Notification::ItemTerminalCommandStarted(params) => raw(params),
            Notification::ItemUserMessage(params) => raw(params),
            Notification::ItemUpdated(params) => raw(params),
            Notification::ItemCompleted(params) => raw(params),
            Notification::ItemToolCallCompleted(params) => raw(params),
            Notification::ItemFileChangeCompleted(params) => raw(params),
            Notification::ItemTerminalCommandCompleted(params) => raw(params),
            Notification::ItemAgentMessageDelta(params) | Notification::ItemAgentThoughtDelta(params) => {
                raw(params)
            }
            Notification::ItemTerminalCommandOutput(params) => raw(params),
            Notification::TurnPlanUpdated(params) => raw(params),
            Notification::ThreadNotice(params) => raw(params),
            Notification::ThreadTerminalWaiting(params) => raw(params),
            Notification::ServerRequestResolved(params) => raw(params),
            Notification::ThreadLogDamaged(params) => raw(params),
            Notification::TurnCompleted(params) => raw(params),
            _ => Value::Null,
        };
        self.fold_raw(notification.method(), &params)
    }

    fn fold_raw(&mut self, method: &str, params: &Value) -> Folded {
        let turn = params["turnId"].as_str();
        match method {
            "item/started"
            | "item/toolCall/started"
            | "item/fileChange/started"
            | "item/terminalCommand/started" => {
                let mut item = Item::read(params);
                item.set_rejected(self.rejected.covers(&item));
                if !self.is_recent(&item.id) {
                    self.push(Entry::item(turn, item));
                }
            }
            "item/userMessage"
            | "item/updated"
            | "item/completed"
            | "item/toolCall/completed"
            | "item/fileChange/completed"
            | "item/terminalCommand/completed" => {
                return self.change_item(params, |item| item.update(params));
            }
            "item/agentMessage/delta" | "item/agentThought/delta" => {
                return self.change_item(params, |item| item.append(params));
            }
            "item/terminalCommand/output" => {
                return self.change_item(params, |item| item.append_output(params));
            }
            "turn/plan/updated" => {
                let plan = Entry::plan(turn, &params["entries"]);
                let (id, body) = (plan.id.clone(), plan.body.clone());
                if !self.change(&id, |entry| entry.body = body) {
                    self.push(plan);
                }
            }
            "thread/notice" => {
                if let Some(notice) = Entry::notice(params) {
                    self.push(notice);
                }
            }
            "thread/terminal/waiting" => self.push(Entry::waiting(params)),
            "serverRequest/resolved" => {
                if let Some((call, is_rejected)) = self.rejected.handle_answer(params) {
                    self.set_rejected(call, is_rejected);
                }
                self.push(Entry::answer(params));
            }
            "thread/log/damaged" => self.push(Entry::damage(params)),
            "turn/completed" => {
                let end = Entry::end(&params["turn"], self.entries.iter().rev().take(NOTED));
                // A queued turn that was taken back has nothing to end.
                let has_begun = params["turn"]["startedAt"].is_number();
                if has_begun {
                    self.rejected.clear();
                }
                if has_begun && !self.is_recent(&end.id) {
                    self.push(end);
                }
            }
            "thread/rolledBack" => return Folded::ReadAgain,
            _ => {}
        }
        Folded::Done
    }

    /// Marks the items of a tool call about which an answer has changed.
    fn set_rejected(&mut self, call: &str, is_rejected: bool) {
        let is_of_call = |entry: &&Entry| matches!(&entry.body, Body::Item(item) if item.is_of(call));
        let of_call = self.entries.iter().filter(is_of_call);
        let ids: Vec<String> = of_call.map(|entry| entry.id.clone()).collect();
        for id in ids {
            self.change(&id, |entry| {
                if let Body::Item(item) = &mut entry.body {
                    item.set_rejected(is_rejected);
                }
            });
        }
    }

    fn is_recent(&self, id: &str) -> bool {
        self.entries.iter().rev().take(RECENT).any(|entry| entry.id == id)
    }

    fn change_item(&mut self, params: &Value, change: impl FnOnce(&mut Item)) -> Folded {
        let id = params["itemId"].as_str().unwrap_or_default();
        let held = self.change(id, |entry| {
            if let Body::Item(item) = &mut entry.body {
                change(item);
            }
        });
        if held { Folded::Done } else { Folded::NotHeld }
    }
}
