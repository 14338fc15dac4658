//! A request of an agent, split into the subjects that are decided separately.
//!
//! In: the known data of a tool call, a file access or a command. Out: subjects. Never: uses a title, or any other text
//! for users.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::limits::REQUEST_PATHS;
use acpd_model::subject::{CallSubject, Variable};
use acpd_model::{BlobId, Failure};

use super::command_line;
use super::path::{absolute, below, climbs, normalise};
use super::shell::Assignment;
use super::subject::{Access, Subject};
use super::texts::{FileText, InputTexts};

/// How a `terminal/create` without arguments runs its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As the name of a program, including any spaces.
    Program,
    /// As a line for `/bin/sh`.
    Line,
    /// In a way that the editor chooses.
    Unknown,
}

/// The targets of paths after resolving symbolic links. The caller, which can access files, computes them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RealPaths {
    /// The real path for each requested path, or why it could not be resolved.
    pub paths: BTreeMap<String, Result<String, Failure>>,
    /// The paths that lead to the daemon's own files.
    pub reserved: BTreeSet<String>,
    /// Directories with two names: the thread's, and the real path.
    pub roots: Vec<(String, String)>,
}

/// A request of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub(super) subjects: Vec<Subject>,
    /// The parts of the request, for users.
    pub(super) shown: Vec<CallSubject>,
    /// The new contents of files, as far as the question shows them.
    pub(super) texts: Vec<FileText>,
    /// The texts in the input, until the changes are shown.
    pub(super) input_texts: InputTexts,
    /// Files as they were named, but absolute.
    pub(super) named: Vec<(Access, String)>,
    /// Directories with two names: the thread's, and the real path.
    pub(super) roots: Vec<(String, String)>,
    /// The real paths of the programs that rules name by a path.
    pub(super) programs: BTreeMap<String, String>,
    pub(super) tool_name: Option<String>,
    /// Hash of the call's input as the agent sent it.
    pub(super) input: Option<BlobId>,
    /// Hash of the rest of the call ([`Bounds::call`](super::Bounds)).
    pub(super) call: Option<BlobId>,
    /// Members of the input that acpd does not know.
    pub(super) unknown_members: Vec<String>,
    pub(super) workspace: String,
    /// Base directory of relative paths and commands: the workspace's own, or one inside it.
    pub(super) base: String,
    pub(super) home: Option<String>,
}

impl Request {
    /// Creates a request without subjects. `workspace` is the absolute base directory of relative patterns and paths.
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

    /// Creates a request for `fs/read_text_file` of `path`.
    pub fn read_file(path: &str, workspace: &str) -> Self {
        Self::file(Access::Read, path, workspace)
    }

    /// Creates a request for `fs/write_text_file` of `path`.
    pub fn write_file(path: &str, workspace: &str) -> Self {
        Self::file(Access::Edit, path, workspace)
    }

    /// Creates a request for an access to one file.
    pub fn file(access: Access, path: &str, workspace: &str) -> Self {
        let mut request = Self::empty(workspace);
        request.add_paths(access, [path]);
        request
    }

    /// Creates a request for a shell command line that runs in `workspace`.
    pub fn command_line(line: &str, workspace: &str) -> Self {
        let mut request = Self::empty(workspace);
        let cwd = request.workspace.clone();
        request.add_command(&[line.to_owned()], Form::Line, Vec::new(), &[], &cwd);
        request
    }

    /// Creates a request for `terminal/create`: a program with its arguments, the variables set for it, and its working
    /// directory, if that is not `workspace`. `form` defines how a command without arguments is run.
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

    /// Creates a request for the tool `tool` of the MCP server `server`.
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

    /// Sets the directory that `~` stands for in rules. A path of the request that begins with `~` stays unknown, since
    /// the agent may expand it differently.
    #[must_use]
    pub fn with_home(mut self, home: &str) -> Self {
        self.home = normalise(home, "/", None);
        self
    }

    /// Returns the files of the request as absolute paths, which may contain `..` and links. Targets of redirections
    /// are separate ([`Self::redirections`]), since the files that the rest of the command accesses are unknown.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(_, path)| path.as_str())
    }

    /// Returns the programs that the request names by a path, in the same form.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let programs = self.subjects.iter().filter_map(|subject| match subject {
            Subject::Command(command) => command.program.as_ref()?.named.as_deref(),
            _ => None,
        });
        programs.take(REQUEST_PATHS)
    }

    /// Returns the files that command lines write by redirection, in the same form.
    pub fn redirections(&self) -> impl Iterator<Item = &str> {
        let targets = self.subjects.iter().filter_map(|subject| match subject {
            Subject::Redirect { named, .. } => named.as_deref(),
            _ => None,
        });
        targets.take(REQUEST_PATHS)
    }

    /// Adds the real paths of files and programs. A program becomes the file that its path leads to. A file that is
    /// named by a link becomes two subjects, the name and the target, which are decided separately. So a deny of either
    /// applies, and the file is allowed only if both are. A path that cannot be resolved adds an unknown subject.
    #[must_use]
    pub fn with_real_paths(mut self, real: &RealPaths) -> Self {
        let tidy = |path: &String| normalise(path, "/", None);
        let roots = real.roots.iter();
        self.roots = roots
            .filter_map(|(named, real)| Some((tidy(named)?, tidy(real)?)))
            .collect();
        self.find_programs(real);
        self.find_redirections(real);
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

    /// A program whose path was not resolved is unknown.
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

    /// A target that is a link becomes two subjects, as a file does.
    fn find_redirections(&mut self, real: &RealPaths) {
        let mut found = Vec::new();
        for subject in &mut self.subjects {
            if let Subject::Redirect { named, .. } = subject
                && let Some(named) = named.take()
            {
                found.push(named);
            }
        }
        for named in found {
            let subject = if real.reserved.contains(&named) {
                Subject::Reserved(named)
            } else {
                let leads_to = real.paths.get(&named).and_then(|real| real.as_ref().ok());
                let path = leads_to.and_then(|path| normalise(path, "/", None));
                let path = path.map(|path| self.as_thread_names(&path));
                Subject::Redirect { named: None, path }
            };
            if !self.subjects.contains(&subject) {
                self.subjects.push(subject);
            }
        }
    }

    /// Returns all names of a file: `path`, and the path under the other name of its directory.
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

    /// Returns whether an equal subject exists, possibly under another name of the same directory.
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

    /// Returns a path of the call as an absolute path without `..`.
    pub fn tidy(&self, path: &str) -> Option<String> {
        normalise(path, &self.base, self.home.as_deref())
    }

    /// Returns the parts of the request.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// Returns the tool's programmatic name, if the agent sent one.
    pub fn tool_name(&self) -> Option<&str> {
        self.tool_name.as_deref()
    }

    /// Returns the same call without its subjects.
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

    /// Returns the hash of the call's input, or the hash of the empty input.
    pub(super) fn arguments(&self) -> BlobId {
        self.input.unwrap_or_else(|| BlobId::of(&[]))
    }

    /// Returns the hash of the rest of the call.
    pub(super) fn call(&self) -> BlobId {
        self.call.unwrap_or_else(|| BlobId::of(&[]))
    }

    /// Returns whether the call may have effects in addition to its subjects.
    pub(super) fn has_unknown_members(&self) -> bool {
        !self.unknown_members.is_empty()
    }

    /// Returns the directory of a command as an absolute path. It may contain `..`, since a link may precede it.
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

    /// Adds the subjects of a command, and its description. Only a command of a single word can be a line.
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

    /// Adds one subject for each path. Adds one with an unknown path if there is none, or if there are too many. Paths
    /// to the same file count separately.
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
