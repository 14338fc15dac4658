//! How the policies of daemon, agent and thread combine, and how they are written.

use acpd_policy::{Effect, Explanation, Layers, List, Match, Policy, Scope};
use serde_json::json;

use crate::table::{effect, policy, request};

/// Policies for daemon, agent, thread; request, effect, and the scope of the deciding rule or default.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, Option<Scope>);

fn check(rows: &[Row<'_>]) {
    for (daemon, agent, thread, asked, expected, scope) in rows {
        let (daemon, agent, thread) = (policy(daemon), policy(agent), policy(thread));
        let layers = Layers {
            daemon: Some(&daemon),
            agent: Some(&agent),
            thread: Some(&thread),
            remembered: vec![],
        };
        let decision = layers.decide(&request(asked));
        assert_eq!(
            (decision.effect, decision.scope),
            (effect(expected), *scope),
            "{}",
            decision.reason
        );
    }
}

#[test]
fn policy_layers_combine() {
    use Scope::{Agent, Daemon, Thread};
    check(&[
        // A deny applies in any layer.
        (
            "deny Bash(rm *)",
            "",
            "allow Bash(rm x)",
            "$ rm x",
            "deny",
            Some(Daemon),
        ),
        ("", "deny Bash", "allow *", "$ ls", "deny", Some(Agent)),
        ("allow *", "allow *", "deny Bash", "$ ls", "deny", Some(Thread)),
        // Otherwise the innermost layer with a matching rule decides, however narrow the others are.
        (
            "ask Bash(git status)",
            "",
            "allow Bash",
            "$ git status",
            "allow",
            Some(Thread),
        ),
        (
            "allow Bash(git status)",
            "",
            "ask Bash",
            "$ git status",
            "ask",
            Some(Thread),
        ),
        ("allow Bash", "ask Bash", "", "$ git status", "ask", Some(Agent)),
        (
            "allow Bash(git *)",
            "ask Read",
            "allow Edit",
            "$ git status",
            "allow",
            Some(Daemon),
        ),
        (
            "allow Bash",
            "",
            "ask Bash(git push *)",
            "$ git push",
            "ask",
            Some(Thread),
        ),
        (
            "allow Bash",
            "",
            "ask Bash(git push *)",
            "$ git pull",
            "allow",
            Some(Daemon),
        ),
        // The default of the innermost layer that has one applies. A matching rule further out comes before it.
        ("default allow", "", "", "$ ls", "allow", Some(Daemon)),
        ("default allow", "default deny", "", "$ ls", "deny", Some(Agent)),
        (
            "default deny",
            "default deny",
            "default ask",
            "$ ls",
            "ask",
            Some(Thread),
        ),
        ("allow Bash", "", "default deny", "$ ls", "allow", Some(Daemon)),
        ("", "", "", "$ ls", "ask", None),
        // A base is a layer just outside of the policy's own lists.
        (
            "base restricted, allow Bash",
            "",
            "",
            "$ ls",
            "allow",
            Some(Daemon),
        ),
        (
            "base restricted, allow mcp__a__*",
            "",
            "",
            "mcp a b",
            "allow",
            Some(Daemon),
        ),
        (
            "base restricted, allow mcp__a__*",
            "",
            "",
            "mcp b b",
            "deny",
            Some(Daemon),
        ),
        ("base readonly, allow Bash", "", "", "$ ls", "deny", Some(Daemon)),
        (
            "base standard, default allow",
            "",
            "",
            "$ ls",
            "allow",
            Some(Daemon),
        ),
        (
            "base permissive",
            "",
            "base standard",
            "$ ls",
            "ask",
            Some(Thread),
        ),
        (
            "base permissive",
            "",
            "base standard",
            "read a",
            "allow",
            Some(Thread),
        ),
        (
            "base readonly",
            "",
            "base permissive",
            "edit a",
            "deny",
            Some(Daemon),
        ),
        // Each part of a command line is decided separately. Of equal decisions, the first is reported.
        (
            "allow Bash(git *)",
            "",
            "allow Bash(ls)",
            "$ git status; ls",
            "allow",
            Some(Daemon),
        ),
    ]);
}

#[test]
fn policy_is_read_from_a_name_or_an_object() {
    let read = |value| serde_json::from_value::<Policy>(value);
    let preset = read(json!("standard")).unwrap();
    assert_eq!(preset, read(json!({ "base": "standard" })).unwrap());
    assert_eq!(preset, read(json!({ "preset": "standard" })).unwrap());
    let own = json!({ "base": "readonly", "deny": ["Bash"], "ask": ["Edit(*.md)"], "allow": ["Read"], "default": "ask" });
    let policy = read(own.clone()).unwrap();
    assert_eq!(policy.default, Some(Effect::Ask));
    assert_eq!(serde_json::to_value(&policy).unwrap(), own);
    assert_eq!(
        read(json!({ "defaultMode": "deny" })).unwrap().default,
        Some(Effect::Deny)
    );
    assert_eq!(read(json!({})).unwrap(), Policy::default());
    let rows = [
        (json!({ "alow": [] }), "unknown field `alow`, expected one of"),
        (
            json!("standart"),
            "there is no policy preset \"standart\"; known are permissive, standard, restricted, readonly",
        ),
        (
            json!({ "base": "x" }),
            "unknown variant `x`, expected one of `permissive`",
        ),
        (
            json!({ "default": "maybe" }),
            "unknown variant `maybe`, expected one of `allow`, `ask`, `deny`",
        ),
        (
            json!({ "ask": ["Bash", "Bash(git"] }),
            "ask[1]: the rule \"Bash(git\" is wrong at character 8",
        ),
        (json!(["Bash"]), "the name of a preset, or an object with"),
        (
            json!({ "allow": vec!["Bash"; 2000] }),
            "`allow` has more than 1024 rules",
        ),
    ];
    for (written, expected) in rows {
        let error = read(written).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn policy_explains_itself() {
    let daemon = policy("ask Bash, allow Bash(git *), allow Read");
    let thread = policy("deny Bash(rm *)");
    let layers = Layers {
        daemon: Some(&daemon),
        thread: Some(&thread),
        ..Layers::default()
    };
    let Explanation { decision, subjects } = layers.explain(&request("$ git status && rm x"));
    assert_eq!(decision.effect, Effect::Deny);
    assert_eq!(decision.scope, Some(Scope::Thread));
    assert_eq!(decision.list, Some(List::Deny));
    assert_eq!(decision.rule.as_deref(), Some("Bash(rm *)"));
    assert_eq!(
        decision.reason,
        "the command `rm x` is denied by the rule Bash(rm *) of the policy for the thread"
    );
    let rules = |at: usize| -> Vec<_> {
        let rules = subjects[at].rules.iter();
        rules
            .map(|rule| (rule.rule.as_str(), rule.list, rule.matched, rule.decided))
            .collect()
    };
    assert_eq!(
        rules(0),
        [
            ("Bash", List::Ask, Match::Yes, false),
            ("Bash(git *)", List::Allow, Match::Yes, true)
        ]
    );
    assert_eq!(
        rules(1),
        [
            ("Bash(rm *)", List::Deny, Match::Yes, true),
            ("Bash", List::Ask, Match::Yes, false)
        ]
    );
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true }, {
        let json = serde_json::to_string_pretty(&layers.explain(&request("$ git log; eval $X"))).unwrap();
        insta::assert_snapshot!("policy-explain", json);
    });
}
