//! `acpd show`.

use acpd_client::Client;
use acpd_client::protocol::{Thread, ThreadLanesParams, ThreadReadParams, TokenUsage, Turn};
use acpd_policy::in_lines;
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cli::ShowArgs;
use crate::client::connect::connect;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::lanes::{Lanes, labelled};
use crate::terminal::items::remarks::{ShownNotice, ShownPlan};
use crate::terminal::items::{Block, Item, Role, acp, short_id};
use crate::terminal::pager;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::questions::subjects;
use crate::terminal::time::when;
use crate::threads::find::find_thread;
use crate::threads::list::status_of;

/// Maximum number of turns on a page.
const PAGE: usize = 200;

/// Lines of a command's output or a diff that are shown; JSON and exports have all of it.
const SHOWN_LINES: usize = 200;

/// Prints a thread.
pub async fn show(settings: &Settings, args: &ShowArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let id = find_thread(&client, &args.thread.thread).await?;
    let thread = read(&client, &id, args.limit.unwrap_or(usize::MAX)).await?;
    if args.json {
        print::json(&thread.to_string());
    } else {
        let thread = Thread::deserialize(thread).context("the thread cannot be read; --json prints it")?;
        let lanes = lanes(&client, &thread).await?;
        pager::page(&whole(&thread, &lanes));
    }
    Ok(Exit::Success)
}

/// A page of a thread, with all that this version does not know: `--json` prints what the daemon sends.
#[derive(Deserialize, Serialize)]
struct Page {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(default)]
    turns: Vec<PartOfTurn>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// A turn, or the part of it that is on a page.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct PartOfTurn {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notices: Option<Vec<Value>>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Deserialize)]
struct Answer {
    thread: Page,
}

/// Reads a thread with its last turns.
async fn read(client: &Client, id: &str, limit: usize) -> anyhow::Result<Value> {
    let mut cursor = None;
    let mut turns = Vec::new();
    loop {
        // A turn that is too large for a page is on two.
        let wanted = limit.saturating_sub(turns.len()).clamp(1, PAGE);
        let params = ThreadReadParams {
            cursor,
            include_turns: Some(true),
            limit: Some(wanted.try_into().unwrap_or(u64::MAX)),
            thread_id: id.to_owned(),
        };
        let answer: Answer = client.call("thread/read", &params).await?;
        let mut page = answer.thread;
        turns = joined(page.turns, turns);
        if page.cursor.is_none() || turns.len() >= limit {
            page.turns = turns;
            return Ok(serde_json::to_value(page)?);
        }
        cursor = page.cursor;
    }
}

/// Returns the turns of a page and of the page after it. A turn that is too large for one page is on both.
fn joined(mut page: Vec<PartOfTurn>, mut later: Vec<PartOfTurn>) -> Vec<PartOfTurn> {
    if let Some(end) = later.first_mut()
        && let Some(begin) = page.pop_if(|begin| begin.id == end.id)
    {
        for (begin, end) in [
            (begin.items, &mut end.items),
            (begin.answers, &mut end.answers),
            (begin.notices, &mut end.notices),
        ] {
            let mut all = begin.unwrap_or_default();
            all.append(end.get_or_insert_default());
            *end = Some(all);
        }
    }
    page.append(&mut later);
    page
}

/// Reads the names of the subagents, if the thread shows any.
async fn lanes(client: &Client, thread: &Thread) -> anyhow::Result<Lanes> {
    let mut items = thread
        .turns
        .iter()
        .flatten()
        .flat_map(|turn| turn.items.iter().flatten());
    if !items.any(|item| item.lane.is_some()) {
        return Ok(Lanes::default());
    }
    let thread_id = thread.id.clone();
    let listed = client.thread_lanes(&ThreadLanesParams { thread_id }).await?;
    Ok(Lanes::of(&listed))
}

fn whole(thread: &Thread, lanes: &Lanes) -> String {
    let mut out = format!(
        "{}\n{}  {}  {}  {}  {}\n\n",
        plain_line(thread.name.as_deref().unwrap_or_default()),
        plain_line(&thread.id),
        status_of(&thread.status, thread.last_turn_status.as_ref()),
        plain_line(&thread.agent_type),
        plain_line(&thread.cwd),
        when(thread.created_at)
    );
    for turn in thread.turns.iter().flatten() {
        for item in Item::of_turn(turn) {
            out.push_str(&one_item(&item, lanes));
        }
        out.push_str(&notices(turn, false, lanes));
        out.push_str(&end_of_turn(turn));
        out.push_str(&notices(turn, true, lanes));
    }
    out.push_str(&thread.token_usage.as_ref().map(usage).unwrap_or_default());
    out.push_str(&question(thread));
    out
}

