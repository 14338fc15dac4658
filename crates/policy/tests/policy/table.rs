//! Tables of rules, requests and their decisions.
//!
//! A row is `rules :: request => effect`. Rules are separated by `, `. Each starts with its list; `default EFFECT` may
//! be among them. A request is `$ COMMAND LINE`, or one of the words in [`request`] with its object. The thread's
//! directory is `/w`, the home `/home/u`. With `to PLACE` in front, the paths lead to that place, or with `to ?` they
//! cannot be resolved; the real path of `/w` is then `/real/w`.

use acpd_model::{Failure, RawJson};
use acpd_policy::{Access, Effect, Layers, Policy, RealPaths, Request, Rule};

/// Parses the policy in a row's left column.
pub fn policy(text: &str) -> Policy {
    let mut policy = Policy::default();
    for entry in text.split(", ").map(str::trim).filter(|entry| !entry.is_empty()) {
        let (list, rule) = entry
            .split_once(' ')
            .unwrap_or_else(|| panic!("no list: {entry}"));
        let read = || Rule::parse(rule).unwrap_or_else(|error| panic!("{error}"));
        match list {
            "deny" => policy.deny.push(read()),
            "ask" => policy.ask.push(read()),
            "allow" => policy.allow.push(read()),
            "default" => policy.default = Some(effect(rule)),
            "base" => policy.base = Some(serde_json::from_value(rule.into()).unwrap()),
            other => panic!("no list {other}"),
        }
    }
    policy
}

pub fn effect(word: &str) -> Effect {
    serde_json::from_value(word.trim().into()).unwrap_or_else(|error| panic!("{word:?}: {error}"))
}

/// Parses the request in a row's middle column.
pub fn request(text: &str) -> Request {
    let (verb, object) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let file = |access| Request::file(access, object, "/w");
    let call = |json: &str| Request::from_tool_call(&RawJson::parse(json).unwrap(), "/w");
    match verb {
        "$" => Request::command_line(&object.replace("\\n", "\n"), "/w"),
        "read" => file(Access::Read),
        "search" => file(Access::Search),
        "edit" => file(Access::Edit),
        "delete" => file(Access::Delete),
        "move" => file(Access::Move),
        "fetch" => call(&format!(r#"{{"kind":"fetch","rawInput":{{"url":{object:?}}}}}"#)),
        "mcp" => {
            let (server, tool) = object.split_once(' ').unwrap();
            Request::mcp(server, tool, "/w")
        }
        "kind" => call(&format!(r#"{{"kind":{object:?},"rawInput":{{"text":"x"}}}}"#)),
        "call" => call(object),
        "to" => {
            let (place, rest) = object.split_once(' ').unwrap();
            let named = request(rest);
            let real = (place != "?").then(|| place.to_owned());
            let real = real.ok_or_else(|| Failure::not_found("it"));
            let paths = named
                .files()
                .chain(named.programs())
                .chain(named.redirections())
                .map(|path| (path.to_owned(), real.clone()));
            let roots = vec![("/w".to_owned(), "/real/w".to_owned())];
            let real = RealPaths {
                paths: paths.collect(),
                roots,
                ..RealPaths::default()
            };
            return named.with_real_paths(&real);
        }
        other => panic!("no request {other}"),
    }
    .with_home("/home/u")
}

/// Checks each row of `table`. Returns the number of rows.
pub fn check(table: &str) -> usize {
    let mut wrong = String::new();
    let rows = table
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("--"));
    let mut count = 0;
    for row in rows {
        count += 1;
        let (left, expected) = row
            .rsplit_once(" => ")
            .unwrap_or_else(|| panic!("no effect: {row}"));
        let (rules, asked) = left
            .split_once(":: ")
            .unwrap_or_else(|| panic!("no request: {row}"));
        let policy = policy(rules);
        let layers = Layers {
            daemon: Some(&policy),
            ..Layers::default()
        };
        let decision = layers.decide(&request(asked));
        if decision.effect != effect(expected) {
            wrong += &format!("{row}\n    but: {}\n", decision.reason);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    count
}
