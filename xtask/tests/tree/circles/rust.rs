//! Reads which files of a crate use which.
//!
//! In: the sources of a crate. Out: its files, and for each the files whose items it names in `use` and in paths. Never: expands
//! macros, or follows methods to their types. Comments, texts and what is compiled for tests only are left out.
//!
//! An item that a file hands on (`pub use`) counts as used where it is defined, so a face is nobody's concern but its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::graph::Graph;
use crate::tokens::{is_word, tokens};

/// Words that begin a definition.
const DEFINITIONS: [&str; 9] = [
    "fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod",
];

/// Steps through names that are handed on. A circle of them is not Rust.
const STEPS: usize = 16;

/// A name that a module has of another place.
struct Import {
    path: Vec<String>,
    /// The name in this module. Nothing of `*` and `_`.
    name: Option<String>,
    is_glob: bool,
}

#[derive(Default)]
struct Module {
    parent: Option<usize>,
    /// The file that it is in.
    file: usize,
    children: Vec<(String, usize)>,
    definitions: BTreeSet<String>,
    /// Names that only tests have.
    tests: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths of its code.
    paths: Vec<Vec<String>>,
}

/// What a path leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item of this file.
    Item(usize),
}

/// A crate that was read.
#[derive(Default)]
pub struct Crate {
    /// The files, relative to the folder of the sources, with the number of their lines that are compiled into the product.
    pub files: Vec<(String, usize)>,
    modules: Vec<Module>,
    /// Macros that are exported, and so are names of the root wherever they are defined.
    macros: BTreeMap<String, usize>,
}

/// Where the modules of a file are looked for.
#[derive(Clone)]
struct Place {
    /// The folder of modules that are files.
    folder: PathBuf,
    /// The folder that `#[path]` starts from.
    beside: PathBuf,
}

impl Crate {
    /// Reads the crate whose sources are in a folder.
    pub fn read(sources: &Path) -> Self {
        let mut found = Self::default();
        for root in ["lib.rs", "main.rs"] {
            let file = sources.join(root);
            if file.exists() {
                found.read_file(sources, &file, None);
            }
        }
        found
    }

    /// Reads a file as a module. Returns its number, or nothing if it is for tests.
    fn read_file(&mut self, sources: &Path, file: &Path, parent: Option<usize>) -> Option<usize> {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let beside = file.parent().unwrap().to_owned();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let folder = match stem {
            "lib" | "main" | "mod" => beside.clone(),
            stem => beside.join(stem),
        };
        let tokens = tokens(&text);
        let start = tokens
            .windows(6)
            .take(64)
            .position(|start| start == ["#", "!", "[", "cfg", "(", "test"]);
        if start.is_some() {
            return None;
        }
        let name = file.strip_prefix(sources).unwrap().to_str().unwrap().to_owned();
        self.files.push((name, 0));
        let number = self.files.len() - 1;
        let module = self.add(parent, number);
        let place = Place { folder, beside };
        let tests = self.read_module(sources, &place, module, &tokens);
        self.files[number].1 = text.lines().count() - lines(&text, &tests);
        Some(module)
    }

    fn add(&mut self, parent: Option<usize>, file: usize) -> usize {
        self.modules.push(Module {
            parent,
            file,
            ..Module::default()
        });
        self.modules.len() - 1
    }

