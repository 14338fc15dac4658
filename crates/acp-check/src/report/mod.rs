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
        let _ = write!(text, "\n{}", self.summary(""));
        text
    }

    /// Returns the report as a Markdown table.
    pub fn markdown(&self) -> String {
        let mut text = "| ACP | Method | Rule | Verdict | Evidence |\n|---|---|---|---|---|\n".to_owned();
        for (version, row) in self.sorted() {
            let evidence = match row.evidence.as_str() {
                "" => String::new(),
                // A cell ends at "|", and code at a backquote.
                quoted => format!("`{}`", quoted.replace('|', "\\|").replace('`', "'")),
            };
            let _ = writeln!(
                text,
                "| {version} | `{}` | {} | {} | {evidence} |",
                row.method.replace('|', "\\|").replace('`', "'"),
                row.rule.name(),
                row.verdict.word(),
            );
        }
        let _ = write!(text, "\n{}", self.summary("- "));
        text
    }

    /// Returns the rows by their verdicts.
    fn sorted(&self) -> Vec<(Version, &Row)> {
        let mut rows: Vec<_> = self.rows().collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.verdict));
        rows
    }

    /// Returns the counts, and the sentences of violated rules.
    fn summary(&self, mark: &str) -> String {
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
                "{mark}The agent needs a sign-in, which prevented part of the run: {reason}"
            );
        }
        let agent = self.agent.as_deref().unwrap_or("the agent");
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
