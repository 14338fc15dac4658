//! Notifications that change the conversation.

use acpd_client::protocol::Notification;

use super::Conversation;
use super::entry::{Body, Entry};
use crate::terminal::items::{Change, Item};

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
        match Change::of(notification) {
            Some(Change::Started { turn, item }) => {
                let mut item = Item::new(&item);
                item.set_rejected(self.rejected.covers(&item));
                if !self.is_recent(&item.id) {
                    self.add_item(Entry::item(turn, item));
                }
                return Folded::Done;
            }
            Some(change) => {
                let is_held = self.change(change.item_id(), |entry| {
                    if let Body::Item(item) = &mut entry.body {
                        item.apply(&change);
                    }
                });
                return if is_held { Folded::Done } else { Folded::NotHeld };
            }
            None => {}
        }
        let has_names_changed = self.lanes.fold(notification);
        if has_names_changed {
            self.memo.get_mut().clear();
        }
        match notification {
            // A subagent's plan is not the turn's.
            Notification::TurnPlanUpdated(updated) if updated.lane.is_none() => {
                let plan = Entry::plan(updated.turn_id.as_deref(), updated.into());
                let (id, body) = (plan.id.clone(), plan.body.clone());
                if !self.change(&id, |entry| entry.body = body) {
                    self.push(plan);
                }
            }
            Notification::TurnPlanRemoved(removed) if removed.lane.is_none() => {
                let plan_id = removed.plan_id.as_deref().unwrap_or_default();
                let id = Entry::plan_id(removed.turn_id.as_deref(), plan_id);
                self.change(&id, |entry| entry.body = Body::Plan(Vec::new()));
            }
            Notification::ThreadNotice(notice) => {
                if let Some(notice) = Entry::notice(&notice.into()) {
                    self.push(notice);
                }
            }
            Notification::ThreadTerminalWaiting(waiting) => self.push(Entry::waiting(waiting)),
            Notification::ServerRequestResolved(resolved) => {
                let answer = resolved.into();
                if let Some((call, is_rejected)) = self.rejected.handle_answer(&answer) {
                    self.set_rejected(call, is_rejected);
                }
                self.push(Entry::answer(&answer));
            }
            Notification::ThreadLogDamaged(damaged) => self.push(Entry::damage(damaged)),
            // A queued turn that was taken back has nothing to end.
            Notification::TurnCompleted(completed) if completed.turn.started_at.is_some() => {
                let end = Entry::end(&completed.turn, self.entries.iter().rev().take(NOTED));
                self.rejected.clear();
                if !self.is_recent(&end.id) {
                    self.push(end);
                }
            }
            Notification::ThreadRolledBack(_) => return Folded::ReadAgain,
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

    /// Adds an item: at the end, or before the end of its turn. The rest of a message may come after its turn.
    fn add_item(&mut self, item: Entry) {
        let end = item.turn.as_deref().map(|turn| Entry::end_id(Some(turn)));
        let newest = self.pages.back().map_or(0, |page| page.entries);
        let mut recent = self.entries.iter().rev().take(newest.min(RECENT));
        let behind = end.and_then(|end| recent.position(|entry| entry.id == end));
        match behind {
            Some(behind) if self.newer.is_empty() => self.insert(self.entries.len() - 1 - behind, item),
            _ => self.push(item),
        }
    }

    fn is_recent(&self, id: &str) -> bool {
        self.entries.iter().rev().take(RECENT).any(|entry| entry.id == id)
    }
}
