//! The agent's plans, by its ids.

use acpd_model::event::{MarkdownPlan, PlanEntry};
use acpd_model::{Event, EventKind, Seq, TurnEvent, TurnId};
use serde::{Deserialize, Serialize};

/// A plan of the agent.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The agent's id for the plan; empty for the plan without an id.
    pub id: String,
    /// The turn in which the agent last changed it.
    pub turn: Option<TurnId>,
    /// Number of the event that last changed it.
    pub seq: Seq,
    /// Number of the event that first changed it in that turn. It orders the plans of a turn that runs; what is read of an ended turn
    /// is in order, and has the last event alone. So plans are equal whatever it is.
    pub first: Seq,
    /// The steps; empty for a plan of another form.
    pub entries: Vec<PlanEntry>,
    /// The plan as Markdown, in place of steps.
    pub markdown: Option<Box<MarkdownPlan>>,
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            id,
            turn,
            seq,
            first: _,
            entries,
            markdown,
        } = self;
        (id, turn, seq, entries, markdown)
            == (
                &other.id,
                &other.turn,
                &other.seq,
                &other.entries,
                &other.markdown,
            )
    }
}

impl Plan {
    /// Returns about how many bytes of memory the plan takes.
    pub fn bytes(&self) -> usize {
        let step = |entry: &PlanEntry| {
            size_of::<PlanEntry>() + entry.content.len() + entry.priority.len() + entry.status.len()
        };
        let text = self.markdown.as_ref().map_or(0, |plan| {
            plan.content.len() + plan.path.as_ref().map_or(0, String::len)
        });
        self.id.len() + text + self.entries.iter().map(step).sum::<usize>()
    }
}

/// Plans, in the order in which they came. A plan that is changed keeps its place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plans(Vec<Plan>);

impl Plans {
    /// Applies the next event.
    pub fn fold(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Turn(TurnEvent::PlanReplaced {
                plan_id,
                entries,
                markdown,
            }) => self.replace(Plan {
                id: plan_id.clone(),
                turn: event.turn,
                seq: event.seq,
                first: event.seq,
                entries: entries.clone(),
                markdown: markdown.clone(),
            }),
            EventKind::Turn(TurnEvent::PlanRemoved { plan_id, .. }) => {
                self.0.retain(|plan| plan.id != *plan_id);
            }
            EventKind::Turn(_)
            | EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Item(_)
            | EventKind::Host(_)
            | EventKind::Request(_)
            | EventKind::Unknown => {}
        }
    }

    /// Adds a plan, or replaces the one with its id.
    pub fn replace(&mut self, plan: Plan) {
        match self.0.iter_mut().find(|known| known.id == plan.id) {
            Some(known) => {
                let first = if known.turn == plan.turn {
                    known.first
                } else {
                    plan.first
                };
                *known = Plan { first, ..plan };
            }
            None => self.0.push(plan),
        }
    }

    /// Returns the plans in their order.
    pub fn as_slice(&self) -> &[Plan] {
        &self.0
    }

    /// Returns the plan with this id.
    pub fn get(&self, id: &str) -> Option<&Plan> {
        self.0.iter().find(|plan| plan.id == id)
    }

    /// Returns the plans that the agent last changed in this turn, in the order in which they came in it.
    pub fn of_turn(&self, turn: TurnId) -> impl Iterator<Item = &Plan> {
        let mut plans: Vec<_> = self.0.iter().filter(|plan| plan.turn == Some(turn)).collect();
        plans.sort_unstable_by_key(|plan| plan.first);
        plans.into_iter()
    }

    /// Returns the plan that changed last.
    pub fn latest(&self) -> Option<&Plan> {
        self.0.iter().max_by_key(|plan| plan.seq)
    }

    /// Returns the plan that changed longest ago.
    pub fn oldest(&self) -> Option<&Plan> {
        self.0.iter().min_by_key(|plan| plan.seq)
    }

    /// Returns the plan with steps that changed last.
    pub fn latest_steps(&self) -> Option<&Plan> {
        latest_steps(self.0.iter())
    }

    /// Returns whether the plan without an id is the only one, and has steps. Readers of earlier versions know it whole.
    pub fn is_plain(&self) -> bool {
        self.0
            .iter()
            .all(|plan| plan.id.is_empty() && plan.markdown.is_none())
    }

    /// Returns about how many bytes of memory the plans take.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(Plan::bytes).sum()
    }

    /// Removes all plans.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Returns the plan with steps that changed last.
pub fn latest_steps<'a>(plans: impl Iterator<Item = &'a Plan>) -> Option<&'a Plan> {
    plans
        .filter(|plan| plan.markdown.is_none())
        .max_by_key(|plan| plan.seq)
}
