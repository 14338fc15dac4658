//! Inputs of a policy: agents' command lines, users' rules, tool calls.

use std::sync::LazyLock;

use acpd_model::RawJson;
use acpd_policy::{Effect, Form, Layers, Policy, Request, Rule, Subject};
use tempfile::TempDir;

use crate::Target;
use crate::judges::{Judges, Policies, shells};

/// A command line. Invariants: a Bash rule allows a line only if the parser read it to its end, and never a line that
/// contains another command. The shells of this host run nothing of an allowed line that no rule allows. A denied
/// command stays denied with a variable, a launcher or a shell around it.
pub const SHELL_LINES: Target = Target {
    name: "shell_lines",
    run: shell_lines,
    words: &[
        "git ",
        "rm ",
        "good ",
        "evil",
        "; evil ;",
        "echo ",
        "exact a b",
        "PATH=../../bad ",
        ">ok ",
        "<<'E'\n",
        "\nE)\nevil",
        "$(echo <<'E'\n",
        "set -k; ",
        "bash -kc '",
        "bash -o keyword -c '",
        "zsh -covi ",
        "[ ",
        " -eq 1 ]",
        "printf %d ",
        "'a[$(evil)]'",
        "$x[$(evil)]",
        "${ ",
        "$$",
        "'\\'",
        "\\c",
        " }",
        " always { ",
        "=(",
        "|&",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "\n",
        "(",
        ")",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        ">",
        "<",
        "<<E\n",
        "\nE\n",
        "<<<",
        "<(",
        "$((",
        "))",
        "${",
        "}",
        "{ ",
        "$x",
        "$'",
        "$\"",
        "#",
        "X=1 ",
        "CI=1 ",
        "sh -c ",
        "bash -c '",
        "env ",
        "command ",
        "eval ",
        "for x in a; do ",
        "; done",
        "if ",
        "; then ",
        "; fi",
        "case a in a) ",
        ";; esac",
        "2>&1",
        "&>",
        ">&",
        "~",
        "*",
        "!",
        "time ",
        "\\\n",
        "é",
        "\u{0}",
    ],
};

/// A rule, then a line to evaluate with it. Invariants: a rule is written as it was read, an error names a position in
/// it, and an allow rule allows nothing uncertain.
pub const RULES: Target = Target {
    name: "rules",
    run: rules,
    words: &[
        "Bash(",
        "Read(",
        "Edit(",
        "Write(",
        "Delete(",
        "Move(",
        "Search(",
        "WebFetch(domain:",
        "Tool(",
        "mcp__a__",
        ")",
        "**",
        "*",
        "/",
        "//",
        "~/",
        "..",
        "\\",
        "'",
        "\"",
        ":*",
        "\n",
        "é",
        "xn--",
        "[::1]",
        "127.1",
    ],
};

static ALLOWS_GIT: LazyLock<Policy> = LazyLock::new(|| policy(&["Bash(git *)"], &[], None));
static DENIES_RM: LazyLock<Policy> = LazyLock::new(|| policy(&[], &["Bash(rm *)"], Some(Effect::Allow)));

fn policy(allow: &[&str], deny: &[&str], default: Option<Effect>) -> Policy {
    let rules = |texts: &[&str]| texts.iter().map(|text| Rule::parse(text).unwrap()).collect();
    Policy {
        allow: rules(allow),
        deny: rules(deny),
        default,
        ..Policy::default()
    }
}

fn decide(policy: &Policy, request: &Request) -> Effect {
    let layers = Layers {
        thread: Some(policy),
        ..Layers::default()
    };
    layers.decide(request).effect
}

