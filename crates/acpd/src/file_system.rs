//! The kind of file system that a data directory is on.

use std::path::Path;

/// A kind of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    Local,
    /// One that other hosts can use at the same time.
    Network(&'static str),
    /// One that behaves like a network file system, and that other hosts may use.
    Virtual(&'static str),
    /// A file system in memory.
    Memory,
}

impl FileSystem {
    /// Returns the kind of the file system of a path, or of its nearest parent that exists.
    pub fn of(path: &Path) -> Self {
        let nearest = path.ancestors().find(|path| path.exists());
        kind(nearest.unwrap_or(Path::new("/")))
    }
}

#[cfg(target_os = "linux")]
fn kind(path: &Path) -> FileSystem {
    let found = rustix::fs::statfs(path).ok();
    let magic = found.and_then(|found| u32::try_from(found.f_type).ok());
    magic.map_or(FileSystem::Local, |magic| kind_of(magic, path))
}

/// Returns the kind of a path on a file system with this number of `linux/magic.h`.
#[cfg(target_os = "linux")]
fn kind_of(magic: u32, path: &Path) -> FileSystem {
    match magic {
        0x6969 => FileSystem::Network("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => FileSystem::Network("SMB"),
        // The one of OpenAFS, and the kernel's own.
        0x5346_414f | 0x6b41_4653 => FileSystem::Network("AFS"),
        0x00c3_6400 => FileSystem::Network("Ceph"),
        0x0bd0_0bd0 => FileSystem::Network("Lustre"),
        // The root of some virtual machines and containers, and Windows' disks in WSL.
        0x0102_1997 => FileSystem::Virtual("9p"),
        0x6573_5546 => {
            let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            match path.canonicalize() {
                Ok(real) => fuse(&mounts, &real),
                Err(_) => FileSystem::Virtual("FUSE"),
            }
        }
        0x0102_1994 | 0x8584_58f6 => FileSystem::Memory,
        _ => FileSystem::Local,
    }
}

#[cfg(not(target_os = "linux"))]
fn kind(_: &Path) -> FileSystem {
    FileSystem::Local
}

/// Returns the kind of a path on FUSE, by the text of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
#[cfg(target_os = "linux")]
fn fuse(mounts: &str, path: &Path) -> FileSystem {
    let mount = |line: &str| {
        let (head, tail) = line.split_once(" - ")?;
        let at = head.split(' ').nth(4)?.replace("\\040", " ");
        Some((at, tail.split(' ').next()?.to_owned()))
    };
    let covers = |(at, _): &(String, String)| path.starts_with(at);
    let mounts = mounts.lines().filter_map(mount).filter(covers);
    // The last of several mounts at one place is the visible one.
    let innermost = mounts.max_by_key(|(at, _)| at.len());
    match innermost.as_ref().map(|(_, kind)| kind.as_str()) {
        Some("fuse.sshfs") => FileSystem::Network("sshfs"),
        Some("fuse.glusterfs") => FileSystem::Network("GlusterFS"),
        Some("fuse.rclone") => FileSystem::Network("rclone"),
        Some("fuse.s3fs") => FileSystem::Network("s3fs"),
        _ => FileSystem::Virtual("FUSE"),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_known_by_their_numbers() {
        for (magic, expected) in [
            (0x6969, FileSystem::Network("NFS")),
            (0x517b, FileSystem::Network("SMB")),
            (0xff53_4d42, FileSystem::Network("SMB")),
            (0xfe53_4d42, FileSystem::Network("SMB")),
            (0x5346_414f, FileSystem::Network("AFS")),
            (0x6b41_4653, FileSystem::Network("AFS")),
            (0x00c3_6400, FileSystem::Network("Ceph")),
            (0x0bd0_0bd0, FileSystem::Network("Lustre")),
            (0x0102_1997, FileSystem::Virtual("9p")),
            // A file system of FUSE whose mount cannot be found.
            (0x6573_5546, FileSystem::Virtual("FUSE")),
            (0x0102_1994, FileSystem::Memory),
            // ext4, Btrfs, XFS, overlayfs, ZFS.
            (0xef53, FileSystem::Local),
            (0x9123_683e, FileSystem::Local),
            (0x5846_5342, FileSystem::Local),
            (0x794c_7630, FileSystem::Local),
            (0x2fc1_2fc1, FileSystem::Local),
        ] {
            let found = kind_of(magic, Path::new("/no/such/path"));
            assert_eq!(found, expected, "{magic:#x}");
        }
    }

    #[test]
    fn a_directory_that_does_not_exist_is_on_the_file_system_of_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            FileSystem::of(&dir.path().join("a/b")),
            FileSystem::of(dir.path())
        );
    }

    #[test]
    fn a_mount_below_another_counts() {
        let mounts = "\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / /home/me rw,nosuid shared:3 - fuse.sshfs me@box:/ rw
31 30 0:41 / /home/me/my\\040vault rw - fuse.gocryptfs x rw
";
        for (path, expected) in [
            ("/home/me/.local", FileSystem::Network("sshfs")),
            ("/home/me/my vault/x", FileSystem::Virtual("FUSE")),
            ("/home/meow", FileSystem::Virtual("FUSE")),
        ] {
            assert_eq!(fuse(mounts, Path::new(path)), expected, "{path}");
        }
    }
}
