//! Text descriptions of a call's parts, for terminals, editors and documents.
//!
//! In: the parts of a call. Out: text. Never: an agent's title, or agent text that looks like a line of acpd.

use acpd_model::line_ends::shown_diff;
use acpd_model::subject::{CallSubject, Variable};
use acpd_model::text::{plain, shorten, visible, visible_line};

use super::shell::{quoted, shell_line};

/// The description of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartInWords<'a> {
    /// The verb: `run`, `change`, `fetch` …
    pub verb: &'static str,
    /// The object of the verb.
    pub what: String,
    /// Further details, such as the directory: one sentence each, without a period.
    pub details: Vec<String>,
    /// The change as a unified diff.
    pub diff: Option<&'a str>,
}

/// Describes a part, for places that only support text.
pub fn part_in_words(part: &CallSubject) -> PartInWords<'_> {
    let (verb, what) = match part {
        CallSubject::Command { argv, .. } => {
            let mut words = argv.iter().map(String::as_str);
            ("run", shell_line(words.next().unwrap_or_default(), words))
        }
        CallSubject::CommandLine { line, .. } => ("run", line.clone()),
        CallSubject::File { access, path, .. } => (access.verb(), path.clone()),
        CallSubject::Fetch { url, .. } => ("fetch", url.clone()),
        CallSubject::Mcp { server, tool, .. } => (
            "call",
            match tool {
                Some(tool) => format!("{tool} of the MCP server {server}"),
                None => format!("the MCP server {server}"),
            },
        ),
        CallSubject::Tool { name, kind, .. } => (
            "use",
            match name {
                Some(name) => format!("the tool {name} of kind {kind}"),
                None => format!("a tool of kind {kind}"),
            },
        ),
        CallSubject::Unknown { what } => ("do", format!("something that is not clear: {what}")),
    };
    let mut details = Vec::new();
    let mut diff = None;
    match part {
        CallSubject::Command { cwd, env, .. } | CallSubject::CommandLine { cwd, env, .. } => {
            details.push(format!("in {cwd}"));
            let set = |variable: &Variable| format!("with {}={}", variable.name, quoted(&variable.value));
            details.extend(env.iter().map(set));
        }
        CallSubject::File {
            real_path,
            diff: change,
            arguments,
            ..
        } => {
            details.extend(real_path.iter().map(|path| format!("which is {path}")));
            details.extend(arguments.iter().map(|input| format!("with {input}")));
            diff = change.as_deref();
        }
        CallSubject::Fetch { host, .. } => {
            details.extend(host.iter().map(|host| format!("from the host {host}")));
        }
        CallSubject::Mcp { arguments, .. } | CallSubject::Tool { arguments, .. } => {
            details.extend(arguments.iter().map(|input| format!("with {input}")));
        }
        CallSubject::Unknown { .. } => {}
    }
    PartInWords {
        verb,
        what,
        details,
        diff,
    }
}

/// Describes a call, with one or more lines for each part.
pub fn in_lines(parts: &[CallSubject]) -> String {
    let mut text = String::new();
    for part in parts.iter().map(part_in_words) {
        let first = if part.verb == "run" { "$" } else { part.verb };
        text.push_str(&format!("  {first} {}\n", inside(&visible(&part.what))));
        for detail in &part.details {
            text.push_str(&format!("    {}\n", inside(&visible(detail))));
        }
        if let Some(diff) = part.diff {
            let diff = shown_diff(diff);
            text.push_str(&format!("  | {}\n", inside(&plain(diff.trim_end_matches('\n')))));
        }
    }
    text
}

/// Describes a call in one line, with at most `chars` characters for its first part.
pub fn in_one_line(parts: &[CallSubject], chars: usize) -> Option<String> {
    let (first, more) = parts.split_first()?;
    let PartInWords { verb, what, .. } = part_in_words(first);
    let what = shorten(&visible_line(&what), chars);
    Some(match more.len() {
        0 => format!("{verb} {what}"),
        1 => format!("{verb} {what}, and one more part"),
        more => format!("{verb} {what}, and {more} more parts"),
    })
}

/// Indents text of several lines, so that no line looks like one of acpd.
fn inside(text: &str) -> String {
    text.replace('\n', "\n  | ")
}
