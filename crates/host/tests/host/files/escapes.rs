//! A table of paths that try to escape or to block, and of unusual paths that are valid.

use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;
use std::path::Path;

use acpd_host::Workspace;
use acpd_model::limits::{PATH_LINKS, READ_FILE_BYTES};
use acpd_model::{ErrorCode, Failure};

use super::{Roomy, Scene, Seen};

/// The expected result of a read or a write.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// This text is read, or only this file, named from the scene's base, is written.
    Is(&'static str),
    /// The path is refused as outside.
    Outside,
    /// The file does not exist.
    Missing,
    /// The params are invalid, and this text is part of the reason.
    Refused(&'static str),
}

use Then::{Is, Missing, Outside, Refused};

const A_DIRECTORY: Then = Refused("is a directory");
const NAMES_DIRECTORY: Then = Refused("names a directory");
const NOT_ABSOLUTE: Then = Refused("path is not absolute: ");
const NOT_A_WAY: Then = Refused("leads through something that is not a directory");
const LOOPS: Then = Refused("too many symbolic links");
const NUL: Then = Refused("NUL");
const LONG: Then = Refused("name that is too long");

/// `{w}` is the workspace, `{b}` the directory that contains it, and `{n*x}` is x, n times.
const ROWS: &[(&str, Then, Then)] = &[
    // Plain paths.
    ("{w}/file", Is("inside"), Is("w/file")),
    ("{w}/dir/f", Is("in dir"), Is("w/dir/f")),
    ("{w}/none", Missing, Is("w/none")),
    ("{w}/a/b/c", Missing, Is("w/a/b/c")),
    // Other places, and similar names.
    ("/etc/passwd", Outside, Outside),
    ("{b}/outside/secret", Outside, Outside),
    ("{w}-evil/secret", Outside, Outside),
    ("{w}evil", Outside, Outside),
    ("{b}/W/file", Outside, Outside),
    ("{b}", Outside, Outside),
    ("{w}/FILE", Missing, Is("w/FILE")),
    // Not absolute.
    ("", NOT_ABSOLUTE, NOT_ABSOLUTE),
    ("file", NOT_ABSOLUTE, NOT_ABSOLUTE),
    ("./file", NOT_ABSOLUTE, NOT_ABSOLUTE),
    ("../w/file", NOT_ABSOLUTE, NOT_ABSOLUTE),
    ("~/file", NOT_ABSOLUTE, NOT_ABSOLUTE),
    ("file://{w}/file", NOT_ABSOLUTE, NOT_ABSOLUTE),
    (" {w}/file", NOT_ABSOLUTE, NOT_ABSOLUTE),
    // `..`, and other special names.
    ("{w}/../outside/secret", Outside, Outside),
    ("{w}/dir/../../outside/secret", Outside, Outside),
    ("{w}/{40*../}etc/passwd", Outside, Outside),
    ("{w}/dir/../file", Is("inside"), Is("w/file")),
    ("{w}/dir/../../w/file", Is("inside"), Is("w/file")),
    ("{w}/../w/dir/f", Is("in dir"), Is("w/dir/f")),
    ("{w}/../w-evil/secret", Outside, Outside),
    ("{b}/outside/../w/file", Outside, Outside),
    ("{w}/none/../file", Missing, Missing),
    ("{w}/none/../../outside/secret", Missing, Missing),
    ("{w}/file/../dir/f", NOT_A_WAY, NOT_A_WAY),
    ("{w}/..", Outside, Outside),
    ("{w}/dir/..", A_DIRECTORY, A_DIRECTORY),
    ("{w}/..foo", Is("foo"), Is("w/..foo")),
    ("{w}/...", Is("dots"), Is("w/...")),
    ("{w}/..../x", Missing, Is("w/..../x")),
    ("{w}/..\\outside\\secret", Missing, Is("w/..\\outside\\secret")),
    ("{w}/%2e%2e/outside", Missing, Is("w/%2e%2e/outside")),
    // Slashes and dots.
    ("{w}", A_DIRECTORY, A_DIRECTORY),
    ("{w}/", NAMES_DIRECTORY, NAMES_DIRECTORY),
    ("{w}/.", NAMES_DIRECTORY, NAMES_DIRECTORY),
    ("{w}/dir", A_DIRECTORY, A_DIRECTORY),
    ("{w}/dir/", NAMES_DIRECTORY, NAMES_DIRECTORY),
    ("{w}/file/", NAMES_DIRECTORY, NAMES_DIRECTORY),
    ("{w}/none/.", NAMES_DIRECTORY, NAMES_DIRECTORY),
    ("{w}/file/x", NOT_A_WAY, NOT_A_WAY),
    ("/{w}//dir///f", Is("in dir"), Is("w/dir/f")),
    ("{w}/./dir/././f", Is("in dir"), Is("w/dir/f")),
    // Odd characters and lengths.
    ("{w}/new\nline", Is("lines"), Is("w/new\nline")),
    ("{w}/ ", Missing, Is("w/ ")),
    ("{w}/file\0", NUL, NUL),
    ("{w}/file\0/../../outside/secret", NUL, NUL),
    ("\0", NUL, NUL),
    ("{w}/{255*a}", Missing, Is("w/{255*a}")),
    ("{w}/{256*a}", LONG, LONG),
    ("{w}/{256*a}/f", LONG, LONG),
    (
        "{w}/{2100*a/}f",
        Refused("path is too long"),
        Refused("path is too long"),
    ),
    // Links that stay inside.
    ("{w}/rel_in", Is("in dir"), Is("w/dir/f")),
    ("{w}/abs_in", Is("inside"), Is("w/file")),
    ("{w}/chain", Is("in dir"), Is("w/dir/f")),
    ("{w}/dir/up", Is("inside"), Is("w/file")),
    ("{w}/dir_link/f", Is("in dir"), Is("w/dir/f")),
    ("{w}/dir_link/../file", Is("inside"), Is("w/file")),
    ("{w}/dir_link/new/f", Missing, Is("w/dir/new/f")),
    ("{w}/self/self/file", Is("inside"), Is("w/file")),
    ("{w}/dir_link", A_DIRECTORY, A_DIRECTORY),
    ("{w}/dangling_in", Missing, Is("w/dir/none")),
    ("{w}/dangling_deep", Missing, Is("w/x/y/z")),
    ("{w}/dangling_up", Missing, Missing),
    ("{w}/links/40", Is("inside"), Is("w/file")),
    // Links that go out and come back.
    ("{w}/parent/w/file", Is("inside"), Is("w/file")),
    ("{w}/root{w}/file", Is("inside"), Is("w/file")),
    ("{w}/back", Is("inside"), Is("w/file")),
    ("{w}/out_dir/../w/file", Outside, Outside),
    // Links that lead out.
    ("{w}/out_abs", Outside, Outside),
    ("{w}/out_rel", Outside, Outside),
    ("{w}/dir/far", Outside, Outside),
    ("{w}/evil", Outside, Outside),
    ("{w}/out_dir/secret", Outside, Outside),
    ("{w}/out_dir/new", Outside, Outside),
    ("{w}/out_dir_rel/secret", Outside, Outside),
    ("{w}/out_dir_rel/new/deep", Outside, Outside),
    ("{w}/out_dir", Outside, Outside),
    ("{w}/out_chain/secret", Outside, Outside),
    ("{w}/dangling_out", Outside, Outside),
    ("{w}/dangling_abs", Outside, Outside),
    ("{w}/parent/outside/secret", Outside, Outside),
    ("{w}/parent", Outside, Outside),
    ("{w}/root/etc/passwd", Outside, Outside),
    ("{w}/root", Outside, Outside),
    ("{w}/dir_link/../../outside/secret", Outside, Outside),
    // Endless links.
    ("{w}/loop", LOOPS, LOOPS),
    ("{w}/loop/f", LOOPS, LOOPS),
    ("{w}/ping", LOOPS, LOOPS),
    ("{w}/grows", LOOPS, LOOPS),
    ("{w}/links/41", LOOPS, LOOPS),
    // The kernel's own links.
    ("/proc/self/root{w}/file", Outside, Outside),
    ("/proc/self/cwd/file", Outside, Outside),
    ("/proc/self/fd/0", Outside, Outside),
    ("/dev/stdin", Outside, Outside),
    ("/dev/fd/0", Outside, Outside),
    ("{w}/proc_root/etc/passwd", Outside, Outside),
    ("{w}/proc_root{w}/file", Outside, Outside),
    ("{w}/fd/0", Outside, Outside),
    ("{w}/stdin", Outside, Outside),
    ("{w}/zero", Outside, Outside),
    // Files without text.
    (
        "{w}/fifo",
        Refused("is a FIFO, not a regular file"),
        Refused("is a FIFO"),
    ),
    (
        "{w}/to_fifo",
        Refused("is a FIFO, not a regular file"),
        Refused("is a FIFO"),
    ),
    ("{w}/fifo/x", NOT_A_WAY, NOT_A_WAY),
    (
        "{w}/socket",
        Refused("is a socket, not a regular file"),
        Refused("is a socket"),
    ),
    ("{w}/socket/x", NOT_A_WAY, NOT_A_WAY),
    ("{w}/binary", Refused("is not UTF-8 text"), Is("w/binary")),
    (
        "{w}/large",
        Refused("is too large: 10485761 bytes, and 10485760 are allowed"),
        Is("w/large"),
    ),
    // A file that also has a name outside.
    ("{w}/hard", Is("secret"), Refused("one of 2 hard links")),
    ("{w}/to_hard", Is("secret"), Refused("one of 2 hard links")),
];

/// Creates all files that the rows name.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("w/..foo", "foo");
    scene.write("w/...", "dots");
    scene.write("w/new\nline", "lines");
    scene.write("w/binary", [0xff, 0xfe]);
    let large = std::fs::File::create(scene.base.join("w/large")).unwrap();
    large.set_len(READ_FILE_BYTES + 1).unwrap();
    let secret = scene.base.join("outside/secret");
    std::fs::hard_link(&secret, scene.base.join("w/hard")).unwrap();
    scene.fifo("w/fifo");
    drop(UnixListener::bind(scene.base.join("w/socket")).unwrap());
    for (name, target) in [
        ("rel_in", "dir/f"),
        ("chain", "chain2"),
        ("chain2", "./dir/../rel_in"),
        ("dir/up", "../file"),
        ("dir_link", "dir"),
        ("self", "."),
        ("dangling_in", "dir/none"),
        ("dangling_deep", "x/y/z"),
        ("dangling_up", "x/../y"),
        ("parent", ".."),
        ("root", "/"),
        ("back", "../w/file"),
        ("out_rel", "../outside/secret"),
        ("dir/far", "../../outside/secret"),
        ("evil", "../w-evil/secret"),
        ("out_dir_rel", "../outside"),
        ("out_chain", "out_chain2"),
        ("out_chain2", "self/out_dir_rel"),
        ("dangling_out", "../outside/none"),
        ("loop", "loop"),
        ("ping", "pong"),
        ("pong", "dir/../ping"),
        ("grows", "grows/x"),
        ("proc_root", "/proc/self/root"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/dev/stdin"),
        ("zero", "/dev/zero"),
        ("to_fifo", "fifo"),
        ("to_hard", "hard"),
    ] {
        scene.link(&format!("w/{name}"), target);
    }
    scene.link("w/abs_in", scene.base.join("w/file"));
    scene.link("w/out_abs", secret);
    scene.link("w/out_dir", scene.base.join("outside"));
    scene.link("w/dangling_abs", scene.base.join("outside/none"));
    std::fs::create_dir(scene.base.join("w/links")).unwrap();
    scene.link("w/links/1", "../file");
    for n in 2..=PATH_LINKS + 1 {
        scene.link(&format!("w/links/{n}"), (n - 1).to_string());
    }
    scene
}

/// Expands `{n*x}` to x, n times.
fn repeated(row: &str) -> String {
    let Some((before, rest)) = row.split_once('{') else {
        return row.to_owned();
    };
    let (what, after) = rest.split_once('}').unwrap();
    let (count, what) = what.split_once('*').unwrap();
    format!("{before}{}{after}", what.repeat(count.parse().unwrap()))
}

fn refused_as(failure: &Failure, expected: Then) -> bool {
    match expected {
        Is(_) => false,
        Missing => failure.code == ErrorCode::NotFound,
        Outside => {
            failure.code == ErrorCode::InvalidParams
                && failure.message.starts_with("path outside workspace: ")
        }
        Refused(why) => failure.code == ErrorCode::InvalidParams && failure.message.contains(why),
    }
}

/// Returns whether writing a file of this name was the only change since `before`.
fn written(scene: &Scene, before: &BTreeMap<String, Seen>, name: &str) -> bool {
    let mut expected = before.clone();
    let parents = Path::new(name).ancestors().skip(1);
    for parent in parents.filter(|parent| !parent.as_os_str().is_empty()) {
        expected.insert(parent.to_str().unwrap().to_owned(), Seen::Dir);
    }
    expected.insert(name.to_owned(), Seen::File(b"new".to_vec()));
    scene.all() == expected
}

#[test]
fn no_path_leaves_the_workspace_and_none_hangs() {
    let mut wrong = Vec::new();
    for &(row, read, write) in ROWS {
        let scene = scene();
        let base = scene.base.to_str().unwrap();
        let path = row.replace("{w}", &format!("{base}/w")).replace("{b}", base);
        let path = repeated(&path);
        let before = scene.all();

        let got = scene.files.read_text(&path, None, None);
        let sliced = scene.files.read_text(&path, Some(1), Some(1));
        let good = match (&got, read) {
            (Ok(text), Is(expected)) => text == expected && sliced.as_ref() == Ok(text),
            (Err(failure), expected) => refused_as(failure, expected),
            _ => false,
        };
        if !good || scene.all() != before {
            wrong.push(format!("read {row:?}: {got:?}, {sliced:?}, not {read:?}"));
        }

        let got = scene.files.write_text(&path, "new");
        let good = match (&got, write) {
            (Ok(_), Is(name)) => written(&scene, &before, &repeated(name)),
            (Err(failure), expected) => refused_as(failure, expected) && scene.all() == before,
            _ => false,
        };
        if !good {
            wrong.push(format!("write {row:?}: {got:?}, not {write:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn devices_are_neither_read_nor_written() {
    let files = Workspace::open(std::iter::once("/dev".into()));
    for path in ["/dev/null", "/dev/zero", "/dev/random", "/dev/tty"] {
        let read = files.read_text(path, None, None).map(drop);
        let sliced = files.read_text(path, Some(3), Some(1)).map(drop);
        let written = files.write_text(path, "new").map(drop);
        for result in [read, sliced, written] {
            let failure = result.unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidParams);
            assert_eq!(failure.message, format!("{path} is a device, not a regular file"));
        }
    }
    // A link to /proc, which is not in this workspace.
    for path in ["/dev/stdin", "/dev/fd/0"] {
        let failure = files.read_text(path, None, None).unwrap_err();
        assert!(refused_as(&failure, Outside), "{failure}");
    }
}

#[test]
fn files_of_the_kernel_end() {
    // With `/` as the workspace, everything is accessible except files that block.
    let files = Workspace::open(std::iter::once("/".into()));
    let status = files.read_text("/proc/self/status", None, None).unwrap();
    assert!(status.starts_with("Name:"));
    let line = files.read_text("/proc/self/status", Some(1), Some(1)).unwrap();
    assert!(status.starts_with(&line) && line.ends_with('\n'));
    files.read_text("/proc/self/mem", None, None).unwrap_err();
    files.write_text("/proc/self/comm", "new").unwrap_err();
    files.write_text("/proc/self/none", "new").unwrap_err();
    // The links to unnamed files contain something like `pipe:[1]`, which does not exist.
    let (reader, _writer) = std::io::pipe().unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&reader);
    let failure = files
        .read_text(&format!("/proc/self/fd/{number}"), None, None)
        .unwrap_err();
    assert_eq!(failure.code, ErrorCode::NotFound);
    let scene = Scene::new();
    let through = format!("/proc/self/root{}", scene.path("w/file"));
    assert_eq!(files.read_text(&through, None, None).unwrap(), "inside");
}
