//! Files that are named by a link.

use acpd_policy::{Effect, Layers, RealPaths, Remembered, Request, Scope};

use crate::table::{check, policy, request};

#[test]
fn policy_a_link_and_the_place_it_leads_to_are_both_decided_on() {
    check(
        "deny Edit(secret/**), allow Edit :: to /real/w/secret/f edit link => deny
        deny Edit(link), allow Edit :: to /real/w/a edit link => deny
        deny Edit(secret/**), allow Edit :: to /real/w/a edit link => allow
        deny Edit(secret/**), default allow :: to /real/w/secret/f edit link => deny
        allow Edit(src/**) :: to /real/w/src/a edit src/link => allow
        allow Edit(src/**) :: to /real/w/lib/a edit src/link => ask
        allow Edit(src/**) :: to /real/w/src/a edit link => ask
        allow Edit(src/**) :: to /etc/passwd edit src/link => ask
        allow Edit(src/**), ask Edit(src/secret/**) :: to /real/w/src/secret/f edit src/link => ask
        deny Read(/etc/**) :: to /etc/passwd read link => deny
        deny Read(~/.ssh/**), default allow :: to /home/u/.ssh/id read link => deny
        deny Edit(secret/**), default allow :: to /real/w/secret/f delete link => deny
        deny Edit(secret/**), default allow :: to /real/w/secret/f move link => deny
        allow Edit(src/**) :: to ? edit src/link => ask
        deny Edit(secret/**), allow Edit :: to ? edit link => ask
        deny Edit(link), allow Edit :: to ? edit link => deny
        allow Edit :: to ? edit link => allow
        deny Edit(secret/**), default allow :: to /real/w/secret/f call {\"kind\":\"edit\",\"locations\":[{\"path\":\"/w/link\"}]} => deny
        deny Edit(secret/**), default allow :: to /real/w/secret/f call {\"kind\":\"edit\",\"rawInput\":{\"file_path\":\"link\"}} => deny
        deny Edit(secret/**), default allow :: to /real/w/secret/f call {\"kind\":\"edit\",\"content\":[{\"type\":\"diff\",\"path\":\"/w/link\",\"newText\":\"\"}]} => deny",
    );
}

#[test]
fn policy_a_directory_with_two_names_has_the_same_files_under_both() {
    check(
        "allow Edit(src/**) :: to /real/w/src/a edit src/a => allow
        allow Edit(src/**) :: to /real/w/src/a edit /real/w/src/a => allow
        allow Edit(/real/w/src/**) :: to /real/w/src/a edit src/a => allow
        deny Edit(/real/w/secret/**), default allow :: to /real/w/secret/f edit secret/f => deny
        deny Edit(secret/**), default allow :: to /real/w/secret/f edit /real/w/secret/f => deny
        deny Edit(/real/w/secret/**), default allow :: to /real/w/secret/f edit link => deny
        allow Edit(src/**) :: to /real/wx/src/a edit src/a => ask",
    );
}

/// The program is the file that its path leads to. `x` in the thread's directory is a link in some rows, and a plain
/// file in others.
#[test]
fn policy_compares_a_program_by_where_its_path_leads() {
    check(
        "allow Bash(./x *) :: to /real/w/x $ ./x a => allow
        allow Bash(./x *) :: to /usr/bin/rm $ ./x a => ask
        allow Bash(./x *) :: to ? $ ./x a => ask
        allow Bash(./x *) :: to /usr/bin/rm $ env ./x a => ask
        allow Bash(./x *) :: to /usr/bin/rm $ good; sh -c './x a' => ask
        allow Bash(./bin/*) :: to /usr/bin/rm $ bin/tool => ask
        allow Bash(./bin/*) :: to /real/w/bin/other $ bin/tool => allow
        allow Bash(./x) :: to /real/w/x $ sub/../x => allow
        allow Bash(./x) :: to /other/x $ sub/../x => ask
        allow Bash(/usr/bin/rm *) :: to /usr/bin/rm $ ./x a => allow
        allow Bash(good *) :: to ? $ good ./x => allow
        allow *, deny Bash(rm *) :: to /usr/bin/rm $ ./x a => deny
        allow *, deny Bash(/usr/bin/rm *) :: to /usr/bin/rm $ ./x a => deny
        allow *, deny Bash(./x *) :: to /usr/bin/rm $ ./x a => deny
        allow *, deny Bash(./x *) :: to ? $ ./x a => deny
        allow *, deny Bash(rm *) :: to /real/w/y $ ./x a => allow",
    );
}

#[test]
fn policy_a_rule_may_name_a_program_by_a_link() {
    let policy = policy("allow Bash(/usr/bin/python3 *), allow Bash(~/tools/x *)");
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    let decide = |line: &str, places: &[(&str, &str)]| {
        let request = Request::command_line(line, "/w").with_home("/home/u");
        for path in layers.paths(&request) {
            assert!(
                places.iter().any(|(named, _)| *named == path),
                "{path} is looked up"
            );
        }
        let paths = places
            .iter()
            .map(|(named, real)| ((*named).to_owned(), Ok((*real).to_owned())));
        let real = RealPaths {
            paths: paths.collect(),
            ..RealPaths::default()
        };
        layers.decide(&request.with_real_paths(&real)).effect
    };
    let python = ("/usr/bin/python3", "/usr/bin/python3.13");
    let tool = ("/home/u/tools/x", "/opt/x/bin/x");
    assert_eq!(decide("/usr/bin/python3 a", &[python, tool]), Effect::Allow);
    let other_name = ("/usr/bin/python", "/usr/bin/python3.13");
    assert_eq!(
        decide("/usr/bin/python a", &[python, tool, other_name]),
        Effect::Allow
    );
    let older = ("/usr/bin/python", "/usr/bin/python2");
    assert_eq!(decide("/usr/bin/python a", &[python, tool, older]), Effect::Ask);
    assert_eq!(
        decide(
            "/opt/x/bin/x a",
            &[python, tool, ("/opt/x/bin/x", "/opt/x/bin/x")]
        ),
        Effect::Allow
    );
    // Without a path, no path needs to be resolved.
    assert!(layers.paths(&Request::command_line("python3 a", "/w")).is_empty());
}

#[test]
fn policy_an_answer_about_a_program_holds_while_it_leads_there() {
    let mut remembered = Remembered::default();
    let link = request("to /usr/bin/tool $ ./x a");
    remembered.remember(&link, true, Scope::Thread).unwrap();
    let layers = Layers {
        remembered: vec![&remembered],
        ..Layers::default()
    };
    assert_eq!(layers.decide(&link).effect, Effect::Allow);
    for elsewhere in ["to /usr/bin/rm $ ./x a", "to ? $ ./x a", "to /real/w/x $ ./x a"] {
        assert_eq!(
            layers.decide(&request(elsewhere)).effect,
            Effect::Ask,
            "{elsewhere}"
        );
    }
    assert!(
        remembered
            .remember(&request("to ? $ ./x a"), true, Scope::Thread)
            .is_err()
    );
}

#[test]
fn policy_names_the_place_that_decided() {
    let policy = policy("deny Edit(secret/**), allow Edit");
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    let explained = layers.explain(&request("to /real/w/secret/f edit link"));
    assert_eq!(explained.decision.subject, "changing /w/secret/f");
    let subjects: Vec<_> = explained
        .subjects
        .iter()
        .map(|subject| (subject.decision.subject.as_str(), subject.decision.effect))
        .collect();
    assert_eq!(
        subjects,
        [
            ("changing /w/link", Effect::Allow),
            ("changing /w/secret/f", Effect::Deny)
        ]
    );
    assert_eq!(layers.explain(&request("to /real/w/a edit a")).subjects.len(), 1);
}

#[test]
fn policy_a_dotted_way_behind_a_link_is_asked_about_as_it_came() {
    let request =
        request(r#"call {"kind":"edit","rawInput":{"path":"link/../f"},"locations":[{"path":"/w/f"}]}"#);
    let paths: Vec<_> = request.files().collect();
    assert_eq!(paths, ["/w/link/../f", "/w/f"]);
}

#[test]
fn policy_an_answer_about_a_link_holds_while_it_leads_there() {
    let mut remembered = Remembered::default();
    let link = request("to /real/w/a edit link");
    remembered.remember(&link, true, Scope::Thread).unwrap();
    let layers = Layers {
        remembered: vec![&remembered],
        ..Layers::default()
    };
    assert_eq!(layers.decide(&link).effect, Effect::Allow);
    let elsewhere = request("to /real/w/secret/f edit link");
    assert_eq!(layers.decide(&elsewhere).effect, Effect::Ask);
    let mut nothing = Remembered::default();
    let unknown = nothing.remember(&request("to ? edit link"), true, Scope::Thread);
    assert!(unknown.is_err(), "{unknown:?}");
}

#[test]
fn policy_of_two_equally_strict_rules_the_configured_one_is_reported() {
    let policy = policy("ask Edit(secret/**)");
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    let decision = layers.decide(&request("to /real/w/secret/f edit link"));
    assert_eq!(decision.scope, Some(Scope::Daemon));
    assert_eq!(decision.rule.as_deref(), Some("Edit(secret/**)"));
}

#[test]
fn policy_answers_for_an_agent_have_ids_of_their_own() {
    let mut of_agent = Remembered::for_agent();
    let ids = of_agent.remember(&request("edit a"), true, Scope::Agent).unwrap();
    assert_eq!(ids, [acpd_policy::AGENT_IDS + 1]);
    let layers = Layers {
        remembered: vec![&of_agent],
        ..Layers::default()
    };
    let decision = layers.decide(&request("edit a"));
    assert_eq!(
        (decision.effect, decision.scope),
        (Effect::Allow, Some(Scope::Agent))
    );
    assert!(!layers.is_empty() && Layers::default().is_empty());
}
