//! Remembered answers.

use acpd_policy::{Effect, Layers, NotRememberable, Remembered, Scope};

use crate::table::{effect, policy, request};

fn rules(remembered: &Remembered) -> Vec<String> {
    remembered.iter().map(|rule| rule.rule.to_string()).collect()
}

#[test]
fn policy_remembers_exactly_what_was_answered() {
    let rows: [(&str, &[&str]); 17] = [
        ("$ git status", &["Bash(git status)"]),
        ("$ git status && git log", &["Bash(git status)", "Bash(git log)"]),
        ("$ git status; git status", &["Bash(git status)"]),
        ("$ bash -lc 'git status'", &["Bash(git status)"]),
        (
            "$ git commit -m 'it is (a) *'",
            &["Bash(git commit -m 'it is (a) *')"],
        ),
        ("$ echo \"it's\"", &[r"Bash(echo 'it'\''s')"]),
        ("$ echo ''", &["Bash(echo '')"]),
        ("$ CI=1 make", &["Bash(make)"]),
        ("edit src/a.rs", &["Edit(/w/src/a.rs)"]),
        ("edit a*b", &[r"Edit(/w/a\*b)"]),
        ("read /etc/hosts", &["Read(/etc/hosts)"]),
        ("delete x", &["Delete(/w/x)"]),
        (
            "fetch https://example.com/a",
            &["WebFetch(https://example.com/a)"],
        ),
        ("mcp github get_issue", &["mcp__github__get_issue"]),
        ("kind think", &["Think"]),
        (r#"call {"kind":"think","name":"ponder"}"#, &["Tool(ponder)"]),
        (
            r#"call {"kind":"other","name":"todo_write"}"#,
            &["Tool(todo_write)"],
        ),
    ];
    for (asked, expected) in rows {
        for allow in [true, false] {
            let mut remembered = Remembered::default();
            remembered
                .remember(&request(asked), allow, Scope::Thread)
                .unwrap();
            assert_eq!(rules(&remembered), expected, "{asked}");
            let layers = Layers {
                remembered: vec![&remembered],
                ..Layers::default()
            };
            let decision = layers.decide(&request(asked));
            assert_eq!(
                decision.effect,
                if allow { Effect::Allow } else { Effect::Deny },
                "{}",
                decision.reason
            );
            assert!(decision.remembered.is_some());
        }
    }
    let once = [
        "$ git log > x",
        "$ $X",
        "$ eval x",
        "$ git add $F",
        "$ PATH=x git log",
        "kind other",
        r#"call {"kind":"think","name":"a*"}"#,
        "fetch https://a/*",
        r#"call {"kind":"edit"}"#,
        r#"call {"kind":"execute"}"#,
        r#"call {"title":"x"}"#,
        "edit b ",
    ];
    for asked in once {
        let mut remembered = Remembered::default();
        let result = remembered.remember(&request(asked), true, Scope::Thread);
        if asked == "edit b " {
            assert!(result.is_ok());
            continue;
        }
        assert!(matches!(result, Err(NotRememberable::NoRule { .. })), "{asked}");
        assert_eq!(rules(&remembered), Vec::<String>::new());
    }
}

#[test]
fn policy_gives_remembered_answers_the_place_of_their_scope() {
    // Scope of the answer, the answer, configured policies for daemon and thread, effect.
    let rows = [
        (Scope::Session, true, "", "ask Bash(git status)", "allow"),
        (Scope::Session, true, "", "deny Bash(git *)", "deny"),
        (Scope::Session, true, "deny Bash", "", "deny"),
        (Scope::Thread, true, "", "ask Bash(git *)", "allow"),
        (Scope::Thread, true, "", "ask Bash(git status)", "ask"),
        (Scope::Thread, true, "ask Bash(git status)", "", "allow"),
        (Scope::Thread, true, "", "default deny", "allow"),
        (Scope::Thread, true, "", "deny *", "deny"),
        (Scope::Agent, true, "", "ask Bash", "ask"),
        (Scope::Agent, true, "ask Bash(git status)", "", "allow"),
        (Scope::Agent, true, "deny Bash(git status)", "", "deny"),
        (Scope::Agent, false, "allow *", "allow Bash(git status)", "deny"),
        (Scope::Session, false, "allow *", "allow *", "deny"),
    ];
    for (scope, allow, daemon, thread, expected) in rows {
        let mut remembered = Remembered::default();
        remembered
            .remember(&request("$ git status"), allow, scope)
            .unwrap();
        let (daemon, thread) = (policy(daemon), policy(thread));
        let layers = Layers {
            daemon: Some(&daemon),
            agent: None,
            thread: Some(&thread),
            remembered: vec![&remembered],
        };
        let decision = layers.decide(&request("$ git status"));
        assert_eq!(
            decision.effect,
            effect(expected),
            "{scope:?}: {}",
            decision.reason
        );
    }
}

#[test]
fn policy_lists_and_takes_back_answers() {
    let edits = |one: &str, other: &str| {
        format!(r#"call {{"kind":"edit","rawInput":{{"paths":["{one}","{other}"]}}}}"#)
    };
    let mut remembered = Remembered::default();
    assert_eq!(
        remembered.remember(&request(&edits("a", "b")), true, Scope::Thread),
        Ok(vec![1, 2])
    );
    assert_eq!(
        remembered.remember(&request(&edits("b", "c")), true, Scope::Thread),
        Ok(vec![2, 3])
    );
    assert_eq!(
        remembered.remember(&request("edit b"), true, Scope::Session),
        Ok(vec![4])
    );
    assert_eq!(
        remembered.remember(&request("edit b"), false, Scope::Thread),
        Ok(vec![5])
    );
    assert_eq!(
        remembered.remember(&request("edit b"), true, Scope::Daemon),
        Err(NotRememberable::Scope)
    );
    assert_eq!(remembered.revoke(2).unwrap().rule.to_string(), "Edit(/w/b)");
    assert_eq!(remembered.revoke(2), None);
    remembered.end_session();
    let ids: Vec<u64> = remembered.iter().map(|rule| rule.id).collect();
    assert_eq!(ids, [1, 3, 5]);
    // An id is never reused, even after the list was stored and loaded.
    remembered.revoke(5);
    let text = serde_json::to_string(&remembered).unwrap();
    let mut read: Remembered = serde_json::from_str(&text).unwrap();
    assert_eq!(read, remembered);
    assert_eq!(
        read.remember(&request("edit d"), true, Scope::Thread),
        Ok(vec![6])
    );
}

#[test]
fn policy_bounds_what_it_remembers() {
    let mut remembered = Remembered::default();
    for number in 0..1024 {
        remembered
            .remember(&request(&format!("$ run {number}")), true, Scope::Thread)
            .unwrap();
    }
    assert_eq!(
        remembered.remember(&request("$ other"), true, Scope::Thread),
        Err(NotRememberable::Full)
    );
    assert_eq!(
        remembered.remember(&request("$ run 7"), true, Scope::Thread),
        Ok(vec![8])
    );
}
