//! Converts an ACP tool call to a request.
//!
//! In: the object of `session/request_permission`, if possible merged with earlier updates of the same call (as the
//! thread's projection stores it). Its kind, raw input, locations, diffs, and the tool's programmatic name are used.
//! Its title, its text content and its id are not.
//!
//! Kind and input are both claims of the agent, so the effects of either are decided on. A `read` with a command line
//! is both a read and a command.

use acpd_model::subject::{CallSubject, Variable};
use acpd_model::{BlobId, RawJson, json};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::bounds::call_id;
use super::call_parts::{diffs_of, locations_of};
use super::claims;
use super::globs;
use super::member_names::{
    COMMANDS, DIRECTORIES, GLOBS, MCP_SERVERS, MCP_TOOLS, MOVES, PATHS, PATTERNS, SEARCHED, URLS,
};
use super::members;
use super::path::normalise;
use super::request::{Form, Request};
use super::shell::Assignment;
use super::subject::{Access, Kind, Subject};
use super::tool_names::{finds_files, kind_by_words, kind_of_name};
use super::variables::is_harmless;

type Object = Map<String, Value>;

impl Request {
    /// Converts the tool call `call` of a thread in the absolute directory `cwd`. Data that cannot be interpreted
    /// become an unknown subject, and never count as harmless.
    pub fn from_tool_call(call: &RawJson, cwd: &str) -> Self {
        Self::from_tool_call_in(call, cwd, cwd)
    }

    /// Like [`Self::from_tool_call`], for an agent whose session is in `base`, which is `workspace` or a directory
    /// inside it.
    pub fn from_tool_call_in(call: &RawJson, workspace: &str, base: &str) -> Self {
        let mut request = Self::empty(workspace);
        if let Some(base) = normalise(base, "/", None) {
            request.base = base;
        }
        if let (Ok(call), Ok(written)) = (call.read::<Object>(), call.read::<Written>()) {
            let input = written.input();
            request.input = input.map(|input| BlobId::of(input.as_bytes()));
            Reading::new(&call, input).fill(&mut request);
            request.call = Some(call_id(&call, request.tool_name()));
            if written.has_two_inputs() {
                request.subjects.push(Subject::Unknown);
            }
        }
        if request.subjects.is_empty() {
            request.subjects.push(Subject::Unknown);
        }
        request
    }
}

/// The input of a call as the agent sent it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(default)]
    raw_input: Option<RawJson>,
    #[serde(default)]
    input: Option<RawJson>,
}

impl Written {
    /// Returns the input that is judged, hashed and shown. A `null` counts as absent.
    fn input(&self) -> Option<&str> {
        self.raw_input.as_ref().or(self.input.as_ref()).map(RawJson::get)
    }

    /// Returns whether the agent sent a second input that differs from the judged one.
    fn has_two_inputs(&self) -> bool {
        let inputs = self.raw_input.as_ref().zip(self.input.as_ref());
        inputs.is_some_and(|(raw, other)| raw.get() != other.get())
    }
}

/// Returns whether a call of `kind` changes nothing, so that presets allow it.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "iterators and options pass references"
)]
fn is_quiet(kind: &Kind) -> bool {
    matches!(kind, Kind::Read | Kind::Search | Kind::Think)
}

struct Reading<'a> {
    call: &'a Object,
    /// The input as the agent sent it.
    written: Option<&'a str>,
    input: Object,
    /// Whether the input is not an object.
    has_odd_input: bool,
    kind: Option<Kind>,
    /// The tool's programmatic name.
    name: Option<&'a str>,
}

impl<'a> Reading<'a> {
    fn new(call: &'a Object, written: Option<&'a str>) -> Self {
        let input = match written.map(json::read) {
            Some(Ok(Value::Object(input))) => Some(input),
            Some(Ok(Value::String(text))) => json::read(&text).ok(),
            None => Some(Object::new()),
            Some(_) => None,
        };
        let meta = call.get("_meta").unwrap_or(&Value::Null);
        let name = [
            &meta["claudeCode"]["toolName"],
            &meta["toolName"],
            &meta["tool_name"],
            call.get("toolName").unwrap_or(&Value::Null),
            call.get("name").unwrap_or(&Value::Null),
        ];
        Self {
            call,
            written,
            has_odd_input: input.is_none(),
            input: input.unwrap_or_default(),
            kind: call.get("kind").and_then(Value::as_str).and_then(Kind::from_acp),
            name: name
                .into_iter()
                .find_map(Value::as_str)
                .filter(|name| !name.is_empty()),
        }
    }

