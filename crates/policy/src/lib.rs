//! The permission policy: whether an agent's request is allowed, denied, or needs a user's answer.
//!
//! In: policies (configuration), remembered answers, and a [`Request`], which describes a tool call, a file access or a
//! command. Out: a [`Decision`] that names the deciding rule, or an [`Explanation`] with every rule that was involved.
//! Owns: no state. Never: reads a tool call's title, asks the user, or accesses a file; the caller does that.
//!
//! # Links
//!
//! In this crate, a path is text. A caller that can access files resolves each path ([`RealPaths`]). A file that is
//! named by a link, also as the target of a redirection, then becomes two subjects: its name, and the target of the link ([`Request::with_real_paths`]). A
//! program that is named by a path is the file that the path leads to. A rule that names a program by a path means the
//! file that this path leads to, so both are resolved ([`Layers::paths`]).
//!
//! # How a decision is made
//!
//! A request is split into [`Subject`]s: each simple command of a command line, each file that it writes by a
//! redirection, and each path, URL or MCP tool. Each subject is decided separately, and the strictest decision applies
//! to the request. So a compound command is allowed only if every part of it is, and several paths only if all of them
//! are. One denied part denies the request.
//!
//! For one subject:
//!
//! 1. A **deny** rule that matches, in any layer, preset or remembered answer, denies.
//! 2. Otherwise the **innermost** layer with a matching ask or allow rule decides: the session's remembered answers,
//!    then thread, agent, daemon. Within a layer, its own lists (and remembered answers of that scope) come before the
//!    preset that it is based on. Among the rules of one such set of lists, the **most specific** wins
//!    ([`Specificity`]). If ask and allow are equally specific, ask wins.
//! 3. Otherwise the **default** of the innermost layer that has one applies, and without any, ask.
//!
//! # Reach
//!
//! A deny or ask rule matches more than the same text as an allow rule, because a missed denial costs more than a
//! question:
//!
//! | | as allow | as deny or ask |
//! |---|---|---|
//! | `Bash(./x *)` | the program is that file, whatever the directory | also `x` by any other path, and links to it |
//! | `Bash(rm *)` | the command word is `rm` | also `/bin/rm`, and `rm` run by `sudo`, `xargs`, `find -exec` … |
//! | `Edit(p)` | kind edit, and a redirection into `p` | also delete and move |
//! | `Read(p)` | kinds read and search | also a redirection from `p` |
//! | `WebFetch(domain:d)` | the host `d` | also its subdomains; an address of the local host matches any other one |
//! | `Tool(x)` | the kinds think, switch mode and other | every call of the tool |
//! | `~/p` with an unknown home | nothing | `p` below any directory |
//!
//! # Uncertain matches
//!
//! A match has three values. "Maybe" is for requests that cannot be analyzed: a command line with `eval`, or a path
//! that the agent did not send. If a rule's maybe changes the outcome, the user is asked. So a Bash rule, with or
//! without a pattern, never allows an unreadable command, and such a command cannot bypass a deny rule. Only `*`, or a
//! default, allows such a command.

mod address;
mod bounds;
mod builtins;
mod call_parts;
mod call_text;
mod claims;
mod command_line;
mod command_words;
mod decide;
mod globs;
mod matching;
mod member_names;
mod members;
mod path;
mod pattern;
mod preset;
mod problem;
mod remember;
mod remembered;
mod request;
mod rule;
mod scope;
mod shell;
mod shown;
mod shown_texts;
mod subject;
mod texts;
mod tool_call;
mod tool_names;
mod variables;
mod words;
mod wrapper;

pub use bounds::Bounds;
pub use call_text::{call_command, call_title};
pub use decide::{Decision, Explanation, Layers, MatchedRule, SubjectExplanation};
pub use matching::Match;
pub use path::normalise;
pub use preset::{Effect, List, Policy, Preset};
pub use problem::Problem;
pub use remember::NotRememberable;
pub use remembered::{AGENT_IDS, Remembered, RememberedRule};
pub use request::{Form, RealPaths, Request};
pub use rule::{Rule, RuleError, Specificity};
pub use scope::Scope;
pub use shell::shell_line;
pub use subject::{Access, Kind, Subject};
pub use texts::{FileText, ShownChange};
pub use words::{PartInWords, in_lines, in_one_line, part_in_words};
pub use wrapper::is_shell;
