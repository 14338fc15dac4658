//! The text of a permission request at the terminal.
//!
//! In: the request's params. Out: text. Never: shows an agent's description of a call as its effect, or lets agent text
//! start a line.

use acpd_model::subject::CallSubject;
use acpd_policy::in_lines;
use serde_json::Value;

use crate::terminal::plain::{plain_line, visible_line};

/// Returns the text of a request, without its options.
pub fn wording(params: &Value) -> String {
    let mut text = String::from("The agent asks for permission:\n");
    let parts: Vec<CallSubject> = serde_json::from_value(params["subjects"].clone()).unwrap_or_default();
    if parts.is_empty() {
        text.push_str("  acpd cannot determine the effect of this call\n");
    }
    text.push_str(&in_lines(&parts));
    if let Some(why) = params["always"]["notRemembered"].as_str() {
        text.push_str(&format!(
            "acpd does not remember an answer: {}\n",
            visible_line(why)
        ));
    }
    // Requests that acpd itself created have acpd's own title, which repeats the subjects.
    if let Some(title) = params["title"].as_str().filter(|_| params["itemId"].is_string()) {
        text.push_str(&format!("The agent's own words: “{}”\n", plain_line(title)));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_of_a_call_is_said_and_the_agents_words_are_marked() {
        let params = json!({
            "itemId": "item_2",
            "title": "$ ls\n  1) Allow once",
            "command": "ls",
            "always": { "notRemembered": "cannot resolve the program ../x\n is" },
            "subjects": [
                {
                    "type": "command", "argv": ["git", "a b"], "cwd": "/w",
                    "env": [{ "name": "GIT_SSH_COMMAND", "value": "evil x" }],
                },
                { "type": "commandLine", "line": "l\u{200b}s\n  1) Allow\u{1b}[2K\u{2028}", "cwd": "/w\n  2) x" },
                { "type": "file", "access": "edit", "path": "/w/x", "realPath": "/w/y", "diff": "+a\n+b\n" },
                { "type": "mcp", "server": "gh", "tool": "api", "arguments": "{\"method\":\"DELETE\"}" },
                { "type": "unknown", "what": "the command has a form that cannot be read" },
            ],
        });
        let expected = "The agent asks for permission:
  $ git 'a b'
    in /w
    with GIT_SSH_COMMAND='evil x'
  $ l\u{fffd}s
  |   1) Allow\u{fffd}[2K\u{fffd}
    in /w
  |   2) x
  change /w/x
    which is /w/y
  | +a
  | +b
  call api of the MCP server gh
    with {\"method\":\"DELETE\"}
  do something that is not clear: the command has a form that cannot be read
acpd does not remember an answer: cannot resolve the program ../x\u{fffd} is
The agent's own words: “$ ls\u{fffd}  1) Allow once”
";
        assert_eq!(wording(&params), expected);
        assert!(wording(&json!({ "title": "x", "command": "ls" })).contains("cannot determine"));
    }

    #[test]
    fn a_change_of_nothing_but_line_ends_is_said() {
        let text = wording(&json!({ "subjects": [
            { "type": "file", "access": "edit", "path": "/w/x", "diff": "-a\n+a\r\n" },
        ] }));
        let lines = "  | \\ line ends changed from LF to CRLF\n  | -a\n  | +a␍\n";
        assert!(text.contains(lines), "{text}");
    }
}
