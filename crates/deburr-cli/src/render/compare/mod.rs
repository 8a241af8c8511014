//! What `deburr compare` found → text, JSON, tables and a page. Nothing is computed here.

pub(crate) mod benchstat;
pub(crate) mod document;
pub(crate) mod html;
pub(crate) mod hyperfine;
pub(crate) mod json;
pub(crate) mod log;
mod provenance;
pub(crate) mod quantity;
mod strip;
pub(crate) mod table;
pub(crate) mod text;
