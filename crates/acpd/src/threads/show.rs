//! `acpd show`.

use acpd_model::subject::CallSubject;
use acpd_policy::in_lines;
use serde_json::{Value, json};

use crate::cli::ShowArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::items::{Block, Item, Role, notice_detail, plan_line};
use crate::terminal::pager;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::time::when;
use crate::threads::find::find;
use crate::threads::list::status;

/// Maximum number of turns on a page.
const PAGE: usize = 200;

/// Lines of a command's output or a diff that are shown; JSON and exports have all of it.
const SHOWN_LINES: usize = 200;

/// Prints a thread.
pub async fn show(settings: &Settings, args: &ShowArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let id = find(&mut client, &args.thread.thread).await?;
    let thread = read(&mut client, &id, args.limit.unwrap_or(usize::MAX)).await?;
    if args.json {
        print::json(&thread.to_string());
    } else {
        pager::page(&whole(&thread));
    }
    Ok(Exit::Success)
}

/// Reads a thread with its last turns.
async fn read(client: &mut Client, id: &str, limit: usize) -> anyhow::Result<Value> {
    let mut cursor = Value::Null;
    let mut turns = Vec::new();
    loop {
        // A turn that is too large for a page is on two.
        let wanted = limit.saturating_sub(turns.len()).clamp(1, PAGE);
        let params = json!({ "threadId": id, "includeTurns": true, "cursor": cursor, "limit": wanted });
        let mut thread = client.request("thread/read", params).await?["thread"].take();
        let page = thread["turns"].as_array().cloned().unwrap_or_default();
        turns = joined(page, turns);
        cursor = thread["cursor"].clone();
        if cursor.is_null() || turns.len() >= limit {
            thread["turns"] = turns.into();
            return Ok(thread);
        }
    }
}

/// Returns the turns of a page and of the page after it. A turn that is too large for one page is on both.
fn joined(mut page: Vec<Value>, mut later: Vec<Value>) -> Vec<Value> {
    if let (Some(begin), Some(end)) = (page.last_mut(), later.first_mut())
        && begin["id"] == end["id"]
    {
        for member in ["items", "answers", "notices"] {
            let mut all = begin[member].as_array().cloned().unwrap_or_default();
            all.append(end[member].as_array_mut().unwrap_or(&mut Vec::new()));
            end[member] = all.into();
        }
        page.pop();
    }
    page.append(&mut later);
    page
}

fn whole(thread: &Value) -> String {
    let text = |key: &str| plain_line(thread[key].as_str().unwrap_or_default());
    let mut out = format!(
        "{}\n{}  {}  {}  {}  {}\n\n",
        text("name"),
        text("id"),
        status(thread),
        text("agentType"),
        text("cwd"),
        when(&thread["createdAt"])
    );
    for turn in list(&thread["turns"]) {
        for item in Item::of_turn(turn) {
            out.push_str(&one_item(&item));
        }
        out.push_str(&notices(turn, false));
        out.push_str(&end_of_turn(turn));
        out.push_str(&notices(turn, true));
    }
    out.push_str(&usage(&thread["tokenUsage"]));
    out.push_str(&question(thread));
    out
}

