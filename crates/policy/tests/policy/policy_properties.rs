//! No input causes a panic, and the general guarantees hold for random requests.

use acpd_model::RawJson;
use acpd_policy::{Effect, Form, Layers, Policy, Remembered, Request, Rule, Scope, normalise};
use proptest::prelude::*;

use crate::table::policy;

/// Pieces with a meaning for shells, so that random lines are interesting.
fn line() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "git", "rm", "status", " ", "\t", "\n", ";", "&&", "||", "|", "&", "(", ")", "$(", "`", "'",
            "\"", "\\", ">", "<", ">>", "<<E", "<<", "\nE\n", "<(", "$((", "))", "${", "}", "{", "$x", "$'",
            "#", "X=1", "=", "*", "sh -c ", "env ", "eval", "for", "in", "do", "done", "if", "case", "2>&1",
            "&>", "~", "é", "\u{0}",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn decide(policy: &Policy, request: &Request) -> Effect {
    let layers = Layers {
        thread: Some(policy),
        ..Layers::default()
    };
    layers.decide(request).effect
}

proptest! {
    #[test]
    fn policy_reads_any_command_line(line in line()) {
        let request = Request::command_line(&line, "/w");
        prop_assert!(!request.subjects().is_empty());
        let effect = decide(&policy("allow Bash(git *), deny Bash(rm *)"), &request);
        // An allowed line contains only plain words of git, as a simple check confirms.
        if effect == Effect::Allow {
            prop_assert!(line.contains("git"), "{line:?}");
        }
        // With the default deny, no line gets a milder result than with the default ask.
        prop_assert!(decide(&policy("allow Bash(git *), default deny"), &request)
            >= decide(&policy("allow Bash(git *), default ask"), &request).min(Effect::Ask));
    }

    #[test]
    fn policy_allows_no_more_of_a_line_with_something_added(line in line(), allowed in any::<bool>()) {
        // A shell runs the last line. So an appended command that is not allowed is noticed, whatever precedes it.
        let text = format!("{line}\nrm -rf x");
        let policy = policy(if allowed { "allow Bash(git *)" } else { "default allow, deny Bash(rm -rf *)" });
        let effect = decide(&policy, &Request::command_line(&text, "/w"));
        let hidden = ["<<", "'", "\"", "\\", "#", "`", "${"].iter().any(|quote| line.contains(quote));
        prop_assert!(hidden || effect != Effect::Allow, "{text:?}");
    }

    #[test]
    fn policy_reads_any_rule(text in "[ -~é]{0,40}", tool in prop::sample::select(vec!["Bash", "Read", "WebFetch", "Tool", "mcp__a", ""])) {
        for text in [text.clone(), format!("{tool}({text})"), format!("{tool}{text}")] {
            match Rule::parse(&text) {
                Ok(rule) => {
                    prop_assert_eq!(rule.text(), text.trim());
                    prop_assert_eq!(Rule::parse(rule.text()).unwrap(), rule);
                }
                Err(error) => prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1),
            }
        }
    }

    #[test]
    fn policy_remembers_only_what_then_holds(line in line()) {
        let request = Request::command_line(&line, "/w");
        for allow in [true, false] {
            let mut remembered = Remembered::default();
            if remembered.remember(&request, allow, Scope::Thread).is_ok() {
                let layers = Layers { remembered: vec![&remembered], ..Layers::default() };
                prop_assert_eq!(layers.decide(&request).effect, if allow { Effect::Allow } else { Effect::Deny });
                // The answer does not apply to another command.
                prop_assert_eq!(layers.decide(&Request::command_line("never said", "/w")).effect, Effect::Ask);
            }
        }
    }

    #[test]
    fn policy_quotes_what_it_remembers(words in prop::collection::vec("[ -~é\n]{0,8}", 1..5), other in prop::collection::vec("[ -~é\n]{0,8}", 1..5)) {
        let words: Vec<String> = std::iter::once("prog".to_owned()).chain(words).collect();
        let other: Vec<String> = std::iter::once("prog".to_owned()).chain(other).collect();
        let request = |argv: &[String]| Request::terminal(&argv[0], &argv[1..], Form::Program, &[], None, "/w");
        let mut remembered = Remembered::default();
        remembered.remember(&request(&words), true, Scope::Thread).unwrap();
        let layers = Layers { remembered: vec![&remembered], ..Layers::default() };
        prop_assert_eq!(layers.decide(&request(&words)).effect, Effect::Allow);
        prop_assert_eq!(layers.decide(&request(&other)).effect == Effect::Allow, words == other);
    }

    #[test]
    fn policy_reads_any_tool_call(command in any::<String>(), path in any::<String>(), kind in any::<String>()) {
        let json = serde_json::json!({ "kind": kind, "rawInput": { "command": command, "path": path } });
        let request = Request::from_tool_call(&json.into(), "/w");
        prop_assert!(!request.subjects().is_empty());
        let raw = RawJson::of(&path).unwrap();
        prop_assert_eq!(decide(&policy("allow Read"), &Request::from_tool_call(&raw, "/w")), Effect::Ask);
    }

    #[test]
    fn policy_normalises_any_path(path in "[a./~é]{0,20}", cwd in "/[a./]{0,10}") {
        if let Some(normal) = normalise(&path, &cwd, Some("/h")) {
            prop_assert!(normal.starts_with('/'));
            prop_assert!(normal.split('/').all(|segment| segment != "." && segment != ".."));
            prop_assert!(normal == "/" || normal[1..].split('/').all(|segment| !segment.is_empty()));
            prop_assert_eq!(normalise(&normal, "/x", None), Some(normal));
        }
    }

    #[test]
    fn policy_walks_a_glob_in_bounded_time(stars in 1usize..60, length in 1usize..3000) {
        // Unbounded backtracking would not terminate on these.
        let pattern = format!("Read(/{}b)", "*a".repeat(stars));
        let deep = format!("Read(/{}b)", "**/a/".repeat(stars));
        let policy = policy(&format!("allow {pattern}, allow {deep}"));
        let flat = Request::read_file(&format!("/{}", "a".repeat(length)), "/w");
        let nested = Request::read_file(&"/a".repeat(length), "/w");
        prop_assert_eq!(decide(&policy, &flat), Effect::Ask);
        prop_assert_eq!(decide(&policy, &nested), Effect::Ask);
    }
}
