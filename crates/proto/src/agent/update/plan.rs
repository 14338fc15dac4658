//! Plans: the one without an id (`plan`), and those by id (`plan_update`).
//!
//! Invalid steps are left out, as by ACP's own types; the raw update keeps them.

use acpd_model::event::{MarkdownPlan, PlanEntry};
use acpd_model::json;
use acpd_model::limits::PATH_BYTES;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::Lenient;
use crate::agent::bounds::name;
use crate::wire::Text;

/// A whole plan, as the agent sent it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanUpdate {
    /// The agent's id for the plan. Empty for `plan`, which has no id.
    pub id: String,
    /// The steps. Empty for a plan of another form.
    pub entries: Vec<PlanEntry>,
    /// The plan as Markdown, in place of steps.
    pub markdown: Option<Box<MarkdownPlan>>,
}

/// The members of all forms of a plan; each form has only some of them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    plan_id: Text<'a>,
    #[serde(borrow, default)]
    entries: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Lenient<'a>,
    #[serde(borrow, default)]
    path: Lenient<'a>,
    #[serde(borrow, default)]
    uri: Lenient<'a>,
}

/// Reads the steps of a `plan`.
pub(super) fn without_id(entries: &RawValue) -> Option<PlanUpdate> {
    Some(PlanUpdate {
        entries: steps(entries)?,
        ..PlanUpdate::default()
    })
}

/// Reads the `plan` of a `plan_update`. A form that this version does not know is not read.
pub(super) fn by_id(plan: &RawValue) -> Option<PlanUpdate> {
    if let Ok(wire) = serde_json::from_str(plan.get()) {
        return read(&wire);
    }
    // A text that is cut within a character is read with U+FFFD in its place.
    let readable = json::readable(plan.get())?;
    read(&serde_json::from_str(&readable).ok()?)
}

fn read(wire: &Wire<'_>) -> Option<PlanUpdate> {
    let id = name(&wire.plan_id)?;
    let (entries, markdown) = match &*wire.r#type {
        "items" => (steps(wire.entries?)?, None),
        "markdown" => {
            let content = wire.content.0.as_deref()?.to_owned();
            let path = wire.path.0.as_deref().and_then(absolute);
            (Vec::new(), Some(MarkdownPlan { content, path }))
        }
        // The drafts before `path` had a form without a text.
        "file" => {
            let path = absolute(wire.uri.0.as_deref()?.strip_prefix("file://")?);
            let content = String::new();
            (Vec::new(), Some(MarkdownPlan { content, path }))
        }
        _ => return None,
    };
    Some(PlanUpdate {
        id,
        entries,
        markdown: markdown.map(Box::new),
    })
}

fn steps(entries: &RawValue) -> Option<Vec<PlanEntry>> {
    let entries: Vec<&RawValue> = serde_json::from_str(entries.get()).ok()?;
    let entries = entries.iter().filter_map(|entry| json::read(entry.get()).ok());
    Some(entries.collect())
}

/// Returns an absolute path of this or another system, unless it is longer than a path can be.
fn absolute(path: &str) -> Option<String> {
    let is_absolute = match path.as_bytes() {
        [b'/', ..] | [b'\\', b'\\', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    };
    (is_absolute && path.len() <= PATH_BYTES).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(plan: &str) -> Option<PlanUpdate> {
        by_id(&RawValue::from_string(plan.to_owned()).unwrap())
    }

    fn markdown(content: &str, path: Option<&str>) -> PlanUpdate {
        PlanUpdate {
            id: "p".to_owned(),
            entries: Vec::new(),
            markdown: Some(Box::new(MarkdownPlan {
                content: content.to_owned(),
                path: path.map(str::to_owned),
            })),
        }
    }

    #[test]
    fn each_form_is_read_and_invalid_steps_are_left_out() {
        let items = parse(
            r#"{"type":"items","planId":"p","entries":[7,{"content":"a","priority":"high","status":"_later"}]}"#,
        );
        let items = items.unwrap();
        assert_eq!(
            (items.id.as_str(), items.entries.len(), items.markdown),
            ("p", 1, None)
        );
        assert_eq!(items.entries[0].status, "_later", "unknown words are kept");
        for (plan, expected) in [
            (
                r##"{"type":"markdown","planId":"p","content":"# a"}"##,
                markdown("# a", None),
            ),
            (
                r#"{"type":"markdown","planId":"p","content":"","path":"/a b.md"}"#,
                markdown("", Some("/a b.md")),
            ),
            (
                r#"{"type":"markdown","planId":"p","content":"a","path":"C:\\b.md"}"#,
                markdown("a", Some("C:\\b.md")),
            ),
            (
                r#"{"type":"markdown","planId":"p","content":"a","path":null}"#,
                markdown("a", None),
            ),
            (
                r#"{"type":"markdown","planId":"p","content":"a","path":"b.md"}"#,
                markdown("a", None),
            ),
            (
                r#"{"type":"markdown","planId":"p","content":"a","path":7}"#,
                markdown("a", None),
            ),
            (
                r#"{"type":"markdown","planId":"p","content":"a \ud83d"}"#,
                markdown("a \u{fffd}", None),
            ),
            (
                r#"{"type":"file","planId":"p","uri":"file:///b.md"}"#,
                markdown("", Some("/b.md")),
            ),
        ] {
            assert_eq!(parse(plan), Some(expected), "{plan}");
        }
        let long = format!(
            r#"{{"type":"markdown","planId":"p","content":"a","path":"/{}"}}"#,
            "b".repeat(PATH_BYTES)
        );
        assert_eq!(parse(&long), Some(markdown("a", None)));
    }

    #[test]
    fn other_shapes_are_no_plans() {
        let long = format!(
            r#"{{"type":"items","planId":"{}","entries":[]}}"#,
            "p".repeat(1 << 16)
        );
        for plan in [
            "7",
            "{}",
            r#"{"type":"_custom","planId":"p","entries":[]}"#,
            r#"{"type":"items","planId":"p"}"#,
            r#"{"type":"items","planId":"p","entries":"none"}"#,
            r#"{"type":"items","entries":[]}"#,
            r#"{"type":"items","planId":7,"entries":[]}"#,
            r#"{"type":"markdown","planId":"p"}"#,
            r#"{"type":"markdown","planId":"p","content":7}"#,
            r#"{"type":"file","planId":"p","uri":"https://example.com/plan"}"#,
            &long,
        ] {
            assert_eq!(parse(plan), None, "{plan}");
        }
    }
}
