//! What `deburr bench` measures: names of kernels, threads and paces → points, and the record of them.

use crate::args::batch::Progress;
use crate::args::bench::Bench;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::Interrupts;
use crate::cmd::progress::Bar;
use crate::names::{nearest, unknown};
use deburr_core::rule;
use deburr_cpu::Host;
use deburr_lab::bench::experiment::{BenchError, overhead, point};
use deburr_lab::bench::machine::Machine;
use deburr_lab::bench::moment::now;
use deburr_lab::bench::pace::Pace;
use deburr_lab::bench::record::{BenchRecord, PointRecord, SCHEMA_VERSION};
use deburr_lab::bench::run::{Placement, Setting};
use deburr_lab::kernel::{KERNELS, Kernel, Work};
use deburr_lab::measure::machine::Cpus;
use deburr_lab::stats::Rope;
use deburr_lab::stats::verdict::Rule;
use std::time::Duration;

/// The kernels that names are for: suites, kernels, or rules.
pub(super) fn chosen(names: &[String]) -> Result<Vec<&'static Kernel>, Failure> {
    let mut chosen: Vec<&'static Kernel> = Vec::new();
    for name in names {
        let benchmark = rule::find(name).map(|rule| rule.benchmark);
        if benchmark == Some(None) {
            return Err(Failure::Message(format!(
                "{name}: no kernel measures what this rule finds (`deburr bench --list` shows what there is)"
            )));
        }
        let meant = benchmark.flatten().map_or(name.as_str(), |benchmark| benchmark.kernel);
        let known = chosen.len();
        let named = KERNELS.iter().filter(|kernel| kernel.name == meant || kernel.suite == meant);
        chosen.extend(named.copied());
        if chosen.len() == known {
            let names = KERNELS.iter().flat_map(|kernel| [kernel.name, kernel.suite]);
            let nearest = nearest(name, names.chain(rule::RULES.iter().map(|rule| rule.id)));
            let hint = "`deburr bench --list` lists kernels and suites";
            return Err(Failure::Message(unknown("kernel, suite or rule", name, nearest, hint)));
        }
    }
    let is_meant = |kernel: &&Kernel| names.is_empty() || chosen.iter().any(|it| it.name == kernel.name);
    Ok(KERNELS.iter().copied().filter(is_meant).collect())
}

/// A kernel with so many threads, at this pace.
struct Planned {
    kernel: &'static Kernel,
    cpus: Vec<usize>,
    pace: Pace,
}

/// A kernel that could not be measured.
pub(super) struct Failed {
    pub(super) kernel: &'static str,
    pub(super) error: BenchError,
}

/// What is measured: kernels, each with some numbers of threads.
pub(super) struct Plan {
    points: Vec<Planned>,
    placement: Placement,
    sample: Duration,
    rule: Rule,
    seed: u64,
}

