//! The page of `deburr check`: reports → one HTML file to look at, search and print.
//!
//! In: the calls of [`Renderer`](super::renderer::Renderer). Out: the data of each file when it comes, and the sums of the run,
//! in a page that [`view`](crate::render::page::view) draws. [`record`] documents the data.

mod record;
pub(crate) mod renderer;
mod rows;
#[cfg(test)]
mod tests;
