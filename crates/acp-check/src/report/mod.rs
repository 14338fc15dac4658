//! The report of a run: as a table, as Markdown and as JSON.
//!
//! In: the verdicts. Out: text. Owns: nothing. Never: decides about a verdict.

mod rows;

use std::fmt::Write as _;

use serde_json::{Value, json};

pub use self::rows::{Row, Rows, Verdict};
use crate::rule::Rule;
use crate::version::Version;

/// What a run found out about an agent.
#[derive(Debug, Clone)]
pub struct Report {
    /// The command line of the agent.
    pub command: Vec<String>,
    /// The agent's name and version, as it said them.
    pub agent: Option<String>,
    /// The verdicts, for each version that was tried.
    pub versions: Vec<(Version, Rows)>,
    /// Why parts of the run need a sign-in, in the agent's words.
    pub sign_in: Option<String>,
}

impl Report {
    /// Returns the number of violated rules.
    pub fn violations(&self) -> usize {
        self.versions.iter().map(|(_, rows)| rows.violated()).sum()
    }

    /// Returns the rows of all versions.
    pub fn rows(&self) -> impl Iterator<Item = (Version, &Row)> {
        self.versions
            .iter()
            .flat_map(|(version, rows)| rows.all().iter().map(move |row| (*version, row)))
    }

    /// Returns the report as one JSON object.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows()
            .map(|(version, row)| {
                json!({
                    "version": version.number(), "method": row.method, "rule": row.rule.name(),
                    "sentence": row.rule.sentence(), "verdict": row.verdict.name(),
                    "evidence": row.evidence, "count": row.count,
                })
            })
            .collect();
        json!({
            "command": self.command, "agent": self.agent, "needsSignIn": self.sign_in,
            "violations": self.violations(), "rows": rows,
        })
    }

    /// Returns the report as a table for a terminal. Violations come first.
    pub fn table(&self) -> String {
        let cells: Vec<[String; 5]> = self
            .sorted()
            .into_iter()
            .map(|(version, row)| {
                [
                    version.to_string(),
                    row.method.clone(),
                    row.rule.name().to_owned(),
                    row.verdict.word().to_owned(),
                    row.evidence.clone(),
                ]
            })
            .collect();
        let header = ["ACP", "METHOD", "RULE", "VERDICT", "EVIDENCE"].map(str::to_owned);
        let mut widths = [0; 5];
        for line in std::iter::once(&header).chain(&cells) {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut text = String::new();
        for line in std::iter::once(&header).chain(&cells) {
            let mut padded = String::new();
            for (cell, width) in line.iter().zip(widths).take(4) {
                padded.push_str(&format!("{cell:width$}  "));
            }
            padded.push_str(&line[4]);
            text.push_str(padded.trim_end());
            text.push('\n');
        }
        let _ = write!(text, "\n{}", self.summary("", str::to_owned));
        text
    }

    /// Returns the report as a Markdown table.
    pub fn markdown(&self) -> String {
        let mut text = "| ACP | Method | Rule | Verdict | Evidence |\n|---|---|---|---|---|\n".to_owned();
        for (version, row) in self.sorted() {
            let evidence = match row.evidence.as_str() {
                "" => String::new(),
                quoted => cell(quoted),
            };
            let _ = writeln!(
                text,
                "| {version} | {} | {} | {} | {evidence} |",
                cell(&row.method),
                row.rule.name(),
                row.verdict.word(),
            );
        }
        let _ = write!(text, "\n{}", self.summary("- ", code));
        text
    }

    /// Returns the rows by their verdicts.
    fn sorted(&self) -> Vec<(Version, &Row)> {
        let mut rows: Vec<_> = self.rows().collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.verdict));
        rows
    }

    /// Returns the counts, and the sentences of violated rules. `quote` writes a text of the agent.
    fn summary(&self, mark: &str, quote: fn(&str) -> String) -> String {
        let count = |verdict| self.rows().filter(|(_, row)| row.verdict == verdict).count();
        let mut text = String::new();
        let mut broken: Vec<Rule> = self
            .rows()
            .filter(|(_, row)| row.verdict == Verdict::Violated)
            .map(|(_, row)| row.rule)
            .collect();
        broken.sort_unstable();
        broken.dedup();
        for rule in broken {
            let _ = writeln!(text, "{mark}{}: {}", rule.name(), rule.sentence());
        }
        if let Some(reason) = &self.sign_in {
            let _ = writeln!(
                text,
                "{mark}The agent needs a sign-in, which prevented part of the run: {}",
                quote(reason)
            );
        }
        let named = self.agent.as_deref().filter(|agent| !agent.is_empty());
        let agent = named.map_or_else(|| "the agent".to_owned(), quote);
        let _ = writeln!(
            text,
            "{mark}{agent}: {} violated, {} ok, {} not offered, {} not tried",
            count(Verdict::Violated),
            count(Verdict::Ok),
            count(Verdict::NotOffered),
            count(Verdict::NotTried),
        );
        text
    }
}

/// Writes a text of the agent as code, which has no Markdown and no end but a backquote.
fn code(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| match c {
            '`' => '\'',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    format!("`{text}`")
}

/// Writes a text of the agent into a table, whose cells end at "|".
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_has_texts_of_agents_as_code() {
        let mut report = Report {
            command: Vec::new(),
            agent: Some("![x](http://a) `|\n| v1 |".to_owned()),
            versions: vec![(Version::One, Rows::default())],
            sign_in: Some("<b>\r\n# hello".to_owned()),
        };
        let text = report.markdown();
        assert!(
            text.contains("\n- `![x](http://a) '| | v1 |`: 0 violated,"),
            "{text}"
        );
        assert!(text.contains("part of the run: `<b>  # hello`\n"), "{text}");
        report.agent = Some(String::new());
        assert!(report.markdown().contains("- the agent: 0"), "{text}");
    }
}