    /// Reads the items of a module. Returns those that are for tests: their first and last token.
    fn read_module<'a>(
        &mut self,
        sources: &Path,
        place: &Place,
        module: usize,
        tokens: &[&'a str],
    ) -> Vec<(&'a str, &'a str)> {
        let mut tests = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let start = at;
            let mut attributes: Vec<&[&str]> = Vec::new();
            while tokens[at..].starts_with(&["#"]) {
                let open = at + 1 + usize::from(tokens.get(at + 1) == Some(&"!"));
                let close = closed(tokens, open);
                attributes.push(&tokens[open + 1..close]);
                at = close + 1;
            }
            let end = at + item(&tokens[at..]);
            let code = &tokens[at..end];
            at = end.max(at + 1);
            let is_test = attributes.iter().any(|words| {
                words.starts_with(&["cfg", "(", "test"])
                    || words.starts_with(&["cfg", "(", "all", "(", "test"])
            });
            if is_test {
                self.modules[module]
                    .tests
                    .extend(definition(code).map(|(_, name)| name.to_owned()));
                tests.extend(
                    tokens
                        .get(start)
                        .copied()
                        .zip(tokens.get(end.saturating_sub(1)).copied()),
                );
            } else {
                tests.extend(self.read_item(sources, place, module, &attributes, code));
            }
        }
        tests
    }

    fn read_item<'a>(
        &mut self,
        sources: &Path,
        place: &Place,
        module: usize,
        attributes: &[&[&str]],
        code: &[&'a str],
    ) -> Vec<(&'a str, &'a str)> {
        let file = self.modules[module].file;
        if code.starts_with(&["macro_rules", "!"]) {
            let name = code[2].to_owned();
            if attributes
                .iter()
                .any(|words| words.first() == Some(&"macro_export"))
            {
                self.macros.insert(name.clone(), file);
            }
            self.modules[module].definitions.insert(name);
        }
        if let Some((kind, name)) = definition(code) {
            if kind == "mod" {
                return self.read_child(sources, place, module, attributes, name, &code[head(code)..]);
            }
            self.modules[module].definitions.insert(name.to_owned());
        }
        self.read_code(module, code);
        Vec::new()
    }

    /// Reads a module of a module: `;`, or its items in braces.
    fn read_child<'a>(
        &mut self,
        sources: &Path,
        place: &Place,
        module: usize,
        attributes: &[&[&str]],
        name: &str,
        body: &[&'a str],
    ) -> Vec<(&'a str, &'a str)> {
        if body.first() == Some(&"{") {
            let child = self.add(Some(module), self.modules[module].file);
            self.modules[module].children.push((name.to_owned(), child));
            let inner = Place {
                folder: place.folder.join(name),
                beside: place.folder.join(name),
            };
            return self.read_module(sources, &inner, child, &body[1..body.len() - 1]);
        }
        let path = attributes.iter().find(|words| words.starts_with(&["path", "="]));
        let file = match path {
            Some(words) => place.beside.join(words[2].trim_matches('"')),
            None => {
                let folder = place.folder.join(name).join("mod.rs");
                if folder.exists() {
                    folder
                } else {
                    place.folder.join(format!("{name}.rs"))
                }
            }
        };
        // A file of the tests of another crate is not one of this crate.
        let is_own = file.starts_with(sources) && !file.components().any(|part| part.as_os_str() == "..");
        if let Some(child) = is_own
            .then(|| self.read_file(sources, &file, Some(module)))
            .flatten()
        {
            self.modules[module].children.push((name.to_owned(), child));
        }
        Vec::new()
    }

    /// Reads the imports and paths of an item.
    fn read_code(&mut self, module: usize, code: &[&str]) {
        let mut at = 0;
        while at < code.len() {
            let before = at.checked_sub(1).map(|before| code[before]);
            if code[at] == "use" && code.get(at + 1).is_some_and(|next| *next != "<") {
                let end = at
                    + code[at..]
                        .iter()
                        .position(|word| *word == ";")
                        .unwrap_or(code.len() - at);
                let tree = &code[at + 1..end];
                self.read_use(module, &[], tree);
                at = end;
            } else if code[at].starts_with(is_word) && before != Some("::") && before != Some(".") {
                let path = path(&code[at..]);
                at += path.len() * 2 - 1;
                if path.len() > 1 {
                    self.modules[module].paths.push(path);
                }
            } else {
                at += 1;
            }
        }
    }

    /// Reads one tree of a `use`.
    fn read_use(&mut self, module: usize, start: &[String], tree: &[&str]) {
        let tree = tree.strip_prefix(&["::"]).unwrap_or(tree);
        let mut whole = start.to_vec();
        let steps = path(tree);
        let taken = (steps.len() * 2).saturating_sub(1);
        let last = steps.last().cloned();
        whole.extend(steps);
        let rest = &tree[taken..];
        let rest = rest.strip_prefix(&["::"]).unwrap_or(rest);
        match rest.first() {
            Some(&"{") => {
                for part in parts(&rest[1..closed(rest, 0)]) {
                    self.read_use(module, &whole, part);
                }
            }
            Some(&"*") => self.modules[module].imports.push(Import {
                path: whole,
                name: None,
                is_glob: true,
            }),
            next => {
                if last.as_deref() == Some("self") && whole.len() > 1 {
                    whole.pop();
                }
                let name = match next {
                    Some(&"as") => rest.get(1).map(|name| (*name).to_owned()),
                    _ => whole.last().cloned(),
                };
                self.modules[module].imports.push(Import {
                    path: whole,
                    name: name.filter(|name| name != "_"),
                    is_glob: false,
                });
            }
        }
    }

    /// Follows a path from a module. Returns nothing if it leads out of the crate.
    fn follow(&self, module: usize, path: &[String], steps: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let steps = steps.checked_sub(1)?;
        let start = match first.as_str() {
            "crate" => Some(Target::Module(self.root(module))),
            "self" => Some(Target::Module(module)),
            "super" => self.modules[module].parent.map(Target::Module),
            name => self.named(module, name, steps),
        }?;
        let mut at = start;
        for name in rest {
            let Target::Module(module) = at else {
                return Some(at);
            };
            at = match name.as_str() {
                "self" => at,
                "super" => Target::Module(self.modules[module].parent?),
                name => {
                    let outside = self.modules[module]
                        .imports
                        .iter()
                        .any(|import| import.name.as_deref() == Some(name));
                    match self.named(module, name, steps) {
                        Some(target) => target,
                        // It hands on what another crate has, or only tests have it.
                        None if outside || self.modules[module].tests.contains(name) => return None,
                        // A macro has made it, if it is not another module's.
                        None => return Some(Target::Item(self.modules[module].file)),
                    }
                }
            };
        }
        Some(at)
    }

    /// Returns what a name is in a module.
    fn named(&self, module: usize, name: &str, steps: usize) -> Option<Target> {
        let here = &self.modules[module];
        if let Some((_, child)) = here.children.iter().find(|(child, _)| child == name) {
            return Some(Target::Module(*child));
        }
        if here.definitions.contains(name) {
            return Some(Target::Item(here.file));
        }
        if let Some(file) = self.macros.get(name).filter(|_| here.parent.is_none()) {
            return Some(Target::Item(*file));
        }
        let named = here
            .imports
            .iter()
            .find(|import| import.name.as_deref() == Some(name));
        if let Some(import) = named {
            // `use name::…` of another crate.
            let is_own = import.path.first().map(String::as_str) != Some(name);
            return is_own.then(|| self.follow(module, &import.path, steps)).flatten();
        }
        let steps = steps.checked_sub(1)?;
        here.imports
            .iter()
            .filter(|import| import.is_glob)
            .find_map(|import| match self.follow(module, &import.path, steps)? {
                Target::Module(other) if other != module => self.named(other, name, steps),
                _ => None,
            })
    }

    fn root(&self, module: usize) -> usize {
        let mut at = module;
        while let Some(parent) = self.modules[at].parent {
            at = parent;
        }
        at
    }

    /// Returns which files use which.
    pub fn graph(&self) -> Graph {
        let mut graph = Graph::default();
        for (file, lines) in &self.files {
            graph.add(file, *lines);
        }
        for (number, module) in self.modules.iter().enumerate() {
            let uses = module.imports.iter().map(|import| (&import.path, import.is_glob));
            for (path, is_glob) in uses.chain(module.paths.iter().map(|path| (path, false))) {
                let used = match self.follow(number, path, STEPS) {
                    Some(Target::Item(file)) => file,
                    Some(Target::Module(other)) if is_glob => self.modules[other].file,
                    // What is used of a module is seen where it is used.
                    _ => continue,
                };
                graph.connect(&self.files[module.file].0, &self.files[used].0);
            }
        }
        graph
    }
}

