//! Makes rules of a user's answer.
//!
//! In: a request and a user's answer. Out: rules that match nothing else.

use std::fmt;

use acpd_model::limits::{REMEMBERED_RULES, RULE_BYTES};
use acpd_model::text::shorten;

use super::bounds::{self, Bounds};
use super::decide::Layers;
use super::path::escaped;
use super::preset::Effect;
use super::remembered::{Remembered, RememberedRule};
use super::request::Request;
use super::rule::Rule;
use super::scope::Scope;
use super::shell::quoted;
use super::subject::{Access, Kind, Program, Subject};

/// Longest name in an error, in characters.
const NAMED_CHARS: usize = 200;

/// Why an answer cannot be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRememberable {
    /// No rule matches exactly this request.
    NoRule {
        /// The part of the request.
        subject: String,
    },
    /// A program is named by a path that could not be resolved.
    Program {
        /// The path, as the command names it.
        program: String,
    },
    /// The list already has [`REMEMBERED_RULES`] rules.
    Full,
    /// Answers can only be remembered for a session, a thread or an agent.
    Scope,
}

impl fmt::Display for NotRememberable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRule { subject } => {
                write!(f, "no rule can be about exactly {subject}")
            }
            Self::Program { program } => {
                write!(f, "cannot resolve the program {}", shorten(program, NAMED_CHARS))
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

impl Remembered {
    /// Remembers that `request` is always allowed or always denied. Returns the ids of the rules, one for each part of
    /// the request; a rule that already existed keeps its id. After an error, nothing is stored.
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

    /// Returns a description of what a remembered answer to `request` would apply to, or why neither answer can be
    /// remembered.
    pub fn would_hold_for(&self, request: &Request, scope: Scope) -> Result<String, NotRememberable> {
        for allow in [true, false] {
            self.rules_for(request, allow, scope)?;
        }
        Ok(bounds::in_words(request))
    }

    /// Returns the rules that [`remember`](Self::remember) would store, or why it would fail.
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

    /// Returns the id of the rule, if it is already stored.
    fn known(&self, kept: &Kept, allow: bool, scope: Scope) -> Option<u64> {
        let same = |known: &&RememberedRule| {
            (known.scope, known.allow) == (scope, allow)
                && (&known.rule, &known.bounds) == (&kept.rule, &kept.bounds)
        };
        self.rules.iter().find(same).map(|known| known.id)
    }
}

/// A rule for a part of a request, with its bounds.
#[derive(PartialEq)]
struct Kept {
    rule: Rule,
    bounds: Bounds,
}

/// Returns rules that match exactly this request.
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

/// Returns the rule for `subject`, which is the only one of `request`.
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
    // The rule must have the effect that the user selected; otherwise it must not be stored.
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

/// Returns the text of the rule for a part; `None` if there is none.
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
            // By its absolute path, since the name alone would mean another file in another directory.
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
        // The agent selects the mode, so a remembered answer would apply to all modes.
        Subject::Tool(_)
        | Subject::Unreadable { .. }
        | Subject::Redirect { .. }
        | Subject::Reserved(_)
        | Subject::Unknown => None,
    })
}
