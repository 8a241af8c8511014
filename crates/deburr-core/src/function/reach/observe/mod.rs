//! Observation: which features the file can know of at all, by its own code or by a value from outside.
//!
//! What nobody tests cannot be guarded: where no code of the file looks at a feature ([`told`]), and nothing that comes from
//! outside can carry it ([`carriers`]), a function that uses it runs wherever it is reached ([`guardable`]). A lost test
//! proves nothing of such a feature either.

pub(super) mod carriers;
pub(super) mod guardable;
pub(super) mod told;
