//! Answers that hold for good: "always allow", "always refuse".
//!
//! A request and a person's answer come in; rules narrow enough to be about nothing else come out, and are kept with
//! the scope the person chose. They can be listed and taken back one by one.

use std::fmt;

use acpd_model::limits::{REMEMBERED_RULES, RULE_BYTES};
use serde::{Deserialize, Serialize};

use super::decide::{Layers, Scope};
use super::path::escaped;
use super::preset::{Effect, Policy};
use super::request::{Access, Kind, Request, Subject};
use super::rule::Rule;
use super::shell::quoted;

/// One rule out of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RememberedRule {
    /// Counted up from 1, or from [`AGENT_IDS`] for an agent; never used again in the same list.
    pub id: u64,
    /// What it holds for.
    pub scope: Scope,
    /// Whether it allows; else it denies.
    pub allow: bool,
    /// What it is about.
    pub rule: Rule,
}

/// A list of answers, kept wherever its scope lives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    last_id: u64,
    rules: Vec<RememberedRule>,
}

/// Why an answer cannot be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRememberable {
    /// No rule is about exactly this.
    NoRule {
        /// The part of the request.
        subject: String,
    },
    /// There are [`REMEMBERED_RULES`] already.
    Full,
    /// Answers hold for a session, a thread or an agent.
    Scope,
}

impl fmt::Display for NotRememberable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRule { subject } => {
                write!(f, "no rule can be about exactly {subject}")
            }
            Self::Full => write!(
                f,
                "no more than {REMEMBERED_RULES} answers are remembered; take some back first"
            ),
            Self::Scope => f.write_str("an answer is remembered for a session, a thread or an agent"),
        }
    }
}

impl std::error::Error for NotRememberable {}

/// Where the ids of answers for an agent begin. A thread's own count from 1 and never get there, so that in a thread an
/// id means one answer, wherever it is kept.
pub const AGENT_IDS: u64 = 1 << 32;

impl Remembered {
    /// An empty list of answers for all threads of an agent.
    pub fn for_agent() -> Self {
        Self {
            last_id: AGENT_IDS,
            rules: Vec::new(),
        }
    }

    /// Remembers that `request` is always allowed, or always refused. Returns the ids of the rules that say so: one
    /// for each part of the request, a known one if it was remembered before. Nothing is kept on error.
    pub fn remember(
        &mut self,
        request: &Request,
        allow: bool,
        scope: Scope,
    ) -> Result<Vec<u64>, NotRememberable> {
        let rules = self.can_remember(request, allow, scope)?;
        let ids = rules.into_iter().map(|rule| {
            self.known(&rule, allow, scope).unwrap_or_else(|| {
                self.last_id += 1;
                let id = self.last_id;
                self.rules.push(RememberedRule {
                    id,
                    scope,
                    allow,
                    rule,
                });
                id
            })
        });
        Ok(ids.collect())
    }

    /// The rules that [`remember`](Self::remember) would keep, or why it would not.
    pub fn can_remember(
        &self,
        request: &Request,
        allow: bool,
        scope: Scope,
    ) -> Result<Vec<Rule>, NotRememberable> {
        if scope == Scope::Daemon {
            return Err(NotRememberable::Scope);
        }
        let rules = rules_for(request, allow)?;
        let is_new = |rule: &&Rule| self.known(rule, allow, scope).is_none();
        if self.rules.len() + rules.iter().filter(is_new).count() > REMEMBERED_RULES {
            return Err(NotRememberable::Full);
        }
        Ok(rules)
    }

    /// The id under which a rule is known.
    fn known(&self, rule: &Rule, allow: bool, scope: Scope) -> Option<u64> {
        let same =
            |known: &&RememberedRule| known.scope == scope && known.allow == allow && known.rule == *rule;
        self.rules.iter().find(same).map(|known| known.id)
    }

    /// Takes one that was remembered before, out of the log.
    pub fn restore(&mut self, rule: RememberedRule) {
        self.last_id = self.last_id.max(rule.id);
        self.rules.push(rule);
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &RememberedRule> {
        self.rules.iter()
    }

    /// Takes one back; `None` if there is none with this id.
    pub fn revoke(&mut self, id: u64) -> Option<RememberedRule> {
        let at = self.rules.iter().position(|rule| rule.id == id)?;
        Some(self.rules.remove(at))
    }

    /// The agent's session is over, and with it what held for it.
    pub fn end_session(&mut self) {
        self.rules.retain(|rule| rule.scope != Scope::Session);
    }
}

/// Rules that are about exactly this request.
fn rules_for(request: &Request, allow: bool) -> Result<Vec<Rule>, NotRememberable> {
    let mut rules: Vec<Rule> = Vec::new();
    for subject in &request.subjects {
        let rule = rule_for(subject, request, allow).ok_or_else(|| NotRememberable::NoRule {
            subject: subject.to_string(),
        })?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    Ok(rules)
}

fn rule_for(subject: &Subject, request: &Request, allow: bool) -> Option<Rule> {
    let text = match subject {
        Subject::Command(command) => {
            let static_words = !command.words.is_empty() && command.words.iter().all(|word| !word.dynamic);
            let mut words: Vec<_> = static_words
                .then(|| command.words.iter().map(|word| quoted(&word.text)))?
                .collect();
            // An answer about a link is about the program that it leads to.
            if let Some(program) = command
                .program
                .as_ref()
                .filter(|program| program.path != program.by_name())
            {
                words[0] = quoted(program.path.as_ref()?);
            }
            format!("Bash({})", words.join(" "))
        }
        Subject::File { access, path } => {
            let tool = match access {
                Access::Read => "Read",
                Access::Search => "Search",
                Access::Edit => "Edit",
                Access::Delete => "Delete",
                Access::Move => "Move",
            };
            format!("{tool}({})", escaped(path.as_ref()?))
        }
        Subject::Fetch(url) => format!("WebFetch({})", url.as_ref().filter(|url| !url.contains('*'))?),
        Subject::Mcp { name, tool_known } => (*tool_known && !name.contains('*')).then(|| name.clone())?,
        Subject::Tool(Kind::Think) => "Think".to_owned(),
        Subject::Tool(kind) if *kind != Kind::SwitchMode => {
            let name = request.tool_name.as_ref().filter(|name| !name.contains('*'))?;
            format!("Tool({name})")
        }
        // Into which mode is the agent's to say: an answer for good would be about all of them.
        Subject::Tool(_)
        | Subject::Unreadable { .. }
        | Subject::Redirect(_)
        | Subject::Reserved(_)
        | Subject::Unknown => {
            return None;
        }
    };
    let rule = (text.len() <= RULE_BYTES)
        .then(|| Rule::parse(&text).ok())
        .flatten()?;
    // A rule that does not even do what was just answered would be a promise not kept.
    let effect = if allow { Effect::Allow } else { Effect::Deny };
    let mut policy = Policy::default();
    if allow {
        &mut policy.allow
    } else {
        &mut policy.deny
    }
    .push(rule.clone());
    let layers = Layers {
        thread: Some(&policy),
        ..Layers::default()
    };
    let one = Request {
        subjects: vec![subject.clone()],
        ..request.clone()
    };
    (layers.decide(&one).effect == effect).then_some(rule)
}
