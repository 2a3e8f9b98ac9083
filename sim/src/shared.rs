//! Values that worlds share until one of them changes: an exhaustive search holds hundreds of thousands of worlds that differ in
//! little.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that reads and changes like its own; a clone costs a count, the first change behind it a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shared<T>(Arc<T>);

impl<T: Clone> Shared<T> {
    /// The value itself.
    pub fn into_inner(self) -> T {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_its_own_world_only() {
        let mut mine = Shared::from(vec![1]);
        let theirs = mine.clone();
        mine.push(2);
        assert_eq!((mine.into_inner(), theirs.into_inner()), (vec![1, 2], vec![1]));
    }
}
