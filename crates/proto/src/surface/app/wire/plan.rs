//! The agent's plans, as results and notifications contain them.

use acpd_model::event::{MarkdownPlan, PlanEntry};

use crate::projection;

wire! {
    /// A plan of the agent. One without an id, and of steps, has only `entries`.
    struct Plan<'a> {
        /// Steps of the plan, in order. Empty for a plan of another form.
        entries: &'a [PlanEntry],
        /// The agent's id for the plan. Absent for the plan without an id.
        plan_id: Option<&'a str>,
        /// Absent for a plan of steps.
        form: Option<PlanForm>,
        /// The whole plan, if its form is `markdown`. It can be empty.
        markdown: Option<&'a str>,
        /// The absolute path of the file that contains the plan, as the agent reported it. Only some Markdown plans have one.
        path: Option<&'a str>,
    }

    /// The form of a plan that has no steps.
    enum PlanForm {
        /// The plan is a text in `markdown`.
        Markdown,
    }

    /// One step of an agent's plan.
    struct PlanEntry for PlanEntry {
        /// Description of the step.
        content: String,
        /// `high`, `medium` or `low`; other values are kept as received.
        priority: String,
        /// `pending`, `in_progress` or `completed`; other values are kept as received.
        status: String,
    }
}

impl<'a> Plan<'a> {
    /// Describes a plan by its parts.
    pub fn of(id: &'a str, entries: &'a [PlanEntry], markdown: Option<&'a MarkdownPlan>) -> Self {
        Self {
            entries,
            plan_id: id_of(id),
            form: markdown.map(|_| PlanForm::Markdown),
            markdown: markdown.map(|plan| &*plan.content),
            path: markdown.and_then(|plan| plan.path.as_deref()),
        }
    }
}

/// Returns the id of a plan, if it has one.
pub fn id_of(id: &str) -> Option<&str> {
    Some(id).filter(|id| !id.is_empty())
}

shown! { projection::Plan as Plan, |plan| Plan::of(&plan.id, &plan.entries, plan.markdown.as_deref()) }
