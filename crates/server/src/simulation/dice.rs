//! Pseudo-random numbers, which are the same in each run of a seed.

/// A random number generator.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Seeds the generator.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d);
        dice.roll(2);
        dice
    }

    /// Creates another generator, whose seed comes from this one.
    pub fn split(&mut self) -> Self {
        Self::new(self.next())
    }

    /// Returns a number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        (self.next() >> 33) % sides
    }

    /// Returns `true` in `percent` of cases.
    pub fn happens(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }

    /// Returns a random element, or `None` if there is none.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let sides = from.len() as u64;
        let at = (sides > 0).then(|| self.roll(sides))?;
        from.get(usize::try_from(at).ok()?).cloned()
    }

    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0
    }
}