    fn fill(&self, request: &mut Request) {
        request.tool_name = self.name.map(str::to_owned);
        let mcp = self.mcp();
        let is_mcp = mcp.is_some();
        if let Some((mcp, shown)) = mcp {
            request.subjects.push(mcp);
            request.show(shown);
            // Unless the agent declares an MCP call, an input of this form may be anything.
            let sure = self.name.is_some_and(|name| name.starts_with("mcp__"))
                || self
                    .call
                    .get("_meta")
                    .is_some_and(|meta| meta["is_mcp_tool_call"] == true);
            // The input alone may claim anything, so the rest of the call is judged as well.
            let says_more = self.has_command() || !self.diffs().is_empty() || self.kind_by_name().is_some();
            if sure || self.kind.is_none() && !says_more {
                return;
            }
        }
        let named = self.kind_by_name();
        let mut kinds: Vec<Kind> = Vec::new();
        let mut add = |kind: Kind| {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        };
        // "Other" is less specific than a name.
        let kind = self.kind.filter(|kind| *kind != Kind::Other || named.is_none());
        kind.into_iter().chain(named).for_each(&mut add);
        if self.has_command() {
            add(Kind::Execute);
        }
        let has_paths = !self.input_paths(false).is_empty();
        let undetermined = kind.is_none() && named.is_none();
        let changes = [Kind::Edit, Kind::Delete, Kind::Move];
        let said_to_change = kind.or(named).is_some_and(|kind| changes.contains(&kind));
        if !self.diffs().is_empty() && !said_to_change {
            add(Kind::Edit);
        }
        for claimed in claims::kinds(&self.input) {
            // The agent may declare which change it is. That a reading tool reads adds nothing.
            let known = match claimed {
                Kind::Edit | Kind::Delete | Kind::Move => said_to_change,
                Kind::Execute => false,
                _ => !undetermined,
            };
            if !known && (has_paths || !undetermined || claimed == Kind::Execute) {
                add(claimed);
            }
        }
        if self.has_odd_input {
            request.subjects.push(Subject::Unknown);
            request.show(CallSubject::Unknown {
                what: "acpd cannot read the input of the call".to_owned(),
            });
        }
        // A URL is not a subject of reading or searching files.
        let may_fetch = if undetermined {
            !has_paths
        } else {
            kinds.iter().any(is_quiet)
        };
        if may_fetch && claims::named(&self.input, &URLS).next().is_some() {
            kinds.push(Kind::Fetch);
        }
        let says_nothing = self.input.is_empty() && self.name.is_none() && request.subjects.is_empty();
        if kinds == [Kind::Other] && says_nothing {
            return;
        }
        for kind in &kinds {
            self.subjects_of(*kind, request);
        }
        if let Some(input) = self.written {
            request.show_arguments(input);
        }
        request.unknown_members = members::unknown(&kinds, is_mcp, &self.input);
        // Presets allow calls that only read or think, so no member may add an effect.
        if !kinds.is_empty() && kinds.iter().all(is_quiet) && request.has_unknown_members() {
            request.subjects.push(Subject::Unknown);
        }
        request.note_input(&self.input, self.input_paths(false).into_iter().flatten());
    }

    fn kind_by_name(&self) -> Option<Kind> {
        let name = self.name?;
        let by_words = || kind_by_words(name, self.kind.filter(is_quiet)?);
        let kind = kind_of_name(name).or_else(by_words)?;
        // Editing tools can also read, and their input selects the operation.
        let looks = kind == Kind::Edit && claims::only_looks(&self.input);
        Some(if looks { Kind::Read } else { kind })
    }

