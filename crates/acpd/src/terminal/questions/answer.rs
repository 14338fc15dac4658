//! The request that answers a question.
//!
//! In: a question's id, and the user's answer. Out: the request. Never: sends it.

use acpd_client::protocol::{AnswerInput, Approve, QuestionAnswered};

/// The request that answers a question.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Approve(Approve),
    Input(AnswerInput),
}

impl Answer {
    /// Returns the request that sends an answer. It says of an option also what it does, so that the daemon refuses the answer if the
    /// option does something else.
    pub fn of(request_id: &str, answer: QuestionAnswered) -> Self {
        let request_id = request_id.to_owned();
        if answer.decision.is_none() && answer.option_id.is_none() {
            return Self::Input(AnswerInput {
                answers: answer.answers,
                dismissed: answer.dismissed,
                request_id,
            });
        }
        Self::Approve(Approve {
            approved: match answer.decision.as_deref() {
                Some("accept" | "acceptForSession") => Some(true),
                Some("decline" | "declineForSession") => Some(false),
                _ => None,
            },
            option_id: answer.option_id,
            option_kind: answer.option_kind,
            request_id,
            scope: answer.scope,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_answer_is_the_request_that_the_question_needs() {
        let reply = |answer: Value| Answer::of("req_1", serde_json::from_value(answer).unwrap());
        let approve = |approved: Option<bool>, option: Option<&str>, kind: Option<&str>| {
            Answer::Approve(Approve {
                approved,
                option_id: option.map(str::to_owned),
                option_kind: kind.map(str::to_owned),
                request_id: "req_1".to_owned(),
                scope: None,
            })
        };
        let input = |answers: Option<Value>, dismissed: bool| {
            Answer::Input(AnswerInput {
                answers,
                dismissed,
                request_id: "req_1".to_owned(),
            })
        };
        for (answer, expected) in [
            (
                json!({ "decision": "acceptForSession", "optionId": "y", "optionKind": "allow_always" }),
                approve(Some(true), Some("y"), Some("allow_always")),
            ),
            (
                json!({ "decision": "decline", "optionId": "n", "optionKind": "reject_once" }),
                approve(Some(false), Some("n"), Some("reject_once")),
            ),
            (
                json!({ "decision": null, "optionId": "o", "optionKind": "_later" }),
                approve(None, Some("o"), Some("_later")),
            ),
            (json!({ "decision": "accept" }), approve(Some(true), None, None)),
            (
                json!({ "answers": { "a": [1] } }),
                input(Some(json!({ "a": [1] })), false),
            ),
            (json!({ "dismissed": true }), input(None, true)),
        ] {
            assert_eq!(reply(answer), expected);
        }
    }
}
