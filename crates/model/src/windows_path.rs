//! Paths of Windows, as editors there send them to a daemon in WSL.

use std::path::{Path, PathBuf};

/// A path of Windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowsPath {
    /// `C:\work`: a letter in lower case, and the rest with slashes.
    Drive(char, String),
    /// `\\wsl.localhost\Ubuntu\home`: a file of a Linux distribution, by its path there.
    Distribution(String),
    /// `\\server\share`: a file of another host, with slashes.
    Share(String),
}

impl WindowsPath {
    /// Reads a path. Returns `None` for all others, such as those of Linux.
    pub fn read(path: &str) -> Option<Self> {
        let slashes = path.replace('\\', "/");
        let mut chars = slashes.chars();
        if let (Some(letter), Some(':'), Some('/') | None) = (chars.next(), chars.next(), chars.next())
            && letter.is_ascii_alphabetic()
        {
            let rest = slashes[2..].trim_start_matches('/').to_owned();
            return Some(Self::Drive(letter.to_ascii_lowercase(), rest));
        }
        // On Linux, a path may begin with two slashes, but hardly with two backslashes.
        let unc = slashes.strip_prefix("//").filter(|_| path.starts_with("\\\\"))?;
        let (server, rest) = unc.split_once('/').unwrap_or((unc, ""));
        if server.eq_ignore_ascii_case("wsl.localhost") || server.eq_ignore_ascii_case("wsl$") {
            let (_, below) = rest.split_once('/').unwrap_or((rest, ""));
            return Some(Self::Distribution(format!("/{below}")));
        }
        Some(Self::Share(unc.to_owned()))
    }

    /// Returns the path of the same file on Linux, where WSL puts drives below `drives`.
    pub fn on_linux(&self, drives: &Path) -> PathBuf {
        let joined = match self {
            Self::Drive(letter, rest) => drives.join(letter.to_string()).join(rest),
            Self::Distribution(path) => PathBuf::from(path),
            Self::Share(unc) => drives.join(unc),
        };
        joined.components().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_windows_have_one_on_linux() {
        for (path, linux) in [
            (r"C:\work\app", "/mnt/c/work/app"),
            ("d:/Work/my app/", "/mnt/d/Work/my app"),
            ("C:", "/mnt/c"),
            (r"\\wsl.localhost\Ubuntu\home\me\app", "/home/me/app"),
            (r"\\WSL$\Debian", "/"),
            (r"\\server\share\x", "/mnt/server/share/x"),
        ] {
            let read = WindowsPath::read(path);
            let found = read.map(|read| read.on_linux(Path::new("/mnt")));
            assert_eq!(found.as_deref(), Some(Path::new(linux)), "{path}");
        }
        for path in [
            "/home/me",
            "//double",
            "c",
            "a:b",
            "relative/C:/x",
            "",
            r"\one",
            "C:x",
            "\u{e9}:/x",
        ] {
            assert_eq!(WindowsPath::read(path), None, "{path}");
        }
    }
}
