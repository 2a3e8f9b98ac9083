//! The distribution of a figure.

use serde::Serialize;

/// Most rows of a histogram.
const ROWS_MAX: usize = 10;

/// Values, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    values: Vec<u64>,
}

/// What is said of a distribution in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Digest {
    /// How many values.
    pub count: usize,
    /// The smallest.
    pub min: u64,
    /// Half of the values are not above it.
    pub median: u64,
    /// Nine of ten values are not above it.
    pub p90: u64,
    /// The largest.
    pub max: u64,
}

impl Spread {
    /// The distribution of these values.
    #[must_use]
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self { values }
    }

    /// In a line; `None` where there is no value.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        let (min, max) = (*self.values.first()?, *self.values.last()?);
        Some(Digest { count: self.values.len(), min, median: self.rank(50)?, p90: self.rank(90)?, max })
    }

    /// The smallest value that at least this many of a hundred values do not exceed.
    fn rank(&self, percent: usize) -> Option<u64> {
        let place = (self.values.len() * percent).div_ceil(100).max(1) - 1;
        self.values.get(place).copied()
    }

    /// How many values lie in each of a few equally wide ranges: from, to (inclusive), count. A range is one value wide where that
    /// is enough.
    #[must_use]
    pub fn histogram(&self) -> Vec<(u64, u64, usize)> {
        let Some(digest) = self.digest() else { return Vec::new() };
        let width = (digest.max - digest.min) / ROWS_MAX as u64 + 1;
        let mut rows = Vec::new();
        let mut left = self.values.as_slice();
        let mut from = digest.min;
        while !left.is_empty() {
            let to = from.saturating_add(width - 1);
            let count = left.partition_point(|value| *value <= to);
            rows.push((from, to, count));
            left = left.get(count..).unwrap_or_default();
            from = to.saturating_add(1);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_values_that_occur() {
        let digest = Spread::of((1..=10).rev().collect()).digest().unwrap();
        assert_eq!(digest, Digest { count: 10, min: 1, median: 5, p90: 9, max: 10 });
        let one = Spread::of(vec![7]).digest().unwrap();
        assert_eq!((one.min, one.median, one.p90, one.max), (7, 7, 7, 7));
        assert_eq!(Spread::of(vec![]).digest(), None);
    }

    #[test]
    fn every_value_is_in_one_row() {
        for values in [vec![], vec![3], vec![0, 0, 9], (0..1_000).collect(), vec![0, u64::MAX]] {
            let spread = Spread::of(values.clone());
            let rows = spread.histogram();
            assert_eq!(rows.iter().map(|(_, _, count)| count).sum::<usize>(), values.len());
            assert!(rows.len() <= ROWS_MAX, "{rows:?}");
            assert!(rows.iter().zip(rows.iter().skip(1)).all(|(a, b)| a.1 < b.0), "{rows:?}");
        }
        assert_eq!(Spread::of(vec![1, 1, 2]).histogram(), [(1, 1, 2), (2, 2, 1)]);
    }
}
