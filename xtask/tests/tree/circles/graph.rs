//! Which files use which, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};

/// Names with what each uses.
#[derive(Default)]
pub struct Graph {
    /// Lines of each.
    lines: BTreeMap<String, usize>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Adds a name.
    pub fn add(&mut self, name: &str, lines: usize) {
        *self.lines.entry(name.to_owned()).or_default() += lines;
        self.uses.entry(name.to_owned()).or_default();
    }

    /// Notes that one uses the other.
    pub fn connect(&mut self, from: &str, to: &str) {
        if from != to {
            self.uses
                .entry(from.to_owned())
                .or_default()
                .insert(to.to_owned());
        }
    }

    /// Returns who uses whom.
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str)> {
        self.uses
            .iter()
            .flat_map(|(from, all)| all.iter().map(move |to| (from.as_str(), to.as_str())))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.lines.keys().map(String::as_str)
    }

    /// Returns the lines of a name.
    pub fn lines_of(&self, name: &str) -> usize {
        self.lines.get(name).copied().unwrap_or_default()
    }

    /// Returns the lines of some names.
    pub fn lines(&self, names: &[String]) -> usize {
        names.iter().map(|name| self.lines_of(name)).sum()
    }

    /// Returns the lines of all.
    pub fn all_lines(&self) -> usize {
        self.lines.values().sum()
    }

    fn reached(&self, from: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open = vec![from];
        while let Some(name) = open.pop() {
            for next in self.uses.get(name).into_iter().flatten() {
                if found.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        found
    }

    /// Returns the circles: the largest sets in which each reaches each.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.names().map(|name| (name, self.reached(name))).collect();
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for name in self.names() {
            let mates: Vec<String> = reached[name]
                .iter()
                .filter(|other| reached[*other].contains(name))
                .map(|other| (*other).to_owned())
                .collect();
            if mates.len() > 1 && !seen.contains(name) {
                seen.extend(mates.iter().cloned());
                found.push(mates);
            }
        }
        found
    }

    /// Returns on which floor each is: one above the highest that it uses. Only for graphs without circles.
    pub fn floors(&self) -> BTreeMap<&str, usize> {
        let mut floors: BTreeMap<&str, usize> = self.names().map(|name| (name, 1)).collect();
        for _ in 0..self.lines.len() {
            for (from, to) in self.edges() {
                let floor = floors[to] + 1;
                if floors[from] < floor {
                    floors.insert(from, floor);
                }
            }
        }
        floors
    }
}
