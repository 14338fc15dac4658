//! Answers that hold for good: "always allow", "always refuse".
//!
//! A request and a person's answer come in; rules narrow enough to be about nothing else come out, and are kept with
//! the scope the person chose. They can be listed and taken back one by one.

use std::fmt;

use acpd_model::limits::{REMEMBERED_RULES, RULE_BYTES};
use acpd_model::text::shorten;
use serde::{Deserialize, Serialize};

use super::bounds::{self, Bounds};
use super::command_line::Program;
use super::decide::{Layers, Scope};
use super::path::escaped;
use super::preset::Effect;
use super::request::{Access, Kind, Request, Subject};
use super::rule::{About, Rule};
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
    /// With what it holds.
    #[serde(flatten)]
    pub bounds: Bounds,
}

impl RememberedRule {
    pub(super) fn is_about(&self, subject: &Subject, request: &Request) -> bool {
        self.bounds.hold(self.allow, subject, request)
    }

    /// The answer as it holds now, if it does: one that allows commands and was remembered before answers had a directory
    /// holds in the directory `cwd`, and one without the arguments or the call that it was given for is asked again.
    /// Refusals stay.
    #[must_use]
    pub fn narrowed(mut self, cwd: Option<&str>) -> Option<Self> {
        if !self.allow {
            return Some(self);
        }
        match self.rule.about {
            About::Bash(_) if self.bounds.cwd.is_none() => {
                self.bounds.cwd = Some(cwd?.to_owned());
            }
            About::Mcp(_) | About::Named(_) | About::Think | About::Move(_)
                if self.bounds.arguments.is_none() =>
            {
                return None;
            }
            _ => {}
        }
        let is_bound = self.bounds.arguments.is_some() == self.bounds.call.is_some();
        is_bound.then_some(self)
    }
}

/// A list of answers, kept wherever its scope lives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    last_id: u64,
    rules: Vec<RememberedRule>,
}

/// So many characters of a name stand in an error.
const NAMED_CHARS: usize = 200;

