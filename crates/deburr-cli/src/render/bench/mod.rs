//! The record of a benchmark → tables, charts, comma-separated values and a page. Nothing is computed here.

mod chart;
mod csv;
mod curves;
mod figure;
mod html;
mod scale;
mod tables;

pub(crate) use chart::charts;
pub(crate) use csv::csv;
pub(crate) use html::page;
pub(crate) use tables::{list, rate, sentences, side_by_side, text};
