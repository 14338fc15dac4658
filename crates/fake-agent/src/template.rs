//! Messages that differ only in a counter, generated at memory speed.

/// Placeholder for the counter, with the same number of digits.
pub const COUNTER: &str = "@@@@@@@@@@";

const DIGITS: usize = COUNTER.len();

/// Minimum size of one write, in bytes, except the last.
const BATCH: usize = 128 << 10;

/// A line with its newline, and the positions of the counter.
#[derive(Debug)]
pub struct Template {
    line: Vec<u8>,
    marks: Vec<usize>,
}

impl Template {
    /// Builds a template from a message that contains [`COUNTER`] at least once. Replaces `pad` by as many `x` as make
    /// the line `bytes` long with its newline; a longer message stays unpadded.
    pub fn new(message: &str, pad: &str, bytes: usize) -> Self {
        let natural = message.len() - pad.len() + 1;
        let message = message.replacen(pad, &"x".repeat(bytes.saturating_sub(natural)), 1);
        let marks = message.match_indices(COUNTER).map(|(at, _)| at).collect();
        let mut line = message.into_bytes();
        line.push(b'\n');
        Self { line, marks }
    }

    /// Returns the line with this counter.
    pub fn line(&self, counter: u64) -> Vec<u8> {
        let mut line = self.line.clone();
        self.patch(&mut line, counter);
        line
    }

    /// Writes the lines 1 to `n`, in batches; stops at the first error of `write`.
    pub fn flood<E>(&self, n: u64, mut write: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let at_once = BATCH.div_ceil(self.line.len());
        let mut batch = self
            .line
            .repeat(at_once.min(usize::try_from(n).unwrap_or(usize::MAX)));
        let mut counter = 0;
        while counter < n {
            let mut filled = 0;
            for line in batch.chunks_exact_mut(self.line.len()) {
                if counter == n {
                    break;
                }
                counter += 1;
                filled += line.len();
                self.patch(line, counter);
            }
            write(&batch[..filled])?;
        }
        Ok(())
    }

    fn patch(&self, line: &mut [u8], counter: u64) {
        let mut digits = [b'0'; DIGITS];
        let mut rest = counter;
        for digit in digits.iter_mut().rev() {
            *digit = b"0123456789"[usize::try_from(rest % 10).unwrap_or_default()];
            rest /= 10;
        }
        for mark in &self.marks {
            line[*mark..mark + DIGITS].copy_from_slice(&digits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_padded() {
        let template = Template::new(r#"{"n":"@@@@@@@@@@","m":"@@@@@@@@@@","pad":"~pad"}"#, "~pad", 60);
        let line = String::from_utf8(template.line(42)).unwrap();
        assert_eq!(line.len(), 60);
        assert!(
            line.starts_with(r#"{"n":"0000000042","m":"0000000042","pad":"xx"#),
            "{line}"
        );
        assert!(line.ends_with("x\"}\n"), "{line}");
    }

    #[test]
    fn a_flood_has_every_line_once() {
        for n in [0, 1, 5_000, 20_011] {
            let template = Template::new("@@@@@@@@@@~", "~", 30);
            let (mut all, mut writes) = (Vec::new(), 0);
            let done: Result<(), ()> = template.flood(n, |bytes| {
                all.extend_from_slice(bytes);
                writes += 1;
                Ok(())
            });
            assert_eq!(done, Ok(()));
            assert_eq!(all.len() as u64, n * 30);
            let last = all
                .chunks(30)
                .last()
                .map(|line| String::from_utf8_lossy(&line[..10]).into_owned());
            assert_eq!(last, (n > 0).then(|| format!("{n:010}")));
            assert!(writes <= n * 30 / (64 << 10) + 1);
        }
    }
}
