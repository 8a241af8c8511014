//! What `deburr check` is asked to do: options and configuration → [`Plan`]. Where both speak, the options win.

use crate::args::Check;
use crate::batch::Plan;
use crate::config::Config;
use crate::machine::{machines_named, rule_named};
use deburr_core::rule::{RULES, Rule};
use deburr_cpu::Target;
use std::path::PathBuf;

/// Understands the options.
pub(super) fn plan(options: &Check) -> Result<Plan, String> {
    let config = Config::read(options.config.as_deref())?;
    let threads = options.threads.or_else(|| std::thread::available_parallelism().ok());
    let debug_dirs = match options.debug_dir.as_slice() {
        [] => vec![PathBuf::from("/usr/lib/debug")],
        dirs => dirs.to_vec(),
    };
    Ok(Plan {
        target: machines(machines_named("--target", &options.target)?, &config.target),
        baseline: machines(machines_named("--baseline", &options.baseline)?, &config.baseline),
        rules: Some(chosen_rules(options, &config)?),
        debug_dirs: (!options.no_debug_files).then_some(debug_dirs),
        closure: options.closure,
        root: options.root.clone(),
        threads: threads.map_or(1, std::num::NonZeroUsize::get),
        limits: options.packages.limits(),
        config,
    })
}

/// The machines of an option, and those that are configured for other architectures.
fn machines(mut given: Vec<Target>, configured: &[Target]) -> Vec<Target> {
    for machine in configured {
        if !given.iter().any(|other| other.arch == machine.arch) {
            given.push(machine.clone());
        }
    }
    given
}

/// The rules to run. `--select` says it alone; otherwise the configuration may select, and turn rules off.
fn chosen_rules(options: &Check, config: &Config) -> Result<Vec<&'static str>, String> {
    let ids = |names: &[String]| names.iter().map(|name| rule_named(name)).collect::<Result<Vec<_>, _>>();
    let (named, left_out) = (ids(&options.select)?, ids(&options.ignore)?);
    let says_all = !named.is_empty();
    let select = if says_all { &named } else { &config.select };
    let ignore = if says_all || !left_out.is_empty() { &left_out } else { &config.ignore };
    let preview = options.preview || (config.preview && !says_all);
    let is_selected = |rule: &&Rule| match select.as_slice() {
        [] => preview || !rule.preview,
        ids => ids.contains(&rule.id) || (preview && rule.preview),
    };
    let is_off = |id: &str| !says_all && config.severity.get(id) == Some(&None);
    let chosen = RULES.iter().filter(is_selected).map(|rule| rule.id);
    Ok(chosen.filter(|id| !ignore.contains(id) && !is_off(id)).collect())
}