/// Why an answer cannot be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRememberable {
    /// No rule is about exactly this.
    NoRule {
        /// The part of the request.
        subject: String,
    },
    /// A program is named by a path of which it cannot be told where it leads.
    Program {
        /// As it is named.
        program: String,
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
            Self::Program { program } => write!(
                f,
                "it cannot be told which file the program {} is",
                shorten(program, NAMED_CHARS)
            ),
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
        let rules = self.rules_for(request, allow, scope)?;
        let ids = rules.into_iter().map(|kept| {
            self.known(&kept, allow, scope).unwrap_or_else(|| {
                self.last_id += 1;
                let id = self.last_id;
                let Kept { rule, bounds } = kept;
                self.rules.push(RememberedRule {
                    id,
                    scope,
                    allow,
                    rule,
                    bounds,
                });
                id
            })
        });
        Ok(ids.collect())
    }

    /// Whether an answer to `request` can be remembered, whichever it is; if so, what it would hold for, in words.
    pub fn would_hold_for(&self, request: &Request, scope: Scope) -> Result<String, NotRememberable> {
        for allow in [true, false] {
            self.rules_for(request, allow, scope)?;
        }
        Ok(bounds::in_words(request))
    }

    /// The rules that [`remember`](Self::remember) would keep, or why it would not.
    fn rules_for(&self, request: &Request, allow: bool, scope: Scope) -> Result<Vec<Kept>, NotRememberable> {
        if scope == Scope::Daemon {
            return Err(NotRememberable::Scope);
        }
        let rules = rules_for(request, allow)?;
        let is_new = |kept: &&Kept| self.known(kept, allow, scope).is_none();
        if self.rules.len() + rules.iter().filter(is_new).count() > REMEMBERED_RULES {
            return Err(NotRememberable::Full);
        }
        Ok(rules)
    }

    /// The id under which a rule is known.
    fn known(&self, kept: &Kept, allow: bool, scope: Scope) -> Option<u64> {
        let same = |known: &&RememberedRule| {
            (known.scope, known.allow) == (scope, allow)
                && (&known.rule, &known.bounds) == (&kept.rule, &kept.bounds)
        };
        self.rules.iter().find(same).map(|known| known.id)
    }

    /// Takes one that was remembered before, out of the log of a thread in the directory `cwd`.
    pub fn restore(&mut self, rule: RememberedRule, cwd: &str) {
        self.last_id = self.last_id.max(rule.id);
        self.rules.extend(rule.narrowed(Some(cwd)));
    }

    /// The answers as they hold now, and how many of an earlier version hold no longer and are asked again.
    #[must_use]
    pub fn narrowed(mut self) -> (Self, usize) {
        let before = self.rules.len();
        let rules = std::mem::take(&mut self.rules).into_iter();
        self.rules = rules.filter_map(|rule| rule.narrowed(None)).collect();
        let dropped = before - self.rules.len();
        (self, dropped)
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

/// A rule that is about a part of a request, with what it is bound to.
#[derive(PartialEq)]
struct Kept {
    rule: Rule,
    bounds: Bounds,
}

/// Rules that are about exactly this request.
fn rules_for(request: &Request, allow: bool) -> Result<Vec<Kept>, NotRememberable> {
    let mut rules: Vec<Kept> = Vec::new();
    let mut one = request.without_parts();
    for subject in &request.subjects {
        if rules.len() > REMEMBERED_RULES {
            return Err(NotRememberable::Full);
        }
        one.subjects = vec![subject.clone()];
        let kept = kept_for(subject, &one, allow)?;
        if !rules.contains(&kept) {
            rules.push(kept);
        }
    }
    Ok(rules)
}

/// The rule for `subject`, which is all of `request`.
fn kept_for(subject: &Subject, request: &Request, allow: bool) -> Result<Kept, NotRememberable> {
    let no_rule = || NotRememberable::NoRule {
        subject: subject.to_string(),
    };
    let text = rule_text(subject, request)?.ok_or_else(no_rule)?;
    let rule = (text.len() <= RULE_BYTES)
        .then(|| Rule::parse(&text).ok())
        .flatten()
        .ok_or_else(no_rule)?;
    let bounds = Bounds::of(subject, request).ok_or_else(no_rule)?;
    let kept = RememberedRule {
        id: 0,
        scope: Scope::Thread,
        allow,
        rule,
        bounds,
    };
    // A rule that does not even do what was just answered would be a promise not kept.
    let effect = if allow { Effect::Allow } else { Effect::Deny };
    let answers = Remembered {
        last_id: 0,
        rules: vec![kept],
    };
    let layers = Layers {
        remembered: vec![&answers],
        ..Layers::default()
    };
    if layers.decide(request).effect != effect {
        return Err(no_rule());
    }
    let RememberedRule { rule, bounds, .. } = answers.rules.into_iter().next().ok_or_else(no_rule)?;
    Ok(Kept { rule, bounds })
}

/// The text of the rule that is about a part; `None` if there is none.
fn rule_text(subject: &Subject, request: &Request) -> Result<Option<String>, NotRememberable> {
    Ok(match subject {
        Subject::Command(command) => {
            let Some(program) = command
                .words
                .first()
                .filter(|_| command.words.iter().all(|word| !word.dynamic))
            else {
                return Ok(None);
            };
            // By its absolute path: by the name alone it would be another file in another directory.
            let program = match &command.program {
                Some(Program { path: Some(path), .. }) => path.as_str(),
                Some(_) => {
                    let program = program.text.clone();
                    return Err(NotRememberable::Program { program });
                }
                None => program.text.as_str(),
            };
            let arguments = command.words.iter().skip(1).map(|word| quoted(&word.text));
            let words: Vec<_> = std::iter::once(quoted(program)).chain(arguments).collect();
            Some(format!("Bash({})", words.join(" ")))
        }
        Subject::File { access, path } => {
            let tool = match access {
                Access::Read => "Read",
                Access::Search => "Search",
                Access::Edit => "Edit",
                Access::Delete => "Delete",
                Access::Move => "Move",
            };
            path.as_ref().map(|path| format!("{tool}({})", escaped(path)))
        }
        Subject::Fetch(url) => {
            let url = url.as_ref().filter(|url| !url.contains('*'));
            url.map(|url| format!("WebFetch({url})"))
        }
        Subject::Mcp { name, tool_known } => (*tool_known && !name.contains('*')).then(|| name.clone()),
        Subject::Tool(Kind::Think) if request.tool_name.is_none() => Some("Think".to_owned()),
        Subject::Tool(kind) if *kind != Kind::SwitchMode => {
            let name = request.tool_name.as_ref().filter(|name| !name.contains('*'));
            name.map(|name| format!("Tool({name})"))
        }
        // Into which mode is the agent's to say: an answer for good would be about all of them.
        Subject::Tool(_)
        | Subject::Unreadable { .. }
        | Subject::Redirect(_)
        | Subject::Reserved(_)
        | Subject::Unknown => None,
    })
}
