//! A table with one line for each operation, one column for each size, and the exponent with which the cost grows. 0 means
//! that the size does not matter, 1 that the cost is proportional to it.

use std::fmt;

/// One measured figure.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// What is measured, and its unit.
    pub name: &'static str,
    /// The figure.
    pub value: f64,
    /// The highest figure that is acceptable at the largest size.
    pub most: Option<f64>,
}

/// Returns a figure with a bound.
pub fn bounded(name: &'static str, value: f64, most: f64) -> Figure {
    Figure {
        name,
        value,
        most: Some(most),
    }
}

/// Returns a figure without a bound.
pub fn free(name: &'static str, value: f64) -> Figure {
    Figure {
        name,
        value,
        most: None,
    }
}

/// The figures of one subject at all sizes.
#[derive(Debug)]
pub struct Table {
    title: &'static str,
    sizes: Vec<(String, f64)>,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    name: &'static str,
    most: Option<f64>,
    values: Vec<f64>,
}

impl Table {
    /// Measures all sizes; the largest is left out if `quick`. `measure` returns a label and the figures of one size.
    pub fn measured(
        title: &'static str,
        quick: bool,
        sizes: [u64; 3],
        measure: impl Fn(u64) -> anyhow::Result<(String, Vec<Figure>)>,
    ) -> anyhow::Result<Self> {
        let mut table = Self::new(title);
        for &size in &sizes[..if quick { 2 } else { 3 }] {
            let (label, figures) = measure(size)?;
            table.add(label, size, figures);
        }
        Ok(table)
    }

    fn new(title: &'static str) -> Self {
        Self {
            title,
            sizes: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Adds a column. All columns have the same figures in the same order.
    #[expect(clippy::cast_precision_loss, reason = "a size")]
    fn add(&mut self, label: String, size: u64, figures: Vec<Figure>) {
        self.sizes.push((label, size as f64));
        for (at, Figure { name, value, most }) in figures.into_iter().enumerate() {
            match self.lines.get_mut(at) {
                Some(line) => line.values.push(value),
                None => self.lines.push(Line {
                    name,
                    most,
                    values: vec![value],
                }),
            }
        }
    }

    /// Returns the names of the lines that exceed their bounds.
    pub fn missed(&self) -> impl Iterator<Item = String> {
        let missed = self.lines.iter().filter(|line| line.is_missed());
        missed.map(|line| format!("{}: {}", self.title, line.name))
    }

    fn growth(&self, line: &Line) -> Option<f64> {
        let (first, last) = (self.sizes.first()?.1, self.sizes.last()?.1);
        // A difference below the resolution of a measurement is no growth.
        let value = |at: Option<&f64>| at.map(|value| value.max(0.1));
        let growth = value(line.values.last())? / value(line.values.first())?;
        (last > first).then(|| growth.log(last / first))
    }
}

impl Line {
    fn is_missed(&self) -> bool {
        let last = self.values.last().copied().unwrap_or_default();
        self.most.is_some_and(|most| last > most)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} |", self.title)?;
        for (label, _) in &self.sizes {
            write!(f, " {label} |")?;
        }
        writeln!(f, " Growth | Bound |")?;
        writeln!(f, "|---|{}---|---|", "---|".repeat(self.sizes.len()))?;
        for line in &self.lines {
            write!(f, "| {} |", line.name)?;
            for value in &line.values {
                match value {
                    large if *large >= 100.0 => write!(f, " {large:.0} |")?,
                    _ => write!(f, " {value:.1} |")?,
                }
            }
            match self.growth(line) {
                Some(growth) => write!(f, " {growth:.2} |")?,
                None => write!(f, " |")?,
            }
            match line.most {
                Some(most) => write!(f, " ≤ {most}")?,
                None => write!(f, " ")?,
            }
            writeln!(f, "{} |", if line.is_missed() { " **missed**" } else { "" })?;
        }
        Ok(())
    }
}
