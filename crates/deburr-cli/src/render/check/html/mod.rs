//! The page of `deburr check`: reports → one HTML file to look at, search and print.
//!
//! In: the calls of [`Renderer`](super::renderer::Renderer). Out: a skeleton, the data of each file when it comes, the sums of
//! the run, and the script that draws them. [`record`] documents the data. The script in `page/` is written by hand and needs
//! no other; it makes elements and sets their text, and never reads text as HTML.

mod code;
mod record;
pub(crate) mod renderer;
pub(crate) mod room;
mod rows;
#[cfg(test)]
mod tests;
mod texts;
