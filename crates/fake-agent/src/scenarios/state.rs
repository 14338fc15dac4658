//! Steps that change session state other than messages.

use acpd_scripted_agent::content;
use serde_json::{Value, json};

use crate::clock;
use crate::scenarios::args::Args;
use crate::session::lock;
use crate::turn::{End, Flow, Turn};

pub fn plan(turn: &mut Turn, args: &Args) -> Flow {
    if args.word() == "empty" {
        turn.update(&content::plan(&[], 0));
        return Ok(());
    }
    for done in 0..2 {
        turn.update(&content::plan(
            &["Look around", "Make the change", "Check it"],
            done,
        ));
    }
    Ok(())
}

/// Replaces or removes a plan by its id.
pub fn plan_by_id(turn: &mut Turn, args: &Args) -> Flow {
    let id = args.text("id", "p");
    if args.word() == "remove" {
        turn.update(&json!({ "sessionUpdate": "plan_removed", "planId": id }));
        return Ok(());
    }
    let text = args.text("text", "Look around");
    let plan = if args.word() == "markdown" {
        json!({ "type": "markdown", "planId": id, "content": text, "path": args.get("path") })
    } else {
        let entry = json!({ "content": text, "priority": "medium", "status": "pending" });
        json!({ "type": "items", "planId": id, "entries": [entry] })
    };
    turn.update(&json!({ "sessionUpdate": "plan_update", "plan": plan }));
    Ok(())
}

pub fn mode(turn: &mut Turn, args: &Args) -> Flow {
    lock(&turn.session).set_mode(args.word()).map_err(End::Fail)?;
    turn.update(&json!({ "sessionUpdate": "current_mode_update", "currentModeId": args.word() }));
    Ok(())
}

/// Returns the slash commands of this agent.
pub fn commands() -> Value {
    json!({
        "sessionUpdate": "available_commands_update",
        "availableCommands": [
            { "name": "stream", "description": "Streams a few words", "input": { "hint": "n=20 ms=0" } },
            { "name": "plan", "description": "Shows a plan" },
            { "name": "web", "description": "Searches the web", "input": { "hint": "query" } },
        ],
    })
}

pub fn set_commands(turn: &mut Turn, _: &Args) -> Flow {
    turn.update(&commands());
    Ok(())
}

pub fn config(turn: &mut Turn, _: &Args) -> Flow {
    let options = lock(&turn.session).config(turn.booleans);
    turn.update(&json!({ "sessionUpdate": "config_option_update", "configOptions": options }));
    Ok(())
}

pub fn title(turn: &mut Turn, args: &Args) -> Flow {
    let title = args.word();
    lock(&turn.session).title = Some(title.to_owned());
    let now = clock::iso(clock::seconds());
    turn.update(&json!({ "sessionUpdate": "session_info_update", "title": title, "updatedAt": now }));
    Ok(())
}

pub fn suggest(turn: &mut Turn, args: &Args) -> Flow {
    let texts = args.word().split('|').map(str::trim);
    let suggestions: Vec<Value> = texts
        .map(|text| json!({ "prompt": [{ "type": "text", "text": text }] }))
        .collect();
    turn.update(&json!({ "sessionUpdate": "prompt_suggestions_update", "suggestions": suggestions }));
    Ok(())
}

pub fn usage(turn: &mut Turn, args: &Args) -> Flow {
    turn.update(&json!({
        "sessionUpdate": "usage_update",
        "used": args.number("used", 1234_u64),
        "size": args.number("size", 200_000_u64),
        "cost": { "amount": args.number("cost", 0.01), "currency": "USD" },
    }));
    Ok(())
}

pub fn notice(turn: &mut Turn, _: &Args) -> Flow {
    turn.update(&json!({
        "sessionUpdate": "notice", "severity": "warning", "title": "Nearly out of tokens",
        "description": "The model falls back to a smaller one soon.",
    }));
    Ok(())
}

pub fn compaction(turn: &mut Turn, _: &Args) -> Flow {
    let id = turn.tool_id().replace("call", "compaction");
    turn.update(
        &json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": "in_progress" }),
    );
    turn.update(&json!({
        "sessionUpdate": "compaction_summary_chunk", "compactionId": id,
        "content": { "type": "text", "text": "We talked." },
    }));
    turn.update(&json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": "completed" }));
    Ok(())
}
