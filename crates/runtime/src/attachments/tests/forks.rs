//! Files that a fork takes along.

use std::collections::BTreeSet;

use acpd_host::{Fit, Reserved, Workspace};

use super::super::forks::DELETED;
use super::*;

impl Scene {
    /// Attaches a file that a prompt links to. Returns its path and the prompt.
    async fn sent(&self, name: &str) -> (PathBuf, Vec<RawJson>) {
        let attached = self.attach(name, b"content").await.unwrap();
        let prompt = Scene::prompt(&attached.uri);
        self.files().keep(Some(self.thread), &prompt).await.unwrap();
        (self.linked(&prompt), prompt)
    }

    fn linked(&self, prompt: &[RawJson]) -> PathBuf {
        self.files().link(&prompt[0]).unwrap()
    }

    /// Forks a thread that has copied these links.
    async fn fork(&self, origin: ThreadId, links: &[&PathBuf]) -> ThreadId {
        let fork = self.context.ids.thread();
        let links = links.iter().copied().cloned().collect::<BTreeSet<_>>();
        self.files().take_along(origin, fork, links).await;
        fork
    }

    /// Returns whether the agent of a thread may read a file.
    fn may_read(&self, thread: ThreadId, path: &Path) -> bool {
        let granted = self.files().directories(thread, false);
        granted.iter().any(|directory| path.starts_with(directory))
    }
}

#[tokio::test]
async fn a_fork_reads_only_files_that_its_copied_turns_link_to() {
    let scene = Scene::new();
    let (copied, prompt) = scene.sent("copied.txt").await;
    let attached = scene.attach("later.txt", b"later").await.unwrap();
    let later = scene.linked(&Scene::prompt(&attached.uri));
    // Nobody has sent it.
    let fork = scene.fork(scene.thread, &[&copied, &later]).await;
    assert!(scene.may_read(fork, &copied) && !scene.may_read(fork, &later));
    // It can be sent again, and a fork of the fork has it, too.
    scene.files().keep(Some(fork), &prompt).await.unwrap();
    let next = scene.fork(fork, &[&copied]).await;
    assert!(scene.may_read(next, &copied));
    let other = scene.context.ids.thread();
    assert!(!scene.may_read(other, &copied));
    assert!(scene.files().keep(Some(other), &prompt).await.is_err());
    assert_eq!(scene.files().directories(other, false), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_fork_with_many_files_keeps_few_directories_open() {
    let scene = Scene::new();
    let mut links = Vec::new();
    for at in 0..20 {
        let content = format!("content {at}");
        let upload = scene.begin("ann", "x.txt", content.len() as u64).await.unwrap();
        let upload = upload.write(Bytes::from(content)).await.unwrap();
        let prompt = Scene::prompt(&upload.finish().await.unwrap().uri);
        scene.files().keep(Some(scene.thread), &prompt).await.unwrap();
        links.push(scene.linked(&prompt));
    }
    let later = scene.sent("later.txt").await.0;
    let fork = scene.fork(scene.thread, &links.iter().collect::<Vec<_>>()).await;
    let reserved = Reserved::new(vec![scene.dir.path().to_owned()], Vec::new());
    let attached = scene.files().directories(fork, false);
    let files = Workspace::open(std::iter::empty()).without(Arc::new(reserved));
    let files = scene.files().open_in(files, fork, &attached);
    assert_eq!(files.real_directories().count(), 2);
    let read = |path: &Path| files.read_text_within(path.to_str().unwrap(), None, None, u64::MAX);
    for link in &links {
        assert!(matches!(read(link), Ok(Fit::Done(text)) if text.starts_with("content ")));
        assert!(!files.reserves(link.to_str().unwrap()));
    }
    assert!(read(&later).is_err() && files.reserves(later.to_str().unwrap()));
    // A thread that has taken nothing along has its own directory.
    let attached = scene.files().directories(scene.thread, false);
    let files = Workspace::open(std::iter::empty());
    let files = scene.files().open_in(files, scene.thread, &attached);
    assert_eq!(files.real_directories().count(), 1);
}

/// An agent can put any link into the history that acpd imports.
#[tokio::test]
async fn a_link_gives_no_file_that_the_origin_does_not_have() {
    let scene = Scene::new();
    let (secret, _) = scene.sent("secret.txt").await;
    let mallory = scene.context.ids.thread();
    let root = scene.dir.path().canonicalize().unwrap().join("attachments");
    let hash = secret.parent().unwrap().file_name().unwrap().to_owned();
    std::fs::write(scene.dir.path().join("token"), "x").unwrap();
    for link in [
        secret.clone(),
        root.join(mallory.to_string())
            .join("..")
            .join(scene.thread.to_string())
            .join(&hash)
            .join("secret.txt"),
        root.join(mallory.to_string()).join("../../token"),
        root.join("..").join("token").join(&hash).join("x"),
        root.join(scene.thread.to_string()),
        root.clone(),
        PathBuf::from("/etc/passwd"),
    ] {
        let fork = scene.fork(mallory, &[&link]).await;
        assert!(!scene.may_read(fork, &secret), "{}", link.display());
        assert_eq!(
            scene.files().directories(fork, false),
            [] as [PathBuf; 0],
            "{}",
            link.display()
        );
    }
    // Nor by a symbolic link.
    let own = root.join(mallory.to_string()).join(&hash);
    std::fs::create_dir_all(&own).unwrap();
    std::os::unix::fs::symlink(&secret, own.join("secret.txt")).unwrap();
    let fork = scene.fork(mallory, &[&own.join("secret.txt")]).await;
    assert_eq!(scene.files().directories(fork, false), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_file_outlives_its_thread_until_the_last_fork_is_deleted() {
    let scene = Scene::new();
    let (copied, prompt) = scene.sent("copied.txt").await;
    let (other, _) = scene.sent("other.txt").await;
    let first = scene.fork(scene.thread, &[&copied]).await;
    let second = scene.fork(first, &[&copied]).await;
    scene.files().forget(scene.thread).await;
    assert!(!other.exists());
    assert_eq!(std::fs::read(&copied).unwrap(), b"content");
    scene.files().keep(Some(second), &prompt).await.unwrap();
    // The sweep knows the thread no more, and leaves the file. It also leaves the mark by which the last fork removes it.
    let old = std::time::SystemTime::UNIX_EPOCH;
    let directory = copied.ancestors().nth(2).unwrap();
    for _ in 0..2 {
        for path in [directory.join(DELETED), directory.to_owned()] {
            File::open(&path).unwrap().set_modified(old).unwrap();
        }
        scene.files().sweep(&scene.context.log).await;
        assert!(copied.exists());
    }
    scene.files().forget(first).await;
    assert!(copied.exists() && scene.may_read(second, &copied));
    scene.files().forget(second).await;
    let root = scene.dir.path().join("attachments");
    assert_eq!(entries(&root).count(), 0);
}

#[tokio::test]
async fn attachments_of_a_fork_take_no_room_and_are_not_swept() {
    let scene = Scene::new();
    let (copied, _) = scene.sent("copied.txt").await;
    let fork = scene.fork(scene.thread, &[&copied]).await;
    let own = scene.files().directory(fork, false).unwrap();
    check_room(&own, 0).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH;
    for directory in [
        &own.join("origins"),
        &own.join("origins").join(scene.thread.to_string()),
    ] {
        File::open(directory).unwrap().set_modified(old).unwrap();
    }
    clear(&Mutex::default(), &own, scene.context.clock.now().wall);
    assert!(scene.may_read(fork, &copied) && copied.exists());
}
