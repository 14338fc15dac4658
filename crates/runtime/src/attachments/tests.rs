use std::collections::BTreeMap;

use acpd_model::limits::{ATTACHMENTS_ARRIVING_OF_ONE, ATTACHMENTS_OF_THREAD};
use acpd_model::{Limits, Summary};
use tempfile::TempDir;

use super::*;
use crate::context::Context;
use crate::test_context::context;

mod forks;

struct Scene {
    dir: TempDir,
    context: Context,
    thread: ThreadId,
}

impl Scene {
    fn new() -> Self {
        Self::within(Path::to_owned)
    }

    /// Names the data directory in another way.
    fn within(named: impl FnOnce(&Path) -> PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let context = context(&named(dir.path()), BTreeMap::new(), Limits::default());
        let thread = context.ids.thread();
        Self { dir, context, thread }
    }

    fn files(&self) -> &Attachments {
        &self.context.attachments
    }

    async fn begin(&self, by: &str, name: &str, size: u64) -> Result<Upload, Failure> {
        self.files().begin(&by.into(), self.thread, name, size).await
    }

    async fn attach(&self, name: &str, content: &'static [u8]) -> Result<Attached, Failure> {
        let upload = self.begin("ann", name, content.len() as u64).await?;
        upload.write(Bytes::from_static(content)).await?.finish().await
    }

    fn prompt(uri: &str) -> Vec<RawJson> {
        let block = format!(r#"{{"type":"resource_link","name":"x","uri":"{uri}"}}"#);
        vec![serde_json::from_str(&block).unwrap()]
    }

    /// Returns the paths of all files.
    fn stored(&self) -> Vec<PathBuf> {
        let data_dir = self.dir.path().canonicalize().unwrap();
        let directory = data_dir.join("attachments").join(self.thread.to_string());
        let below = entries(&directory).flat_map(|entry| match entry.path() {
            path if path.is_dir() => entries(&path).map(|entry| entry.path()).collect(),
            path => vec![path],
        });
        below.collect()
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[tokio::test]
async fn a_file_is_private_and_kept_once_it_was_sent() {
    let scene = Scene::new();
    let attached = scene.attach("../../a report.pdf", b"content").await.unwrap();
    assert_eq!((&*attached.name, attached.size), ("a report.pdf", 7));
    let path = PathBuf::from(normalise(&attached.uri, "/", None).unwrap());
    assert_eq!(scene.stored(), std::slice::from_ref(&path));
    assert_eq!(std::fs::read(&path).unwrap(), b"content");
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let prompt = Scene::prompt(&attached.uri);
    scene.files().keep(Some(scene.thread), &prompt).await.unwrap();
    assert_eq!(mode(&path), 0o400);
    // The same content has the same link, and stays.
    assert_eq!(scene.attach("a report.pdf", b"content").await.unwrap(), attached);
    assert_eq!((scene.stored().len(), mode(&path)), (1, 0o400));
}

#[tokio::test]
async fn a_file_is_kept_however_the_data_directory_is_named() {
    let around = |dir: &Path| {
        std::fs::create_dir(dir.join("x")).unwrap();
        dir.join("x/..")
    };
    let by_a_link = |dir: &Path| {
        std::os::unix::fs::symlink(dir, dir.join("link")).unwrap();
        dir.join("link")
    };
    for scene in [Scene::within(around), Scene::within(by_a_link)] {
        let attached = scene.attach("a", b"content").await.unwrap();
        let prompt = Scene::prompt(&attached.uri);
        scene.files().keep(Some(scene.thread), &prompt).await.unwrap();
        assert_eq!(mode(&scene.stored()[0]), 0o400);
        // The agent may read the directory that the link names.
        let directory = scene.files().directory(scene.thread, false).unwrap();
        assert!(scene.stored()[0].starts_with(&directory), "{directory:?}");
        assert!(attached.uri.starts_with(&uri(&directory)), "{}", attached.uri);
        let other = scene.context.ids.thread();
        assert!(scene.files().keep(Some(other), &prompt).await.is_err());
    }
}

// Other systems have no such names.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_that_no_prompt_could_link_to_is_refused() {
    use std::os::unix::ffi::OsStrExt;

    let scene = Scene::new();
    let odd = scene.dir.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
    std::fs::create_dir(&odd).unwrap();
    let files = Attachments::new(Arc::clone(&scene.context.host), scene.context.clock, &odd);
    let failure = files
        .begin(&"ann".into(), scene.thread, "x", 1)
        .await
        .unwrap_err();
    assert!(failure.message.contains("not UTF-8"), "{failure}");
    assert_eq!(entries(&odd).count(), 0);
}

#[tokio::test]
async fn a_prompt_links_to_files_of_its_own_thread() {
    let scene = Scene::new();
    let attached = scene.attach("x", b"x").await.unwrap();
    let keep = async |thread, uri: &str| scene.files().keep(thread, &Scene::prompt(uri)).await;
    let other = scene.context.ids.thread();
    for thread in [Some(other), None] {
        let failure = keep(thread, &attached.uri).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidParams);
        assert!(failure.message.contains("another thread"), "{failure}");
    }
    // Nor by detours, nor what is no file.
    let (directory, _) = attached.uri.rsplit_once('/').unwrap();
    let data_dir = scene.dir.path().canonicalize().unwrap();
    let root = format!("file://{}/attachments", data_dir.display());
    for uri in [
        directory.to_owned(),
        format!("{directory}/y"),
        format!("{directory}/x/y"),
        format!("{root}/{other}/../{}/y/z", scene.thread),
    ] {
        let failure = keep(Some(scene.thread), &uri).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::NotFound, "{uri}: {failure}");
    }
    assert_eq!(mode(&scene.stored()[0]), 0o600);
    // Other links are none of acpd's business.
    for uri in ["file:///etc/hosts", "https://example.com/attachments", "\\u0000"] {
        keep(Some(scene.thread), uri).await.unwrap();
    }
    let odd = vec![serde_json::from_str::<RawJson>("{\"type\":7}").unwrap()];
    scene.files().keep(Some(scene.thread), &odd).await.unwrap();
}

