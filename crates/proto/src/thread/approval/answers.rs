//! Answers of clients to open questions.

use acpd_model::event::{Outcome, PermissionOption};
use acpd_model::{ErrorCode, EventKind, Failure, Origin, RequestEvent, RequestId};
use acpd_policy::Scope;

use super::Approvals;
use super::remembered::sent_as_once;
use crate::thread::command::{Answer, PickedOption};
use crate::thread::journal::Journal;

impl Approvals {
    /// Parses a client's answer, and remembers it if its scope requires that. Returns the outcome to settle the
    /// question with.
    pub fn answer(
        &self,
        journal: &mut Journal,
        by: &Origin,
        request: RequestId,
        answer: &Answer,
        scope: Option<Scope>,
    ) -> Result<Outcome, Failure> {
        if matches!(scope, Some(Scope::Daemon)) {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                "an answer can hold for the session, the thread or the agent; write a rule into the configuration for more",
            ));
        }
        let (live, number) = (journal.live(), request.number);
        let here = request.thread == live.thread;
        let Some(open) = live.requests.get(&number).filter(|_| here) else {
            if (1..=live.last_request).contains(&number) {
                return Err(Failure::new(
                    ErrorCode::AlreadyResolved,
                    format!("{request} was answered already"),
                ));
            }
            return Err(Failure::not_found(request));
        };
        let outcome = match &open.event.kind {
            EventKind::Request(RequestEvent::InputRequested { .. }) => elicitation_outcome(answer)?,
            question => sent_as_once(question, choose(open.options(), answer)?),
        };
        // Cancelling a question decides nothing.
        if *answer != Answer::Cancel {
            self.remember(journal, by, number, &outcome, scope);
        }
        Ok(outcome)
    }
}

/// Returns the outcome for an answer to a request for information.
fn elicitation_outcome(answer: &Answer) -> Result<Outcome, Failure> {
    Ok(match answer {
        Answer::Provide(content) => Outcome::Accepted {
            content: Some(content.clone()),
        },
        Answer::Accept { .. } => Outcome::Accepted { content: None },
        Answer::Decline { .. } => Outcome::Declined,
        Answer::Cancel => Outcome::Cancelled,
        Answer::Option(_) | Answer::Place(_) => {
            return Err(Failure::invalid_params(
                "the agent wants information: answer with item/answer",
            ));
        }
    })
}

/// Returns the outcome with the agent's option that matches an answer.
pub(super) fn choose(options: &[PermissionOption], answer: &Answer) -> Result<Outcome, Failure> {
    let by_kind = |kinds: [&str; 2]| {
        let found = kinds
            .iter()
            .find_map(|kind| options.iter().find(|option| option.kind == *kind));
        found.ok_or_else(|| {
            let offered: Vec<_> = options
                .iter()
                .map(|o| format!("{} ({})", o.option_id, o.kind))
                .collect();
            Failure::invalid_params(format!(
                "the agent offers no such answer; it offers {}",
                offered.join(", ")
            ))
        })
    };
    let option = match answer {
        Answer::Cancel => return Ok(Outcome::Cancelled),
        Answer::Provide(_) => {
            return Err(Failure::invalid_params(
                "the agent asks for a permission: answer with item/approve",
            ));
        }
        Answer::Option(picked) => pick(options, picked)?,
        Answer::Place(place) => options.get(*place).ok_or_else(|| {
            let number = place.saturating_add(1);
            Failure::invalid_params(format!(
                "there is no option {number}; the agent offers {}",
                options.len()
            ))
        })?,
        Answer::Accept { always: false } => by_kind(["allow_once", "allow_always"])?,
        Answer::Accept { always: true } => by_kind(["allow_always", "allow_once"])?,
        Answer::Decline { always: false } => match by_kind(["reject_once", "reject_always"]) {
            Ok(option) => option,
            Err(_) => return Ok(Outcome::Cancelled),
        },
        Answer::Decline { always: true } => match by_kind(["reject_always", "reject_once"]) {
            Ok(option) => option,
            Err(_) => return Ok(Outcome::Cancelled),
        },
    };
    if option.option_id == PermissionOption::OWN_REJECTION {
        return Ok(Outcome::Cancelled);
    }
    Ok(Outcome::Selected {
        option_id: option.option_id.clone(),
        kind: option.kind.clone(),
        sent_option_id: None,
    })
}

/// Returns the option that a client names, if the user saw the same one.
fn pick<'a>(options: &'a [PermissionOption], picked: &PickedOption) -> Result<&'a PermissionOption, Failure> {
    let PickedOption {
        option_id: id,
        kind,
        verdict,
    } = picked;
    let option = options
        .iter()
        .find(|option| option.option_id == *id)
        .ok_or_else(|| Failure::invalid_params(format!("the agent offers no option {id:?}")))?;
    if let Some(kind) = kind.as_ref().filter(|kind| **kind != option.kind) {
        return Err(Failure::invalid_params(format!(
            "option {id:?} is {:?}, not {kind:?}; the question stays open",
            option.kind
        )));
    }
    if verdict.is_some_and(|verdict| !verdict.agrees_with(&option.kind)) {
        return Err(Failure::invalid_params(format!(
            "the decision contradicts option {id:?}, which is {:?}; the question stays open",
            option.kind
        )));
    }
    Ok(option)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(kinds: &[&str]) -> Vec<PermissionOption> {
        kinds
            .iter()
            .map(|kind| PermissionOption {
                option_id: format!("o-{kind}"),
                name: String::new(),
                kind: (*kind).into(),
            })
            .collect()
    }

    fn chosen(kinds: &[&str], answer: &Answer) -> Option<String> {
        match choose(&options(kinds), answer).unwrap() {
            Outcome::Selected { option_id, .. } => Some(option_id),
            _ => None,
        }
    }

    #[test]
    fn a_plain_yes_is_never_for_ever_if_once_is_offered() {
        let all = ["allow_always", "allow_once", "reject_always", "reject_once"];
        assert_eq!(
            chosen(&all, &Answer::Accept { always: false }).unwrap(),
            "o-allow_once"
        );
        assert_eq!(
            chosen(&all, &Answer::Accept { always: true }).unwrap(),
            "o-allow_always"
        );
        assert_eq!(
            chosen(&all, &Answer::Decline { always: false }).unwrap(),
            "o-reject_once"
        );
        assert_eq!(
            chosen(&all, &Answer::Option("o-reject_always".into())).unwrap(),
            "o-reject_always"
        );
    }

    #[test]
    fn no_is_always_possible_and_yes_is_not() {
        assert_eq!(chosen(&["allow_once"], &Answer::Decline { always: false }), None);
        assert!(choose(&options(&["reject_once"]), &Answer::Accept { always: false }).is_err());
        assert!(choose(&options(&["_odd"]), &Answer::Option("other".into())).is_err());
        assert_eq!(chosen(&["allow_once"], &Answer::Cancel), None);
    }
}
