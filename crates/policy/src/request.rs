//! What is decided on: a request of an agent, taken apart into subjects.
//!
//! What is known of a tool call, a file access or a command comes in; subjects come out. A title, or any other text
//! that is meant for people, is never part of it.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::limits::REQUEST_PATHS;
use acpd_model::subject::{CallSubject, Variable};
use acpd_model::{BlobId, Failure};

use super::command_line::{self, Command};
use super::path::{absolute, below, climbs, normalise};
use super::shell::Assignment;
use super::texts::{FileText, InputTexts};

/// ACP's tool kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are ACP's")]
pub enum Kind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

impl Kind {
    /// Reads ACP's word; one that ACP does not have is `None`.
    pub fn from_acp(word: &str) -> Option<Self> {
        Some(match word {
            "read" => Self::Read,
            "edit" => Self::Edit,
            "delete" => Self::Delete,
            "move" => Self::Move,
            "search" => Self::Search,
            "execute" => Self::Execute,
            "think" => Self::Think,
            "fetch" => Self::Fetch,
            "switch_mode" => Self::SwitchMode,
            "other" => Self::Other,
            _ => return None,
        })
    }

    /// ACP's word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::SwitchMode => "switch_mode",
            Self::Other => "other",
        }
    }
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// Files are looked for, or through.
    Search,
    /// It is made or changed.
    Edit,
    /// It is deleted.
    Delete,
    /// It is moved or renamed, or something is moved onto it.
    Move,
}

/// How the command of a `terminal/create` that has no arguments is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It names a program, blanks and all.
    Program,
    /// It is a line for `/bin/sh`.
    Line,
    /// An editor runs it as it likes.
    Unknown,
}

/// One thing that is decided by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A simple command, wrappers such as `env` and `sh -c` taken off.
    Command(Command),
    /// A command line, or a piece of one, that cannot be read.
    Unreadable {
        /// As it was written; `None` if the agent did not say what it wants to run.
        text: Option<String>,
        /// Goes on from "the command …".
        why: String,
    },
    /// A command line writes this file by redirection; `None` if it cannot be told which.
    Redirect(Option<String>),
    /// A file; its path absolute, `None` if it is not known.
    File {
        /// What is done with it.
        access: Access,
        /// Absolute and normalised.
        path: Option<String>,
    },
    /// An address is fetched; `None` if it is not known.
    Fetch(Option<String>),
    /// A tool of an MCP server is called.
    Mcp {
        /// Its name in rules, `mcp__server__tool`; if the tool is not known, `mcp__server__`.
        name: String,
        /// Whether the tool is known.
        tool_known: bool,
    },
    /// A tool of the kinds think, switch mode, other.
    Tool(Kind),
    /// A file of the daemon itself, by the name that the agent gave it.
    Reserved(String),
    /// Nothing is known that tells what it is.
    Unknown,
}

impl Subject {
    /// Whether it is known exactly, so that two that are equal are the same thing.
    pub fn is_certain(&self) -> bool {
        !matches!(
            self,
            Self::Unknown
                | Self::Unreadable { .. }
                | Self::Redirect(None)
                | Self::File { path: None, .. }
                | Self::Fetch(None)
        )
    }
}

/// Where paths lead, symbolic links followed. Whoever can look at files finds it out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RealPaths {
    /// The real name of each path that was asked about, or why it cannot be told.
    pub paths: BTreeMap<String, Result<String, Failure>>,
    /// Which of the paths lead to the daemon's own files.
    pub reserved: BTreeSet<String>,
    /// Directories with two names: as the thread names them, and their real ones.
    pub roots: Vec<(String, String)>,
}

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub(super) subjects: Vec<Subject>,
    /// The same for people.
    pub(super) shown: Vec<CallSubject>,
    /// What files will contain, as far as the question shows it.
    pub(super) texts: Vec<FileText>,
    /// Until the changes are shown: what the input says of texts.
    pub(super) input_texts: InputTexts,
    /// Files as they were named: absolute, and otherwise as they came.
    pub(super) named: Vec<(Access, String)>,
    /// Directories with two names: as the thread names them, and their real ones.
    pub(super) roots: Vec<(String, String)>,
    /// Where the programs really are that rules name by a path.
    pub(super) programs: BTreeMap<String, String>,
    pub(super) tool_name: Option<String>,
    /// The input of the call as it was written.
    pub(super) input: Option<BlobId>,
    /// The rest of the call beside its input ([`Bounds::call`](super::Bounds)).
    pub(super) call: Option<BlobId>,
    /// Members of the input that say nothing to acpd.
    pub(super) unknown_members: Vec<String>,
    pub(super) workspace: String,
    /// The directory that paths and commands start from: the workspace's own, or one in it.
    pub(super) base: String,
    pub(super) home: Option<String>,
}

