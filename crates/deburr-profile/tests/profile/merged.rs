//! Several profiles as one.

use super::{adds_up, profile};
use deburr_profile::{Profile, Tally};

fn total(profile: &Profile) -> Vec<(String, Tally)> {
    profile.events.iter().map(|event| (event.name.clone(), event.total)).collect()
}

fn doubled(tally: Tally) -> Tally {
    let mut sum = tally;
    sum.add(tally);
    sum
}

#[test]
fn a_profile_merged_with_itself_has_the_same_places_with_twice_the_weight() {
    for name in
        ["chains.data", "events.data", "pie.callgrind", "lines.callgrind", "pie.pprof", "chains.script"]
    {
        let one = profile(name);
        let mut both = one.clone();
        both.merge(one.clone());
        adds_up(&both);
        let mut expected = one;
        for event in &mut expected.events {
            event.total = doubled(event.total);
            let left_out = &mut event.left_out;
            for tally in
                [&mut left_out.kernel, &mut left_out.guest, &mut left_out.anonymous, &mut left_out.unknown]
            {
                *tally = doubled(*tally);
            }
        }
        for object in &mut expected.objects {
            object.leaves.iter_mut().for_each(|leaf| leaf.tally = doubled(leaf.tally));
            object.edges.iter_mut().for_each(|edge| edge.tally = doubled(edge.tally));
            for call in &mut object.calls {
                call.count *= 2;
                call.inclusive.iter_mut().for_each(|cost| *cost *= 2);
            }
        }
        assert_eq!(both, expected, "{name}");
    }
}

#[test]
fn events_and_objects_of_different_profiles_meet_where_they_are_the_same() {
    let (chains, events, counted) =
        (profile("chains.data"), profile("events.data"), profile("pie.callgrind"));
    let mut merged = chains.clone();
    merged.merge(events.clone());
    merged.merge(counted.clone());
    adds_up(&merged);
    let names: Vec<&str> = merged.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["cpu-clock", "task-clock", "page-faults", "Ir"]);
    let mut clock = chains.events[0].total;
    clock.add(events.events[0].total);
    assert_eq!(merged.events[0].total, clock);
    assert_eq!(total(&merged)[3], total(&counted)[0]);
    // The same file in both recordings of perf is one object.
    let programs = merged.objects.iter().filter(|object| object.path.ends_with("/spin"));
    assert_eq!(programs.count(), 1);
    // Calls still lead to where they led, with a cost for each event.
    let library = merged.objects.iter().position(|object| object.path.ends_with("/libwork.so"));
    let pie = merged.objects.iter().find(|object| object.path.ends_with("/pie")).expect("the program");
    let calls = pie.calls.iter().filter(|call| Some(call.to.object) == library);
    let costs: Vec<(u64, u64)> = calls.map(|call| (call.inclusive[0], call.inclusive[3])).collect();
    assert!(!costs.is_empty() && costs.iter().all(|(clock, counted)| *clock == 0 && *counted > 0));
}
