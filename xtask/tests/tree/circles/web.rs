//! Reads which files of the web UI import which. An `import type` counts, and so does a file that is loaded when it is needed.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::graph::Graph;

/// Endings of sources.
const SOURCES: [&str; 2] = [".ts", ".tsx"];

/// Endings of tests, and the file that only they use.
const TESTS: [&str; 3] = [".test.ts", ".test.tsx", "testing.ts"];

/// Reads the sources below a folder.
pub fn read(root: &Path) -> Graph {
    let mut files = Vec::new();
    list(root, Path::new(""), &mut files);
    files.sort();
    let mut graph = Graph::default();
    for file in &files {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let folder = Path::new(file).parent().unwrap();
        graph.add(file, text.lines().count());
        for import in imports(&text) {
            let imported = joined(folder, &import);
            if files.contains(&imported) {
                graph.connect(file, &imported);
            }
        }
    }
    graph
}

/// Adds the sources of a folder, relative to the root.
fn list(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        let name = path.to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            list(root, &path, files);
        } else if ends_with(&name, &SOURCES) && !ends_with(&name, &TESTS) {
            files.push(name);
        }
    }
}

fn ends_with(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Returns the files that a source names in `import … from "…"`, `export … from "…"`, `import "…"` and `import("…")`.
///
/// A text that only looks like an import names no file of the sources, unless somebody wants to mislead this test.
pub fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["from \"", "import \"", "import(\""] {
        for (at, _) in text.match_indices(start) {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let before = text[line..at].trim_start();
            let is_comment = before.starts_with("//") || before.starts_with('*') || before.starts_with("/*");
            let name = text[at + start.len()..].split('"').next().unwrap_or_default();
            if !is_comment && name.starts_with('.') {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// Returns the file that an import of a file in this folder leads to.
fn joined(folder: &Path, import: &str) -> String {
    let mut path = PathBuf::new();
    for part in folder.join(import).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path.to_string_lossy().into_owned()
}