/// Returns where the head of an item ends.
fn head(code: &[&str]) -> usize {
    // The parentheses of a visibility are part of it.
    let start = if code.starts_with(&["pub", "("]) {
        closed(code, 1)
    } else {
        0
    };
    let rest = code.get(start..).unwrap_or_default();
    let ends = |word: &&str| matches!(*word, "{" | "(" | "=" | ";");
    start + rest.iter().position(ends).unwrap_or(rest.len())
}

/// Returns what an item defines: the word that begins it, and its name.
fn definition<'a>(code: &[&'a str]) -> Option<(&'a str, &'a str)> {
    if code.starts_with(&["impl"]) || code.starts_with(&["unsafe", "impl"]) {
        return None;
    }
    let mut pairs = code[..head(code)].windows(2);
    let found = pairs.find(|pair| {
        DEFINITIONS.contains(&pair[0]) && !DEFINITIONS.contains(&pair[1]) && pair[1].starts_with(is_word)
    })?;
    Some((found[0], found[1]))
}

/// Returns the names of the path at the start.
fn path(code: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for pair in code.chunks(2) {
        if !pair[0].starts_with(is_word) {
            break;
        }
        names.push(pair[0].to_owned());
        if pair.get(1) != Some(&"::") {
            break;
        }
    }
    names
}

/// Returns where the bracket at a place closes.
fn closed(code: &[&str], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, word) in code.iter().enumerate().skip(open) {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    code.len().saturating_sub(1)
}

/// Splits at the commas outside of brackets.
fn parts<'a, 'b>(code: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, word) in code.iter().enumerate() {
        match *word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                found.push(&code[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&code[start..]);
    found.retain(|part| !part.is_empty());
    found
}

/// Returns the length of the item at the start.
fn item(code: &[&str]) -> usize {
    let visible = ["pub", "(", ")", "crate", "super", "in", "self"];
    let start = code.iter().position(|word| !visible.contains(word)).unwrap_or(0);
    // The braces of these are not their end.
    let is_statement = match code.get(start) {
        Some(&("use" | "static" | "type")) => true,
        Some(&"const") => !matches!(code.get(start + 1), Some(&("fn" | "unsafe" | "async" | "extern"))),
        _ => false,
    };
    let mut at = 0;
    while at < code.len() {
        match code[at] {
            ";" => return at + 1,
            "{" if !is_statement => return closed(code, at) + 1,
            "(" | "[" | "{" => at = closed(code, at) + 1,
            _ => at += 1,
        }
    }
    code.len()
}

/// Counts the lines of what is between tokens of a text.
fn lines(text: &str, parts: &[(&str, &str)]) -> usize {
    let place = |token: &str| token.as_ptr().addr() - text.as_ptr().addr();
    parts
        .iter()
        .map(|(first, last)| text[place(first)..place(last)].matches('\n').count() + 1)
        .sum()
}
