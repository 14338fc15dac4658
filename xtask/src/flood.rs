//! An agent without a model that writes updates as fast as it can, in either version of ACP. A prompt is their number.

use std::io::{BufRead, BufWriter, Write};

use anyhow::Context;
use serde_json::{Value, json};

/// The id of the only session.
const SESSION: &str = "s";

/// Brings an update to about 300 bytes.
const PAD: usize = 140;

/// Runs the agent over standard input and output until its input ends.
pub fn run(version: &str) -> anyhow::Result<()> {
    let is_v2 = match version {
        "1" => false,
        "2" => true,
        other => anyhow::bail!("{other} is not a version of ACP: use 1 or 2"),
    };
    let mut out = BufWriter::with_capacity(64 << 10, std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            continue;
        };
        match method {
            "initialize" if is_v2 => answer(
                &mut out,
                id,
                &json!({
                    "protocolVersion": 2,
                    "info": { "name": "flood", "version": "0" },
                    "capabilities": { "session": {} },
                }),
            )?,
            "initialize" => answer(
                &mut out,
                id,
                &json!({ "protocolVersion": 1, "agentCapabilities": {} }),
            )?,
            "session/new" => answer(&mut out, id, &json!({ "sessionId": SESSION }))?,
            "session/prompt" => {
                let text = message["params"]["prompt"][0]["text"].as_str();
                let updates = text.context("the prompt is not a text")?.parse()?;
                turn(&mut out, id, updates, is_v2)?;
            }
            _ => {
                let error = json!({ "code": -32601, "message": method });
                writeln!(out, "{}", json!({ "jsonrpc": "2.0", "id": id, "error": error }))?;
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn turn(out: &mut impl Write, prompt: &Value, updates: u64, is_v2: bool) -> anyhow::Result<()> {
    if is_v2 {
        answer(out, prompt, &json!({ "messageId": "m" }))?;
        update(
            out,
            &json!({ "sessionUpdate": "state_update", "state": "running" }),
        )?;
    } else {
        let call =
            json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "flood", "status": "pending" });
        update(out, &call)?;
    }
    let pad = "x".repeat(PAD);
    for number in 0..updates {
        writeln!(
            out,
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}","update":{{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress","rawOutput":{{"n":{number},"pad":"{pad}"}}}}}}}}"#
        )?;
    }
    update(
        out,
        &json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed" }),
    )?;
    if is_v2 {
        let idle = json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" });
        update(out, &idle)
    } else {
        answer(out, prompt, &json!({ "stopReason": "end_turn" }))
    }
}

fn answer(out: &mut impl Write, id: &Value, result: &Value) -> anyhow::Result<()> {
    Ok(writeln!(
        out,
        "{}",
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
    )?)
}

fn update(out: &mut impl Write, update: &Value) -> anyhow::Result<()> {
    let params = json!({ "sessionId": SESSION, "update": update });
    Ok(writeln!(
        out,
        "{}",
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
    )?)
}
