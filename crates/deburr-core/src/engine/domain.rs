//! The lattice that an analysis works on.

/// A join semilattice with a least element. Elements may be interned: what interns them is the `Store`.
pub(crate) trait Domain: Clone + PartialEq {
    /// What elements are kept in; `()` where they stand by themselves.
    type Store;

    /// The least element: no execution.
    #[cfg(test)]
    fn bottom() -> Self;

    /// Raises this element to the least upper bound of both. Returns whether it changed.
    fn join(&mut self, other: &Self, store: &mut Self::Store) -> bool;

    /// Raises this element to some upper bound of both, so that every chain of such steps ends.
    fn widen(&mut self, other: &Self, store: &mut Self::Store) -> bool;

    /// Whether the other element allows all that this one does.
    #[cfg(test)]
    fn leq(&self, other: &Self, store: &mut Self::Store) -> bool {
        let mut joined = other.clone();
        !joined.join(self, store)
    }
}
