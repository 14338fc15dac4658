//! Where the paths lead that a policy decides on.
//!
//! In: paths as they were named, and the directories of a thread. Out: their real names. Never: reads or changes a file.

use std::path::PathBuf;
use std::sync::Arc;

use acpd_host::Workspace;
use acpd_proto::policy::{Layers, RealPaths, Request};
use acpd_proto::projection::Spec;
use acpd_proto::thread::Whose;
use tokio::sync::mpsc;

use crate::machine::{FromMachine, Machine};

/// Looks `paths` up, in the workspace that the thread's agent has, else in one opened for it; the answer comes as
/// [`FromMachine::Resolved`].
pub fn look_up(
    host: Option<&Machine>,
    spec: &Spec,
    whose: Whose,
    paths: Vec<String>,
    told: mpsc::Sender<Box<FromMachine>>,
) {
    let opened = host.map(Machine::workspace);
    let directories = directories(spec);
    tokio::spawn(async move {
        let work = move || {
            let workspace = opened.unwrap_or_else(|| Arc::new(Workspace::open(directories.into_iter())));
            real_paths(&workspace, paths)
        };
        // What was not found out is decided on as unknown.
        let real = tokio::task::spawn_blocking(work).await.unwrap_or_default();
        // A thread that is gone decides nothing.
        let _ = told.send(Box::new(FromMachine::Resolved { whose, real })).await;
    });
}

/// A request with what its files and programs really are, seen from one directory. For a look from outside a thread;
/// waits for the disk.
pub fn with_real_paths(request: Request, layers: &Layers<'_>, directory: &str) -> Request {
    let workspace = Workspace::open(std::iter::once(PathBuf::from(directory)));
    let real = real_paths(&workspace, layers.paths(&request));
    request.with_real_paths(&real)
}

/// The workspace's directories, as they were named.
pub fn directories(spec: &Spec) -> Vec<PathBuf> {
    std::iter::once(&spec.cwd)
        .chain(&spec.additional_directories)
        .map(PathBuf::from)
        .collect()
}

fn real_paths(workspace: &Workspace, paths: Vec<String>) -> RealPaths {
    let paths = paths.into_iter().map(|path| {
        let real = workspace.real_path(&path);
        (path, real)
    });
    RealPaths {
        paths: paths.collect(),
        roots: workspace.other_names(),
    }
}
