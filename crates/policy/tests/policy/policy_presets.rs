//! The decisions of each preset.

use acpd_policy::{Effect, Layers, Preset};

use crate::table::{effect, policy, request};

#[test]
fn policy_presets_say_what_is_written_about_them() {
    // Columns: permissive, standard, restricted, readonly
    let rows = [
        ("read a", "allow allow allow allow"),
        ("search src", "allow allow allow allow"),
        ("read /etc/passwd", "allow ask deny deny"),
        ("read ../x", "allow ask deny deny"),
        ("kind think", "allow allow allow allow"),
        ("edit a", "allow ask ask deny"),
        ("delete a", "allow ask ask deny"),
        ("move a", "allow ask ask deny"),
        ("edit /etc/passwd", "allow ask deny deny"),
        ("$ git status", "allow ask ask deny"),
        ("$ eval $X", "allow ask ask deny"),
        ("$ echo x > y", "allow ask ask deny"),
        ("fetch https://example.com", "allow ask deny deny"),
        ("mcp a b", "allow ask deny deny"),
        ("kind switch_mode", "allow ask deny deny"),
        ("kind other", "allow ask deny deny"),
        (r#"call {"kind":"other"}"#, "allow ask ask deny"),
        (r#"call {"kind":"execute"}"#, "allow ask ask deny"),
        (r#"call {"kind":"read"}"#, "allow ask ask ask"),
        (r#"call {"kind":"edit"}"#, "allow ask ask deny"),
    ];
    for (asked, expected) in rows {
        for (preset, expected) in Preset::ALL.into_iter().zip(expected.split(' ')) {
            assert_eq!(
                under(preset, asked),
                effect(expected),
                "{}: {asked}",
                preset.name()
            );
        }
    }
}

/// Inputs with more effects than the kinds that these presets allow.
const LIES: [&str; 47] = [
    r#""rm x""#,
    r#"["rm","x"]"#,
    r#"{"command":"create","path":"x","file_text":"t"}"#,
    r#"{"command":"str_replace","path":"x","old_str":"a","new_str":"b"}"#,
    r#"{"command":"insert","path":"x","insert_line":1,"new_str":"b"}"#,
    r#"{"command":"undo_edit","path":"x"}"#,
    r#"{"path":"x","new_string":"b"}"#,
    r#"{"path":"x","content":"b"}"#,
    r#"{"file_path":"x","contents":""}"#,
    r#"{"path":"x","edits":[]}"#,
    r#"{"path":"x","patch":"@@"}"#,
    r#"{"path":"x","diff":"@@"}"#,
    r#"{"input":"*** Begin Patch\n*** Add File: x"}"#,
    r#"{"changes":{"x":{"type":"add"}}}"#,
    r#"{"path":"x","action":"delete"}"#,
    r#"{"path":"x","operation":"WRITE"}"#,
    r#"{"path":"x","mode":"w"}"#,
    r#"{"path":"x","overwrite":true}"#,
    r#"{"path":"x","destination":"y"}"#,
    r#"{"path":"x","arguments":{"command":"rm x"}}"#,
    r#"{"path":"x","code":"import os"}"#,
    r#"{"path":"x","script":"rm x"}"#,
    r#"{"command":"rm x"}"#,
    r#"{"path":"x","commandLine":"rm x"}"#,
    r#"{"tool":"run_shell_command","path":"x"}"#,
    r#"{"path":"x","name":"apply_patch"}"#,
    r#"{"notebook_path":"x","new_source":"b"}"#,
    r#"{"argv":["rm","x"]}"#,
    r#"{"path":"x","data":"overwritten"}"#,
    r#"{"path":"x","url":"https://evil.example/?q=secret"}"#,
    r#"{"path":"x","URL":"https://evil.example/?q=secret"}"#,
    r#"{"path":"x","Command":"rm -rf /"}"#,
    r#"{"Command":"rm -rf /"}"#,
    r#"{"path":"x","exec":"rm -rf /"}"#,
    r#"{"path":"x","Content":"b"}"#,
    r#"{"path":"x","truncate":true}"#,
    r#"{"path":"x","level":1}"#,
    r#"{"path":"x","actions":[{"op":"delete"}]}"#,
    r#"{"paths":[{"path":"x","op":"delete"}]}"#,
    r#"{"path":"x","limit":[{"op":"delete"}]}"#,
    r#"{"from":"a.txt","to":"/etc/passwd"}"#,
    r#"{"path":"x","output":"/etc/passwd"}"#,
    r#"{"path":"x","pattern":"a","replace":"b"}"#,
    r#"{"plan":{"command":"rm"}}"#,
    r#"{"todos":[{"content":"x","command":"rm"}]}"#,
    r#"{"path":"x","kind":"delete"}"#,
    r#"{"path":"x","source":"y"}"#,
];
/// Tools of known agents that change files or run something. Their usual inputs alone may not show it.
const LIARS: [(&str, &str); 45] = [
    // Claude Code
    ("Bash", r#"{"description":"list"}"#),
    ("KillShell", r#"{"shell_id":"1"}"#),
    ("Write", r#"{"file_path":"x"}"#),
    ("MultiEdit", r#"{"file_path":"x"}"#),
    ("NotebookEdit", r#"{"notebook_path":"x","cell_id":"1"}"#),
    // Codex
    ("exec_command", r#"{"workdir":"/w"}"#),
    ("write_stdin", r#"{"session_id":1}"#),
    ("unified_exec", r#"{"input":["ls"]}"#),
    ("local_shell", r#"{"timeout_ms":1}"#),
    ("apply_patch", r#"{"input":"x"}"#),
    ("shell_command", r#"{"workdir":"/w"}"#),
    // Gemini, Qwen
    ("run_shell_command", r#"{"dir_path":"."}"#),
    ("write_file", r#"{"file_path":"x"}"#),
    ("replace", r#"{"file_path":"x","old_string":"a"}"#),
    ("save_memory", r#"{"fact":"x"}"#),
    ("notebook_edit", r#"{"notebook_path":"x"}"#),
    ("cron_create", r#"{"schedule":"x"}"#),
    // Kimi
    ("Shell", r#"{"timeout":60}"#),
    ("StrReplaceFile", r#"{"path":"x","edit":{"old":"a"}}"#),
    ("WriteFile", r#"{"path":"x"}"#),
    // opencode
    ("bash", r#"{"description":"list"}"#),
    ("patch", r#"{"path":"x"}"#),
    ("multiedit", r#"{"filePath":"x"}"#),
    // goose
    ("developer__shell", r#"{"timeout":1}"#),
    ("developer__text_editor", r#"{"path":"x"}"#),
    ("computercontroller__automation_script", r#"{"language":"shell"}"#),
    // Copilot
    ("str_replace_editor", r#"{"path":"x"}"#),
    ("create", r#"{"path":"x"}"#),
    ("write_bash", r#"{"sessionId":"1","input":"ls"}"#),
    ("powershell", r#"{"description":"list"}"#),
    // Vibe
    ("search_replace", r#"{"file_path":"x"}"#),
    ("git_bash", r#"{"timeout":1}"#),
    // Hermes
    ("terminal", r#"{"background":true}"#),
    ("process", r#"{"session_id":"1"}"#),
    ("execute_code", r#"{"timeout":1}"#),
    ("skill_manage", r#"{"file_path":"x"}"#),
    ("computer_use", r#"{"coordinate":1}"#),
    // fast-agent, OpenHands, and names in other spellings
    ("terminate_process", r#"{"process_id":"1"}"#),
    ("execute_bash", r#"{"is_input":"false"}"#),
    ("delete-file", r#"{"path":"x"}"#),
    // Names that contain a word for notes
    ("run_task", r#"{"description":"x"}"#),
    ("delete_task", r#"{"description":"x"}"#),
    ("move_task", r#"{"description":"x"}"#),
    ("put_todo_file", r#"{"description":"x"}"#),
    ("create_and_run_task", r#"{"description":"x"}"#),
];

/// Each of these calls is declared as read, search or think. The tool's name is in each place where agents put it.
#[test]
fn policy_presets_take_no_agents_word_for_reading() {
    let kinds = ["read", "search", "think"];
    let lies = LIES.iter().map(|input| format!(r#""rawInput":{input}"#));
    let liars = LIARS.iter().flat_map(|(name, input)| {
        [
            format!(r#""_meta":{{"toolName":"{name}"}},"rawInput":{input}"#),
            format!(r#""_meta":{{"claudeCode":{{"toolName":"{name}"}}}},"rawInput":{input}"#),
            format!(r#""_meta":{{"tool_name":"{name}"}},"rawInput":{input}"#),
            format!(r#""toolName":"{name}","rawInput":{input}"#),
            format!(r#""name":"{name}","rawInput":{input}"#),
        ]
    });
    let calls: Vec<String> = lies
        .chain(liars)
        .flat_map(|members| kinds.map(|kind| format!(r#"call {{"kind":"{kind}",{members}}}"#)))
        .collect();
    assert!(LIES.len() + LIARS.len() >= 60);
    let mut taken = String::new();
    for call in &calls {
        let (standard, readonly) = (under(Preset::Standard, call), under(Preset::Readonly, call));
        if standard != Effect::Ask || readonly == Effect::Allow {
            taken += &format!("{call}: {standard:?}, {readonly:?}\n");
        }
    }
    assert!(taken.is_empty(), "\n{taken}");
}

#[test]
fn policy_presets_allow_honest_reads() {
    for call in [
        r#"{"kind":"read","rawInput":{"path":"x"}}"#,
        r#"{"kind":"read","rawInput":{"command":"view","path":"x","view_range":[1,2],"file_text":null}}"#,
        r#"{"kind":"read","rawInput":{"file_path":"x","offset":1,"limit":10}}"#,
        r#"{"kind":"read","rawInput":{"filePath":"/w/x"},"locations":[{"path":"/w/x"}]}"#,
        r#"{"kind":"read","_meta":{"claudeCode":{"toolName":"Read"}},"rawInput":{"file_path":"x"}}"#,
        r#"{"kind":"read","_meta":{"toolName":"read_file"},"rawInput":{"absolute_path":"/w/x"}}"#,
        r#"{"kind":"search","rawInput":{"path":".","pattern":"x","output_mode":"content","-n":true}}"#,
        r#"{"kind":"search","rawInput":{"path":"src","pattern":"*.rs","mode":"content"}}"#,
        r#"{"kind":"read","_meta":{"toolName":"ReadFile"},"rawInput":{"path":"x","line_offset":1,"n_lines":10}}"#,
        r#"{"kind":"read","_meta":{"toolName":"read_many_files"},"rawInput":{"paths":["x","y"]}}"#,
        r#"{"kind":"read","_meta":{"tool_name":"file_editor"},"rawInput":{"command":"view","path":"x"}}"#,
        r#"{"kind":"read","_meta":{"toolName":"developer__text_editor"},"rawInput":{"command":"view","path":"x"}}"#,
        r#"{"kind":"search","_meta":{"toolName":"Glob"},"rawInput":{"path":".","pattern":"*.rs"}}"#,
        r#"{"kind":"search","_meta":{"toolName":"search_files"},"rawInput":{"path":".","pattern":"x"}}"#,
        r#"{"kind":"think","_meta":{"claudeCode":{"toolName":"TodoWrite"}},"rawInput":{"todos":[]}}"#,
        r#"{"kind":"think","_meta":{"toolName":"update_plan"},"rawInput":{"plan":[]}}"#,
        r#"{"kind":"think","_meta":{"toolName":"write_todos"},"rawInput":{"todos":[]}}"#,
        r#"{"kind":"search","_meta":{"claudeCode":{"toolName":"Grep"}},"rawInput":{"pattern":"x","path":"src","glob":"*.rs","-A":1,"-B":1,"-C":1,"-i":true,"head_limit":9}}"#,
        r#"{"kind":"search","rawInput":{"dir_path":"src","pattern":"x","include":"*.rs","fixed_strings":true}}"#,
        r#"{"kind":"search","_meta":{"toolName":"search_files"},"rawInput":{"path":".","pattern":"x","target":"files","file_glob":"*.rs"}}"#,
        r#"{"kind":"search","rawInput":{"path":"src","pattern":"https?://|GET /api","glob":"*.{ts,tsx}","include":"src/**/*.rs, tests/**"}}"#,
        r#"{"kind":"search","rawInput":{"path":"src","pattern":"(.*)/(.*)|https?://.*|Foo { .. }","glob":"**/*.*"}}"#,
        r#"{"kind":"read","rawInput":{"file_path":"/w/app/(group)/[...all]/page.tsx"}}"#,
        r#"{"kind":"read","rawInput":{"Path":"x"}}"#,
        r#"{"kind":"read","rawInput":{"path":"x","content":null,"overwrite":false,"summary":null,"kind":"FileEditorAction","security_risk":"LOW"}}"#,
        r#"{"kind":"think","_meta":{"claudeCode":{"toolName":"TodoWrite"}},"rawInput":{"todos":[{"content":"c","status":"pending","activeForm":"a"}]}}"#,
        r#"{"kind":"think","rawInput":{"task_list":[{"title":"t","notes":"","status":"done"}]}}"#,
        r#"{"kind":"think","rawInput":{"thought":"x","thoughtNumber":1,"totalThoughts":2,"nextThoughtNeeded":true}}"#,
        r#"{"kind":"think","rawInput":{"thought":"x"}}"#,
        r#"{"kind":"think","rawInput":{"description":"d","prompt":"p","subagent_type":"t"}}"#,
    ] {
        let call = format!("call {call}");
        assert_eq!(under(Preset::Standard, &call), Effect::Allow, "{call}");
        assert_eq!(under(Preset::Readonly, &call), Effect::Allow, "{call}");
    }
}

/// A tool that finds files may split a pattern as others split their lists.
#[test]
fn policy_presets_judge_each_pattern_of_a_tool_that_finds_files() {
    for (name, target, effect) in [
        ("Glob", "content", Effect::Ask),
        ("find_path", "content", Effect::Ask),
        ("file_search", "content", Effect::Ask),
        ("search_files", "files", Effect::Ask),
        ("search_files", "content", Effect::Allow),
        ("Grep", "content", Effect::Allow),
    ] {
        let call = |member: &str, pattern: &str| {
            let input = format!(r#"{{"path":"src","target":"{target}","{member}":"{pattern}"}}"#);
            let call =
                format!(r#"call {{"kind":"search","_meta":{{"toolName":"{name}"}},"rawInput":{input}}}"#);
            (under(Preset::Standard, &call), call)
        };
        for member in ["pattern", "query"] {
            for pattern in ["*.rs,/etc/*", "*.rs /etc/*", "x|../y"] {
                let (found, call) = call(member, pattern);
                assert_eq!(found, effect, "{call}");
            }
            let (found, call) = call(member, "src/**/*.*");
            assert_eq!(found, Effect::Allow, "{call}");
        }
    }
}

/// Each member with patterns of file names, with each way to lead a search out of the thread's directory.
#[test]
fn policy_presets_allow_no_search_elsewhere() {
    let members = [
        "pattern",
        "query",
        "glob",
        "include",
        "include_pattern",
        "file_glob",
        "file_pattern",
        // Not known, so whatever they have is asked about.
        "globs",
        "includePattern",
        "filePatterns",
    ];
    let patterns = [
        r#""/etc/*""#,
        r#""~/*""#,
        r#""../**""#,
        r#""a/../../x""#,
        r#""{/etc/passwd,x}""#,
        r#""{x,{y,/etc/*}}""#,
        r#""{..,.}/**""#,
        r#""@(..|x)/*""#,
        r#""[.][.]/*""#,
        r#""!!/etc/*""#,
        r#""\\../x""#,
        r#"" ../x""#,
        r#""\t/etc/*""#,
        r#""'/etc/*'""#,
        r#""[\"/etc/*\"]""#,
        r#""File:///etc/*""#,
        r#"["/etc/*"]"#,
        r#"["../x","y"]"#,
        r#"{"x":1}"#,
    ];
    let mut taken = String::new();
    for (member, pattern) in members
        .iter()
        .flat_map(|member| patterns.map(|pattern| (member, pattern)))
    {
        let calls = [
            format!(r#"call {{"kind":"search","rawInput":{{"path":"src","{member}":{pattern}}}}}"#),
            format!(r#"call {{"kind":"read","rawInput":{{"path":"src","{member}":{pattern}}}}}"#),
            format!(
                r#"call {{"kind":"search","_meta":{{"toolName":"grep"}},"rawInput":{{"{member}":{pattern}}}}}"#
            ),
        ];
        for call in calls {
            for preset in [Preset::Standard, Preset::Readonly] {
                if under(preset, &call) == Effect::Allow {
                    taken += &format!("{call}\n");
                }
            }
        }
    }
    assert!(taken.is_empty(), "\n{taken}");
}

fn under(preset: Preset, asked: &str) -> Effect {
    let policy = preset.into();
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    layers.decide(&request(asked)).effect
}

#[test]
fn policy_presets_have_all_their_rules() {
    let counts = Preset::ALL.map(|preset| {
        let policy = preset.policy();
        (policy.deny.len(), policy.ask.len(), policy.allow.len())
    });
    assert_eq!(counts, [(0, 0, 0), (0, 0, 2), (0, 4, 2), (5, 0, 2)]);
    for preset in Preset::ALL {
        assert_eq!(Preset::named(preset.name()), Some(preset));
        assert_eq!(policy(&format!("base {}", preset.name())).base, Some(preset));
    }
}

/// The web UI checks its own texts against that table.
#[test]
fn the_table_in_the_documents_says_what_becomes_of_all_else() {
    let written = include_str!("../../../../docs/policy.md");
    let table = written
        .split("| Preset | Allows | Asks | Denies |\n")
        .nth(1)
        .unwrap();
    let rows = table.lines().skip(1).take_while(|row| row.starts_with('|'));
    let effects = [Effect::Allow, Effect::Ask, Effect::Deny];
    let documented: Vec<(&str, Effect)> = rows
        .map(|row| {
            let mut cells = row.split('|').skip(1).map(str::trim);
            let name = cells.next().unwrap().trim_matches('`');
            let rest = cells.position(|cell| cell.starts_with("everything")).unwrap();
            (name, effects[rest])
        })
        .collect();
    let held = Preset::ALL.map(|preset| (preset.name(), preset.policy().default.unwrap()));
    assert_eq!(documented, held);
}
