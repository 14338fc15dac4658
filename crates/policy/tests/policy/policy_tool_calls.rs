//! Parsing ACP tool calls.

use acpd_model::RawJson;
use acpd_model::limits::REQUEST_PATHS;
use acpd_policy::{Access, Effect, Layers, RealPaths, Request, ShownChange, Subject};
use serde_json::{Value, json};

use crate::table::{check, policy};

#[test]
fn policy_does_not_look_at_the_title() {
    check(
        r#"allow Bash(git *) :: call {"title":"git status","kind":"execute","rawInput":{"command":"rm x"}} => ask
        allow Bash(git *) :: call {"title":"git status","kind":"execute"} => ask
        allow Bash(git *) :: call {"title":"`git status`","rawInput":{}} => ask
        allow Edit(a) :: call {"title":"a","kind":"edit"} => ask
        allow mcp__a__b :: call {"title":"mcp__a__b","kind":"other","rawInput":{"x":1}} => ask
        allow *, deny Bash(rm *) :: call {"title":"rm x","kind":"execute","rawInput":{"command":"ls"}} => allow
        allow Bash(git *) :: call {"kind":"execute","content":[{"type":"content","content":{"type":"text","text":"git status"}}]} => ask"#,
    );
    // The same call with any title is the same request.
    let call = |title: &str| {
        let json = serde_json::json!({ "title": title, "kind": "execute", "rawInput": { "command": "ls" } });
        Request::from_tool_call(&json.into(), "/w")
    };
    assert_eq!(call("git status"), call("rm -rf /"));
}

/// Halves of surrogate pairs, numbers beyond a double and deep nesting are JSON, and hide no command.
#[test]
fn policy_reads_all_json() {
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    check(&format!(
        r#"allow *, deny Bash(rm *) :: call {{"title":"ls","kind":"execute","rawInput":{{"command":"rm -rf x \ud83d"}}}} => deny
        allow *, deny Bash(rm *) :: call {{"kind":"execute","rawInput":{{"command":"rm -rf x","timeout":1e999}}}} => deny
        allow *, deny Bash(rm *) :: call {{"kind":"execute","rawInput":{{"x":{deep},"command":"rm -rf x"}}}} => deny
        allow *, deny Bash(rm *) :: call {{"kind":"execute","\udc00":1,"rawInput":"{{\"command\":\"rm \\ud83d\"}}"}} => deny
        allow *, deny Bash(rm *) :: call {{"kind":"execute","rawInput":[1e999]}} => ask
        allow Bash(git *) :: call {{"kind":"execute","rawInput":{{"command":"git log '\ud83d'"}}}} => allow"#
    ));
    let call = RawJson::parse(r#"{"kind":"execute","rawInput":{"command":"rm -rf x \ud83d"}}"#).unwrap();
    let shown = format!("{:?}", Request::from_tool_call(&call, "/w").shown());
    assert!(shown.contains("rm -rf x \u{fffd}"), "{shown}");
    let odd = RawJson::parse(r#"{"kind":"execute","rawInput":[1]}"#).unwrap();
    let shown = format!("{:?}", Request::from_tool_call(&odd, "/w").shown());
    assert!(
        shown.contains("acpd cannot read the input of the call"),
        "{shown}"
    );
}

#[test]
fn policy_reads_the_inputs_of_real_agents() {
    check(
        r#"allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":"git status"}} => allow
        allow Bash(git *) :: call {"rawInput":{"command":"git status"}} => allow
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"cmd":"git status"}} => allow
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":["git","status"]}} => allow
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":["/bin/bash","-lc","git status"]}} => allow
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":["/bin/bash","-lc","git status; rm x"]}} => ask
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":"git","args":["status"]}} => allow
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":"git","args":"status"}} => ask
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":{"x":1}}} => ask
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":"git status","cmd":"rm x"}} => ask
        allow Bash(git *) :: call {"kind":"execute","input":"{\"command\":\"git status\"}"} => allow
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":"git status","env":{"PATH":"x"}}} => ask
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":"git status","is_input":true}} => ask
        allow Bash, deny Edit(/x/a) :: call {"kind":"execute","rawInput":{"command":"echo > a","cwd":"/x"}} => deny
        allow Edit(a) :: call {"kind":"edit","rawInput":{"file_path":"/w/a","content":"x"}} => allow
        allow Edit(a) :: call {"rawInput":{"file_path":"/w/a","content":"x"}} => allow
        allow Edit(a) :: call {"kind":"edit","rawInput":{"filePath":"/w/a"}} => allow
        allow Edit(a) :: call {"kind":"edit","rawInput":{"abs_path":"/w/a"}} => allow
        allow Edit(a) :: call {"kind":"edit","rawInput":{"changes":{"/w/a":{"type":"add"}}}} => allow
        allow Edit(a) :: call {"kind":"edit","rawInput":{"changes":{"/w/a":{},"/w/b":{}}}} => ask
        allow Edit(a) :: call {"kind":"edit","rawInput":{"command":"create","path":"/w/a"}} => allow
        allow Edit(a) :: call {"kind":"edit","rawInput":{"command":"rm x","path":"/w/a"}} => ask
        allow Move(*) :: call {"kind":"move","rawInput":{"source":"a","destination":"b"}} => allow
        allow Move(*) :: call {"kind":"move","rawInput":{"source":"a","destination":"/b"}} => ask
        allow Search(**) :: call {"kind":"search","rawInput":{"path":".","pattern":"/etc/*"}} => ask
        allow Search(**) :: call {"kind":"search","rawInput":{"path":".","pattern":"x"}} => allow
        allow Search(**) :: call {"kind":"search","rawInput":{"path":".","pattern":"{..,.}/**"}} => ask
        allow Search(**) :: call {"kind":"search","rawInput":{"path":"{/etc/passwd,x}","pattern":"x"}} => ask
        allow Search(**) :: call {"kind":"search","rawInput":{"path":"app/(group)/[id]","pattern":"x"}} => allow
        allow mcp__s__t :: call {"rawInput":{"server":"s","tool":"t"}} => allow
        allow mcp__s__t :: call {"kind":"execute","_meta":{"is_mcp_tool_call":true},"rawInput":{"server":"s","tool":"t"}} => allow
        allow mcp__s__t :: call {"kind":"other","_meta":{"claudeCode":{"toolName":"mcp__s__t"}}} => allow
        allow mcp__s__* :: call {"rawInput":{"server_name":"s"}} => allow
        allow mcp__s__t :: call {"rawInput":{"server_name":"s"}} => ask
        allow WebFetch(domain:a.b) :: call {"rawInput":{"url":"https://a.b/"}} => allow"#,
    );
}

