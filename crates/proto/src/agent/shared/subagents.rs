//! The sessions of subagents in a shared process.
//!
//! In: the reports of agents on their subagents. Out: the thread that such a session belongs to. Owns: nothing beyond the table.
//! Never: gives a thread a session that another one has.

use super::{Seat, SharedAgent};
use crate::agent::bounds::is_name;
use crate::agent::connection::{AgentConnection, AgentEvent};
use crate::agent::update::UpdateKind;

/// Sessions of subagents that one thread may have in a shared process.
const SUBAGENT_SESSIONS: usize = 1024;

impl AgentConnection {
    /// Adds the session of a subagent, whose messages the connection accepts from now on.
    fn add_subagent(&mut self, session: &str) {
        self.subagents.insert(session.to_owned());
    }
}

impl SharedAgent {
    /// Takes note of a subagent that the agent of a thread announces. A report on a session that another thread has, or beyond
    /// the limit, becomes one of a foreign session.
    pub(super) fn note_subagent(&mut self, seat: Seat, event: &mut AgentEvent) {
        let update = match &*event {
            AgentEvent::Update(update) => update,
            AgentEvent::Subagent { event, .. } => match &**event {
                AgentEvent::Update(update) => update,
                _ => return,
            },
            _ => return,
        };
        let UpdateKind::Subagent(report) = &update.kind else {
            return;
        };
        if !self.give_subagent(seat, &report.session) {
            let params = update.raw_params.clone().or_else(|| update.raw.clone());
            *event = AgentEvent::Foreign { params };
        }
    }

    /// Gives a thread the session of a subagent. Returns whether the thread has it now.
    fn give_subagent(&mut self, seat: Seat, session: &str) -> bool {
        if self.subagents.get(session) == Some(&seat) {
            return true;
        }
        let of_seat = self.subagents.values().filter(|whose| **whose == seat);
        let is_free = !self.sessions.contains_key(session) && !self.subagents.contains_key(session);
        if !is_free || of_seat.count() >= SUBAGENT_SESSIONS {
            return false;
        }
        let Some(state) = self.seats.get_mut(&seat) else {
            return false;
        };
        state.connection.add_subagent(session);
        self.departed.remove(session);
        self.subagents.insert(session.to_owned(), seat);
        true
    }

    /// Finds the thread of a session that is not known: its announcement may be among the events that were not collected yet. An
    /// unannounced one has a certain thread only while the process has had one thread.
    pub(super) fn find_subagent(&mut self, session: Option<&str>) {
        let Some(session) = session.filter(|session| is_name(session) && !session.is_empty()) else {
            return;
        };
        let is_known = |agent: &Self| agent.seat_of(session).is_some() || agent.departed.contains(session);
        if is_known(self) {
            return;
        }
        for seat in std::mem::take(&mut self.has_events) {
            self.collect(seat);
        }
        if is_known(self) || self.opening.is_some() || !self.departed.is_empty() {
            return;
        }
        let mut seats = self.seats.iter();
        if let (Some((seat, state)), None) = (seats.next(), seats.next())
            && state.has_turn()
        {
            let seat = *seat;
            self.give_subagent(seat, session);
        }
    }

    /// Releases the subagents of a thread that leaves.
    pub(super) fn depart_subagents(&mut self, seat: Seat) {
        let of_seat = self.subagents.extract_if(.., |_, whose| *whose == seat);
        let sessions: Vec<String> = of_seat.map(|(session, _)| session).collect();
        for session in sessions {
            self.depart(&session, seat);
        }
    }
}
