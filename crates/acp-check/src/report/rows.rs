//! The verdicts of a run, one for each method and rule.

use std::collections::BTreeMap;

use crate::evidence::cut;
use crate::rule::Rule;

/// Most rows of one version. Methods may be names that the agent invented.
const MOST_ROWS: usize = 512;

/// Most of a method's name that is kept, in bytes.
const METHOD_BYTES: usize = 64;

/// Most of the evidence of a row that is kept, in bytes.
const EVIDENCE_BYTES: usize = 400;

/// What a run found out about a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The agent does not offer what the rule is about.
    NotOffered,
    /// The rule could not be tried.
    NotTried,
    /// The agent keeps the rule, as far as it was seen.
    Ok,
    /// The agent violates the rule.
    Violated,
}

impl Verdict {
    /// Returns its word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotOffered => "not offered",
            Self::NotTried => "not tried",
            Self::Ok => "ok",
            Self::Violated => "VIOLATED",
        }
    }

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotOffered => "notOffered",
            Self::NotTried => "notTried",
            Self::Ok => "ok",
            Self::Violated => "violated",
        }
    }
}

/// One verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The method, or the kind of update, that it is about.
    pub method: String,
    /// The rule.
    pub rule: Rule,
    /// What was found out.
    pub verdict: Verdict,
    /// The line of the agent, or the reason why the rule was not tried.
    pub evidence: String,
    /// How often it was seen.
    pub count: u64,
}

/// The verdicts about one version, in the order of their first sight.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    rows: Vec<Row>,
    places: BTreeMap<(String, Rule), usize>,
}

impl Rows {
    /// Returns the rows.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the number of violated rows.
    pub fn violated(&self) -> usize {
        self.rows
            .iter()
            .filter(|row| row.verdict == Verdict::Violated)
            .count()
    }

    /// Records that the agent kept a rule.
    pub fn ok(&mut self, method: &str, rule: Rule) {
        self.note(method, rule, Verdict::Ok, "");
    }

    /// Records a violation.
    pub fn violated_by(&mut self, method: &str, rule: Rule, evidence: &str) {
        self.note(method, rule, Verdict::Violated, evidence);
    }

    /// Records that the agent does not offer something.
    pub fn not_offered(&mut self, method: &str, rule: Rule) {
        self.note(method, rule, Verdict::NotOffered, "");
    }

    /// Records why a rule was not tried.
    pub fn not_tried(&mut self, method: &str, rule: Rule, reason: &str) {
        self.note(method, rule, Verdict::NotTried, reason);
    }

    /// Records a verdict. The graver one stays, with the evidence that came first.
    fn note(&mut self, method: &str, rule: Rule, verdict: Verdict, evidence: &str) {
        let mut key = (cut(method, METHOD_BYTES), rule);
        if self.rows.len() >= MOST_ROWS && !self.places.contains_key(&key) {
            "(others)".clone_into(&mut key.0);
        }
        if let Some(row) = self.places.get(&key).and_then(|at| self.rows.get_mut(*at)) {
            if row.verdict == verdict {
                row.count += 1;
            } else if row.verdict < verdict {
                row.verdict = verdict;
                row.evidence = cut(evidence, EVIDENCE_BYTES);
                row.count = 1;
            }
            return;
        }
        self.places.insert(key.clone(), self.rows.len());
        self.rows.push(Row {
            method: key.0,
            rule,
            verdict,
            evidence: cut(evidence, EVIDENCE_BYTES),
            count: 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_stays_and_rows_are_bounded() {
        let mut rows = Rows::default();
        rows.ok("m", Rule::Schema);
        rows.violated_by("m", Rule::Schema, "first");
        rows.violated_by("m", Rule::Schema, "second");
        rows.ok("m", Rule::Schema);
        let row = &rows.all()[0];
        assert_eq!(
            (row.verdict, row.evidence.as_str(), row.count),
            (Verdict::Violated, "first", 2)
        );
        for number in 0..10_000 {
            rows.violated_by(&format!("m{number}"), Rule::Method, &"x".repeat(100_000));
        }
        assert!(rows.all().len() <= MOST_ROWS + Rule::ALL.len());
        assert!(
            rows.all()
                .iter()
                .all(|row| row.evidence.len() < EVIDENCE_BYTES + 8)
        );
    }
}
