//! Landlock rulesets on Linux.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::carve::Reach;
use super::error::SandboxError;
use super::grants::{Grants, Network};
use crate::file_id::FileId;
use crate::walk::Walk;

/// The newest version whose rights were reviewed. An older kernel enforces less.
const KNOWN: ABI = ABI::V7;

/// Rules that are loaded into the kernel, for processes that enter them.
#[derive(Debug)]
pub(super) struct Ruleset {
    rules: OwnedFd,
    /// The granted directory for each directory of the workspace, in order.
    workspace: Vec<Option<FileId>>,
}

/// Returns the version of Landlock, or 0 if there is none.
#[expect(unsafe_code, reason = "the crate does not say which version it found")]
pub(super) fn version() -> u32 {
    const VERSION: libc::c_int = 1;
    // SAFETY: with this flag the call takes no pointer and only returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

impl Ruleset {
    /// Creates the rules.
    pub(super) fn new(grants: &Grants) -> Result<Self, SandboxError> {
        if version() == 0 {
            return Err(SandboxError::Unavailable);
        }
        let walks = &grants.walks;
        let reach = Reach::new(walks, &grants.withheld).writable(grants.writable());
        let workspace: Vec<_> = grants
            .workspace
            .iter()
            .map(|directory| reach.workspace(directory))
            .collect::<Result<_, _>>()?;
        // Applies even if the workspace is inside of a directory that may be written.
        let readonly: &[PathBuf] = if grants.readonly { &workspace } else { &[] };
        let inside = Reach::new(walks, readonly);
        let reads = AccessFs::from_read(KNOWN);
        let mut created = create(&grants.network)?;
        for path in &grants.write {
            reach.carve(path, &mut |walk| {
                inside.cut(walk, &mut |part| allow(&mut created, part, writes()))
            })?;
        }
        for path in &grants.read {
            reach.carve(path, &mut |walk| allow(&mut created, walk, reads))?;
        }
        for walk in grants.spared.iter().filter_map(|path| walks.once(path)) {
            allow(&mut created, &walk, reads)?;
        }
        for walk in grants.target.iter().filter_map(|path| walks.along(path)) {
            allow(&mut created, &walk, writes())?;
        }
        let on_workspace = if grants.readonly { reads } else { writes() };
        let directories = grants.workspace.iter().map(|directory| walks.along(directory));
        let directories: Vec<_> = directories.collect();
        for walk in directories.iter().flatten() {
            allow(&mut created, walk, on_workspace)?;
        }
        let identities = directories.into_iter().map(|walk| walk?.id()).collect();
        let rules: Option<OwnedFd> = created.into();
        Ok(Self {
            rules: rules.ok_or(SandboxError::Unavailable)?,
            workspace: identities,
        })
    }

    /// Returns which directories of the workspace are granted; `None` for a directory that did not exist.
    pub(super) fn workspace(&self) -> &[Option<FileId>] {
        &self.workspace
    }

    /// Confines this process and all its descendants permanently. Only makes system calls.
    #[expect(
        unsafe_code,
        reason = "the crate's own call is not made for the time between fork and exec"
    )]
    pub(super) fn enter(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        // SAFETY: the system call only takes numbers.
        let entered = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0) };
        match entered {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl From<landlock::RulesetError> for SandboxError {
    fn from(error: landlock::RulesetError) -> Self {
        Self::System(error.to_string())
    }
}

/// All access rights except creating devices, with which root could access everything.
fn writes() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

/// Creates rules that use every restriction of the kernel and grant the network as configured.
fn create(network: &Network) -> Result<RulesetCreated, landlock::RulesetError> {
    let tcp = AccessNet::BindTcp | AccessNet::ConnectTcp;
    let mut rules = landlock::Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    if *network != Network::On {
        rules = rules.handle_access(tcp)?;
    }
    let mut created = rules.create()?;
    if let Network::Ports(ports) = network {
        for port in ports {
            created = created.add_rule(NetPort::new(*port, tcp))?;
        }
    }
    Ok(created)
}

/// Grants exactly what a walk has found.
fn allow(created: &mut RulesetCreated, walk: &Walk, access: BitFlags<AccessFs>) -> Result<(), SandboxError> {
    created.add_rule(PathBeneath::new(walk, access))?;
    Ok(())
}
