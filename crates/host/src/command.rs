//! Programs to run, and their environments.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::sandbox::Sandbox;

/// A program to run: an argument vector, never a shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name to look up on `PATH`, or a path.
    pub command: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// The complete environment of the program.
    pub env: BTreeMap<String, String>,
    /// Working directory of the program.
    pub cwd: PathBuf,
    /// Limits the access of the program; `None` means no limits.
    pub sandbox: Option<Sandbox>,
}

/// The terminal type that programs receive in `TERM`.
pub const TERMINAL_TYPE: &str = "xterm-256color";

/// Builds environments. Only listed variables of the daemon's own environment are passed on.
#[derive(Debug, Clone, Copy)]
pub struct Environment;

/// Variables that most programs need. A trailing `*` matches any rest.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "TERM",
    "COLORTERM",
    "XDG_*",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
];

impl Environment {
    /// Like [`build`](Self::build), from this process's own environment. Variables that are not UTF-8 are omitted.
    pub fn here(pass: &[String], set: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self::build(std::env::vars_os().filter_map(text), pass, set)
    }

    /// Returns whether the built-in list includes `name`.
    pub fn is_built_in(name: &str) -> bool {
        ALLOWED.iter().any(|pattern| matches(pattern, name))
    }

    /// Returns whether `name` matches a `PREFIX*` in `pass` and is not in the built-in list.
    pub fn is_prefixed(pass: &[String], name: &str) -> bool {
        let mut prefixes = pass.iter().filter_map(|pattern| pattern.strip_suffix('*'));
        !Self::is_built_in(name) && prefixes.any(|prefix| !prefix.is_empty() && name.starts_with(prefix))
    }

    /// Returns the variables of `from` that the built-in list or `pass` includes, plus those in `set`. Leaves out the relative
    /// parts of `PATH`, which name programs of the directory in which a program works.
    pub fn build(
        from: impl Iterator<Item = (String, String)>,
        pass: &[String],
        set: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let passes =
            |name: &str| Self::is_built_in(name) || pass.iter().any(|pattern| matches(pattern, name));
        let mut env: BTreeMap<_, _> = from.filter(|(name, _)| passes(name)).collect();
        env.extend(set.iter().map(|(name, value)| (name.clone(), value.clone())));
        if let Some(path) = env.remove("PATH").as_deref().and_then(absolute_parts) {
            env.insert("PATH".to_owned(), path);
        }
        env
    }
}

/// Returns the absolute parts of a search path, if there are any. An empty part is the working directory as well.
fn absolute_parts(path: &str) -> Option<String> {
    let parts: Vec<_> = path.split(':').filter(|part| part.starts_with('/')).collect();
    (!parts.is_empty()).then(|| parts.join(":"))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_goes_through() {
        let ours = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("SECRET", "x"),
            ("ACPD_TOKEN", "t"),
            ("MY_KEY", "k"),
        ];
        let ours = ours.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        let set = BTreeMap::from([("LC_ALL".to_owned(), "de".to_owned())]);
        let env = Environment::build(ours, &["MY_*".to_owned()], &set);
        let names: Vec<_> = env.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(names, ["LC_ALL=de", "MY_KEY=k", "PATH=/bin"]);
    }

    #[test]
    fn a_search_path_has_no_relative_parts() {
        let none = BTreeMap::new();
        for (path, expected) in [
            ("/bin:/usr/bin", Some("/bin:/usr/bin")),
            (".:/bin", Some("/bin")),
            (":/bin", Some("/bin")),
            ("/bin:", Some("/bin")),
            ("/a::/b", Some("/a:/b")),
            ("node_modules/.bin:/a b:./x:../y:~/z", Some("/a b")),
            (".", None),
            ("", None),
        ] {
            let ours = [("PATH".to_owned(), path.to_owned())];
            let passed = Environment::build(ours.clone().into_iter(), &[], &none);
            let set = Environment::build(std::iter::empty(), &[], &ours.into());
            for env in [passed, set] {
                assert_eq!(env.get("PATH").map(String::as_str), expected, "{path:?}");
            }
        }
    }
}
