//! Landlock rulesets on Linux.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::carve::Reach;
use super::{FileId, Grants, Network, SandboxError};

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
        let reach = Reach::new(&grants.withheld).writable(grants.writable());
        let workspace: Vec<_> = grants
            .workspace
            .iter()
            .map(|directory| reach.workspace(directory))
            .collect::<Result<_, _>>()?;
        let mut write: Vec<_> = grants.write.iter().flat_map(|path| reach.carve(path)).collect();
        let mut read: Vec<_> = grants.read.iter().flat_map(|path| reach.carve(path)).collect();
        read.extend(grants.spared.iter().filter_map(|path| path.canonicalize().ok()));
        if grants.readonly {
            // Applies even if the workspace is inside of a directory that may be written.
            let inside = Reach::new(&workspace);
            write = write.iter().flat_map(|path| inside.carve(path)).collect();
        }
        let workspace: Vec<_> = workspace.iter().map(|directory| open(directory)).collect();
        let identities = workspace
            .iter()
            .map(|open| open.as_ref().and_then(identity))
            .collect();
        let on_workspace = if grants.readonly {
            AccessFs::from_read(KNOWN)
        } else {
            writes()
        };
        let created = create(&grants.network)?;
        let created = allow(created, &write, writes())?;
        let created = allow(created, &read, AccessFs::from_read(KNOWN))?;
        let created = workspace
            .into_iter()
            .flatten()
            .try_fold(created, |created, open| {
                created.add_rule(PathBeneath::new(open, on_workspace))
            })?;
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

fn allow(
    mut created: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    for path in paths {
        if let Some(open) = open(path) {
            created = created.add_rule(PathBeneath::new(open, access))?;
        }
    }
    Ok(created)
}

fn identity(open: &PathFd) -> Option<FileId> {
    let file = std::fs::File::from(open.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().map(|found| FileId::of(&found))
}

/// Opens a path to grant. A path that is gone, or has become a link, is not granted.
fn open(path: &Path) -> Option<PathFd> {
    let open = PathFd::new(path).ok()?;
    let descriptor = open.as_fd().as_raw_fd();
    let found = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    (found == path).then_some(open)
}