#[tokio::test]
async fn a_file_that_does_not_arrive_as_a_whole_leaves_nothing() {
    let scene = Scene::new();
    let upload = scene.begin("ann", "x", 3).await.unwrap();
    assert_eq!(scene.stored().len(), 1);
    let upload = upload.write(Bytes::from_static(b"ab")).await.unwrap();
    let failure = upload.finish().await.unwrap_err();
    assert!(failure.message.contains("3 bytes, and 2 arrived"), "{failure}");
    let upload = scene.begin("ann", "x", 3).await.unwrap();
    assert!(upload.write(Bytes::from_static(b"abcd")).await.is_err());
    drop(scene.begin("ann", "x", 3).await.unwrap());
    assert_eq!(scene.stored(), [] as [PathBuf; 0]);
    // An empty file is one.
    assert_eq!(scene.attach("empty", b"").await.unwrap().size, 0);
}

#[tokio::test]
async fn uploads_cannot_fill_the_disk() {
    let scene = Scene::new();
    let mut arriving = Vec::new();
    for _ in 0..ATTACHMENTS_ARRIVING_OF_ONE {
        arriving.push(scene.begin("ann", "x", 1).await.unwrap());
    }
    let failure = scene.begin("ann", "x", 1).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::Overloaded);
    // Others have places of their own.
    drop(scene.begin("bob", "x", 1).await.unwrap());
    drop(arriving);
    let failure = scene
        .begin("ann", "x", ATTACHMENTS_BYTES_OF_DAY + 1)
        .await
        .unwrap_err();
    assert!(failure.message.contains("today"), "{failure}");
    let failure = scene
        .begin("eve", "x", ATTACHMENTS_BYTES_OF_THREAD + 1)
        .await
        .unwrap_err();
    assert!(failure.message.contains("no room"), "{failure}");
    for name in 0..ATTACHMENTS_OF_THREAD {
        scene.attach(&name.to_string(), b"x").await.unwrap();
    }
    let failure = scene.attach("more", b"x").await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::Conflict, "{failure}");
}

