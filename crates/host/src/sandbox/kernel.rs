//! The restrictions that the host's kernel can enforce.

use super::grants::Network;

/// A version of Landlock; 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel(u32);

/// The restrictions that a version lacks: the first version that has them, and a description.
const GAPS: [(u32, &str); 3] = [
    (3, "files outside of the lists can be truncated"),
    (5, "devices outside of the lists can be configured (ioctl)"),
    (
        6,
        "processes outside of the sandbox can be signalled, and reached by abstract sockets",
    ),
];

/// The first version that restricts TCP.
const TCP: u32 = 4;

impl Kernel {
    /// Returns the version of this host.
    pub fn here() -> Self {
        Self(super::landlock::version())
    }

    /// Returns whether the kernel supports sandboxes at all.
    pub fn has_sandboxes(self) -> bool {
        self.0 > 0
    }

    /// Returns the version of Landlock.
    pub fn version(self) -> u32 {
        self.0
    }

    /// Describes the restrictions of a sandbox that the kernel does not enforce.
    pub fn gaps(self, network: &Network) -> Vec<&'static str> {
        let tcp = (self.0 < TCP && *network != Network::On).then_some("TCP is not restricted");
        let files = GAPS.iter().filter(|(since, _)| self.0 < *since);
        files.map(|(_, gap)| *gap).chain(tcp).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_the_kernel_does_not_enforce_are_named() {
        assert_eq!(Kernel(7).gaps(&Network::Off), [""; 0]);
        assert_eq!(Kernel(5).gaps(&Network::Off).len(), 1);
        assert_eq!(Kernel(3).gaps(&Network::On).len(), 2);
        let old = Kernel(1).gaps(&Network::Ports(vec![443]));
        assert_eq!(old.len(), 4);
        assert!(old.contains(&"TCP is not restricted"));
        assert!(!Kernel(0).has_sandboxes());
    }
}