#[test]
fn policy_trusts_no_part_of_a_call_alone() {
    check(
        r#"allow Read :: call {"kind":"read","rawInput":{"path":"a","command":"rm x"}} => ask
        allow Read :: call {"kind":"read","rawInput":{"path":"a"},"content":[{"type":"diff","path":"a","newText":"x"}]} => ask
        allow Read :: call {"kind":"read","_meta":{"claudeCode":{"toolName":"Bash"}},"rawInput":{"command":"rm x"}} => ask
        allow Bash(git *) :: call {"kind":"other","rawInput":{"command":"git status"}} => ask
        allow mcp__s__t :: call {"kind":"other","rawInput":{"server":"s","tool":"t"}} => ask
        allow Bash :: call {"kind":"execute","rawInput":{"server":"s","tool":"t"}} => ask
        allow Think :: call {"kind":"think","rawInput":{"command":"rm x"}} => ask
        allow Other :: call {"kind":"other"} => ask
        allow Read :: call {} => ask
        allow Read :: call [] => ask
        allow Read :: call null => ask
        allow Read :: call {"kind":7,"rawInput":9,"locations":3,"content":"x","_meta":[]} => ask
        allow * :: call null => allow"#,
    );
}

/// The judged input is the one that is hashed and shown.
#[test]
fn policy_reads_one_input_of_a_call() {
    check(
        r#"allow Read :: call {"kind":"read","rawInput":null,"input":{"command":"rm x"},"locations":[{"path":"a"}]} => ask
        allow Bash(git *) :: call {"kind":"execute","rawInput":null,"input":{"command":"git status"}} => allow
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":"git status"},"input":null} => allow
        allow Bash(git *) :: call {"kind":"execute","rawInput":{"command":"git status"},"input":{"command":"git status"}} => allow
        allow Read :: call {"kind":"read","rawInput":{},"input":{"command":"rm x"},"locations":[{"path":"a"}]} => ask
        allow Read :: call {"kind":"read","rawInput":{"path":"a"},"input":{"command":"rm x"}} => ask
        allow Read :: call {"kind":"read","rawInput":{"path":"a"},"rawInput":{"command":"rm x"},"locations":[{"path":"a"}]} => ask"#,
    );
}

