//! Inputs derived from known ones, deterministic for a seed.

/// Derives inputs from a corpus.
#[derive(Debug)]
pub struct Mutator(u64);

impl Mutator {
    /// Creates a mutator whose inputs depend only on `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 1).unwrap_or_default() % sides.max(1)
    }

    /// Returns one of `corpus` with some bytes changed, and fragments of the others or of `words` inserted.
    pub fn derive(&mut self, corpus: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
        let mut input = match corpus.len() {
            0 => Vec::new(),
            count => corpus[self.roll(count)].clone(),
        };
        for _ in 0..=self.roll(6) {
            let at = self.roll(input.len() + 1);
            match self.roll(6) {
                0 => input.truncate(at),
                1 if at < input.len() => drop(input.remove(at)),
                2 if at < input.len() => input[at] ^= 1 << self.roll(8),
                3 if at < input.len() => {
                    let end = at + self.roll(input.len() - at + 1);
                    let piece = input[at..end].to_vec();
                    input.splice(at..at, piece);
                }
                4 if !corpus.is_empty() => {
                    let other = &corpus[self.roll(corpus.len())];
                    let from = self.roll(other.len() + 1);
                    input.truncate(at);
                    input.extend_from_slice(&other[from..]);
                }
                _ if !words.is_empty() => {
                    let word = words[self.roll(words.len())];
                    input.splice(at..at, word.bytes());
                }
                _ => {}
            }
        }
        input
    }
}
