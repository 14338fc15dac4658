//! Asking the person at the terminal.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::cli::Permissions;

/// Decides on a permission request; answers the response's `result`.
pub async fn decide(params: Value, how: Permissions) -> Value {
    match how {
        Permissions::Allow => json!({ "decision": "accept" }),
        Permissions::Deny => json!({ "decision": "decline" }),
        Permissions::Ask => {
            let asked = tokio::task::spawn_blocking(move || ask(&params)).await;
            match asked {
                Ok(Ok(option)) => json!({ "decision": "accept", "optionId": option }),
                Ok(Err(error)) => {
                    eprintln!("acpd: declined, since nobody can be asked: {error} (see --permissions)");
                    json!({ "decision": "decline" })
                }
                Err(_) => json!({ "decision": "decline" }),
            }
        }
    }
}

/// Shows what is asked and reads a choice, on the terminal itself: standard input and output may be pipes.
fn ask(params: &Value) -> anyhow::Result<String> {
    let terminal = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")?;
    let mut out = &terminal;
    writeln!(out, "\n{}", question(params))?;
    let options = params["options"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    for (at, option) in options.iter().enumerate() {
        writeln!(
            out,
            "  {}) {}",
            at + 1,
            crate::render::plain(option["name"].as_str().unwrap_or("?"))
        )?;
    }
    let mut lines = BufReader::new(&terminal).lines();
    loop {
        write!(out, "Your choice [1-{}]: ", options.len())?;
        out.flush()?;
        let line = lines
            .next()
            .ok_or_else(|| anyhow::anyhow!("the terminal was closed"))??;
        let chosen = line
            .trim()
            .parse::<usize>()
            .ok()
            .and_then(|n| options.get(n.checked_sub(1)?));
        if let Some(id) = chosen.and_then(|option| option["optionId"].as_str()) {
            return Ok(id.to_owned());
        }
    }
}

fn question(params: &Value) -> String {
    let mut text = format!(
        "The agent asks: {}",
        crate::render::plain(params["title"].as_str().unwrap_or("may I go on?"))
    );
    match &params["command"] {
        Value::String(command) => text.push_str(&format!("\n  $ {}", crate::render::plain(command))),
        Value::Array(words) => text.push_str(&format!(
            "\n  $ {}",
            crate::render::plain(&Value::from(words.clone()).to_string())
        )),
        _ => {}
    }
    if let Some(diff) = params["diff"].as_str().filter(|diff| !diff.is_empty()) {
        text.push('\n');
        text.push_str(&crate::render::plain(diff));
    } else if let Some(path) = params["path"].as_str() {
        text.push_str(&format!("\n  {}", crate::render::plain(path)));
    }
    text
}
