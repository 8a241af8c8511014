//! Values that completions offer for names which the verbs check: rules, machines, queries.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use deburr_core::rule::RULES;
use deburr_cpu::{Arch, cpu_names, level_names};
use std::ffi::OsStr;

/// Reads any text; shells offer the names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offers(fn() -> Vec<String>);

/// The rules.
pub(crate) const RULE: Offers = Offers(|| RULES.iter().map(|rule| rule.id.to_owned()).collect());

/// What `--target` takes.
pub(crate) const MACHINE: Offers = Offers(|| machines(&["native"]));

/// What `--target` of `fix` and `--cpu` of `try` take.
pub(crate) const NAMED_MACHINE: Offers = Offers(|| machines(&[]));

/// What `--baseline` takes.
pub(crate) const BASELINE: Offers = Offers(|| machines(&["native", crate::names::CLAIM]));

/// Levels and CPUs, and some names more.
fn machines(more: &[&str]) -> Vec<String> {
    let of = |arch: Arch| level_names(arch).map(str::to_owned).chain(cpu_names(arch));
    crate::names::ARCHES.into_iter().flat_map(of).chain(more.iter().map(|&name| name.to_owned())).collect()
}

impl TypedValueParser for Offers {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
