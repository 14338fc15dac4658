//! Findings of `acpd doctor`, as text and as JSON.
//!
//! In: findings. Out: text for a terminal, or JSON for scripts. Owns: the order and layout of the report. Never: checks
//! anything itself.

use serde::Serialize;

use crate::client::local::preflight::Hindrance;
use crate::terminal::plain::plain_line;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing to do.
    Ok,
    /// acpd works, but not as well as it could.
    Warning,
    /// Something does not work.
    Problem,
}

/// The subject of a finding. The order is that of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// The configuration file.
    Configuration,
    /// The data directory and the log.
    Data,
    /// Files with secrets.
    Secrets,
    /// The running daemon.
    Daemon,
    /// The addresses on which it listens.
    Addresses,
    /// The certificate.
    Certificate,
    /// The agents that are configured or found.
    Agents,
    /// The restrictions for agents.
    Sandbox,
    /// The operating system and its limits.
    System,
    /// The clock and the time zone.
    Clock,
    /// The service of systemd or launchd.
    Service,
    /// The settings of editors.
    Editors,
    /// Proxies, and the registry of agents.
    Network,
}

impl Group {
    /// Returns the heading of the group.
    pub fn title(self) -> &'static str {
        match self {
            Self::Configuration => "Configuration",
            Self::Data => "Data directory",
            Self::Secrets => "Secrets",
            Self::Daemon => "Daemon",
            Self::Addresses => "Addresses",
            Self::Certificate => "Certificate",
            Self::Agents => "Agents",
            Self::Sandbox => "Sandbox",
            Self::System => "System",
            Self::Clock => "Clock",
            Self::Service => "Service",
            Self::Editors => "Editors",
            Self::Network => "Network",
        }
    }
}

/// One result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The subject.
    pub group: Group,
    /// How much it matters.
    pub level: Level,
    /// What was found, and what it means.
    pub message: String,
    /// The command or setting that fixes it.
    pub fix: Option<String>,
}

impl Finding {
    /// Creates a finding that needs nothing.
    pub fn ok(group: Group, message: impl Into<String>) -> Self {
        Self::new(group, Level::Ok, message)
    }

    /// Creates a finding about something that works, but not as well as it could.
    pub fn warning(group: Group, message: impl Into<String>) -> Self {
        Self::new(group, Level::Warning, message)
    }

    /// Creates a finding about something that does not work.
    pub fn problem(group: Group, message: impl Into<String>) -> Self {
        Self::new(group, Level::Problem, message)
    }

    /// Creates a finding about what hinders the daemon, in the words of a start that it hinders.
    pub fn hindrance(group: Group, hindrance: &Hindrance) -> Self {
        Self::problem(group, hindrance.reason()).fix(hindrance.advice())
    }

    fn new(group: Group, level: Level, message: impl Into<String>) -> Self {
        Self {
            group,
            level,
            message: message.into(),
            fix: None,
        }
    }

    /// Adds the command or setting that fixes it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// All findings, in the order of their groups.
#[derive(Debug)]
pub struct Report(Vec<Finding>);

impl Report {
    /// Sorts findings. Those of one group keep their order.
    pub fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| finding.group);
        Self(findings)
    }

    /// Returns the number of findings of a level.
    pub fn count(&self, level: Level) -> usize {
        self.0.iter().filter(|finding| finding.level == level).count()
    }

    /// Returns the report as one line of JSON.
    pub fn json(&self) -> String {
        let (problems, warnings) = (self.count(Level::Problem), self.count(Level::Warning));
        serde_json::json!({
            "ok": problems == 0, "problems": problems, "warnings": warnings, "findings": self.0,
        })
        .to_string()
    }

    /// Returns the report as text. With `quiet`, only what needs attention; with `colors`, with coloured levels.
    pub fn text(&self, quiet: bool, colors: bool) -> String {
        let mut text = String::new();
        let mut group = None;
        for finding in &self.0 {
            if quiet && finding.level == Level::Ok {
                continue;
            }
            if group != Some(finding.group) {
                let gap = if group.is_some() { "\n" } else { "" };
                text.push_str(&format!("{gap}{}\n", finding.group.title()));
                group = Some(finding.group);
            }
            let level = level(finding.level, colors);
            text.push_str(&format!("  {level}  {}\n", plain_line(&finding.message)));
            if let Some(fix) = &finding.fix {
                text.push_str(&format!("{FIX}{}\n", plain_line(fix)));
            }
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{}\n", self.summary()));
        text
    }

    fn summary(&self) -> String {
        let counted = |level, word: &str| match self.count(level) {
            1 => format!("1 {word}"),
            many => format!("{many} {word}s"),
        };
        match (self.count(Level::Problem), self.count(Level::Warning)) {
            (0, 0) => "No problems were found.".to_owned(),
            (0, _) => format!(
                "No problems were found, and {}.",
                counted(Level::Warning, "warning")
            ),
            _ => format!(
                "{}, {}.",
                counted(Level::Problem, "problem"),
                counted(Level::Warning, "warning")
            ),
        }
    }
}

/// Begins the line with the fix, below the message.
const FIX: &str = "           → ";

fn level(level: Level, colors: bool) -> String {
    let (word, color) = match level {
        Level::Ok => ("ok     ", 32),
        Level::Warning => ("warning", 33),
        Level::Problem => ("problem", 31),
    };
    if colors {
        format!("\u{1b}[{color}m{word}\u{1b}[0m")
    } else {
        word.to_owned()
    }
}

/// Fails unless the worst of the findings has this level and contains this text, and all but good ones say what to do.
#[cfg(test)]
pub fn assert_found(found: &[Finding], level: Level, part: &str) {
    let worst = found.iter().map(|finding| finding.level).max();
    assert_eq!(worst, Some(level), "{found:?}");
    let of_level = |finding: &&Finding| finding.level == level;
    assert!(
        found
            .iter()
            .filter(of_level)
            .any(|finding| finding.message.contains(part)),
        "{found:?}"
    );
    let has_fix = |finding: &Finding| finding.level == Level::Ok || finding.fix.is_some();
    assert!(found.iter().all(has_fix), "{found:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report::new(vec![
            Finding::warning(Group::Agents, "no agent was found\u{1b}[2J").fix("acpd setup"),
            Finding::ok(Group::Data, "it is private"),
            Finding::problem(Group::Data, "it is full"),
        ])
    }

    #[test]
    fn findings_are_grouped_and_counted() {
        assert_eq!(
            report().text(false, false),
            "Data directory\n  ok       it is private\n  problem  it is full\n\nAgents\n  warning  no agent was \
             found\u{fffd}[2J\n           → acpd setup\n\n1 problem, 1 warning.\n"
        );
        assert_eq!(
            report().text(true, false),
            "Data directory\n  problem  it is full\n\nAgents\n  warning  no agent was found\u{fffd}[2J\n           → acpd \
             setup\n\n1 problem, 1 warning.\n"
        );
        assert_eq!(
            Report::new(Vec::new()).text(true, false),
            "No problems were found.\n"
        );
        assert!(
            report()
                .text(false, true)
                .contains("\u{1b}[31mproblem\u{1b}[0m  it is full")
        );
    }

    #[test]
    fn json_has_every_finding() {
        let json: serde_json::Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(json["ok"], false);
        assert_eq!(json["findings"].as_array().unwrap().len(), 3);
        assert_eq!(json["findings"][2]["fix"], "acpd setup");
        assert_eq!(json["findings"][0]["group"], "data");
        assert_eq!(json["findings"][0]["level"], "ok");
    }
}
