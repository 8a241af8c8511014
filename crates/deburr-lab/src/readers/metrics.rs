//! The metrics that a program reports: their names, units and directions, in the order of their weight.
//!
//! Each reader declares its own [`Metrics`]; [`super::gathered`] finds there what a value is of.

use super::quantity::Quantity;
use crate::stats::Direction;

/// The metrics of one program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metrics {
    fixed: &'static [(&'static str, Quantity)],
    /// Unit and direction by the whole name, of metrics that each report names itself; `None`: it has none of
    /// that name.
    others: fn(&str) -> Option<(String, Direction)>,
}

impl Metrics {
    /// Those of a program whose reports all have the same ones.
    pub(super) const fn fixed(fixed: &'static [(&'static str, Quantity)]) -> Metrics {
        Metrics { fixed, others: |_| None }
    }

    /// Those of a program whose reports may name further ones.
    pub(super) const fn open(
        fixed: &'static [(&'static str, Quantity)],
        others: fn(&str) -> Option<(String, Direction)>,
    ) -> Metrics {
        Metrics { fixed, others }
    }

    /// Names of the fixed ones, without subject and percentile.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        self.fixed.iter().map(|(name, _)| *name)
    }

    /// Unit and direction of a metric by its name; `None`: there is none of that name.
    pub(super) fn quantity(self, name: &str) -> Option<(String, Direction)> {
        let (_, metric) = parts(name);
        match self.fixed.iter().find(|(known, _)| *known == metric) {
            Some((_, Quantity { unit, direction })) => Some(((*unit).to_owned(), *direction)),
            None => (self.others)(name),
        }
    }

    /// The rank of a metric among those of its subject: first what decides, then what goes with it.
    pub(super) fn rank(self, metric: &str) -> usize {
        self.fixed.iter().position(|(known, _)| *known == metric).unwrap_or(self.fixed.len())
    }
}

/// Subject and metric of a name, without its percentile.
pub(super) fn parts(name: &str) -> (&str, &str) {
    let name = match name.rsplit_once(":p") {
        Some((rest, percentile)) if percentile.parse::<f64>().is_ok() => rest,
        _ => name,
    };
    name.rsplit_once(':').unwrap_or(("", name))
}
