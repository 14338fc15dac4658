//! Figures, and whether they meet their targets.

use std::fmt;

use serde_json::{Value, json};

/// One measured figure.
#[derive(Debug, Clone)]
pub struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    target: Option<Target>,
}

/// The target of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// At most this value.
    AtMost(f64),
    /// At least this value.
    AtLeast(f64),
}

/// All figures of a run.
#[derive(Debug, Default)]
pub struct Report {
    figures: Vec<Figure>,
}

impl Report {
    /// Adds a figure, and prints it at once, since a run takes long.
    pub fn add(&mut self, name: &str, value: f64, unit: &'static str, target: Option<Target>) {
        let figure = Figure {
            name: name.to_owned(),
            value,
            unit,
            target,
        };
        println!("{figure}");
        self.figures.push(figure);
    }

    /// Returns the figures as JSON.
    pub fn to_json(&self) -> String {
        let figures: Vec<Value> = self
            .figures
            .iter()
            .map(|f| {
                let (kind, bound) = match f.target {
                    Some(Target::AtMost(bound)) => (Some("at most"), Some(bound)),
                    Some(Target::AtLeast(bound)) => (Some("at least"), Some(bound)),
                    None => (None, None),
                };
                json!({ "name": f.name, "value": f.value, "unit": f.unit, "target": kind, "bound": bound, "met": f.met() })
            })
            .collect();
        format!("{:#}\n", json!({ "figures": figures }))
    }
}

impl Figure {
    fn met(&self) -> Option<bool> {
        self.target.map(|target| match target {
            Target::AtMost(bound) => self.value <= bound,
            Target::AtLeast(bound) => self.value >= bound,
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<52} {:>14} {:<10}",
            self.name,
            pretty(self.value),
            self.unit
        )?;
        match self.target {
            Some(Target::AtMost(bound)) => write!(f, " ≤ {:<10}", pretty(bound))?,
            Some(Target::AtLeast(bound)) => write!(f, " ≥ {:<10}", pretty(bound))?,
            None => {}
        }
        match self.met() {
            Some(true) => write!(f, " ok"),
            Some(false) => write!(f, " MISSED"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missed: Vec<_> = self
            .figures
            .iter()
            .filter(|figure| figure.met() == Some(false))
            .collect();
        match missed.len() {
            0 => writeln!(f, "every target is met"),
            n => {
                writeln!(f, "{n} missed:")?;
                missed.iter().try_for_each(|figure| writeln!(f, "  {figure}"))
            }
        }
    }
}

fn pretty(value: f64) -> String {
    if value >= 1000.0 {
        let digits = format!("{value:.0}");
        let groups: Vec<_> = digits
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(|g| String::from_utf8_lossy(g).into_owned())
            .collect();
        groups.join(",")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}