#[test]
fn policy_takes_no_input_alone_for_a_tool_of_a_server() {
    check(
        r#"allow mcp__gh__api :: call {"rawInput":{"server":"gh","tool":"api","arguments":{"command":"x"}}} => allow
        allow mcp__gh__api :: call {"rawInput":{"server":"gh","tool":"api","command":"rm x"}} => ask
        allow mcp__gh__api :: call {"name":"Bash","rawInput":{"server":"gh","tool":"api"}} => ask
        allow mcp__gh__api :: call {"rawInput":{"server":"gh","tool":"api"},"content":[{"type":"diff","path":"a","newText":"x"}]} => ask"#,
    );
}

#[test]
fn policy_takes_paths_that_the_caller_resolved() {
    let policy = policy("allow Edit(src/**)");
    let layers = Layers {
        thread: Some(&policy),
        ..Layers::default()
    };
    let write = Request::write_file("/w/src/link", "/w");
    assert_eq!(layers.decide(&write).effect, Effect::Allow);
    let leads_to = |place: &str| RealPaths {
        paths: [("/w/src/link".to_owned(), Ok(place.to_owned()))].into(),
        ..RealPaths::default()
    };
    let resolved = |place| layers.decide(&write.clone().with_real_paths(&leads_to(place)));
    assert_eq!(resolved("/etc/passwd").effect, Effect::Ask);
    assert_eq!(resolved("/w/src/a").effect, Effect::Allow);
    let unknown = write.clone().with_real_paths(&RealPaths::default());
    assert_eq!(layers.decide(&unknown).effect, Effect::Ask);
    assert_eq!(
        layers.decide(&Request::read_file("src/a", "/w")).effect,
        Effect::Ask
    );
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let call = RawJson::parse(format!(
        r#"{{"kind":"edit","rawInput":{{"path":"src/a","x":{deep}}}}}"#
    ))
    .unwrap();
    assert_eq!(
        layers.decide(&Request::from_tool_call(&call, "/w")).effect,
        Effect::Allow
    );
}

fn tool_call(kind: &str, input: &Value) -> Request {
    Request::from_tool_call(&json!({ "kind": kind, "rawInput": input }).into(), "/w")
}

/// Case is ignored, so that a call has thousands of names for a command.
#[test]
fn policy_caps_the_commands_read_per_call() {
    let spelled = |number: usize| -> String {
        let letters = "command".chars().enumerate();
        let letters = letters.map(|(at, letter)| match number >> at & 1 {
            1 => letter.to_ascii_uppercase(),
            _ => letter,
        });
        letters.collect()
    };
    let commands = |count: usize| {
        let input = (0..count).map(|number| (spelled(number), json!(format!("true {number}"))));
        tool_call("execute", &Value::Object(input.collect()))
    };
    assert_eq!(commands(4).subjects().len(), 4);
    for count in [5, 100] {
        let request = commands(count);
        let unreadable = request.subjects().last().map(Subject::to_string);
        assert_eq!(
            unreadable.as_deref(),
            Some("a command that is given more than once")
        );
        assert_eq!(request.subjects().len(), 5);
        assert_eq!(request.shown().len(), 5);
    }
}

/// Each name is resolved, even if several lead to one file.
#[test]
fn policy_bounds_the_file_names_that_it_reads() {
    let names = (0..REQUEST_PATHS + 100).map(|times| format!("{}a", "./".repeat(times)));
    let request = tool_call("edit", &json!({ "paths": names.collect::<Vec<_>>() }));
    assert_eq!(request.files().count(), REQUEST_PATHS);
    let unknown = Subject::File {
        access: Access::Edit,
        path: None,
    };
    assert_eq!(request.subjects().last(), Some(&unknown));
    assert_eq!(request.subjects().len(), 2);
}

/// Each path, each change and the text are checked once; otherwise this takes minutes.
#[test]
fn policy_compares_many_changes_with_a_long_text() {
    let names: Vec<String> = (0..50_000).map(|number| format!("/w/{number}")).collect();
    let text = format!("x{}", "\n".repeat(1 << 20));
    let mut request = tool_call("edit", &json!({ "paths": names, "content": text }));
    let changes = names.iter().map(|path| ShownChange {
        path,
        old: None,
        new: "x",
        diff: String::new(),
        is_complete: true,
    });
    let before = request.shown();
    request.show_changes(&changes.collect::<Vec<_>>());
    assert_eq!(request.shown(), before, "the input and the changes agree");
}
