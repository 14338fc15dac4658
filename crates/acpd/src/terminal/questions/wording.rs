//! The text of a permission request at the terminal.
//!
//! In: the request. Out: text. Never: shows an agent's description of a call as its effect, or lets agent text
//! start a line.

use acpd_client::protocol::{self, Always, Approval};
use acpd_model::subject::CallSubject;
use acpd_policy::in_lines;

use super::choice::Choice;
use crate::terminal::plain::{plain_line, visible_line};

/// Returns the text of a request, without its options.
fn wording(approval: &Approval) -> String {
    let mut text = format!("{} asks for permission:\n", asker(approval));
    let parts = subjects(&approval.subjects);
    if parts.is_empty() {
        text.push_str("  acpd cannot determine the effect of this call\n");
    }
    text.push_str(&in_lines(&parts));
    if let Some(Always::NotRemembered(why)) = &approval.always {
        text.push_str(&format!(
            "acpd does not remember an answer: {}\n",
            visible_line(why)
        ));
    }
    // Requests that acpd itself created have acpd's own title, which repeats the subjects.
    if approval.item_id.is_some() {
        text.push_str(&format!(
            "The agent's own words: “{}”\n",
            plain_line(&approval.title)
        ));
    }
    text
}

/// Returns who asks. The daemon begins the title of a subagent's request with its name, in quotes that the name cannot have.
fn asker(approval: &Approval) -> String {
    if approval.lane.is_none() {
        return "The agent".to_owned();
    }
    let quoted = approval.title.strip_prefix("Subagent \"");
    let name = quoted.and_then(|rest| rest.split_once('"'));
    name.map_or_else(
        || "A subagent".to_owned(),
        |(name, _)| format!("Subagent \"{}\"", plain_line(name)),
    )
}

/// Returns the text of a permission request with its numbered options.
pub fn with_options(approval: &Approval, choices: &[Choice]) -> String {
    let mut text = wording(approval);
    for (at, choice) in choices.iter().enumerate() {
        text.push_str(&format!("  {}) {}\n", at + 1, choice.line()));
    }
    text
}

/// Returns the effects of a call as the policy describes them. If this version does not know one of them, there are none: the
/// others alone would be less than the call does.
pub fn subjects(of: &[protocol::CallSubject]) -> Vec<CallSubject> {
    let known = serde_json::to_value(of).and_then(serde_json::from_value);
    known.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::terminal::items::fixtures::read;

    fn approval(members: serde_json::Value) -> Approval {
        read("item/permissions/requestApproval", members)
    }

    #[test]
    fn all_of_a_call_is_said_and_the_agents_words_are_marked() {
        let asked = approval(json!({
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
        }));
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
        assert_eq!(wording(&asked), expected);
        let known = json!({ "type": "commandLine", "line": "ls", "cwd": "/w" });
        for subjects in [json!([]), json!([known, { "type": "later" }])] {
            let text = wording(&approval(json!({ "title": "x", "subjects": subjects })));
            assert!(
                text.contains("cannot determine") && !text.contains("ls"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_subagent_that_asks_is_named_first() {
        for (lane, title, begins) in [
            (
                json!("lane_1"),
                "Subagent \"re\u{1b}view\" wants to run \"ls\"",
                "Subagent \"re\u{fffd}view\" asks for permission:\n",
            ),
            (
                json!("lane_1"),
                "Subagent wants to run ls",
                "A subagent asks for permission:\n",
            ),
            // The main agent cannot ask in the name of another one.
            (
                json!(null),
                "Subagent \"review\" wants to run ls",
                "The agent asks for permission:\n",
            ),
        ] {
            let asked = approval(json!({ "lane": lane, "title": title }));
            assert!(wording(&asked).starts_with(begins), "{}", wording(&asked));
        }
    }

    #[test]
    fn a_change_of_nothing_but_line_ends_is_said() {
        let text = wording(&approval(json!({ "subjects": [
            { "type": "file", "access": "edit", "path": "/w/x", "diff": "-a\n+a\r\n" },
        ] })));
        let lines = "  | \\ line ends changed from LF to CRLF\n  | -a\n  | +a␍\n";
        assert!(text.contains(lines), "{text}");
    }
}
