//! The model's scripts: the last user text that is a script determines the reply.
//!
//! | Script | Reply |
//! |---|---|
//! | `say TEXT` | the text |
//! | `run COMMAND` | a call of the agent's shell tool, outside of the agent's own sandbox, then `done: ` and the result |
//! | `stay COMMAND` | the same inside of that sandbox |
//! | `write PATH TEXT` | a call of the agent's tool to write a file, then `done: ` and the result |
//! | `delegate SCRIPT` | a call of the agent's tool to start a subagent with the script as its prompt, then `done: ` and the result |
//! | `slow N` | N chunks of text with a pause before each |
//! | `recall` | the earlier scripts of the conversation |
//!
//! An agent sends a request without tools for its own purposes (a title, a summary): the reply is short and has no
//! pauses.

use crate::ask::{Ask, Said};
use crate::limits::{QUOTE_CHARS, SLOW_PIECES};
use crate::reply::Reply;
use crate::tools;

/// A parsed script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script<'t> {
    /// `say`: reply with this text.
    Say(&'t str),
    /// `run`: call the shell tool with this command, and ask to leave the agent's own sandbox.
    Run(&'t str),
    /// `stay`: call the shell tool with this command.
    Stay(&'t str),
    /// `write`: write a file with this path and text.
    Write(&'t str, &'t str),
    /// `delegate`: start a subagent with this prompt.
    Delegate(&'t str),
    /// `slow`: stream this many chunks.
    Slow(usize),
    /// `recall`: list the earlier scripts.
    Recall,
}

impl<'t> Script<'t> {
    /// Parses a text block; returns `None` if it is not a script. Some agents put notes of their own before it, as paragraphs.
    pub fn parse(text: &'t str) -> Option<Self> {
        let last = || Self::parse_alone(text.trim().rsplit_once("\n\n")?.1);
        Self::parse_alone(text).or_else(last)
    }

    fn parse_alone(text: &'t str) -> Option<Self> {
        let text = text.trim();
        if text == "recall" {
            return Some(Self::Recall);
        }
        let (word, rest) = text.split_once(' ')?;
        let rest = rest.trim_start();
        match word {
            "say" => Some(Self::Say(rest)),
            "run" => Some(Self::Run(rest)),
            "stay" => Some(Self::Stay(rest)),
            "delegate" => Some(Self::Delegate(rest)),
            "write" => rest.split_once(' ').map(|(path, text)| Self::Write(path, text)),
            "slow" => rest
                .parse()
                .ok()
                .map(|pieces: usize| Self::Slow(pieces.min(SLOW_PIECES))),
            _ => None,
        }
    }
}

/// Returns the last script, with its index in the conversation.
pub fn last(ask: &Ask) -> Option<(usize, Script<'_>)> {
    let mut said = ask.said.iter().enumerate().rev();
    said.find_map(|(at, said)| match said {
        Said::Person(text) => Some((at, Script::parse(text)?)),
        Said::Result(_) => None,
    })
}

/// Returns the model's reply.
pub fn reply(ask: &Ask) -> Reply {
    if let Some(schema) = &ask.json {
        return Reply::text(&tools::example(schema).to_string());
    }
    let Some((at, script)) = last(ask) else {
        return Reply::text("Ready.");
    };
    let result = ask.said[at..].iter().rev().find_map(|said| match said {
        Said::Result(text) => Some(text),
        Said::Person(_) => None,
    });
    if let Some(result) = result {
        let quote: String = result.chars().take(QUOTE_CHARS).collect();
        return Reply::text(&format!("done: {quote}"));
    }
    let absent = |what: &str| {
        let names: Vec<_> = ask.tools.iter().map(|tool| tool.name.as_str()).collect();
        Reply::text(&format!("There is no tool to {what} among {}.", names.join(", ")))
    };
    match script {
        Script::Say(text) => Reply::text(text),
        Script::Recall => Reply::text(&recall(&ask.said[..at])),
        _ if ask.tools.is_empty() => Reply::text("A script."),
        Script::Run(command) | Script::Stay(command) => {
            let leaves = matches!(script, Script::Run(_));
            tools::run(&ask.tools, command, leaves).unwrap_or_else(|| absent("run a command"))
        }
        Script::Write(path, text) => {
            tools::write(&ask.tools, path, text).unwrap_or_else(|| absent("write a file"))
        }
        Script::Delegate(prompt) => {
            tools::delegate(&ask.tools, prompt).unwrap_or_else(|| absent("start a subagent"))
        }
        Script::Slow(pieces) => Reply::Text {
            pieces: (1..=pieces).map(|piece| format!("piece {piece}. ")).collect(),
            slow: true,
        },
    }
}

fn recall(said: &[Said]) -> String {
    let scripts = said.iter().filter_map(|said| match said {
        Said::Person(text) if Script::parse(text).is_some() => Some(text.trim()),
        _ => None,
    });
    format!("earlier: {}", scripts.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ask::Tool;
    use crate::reply::Input;

    fn ask(said: &[Said]) -> Ask {
        let shell = Tool {
            name: "bash".into(),
            schema: Some(json!({ "properties": { "command": { "type": "string" } } })),
        };
        Ask {
            said: said.to_vec(),
            tools: vec![shell],
            ..Ask::default()
        }
    }

    fn person(text: &str) -> Said {
        Said::Person(text.into())
    }

    #[test]
    fn the_last_script_between_other_text_decides() {
        let ask = ask(&[
            person("say one"),
            person("\nsay two \n"),
            person("<system-reminder>say three</system-reminder>"),
        ]);
        assert_eq!(reply(&ask).whole_text(), "two");
        let noted = person("<current_datetime>2026-01-02</current_datetime>\n\nsay four");
        assert_eq!(reply(&self::ask(&[noted])).whole_text(), "four");
    }

    #[test]
    fn a_result_is_quoted_and_ends_the_script() {
        let mut ask = ask(&[person("run echo hi")]);
        assert_eq!(
            reply(&ask),
            Reply::Call {
                name: "bash".into(),
                input: Input::Arguments(json!({ "command": "echo hi" })),
            }
        );
        ask.said.push(Said::Result("hi".into()));
        ask.said.push(person("a reminder"));
        assert_eq!(reply(&ask).whole_text(), "done: hi");
        ask.said.push(person("say next"));
        assert_eq!(reply(&ask).whole_text(), "next");
    }

    #[test]
    fn earlier_scripts_are_recalled() {
        let ask = ask(&[
            person("say one"),
            person("context"),
            person("run ls"),
            person("recall"),
        ]);
        assert_eq!(reply(&ask).whole_text(), "earlier: say one; run ls");
    }

    #[test]
    fn internal_model_requests_are_answered_at_once() {
        let mut ask = ask(&[person("slow 100")]);
        assert!(matches!(reply(&ask), Reply::Text { slow: true, .. }));
        ask.tools.clear();
        assert!(matches!(reply(&ask), Reply::Text { slow: false, .. }));
        ask.json = Some(json!({ "type": "object", "properties": { "title": { "type": "string" } } }));
        assert_eq!(reply(&ask).whole_text(), r#"{"title":"scripted"}"#);
        assert_eq!(reply(&Ask::default()).whole_text(), "Ready.");
    }

    #[test]
    fn a_missing_tool_is_said() {
        let ask = ask(&[person("write /a b")]);
        assert_eq!(
            reply(&ask).whole_text(),
            "There is no tool to write a file among bash."
        );
    }

    #[test]
    fn scripts_have_bounds() {
        assert_eq!(Script::parse("slow 99999999"), Some(Script::Slow(SLOW_PIECES)));
        assert_eq!(Script::parse("slow down"), None);
        assert_eq!(Script::parse("write /only-a-path"), None);
        assert_eq!(Script::parse("Please say it"), None);
        assert_eq!(Script::parse("stay ls -l"), Some(Script::Stay("ls -l")));
        assert_eq!(Script::parse("delegate run ls"), Some(Script::Delegate("run ls")));
        assert_eq!(
            Script::parse("write /a one\ntwo"),
            Some(Script::Write("/a", "one\ntwo"))
        );
    }
}
