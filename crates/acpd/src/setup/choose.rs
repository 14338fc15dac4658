//! The questions of `acpd setup`.
//!
//! In: what the user types. Out: choices. Never: accepts an invalid answer.

use crate::config::Chosen;
use crate::exit::Exit;
use crate::terminal::ask::{ask, repeat_until};
use crate::terminal::plain::plain_line;
use crate::terminal::print;

/// Asks which of the agents to use.
pub async fn agents(found: Vec<Chosen>) -> anyhow::Result<Vec<Chosen>> {
    if found.is_empty() {
        print::err("acpd: no agent was found on this host; the file gets none\n");
        return Ok(found);
    }
    print::err(&format!("Agents on this host:\n{}", list(&found)));
    let count = found.len();
    let picked = repeat_until("Which ones? Numbers, or Enter for all: ", |typed| {
        several(typed, count).ok_or_else(|| format!("type numbers from 1 to {count}, such as \"1 3\""))
    });
    let picked = picked.await?;
    Ok(found
        .into_iter()
        .enumerate()
        .filter(|(at, _)| picked.contains(at))
        .map(|(_, agent)| agent)
        .collect())
}

/// Returns the default agent: the named one, the one that the user chooses, or the first that can be started.
pub async fn default_agent(
    agents: &[Chosen],
    named: Option<&str>,
    asks: bool,
) -> anyhow::Result<Option<String>> {
    if let Some(name) = named {
        let is_chosen = agents.iter().any(|agent| agent.id == name);
        return if is_chosen {
            Ok(Some(name.to_owned()))
        } else {
            Err(Exit::Usage.error(format!(
                "unknown --default-agent {name:?}: the file has no such agent"
            )))
        };
    }
    let first = agents.iter().find(|agent| agent.is_ready).or(agents.first());
    let Some(first) = first else {
        return Ok(None);
    };
    if !asks || agents.len() == 1 {
        return Ok(first.is_ready.then(|| first.id.clone()));
    }
    let question = format!(
        "Which one is the default? Its name, or Enter for {}: ",
        plain_line(&first.id)
    );
    let answer = ask(&question).await?;
    match answer.trim() {
        "" => Ok(Some(first.id.clone())),
        name if agents.iter().any(|agent| agent.id == name) => Ok(Some(name.to_owned())),
        name => match one(name, agents.len()) {
            Some(at) => Ok(Some(agents[at].id.clone())),
            None => Err(Exit::Usage.error(format!(
                "{name:?} is not among the chosen agents; nothing was written"
            ))),
        },
    }
}

/// Returns the agents as a numbered list.
pub fn list(agents: &[Chosen]) -> String {
    let width = agents
        .iter()
        .map(|agent| agent.id.len())
        .max()
        .unwrap_or_default();
    let lines = (1..).zip(agents).map(|(number, agent)| {
        let note = if agent.is_ready {
            ""
        } else {
            " (needs its adapter)"
        };
        format!(
            "  {number}) {:width$}  {}{note}\n",
            plain_line(&agent.id),
            plain_line(&agent.title)
        )
    });
    lines.collect()
}

/// Reads a number from 1. Returns the place from 0.
pub fn one(typed: &str, count: usize) -> Option<usize> {
    let number: usize = typed.trim().parse().ok()?;
    number.checked_sub(1).filter(|at| *at < count)
}

/// Reads numbers from 1, with spaces or commas between them; all of them if there is none.
fn several(typed: &str, count: usize) -> Option<Vec<usize>> {
    let words: Vec<&str> = typed
        .split([' ', ',', '\t'])
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return Some((0..count).collect());
    }
    words.iter().map(|word| one(word, count)).collect()
}

#[cfg(test)]
mod tests {
    use acpd_catalog::{LaunchMethod, Presence};

    use super::*;

    #[test]
    fn numbers_are_read() {
        assert_eq!(several("", 3), Some(vec![0, 1, 2]));
        assert_eq!(several(" 1, 3\n", 3), Some(vec![0, 2]));
        for wrong in ["0", "4", "x", "1 x", "99999999999999999999", "-1"] {
            assert_eq!(several(wrong, 3), None, "{wrong}");
        }
        assert_eq!(one("2", 2), Some(1));
    }

    #[tokio::test]
    async fn the_default_is_the_first_that_can_be_started() {
        let agent = |id: &str, is_ready| Chosen {
            id: id.to_owned(),
            title: id.to_owned(),
            presence: Presence::Runs(LaunchMethod::Path),
            is_ready,
        };
        let agents = [agent("a", false), agent("b", true)];
        assert_eq!(
            default_agent(&agents, None, false).await.unwrap().as_deref(),
            Some("b")
        );
        assert_eq!(
            default_agent(&agents, Some("a"), false).await.unwrap().as_deref(),
            Some("a")
        );
        assert_eq!(default_agent(&agents[..1], None, false).await.unwrap(), None);
        assert_eq!(default_agent(&[], None, true).await.unwrap(), None);
        assert!(default_agent(&agents, Some("c"), false).await.is_err());
        assert_eq!(list(&agents), "  1) a  a (needs its adapter)\n  2) b  b\n");
    }
}