/// Returns how much of its context an agent uses, and what the thread has cost, as far as the agent reports it.
fn usage(usage: &TokenUsage) -> String {
    let mut parts = Vec::new();
    if let Some(used) = usage.used {
        let size = usage.size.map(|size| format!(" of {size}"));
        parts.push(format!("{used}{} tokens", size.unwrap_or_default()));
    }
    if let Some((amount, currency)) = usage.cost.as_ref().and_then(acp::cost) {
        parts.push(format!("cost {amount:.2} {}", plain_line(currency)));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("{}\n\n", parts.join(", ").trim_end())
}

/// Returns the plans of a turn, and how the turn ended.
fn end_of_turn(turn: &Turn) -> String {
    let plans: Vec<String> = ShownPlan::of_turn(turn)
        .iter()
        .map(|plan| plan.lines().join("\n"))
        .filter(|plan| !plan.is_empty())
        .collect();
    let gap = if plans.is_empty() { "" } else { "\n\n" };
    let plans = plans.join("\n\n");
    let why = turn.error.as_deref().or(turn.stop_reason.as_deref()).map(plain);
    format!(
        "{plans}{gap}— {} {}{}\n\n",
        turn.id.as_deref().unwrap_or_default(),
        turn.status,
        why.map(|why| format!(": {why}")).unwrap_or_default()
    )
}

/// Returns the warnings and errors of a turn that came before its end, or after it, with what to do about each.
fn notices(turn: &Turn, after_turn: bool, lanes: &Lanes) -> String {
    let all = turn.notices.iter().flatten();
    let of_place = all.filter(|notice| notice.after_turn.unwrap_or_default() == after_turn);
    let shown = of_place.filter_map(|notice| {
        let notice = ShownNotice::from(notice);
        (!notice.is_info()).then(|| {
            let detail = notice.detail();
            let detail = detail.map(|detail| format!("\n  {}", detail.replace('\n', "\n  ")));
            let (level, message) = (plain(notice.level.as_str()), notice.message());
            let text = format!("! {level}: {message}{}", detail.unwrap_or_default());
            format!("{}\n\n", labelled(&lanes.label(notice.lane), &text))
        })
    });
    shown.collect()
}

/// Returns the oldest open question, and how to answer it.
fn question(thread: &Thread) -> String {
    let Some(question) = &thread.question else {
        return String::new();
    };
    let subjects = subjects(question.subjects.as_deref().unwrap_or_default());
    let more = match question.more {
        0 => String::new(),
        more => format!(" ({more} more wait)"),
    };
    format!(
        "? waiting for an answer{more}: {}\n{}  answer it: acpd answer {}\n",
        plain_line(&question.title),
        in_lines(&subjects),
        short_id(&thread.id)
    )
}

fn one_item(item: &Item, lanes: &Lanes) -> String {
    let label = lanes.label(item.lane.as_deref());
    let blocks = item.blocks();
    let lines: String = blocks
        .iter()
        .map(|block| format!("{}\n", labelled(&label, &one_block(block))))
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
        Role::Told => format!("(told) {}", block.text),
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
    use serde_json::json;

    use super::*;
    use crate::terminal::items::fixtures::object;

    #[test]
    fn warnings_are_shown_where_they_came_with_what_to_do() {
        let notice = |level: &str, after_turn: bool| {
            json!({ "threadId": "t", "seq": 1, "ts": 1, "code": "x", "level": level, "message": "a\u{1b}[2J path",
                "detail": "acpd add-dir\nx", "afterTurn": after_turn })
        };
        let turn = |notices: Value| object(json!({ "status": "completed", "notices": notices }));
        let all = turn(json!([
            notice("info", false),
            notice("warning", false),
            notice("error", true)
        ]));
        let lanes = Lanes::default();
        let (before, after) = (notices(&all, false, &lanes), notices(&all, true, &lanes));
        assert!(
            before.starts_with("! warning: a") && before.ends_with(" path\n  acpd add-dir\n  x\n\n"),
            "{before}"
        );
        assert!(
            !before.contains('\u{1b}') && before.matches('!').count() == 1,
            "{before}"
        );
        assert!(after.starts_with("! error: "), "{after}");
        assert_eq!(notices(&turn(json!([])), false, &lanes), "");
    }

    #[test]
    fn each_line_of_a_subagent_begins_with_its_name() {
        let lanes = json!({ "data": [{ "lane": "lane_1", "title": "review" }] });
        let lanes = Lanes::of(&object(lanes));
        let said = |lane: Option<&str>| {
            let item = json!({ "itemId": "i", "type": "agentMessage", "text": "one\ntwo", "lane": lane });
            let turn: Turn = object(json!({ "status": "completed", "items": [item] }));
            let items = Item::of_turn(&turn).into_iter();
            items.map(|item| one_item(&item, &lanes)).collect::<String>()
        };
        assert_eq!(said(None), "one\ntwo\n\n");
        assert_eq!(said(Some("lane_1")), "review │ one\nreview │ two\n\n");
        assert_eq!(said(Some("lane_2")), "subagent │ one\nsubagent │ two\n\n");
        let told = |lane: Option<&str>| {
            let item = json!({ "itemId": "i", "type": "userMessage", "text": "go", "lane": lane });
            let turn: Turn = object(json!({ "status": "completed", "items": [item] }));
            one_item(&Item::of_turn(&turn)[0], &lanes)
        };
        assert_eq!(told(None), "> go\n\n");
        assert_eq!(
            told(Some("lane_1")),
            "review │ (told) go\n\n",
            "the user has not said it"
        );
        let notice = json!({ "threadId": "t", "seq": 1, "ts": 1, "code": "x", "level": "error", "message": "m", "lane": "lane_1" });
        let turn: Turn = object(json!({ "status": "completed", "notices": [notice] }));
        assert_eq!(notices(&turn, false, &lanes), "review │ ! error: m\n\n");
    }

    #[test]
    fn a_turn_on_two_pages_keeps_its_notices_and_what_is_not_known() {
        let part = |message: &str| -> Vec<PartOfTurn> {
            object(json!([{ "id": "turn_1", "notices": [{ "message": message }], "later": message }]))
        };
        let other: Vec<PartOfTurn> = object(json!([{ "id": "turn_2", "items": null }]));
        let whole = joined(joined(part("first"), part("second")), other);
        assert_eq!(
            json!(whole),
            json!([
                { "id": "turn_1", "notices": [{ "message": "first" }, { "message": "second" }], "items": [], "answers": [],
                    "later": "second" },
                { "id": "turn_2" },
            ])
        );
    }
}