/// Returns how much of its context an agent uses, and what the thread has cost, as far as the agent reports it.
fn usage(usage: &Value) -> String {
    let mut parts = Vec::new();
    if let Some(used) = usage["used"].as_u64() {
        let size = usage["size"].as_u64().map(|size| format!(" of {size}"));
        parts.push(format!("{used}{} tokens", size.unwrap_or_default()));
    }
    if let Some(amount) = usage["cost"]["amount"].as_f64() {
        let currency = plain_line(usage["cost"]["currency"].as_str().unwrap_or_default());
        parts.push(format!("cost {amount:.2} {currency}"));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("{}\n\n", parts.join(", ").trim_end())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the plan of a turn, and how the turn ended.
fn end_of_turn(turn: &Value) -> String {
    let plan: String = list(&turn["plan"])
        .iter()
        .map(|entry| format!("{}\n", plan_line(entry)))
        .collect();
    let gap = if plan.is_empty() { "" } else { "\n" };
    let status = turn["status"].as_str().unwrap_or("?");
    let why = turn["error"].as_str().or(turn["stopReason"].as_str()).map(plain);
    format!(
        "{plan}{gap}— {} {status}{}\n\n",
        turn["id"].as_str().unwrap_or_default(),
        why.map(|why| format!(": {why}")).unwrap_or_default()
    )
}

/// Returns the warnings and errors of a turn that came before its end, or after it, with what to do about each.
fn notices(turn: &Value, after_turn: bool) -> String {
    let is_shown = |notice: &&Value| {
        let is_after = notice["afterTurn"].as_bool().unwrap_or_default();
        notice["level"] != "info" && is_after == after_turn
    };
    let shown = list(&turn["notices"]).iter().filter(is_shown);
    shown
        .map(|notice| {
            let text = |key: &str| plain(notice[key].as_str().unwrap_or_default());
            let detail = notice_detail(notice).map(|detail| format!("\n  {}", detail.replace('\n', "\n  ")));
            let (level, message) = (text("level"), text("message"));
            format!("! {level}: {message}{}\n\n", detail.unwrap_or_default())
        })
        .collect()
}

/// Returns the oldest open question, and how to answer it.
fn question(thread: &Value) -> String {
    let question = &thread["question"];
    if question.is_null() {
        return String::new();
    }
    let subjects: Vec<CallSubject> = serde_json::from_value(question["subjects"].clone()).unwrap_or_default();
    let title = plain_line(question["title"].as_str().unwrap_or_default());
    let more = match question["more"].as_u64() {
        Some(more @ 1..) => format!(" ({more} more wait)"),
        _ => String::new(),
    };
    let id = thread["id"].as_str().unwrap_or_default();
    format!(
        "? waiting for an answer{more}: {title}\n{}  answer it: acpd answer {}\n",
        in_lines(&subjects),
        short_id(id)
    )
}

fn one_item(item: &Item) -> String {
    let blocks = item.blocks();
    let lines: String = blocks
        .iter()
        .map(|block| format!("{}\n", one_block(block)))
        .collect();
    if lines.is_empty() {
        lines
    } else {
        format!("{lines}\n")
    }
}

fn one_block(block: &Block) -> String {
    match block.role {
        Role::User => format!("> {}", block.text.replace('\n', "\n> ")),
        Role::Thought => format!("(thinks) {}", block.text),
        Role::Output | Role::Diff => first_lines(&block.text),
        Role::Answer | Role::Title | Role::Failed | Role::Remark => block.text.clone(),
    }
}

fn first_lines(text: &str) -> String {
    let mut lines = text.lines();
    let mut shown: Vec<&str> = lines.by_ref().take(SHOWN_LINES).collect();
    let rest = lines.count();
    let note = format!("({rest} more lines; --json has them)");
    if rest > 0 {
        shown.push(&note);
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_shown_where_they_came_with_what_to_do() {
        let notice = |level: &str, after_turn: bool| json!({ "level": level, "message": "a\u{1b}[2J path", "detail": "acpd add-dir\nx", "afterTurn": after_turn });
        let turn =
            json!({ "notices": [notice("info", false), notice("warning", false), notice("error", true)] });
        let (before, after) = (notices(&turn, false), notices(&turn, true));
        assert!(
            before.starts_with("! warning: a") && before.ends_with(" path\n  acpd add-dir\n  x\n\n"),
            "{before}"
        );
        assert!(
            !before.contains('\u{1b}') && before.matches('!').count() == 1,
            "{before}"
        );
        assert!(after.starts_with("! error: "), "{after}");
        assert_eq!(notices(&json!({}), false), "");
    }

    #[test]
    fn a_turn_on_two_pages_keeps_its_notices() {
        let part = |message: &str| vec![json!({ "id": "turn_1", "notices": [{ "message": message }] })];
        let whole = joined(part("first"), part("second"));
        assert_eq!(
            whole[0]["notices"],
            json!([{ "message": "first" }, { "message": "second" }])
        );
    }
}