impl Plan {
    pub(super) fn of(options: &Bench, kernels: &[&'static Kernel]) -> Result<Plan, Failure> {
        let allowed = Cpus::allowed().map_err(|error| Failure::Message(format!("processors: {error}")))?;
        let cpus = options.cpus.as_ref().unwrap_or(&allowed).numbers();
        if let Some(missing) = cpus.iter().find(|cpu| !allowed.numbers().contains(cpu)) {
            return Err(Failure::Message(format!(
                "--cpus {missing}: this process may run on {allowed} only"
            )));
        }
        let rope = Rope::new(options.region / 100.0);
        let rule =
            rope.and_then(Rule::standard).map_err(|error| Failure::Message(format!("--region: {error}")))?;
        let mut points = Vec::new();
        for &kernel in kernels {
            for pace in paces(kernel, options) {
                for threads in threads(kernel, &options.threads, cpus.len()) {
                    let cpus = cpus.iter().copied().cycle().take(threads).collect();
                    points.push(Planned { kernel, cpus, pace });
                }
            }
        }
        Ok(Plan {
            points,
            placement: options.words.placement(),
            sample: Duration::from_millis(options.sample.into()),
            rule,
            seed: options.seed,
        })
    }

    /// The record, and the kernels that could not be measured.
    pub(super) fn measure(
        &self,
        host: &Host,
        interrupts: &Interrupts,
        progress: Progress,
    ) -> Result<(BenchRecord, Vec<Failed>), Failure> {
        let measured_at = now();
        let first: Vec<usize> =
            self.points.iter().flat_map(|point| point.cpus.first().copied()).take(1).collect();
        let alone =
            Setting { cpus: &first, placement: Placement::OwnLine, duration: self.sample, work: &Work::NONE };
        let overhead = overhead(&alone).map_err(|error| Failure::Message(format!("bench: {error}")))?;
        let bar = Bar::new(progress, self.points.len() as u64, "points");
        let (mut points, mut failed) = (Vec::new(), Vec::new());
        for (done, Planned { kernel, cpus, pace }) in (0..).zip(&self.points) {
            if interrupts.stop.is_wanted() {
                break;
            }
            bar.set_position(done);
            bar.set_message(format!("; {} with {} threads", kernel.name, cpus.len()));
            // What shares nothing has more than a word to itself.
            let placement = if kernel.is_shared() { self.placement } else { Placement::OwnLine };
            let setting =
                Setting { cpus, placement, duration: self.sample, work: &pace.work(overhead.delay_ns) };
            let measured = point(kernel, &setting, host.features, (&self.rule, self.seed), &interrupts.stop);
            match measured {
                Ok(point) => points.push(PointRecord::of(&point, &setting, pace)),
                Err(error) => failed.push(Failed { kernel: kernel.name, error }),
            }
        }
        bar.finish();
        let cpu = if host.brand.is_empty() { &host.name } else { &host.brand };
        let record = BenchRecord {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            measured_at,
            machine: Machine::here(cpu.to_string(), host.arch.name().to_owned(), host.level.name.to_owned()),
            loop_ns: overhead.loop_ns,
            clock_ns: overhead.clock_ns,
            sample_ms: 1e3 * self.sample.as_secs_f64(),
            region: self.rule.rope().relative(),
            is_interrupted: interrupts.stop.is_wanted(),
            points,
        };
        Ok((record, failed))
    }
}

/// How fast a kernel's operations follow each other: what shares nothing does nothing in between.
fn paces(kernel: &Kernel, options: &Bench) -> Vec<Pace> {
    if !kernel.is_shared() {
        return vec![Pace::NONE];
    }
    let sections = if kernel.has_section() { &options.section[..] } else { &[0] };
    let pace =
        |&section: &u32| options.think.iter().map(move |&think| Pace { think, section_ns: section.into() });
    sections.iter().flat_map(pace).collect()
}

/// With how many threads a kernel is measured.
fn threads(kernel: &Kernel, wanted: &[u32], processors: usize) -> Vec<usize> {
    if !wanted.is_empty() {
        return wanted.iter().map(|&threads| threads as usize).collect();
    }
    if !kernel.is_shared() {
        return vec![1];
    }
    let powers = (0..usize::BITS).map(|power| 1usize << power);
    let mut threads: Vec<usize> = powers.take_while(|&threads| threads < processors).collect();
    threads.push(processors.max(1));
    threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_core::benchmark::Benchmark;
    use deburr_lab::kernel::After;

    #[test]
    fn every_benchmark_that_a_rule_names_is_there() {
        let named: Vec<Benchmark> = rule::RULES.iter().filter_map(|rule| rule.benchmark).collect();
        assert!(named.len() > 5);
        let mut known = 0;
        for Benchmark { kernel, found, instead } in named {
            let kernel = KERNELS.iter().find(|it| it.name == kernel).unwrap_or_else(|| panic!("{kernel}"));
            let is_here = |names: &[&str]| {
                let is_variant = |name| kernel.variants.iter().any(|variant| variant.name == name);
                names.iter().any(|&name| is_variant(name))
            };
            // A rule is about one architecture or both.
            assert!(!is_here(found) || is_here(instead) || instead.is_empty(), "{}: {found:?}", kernel.name);
            known += usize::from(is_here(found));
        }
        assert!(known > 5, "{known}");
    }

    #[test]
    fn names_are_of_suites_kernels_and_rules_and_each_kernel_runs_once() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            chosen(&names).map(|kernels| kernels.iter().map(|kernel| kernel.name).collect::<Vec<_>>())
        };
        let atomics = names(&["atomics"]).unwrap_or_default();
        assert!(atomics.len() > 5 && atomics.contains(&"fetch-add"));
        assert_eq!(names(&["atomics", "fetch-add", "llsc-loop"]).ok(), Some(atomics));
        assert_eq!(names(&["mfence"]).ok(), Some(vec!["store"]));
        assert_eq!(names(&[]).map(|all| all.len()).ok(), Some(KERNELS.len()));
        for wrong in ["fetch-ad", "above-baseline"] {
            assert!(names(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn threads_double_up_to_the_processors() {
        let kernel = |name: &str| *KERNELS.iter().find(|kernel| kernel.name == name).unwrap();
        assert_eq!(kernel("fetch-add").after, After::Sum);
        assert_eq!(threads(kernel("fetch-add"), &[], 12), [1, 2, 4, 8, 12]);
        assert_eq!(threads(kernel("fetch-add"), &[], 1), [1]);
        assert_eq!(threads(kernel("popcount"), &[], 12), [1]);
        assert_eq!(threads(kernel("popcount"), &[3, 1], 12), [3, 1]);
    }
}