impl Request {
    /// A request about nothing yet; `workspace` is the absolute directory that relative patterns and paths start
    /// from.
    pub(super) fn empty(workspace: &str) -> Self {
        let workspace = normalise(workspace, "/", None).unwrap_or_else(|| "/".to_owned());
        Self {
            subjects: Vec::new(),
            shown: Vec::new(),
            texts: Vec::new(),
            input_texts: InputTexts::default(),
            named: Vec::new(),
            roots: Vec::new(),
            programs: BTreeMap::new(),
            tool_name: None,
            input: None,
            call: None,
            unknown_members: Vec::new(),
            base: workspace.clone(),
            workspace,
            home: None,
        }
    }

    /// `fs/read_text_file` of `path`.
    pub fn read_file(path: &str, workspace: &str) -> Self {
        Self::file(Access::Read, path, workspace)
    }

    /// `fs/write_text_file` of `path`.
    pub fn write_file(path: &str, workspace: &str) -> Self {
        Self::file(Access::Edit, path, workspace)
    }

    /// An access to one file.
    pub fn file(access: Access, path: &str, workspace: &str) -> Self {
        let mut request = Self::empty(workspace);
        request.add_paths(access, [path]);
        request
    }

    /// A shell's command line, run in `workspace`.
    pub fn command_line(line: &str, workspace: &str) -> Self {
        let mut request = Self::empty(workspace);
        let cwd = request.workspace.clone();
        request.add_command(&[line.to_owned()], Form::Line, Vec::new(), &[], &cwd);
        request
    }

    /// `terminal/create`: a program with its arguments, the variables set for it, and the directory it runs in, if
    /// that is not `workspace`. `form` says what a command without arguments is.
    pub fn terminal(
        command: &str,
        args: &[String],
        form: Form,
        env: &[(String, String)],
        cwd: Option<&str>,
        workspace: &str,
    ) -> Self {
        let mut request = Self::empty(workspace);
        let cwd = request.cwd(cwd);
        let variables: Vec<_> = env
            .iter()
            .map(|(name, value)| Variable {
                name: name.clone(),
                value: value.clone(),
            })
            .collect();
        let env: Vec<_> = env
            .iter()
            .map(|(name, value)| Assignment::fixed(name, value))
            .collect();
        let argv: Vec<String> = std::iter::once(command.to_owned())
            .chain(args.iter().cloned())
            .collect();
        let form = if args.is_empty() { form } else { Form::Program };
        request.add_command(&argv, form, env, &variables, &cwd);
        request
    }

    /// The tool `tool` of the MCP server `server`.
    pub fn mcp(server: &str, tool: &str, workspace: &str) -> Self {
        let mut request = Self::empty(workspace);
        request.subjects.push(Subject::Mcp {
            name: format!("mcp__{server}__{tool}"),
            tool_known: true,
        });
        request.show(CallSubject::Mcp {
            server: server.to_owned(),
            tool: Some(tool.to_owned()),
            arguments: None,
        });
        request
    }

    /// Says which directory `~` stands for in rules. A path of the request that begins with it stays unknown: what
    /// the agent takes it for is not.
    #[must_use]
    pub fn with_home(mut self, home: &str) -> Self {
        self.home = normalise(home, "/", None);
        self
    }

