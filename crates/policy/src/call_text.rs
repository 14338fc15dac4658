//! The command of a tool call, as text for people.
//!
//! In: a tool call's title and input, as the agent sent them. Out: text in which a command has the quotes that it runs
//! with. Never: decides anything; what a call does is read in `tool_call`.

use std::borrow::Cow;

use serde_json::Value;

use super::shell::shell_line;

/// Returns the command of a tool call's input as a shell line.
pub fn call_command(input: &Value) -> Option<String> {
    match words(input) {
        Some(words) => line(&words),
        None => input["command"].as_str().map(str::to_owned),
    }
}

/// Returns the title of a tool call. Many agents title a command with its words in a row, which as a line would run
/// another command: in the title that is returned, they are quoted.
pub fn call_title<'a>(title: &'a str, input: &Value) -> Cow<'a, str> {
    let words = words(input).unwrap_or_default();
    match line(&words) {
        Some(line) if words.len() > 1 => title.replacen(&words.join(" "), &line, 1).into(),
        _ => title.into(),
    }
}

fn line(words: &[&str]) -> Option<String> {
    let (program, args) = words.split_first()?;
    Some(shell_line(program, args.iter().copied()))
}

/// Returns the words of a command; `None` if it is a whole line, or there is none.
fn words(input: &Value) -> Option<Vec<&str>> {
    match (input["command"].as_str(), &input["args"]) {
        (Some(program), args) => Some([vec![program], strings(args)?].concat()),
        (None, _) => strings(&input["command"]),
    }
}

fn strings(list: &Value) -> Option<Vec<&str>> {
    list.as_array()?.iter().map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_is_shown_with_the_quotes_that_it_runs_with() {
        let script = "echo hi > x.txt; rm -rf y";
        let quoted = "sh -c 'echo hi > x.txt; rm -rf y'";
        let plain = "sh -c echo hi > x.txt; rm -rf y";
        for input in [
            json!({ "command": "sh", "args": ["-c", script] }),
            json!({ "command": ["sh", "-c", script] }),
        ] {
            assert_eq!(call_command(&input).as_deref(), Some(quoted));
            assert_eq!(call_title(plain, &input), quoted);
            assert_eq!(
                call_title(&format!("Run `{plain}`"), &input),
                format!("Run `{quoted}`")
            );
            // A title that has the quotes, or is about something else, stays.
            assert_eq!(call_title(quoted, &input), quoted);
            assert_eq!(call_title("Clean up", &input), "Clean up");
        }
    }

    #[test]
    fn a_whole_line_and_odd_inputs_stay_as_they_are() {
        let line = json!({ "command": "echo 'a b' | wc" });
        assert_eq!(call_command(&line).as_deref(), Some("echo 'a b' | wc"));
        assert_eq!(call_title("echo 'a b' | wc", &line), "echo 'a b' | wc");
        for odd in [
            json!(7),
            json!({ "command": [1] }),
            json!({ "command": [] }),
            json!({}),
        ] {
            assert_eq!(
                (call_command(&odd), &*call_title("t", &odd)),
                (None, "t"),
                "{odd}"
            );
        }
        assert_eq!(
            call_title("ls x", &json!({ "command": "ls", "args": [7] })),
            "ls x"
        );
    }
}
