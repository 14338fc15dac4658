//! Fingerprints of grants, to compare sandboxes that do not keep their grants.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::grants::{Grants, Network};

/// The SHA-256 of grants. Different grants have different fingerprints, even if an agent chose some of the paths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(super) fn of(grants: &Grants) -> Self {
        let Grants {
            workspace,
            readonly,
            read,
            write,
            withheld,
            spared,
            target,
            network,
            walks: _,
        } = grants;
        let mut sha = Sha256::new();
        for paths in [workspace, read, write, withheld, spared] {
            add_paths(&mut sha, paths);
        }
        add_paths(&mut sha, target.as_slice());
        sha.update([u8::from(*readonly)]);
        match network {
            Network::On => sha.update([0]),
            Network::Off => sha.update([1]),
            Network::Ports(ports) => {
                sha.update([2]);
                for port in ports {
                    sha.update(port.to_le_bytes());
                }
            }
        }
        Self(sha.finalize().into())
    }
}

/// Adds paths with their lengths, so that no other list has the same bytes.
fn add_paths(sha: &mut Sha256, paths: &[PathBuf]) {
    sha.update(paths.len().to_le_bytes());
    for path in paths {
        let bytes = path.as_os_str().as_encoded_bytes();
        sha.update(bytes.len().to_le_bytes());
        sha.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_grants_have_another_fingerprint() {
        let paths = |named: &[&str]| named.iter().map(PathBuf::from).collect::<Vec<_>>();
        let with = |change: &dyn Fn(&mut Grants)| {
            let mut grants = Grants::default();
            change(&mut grants);
            grants
        };
        let all = [
            with(&|_| {}),
            with(&|grants| grants.workspace = paths(&["/a"])),
            with(&|grants| grants.readonly = true),
            with(&|grants| grants.read = paths(&["/a"])),
            with(&|grants| grants.read = paths(&["/a", "/b"])),
            with(&|grants| grants.read = paths(&["/a/b"])),
            with(&|grants| grants.write = paths(&["/a"])),
            with(&|grants| grants.withheld = paths(&["/a"])),
            with(&|grants| grants.spared = paths(&["/a"])),
            with(&|grants| grants.target = Some("/a".into())),
            with(&|grants| grants.network = Network::Off),
            with(&|grants| grants.network = Network::Ports(vec![])),
            with(&|grants| grants.network = Network::Ports(vec![1])),
        ];
        for (at, one) in all.iter().enumerate() {
            for (other_at, other) in all.iter().enumerate() {
                let same = Fingerprint::of(one) == Fingerprint::of(other);
                assert_eq!(same, at == other_at, "{one:?} {other:?}");
            }
        }
    }
}
