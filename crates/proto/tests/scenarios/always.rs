//! Responses of kind "always". acpd remembers them where it can, and sends "once" to the agent.

use acpd_model::event::Outcome;
use acpd_model::limits::REMEMBERED_RULES;
use acpd_model::{EventKind, RequestEvent};
use acpd_policy::Scope;
use acpd_proto::thread::{Answer, Command, Reply};
use serde_json::{Value, json};

use crate::support::{Scene, check};

const STORABLE: &str = "cargo test";
/// A command that is unknown until it runs.
const DYNAMIC: &str = "$TOOL --all";

const ALL: &[&str] = &["allow_always", "allow_once", "reject_once", "reject_always"];

/// The agent asks about a command. Each option's id is its kind; a second option of a kind gets the suffix "2".
fn asks(s: &mut Scene, id: i64, command: &str, kinds: &[&str]) {
    let mut options: Vec<Value> = Vec::new();
    for kind in kinds {
        let again = options.iter().any(|option| option["kind"] == *kind);
        let id = format!("{kind}{}", if again { "2" } else { "" });
        options.push(json!({ "optionId": id, "name": id, "kind": kind }));
    }
    let call =
        json!({ "toolCallId": format!("t{id}"), "kind": "execute", "rawInput": { "command": command } });
    let params = json!({ "sessionId": "s-1", "toolCall": call, "options": options });
    s.calls(&id.to_string(), "session/request_permission", &params.to_string());
}

/// Returns the option in the response to the agent's request 7.
fn sent_option(s: &Scene) -> String {
    let option = &s.answer_to(&7.into())["result"]["outcome"]["optionId"];
    option.as_str().unwrap().to_owned()
}

/// Returns the kinds of answers that the agent may remember itself, from the request.
fn announced(s: &Scene) -> Value {
    s.params("item/commandExecution/requestApproval")[0]["agentRemembers"].clone()
}

fn remembered(s: &mut Scene) -> Vec<String> {
    let Ok(Reply::Remembered(rules)) = s.ask(Command::Remembered) else {
        panic!()
    };
    let rules = rules.iter().map(|rule| json!(rule));
    rules
        .map(|rule| format!("{} {}", rule["allow"], rule["rule"].as_str().unwrap()))
        .collect()
}

fn notice(s: &Scene) -> Option<String> {
    let notices = s.params("thread/notice").into_iter();
    let mut notices = notices.filter(|notice| notice["code"] == "notRemembered");
    notices
        .next()
        .map(|notice| notice["message"].as_str().unwrap().to_owned())
}

