//! Layers of policies, and their decisions about requests.
//!
//! The crate documentation describes the order of decision. Policies and remembered answers are borrowed for the
//! duration of a decision.

use std::collections::BTreeSet;

use acpd_model::text::shorten;
use serde::Serialize;

use super::matching::{Match, matches};
use super::preset::{Effect, List, Policy, Preset};
use super::remembered::{Remembered, RememberedRule};
use super::request::Request;
use super::rule::{About, Rule, Specificity};
use super::scope::Scope;
use super::subject::{Access, Kind, Subject};

/// Programs that permission rules name by path and that are resolved for one request.
const RULE_PROGRAMS: usize = 512;

/// All policies and remembered answers that apply to a thread.
#[derive(Debug, Clone, Default)]
pub struct Layers<'a> {
    /// Policy of the daemon.
    pub daemon: Option<&'a Policy>,
    /// Policy of the thread's agent.
    pub agent: Option<&'a Policy>,
    /// Policy of the thread.
    pub thread: Option<&'a Policy>,
    /// Remembered answers from all places where they are stored. Each applies in its own scope.
    pub remembered: Vec<&'a Remembered>,
}

/// The result for a request, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Whether the request is allowed, denied, or needs an answer.
    pub effect: Effect,
    /// The part of the request that was decisive, as users see it.
    pub subject: String,
    /// Scope of the deciding rule or default; `None` if no policy has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The preset that contains the rule or default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// The list that contains the rule; `None` for a default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<List>,
    /// The deciding rule; `None` for a default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The id of the remembered answer that the rule comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remembered: Option<u64>,
    /// One sentence for the user.
    pub reason: String,
}

/// A rule that matches, or may match, a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchedRule {
    /// Scope of the rule.
    pub scope: Scope,
    /// The preset that contains the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// The id of the remembered answer that the rule comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remembered: Option<u64>,
    /// The list that contains the rule.
    pub list: List,
    /// The text of the rule.
    pub rule: String,
    /// Whether the rule matches, or may match.
    pub matched: Match,
    /// How narrow the rule is.
    pub specificity: Specificity,
    /// Whether this rule decided about the subject.
    pub decided: bool,
}

/// The explanation of the decision about one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectExplanation {
    /// The result for the subject, with the reason.
    pub decision: Decision,
    /// Every rule that matches or may match: innermost layer first, deny before ask before allow.
    pub rules: Vec<MatchedRule>,
}

/// The explanation of the decision about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The result for the request, with the reason.
    pub decision: Decision,
    /// The explanation for each part of the request.
    pub subjects: Vec<SubjectExplanation>,
}

/// A rule in its list, with the remembered answer that it comes from, if any.
type Listed<'a> = (List, &'a Rule, Option<&'a RememberedRule>);

/// One set of lists. Sources are evaluated from the innermost to the outermost.
struct Source<'a> {
    scope: Scope,
    preset: Option<Preset>,
    rules: Vec<Listed<'a>>,
    default: Option<Effect>,
}

/// A rule that may decide about the current subject.
struct Candidate<'a> {
    source: usize,
    list: List,
    rule: &'a Rule,
    remembered: Option<u64>,
    matched: Match,
    specificity: Specificity,
}

/// The result for one interpretation of all maybes, with the deciding candidate or the source of the default.
#[derive(Clone, Copy)]
struct Verdict {
    effect: Effect,
    by: Option<usize>,
    default: Option<usize>,
}

