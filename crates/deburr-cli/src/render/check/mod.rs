//! What `deburr check` found → text for people, or one of the formats for programs.

pub(crate) mod answer;
pub(crate) mod concise;
#[cfg(test)]
pub(crate) mod example;
pub(crate) mod github;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod lintian;
mod location;
pub(crate) mod renderer;
pub(crate) mod sarif;
pub(crate) mod text;
pub(crate) mod totals;
pub(crate) mod variant;
mod with_field;
