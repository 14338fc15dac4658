//! The agent's plans, and how many of them a thread keeps.

use acpd_model::event::Level;
use acpd_model::limits::AGENT_STATE_BYTES;
use acpd_model::{EventKind, Origin, RawJson, TurnEvent};

use super::Thread;
use crate::agent::PlanUpdate;

/// Number of plans that a thread keeps.
const PLANS: usize = 64;

/// Bytes of the plans that a thread keeps. A single plan can take more, because a step has its own size in memory.
const PLANS_BYTES: usize = AGENT_STATE_BYTES;

impl Thread {
    /// Records a plan. If the thread then has too many, those that changed longest ago go.
    pub(super) fn replace_plan(
        &mut self,
        plan: PlanUpdate,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        let PlanUpdate {
            id: plan_id,
            entries,
            markdown,
        } = plan;
        let kind = EventKind::Turn(TurnEvent::PlanReplaced {
            plan_id,
            entries,
            markdown,
        });
        self.journal
            .emit_with_params(Origin::Agent, kind, raw, raw_params);
        self.drop_plans();
    }

    fn drop_plans(&mut self) {
        while let Some(plan_id) = self.plan_in_excess() {
            let kind = EventKind::Turn(TurnEvent::PlanRemoved {
                plan_id,
                was_latest: false,
            });
            self.journal.emit(Origin::Daemon, kind, None);
            // An agent that makes a plan for each turn does so forever: it is said once for each start of the thread.
            if !std::mem::replace(&mut self.says_plans_dropped, true) {
                let message = format!(
                    "The agent keeps more than {PLANS} plans, or more than {} KiB of them. Those that it changed longest ago are no \
                     longer shown.",
                    PLANS_BYTES >> 10
                );
                self.journal.notice(Level::Info, "plansDropped", &message);
            }
        }
    }

    /// Returns the id of a plan for which there is no room. The one that changed last stays.
    fn plan_in_excess(&self) -> Option<String> {
        let plans = &self.live().plans;
        let count = plans.as_slice().len();
        let is_full = count > PLANS || plans.bytes() > PLANS_BYTES;
        let oldest = plans.oldest().filter(|_| is_full && count > 1)?;
        Some(oldest.id.clone())
    }

    /// Records that the agent removed a plan. In ACP, removing an unknown plan means nothing.
    pub(super) fn remove_plan(&mut self, plan_id: String, raw: Option<RawJson>, raw_params: Option<RawJson>) {
        let plans = &self.live().plans;
        if plans.get(&plan_id).is_none() {
            return self.journal.emit_unshown(raw, raw_params);
        }
        let was_latest = plans.latest().is_some_and(|latest| latest.id == plan_id);
        let kind = EventKind::Turn(TurnEvent::PlanRemoved { plan_id, was_latest });
        self.journal
            .emit_with_params(Origin::Agent, kind, raw, raw_params);
    }
}
