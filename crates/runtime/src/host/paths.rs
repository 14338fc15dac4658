//! Resolves paths for policy decisions.
//!
//! In: paths as they were given, and the directories of a thread. Out: their real paths. Never: reads or changes a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_host::{Reserved, Sandbox, Workspace};
use acpd_model::{ErrorCode, Failure};
use acpd_policy::{Layers, RealPaths, Request, normalise};
use acpd_proto::projection::Spec;
use acpd_proto::thread::{Sight, Waiter};
use tokio::sync::mpsc;

use crate::host::callbacks::{Callbacks, HostMessage, directories};
use crate::host::{Host, blocking};

/// Returns a function that opens a thread's directories for a lookup, or reuses those of its agent. The function blocks
/// on the disk.
pub fn workspace(
    callbacks: Option<&Callbacks>,
    spec: &Spec,
    reserved: Arc<Reserved>,
) -> impl FnOnce() -> Arc<Workspace> + Send + 'static {
    let opened = callbacks.map(Callbacks::workspace);
    let directories = directories(spec);
    move || opened.unwrap_or_else(|| Arc::new(Workspace::open(directories.into_iter()).without(reserved)))
}

/// Resolves links in directories of a workspace, for a thread that is to work in them.
pub fn real_directories<'a>(directories: impl Iterator<Item = &'a str>) -> Vec<String> {
    let real = |given: &str| Path::new(given).canonicalize().unwrap_or_else(|_| given.into());
    let real = directories.map(real);
    real.map(|real| real.to_string_lossy().into_owned()).collect()
}

/// Opens the directories of a thread for its agent, which runs in `sandbox`. Each must be the directory that the
/// sandbox grants. Its real path must be the same as when the thread was created: an agent may have replaced the
/// directory with a link.
pub fn open(spec: &Spec, sandbox: Option<&Sandbox>) -> Result<Workspace, Failure> {
    let workspace = Workspace::open(directories(spec).into_iter());
    let Some(sandbox) = sandbox else {
        return Ok(workspace);
    };
    for (given, made) in spec.real_names() {
        if let Some(real) = workspace.real_directory(Path::new(given))
            && real.to_string_lossy() != made
        {
            return Err(Failure::agent(format!(
                "the workspace directory {given} leads to {} now; it led to {made} before",
                real.display()
            ))
            .with_detail(
                "an agent may have replaced it: look at what is there. Then put the directory back, or say where the thread is to \
                 work: acpd move THREAD DIRECTORY",
            ));
        }
    }
    match workspace.outside_of(sandbox) {
        None => Ok(workspace),
        Some(changed) => Err(Failure::agent(format!(
            "the workspace directory {} was replaced while the agent was being started; start it again",
            changed.display()
        ))),
    }
}

/// Resolves `paths`; the answer arrives as [`HostMessage::Resolved`].
pub fn look_up(
    host: Arc<dyn Host>,
    workspace: impl FnOnce() -> Arc<Workspace> + Send + 'static,
    waiter: Waiter,
    paths: Vec<String>,
    messages_tx: mpsc::Sender<Box<HostMessage>>,
) {
    let sight = match waiter {
        Waiter::Explain { sight, .. } => sight,
        Waiter::Call(_) | Waiter::UserCommand(_) => Sight::Everything,
    };
    tokio::spawn(async move {
        let work = move || Ok(real_paths(&workspace(), paths, sight));
        // The policy treats paths that could not be resolved as unknown.
        let real = blocking(&*host, work).await.unwrap_or_default();
        // A thread that has gone needs no answer.
        let _ = messages_tx
            .send(Box::new(HostMessage::Resolved { waiter, real }))
            .await;
    });
}

/// Resolves the files and programs of a request, relative to one directory. For commands that run outside a thread;
/// blocks on the disk.
pub fn with_real_paths(
    request: Request,
    layers: &Layers<'_>,
    directory: &str,
    reserved: Arc<Reserved>,
) -> Request {
    let workspace = Workspace::open(std::iter::once(PathBuf::from(directory))).without(reserved);
    let real = real_paths(&workspace, layers.paths(&request), Sight::Everything);
    request.with_real_paths(&real)
}

fn real_paths(workspace: &Workspace, paths: Vec<String>, sight: Sight) -> RealPaths {
    let mut found = RealPaths {
        roots: workspace.other_names(),
        ..RealPaths::default()
    };
    let is_seen = |path: &str| sight == Sight::Everything || workspace.contains(path);
    for path in paths {
        let name = normalise(&path, "/", None).unwrap_or_default();
        let is_named = is_seen(&name);
        let real = is_named.then(|| workspace.real_path(&path));
        // All hidden paths return the same error, even those that do not exist.
        let unseen = || {
            Err(Failure::new(
                ErrorCode::Forbidden,
                "it is outside of the thread's directories",
            ))
        };
        let real = real.filter(|real| {
            real.as_ref()
                .map_or(sight == Sight::Everything, |real| is_seen(real))
        });
        if is_named && workspace.reserves(&path) {
            found.reserved.insert(path.clone());
        }
        found.paths.insert(path, real.unwrap_or_else(unseen));
    }
    found
}