    fn subjects_of(&self, kind: Kind, request: &mut Request) {
        let access = match kind {
            Kind::Read => Access::Read,
            Kind::Search => Access::Search,
            Kind::Edit => Access::Edit,
            Kind::Delete => Access::Delete,
            Kind::Move => Access::Move,
            Kind::Execute => return self.commands(request),
            Kind::Fetch => return self.urls(request),
            Kind::Think | Kind::SwitchMode | Kind::Other => {
                request.subjects.push(Subject::Tool(kind));
                return request.show(CallSubject::Tool {
                    name: self.name.map(str::to_owned),
                    kind: kind.word().to_owned(),
                    arguments: self.written.map(str::to_owned),
                });
            }
        };
        let mut paths = self.input_paths(kind == Kind::Move);
        if matches!(kind, Kind::Read | Kind::Search) {
            paths.extend(claims::named(&self.input, &SEARCHED).map(Value::as_str));
            let is_ambiguous = paths.iter().flatten().any(|path| globs::is_ambiguous_path(path));
            if is_ambiguous || !self.patterns_stay_inside() {
                paths.push(None);
            }
        }
        // A command's locations are where it runs.
        if self.kind != Some(Kind::Execute) {
            paths.extend(locations_of(self.call).map(Value::as_str));
        }
        paths.extend(self.diffs());
        if paths.iter().any(Option::is_none) {
            request.subjects.push(Subject::File { access, path: None });
        }
        let known: Vec<&str> = paths.iter().copied().flatten().collect();
        if !known.is_empty() || paths.is_empty() {
            request.add_paths(access, known);
        }
    }

    /// Returns whether the patterns of a search match only files in the directory that it names.
    fn patterns_stay_inside(&self) -> bool {
        let finds_files = self.name.is_some_and(finds_files)
            || self.given("target").is_some_and(|target| target == "files");
        let is_one = |name: &&str| PATTERNS.contains(name) && !finds_files;
        let stay = |name: &&str| match self.given(name) {
            None | Some(Value::Bool(false)) => true,
            Some(Value::String(text)) if is_one(name) => globs::stays_inside(text),
            Some(Value::String(text)) => globs::list_stays_inside(text),
            // A list, or what no tool takes.
            Some(_) => false,
        };
        PATTERNS.iter().chain(&GLOBS).all(stay)
    }

    /// Returns a member of the input that is present and not null.
    fn given(&self, key: &str) -> Option<&Value> {
        self.input.get(key).filter(|value| !value.is_null())
    }

