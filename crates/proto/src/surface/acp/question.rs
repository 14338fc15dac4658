//! Permission requests, as an editor receives them.
//!
//! In: the question's event. Out: ACP's params. An editor shows the user the tool call's title and content and the
//! options' names. They must therefore say what the daemon decides on. The agent's words appear in them as quotations;
//! all other members stay as the agent sent them. Never: reveals the agent's option ids: editors know an option by its
//! position.

use acpd_model::OptionKind;
use acpd_model::event::{Always, PermissionOption};
use acpd_model::subject::CallSubject;
use acpd_model::text::{plain_line, shorten, visible_line};
use acpd_model::{Event, EventKind, RawJson, RequestEvent, RequestId, json};
use serde_json::{Value, json};

use super::subagents::without_links;
use crate::wire::Object;
use crate::wire::{has_string, member, spliced};
use acpd_policy::{in_lines, in_one_line, part_in_words};

/// Maximum length of the first part, and of the agent's title, in a title, in characters.
const TITLE_CHARS: usize = 200;
/// Maximum length of a title that names every part or consists only of the agent's title, in characters.
const FULL_TITLE_CHARS: usize = 1000;

/// Returns the params of `session/request_permission` for the session `thread`; `None` if the event is not a permission
/// request.
pub(super) fn params(event: &Event, thread: &str) -> Option<RawJson> {
    let EventKind::Request(RequestEvent::PermissionRequested {
        request,
        item,
        title,
        options,
        agent_remembers,
        subjects,
        always,
        whole,
        keeps_content,
        ..
    }) = &event.kind
    else {
        return None;
    };
    let by_agent = item.is_some();
    let asked = asked_in(event);
    let call = match whole {
        Some(whole) => (**whole).clone(),
        None => RawJson::trusted(member(&asked, "toolCall").unwrap_or("{}")),
    };
    let call = without_links(&call).unwrap_or(call);
    let by_subagent = event.lane.is_some();
    let call = tool_call(
        &call,
        *request,
        (by_agent, by_subagent),
        title,
        subjects,
        *keeps_content,
    );
    // In version 1, there are no others.
    let is_known = |option: &PermissionOption| OptionKind::read(&option.kind).is_some();
    let offered = offered(&asked, options, always.as_deref(), is_known);
    let thread = Value::from(thread).to_string();
    let mut put = vec![("toolCall", call.get()), ("options", offered.get())];
    if !by_agent || has_string(&asked, "sessionId") {
        put.push(("sessionId", &thread));
    }
    let meta = meta(&asked, options, agent_remembers, subjects, always.as_deref());
    put.push(("_meta", meta.get()));
    Some(spliced(&asked, &put))
}

/// Returns the options of a permission request for an editor that knows all kinds, as version 2 requires.
pub(super) fn options_of_all_kinds(event: &Event) -> Option<RawJson> {
    let EventKind::Request(RequestEvent::PermissionRequested { options, always, .. }) = &event.kind else {
        return None;
    };
    Some(offered(&asked_in(event), options, always.as_deref(), |_| true))
}

/// Returns what the agent asked.
fn asked_in(event: &Event) -> RawJson {
    let asked = event.raw.as_ref().filter(|raw| raw.get().starts_with('{'));
    asked.cloned().unwrap_or_else(|| RawJson::trusted("{}"))
}

/// Returns the tool call with the daemon's title and first content block.
fn tool_call(
    call: &RawJson,
    request: RequestId,
    (by_agent, by_subagent): (bool, bool),
    title: &str,
    subjects: &[CallSubject],
    keeps_content: bool,
) -> RawJson {
    let id = Value::from(request.to_string()).to_string();
    // Content would replace the diffs that the editor has. The title names every part instead, if they fit.
    let all = in_title(subjects).filter(|_| keeps_content);
    let content = all.is_none().then(|| content(call, subjects));
    let words = all.or_else(|| in_one_line(subjects, TITLE_CHARS));
    let words = words.filter(|_| by_agent);
    let title = match words {
        // The title begins with the name of the subagent.
        Some(words) if by_subagent => titled(
            None,
            &format!("{}; acpd decides on: {words}", shorten(title, TITLE_CHARS)),
        ),
        words => titled(words, title),
    };
    let title = Value::from(title).to_string();
    let mut put = vec![("title", title.as_str())];
    put.extend(content.as_deref().map(|content| ("content", content)));
    if !by_agent {
        put.push(("toolCallId", &id));
    }
    spliced(call, &put)
}

