//! All mistakes of a configuration file, in the order of its lines.
//!
//! A deserializer stops at its first mistake, which need not be the first in the file. So each one is cut out of the parsed
//! text, and the rest is read again.

use std::ops::Range;
use std::path::Path;

use acpd_server::Config;
use serde_path_to_error::Segment;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, line_of};
use crate::traces;

/// Maximum number of mistakes that are found.
const MOST: usize = 50;

/// Returns the mistakes of the text of the file at `path`.
pub fn mistakes(path: &Path, text: &str) -> Vec<ConfigError> {
    let (whole, broken) = DeTable::parse_recoverable(text);
    let broken = broken.iter().take(MOST);
    let mut found: Vec<ConfigError> = broken
        .map(|error| ConfigError::syntax(path, text, error))
        .collect();
    let unreadable: Vec<Option<usize>> = found.iter().map(ConfigError::line).collect();
    let mut rest = whole.clone();
    let mut cuts: Vec<String> = Vec::new();
    while found.len() < MOST {
        let read = serde_path_to_error::deserialize::<_, Config>(toml::Deserializer::from(rest.clone()));
        let error = match read {
            Ok(config) if unreadable.is_empty() => {
                found.extend(meanings(&config, path, text, whole.get_ref(), &cuts));
                break;
            }
            Ok(_) => break,
            Err(error) => error,
        };
        let mistake = ConfigError::value(path, text, &error);
        let keys = error.path().iter().map_while(|segment| match segment {
            Segment::Map { key } => Some(key.as_str()),
            _ => None,
        });
        let keys: Vec<&str> = keys.collect();
        // A member that was cut out is missing, which is no second mistake. Nor is what a line that is no TOML was taken for.
        let lacks_a_cut =
            error.inner().message().starts_with("missing field") && cuts.iter().any(|cut| is_in(cut, &keys));
        if !lacks_a_cut && !unreadable.contains(&mistake.line()) {
            found.push(mistake);
        }
        let span = error.inner().span().filter(|_| !lacks_a_cut);
        let cut = span.and_then(|span| cut_at(rest.get_mut(), &span));
        let Some(cut) = cut.or_else(|| cut_along(rest.get_mut(), &keys)) else {
            break;
        };
        cuts.push(cut);
    }
    found.truncate(MOST);
    found.sort_by_key(|mistake| mistake.line().unwrap_or(usize::MAX));
    found
}

/// Returns what is wrong and cannot be expressed by the types. Each sentence begins with its key.
pub fn problems(config: &Config) -> Vec<String> {
    let mut found = config.check();
    let endpoint = config.traces.endpoint.as_deref();
    found.extend(endpoint.and_then(|endpoint| traces::check(endpoint).err()));
    found
}

/// Returns what has the right types and makes no sense, unless that may be because a wrong value was cut out.
fn meanings(
    config: &Config,
    path: &Path,
    text: &str,
    whole: &DeTable<'_>,
    cuts: &[String],
) -> Vec<ConfigError> {
    let mut found = Vec::new();
    for problem in problems(config) {
        // Each of these sentences begins with its key.
        let key = problem.split_whitespace().next().unwrap_or_default();
        let key = key.trim_end_matches(':').to_owned();
        let is_cut = |cut: &String| {
            let below = cut.strip_prefix(&key);
            below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
        };
        if !cuts.iter().any(is_cut) {
            let line = line_of_key(whole, text, &key);
            found.push(ConfigError::meaning(path, problem).at_line(line));
        }
    }
    found
}

/// Returns whether a key is one of the table to which these keys lead.
fn is_in(key: &str, table: &[&str]) -> bool {
    let parent = key.rsplit_once('.').map_or("", |(parent, _)| parent);
    parent == table.join(".")
}