#[tokio::test]
async fn a_file_that_is_not_stored_does_not_count_towards_the_limit_of_the_day() {
    let scene = Scene::new();
    let half = ATTACHMENTS_BYTES_OF_DAY / 2 + 1;
    let counted = || {
        let arriving = lock(&scene.files().arriving);
        arriving.principals.get("ann").map(|sender| sender.bytes)
    };
    for _ in 0..3 {
        // It is more than a thread may have.
        let failure = scene.begin("ann", "x", half).await.unwrap_err();
        assert!(failure.message.contains("no room"), "{failure}");
        // It breaks off.
        drop(scene.begin("ann", "x", 7).await.unwrap());
        // It has another size.
        assert!(scene.begin("ann", "x", 7).await.unwrap().finish().await.is_err());
        assert_eq!(counted(), Some(0));
    }
    let arriving = scene.begin("ann", "x", 7).await.unwrap();
    assert_eq!(counted(), Some(7));
    drop(arriving);
    scene.attach("x", b"content").await.unwrap();
    assert_eq!(counted(), Some(7));
}

/// Each happens at the same time as a prompt keeps the file, on another thread.
#[tokio::test]
async fn a_file_that_a_prompt_keeps_stays_whatever_else_happens() {
    let scene = Scene::new();
    let log = &scene.context.log;
    let event = crate::test_context::event(1);
    log.append(scene.thread, &[event], Some(&Summary::default()))
        .await
        .unwrap();
    for round in 0..32 {
        // The same file arrives again.
        let name = format!("again-{round}");
        let attached = scene.attach(&name, b"content").await.unwrap();
        let path = PathBuf::from(normalise(&attached.uri, "/", None).unwrap());
        let upload = scene.begin("ann", &name, 7).await.unwrap();
        let upload = upload.write(Bytes::from_static(b"content")).await.unwrap();
        let prompt = Scene::prompt(&attached.uri);
        let keep = scene.files().keep(Some(scene.thread), &prompt);
        let (kept, again) = tokio::join!(keep, upload.finish());
        kept.unwrap();
        assert_eq!(again.unwrap(), attached);
        assert_eq!(mode(&path), 0o400, "{name}");

        // Old files are removed.
        let attached = scene.attach(&format!("old-{round}"), b"other").await.unwrap();
        let path = PathBuf::from(normalise(&attached.uri, "/", None).unwrap());
        let old = std::time::SystemTime::UNIX_EPOCH;
        File::open(&path).unwrap().set_modified(old).unwrap();
        let prompt = Scene::prompt(&attached.uri);
        let keep = scene.files().keep(Some(scene.thread), &prompt);
        let (kept, ()) = tokio::join!(keep, scene.files().sweep(log));
        assert_eq!(kept.is_ok(), path.exists(), "{kept:?}");
    }
}

#[tokio::test]
async fn files_that_were_not_sent_are_removed_after_a_day() {
    let scene = Scene::new();
    let log = &scene.context.log;
    let event = crate::test_context::event(1);
    log.append(scene.thread, &[event], Some(&Summary::default()))
        .await
        .unwrap();
    let sent = scene.attach("sent", b"a").await.unwrap();
    scene.attach("unsent", b"b").await.unwrap();
    scene.attach("new", b"c").await.unwrap();
    let prompt = Scene::prompt(&sent.uri);
    scene.files().keep(Some(scene.thread), &prompt).await.unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH;
    for path in scene.stored().iter().filter(|path| !path.ends_with("new")) {
        // The mode of a file that was sent lets nobody write.
        File::open(path).unwrap().set_modified(old).unwrap();
    }
    scene.files().sweep(log).await;
    let mut left: Vec<_> = scene
        .stored()
        .iter()
        .map(|path| path.file_name().unwrap().to_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["new", "sent"]);
    scene.files().forget(scene.thread).await;
    assert_eq!(scene.files().directory(scene.thread, false), None);
    // It does not matter that there is nothing.
    scene.files().forget(scene.thread).await;
}