impl Layers<'_> {
    /// Returns whether there is no policy and no remembered answer.
    pub fn is_empty(&self) -> bool {
        let policies = [self.daemon, self.agent, self.thread];
        policies.iter().all(Option::is_none)
            && self
                .remembered
                .iter()
                .all(|remembered| remembered.iter().next().is_none())
    }

    /// Returns the paths to resolve before the decision: the request's files, the targets of its redirections, and its
    /// programs that are named by a path. If there is such a program, also the programs that rules name by a path.
    pub fn paths(&self, request: &Request) -> Vec<String> {
        let mut paths: BTreeSet<String> = request
            .files()
            .chain(request.programs())
            .chain(request.redirections())
            .map(str::to_owned)
            .collect();
        if request.programs().next().is_some() {
            let (workspace, home) = (&request.workspace, request.home.as_deref());
            let sources = self.sources();
            let rules = sources.iter().flat_map(|source| &source.rules);
            let named = rules.filter_map(|(_, rule, _)| match &rule.about {
                About::Bash(Some(pattern)) => pattern.program(workspace, home),
                _ => None,
            });
            paths.extend(named.take(RULE_PROGRAMS));
        }
        paths.into_iter().collect()
    }

    /// Decides about `request`.
    pub fn decide(&self, request: &Request) -> Decision {
        self.explain(request).decision
    }

    /// Decides about `request`, and returns every rule that was involved.
    pub fn explain(&self, request: &Request) -> Explanation {
        let sources = self.sources();
        let subjects: Vec<_> = request
            .subjects
            .iter()
            .map(|subject| explain_subject(&sources, subject, request))
            .collect();
        let strictest = subjects
            .iter()
            .map(|explained| &explained.decision)
            .reduce(|first, next| {
                // Of two equally strict decisions, prefer the one with a scope over the built-in default.
                let said = first.scope.is_none() && next.scope.is_some();
                if next.effect > first.effect || (next.effect == first.effect && said) {
                    next
                } else {
                    first
                }
            });
        // A request without subjects cannot be created. It would need an answer.
        let decision = strictest.cloned().unwrap_or_else(|| Decision {
            effect: Effect::Ask,
            subject: String::new(),
            scope: None,
            preset: None,
            list: None,
            rule: None,
            remembered: None,
            reason: "nothing is known of what the agent wants to do, so a person is asked".to_owned(),
        });
        Explanation { decision, subjects }
    }

    fn sources(&self) -> Vec<Source<'_>> {
        let mut sources = Vec::new();
        for scope in Scope::ALL {
            let policy = match scope {
                Scope::Session => None,
                Scope::Thread => self.thread,
                Scope::Agent => self.agent,
                Scope::Daemon => self.daemon,
            };
            let mut own = Source {
                scope,
                preset: None,
                rules: policy.map(listed).unwrap_or_default(),
                default: policy.and_then(|policy| policy.default),
            };
            let remembered = self.remembered.iter().flat_map(|remembered| remembered.iter());
            own.rules
                .extend(remembered.filter(|answer| answer.scope == scope).map(|answer| {
                    let list = if answer.allow { List::Allow } else { List::Deny };
                    (list, &answer.rule, Some(answer))
                }));
            // The order of evaluation: deny, ask, allow.
            own.rules.sort_by_key(|(list, ..)| match list {
                List::Deny => 0,
                List::Ask => 1,
                List::Allow => 2,
            });
            sources.push(own);
            if let Some(preset) = policy.and_then(|policy| policy.base) {
                sources.push(Source {
                    scope,
                    preset: Some(preset),
                    rules: listed(preset.policy()),
                    default: preset.policy().default,
                });
            }
        }
        sources
    }
}

fn listed(policy: &Policy) -> Vec<Listed<'_>> {
    let lists = [List::Deny, List::Ask, List::Allow].into_iter();
    lists
        .flat_map(|list| policy.list(list).iter().map(move |rule| (list, rule, None)))
        .collect()
}

fn explain_subject(sources: &[Source<'_>], subject: &Subject, request: &Request) -> SubjectExplanation {
    if let Subject::Reserved(_) = subject {
        return reserved(subject);
    }
    let mut candidates = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        for (list, rule, remembered) in &source.rules {
            let matched = matches(rule, *list, subject, request);
            let holds = remembered.is_none_or(|answer| answer.is_about(subject, request));
            if matched != Match::No && holds {
                candidates.push(Candidate {
                    source: number,
                    list: *list,
                    rule,
                    remembered: remembered.map(|answer| answer.id),
                    matched,
                    specificity: rule.specificity(&request.workspace, request.home.as_deref()),
                });
            }
        }
    }
    // If the strictest and the mildest interpretation of all maybes agree, the maybes are irrelevant.
    let strict = verdict(sources, &candidates, false);
    let mild = verdict(sources, &candidates, true);
    let is_known = strict.effect == mild.effect;
    let by = strict.by.or(if is_known { None } else { mild.by });
    let decision = describe(sources, &candidates, subject, strict, by, is_known);
    let rules = candidates
        .iter()
        .enumerate()
        .map(|(number, candidate)| MatchedRule {
            scope: sources[candidate.source].scope,
            preset: sources[candidate.source].preset,
            remembered: candidate.remembered,
            list: candidate.list,
            rule: candidate.rule.text().to_owned(),
            matched: candidate.matched,
            specificity: candidate.specificity,
            decided: by == Some(number),
        });
    SubjectExplanation {
        decision,
        rules: rules.collect(),
    }
}

/// Denies access to the daemon's own files, regardless of rules.
fn reserved(subject: &Subject) -> SubjectExplanation {
    let decision = Decision {
        effect: Effect::Deny,
        subject: subject.to_string(),
        scope: None,
        preset: None,
        list: None,
        rule: None,
        remembered: None,
        reason: format!("{subject} belongs to acpd itself: no policy opens it to agents"),
    };
    SubjectExplanation {
        decision,
        rules: Vec::new(),
    }
}

