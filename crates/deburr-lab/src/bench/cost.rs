//! What one implementation costs more than another, by number of threads, as a record has it.
//!
//! In: a [`BenchRecord`], a kernel and the names of variants. Out: [`Cost`]. Times are nanoseconds of a thread's operation.

use super::record::{BenchRecord, PointRecord, VariantRecord};

/// Two variants of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The variant in question.
    pub found: String,
    /// The one that it is compared with; `None`: nothing at all.
    pub instead: Option<String>,
    /// By number of threads, as they were measured.
    pub by_threads: Vec<ThreadCost>,
}

/// Two variants with so many threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadCost {
    /// Threads.
    pub threads: usize,
    /// What the variant in question takes.
    pub found_ns: f64,
    /// What the other one takes; nothing takes as long as the loop.
    pub instead_ns: f64,
    /// Whether there was a verdict about the two, and it was that nothing is proven.
    pub is_inconclusive: bool,
}

impl ThreadCost {
    /// How much longer the variant in question takes; negative where it takes less.
    pub fn extra_ns(&self) -> f64 {
        self.found_ns - self.instead_ns
    }
}

impl BenchRecord {
    /// What the first measured variant of `found` costs more than the first of `instead`, or than nothing, where operations follow
    /// each other at once; `None` where the record does not have both.
    pub fn cost(&self, kernel: &str, found: &[&str], instead: &[&str]) -> Option<Cost> {
        let is_meant =
            |point: &&PointRecord| point.kernel == kernel && point.think == "none" && point.section_ns == 0.0;
        let placement = &self.points.iter().find(is_meant)?.placement;
        let points: Vec<&PointRecord> =
            self.points.iter().filter(is_meant).filter(|point| point.placement == *placement).collect();
        let first = *points.first()?;
        let found = found.iter().find(|name| variant(first, name).is_some())?;
        let other = match instead {
            [] => None,
            names => Some(names.iter().find(|name| variant(first, name).is_some())?),
        };
        let mut by_threads: Vec<ThreadCost> = Vec::new();
        for point in points {
            let Some((found_ns, verdict)) = variant(point, found) else { continue };
            let (instead_ns, other_verdict) = match other {
                None => (self.loop_ns, None),
                Some(name) => match variant(point, name) {
                    None => continue,
                    Some(measured) => measured,
                },
            };
            // Only the first variant of a kernel has no verdict: it is what the others are compared with.
            let is_inconclusive = other.is_some()
                && matches!(
                    (verdict, other_verdict),
                    (Some("inconclusive"), None) | (None, Some("inconclusive"))
                );
            let threads = point.processors.len();
            by_threads.push(ThreadCost { threads, found_ns, instead_ns, is_inconclusive });
        }
        by_threads.sort_by_key(|cost| cost.threads);
        Some(Cost { found: (*found).to_owned(), instead: other.map(|name| (*name).to_owned()), by_threads })
    }
}

/// What a variant took, and what was said of it.
fn variant<'r>(point: &'r PointRecord, name: &str) -> Option<(f64, Option<&'r str>)> {
    let variant: &VariantRecord = point.variants.iter().find(|variant| variant.name == name)?;
    let outcome = variant.verdict.as_ref().map(|verdict| verdict.outcome.as_str());
    Some((variant.measured.as_ref()?.ns, outcome))
}

#[cfg(test)]
mod tests {
    use crate::bench::example::{self, record, variant};
    use serde_json::Value;

    fn point(threads: usize, think: &str, variants: &[Value]) -> Value {
        example::point(("fetch-add", threads), think, variants)
    }

    #[test]
    fn a_cost_is_the_difference_of_two_variants_by_number_of_threads() {
        let record = record(&[
            point(
                2,
                "none",
                &[variant("a", Some(40.0), None), variant("b", Some(70.0), Some("inconclusive"))],
            ),
            point(1, "none", &[variant("a", Some(5.0), None), variant("b", Some(6.0), Some("worse"))]),
            point(1, "fixed:9", &[variant("a", Some(14.0), None), variant("b", Some(19.0), Some("worse"))]),
        ]);
        let cost = record.cost("fetch-add", &["lacking", "b"], &["a"]).unwrap();
        assert_eq!((cost.found.as_str(), cost.instead.as_deref()), ("b", Some("a")));
        let extra: Vec<(usize, f64, bool)> = cost
            .by_threads
            .iter()
            .map(|cost| (cost.threads, cost.extra_ns(), cost.is_inconclusive))
            .collect();
        assert_eq!(extra, [(1, 1.0, false), (2, 30.0, true)]);
        let alone = record.cost("fetch-add", &["a"], &[]).unwrap();
        assert_eq!((alone.by_threads[0].extra_ns(), alone.instead), (4.5, None));
    }

    #[test]
    fn what_was_not_measured_has_no_cost() {
        let lacking = record(&[point(1, "none", &[variant("a", Some(5.0), None), variant("b", None, None)])]);
        for (kernel, found, instead) in
            [("store", "a", "a"), ("fetch-add", "b", "a"), ("fetch-add", "a", "b")]
        {
            assert_eq!(lacking.cost(kernel, &[found], &[instead]), None, "{kernel} {found} {instead}");
        }
        assert_eq!(record(&[]).cost("fetch-add", &["a"], &[]), None);
        let thinking = record(&[point(1, "fixed:9", &[variant("a", Some(5.0), None)])]);
        assert_eq!(thinking.cost("fetch-add", &["a"], &[]), None);
    }
}
