//! What identifies a held process in the log.
//!
//! In: randomness. Out: names, tokens and marks, each used for one process. Never: prints a token.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::{Deserialize, Serialize};

use crate::mark::Mark;

/// What identifies a held process. The log has it before the shim starts, so a daemon that is killed in between leaves no shim behind
/// that the next one does not know. `Debug` does not print the token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Name of the shim's socket.
    pub shim: String,
    /// The secret of daemons that may attach, as 32 hexadecimal digits.
    pub token: String,
    /// The mark of the agent, as a limit.
    pub mark: u64,
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("shim", &self.shim)
            .field("mark", &self.mark)
            .finish_non_exhaustive()
    }
}

impl Default for Hold {
    fn default() -> Self {
        Self::new()
    }
}

impl Hold {
    /// Returns a new one, for a process of the daemon whose supervision has begun.
    pub fn new() -> Self {
        let [name, mark, high, low] = random();
        Self {
            shim: format!("s{name:016x}"),
            token: format!("{high:016x}{low:016x}"),
            mark: Mark::held(mark).limit(),
        }
    }

    /// Returns the mark; `None` if the log has something else.
    #[cfg(target_os = "linux")]
    pub(super) fn agent_mark(&self) -> Option<Mark> {
        Mark::from_limit(self.mark)
    }

    /// Returns the token; `None` if the log has something else.
    #[cfg(target_os = "linux")]
    pub(super) fn shim_token(&self) -> Option<acpd_shim::Token> {
        let is_whole = self.token.len() == 32 && self.token.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u128::from_str_radix(&self.token, 16).ok();
        number.filter(|_| is_whole).map(acpd_shim::Token)
    }
}

fn random() -> [u64; 4] {
    let mut bytes = [0; 32];
    if getrandom::fill(&mut bytes).is_err() {
        // Hashers have random keys as well. They end the process where the system has no randomness at all.
        return std::array::from_fn(|_| RandomState::new().hash_one(()));
    }
    let mut numbers = [0; 4];
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
        *number = bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_and_is_read_back() {
        let (one, other) = (Hold::new(), Hold::new());
        assert_ne!(one.shim, other.shim);
        assert_ne!(one.token, other.token);
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Hold>(&text).unwrap(), one);
        assert_eq!((one.shim.len(), one.token.len()), (17, 32));
    }

    #[test]
    fn a_token_is_not_printed() {
        let hold = Hold::new();
        assert!(!format!("{hold:?}").contains(&hold.token));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_invalid_token_or_mark_is_refused() {
        let hold = Hold::new();
        assert!(hold.shim_token().is_some() && hold.agent_mark().is_some());
        for token in [
            "",
            "+0000000000000000000000000000001",
            "0",
            &"g".repeat(32),
            &"0".repeat(33),
        ] {
            let token = token.to_owned();
            assert_eq!(
                Hold {
                    token,
                    ..hold.clone()
                }
                .shim_token(),
                None
            );
        }
        for mark in [0, u64::MAX] {
            assert_eq!(Hold { mark, ..hold.clone() }.agent_mark(), None);
        }
    }
}