fn settled(s: &Scene) -> Outcome {
    let mut outcomes = s.kinds().filter_map(|kind| match kind {
        EventKind::Request(RequestEvent::Settled { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    });
    outcomes.next().unwrap()
}

/// Unknown kinds that only start or end like one of ACP's kinds decide nothing. Dismissing a request decides nothing
/// either.
#[test]
fn answers_other_than_yes_or_no_are_not_remembered() {
    let others = ["allow_x_always", "allowed", "reject_always ", "never_always"];
    let picks = others.map(|kind| (Answer::Option(kind.into()), [None, Some(Scope::Thread)]));
    let cancelled = (Answer::Cancel, [None, Some(Scope::Thread)]);
    for (answer, scopes) in picks.into_iter().chain([cancelled]) {
        for scope in scopes {
            check(|s| {
                s.open_turn();
                asks(s, 7, STORABLE, &others);
                s.decide_for(1, answer.clone(), scope).unwrap();
                assert_eq!(remembered(s), [""; 0]);
                assert!(!settled(s).allows() && !settled(s).is_always());
                // It grants nothing either: the same call requires another request.
                asks(s, 8, STORABLE, ALL);
                assert_eq!(s.params("item/commandExecution/requestApproval").len(), 2);
                s.decide(2, Answer::Cancel).unwrap();
                s.stops_with("end_turn");
            });
        }
    }
}

#[test]
fn the_agent_receives_allow_once_for_an_answer_that_acpd_remembers() {
    for (answer, chosen, sent, rule) in [
        (
            Answer::Accept { always: true },
            "allow_always",
            "allow_once",
            "true Bash(cargo test)",
        ),
        (
            Answer::Option("allow_always".into()),
            "allow_always",
            "allow_once",
            "true Bash(cargo test)",
        ),
        (
            Answer::Decline { always: true },
            "reject_always",
            "reject_once",
            "false Bash(cargo test)",
        ),
        (
            Answer::Option("reject_always".into()),
            "reject_always",
            "reject_once",
            "false Bash(cargo test)",
        ),
    ] {
        check(|s| {
            s.open_turn();
            asks(s, 7, STORABLE, ALL);
            assert_eq!(announced(s), Value::Null);
            s.decide(1, answer).unwrap();
            assert_eq!(sent_option(s), sent);
            assert_eq!(remembered(s), [rule]);
            let resolved = &s.params("serverRequest/resolved")[0];
            assert_eq!(
                (
                    &resolved["optionId"],
                    &resolved["optionKind"],
                    &resolved["sentOptionId"]
                ),
                (&json!(chosen), &json!(chosen), &json!(sent))
            );
            let expected = Outcome::Selected {
                option_id: chosen.to_owned(),
                kind: chosen.to_owned(),
                sent_option_id: Some(sent.to_owned()),
            };
            assert_eq!((settled(s), notice(s)), (expected, None));
            // The rule settles the next request.
            asks(s, 8, STORABLE, ALL);
            let next = &s.answer_to(&8.into())["result"]["outcome"]["optionId"];
            assert_eq!(*next, sent);
            assert_eq!(s.params("serverRequest/resolved")[1]["sentOptionId"], Value::Null);
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn an_answer_that_acpd_cannot_remember_is_announced_and_passed_on() {
    for (answer, chosen) in [
        (Answer::Accept { always: true }, "allow_always"),
        (Answer::Decline { always: true }, "reject_always"),
    ] {
        check(|s| {
            s.open_turn();
            asks(s, 7, DYNAMIC, ALL);
            assert_eq!(announced(s), json!(["allow_always", "reject_always"]));
            s.decide(1, answer).unwrap();
            assert_eq!((sent_option(s), remembered(s)), (chosen.to_owned(), Vec::new()));
            assert_eq!(s.params("serverRequest/resolved")[0]["sentOptionId"], Value::Null);
            let notice = notice(s).unwrap();
            assert!(notice.starts_with("answer not remembered: "), "{notice}");
            assert!(
                notice.ends_with("; the agent may remember this answer itself"),
                "{notice}"
            );
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn without_exactly_one_way_to_say_once_always_is_passed_on() {
    for (kinds, expected) in [
        (&["allow_always", "reject_once"][..], json!(["allow_always"])),
        (
            &["allow_once", "allow_once", "allow_always", "reject_once"],
            json!(["allow_always"]),
        ),
        (
            &["allow_once", "allow_always", "reject_always"],
            json!(["reject_always"]),
        ),
        (
            &["allow_once", "allow_always", "allow_always", "_odd_always"],
            Value::Null,
        ),
        (&["allow_once", "reject_once"], Value::Null),
    ] {
        check(|s| {
            s.open_turn();
            asks(s, 7, STORABLE, kinds);
            assert_eq!(announced(s), expected, "{kinds:?}");
            let option = kinds.iter().find(|kind| kind.ends_with("_always"));
            let option = option.unwrap_or(&"allow_once");
            let passes = expected
                .as_array()
                .is_some_and(|ids| ids.contains(&json!(option)));
            s.decide(1, Answer::Option((*option).into())).unwrap();
            let sent = if passes { *option } else { "allow_once" };
            assert_eq!(sent_option(s), sent, "{kinds:?}");
            assert_eq!(remembered(s).len(), usize::from(*option != "allow_once"));
            assert_eq!(notice(s), None);
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_full_list_is_known_before_the_answer() {
    check(|s| {
        s.open_turn();
        let answer = |s: &mut Scene, number: u32, scope: Option<Scope>| {
            s.decide_for(number, Answer::Accept { always: true }, scope)
                .unwrap();
        };
        let most = 4;
        for number in 1..=most {
            let commands: Vec<String> = (0..REMEMBERED_RULES / 4)
                .map(|at| format!("make n{number}-{at}"))
                .collect();
            asks(s, 100 + i64::from(number), &commands.join("; "), ALL);
            answer(s, number, None);
        }
        assert_eq!(remembered(s).len(), REMEMBERED_RULES);
        asks(s, 7, STORABLE, ALL);
        let question = s.params("item/commandExecution/requestApproval").pop().unwrap();
        assert_eq!(
            question["agentRemembers"],
            json!(["allow_always", "reject_always"])
        );
        // The agent's remembered answers have room. But the request has already announced that the agent may remember the
        // answer, and this still applies.
        answer(s, most + 1, Some(Scope::Agent));
        assert_eq!(sent_option(s), "allow_always");
        s.stops_with("end_turn");
    });
}

/// The request did not announce that the agent may remember the answer.
#[test]
fn an_answer_that_cannot_be_stored_after_all_holds_once() {
    check(|s| {
        s.open_turn();
        s.answers_fail = true;
        asks(s, 7, STORABLE, ALL);
        s.decide_for(1, Answer::Accept { always: true }, Some(Scope::Agent))
            .unwrap();
        assert_eq!(
            (sent_option(s), remembered(s)),
            ("allow_once".to_owned(), Vec::new())
        );
        assert_eq!(notice(s).unwrap(), "answer not remembered: the disk is full");
        s.stops_with("end_turn");
    });
}

/// acpd itself answers these requests.
#[test]
fn questions_of_acpds_own_are_answered_as_chosen() {
    check(|s| {
        let policy = json!({ "ask": ["Bash"] });
        s.rule(Some(serde_json::from_value(policy).unwrap()));
        s.open_turn();
        s.calls(
            "7",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"sh","args":["-c","$TOOL"]}"#,
        );
        assert_eq!(announced(s), Value::Null);
        s.decide(1, Answer::Accept { always: true }).unwrap();
        let resolved = &s.params("serverRequest/resolved")[0];
        assert_eq!(
            (&resolved["optionId"], &resolved["sentOptionId"]),
            (&json!("allow"), &Value::Null)
        );
        assert_eq!(notice(s), None);
        s.waiting.clear();
        s.stops_with("end_turn");
    });
}

/// The user selects the mode that follows a plan: "auto-accept edits" is not "once".
#[test]
fn a_choice_of_a_mode_reaches_the_agent_as_it_is() {
    check(|s| {
        s.open_turn();
        let params = json!({
            "sessionId": "s-1",
            "toolCall": { "toolCallId": "plan", "kind": "switch_mode", "title": "Ready to code?" },
            "options": [
                { "optionId": "acceptEdits", "name": "Yes, and accept edits", "kind": "allow_always" },
                { "optionId": "default", "name": "Yes, and ask before each edit", "kind": "allow_once" },
                { "optionId": "plan", "name": "No, keep planning", "kind": "reject_once" },
            ],
        });
        s.calls("7", "session/request_permission", &params.to_string());
        let announced = &s.params("item/permissions/requestApproval")[0]["agentRemembers"];
        assert_eq!(*announced, json!(["acceptEdits"]));
        s.decide(1, Answer::Option("acceptEdits".into())).unwrap();
        assert_eq!(sent_option(s), "acceptEdits");
        assert!(remembered(s).is_empty());
    });
}
