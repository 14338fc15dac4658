//! Rules for everything except commands; the syntax of rules, and their order by specificity.

use acpd_policy::{Rule, Specificity};

use crate::table::check;

#[test]
fn policy_matches_paths_after_they_are_resolved() {
    check(
        "allow Read(/src/**) :: read /src/a/b.rs => allow
        allow Read(/src/**) :: read /src => allow
        allow Read(/src/**) :: read /srcx => ask
        allow Read(/src/**) :: read /src/../etc/passwd => ask
        allow Read(/src/*) :: read /src/a => allow
        allow Read(/src/*) :: read /src/a/b => ask
        allow Read(/src/*) :: read /src/.hidden => allow
        allow Read(/src/**/x.rs) :: read /src/x.rs => allow
        allow Read(/src/**/x.rs) :: read /src/a/b/x.rs => allow
        allow Read(/src/**/x.rs) :: read /src/a/b/y.rs => ask
        allow Read(/a?c) :: read /abc => allow
        allow Read(/a?c) :: read /a/c => ask
        allow Read([id].ts) :: read [id].ts => allow
        allow Read([id].ts) :: read i.ts => ask
        allow Read(a\\*b) :: read a*b => allow
        allow Read(a\\*b) :: read axb => ask
        allow Edit(*.md) :: edit README.md => allow
        allow Edit(*.md) :: edit /w/README.md => allow
        allow Edit(*.md) :: edit docs/README.md => ask
        allow Edit(**/*.md) :: edit docs/README.md => allow
        allow Edit(*.md) :: edit /other/README.md => ask
        allow Edit(./src/**) :: edit src/./a//b => allow
        allow Edit(**) :: edit ../x => ask
        allow Edit(**) :: edit file:///w/a%20b => allow
        allow Edit(**) :: edit File:///etc/x => ask
        allow Edit(**) :: edit FILE://localhost/w/a => allow
        allow Edit(**) :: edit file://host/w/a => ask
        allow Read(~/x) :: read /home/u/x => allow
        allow Read(~/x) :: read ~/x => ask
        allow Read(~/x) :: read /w/~/x => ask
        allow Write(a) :: edit a => allow
        allow Edit :: edit /anything => allow
        allow Edit :: read a => ask
        allow Edit :: delete a => ask
        allow Edit :: move a => ask
        allow Delete(a) :: delete a => allow
        allow Move :: move a => allow
        allow Read(a) :: search a => allow
        allow Search(a) :: read a => ask
        allow Grep :: search a => allow
        allow *, deny Edit(.env) :: edit .env => deny
        allow *, deny Edit(.env) :: delete .env => deny
        allow *, deny Edit(.env) :: move .env => deny
        allow *, deny Edit(.env) :: read .env => allow
        allow *, deny Read(**/.env) :: search a/.env => deny
        ask Edit(/w/**), allow Edit(src/**) :: edit src/a => allow
        ask Edit(src/**), allow Edit(/w/**) :: edit src/a => ask
        allow Edit(/w/src/*), ask Edit(src/**) :: edit src/a => allow
        allow Edit(src/a), ask Edit(src/*) :: edit src/a => allow",
    );
}

#[test]
fn policy_needs_all_paths_to_allow_and_one_to_deny() {
    check(
        r#"allow Edit(src/**) :: call {"kind":"edit","rawInput":{"paths":["src/a","src/b"]}} => allow
        allow Edit(src/**) :: call {"kind":"edit","rawInput":{"paths":["src/a","b"]}} => ask
        allow *, deny Edit(b) :: call {"kind":"edit","rawInput":{"paths":["src/a","b"]}} => deny
        allow Edit(src/**) :: call {"kind":"edit","rawInput":{"path":"src/a"},"locations":[{"path":"b"}]} => ask
        allow Edit(src/**) :: call {"kind":"edit","content":[{"type":"diff","path":"b","newText":""}],"rawInput":{"path":"src/a"}} => ask
        allow Edit(src/**) :: call {"kind":"edit","rawInput":{"path":7}} => ask
        allow Edit(src/**) :: call {"kind":"edit"} => ask
        allow Edit :: call {"kind":"edit"} => allow
        allow *, deny Edit(b) :: call {"kind":"edit"} => ask
        allow Edit(src/**), default deny :: call {"kind":"edit"} => ask
        allow Edit(/a/**), default deny :: edit src/a => deny"#,
    );
}

#[test]
fn policy_matches_addresses_tools_and_kinds() {
    check(
        "allow WebFetch(domain:example.com) :: fetch https://example.com/a => allow
        allow WebFetch(domain:example.com) :: fetch HTTP://EXAMPLE.com:8080 => allow
        allow WebFetch(domain:example.com) :: fetch https://www.example.com/ => ask
        allow WebFetch(domain:example.com) :: fetch https://example.com@evil.org/ => ask
        allow WebFetch(domain:example.com) :: fetch https://example.com.evil.org/ => ask
        allow WebFetch(domain:example.com) :: fetch https://evil.org/?https://example.com => ask
        allow WebFetch(domain:example.com) :: fetch https://evil.org\\@example.com/ => ask
        allow WebFetch(domain:example.com) :: fetch ftp://example.com/ => ask
        allow WebFetch(domain:*.example.com) :: fetch https://a.b.example.com/ => allow
        allow WebFetch(domain:*.example.com) :: fetch https://example.com/ => ask
        allow WebFetch(domain:*.example.com) :: fetch https://badexample.com/ => ask
        allow WebFetch(https://example.com/docs/*) :: fetch https://example.com/docs/a => allow
        allow WebFetch(https://example.com/docs/*) :: fetch https://example.com/x => ask
        allow WebFetch :: fetch nonsense => allow
        allow *, deny WebFetch(domain:evil.org) :: fetch https://www.evil.org./ => deny
        allow *, deny WebFetch(domain:evil.org) :: fetch nonsense => ask
        allow *, deny WebFetch(domain:evil.org) :: fetch https://ｅｖｉｌ.org/ => deny
        allow *, deny WebFetch(domain:evil.org) :: fetch http://ⓔvil.org/ => deny
        allow *, deny WebFetch(domain:evil.org) :: fetch http://ev%69l.org/ => deny
        allow *, deny WebFetch(domain:evil.org) :: fetch http://a@evil.org:80 => deny
        allow *, deny WebFetch(domain:evil.org) :: fetch http:evil.org => deny
        allow *, deny WebFetch(domain:127.0.0.1) :: fetch http://127.1/ => deny
        allow *, deny WebFetch(domain:127.0.0.1) :: fetch http://2130706433/ => deny
        allow *, deny WebFetch(domain:127.0.0.1) :: fetch http://0x7f000001/ => deny
        allow *, deny WebFetch(domain:127.0.0.1) :: fetch http://[::ffff:127.0.0.1]/ => deny
        allow *, deny WebFetch(domain:127.0.0.1) :: fetch http://[::1]:80/ => deny
        allow *, deny WebFetch(domain:127.0.0.1) :: fetch http://localhost:4746/ => deny
        allow *, deny WebFetch(domain:localhost) :: fetch http://0.0.0.0/ => deny
        allow *, deny WebFetch(domain:127.0.0.1) :: fetch http://128.0.0.1/ => allow
        allow *, deny WebFetch(https://evil.org/*) :: fetch HTTPS://EVIL.org/x => deny
        allow WebFetch(domain:example.com) :: fetch https://ｅxample.com/ => ask
        allow WebFetch(domain:example.com) :: fetch https://ex%61mple.com/ => ask
        allow WebFetch(domain:example.com) :: fetch http:example.com => ask
        allow WebFetch(domain:127.0.0.1) :: fetch http://localhost/ => ask
        allow WebFetch(domain:::1) :: fetch http://[::1]:80/ => allow
        allow *, deny WebFetch(domain:evil.org) :: fetch https://example.com => allow
        allow mcp__github__get_issue :: mcp github get_issue => allow
        allow mcp__github__get_issue :: mcp github get_issues => ask
        allow mcp__github__* :: mcp github anything => allow
        allow mcp__github :: mcp github anything => allow
        allow mcp__github__* :: mcp githubx anything => ask
        allow mcp__github__get_* :: mcp github get_issue => allow
        allow mcp__github__get_* :: mcp github set_issue => ask
        allow mcp__* :: mcp any tool => allow
        allow mcp__* :: $ ls => ask
        allow Bash :: mcp any tool => ask
        allow * :: mcp any tool => allow
        ask mcp__*, allow mcp__a__* :: mcp a b => allow
        ask mcp__a__*, allow mcp__a__b :: mcp a b => allow
        ask mcp__a__b, allow mcp__a__* :: mcp a b => ask
        allow *, deny mcp__a__* :: mcp a b => deny
        allow Think :: kind think => allow
        allow SwitchMode :: kind switch_mode => allow
        allow Other :: kind other => allow
        allow Other :: kind think => ask
        allow other :: kind never_heard_of => ask
        allow execute :: $ ls => allow
        allow Tool(TodoWrite) :: call {\"kind\":\"other\",\"_meta\":{\"claudeCode\":{\"toolName\":\"TodoWrite\"}}} => allow
        allow Tool(Todo*) :: call {\"kind\":\"other\",\"_meta\":{\"claudeCode\":{\"toolName\":\"Task\"}}} => ask
        allow Tool(run_tests) :: call {\"kind\":\"other\",\"_meta\":{\"toolName\":\"run_tests\"},\"rawInput\":{\"x\":1}} => allow
        allow Tool(TodoWrite) :: kind other => ask",
    );
}

/// A tool's name is only the agent's claim.
#[test]
fn policy_a_tools_name_allows_no_file_and_no_command() {
    check(
        r#"
        allow Tool(X) :: call {"kind":"think","name":"X","rawInput":{"x":"y"}} => ask
        allow Tool(X) :: call {"kind":"think","name":"X","rawInput":{"text":"x"}} => allow
        allow Tool(X) :: call {"kind":"switch_mode","name":"X"} => allow
        allow Tool(X) :: call {"name":"X","rawInput":{"x":1}} => ask
        allow Tool(X) :: call {"kind":"read","name":"X","rawInput":{"mode":"zz"}} => ask
        allow Tool(X) :: call {"kind":"read","name":"X","rawInput":{"path":"a"}} => ask
        allow Tool(X) :: call {"kind":"edit","name":"X","rawInput":{"path":"a"}} => ask
        allow Tool(X) :: call {"kind":"fetch","name":"X","rawInput":{"url":"https://a"}} => ask
        allow Tool(X) :: call {"kind":"execute","name":"X","rawInput":{"command":"rm -rf /"}} => ask
        allow Tool(X) :: call {"kind":"execute","name":"X","rawInput":{"command":"eval x"}} => ask
        allow Tool(X) :: call {"kind":"other","name":"X","rawInput":{"command":"ls"}} => ask
        allow Tool(mcp__a__b) :: call {"kind":"other","name":"mcp__a__b"} => ask
        allow *, deny Tool(X) :: call {"kind":"edit","name":"X","rawInput":{"path":"a"}} => deny
        allow *, deny Tool(X) :: call {"kind":"execute","name":"X","rawInput":{"command":"ls"}} => deny
        allow *, ask Tool(X) :: call {"name":"X"} => ask"#,
    );
}

#[test]
fn policy_says_where_a_rule_is_wrong() {
    let rows = [
        (
            "",
            "the rule \"\" is wrong at character 1: a rule cannot be empty",
        ),
        (
            "Bsh(git *)",
            "at character 1: there is no tool \"Bsh\"; known are Bash,",
        ),
        (
            "Bash(git *",
            "at character 10: the rule must end with the closing parenthesis",
        ),
        ("Bash(git *) x", "at character 13: the rule must end"),
        ("Bash()", "at character 6: the parentheses are empty"),
        ("Bash(  )", "the parentheses are empty"),
        ("Read()", "at character 6: the parentheses are empty"),
        ("WebFetch()", "at character 10: the parentheses are empty"),
        ("*(x)", "at character 2: * takes no pattern"),
        ("Think(x)", "at character 6: Think takes no pattern"),
        ("mcp__a__b(x)", "at character 10: mcp__a__b takes no pattern"),
        ("mcp__", "at character 6: after `mcp__` comes a server"),
        ("mcp____x", "at character 6: after `mcp__` comes a server"),
        (
            "Bash(git 'x)",
            "at character 10: a quote or backslash here is not completed",
        ),
        (
            "Bash(git && rm)",
            "at character 10: '&' is an operator of the shell",
        ),
        ("Bash(é && rm)", "at character 8: '&' is an operator"),
        (
            "Bash(echo $HOME)",
            "at character 11: what a variable or substitution stands for",
        ),
        (
            "Bash(X=1 git)",
            "at character 6: assignments in front are taken off",
        ),
        (
            "WebFetch(domain:)",
            "at character 17: `domain:` must be followed by a host",
        ),
        ("WebFetch(domain:a/b)", "at character 17: `domain:` must be"),
        ("Tool", "at character 5: `Tool` needs the tool's name"),
        ("bash", "there is no tool \"bash\""),
    ];
    for (rule, expected) in rows {
        let error = Rule::parse(rule).unwrap_err().to_string();
        assert!(error.contains(expected), "{rule}: {error}");
    }
    let long = format!("Bash({})", "x".repeat(5000));
    assert!(
        Rule::parse(&long)
            .unwrap_err()
            .to_string()
            .contains("cannot be longer than")
    );
}

#[test]
fn policy_writes_a_rule_as_it_came() {
    for rule in [
        "*",
        "Bash",
        "Bash(git:*)",
        "Write(/a/**)",
        "mcp__a__*",
        "Bash(echo ')')",
        "Read(a(b).rs)",
        "fetch",
    ] {
        let read: Rule = serde_json::from_value(rule.into()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), rule);
        assert_eq!(read.to_string(), rule);
    }
    assert!(
        serde_json::from_str::<Rule>("\"Nope\"")
            .unwrap_err()
            .to_string()
            .contains("there is no tool")
    );
}

#[test]
fn policy_orders_rules_by_how_narrow_they_are() {
    // From the widest to the narrowest. Rules on one line are equally narrow.
    let ranks: [&[&str]; 12] = [
        &["*"],
        &["mcp__*"],
        &["mcp__a__*", "mcp__a"],
        &["mcp__ab__*"],
        &["Bash", "Read", "mcp__a__b", "Tool(x)"],
        &["Bash(*)", "Bash(* *)"],
        &["Bash(g*)"],
        &["Bash(gi* *)"],
        &["Bash(git *)", "Bash(git:*)"],
        &["Bash(git p*)"],
        &["Bash(ls)"],
        &["Bash(git push)"],
    ];
    let specificity = |rule: &str| Rule::parse(rule).unwrap().specificity("/w", None);
    let mut before: Option<Specificity> = None;
    for rank in ranks {
        let first = specificity(rank[0]);
        assert!(
            before.is_none_or(|before| before < first),
            "{}: {before:?} < {first:?}",
            rank[0]
        );
        for rule in rank {
            assert_eq!(specificity(rule), first, "{rule}");
        }
        before = Some(first);
    }
    // Paths are compared after they are made absolute.
    assert!(specificity("Read(src/**)") > specificity("Read(/w/**)"));
    assert_eq!(specificity("Read(src/**)"), specificity("Read(/w/src/**)"));
    assert!(specificity("Read(src/a*)") > specificity("Read(src/**)"));
    assert!(specificity("Read(/a)") > specificity("Read(/w/src/**)"));
}
