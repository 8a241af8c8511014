//! Names that the user writes: machines, after `--target` and `--baseline` → features; rules → their ids. The
//! one place of the command that queries `deburr-cpu` about names and about this machine.

use deburr_core::rule::{self, RULES};
use deburr_cpu::{Arch, FeatureSet, Target};
use deburr_text::one_line;

/// The architectures that deburr reads.
pub(crate) const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

/// What `--baseline` takes instead of a level: each file is held to what its package says of itself.
pub(crate) const CLAIM: &str = "claim";

/// The machines of an option, no more than one for each architecture.
pub(crate) fn machines_named(option: &str, names: &[String]) -> Result<Vec<Target>, String> {
    let mut machines: Vec<Target> = Vec::new();
    for name in names {
        let machine = Target::parse(name).map_err(|error| {
            format!("{option}: {} (`deburr cpu` lists the names)", one_line(&error.to_string()))
        })?;
        if machines.iter().any(|other| other.arch == machine.arch) {
            return Err(format!(
                "{option} {name}: {} was given already; give one per architecture",
                machine.arch.name()
            ));
        }
        machines.push(machine);
    }
    Ok(machines)
}

/// The features given for files of an architecture.
pub(crate) fn features_for(machines: &[Target], arch: Option<Arch>) -> Option<FeatureSet> {
    machines.iter().find(|machine| Some(machine.arch) == arch).map(|machine| machine.features)
}

/// The name of what is given for files of an architecture.
pub(crate) fn name_for(machines: &[Target], arch: Option<Arch>) -> Option<&str> {
    machines.iter().find(|machine| Some(machine.arch) == arch).map(|machine| machine.name.as_str())
}

/// The CPU that is named for files of an architecture.
pub(crate) fn cpu_for(machines: &[Target], arch: Option<Arch>) -> Option<&str> {
    machines.iter().find(|machine| Some(machine.arch) == arch).and_then(Target::cpu)
}

/// The id of a rule.
pub(crate) fn rule_named(name: &str) -> Result<&'static str, String> {
    rule::find(name).map(|rule| rule.id).ok_or_else(|| {
        let nearest = nearest(name, RULES.iter().map(|rule| rule.id));
        unknown("rule", name, nearest, "`deburr rules` lists them")
    })
}

/// The known name that is closest to a mistyped one, if any is close.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// The complaint about a name that means nothing.
pub(crate) fn unknown(what: &str, name: &str, nearest: Option<&str>, hint: &str) -> String {
    let name = one_line(name);
    match nearest {
        Some(nearest) => format!("no {what} is called `{name}`; did you mean `{nearest}`? ({hint})"),
        None => format!("no {what} is called `{name}` ({hint})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_name_is_answered_with_the_nearest() {
        let known = ["llsc-loop", "outlined-atomic", "above-baseline"];
        assert_eq!(nearest("llsc_lop", known.into_iter()), Some("llsc-loop"));
        assert_eq!(nearest("zzz", known.into_iter()), None);
    }
}
