//! `acpd answer`.

use acpd_client::protocol::{QuestionAnswered, Resolution, Resolved};
use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::cli::AnswerArgs;
use crate::client::connect::connect_with;
use crate::exit::Exit;
use crate::options::Permissions;
use crate::settings::Settings;
use crate::terminal::input::input;
use crate::terminal::items::short_id;
use crate::terminal::print;
use crate::terminal::questions::{Inquiry, Questions, Wants, chosen, dismissed};
use crate::threads::find::find_thread;
use crate::threads::open_question::OpenQuestion;

/// Answers the oldest open question of a thread, or shows it.
pub async fn answer(settings: &Settings, args: &AnswerArgs) -> anyhow::Result<Exit> {
    let client = connect_with(settings, |options| options.approvals(true).texts(true)).await?;
    let thread = find_thread(&client, &args.thread.thread).await?;
    let mut open = OpenQuestion::oldest(client, thread.clone()).await?;
    let inquiry = Inquiry::read(&open.asked);
    let inquiry = inquiry.context("the question cannot be read")?;
    let result = match given(args, &inquiry, &thread).await? {
        Some(result) => result,
        None if args.json => {
            print::json(&open.params.to_string());
            return Ok(Exit::Success);
        }
        None if !Questions::has_terminal() => {
            print::out(&inquiry.text());
            return Ok(Exit::Success);
        }
        None => {
            let mut questions = Questions::new(Permissions::Ask);
            let id = inquiry.request.clone();
            questions.add(inquiry);
            tokio::select! {
                (_, result) = questions.next() => result,
                resolved = open.resolved() => {
                    resolved?;
                    questions.settled(&id);
                    return Ok(Exit::Failure);
                }
            }
        }
    };
    let sent = QuestionAnswered::deserialize(result).context("the answer cannot be sent")?;
    open.answer(&sent).await?;
    let (resolved, json) = open.resolved().await?;
    if args.json {
        print::json(&json.to_string());
    }
    Ok(report(&resolved, &sent, args.json))
}

/// Returns the answer of the arguments, if they have one.
async fn given(args: &AnswerArgs, question: &Inquiry, thread: &str) -> anyhow::Result<Option<Value>> {
    if let (Some(option), Wants::Permission(approval)) = (&args.option, &question.wants) {
        return chosen(approval, option).map(Some);
    }
    match (&args.option, &args.input, args.dismiss) {
        (Some(option), _, _) if question.is_url() => match option.as_str() {
            "allow" => Ok(Some(json!({ "decision": "accept" }))),
            "reject" => Ok(Some(dismissed())),
            _ => Err(Exit::Usage.error("the agent sends you to an address; write \"allow\" or \"reject\"")),
        },
        (Some(_), _, _) => Err(Exit::Usage.error(format!(
            "the agent asks for information; give --input JSON or --dismiss, or answer on a terminal: acpd answer {}",
            short_id(thread)
        ))),
        (None, None, false) => Ok(None),
        _ if matches!(question.wants, Wants::Permission(_)) => Err(Exit::Usage.error(
            "the agent asks for permission, not for information; write \"allow\", \"reject\" or the number of an option",
        )),
        (None, _, true) => Ok(Some(dismissed())),
        (None, Some(json), false) => {
            let text = match &json[..] {
                "-" => input().await?,
                json => json.to_owned(),
            };
            let answers: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
                Exit::Usage.error(format!(
                    "--input is not a JSON object such as {{\"name\": \"main\"}}: {error}"
                ))
            })?;
            Ok(Some(json!({ "answers": answers })))
        }
    }
}

fn report(resolved: &Resolved, sent: &QuestionAnswered, as_json: bool) -> Exit {
    if !is_same(resolved, sent) {
        print::err(&format!(
            "acpd: another client answered first: the question is {}\n",
            resolved.outcome
        ));
        return Exit::Failure;
    }
    if !as_json {
        print::out("answered\n");
    }
    Exit::Success
}

/// Returns whether a question was resolved by this answer, or by an equal one: the first answer wins.
fn is_same(resolved: &Resolved, sent: &QuestionAnswered) -> bool {
    let is_accepted = resolved.outcome == Resolution::Accepted;
    if sent.option_id.is_some() {
        return resolved.option_id == sent.option_id;
    }
    if sent.answers.is_some() {
        return is_accepted && resolved.answers == sent.answers;
    }
    is_accepted == (sent.decision.as_deref() == Some("accept"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::items::fixtures::{object, read};

    #[test]
    fn answers_of_other_clients_are_told_apart() {
        let chosen = json!({ "decision": "accept", "optionId": "once", "optionKind": "allow_once" });
        let filled = json!({ "answers": { "name": "main" } });
        for (resolved, sent, is_own) in [
            (
                json!({ "outcome": "accepted", "optionId": "once" }),
                &chosen,
                true,
            ),
            (
                json!({ "outcome": "accepted", "optionId": "always" }),
                &chosen,
                false,
            ),
            (json!({ "outcome": "declined", "optionId": "no" }), &chosen, false),
            (json!({ "outcome": "cancelled" }), &chosen, false),
            (
                json!({ "outcome": "accepted", "answers": { "name": "main" } }),
                &filled,
                true,
            ),
            (
                json!({ "outcome": "accepted", "answers": { "name": "x" } }),
                &filled,
                false,
            ),
            (json!({ "outcome": "declined" }), &filled, false),
            (json!({ "outcome": "declined" }), &dismissed(), true),
            (
                json!({ "outcome": "accepted", "answers": {} }),
                &dismissed(),
                false,
            ),
            (
                json!({ "outcome": "accepted" }),
                &json!({ "decision": "accept" }),
                true,
            ),
        ] {
            let case = format!("{resolved} {sent}");
            let resolved = read("serverRequest/resolved", resolved);
            assert_eq!(is_same(&resolved, &object(sent.clone())), is_own, "{case}");
        }
    }
}
