//! The record of a benchmark → tables, charts, comma-separated values and a page. Nothing is computed here.

mod chart;
mod csv;
mod curves;
mod evidence;
mod figure;
mod html;
mod predict;
mod scale;
mod tables;

pub(crate) use chart::charts;
pub(crate) use csv::csv;
pub(crate) use evidence::text as evidence;
pub(crate) use html::page;
pub(crate) use predict::text as forecast;
pub(crate) use tables::{list, sentences, side_by_side, text};