    /// Returns the paths of the diffs that the call shows; `None` for a diff without one.
    fn diffs(&self) -> Vec<Option<&'a str>> {
        diffs_of(self.call).map(|diff| diff["path"].as_str()).collect()
    }

    /// Returns the paths that the input names; `None` for a value that is not a string.
    fn input_paths(&self, moved: bool) -> Vec<Option<&str>> {
        let mut paths = Vec::new();
        let moves = if moved { &MOVES[..] } else { &[] };
        for value in claims::named(&self.input, &[&PATHS, moves].concat()) {
            match value {
                Value::Array(items) => {
                    paths.extend(
                        items
                            .iter()
                            .map(|item| item.as_str().or_else(|| item["path"].as_str())),
                    );
                }
                other => paths.push(other.as_str()),
            }
        }
        if let Some(Value::Object(changes)) = self.given("changes") {
            paths.extend(changes.keys().map(|path| Some(path.as_str())));
        }
        paths
    }

    fn urls(&self, request: &mut Request) {
        let mut urls = Vec::new();
        for value in claims::named(&self.input, &URLS) {
            match value {
                Value::Array(items) => urls.extend(items.iter().map(Value::as_str)),
                other => urls.push(other.as_str()),
            }
        }
        if urls.is_empty() {
            urls.push(None);
        }
        let limit = acpd_model::limits::REQUEST_PATHS;
        urls.iter()
            .take(limit)
            .flatten()
            .for_each(|url| request.show_url(url));
        let subjects = urls
            .iter()
            .take(limit)
            .map(|url| Subject::Fetch(url.map(str::to_owned)));
        request.subjects.extend(subjects);
        if urls.len() > limit {
            request.subjects.push(Subject::Fetch(None));
        }
    }

    /// Returns the MCP tool, identified by its name or by an input that names server and tool.
    fn mcp(&self) -> Option<(Subject, CallSubject)> {
        let shown = |server: &str, tool: Option<&str>| CallSubject::Mcp {
            server: server.to_owned(),
            tool: tool.map(str::to_owned),
            arguments: self.written.map(str::to_owned),
        };
        if let Some((name, rest)) = self
            .name
            .and_then(|name| Some((name, name.strip_prefix("mcp__")?)))
        {
            let subject = Subject::Mcp {
                name: name.to_owned(),
                tool_known: true,
            };
            let (server, tool) = rest
                .split_once("__")
                .map_or((rest, None), |(server, tool)| (server, Some(tool)));
            return Some((subject, shown(server, tool)));
        }
        let text = |keys: [&str; 3]| keys.into_iter().find_map(|key| self.given(key)?.as_str());
        let server = text(MCP_SERVERS)?;
        let tool = text(MCP_TOOLS);
        // The server alone is enough only if nothing else is known.
        if tool.is_none() && (self.kind.is_some() || self.name.is_some() || self.has_command()) {
            return None;
        }
        let subject = Subject::Mcp {
            name: format!("mcp__{server}__{}", tool.unwrap_or_default()),
            tool_known: tool.is_some(),
        };
        Some((subject, shown(server, tool)))
    }

    fn has_command(&self) -> bool {
        claims::named(&self.input, &COMMANDS).any(|value| !self.is_editor_word(value))
    }

    /// An operation of a file tool is not a program.
    fn is_editor_word(&self, value: &Value) -> bool {
        matches!(self.kind, Some(Kind::Read | Kind::Edit))
            && self.given("path").is_some()
            && value.as_str().is_some_and(claims::is_operation)
    }

    /// Returns the variables set for a command, for display. A value that is not a string is shown as JSON.
    fn variables(&self) -> Vec<Variable> {
        let env = self.given("env").and_then(Value::as_object);
        env.into_iter()
            .flatten()
            .map(|(name, value)| Variable {
                name: name.clone(),
                value: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            })
            .collect()
    }

    fn commands(&self, request: &mut Request) {
        let unreadable = |why: &str| Subject::Unreadable {
            text: None,
            why: why.to_owned(),
        };
        let mut directories: Vec<_> = claims::named(&self.input, &DIRECTORIES)
            .map(|directory| directory.as_str().map(|cwd| request.cwd(Some(cwd))))
            .collect();
        directories.dedup();
        if directories.len() > 1 || directories.contains(&None) {
            request.subjects.push(unreadable(
                "does not say for certain in which directory it is run",
            ));
        }
        let cwd = directories.into_iter().flatten().next();
        let cwd = cwd.unwrap_or_else(|| request.cwd(None));
        let variables = self.variables();
        if self.given("is_input") == Some(&Value::Bool(true)) {
            request
                .subjects
                .push(unreadable("is typed into a program that runs already"));
        }
        match self.given("env") {
            None => {}
            Some(Value::Object(env)) => {
                let env = env
                    .iter()
                    .map(|(name, value)| Assignment::fixed(name, value.as_str().unwrap_or("/")));
                if !env.into_iter().all(|variable| is_harmless(&variable)) {
                    request
                        .subjects
                        .push(unreadable("is run with variables that may change what it does"));
                }
            }
            Some(_) => request
                .subjects
                .push(unreadable("is run with variables that cannot be read")),
        }
        let args: Option<Vec<String>> = match self.given("args") {
            Some(args) => serde_json::from_value(args.clone()).ok(),
            None => Some(Vec::new()),
        };
        let commands = claims::named(&self.input, &COMMANDS).filter(|value| !self.is_editor_word(value));
        let mut commands = commands.peekable();
        let any = commands.peek().is_some();
        for value in commands.by_ref().take(COMMANDS.len()) {
            let argv: Option<Vec<String>> = match value {
                Value::String(program) => Some(vec![program.clone()]),
                other => serde_json::from_value(other.clone()).ok(),
            };
            // A string is a command line. If a list is expected, its only word may still be a program.
            let form = if value.is_string() && self.given("args").is_none() {
                Form::Line
            } else {
                Form::Unknown
            };
            match (argv, &args) {
                (Some(argv), Some(args)) => {
                    let argv = [argv, args.clone()].concat();
                    request.add_command(&argv, form, Vec::new(), &variables, &cwd);
                }
                _ => request
                    .subjects
                    .push(unreadable("has a form that cannot be read")),
            }
        }
        if commands.next().is_some() {
            request.subjects.push(unreadable("is given more than once"));
        }
        if claims::has_code(&self.input) {
            request
                .subjects
                .push(unreadable("has a form that cannot be read"));
        } else if !any {
            request.subjects.push(unreadable("is not told by the agent"));
        }
    }
}
