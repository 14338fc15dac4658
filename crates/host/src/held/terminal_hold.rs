//! The holds of an agent's terminals.
//!
//! In: the hold of an agent, and the ids of its terminals. Out: their holds. Never: reveals the agent's token by a terminal's.

use sha2::{Digest, Sha256};

use super::Hold;
use crate::mark::Mark;

impl Hold {
    /// Returns the hold of a terminal of the agent with this one, by the id that the thread gives to it once. A daemon that
    /// has the agent's hold finds its terminals, and the log needs no other secret.
    #[must_use]
    pub fn of_terminal(&self, terminal_id: &str) -> Self {
        let mut secret = Sha256::new();
        secret.update(b"acpd terminal\0");
        secret.update(&self.token);
        secret.update([0]);
        secret.update(terminal_id);
        let secret = secret.finalize();
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (token, rest) = secret.split_at(16);
        // The number of a thread's terminal, of which few in a row run at once. Other ids are spread.
        let number = terminal_id
            .rsplit_once('_')
            .and_then(|(_, number)| number.parse().ok());
        let number = number.unwrap_or_else(|| rest.first().copied().map_or(0, u64::from));
        let mark = Mark::from_limit(self.mark).map(|mark| mark.of_terminal(number).limit());
        Self {
            shim: format!("{}-{}", self.shim, hex(rest.get(..8).unwrap_or_default())),
            token: hex(token),
            mark: mark.unwrap_or(self.mark),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hold_of_a_terminal_follows_from_its_agent_and_its_id() {
        let agent = Hold::new();
        let one = agent.of_terminal("term_1");
        assert_eq!(one, agent.of_terminal("term_1"));
        let others = [
            agent.clone(),
            agent.of_terminal("term_2"),
            agent.of_terminal("term_11"),
            Hold::new().of_terminal("term_1"),
        ];
        for other in others {
            assert!(one.shim != other.shim && one.token != other.token);
        }
        assert_ne!(one.mark, agent.of_terminal("term_2").mark);
        assert!(one.token.len() == 32);
        assert!(one.shim.starts_with(&format!("{}-", agent.shim)) && one.shim.len() <= 64);
        // An id is never a part of a path.
        for id in ["", "../x", "a/b", &"x".repeat(1000), "term_-1", "é"] {
            let hold = agent.of_terminal(id);
            assert!(hold.shim.len() <= 64 && !hold.shim.contains(['/', '.']), "{id}");
        }
    }
}