fn shell_lines(input: &[u8]) {
    let line = String::from_utf8_lossy(input);
    let allowed = |line: &str| decide(&ALLOWS_GIT, &Request::command_line(line, "/w")) == Effect::Allow;
    let request = Request::command_line(&line, "/w");
    assert!(!request.subjects().is_empty());
    if allowed(&line) {
        let is_read = request.subjects().iter().all(|subject| match subject {
            Subject::Command(_) => true,
            Subject::Redirect { path, .. } => path.as_deref() == Some("/dev/null"),
            _ => false,
        });
        assert!(is_read, "allowed, and not read: {:?}", request.subjects());
        // As in shells, quotes may occur anywhere in a word.
        let unquoted = line.replace("\\\n", "").replace(['\'', '"', '\\'], "");
        assert!(unquoted.contains("git"), "no word of git");
        // A backslash at the end joins the next line to the last word.
        assert!(line.ends_with('\\') || !allowed(&format!("{line}\nrm -rf x")));
        assert!(!allowed(&format!("rm -rf x\n{line}")));
    }
    judged(&line);
    let denied = |line: &str| decide(&DENIES_RM, &Request::command_line(line, "/w")) != Effect::Allow;
    if denied(&line) {
        let quoted = line.replace('\'', "'\\''");
        for around in [
            "sh -c '{}'",
            "env sh -c '{}'",
            "( sh -c '{}' )",
            "CI=1 bash -c '{}'",
        ] {
            let around = around.replace("{}", &quoted);
            assert!(denied(&around), "{around:?} is allowed");
        }
    }
    let terminal = Request::terminal(&line, &[], Form::Program, &[], None, "/w");
    assert!(!terminal.subjects().is_empty());
    let call = serde_json::json!({ "kind": "execute", "rawInput": { "command": line } });
    let call = Request::from_tool_call(&call.into(), "/w");
    let judged = |subject| call.subjects().contains(subject);
    assert!(
        request.subjects().iter().all(judged),
        "a call is judged as its command is"
    );
}

thread_local! {
    /// The shells of this host, in a directory of their own. Empty if `ACPD_SHELLS` names none.
    static SHELLS: Option<(TempDir, Judges)> = {
        let shells = shells();
        (!shells.is_empty()).then(|| {
            let home = tempfile::tempdir().unwrap();
            let judges = Judges::new(shells, &home.path().join("shells"));
            (home, judges)
        })
    };
    static POLICIES: Policies = Policies::new();
}

/// Runs a line that rules allow in real shells, unless it names a file elsewhere: it may be any line.
fn judged(line: &str) {
    SHELLS.with(|shells| {
        let Some((_, judges)) = shells else { return };
        let is_elsewhere = line
            .replace("/dev/null", "")
            .replace("../../bad", "")
            .contains(['/', '~', '\0']);
        if is_elsewhere {
            return;
        }
        let decided = POLICIES.with(|policies| policies.decide(line));
        if decided.by_rule {
            for done in judges.run(line) {
                assert_eq!(done.wrong(decided), None);
            }
        }
    });
}

fn rules(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let (text, object) = input.split_once('\n').unwrap_or((&input, "a"));
    let rule = match Rule::parse(text) {
        Ok(rule) => rule,
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
            return;
        }
    };
    assert_eq!(
        Rule::parse(rule.text()).as_ref(),
        Ok(&rule),
        "it is written as it was read"
    );
    let allow = Policy {
        allow: vec![rule],
        ..Policy::default()
    };
    let url = serde_json::json!({ "kind": "fetch", "rawInput": { "url": object } });
    for request in [
        Request::command_line(object, "/w"),
        Request::read_file(object, "/w"),
        Request::write_file(object, "/w"),
        Request::from_tool_call(&url.into(), "/w"),
        Request::from_tool_call(&RawJson::of(object).unwrap(), "/w"),
    ] {
        let everything = allow.allow[0].text() == "*";
        if decide(&allow, &request) == Effect::Allow && !everything {
            // A rule without parentheses allows every use of its tool.
            let certain = request.subjects().iter().all(Subject::is_certain);
            assert!(certain || !text.contains('('), "{:?}", request.subjects());
        }
    }
}
