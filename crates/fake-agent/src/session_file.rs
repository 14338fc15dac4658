//! The file of a session, with which another process loads it.

use serde_json::{Value, json};

use crate::session::{Role, Session};

/// Returns the content of a session's file.
pub fn write(session: &Session) -> Value {
    let history: Vec<Value> = session
        .history
        .iter()
        .map(|(role, block)| json!({ "user": *role == Role::User, "block": block }))
        .collect();
    json!({
        "sessionId": session.id, "cwd": session.cwd, "title": session.title, "mode": session.mode,
        "model": session.model, "verbose": session.verbose, "turns": session.turns, "used": session.used,
        "history": history, "ends": session.ends,
    })
}

/// Parses a session's file into a closed session; returns `None` if the file is not valid.
pub fn read(file: &Value) -> Option<Session> {
    let text = |key: &str| file.get(key)?.as_str().map(String::from);
    let number = |key: &str| file.get(key).and_then(Value::as_u64);
    let history = file.get("history")?.as_array()?.iter();
    Some(Session {
        title: text("title"),
        mode: text("mode")?,
        model: text("model")?,
        verbose: file.get("verbose")?.as_bool()?,
        turns: number("turns")?,
        used: number("used")?,
        open: false,
        ends: file.get("ends").map_or_else(Vec::new, |ends| {
            let ends = ends.as_array().into_iter().flatten();
            ends.filter_map(|end| usize::try_from(end.as_u64()?).ok())
                .collect()
        }),
        history: history
            .map(|entry| {
                let role = if entry.get("user")?.as_bool()? {
                    Role::User
                } else {
                    Role::Agent
                };
                Some((role, entry.get("block")?.clone()))
            })
            .collect::<Option<_>>()?,
        ..Session::new(text("sessionId")?, text("cwd")?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn a_file_brings_back_what_was_said() {
        let mut session = Session::new("s".into(), "/w".into());
        session.asked(&[
            wire::text("hi"),
            json!({"type": "image", "data": "", "mimeType": "image/png"}),
        ]);
        session.said("Good ");
        session.said("day");
        session.title = Some("T".into());
        session.set_mode("code").unwrap();
        let back = read(&write(&session)).unwrap();
        assert!(!back.open);
        assert_eq!(write(&back), write(&session));
        let replay: Vec<Value> = back.replay().collect();
        assert_eq!(replay.len(), 3);
        assert_eq!(replay[2]["params"]["update"]["content"]["text"], "Good day");
    }
}
