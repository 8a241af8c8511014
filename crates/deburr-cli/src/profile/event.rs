//! Which event of a profile counts.

use deburr_profile::Event;
use deburr_text::one_line;

/// Events that say where time goes, the best first; by name without modifiers.
const TIME: [&str; 9] = [
    "cycles",
    "cpu-cycles",
    "cpu_core/cycles/",
    "cpu/nanoseconds",
    "cpu-clock",
    "task-clock",
    "samples/count",
    "Ir",
    // Of operations that overlap: not where time goes, but nearer to it than how many there were.
    "arm_spe/latency/",
];

/// The index of the event that the user names, or else of the one that says best where time goes.
pub(super) fn choose(events: &[Event], named: Option<&str>) -> Result<usize, String> {
    let of = |name: &str| events.iter().position(|event| is_called(event, name));
    if let Some(name) = named {
        let all = || events.iter().map(|event| one_line(&event.name)).collect::<Vec<_>>().join(", ");
        return of(name).ok_or_else(|| format!("--profile-event {name}: the profile has {}", all()));
    }
    let most = || {
        let seen = events.iter().enumerate().max_by_key(|(_, event)| event.total.samples);
        seen.map(|(index, _)| index)
    };
    TIME.into_iter()
        .find_map(of)
        .or_else(most)
        .ok_or_else(|| "--profile: nothing was sampled in it".to_owned())
}

/// Whether an event has a name, with or without modifiers: `cycles:u` and `cpu/cycles/u` are `cycles`.
fn is_called(event: &Event, name: &str) -> bool {
    let plain = event.name.split(':').next().unwrap_or_default();
    event.name == name
        || plain == name
        || plain.strip_prefix("cpu/").and_then(|it| it.split('/').next()) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_profile::{LeftOut, Precision, Tally};

    fn event(name: &str, samples: u64) -> Event {
        let total = Tally { samples, weight: samples };
        Event { name: name.to_owned(), total, left_out: LeftOut::default(), precision: Precision::Skids }
    }

    #[test]
    fn time_counts_unless_the_user_says_otherwise() {
        let events = [event("page-faults", 9), event("cpu-clock:u", 1), event("branches", 5)];
        assert_eq!(choose(&events, None), Ok(1));
        assert_eq!(choose(&events, Some("page-faults")), Ok(0));
        assert_eq!(choose(&events, Some("cpu-clock")), Ok(1));
        let unknown = choose(&events, Some("cycles")).unwrap_err();
        assert!(unknown.ends_with("the profile has page-faults, cpu-clock:u, branches"), "{unknown}");
        // SPE's operations, by their latency; by their number only where the user says so, or there are cycles.
        let spe = [event("arm_spe_0//", 9), event("arm_spe/latency/", 9)];
        assert_eq!((choose(&spe, None), choose(&spe, Some("arm_spe_0//"))), (Ok(1), Ok(0)));
        let also_cycles = [event("arm_spe/latency/", 9), event("cycles:u", 1)];
        assert_eq!(choose(&also_cycles, None), Ok(1));
        // None of time: the one with most samples.
        assert_eq!(choose(&[event("branches", 5), event("faults", 9)], None), Ok(1));
        assert!(choose(&[], None).is_err());
    }

    #[test]
    fn an_event_of_a_named_cpu_is_known_by_its_own_name() {
        assert_eq!(choose(&[event("x", 9), event("cpu/cycles/u", 1)], None), Ok(1));
    }
}
