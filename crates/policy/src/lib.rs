//! The permission policy: may an agent do this, must a person be asked, or is it refused?
//!
//! In come policies (configuration), remembered answers, and a [`Request`]: what is known of a tool call, a file
//! access or a command. Out comes a [`Decision`] that names the rule that made it, or an [`Explanation`] with
//! every rule that had a say. It owns no state but what it is given, and it never looks at a tool call's title,
//! asks anybody, or touches a file: whoever acts on a decision does.
//!
//! # Links
//!
//! A path is text here. Who can look at files says where each path leads ([`RealPaths`]), and then a file that is
//! named by a link is two subjects: its name, and what the name leads to ([`Request::with_real_paths`]). A program that is
//! named by a path is the file that the path leads to; a rule that names a program by a path means the file that this
//! path leads to, so both are looked up ([`Layers::paths`]).
//!
//! # How a decision is made
//!
//! A request is taken apart into [`Subject`]s: each simple command of a command line, each file it writes by a
//! redirection, each path, URL or MCP tool. Each is decided by itself, and the strictest of these decisions is the
//! request's. So a compound command is allowed only if every part of it is, and several paths only if all are; one
//! part that is denied denies all of it.
//!
//! For one subject:
//!
//! 1. a **deny** rule that matches, in any layer, preset or remembered answer, denies;
//! 2. else the **innermost** layer that has a matching ask or allow rule decides: the session's remembered answers,
//!    then thread, agent, daemon. Within a layer its own lists (and remembered answers of that scope) come before the
//!    preset it is based on; among the rules of one such list set the **most specific** wins ([`Specificity`]),
//!    and where ask and allow are equally specific, ask does;
//! 3. else the **default** of the innermost layer that names one, and else ask.
//!
//! # Reach
//!
//! A deny or ask rule reaches further than the same text as an allow rule, because the errors differ in price:
//!
//! | | as allow | as deny or ask |
//! |---|---|---|
//! | `Bash(./x *)` | the program is that file, whatever the directory | also `x` by any other path, and links to it |
//! | `Bash(rm *)` | the command word is `rm` | also `/bin/rm`, and `rm` behind `sudo`, `xargs`, `find -exec` … |
//! | `Edit(p)` | kind edit | also delete, move, and a redirection into `p` |
//! | `Read(p)` | kinds read and search | also a redirection from `p` |
//! | `WebFetch(domain:d)` | the host `d` | also its subdomains; an address of this machine is any of them |
//! | `Tool(x)` | the kinds think, switch mode and other | every call of the tool |
//! | `~/p` with no home known | nothing | `p` below any directory |
//!
//! # When it cannot be told
//!
//! A match has three values. "Maybe" is for what cannot be read: a command line with `eval`, a path that the agent
//! did not give. If a rule's maybe makes a difference to the outcome, a person is asked. So a Bash rule, bare or with
//! a pattern, never allows a command that cannot be read, and a deny rule that may have been meant for it cannot be
//! slipped past; only `*`, or a default, lets such a command through.

mod address;
mod bounds;
mod builtins;
mod claims;
mod command_line;
mod command_words;
mod decide;
mod matching;
mod member_names;
mod members;
mod path;
mod pattern;
mod preset;
mod remembered;
mod request;
mod rule;
mod shell;
mod shown;
mod texts;
mod tool_call;
mod tool_names;
mod variables;
mod words;
mod wrapper;

pub use bounds::Bounds;
pub use decide::{Decision, Explanation, Layers, MatchedRule, Scope, SubjectExplanation};
pub use matching::Match;
pub use path::normalise;
pub use preset::{Effect, List, Policy, Preset};
pub use remembered::{AGENT_IDS, NotRememberable, Remembered, RememberedRule};
pub use request::{Access, Form, Kind, RealPaths, Request, Subject};
pub use rule::{Problem, Rule, RuleError, Specificity};
pub use shell::shell_line;
pub use texts::{FileText, ShownChange};
pub use words::{PartInWords, in_lines, in_one_line, part_in_words};
pub use wrapper::is_shell;
