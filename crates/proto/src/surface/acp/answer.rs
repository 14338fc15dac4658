//! Decodes an editor's answers to questions.

use serde::Deserialize;

use super::frame::QuestionKind;
use super::question::place_of;
use crate::surface::elicitation;
use crate::thread::Answer;

#[derive(Deserialize)]
struct Permission {
    outcome: Outcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    outcome: String,
    #[serde(default)]
    option_id: Option<String>,
}

/// Reads the result of a question. `None` means no decision: the question stays open. A choice without an option is a refusal:
/// the editor does not ask again. avante.nvim sends it where its choice, which it may make by itself, is of a kind that the agent
/// does not offer.
pub(super) fn read(question: QuestionKind, result: &str) -> Option<Answer> {
    if question == QuestionKind::Permission {
        let Permission { outcome } = acpd_model::json::read(result).ok()?;
        return match (outcome.outcome.as_str(), outcome.option_id) {
            ("selected", Some(option)) => place_of(&option).map(Answer::Place),
            ("selected", None) => Some(Answer::Decline { always: false }),
            ("cancelled", _) => Some(Answer::Cancel),
            _ => None,
        };
    }
    elicitation::read_answer(result)
}

/// Returns whether the result of a permission request has an outcome that neither version of ACP has. In version 2, it is a refusal.
pub(super) fn is_unknown_outcome(result: &str) -> bool {
    let permission = acpd_model::json::read::<Permission>(result);
    permission.is_ok_and(|Permission { outcome }| !matches!(&*outcome.outcome, "selected" | "cancelled"))
}

#[cfg(test)]
mod tests {
    use acpd_model::RawJson;

    use super::*;

    #[test]
    fn invalid_decisions_decide_nothing() {
        for result in [
            "null",
            "{}",
            r#"{"outcome":"selected"}"#,
            r#"{"outcome":{"outcome":"allow"}}"#,
            r#"{"action":"yes"}"#,
        ] {
            for question in [QuestionKind::Permission, QuestionKind::Form, QuestionKind::Url] {
                assert_eq!(read(question, result), None, "{result}");
            }
        }
    }

    #[test]
    fn an_outcome_that_is_not_of_acp_is_known_as_such() {
        assert!(is_unknown_outcome(r#"{"outcome":{"outcome":"_later"}}"#));
        for known in [
            r#"{"outcome":{"outcome":"selected","optionId":"x"}}"#,
            r#"{"outcome":{"outcome":"cancelled"}}"#,
            r#"{"outcome":7}"#,
            "null",
        ] {
            assert!(!is_unknown_outcome(known), "{known}");
        }
    }

    #[test]
    fn each_answer_means_itself() {
        let permission = |result: &str| read(QuestionKind::Permission, result);
        let selected = |id: &str| {
            permission(&format!(
                r#"{{"outcome":{{"outcome":"selected","optionId":"{id}","_meta":{{}}}}}}"#
            ))
        };
        assert_eq!(selected("1"), Some(Answer::Place(0)));
        assert_eq!(selected("12"), Some(Answer::Place(11)));
        for odd in [
            "",
            "0",
            "01",
            "+1",
            " 1",
            "-1",
            "1.0",
            "allow",
            "99999999999999999999",
        ] {
            assert_eq!(selected(odd), None, "{odd}");
        }
        assert_eq!(
            permission(r#"{"outcome":{"outcome":"selected"}}"#),
            Some(Answer::Decline { always: false })
        );
        assert_eq!(
            permission(r#"{"outcome":{"outcome":"cancelled"}}"#),
            Some(Answer::Cancel)
        );
        let form = |result| read(QuestionKind::Form, result);
        let content = RawJson::parse(r#"{"a":1.10}"#).unwrap();
        assert_eq!(
            form(r#"{"action":"accept","content":{"a":1.10}}"#),
            Some(Answer::Provide(content))
        );
        assert_eq!(
            form(r#"{"action":"accept","content":null}"#),
            Some(Answer::Accept { always: false })
        );
        assert_eq!(
            form(r#"{"action":"decline"}"#),
            Some(Answer::Decline { always: false })
        );
        assert_eq!(form(r#"{"action":"cancel"}"#), Some(Answer::Cancel));
    }
}