/// Decides with one interpretation of every maybe. `mild` treats those of deny and ask as no, and those of allow as
/// yes.
fn verdict(sources: &[Source<'_>], candidates: &[Candidate<'_>], mild: bool) -> Verdict {
    let holds = |candidate: &Candidate<'_>| {
        candidate.matched == Match::Yes || (mild == (candidate.list == List::Allow))
    };
    let by_rule = |effect, by| Verdict {
        effect,
        by: Some(by),
        default: None,
    };
    let of = |list: List, source: Option<usize>| {
        let mut best: Option<usize> = None;
        for (number, candidate) in candidates.iter().enumerate() {
            let here = source.is_none_or(|source| source == candidate.source);
            let better = best.is_none_or(|best| candidate.specificity > candidates[best].specificity);
            if candidate.list == list && here && holds(candidate) && better {
                best = Some(number);
            }
        }
        best
    };
    if let Some(by) = of(List::Deny, None) {
        return by_rule(Effect::Deny, by);
    }
    for source in 0..sources.len() {
        match (of(List::Ask, Some(source)), of(List::Allow, Some(source))) {
            (None, None) => {}
            (Some(ask), Some(allow)) if candidates[allow].specificity > candidates[ask].specificity => {
                return by_rule(Effect::Allow, allow);
            }
            (Some(ask), _) => return by_rule(Effect::Ask, ask),
            (None, Some(allow)) => return by_rule(Effect::Allow, allow),
        }
    }
    let default = sources.iter().position(|source| source.default.is_some());
    Verdict {
        effect: default
            .and_then(|source| sources[source].default)
            .unwrap_or(Effect::Ask),
        by: None,
        default,
    }
}

fn describe(
    sources: &[Source<'_>],
    candidates: &[Candidate<'_>],
    subject: &Subject,
    verdict: Verdict,
    by: Option<usize>,
    is_known: bool,
) -> Decision {
    let candidate = by.map(|by| &candidates[by]);
    let source = candidate
        .map(|candidate| candidate.source)
        .or(verdict.default)
        .map(|source| &sources[source]);
    let effect = if is_known { verdict.effect } else { Effect::Ask };
    let what = subject.to_string();
    let becomes = match effect {
        Effect::Allow => "is allowed",
        Effect::Ask => "needs a person's answer",
        Effect::Deny => "is denied",
    };
    let place = source.map_or(String::new(), |source| match source.preset {
        Some(preset) => format!("preset {} for the {}", preset.name(), source.scope.name()),
        None => format!("policy for the {}", source.scope.name()),
    });
    let reason = match candidate {
        Some(candidate) => {
            let rule = candidate.rule;
            let place = match candidate.remembered {
                Some(id) => format!(
                    "remembered answer {id} for the {}",
                    sources[candidate.source].scope.name()
                ),
                None => place,
            };
            if is_known {
                format!("{what} {becomes} by the rule {rule} of the {place}")
            } else {
                format!("{what} {becomes}: cannot determine whether rule {rule} of the {place} applies")
            }
        }
        None if source.is_some() => {
            format!("{what} {becomes}: no rule matches, and that is the default of the {place}")
        }
        None => format!("{what} {becomes}: no rule matches, and no policy has a default"),
    };
    Decision {
        effect,
        subject: what,
        scope: source.map(|source| source.scope),
        preset: source.and_then(|source| source.preset),
        list: candidate.map(|candidate| candidate.list),
        rule: candidate.map(|candidate| candidate.rule.text().to_owned()),
        remembered: candidate.and_then(|candidate| candidate.remembered),
        reason,
    }
}

/// Longest text of a subject in an explanation, in characters.
const SHOWN: usize = 200;

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |text: &str| shorten(text, SHOWN);
        let path = |path: &Option<String>| path.as_deref().map_or("an unknown file".to_owned(), short);
        match self {
            Self::Command(command) => write!(f, "the command `{}`", short(&command.text())),
            Self::Unreadable {
                text: Some(text),
                why,
            } => write!(f, "the command line `{}`, which {why},", short(text)),
            Self::Unreadable { text: None, why } => write!(f, "a command that {why}"),
            Self::Redirect { path: target, .. } => write!(f, "writing {} by redirection", path(target)),
            Self::File { access, path: file } => {
                let verb = match access {
                    Access::Read => "reading",
                    Access::Search => "searching",
                    Access::Edit => "changing",
                    Access::Delete => "deleting",
                    Access::Move => "moving",
                };
                write!(f, "{verb} {}", path(file))
            }
            Self::Fetch(url) => write!(
                f,
                "fetching {}",
                url.as_deref().map_or("an unknown address".to_owned(), short)
            ),
            Self::Mcp {
                name,
                tool_known: true,
            } => write!(f, "the MCP tool {}", short(name)),
            Self::Mcp { name, .. } => write!(f, "an unknown tool of the MCP server in {}", short(name)),
            Self::Tool(Kind::Think) => f.write_str("thinking"),
            Self::Tool(Kind::SwitchMode) => f.write_str("switching the mode"),
            Self::Tool(_) => f.write_str("a tool of no particular kind"),
            Self::Reserved(path) => write!(f, "the reserved file {}", short(path)),
            Self::Unknown => f.write_str("a tool call of which nothing is known"),
        }
    }
}
