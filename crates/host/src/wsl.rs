//! Where the Windows Subsystem for Linux puts the drives of Windows.

use std::path::{Path, PathBuf};

/// Returns the directory that has the drives of Windows, or `None` outside of WSL.
pub fn windows_drives() -> Option<PathBuf> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let is_wsl = release.to_ascii_lowercase().contains("microsoft")
        || Path::new("/proc/sys/fs/binfmt_misc/WSLInterop").exists();
    is_wsl.then(|| root_of(&std::fs::read_to_string("/etc/wsl.conf").unwrap_or_default()))
}

/// Returns the root of the drives in the text of `/etc/wsl.conf`.
fn root_of(settings: &str) -> PathBuf {
    let mut is_automount = false;
    let mut root = PathBuf::from("/mnt");
    for line in settings.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            is_automount = section
                .trim_end_matches(']')
                .trim()
                .eq_ignore_ascii_case("automount");
        } else if let Some((key, value)) = line.split_once('=')
            && is_automount
            && key.trim() == "root"
        {
            let value = value.trim().trim_matches(['"', '\'']);
            if value.starts_with('/') {
                root = value.into();
            }
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_the_drives_can_be_set() {
        for (settings, root) in [
            ("", "/mnt"),
            ("[network]\nroot = /x\n", "/mnt"),
            (
                "# root = /x\n[automount]\nenabled = true\nroot = /windir/\n",
                "/windir",
            ),
            ("[Automount]\nroot=\"/\"\n", "/"),
            ("[automount]\nroot = relative\n", "/mnt"),
        ] {
            assert_eq!(root_of(settings), Path::new(root), "{settings}");
        }
    }
}