    /// Files that it is about: absolute, `..` and links still in them. Targets of a command's redirections are not
    /// among them, since the rest of the command is not known by its files either.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(_, path)| path.as_str())
    }

    /// Programs that it names by a path, in the same form.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let programs = self.subjects.iter().filter_map(|subject| match subject {
            Subject::Command(command) => command.program.as_ref()?.named.as_deref(),
            _ => None,
        });
        programs.take(REQUEST_PATHS)
    }

    /// Adds what its files and programs really are. A program is then the file that its path leads to. A file that is named by a link is two subjects from now on, the name and the
    /// place it leads to, and each is decided on: so a deny holds that is about either, and it is allowed only if
    /// both are. Where it cannot be told what a name leads to, something unknown is added.
    #[must_use]
    pub fn with_real_paths(mut self, real: &RealPaths) -> Self {
        let tidy = |path: &String| normalise(path, "/", None);
        let roots = real.roots.iter();
        self.roots = roots
            .filter_map(|(named, real)| Some((tidy(named)?, tidy(real)?)))
            .collect();
        self.find_programs(real);
        for (access, named) in self.named.clone() {
            if real.reserved.contains(&named) {
                self.subjects.push(Subject::Reserved(named));
                continue;
            }
            let leads_to = real.paths.get(&named).and_then(|real| real.as_ref().ok());
            let path = leads_to.and_then(tidy).map(|path| self.as_thread_names(&path));
            if let Some(path) = &path {
                self.show_real_path(access, &named, path);
            }
            let subject = Subject::File { access, path };
            if !self.knows(&subject) {
                self.subjects.push(subject);
            }
        }
        self
    }

    /// A program whose path was not looked up is not known.
    fn find_programs(&mut self, real: &RealPaths) {
        let found = real.paths.iter().filter_map(|(named, real)| {
            let real = normalise(real.as_ref().ok()?, "/", None)?;
            Some((named.clone(), self.as_thread_names(&real)))
        });
        let found = found.collect();
        self.programs = found;
        for subject in &mut self.subjects {
            if let Subject::Command(command) = subject
                && let Some(program) = &mut command.program
            {
                let real = program.named.as_ref().and_then(|named| self.programs.get(named));
                program.path = real.cloned();
            }
        }
    }

    /// All names of a file: `path`, and the same seen from the other name of its directory.
    pub(super) fn names_of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = String> + 'a {
        let others = self.roots.iter().flat_map(move |(named, real)| {
            let by_name = below(path, real).map(|rest| format!("{named}{rest}"));
            let really = below(path, named).map(|rest| format!("{real}{rest}"));
            by_name.into_iter().chain(really)
        });
        std::iter::once(path.to_owned()).chain(others)
    }

    fn as_thread_names(&self, path: &str) -> String {
        let mut found = self.roots.iter().filter_map(|(named, real)| {
            let rest = below(path, real)?;
            Some(format!("{named}{rest}"))
        });
        found.next().unwrap_or_else(|| path.to_owned())
    }

    /// Whether a subject is there already, if under another name of the same directory.
    fn knows(&self, subject: &Subject) -> bool {
        let Subject::File {
            access,
            path: Some(path),
        } = subject
        else {
            return self.subjects.contains(subject);
        };
        self.names_of(path).any(|path| {
            let path = Some(path);
            self.subjects.contains(&Subject::File {
                access: *access,
                path,
            })
        })
    }

    /// A path of the call, absolute and without `..`.
    pub fn tidy(&self, path: &str) -> Option<String> {
        normalise(path, &self.base, self.home.as_deref())
    }

    /// What it was taken apart into.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// The tool's name, where the agent gives one that is not meant for people.
    pub fn tool_name(&self) -> Option<&str> {
        self.tool_name.as_deref()
    }

    /// The same call without anything that it does.
    pub(super) fn without_parts(&self) -> Self {
        Self {
            roots: self.roots.clone(),
            programs: self.programs.clone(),
            tool_name: self.tool_name.clone(),
            input: self.input,
            call: self.call,
            unknown_members: self.unknown_members.clone(),
            base: self.base.clone(),
            home: self.home.clone(),
            ..Self::empty(&self.workspace)
        }
    }

    /// Stands for the input of the call; of one without input, for nothing.
    pub(super) fn arguments(&self) -> BlobId {
        self.input.unwrap_or_else(|| BlobId::of(&[]))
    }

    /// Identifies the rest of the call beside its input.
    pub(super) fn call(&self) -> BlobId {
        self.call.unwrap_or_else(|| BlobId::of(&[]))
    }

    /// Whether the call may do more than what its parts say.
    pub(super) fn has_unknown_members(&self) -> bool {
        !self.unknown_members.is_empty()
    }

    /// The directory of a command: absolute, and with `..` left in, since a link may stand before it.
    pub(super) fn cwd(&self, cwd: Option<&str>) -> String {
        let tidy = |cwd| {
            let path = absolute(cwd, &self.base, None)?;
            if climbs(&path) {
                return Some(path);
            }
            normalise(&path, "/", None)
        };
        cwd.and_then(tidy).unwrap_or_else(|| self.base.clone())
    }

    /// What a command runs, and what of it is shown. Only one that is a single word can be a line.
    pub(super) fn add_command(
        &mut self,
        argv: &[String],
        form: Form,
        env: Vec<Assignment>,
        variables: &[Variable],
        cwd: &str,
    ) {
        match (argv, form) {
            ([line], Form::Line | Form::Unknown) => self.show_line(line, cwd, variables),
            _ => self.show_argv(argv, cwd, variables),
        }
        let mut found = Vec::new();
        if let ([line], Form::Line | Form::Unknown) = (argv, form) {
            found = command_line::of_line_with(line, &env, cwd);
        }
        if found.is_empty() || form != Form::Line {
            found.extend(command_line::of_argv(argv, env, cwd));
        }
        for subject in found {
            if !self.subjects.contains(&subject) {
                self.subjects.push(subject);
            }
        }
    }

    /// One subject for each path; one with an unknown path if there is none, or there are too many of them, those that name one
    /// file included.
    pub(super) fn add_paths<'a>(&mut self, access: Access, paths: impl IntoIterator<Item = &'a str>) {
        let before = self.subjects.len();
        let mut seen = BTreeSet::new();
        for path in paths {
            if !seen.insert(path) {
                continue;
            }
            let is_within = seen.len() <= REQUEST_PATHS;
            let named = absolute(path, &self.base, self.home.as_deref());
            let path = self.tidy(path).filter(|_| is_within);
            if let Some(named) = named.filter(|_| path.is_some()) {
                let named = (access, named);
                if !self.named.contains(&named) {
                    self.named.push(named);
                }
            }
            if let Some(path) = &path {
                self.show_file(access, path);
            }
            let subject = Subject::File { access, path };
            if !self.subjects.contains(&subject) {
                self.subjects.push(subject);
            }
            if !is_within {
                return;
            }
        }
        if self.subjects.len() == before {
            self.subjects.push(Subject::File { access, path: None });
        }
    }
}
