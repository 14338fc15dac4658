//! Text files of a workspace, reached through directory handles, so that neither `..` nor a symbolic link
//! leads out of it.

use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use acpd_model::limits::READ_FILE_BYTES;
use acpd_model::{ErrorCode, Failure};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use cap_tempfile::TempFile;

/// The directories that an agent may touch.
#[derive(Debug)]
pub struct Workspace {
    roots: Vec<(PathBuf, Dir)>,
}

impl Workspace {
    /// Opens the directories. One that cannot be opened is left out of the workspace.
    pub fn open(directories: impl Iterator<Item = PathBuf>) -> Self {
        let open = |path: PathBuf| {
            Dir::open_ambient_dir(&path, ambient_authority())
                .ok()
                .map(|dir| (path, dir))
        };
        Self {
            roots: directories.filter_map(open).collect(),
        }
    }

    /// Reads `limit` lines from line `line` (counted from 1), or all. The file must be UTF-8.
    pub fn read_text(&self, path: &str, line: Option<u64>, limit: Option<u64>) -> Result<String, Failure> {
        let (dir, relative) = self.locate(path)?;
        let text = read(dir, &relative, path)?;
        if line.is_none() && limit.is_none() {
            return Ok(text);
        }
        let skip = usize::try_from(line.unwrap_or(1).saturating_sub(1)).unwrap_or(usize::MAX);
        let take = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(text.split_inclusive('\n').skip(skip).take(take).collect())
    }

    /// Replaces the file as a whole, or makes it, and the directories above it. Answers what was there.
    pub fn write_text(&self, path: &str, content: &str) -> Result<Option<String>, Failure> {
        let (dir, relative) = self.locate(path)?;
        let name = relative
            .file_name()
            .ok_or_else(|| invalid(path, "is a directory"))?;
        let old = match read(dir, &relative, path) {
            Ok(old) => Some(old),
            Err(failure) if failure.code == ErrorCode::NotFound => None,
            Err(failure) => return Err(failure),
        };
        let parent = relative.parent().unwrap_or(Path::new(""));
        let parent = if parent.as_os_str().is_empty() {
            dir.try_clone()
        } else {
            dir.create_dir_all(parent).and_then(|()| dir.open_dir(parent))
        };
        let parent = parent.map_err(|error| io_failure(path, &error))?;
        replace(&parent, Path::new(name), content).map_err(|error| io_failure(path, &error))?;
        Ok(old)
    }

    /// The root that holds `path`, and the way from there.
    fn locate(&self, path: &str) -> Result<(&Dir, PathBuf), Failure> {
        let asked = Path::new(path);
        if !asked.is_absolute() {
            return Err(invalid(path, "is not absolute"));
        }
        if path.contains('\0') || asked.components().any(|part| part == Component::ParentDir) {
            return Err(outside(path));
        }
        self.roots
            .iter()
            .find_map(|(root, dir)| {
                asked
                    .strip_prefix(root)
                    .ok()
                    .map(|relative| (dir, relative.to_path_buf()))
            })
            .ok_or_else(|| outside(path))
    }
}

fn read(dir: &Dir, relative: &Path, path: &str) -> Result<String, Failure> {
    if relative.as_os_str().is_empty() {
        return Err(invalid(path, "is a directory"));
    }
    // Without O_NONBLOCK, opening a FIFO would wait for a writer.
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(nonblock);
    let mut file = dir
        .open_with(relative, &options)
        .map_err(|error| io_failure(path, &error))?;
    let metadata = file.metadata().map_err(|error| io_failure(path, &error))?;
    if metadata.is_dir() {
        return Err(invalid(path, "is a directory"));
    }
    if !metadata.is_file() {
        return Err(invalid(path, "is not a regular file"));
    }
    if metadata.len() > READ_FILE_BYTES {
        let size = metadata.len();
        return Err(invalid(
            path,
            &format!("is too large: {size} bytes, and {READ_FILE_BYTES} are allowed"),
        ));
    }
    let mut bytes = Vec::new();
    (&mut file)
        .take(READ_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| io_failure(path, &error))?;
    String::from_utf8(bytes).map_err(|_| invalid(path, "is not UTF-8 text"))
}

fn replace(parent: &Dir, name: &Path, content: &str) -> std::io::Result<()> {
    let mut file = TempFile::new(parent)?;
    file.write_all(content.as_bytes())?;
    let mode = parent.metadata(name).map(|old| old.permissions());
    match mode {
        Ok(mode) => file.as_file().set_permissions(mode)?,
        Err(_) => file.as_file().set_permissions(default_mode())?,
    }
    file.as_file().sync_all()?;
    file.replace(name)
}

fn default_mode() -> cap_std::fs::Permissions {
    use cap_std::fs::PermissionsExt;
    cap_std::fs::Permissions::from_mode(0o644)
}

fn outside(path: &str) -> Failure {
    Failure::invalid_params(format!("path outside workspace: {path}"))
}

fn invalid(path: &str, what: &str) -> Failure {
    Failure::invalid_params(format!("{path} {what}"))
}

fn io_failure(path: &str, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::NotFound => Failure::new(ErrorCode::NotFound, format!("file not found: {path}")),
        K::PermissionDenied if error.raw_os_error().is_none() => outside(path),
        K::PermissionDenied => Failure::new(ErrorCode::Forbidden, format!("permission denied: {path}")),
        K::IsADirectory | K::NotADirectory => invalid(path, "is not a file"),
        K::StorageFull => Failure::new(
            ErrorCode::Internal,
            format!("the disk is full: {path} was not changed"),
        ),
        _ => Failure::new(ErrorCode::Internal, format!("{path}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace, String) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let workspace = Workspace::open(std::iter::once(root.clone()));
        (dir, workspace, root.to_str().unwrap().to_owned())
    }

    #[test]
    fn writes_then_reads_and_slices() {
        let (_dir, workspace, root) = workspace();
        let path = format!("{root}/a/b/..foo");
        assert_eq!(workspace.write_text(&path, "1\n2\n3\n").unwrap(), None);
        assert_eq!(
            workspace.write_text(&path, "1\n2\n3\n4").unwrap().unwrap(),
            "1\n2\n3\n"
        );
        assert_eq!(workspace.read_text(&path, Some(2), Some(2)).unwrap(), "2\n3\n");
        assert_eq!(workspace.read_text(&path, Some(9), None).unwrap(), "");
        assert_eq!(workspace.read_text(&path, None, Some(1)).unwrap(), "1\n");
    }

    #[test]
    fn nothing_leads_out() {
        let (dir, workspace, root) = workspace();
        std::os::unix::fs::symlink("/etc", dir.path().join("etc")).unwrap();
        std::fs::write(dir.path().join("bin"), [0xff, 0xfe]).unwrap();
        for (path, code) in [
            ("/etc/passwd".to_owned(), ErrorCode::InvalidParams),
            (format!("{root}/../x"), ErrorCode::InvalidParams),
            (format!("{root}/etc/passwd"), ErrorCode::InvalidParams),
            (format!("{root}/bin"), ErrorCode::InvalidParams),
            ("relative".to_owned(), ErrorCode::InvalidParams),
            (root.clone(), ErrorCode::InvalidParams),
            (format!("{root}/none"), ErrorCode::NotFound),
        ] {
            let failure = workspace.read_text(&path, None, None).unwrap_err();
            assert_eq!(failure.code, code, "{path}: {failure}");
        }
        let failure = workspace.write_text(&format!("{root}/etc/x"), "").unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidParams, "{failure}");
    }
}
