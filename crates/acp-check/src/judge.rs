//! What an agent wrote, judged without an agent.

use serde_json::json;

use crate::client::Client;
use crate::lines::Lines;
use crate::report::Rows;
use crate::version::Version;
use crate::watch::Watch;
use crate::wire::Frame;

/// Checks the standard output of an agent, to which a client has sent `initialize` and `session/new` with the ids 0 and 1.
pub fn judge(version: Version, output: &[u8]) -> Rows {
    let mut watch = Watch::new(version, Rows::default());
    watch.request(&json!(0), "initialize", &json!({}));
    watch.request(&json!(1), "session/new", &json!({ "cwd": "/w" }));
    let mut client = Client::new("/w", true);
    let mut lines = Lines::default();
    lines.push(output);
    while let Some(line) = lines.next() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if let Some(Frame::Request { id, method, params }) = watch.line(&line) {
            // An error is an answer as well.
            let _ = client.answer(&method, &params);
            watch.answered(&id);
        }
    }
    watch.rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;
    use crate::rule::Rule;

    #[test]
    fn a_conversation_is_judged_line_by_line() {
        let good = concat!(
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}"#,
            "\n",
        );
        assert_eq!(judge(Version::One, good.as_bytes()).violated(), 0);
        let rows = judge(Version::One, good.replace("\"s\",", "\"other\",").as_bytes());
        let wrong: Vec<Rule> = rows
            .all()
            .iter()
            .filter(|row| row.verdict == Verdict::Violated)
            .map(|row| row.rule)
            .collect();
        assert_eq!(wrong, [Rule::Session]);
        assert_eq!(judge(Version::Two, b"\xff\n[]\n{}\n").all()[0].count, 3);
    }

    /// A session that names itself before the answer that creates it is known, if the answer names it.
    #[test]
    fn an_update_may_come_before_the_answer_that_opens_its_session() {
        let update = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}"#;
        let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"sessionId":"{id}"}}}}"#);
        let text = |id: &str| format!("{update}\n{}\n", answer(id));
        assert_eq!(judge(Version::One, text("s").as_bytes()).violated(), 0);
        assert_eq!(judge(Version::One, text("t").as_bytes()).violated(), 1);
    }
}