/// Returns every part of the call in one line, without its diffs; `None` if that is too long for a title.
fn in_title(subjects: &[CallSubject]) -> Option<String> {
    let parts = subjects.iter().map(part_in_words).map(|part| {
        let words = std::iter::once(format!("{} {}", part.verb, part.what)).chain(part.details);
        visible_line(&words.collect::<Vec<_>>().join(", "))
    });
    let line = parts.collect::<Vec<_>>().join("; ");
    (!line.is_empty() && line.chars().count() <= FULL_TITLE_CHARS).then_some(line)
}

/// Returns a title that describes the effect of the call and quotes the agent's title.
fn titled(words: Option<String>, title: &str) -> String {
    let Some(words) = words else {
        return shorten(plain_line(title).trim(), FULL_TITLE_CHARS);
    };
    let mut letters = words.chars();
    let words: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect();
    let title = shorten(plain_line(title).trim(), TITLE_CHARS);
    if title.is_empty() {
        return words;
    }
    format!("{words} (the agent’s title: “{title}”)")
}

/// Returns the content with a description of the call in front of the agent's own blocks.
fn content(call: &RawJson, subjects: &[CallSubject]) -> String {
    let theirs = member(call, "content").and_then(|content| content.strip_prefix('['));
    let theirs = theirs.unwrap_or("]");
    if subjects.is_empty() {
        return format!("[{theirs}");
    }
    let lines = in_lines(subjects);
    // Editors render Markdown. The text is therefore code, in a fence that does not occur in it.
    let longest = lines.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let text = format!("What acpd decides on:\n\n{fence}text\n{lines}{fence}");
    let block = json!({ "type": "content", "content": { "type": "text", "text": text } });
    let between = if theirs.trim_start().starts_with(']') {
        ""
    } else {
        ","
    };
    format!("[{block}{between}{theirs}")
}

/// Returns the options that an editor is shown, with ids of the daemon and names that describe their effect.
fn offered(
    asked: &RawJson,
    options: &[PermissionOption],
    always: Option<&Always>,
    is_shown: impl Fn(&PermissionOption) -> bool,
) -> RawJson {
    let theirs: Vec<RawJson> = member(asked, "options")
        .and_then(|options| json::read(options).ok())
        .unwrap_or_default();
    let shown = options.iter().enumerate().filter(|(_, option)| is_shown(option));
    let ours = shown.map(|(at, option)| {
        let id = Value::from(id_of(at)).to_string();
        let name = Value::from(visible_line(&option.label(always))).to_string();
        let kind = Value::from(option.kind.as_str()).to_string();
        let empty = RawJson::trusted("{}");
        let written = theirs.get(at).unwrap_or(&empty);
        spliced(written, &[("optionId", &id), ("name", &name), ("kind", &kind)])
    });
    RawJson::of(&ours.collect::<Vec<_>>()).unwrap_or_else(|_| RawJson::trusted("[]"))
}

/// Returns the id of the option at position `at`.
fn id_of(at: usize) -> String {
    (at + 1).to_string()
}

/// Returns the position of the option with this id.
pub(super) fn place_of(id: &str) -> Option<usize> {
    let place = id.parse::<usize>().ok()?.checked_sub(1)?;
    (id_of(place) == id).then_some(place)
}

/// Returns `_meta`: the agent's own members, and acpd's for editors that support them.
fn meta(
    asked: &RawJson,
    options: &[PermissionOption],
    agent_remembers: &[String],
    subjects: &[CallSubject],
    always: Option<&Always>,
) -> RawJson {
    let mut out = Vec::new();
    let mut ours = Object::open(&mut out);
    let places = options.iter().enumerate();
    let passed_on: Vec<String> = places
        .filter(|(_, option)| agent_remembers.contains(&option.option_id))
        .map(|(at, _)| id_of(at))
        .collect();
    ours.maybe(
        "agentRemembers",
        Some(passed_on).filter(|ids| !ids.is_empty()).as_ref(),
    );
    ours.maybe("always", always.as_ref());
    ours.put("subjects", subjects);
    ours.close();
    let ours = String::from_utf8_lossy(&out);
    let theirs = member(asked, "_meta").filter(|meta| meta.starts_with('{'));
    spliced(&RawJson::trusted(theirs.unwrap_or("{}")), &[("acpd", &ours)])
}
