//! One of the options of a permission request.
//!
//! In: the request. Out: the line that shows the option, and the response that chooses it. Never: treats the
//! agent's name of an option as its effect.

use acpd_client::protocol::{self, Approval};
use acpd_model::event::{Always, PermissionOption};
use serde_json::{Value, json};

use crate::terminal::plain::visible_line;

/// An option, as shown to the user.
#[derive(Clone)]
pub struct Choice {
    option: PermissionOption,
    /// The effect of an "always" option.
    always: Option<Always>,
    /// Whether acpd stores no rule for this option, but the agent may remember it.
    agent_remembers: bool,
}

impl Choice {
    /// Returns the options of a request, in the agent's order.
    pub fn of(approval: &Approval) -> Vec<Self> {
        let always = match &approval.always {
            Some(protocol::Always::Holds(what)) => Some(Always::Holds(what.clone())),
            Some(protocol::Always::NotRemembered(why)) => Some(Always::NotRemembered(why.clone())),
            _ => None,
        };
        let agent_remembers = approval.agent_remembers.as_deref().unwrap_or_default();
        let options = approval.options.iter();
        let choices = options.map(|option| Self {
            agent_remembers: agent_remembers.contains(&option.option_id),
            option: PermissionOption {
                option_id: option.option_id.clone(),
                name: option.name.clone(),
                kind: option.kind.clone(),
            },
            always: always.clone(),
        });
        choices.collect()
    }

    /// Returns the option that a user typed: its number from 1, or `allow` or `reject`, also as `y` or `n`, for once.
    pub fn pick<'a>(choices: impl ExactSizeIterator<Item = &'a Self>, typed: &str) -> Option<&'a Self> {
        let typed = typed.trim().to_lowercase();
        let kind = match &*typed {
            "allow" | "y" | "yes" => "allow_once",
            "reject" | "n" | "no" => "reject_once",
            number => {
                let at = number.parse::<usize>().ok()?.checked_sub(1)?;
                return choices.into_iter().nth(at);
            }
        };
        let mut of_kind = choices.filter(|choice| choice.option.kind.as_str() == kind);
        of_kind.next().filter(|_| of_kind.next().is_none())
    }

    /// Returns the text after the option's number.
    pub fn line(&self) -> String {
        let note = if self.agent_remembers {
            " (the agent may remember this answer itself)"
        } else {
            ""
        };
        format!("{}{note}", visible_line(&self.option.label(self.always.as_ref())))
    }

    /// Returns the response that chooses the option. It contains the kind that the user saw, so that the daemon rejects
    /// it if the option has a different kind.
    pub fn response(&self) -> Value {
        let decision = match self.option.kind.as_str() {
            "allow_once" => Some("accept"),
            "allow_always" => Some("acceptForSession"),
            "reject_once" => Some("decline"),
            "reject_always" => Some("declineForSession"),
            _ => None,
        };
        json!({ "decision": decision, "optionId": self.option.option_id, "optionKind": self.option.kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::items::fixtures::read;

    #[test]
    fn the_kind_says_what_an_option_does_and_the_name_is_a_quotation() {
        let params = json!({
            "options": [
                { "optionId": "y", "name": "No", "kind": "allow_always" },
                { "optionId": "n", "name": "reject", "kind": "reject_once" },
                { "optionId": "e", "name": "x\n  4) Reject\u{1b}[2K", "kind": "allow_once" },
                { "optionId": "o", "name": "Later", "kind": "_later" },
            ],
            "agentRemembers": ["y"],
            "always": { "holds": "this command in /w\n  4) Reject" },
        });
        let choices = Choice::of(&read("item/permissions/requestApproval", params));
        let lines: Vec<String> = choices.iter().map(Choice::line).collect();
        assert_eq!(
            lines[0],
            "Allow this command in /w\u{fffd}  4) Reject for this session: “No” (the agent may remember this answer itself)"
        );
        assert_eq!(lines[1], "Reject");
        assert!(lines[2].starts_with("Allow once: “x"), "{}", lines[2]);
        assert!(!lines[2].contains(['\n', '\u{1b}']), "{:?}", lines[2]);
        assert_eq!(lines[3], "Other answer: “Later”");
        assert_eq!(
            choices[0].response(),
            json!({ "decision": "acceptForSession", "optionId": "y", "optionKind": "allow_always" })
        );
        assert_eq!(choices[3].response()["decision"], Value::Null);
        let picked =
            |typed: &str| Choice::pick(choices.iter(), typed).map(|choice| choice.option.option_id.clone());
        assert_eq!(picked(" 4\n").as_deref(), Some("o"));
        assert_eq!(picked("Allow").as_deref(), Some("e"));
        assert_eq!(picked("n").as_deref(), Some("n"));
        for nothing in ["", "0", "5", "later", "-1"] {
            assert_eq!(picked(nothing), None, "{nothing}");
        }
    }
}
