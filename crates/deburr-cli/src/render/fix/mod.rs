//! What `deburr fix` found and wrote → text for people, or a document whose schema is `schema-fix.json`.

mod insns;
pub(crate) mod json;
pub(crate) mod manifest;
pub(crate) mod outcome;
pub(crate) mod renderer;
pub(crate) mod summary;
pub(crate) mod text;