/// Removes the innermost entry whose key or value is at this place. Returns its key.
fn cut_at(table: &mut DeTable<'_>, span: &Range<usize>) -> Option<String> {
    for (key, value) in table.iter_mut() {
        let below = match value.get_mut() {
            DeValue::Table(below) => cut_at(below, span),
            DeValue::Array(entries) => entries.iter_mut().find_map(|entry| match entry.get_mut() {
                DeValue::Table(below) => cut_at(below, span),
                _ => None,
            }),
            _ => None,
        };
        if let Some(below) = below {
            return Some(format!("{}.{below}", key.get_ref()));
        }
    }
    let mut entries = table.iter();
    let found = entries.find(|(key, value)| key.span() == *span || value.span() == *span);
    let key = found.map(|(key, _)| key.get_ref().to_string())?;
    table.remove(key.as_str());
    Some(key)
}

/// Removes the innermost entry on the way that these keys lead. Returns its key.
fn cut_along(table: &mut DeTable<'_>, keys: &[&str]) -> Option<String> {
    let (first, rest) = keys.split_first()?;
    if let Some(DeValue::Table(below)) = table.get_mut(*first).map(Spanned::get_mut)
        && let Some(cut) = cut_along(below, rest)
    {
        return Some(format!("{first}.{cut}"));
    }
    table.remove(*first).map(|_| (*first).to_owned())
}

/// Returns the line of a key such as `limits.queued_turns`, or of the innermost table around it.
fn line_of_key(table: &DeTable<'_>, text: &str, key: &str) -> Option<usize> {
    let (mut table, mut line) = (table, None);
    for part in key.split('.') {
        let Some((name, value)) = table.get_key_value(part) else {
            break;
        };
        line = line_of(text, Some(name.span()));
        match value.get_ref() {
            DeValue::Table(below) => table = below,
            _ => break,
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let found = mistakes(Path::new("/c.toml"), text);
        found.iter().map(|mistake| mistake.message().to_owned()).collect()
    }

    #[test]
    fn all_mistakes_are_found_in_the_order_of_their_lines() {
        let text = "listn = '127.0.0.1:1'\n\
                    [server]\nhosts = ['a', 5]\n\
                    [agents.b]\ncommand = 'x'\nenv = 'A=1'\n\
                    [agents.a]\ncommand = ['gemini', '--acp']\nargs = ['x']\n\
                    [limits]\nqueued_turns = 0\nfoo = 1\nagent_idle_secs = 'x'\n";
        let found = found(text);
        let begins = [
            "line 1: unknown key \"listn\"",
            "line 3, at server.hosts",
            "line 6, at agents.b.env",
            "line 8, at agents.a.command",
            "limits.queued_turns is 0",
            "line 12, at limits: unknown key \"foo\"",
            "line 13, at limits.agent_idle_secs",
        ];
        assert_eq!(found.len(), begins.len(), "{found:#?}");
        for (mistake, part) in found.iter().zip(begins) {
            assert!(mistake.contains(part), "{part}: {found:#?}");
        }
    }

    #[test]
    fn a_wrong_member_is_not_missing_as_well() {
        let found = found("[notifications.targets.a]\ntype = 'mail'\n[limits]\nfoo = 1\n");
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(
            found[0].contains("\"mail\" is unknown") && found[1].contains("foo"),
            "{found:#?}"
        );
    }

    #[test]
    fn invalid_toml_hides_no_other_line() {
        let found = found("listn = 1\n[limits\nfoo = 2\n");
        assert!(
            found
                .first()
                .is_some_and(|first| first.starts_with("line 1: unknown key")),
            "{found:#?}"
        );
        assert!(
            found.iter().any(|mistake| mistake.starts_with("line 2: ")),
            "{found:#?}"
        );
        assert!(self::found("").is_empty());
        assert!(self::found("default_agent = 'x'").is_empty());
    }

    #[test]
    fn a_file_of_mistakes_ends() {
        let text: String = (0..1000).map(|k| format!("k{k} = 1\n")).collect();
        assert_eq!(found(&text).len(), MOST);
        assert!(found(&"[[\n".repeat(1000)).len() <= MOST);
    }
}
