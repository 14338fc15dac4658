//! What a turn looks like in a terminal.

use std::io::IsTerminal;

use serde_json::Value;

use crate::print;

/// `text` without what would move a terminal's cursor or hide words: control characters become visible. Lines
/// of a command's terminal end in `\r\n`, and a piece of its output may end between the two.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if matches!(chars.peek(), None | Some('\n')) => {}
            '\n' | '\t' => plain.push(c),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                plain.push('\u{fffd}')
            }
            c if c.is_control() => plain.push('\u{fffd}'),
            c => plain.push(c),
        }
    }
    plain
}

/// A terminal's command and its arguments, as one would type simple ones.
pub fn command_line(item: &Value) -> String {
    let args = item["args"].as_array().into_iter().flatten();
    let words: Vec<_> = std::iter::once(&item["command"])
        .chain(args)
        .filter_map(Value::as_str)
        .map(plain)
        .collect();
    words.join(" ")
}

/// Prints notifications as they come: the agent's answer on standard output, all else on standard error.
pub struct Renderer {
    color: bool,
    /// Whether standard output stands in the middle of a line.
    in_answer: bool,
    in_thought: bool,
}

impl Renderer {
    /// For this process's terminal, or for pipes.
    pub fn new() -> Self {
        let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self {
            color,
            in_answer: false,
            in_thought: false,
        }
    }

    /// Shows one notification.
    pub fn show(&mut self, method: &str, params: &Value) {
        let text = |key: &str| plain(params[key].as_str().unwrap_or_default());
        match method {
            "item/agentMessage/delta" => self.answer(params),
            "item/agentThought/delta" => {
                self.end_message();
                self.in_thought = true;
                let thought = text("text");
                print::err(&self.dim(&thought));
            }
            "item/toolCall/started" => {
                let line = format!("● {} ({})", text("title"), text("kind"));
                self.line(&line);
            }
            "item/toolCall/completed" if params["status"] == "failed" => self.line("✗ failed"),
            "item/fileChange/completed" => {
                let diff = text("diff");
                if !diff.is_empty() {
                    self.line(diff.trim_end());
                }
            }
            "item/terminalCommand/started" => {
                self.line(&format!("$ {}", command_line(params)));
            }
            "item/terminalCommand/output" => {
                self.end_answer();
                // A busy command is shown in glimpses; whoever reads is to know.
                if let Some(bytes) = params["skippedBytes"].as_u64().filter(|bytes| *bytes > 0) {
                    print::err(&format!(
                        "\n{}\n",
                        self.dim(&format!("[{bytes} bytes are not shown]"))
                    ));
                }
                print::err(&text("text"));
            }
            "item/terminalCommand/completed" => {
                let line = match (&params["exitCode"], &params["signal"]) {
                    (Value::Number(code), _) => format!("exit code {code}"),
                    (_, Value::String(signal)) => format!("ended by {}", plain(signal)),
                    _ => "ended".to_owned(),
                };
                self.line(&line);
            }
            "turn/plan/updated" => self.plan(params),
            "thread/notice" => {
                let line = format!("{}: {}", text("level"), text("message"));
                self.line(&line);
            }
            _ => {}
        }
    }

    fn answer(&mut self, params: &Value) {
        self.end_thought();
        let text = match params["content"]["type"].as_str() {
            None => plain(params["text"].as_str().unwrap_or_default()),
            Some("text") => plain(params["content"]["text"].as_str().unwrap_or_default()),
            Some(kind) => format!("[{}]", plain(kind)),
        };
        if text.is_empty() {
            return;
        }
        self.in_answer = !text.ends_with('\n');
        print::out(&text);
    }

    fn plan(&mut self, params: &Value) {
        for entry in params["entries"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
        {
            let mark = match entry["status"].as_str() {
                Some("completed") => "●",
                Some("in_progress") => "◐",
                _ => "○",
            };
            let line = format!("{mark} {}", plain(entry["content"].as_str().unwrap_or_default()));
            self.line(&line);
        }
    }

    /// Ends the line that anything stands in, so that what follows has its own.
    pub fn end_answer(&mut self) {
        self.end_thought();
        self.end_message();
    }

    fn end_message(&mut self) {
        if std::mem::take(&mut self.in_answer) {
            print::out("\n");
        }
    }

    fn end_thought(&mut self) {
        if std::mem::take(&mut self.in_thought) {
            print::err("\n");
        }
    }

    fn line(&mut self, text: &str) {
        self.end_answer();
        print::err(&format!("{}\n", self.dim(text)));
    }

    fn dim(&self, text: &str) -> String {
        if self.color {
            format!("\u{1b}[2m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_agent_cannot_drive_the_terminal() {
        assert_eq!(
            super::plain("a\u{1b}[2Jb\r\u{202e}c\n\td"),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\n\td"
        );
        assert_eq!(super::plain("a\r\nb\r\r\nc\r"), "a\nb\u{fffd}\nc");
    }
}
