//! Real recordings, compared with what perf, pprof and valgrind's own tools make of them.

use super::{adds_up, bytes, content, leaves, parsed, profile, tally};
use deburr_profile::{Format, Place, Precision, Profile, Request, Tally, read};
use std::collections::BTreeMap;
use std::io::Cursor;

/// What `perf report -F sample,period,dso` says: for each event, sums by the last part of a file's path.
fn reported(name: &str) -> Vec<BTreeMap<String, Tally>> {
    let mut events = Vec::new();
    for line in content(name).lines() {
        if line.starts_with("# Samples:") {
            events.push(BTreeMap::new());
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [samples, period, object] = fields[..]
            && let (Ok(samples), Ok(period)) = (samples.parse(), period.parse())
        {
            let sums: &mut BTreeMap<String, Tally> = events.last_mut().expect("an event before its sums");
            sums.insert(object.to_owned(), tally(samples, period));
        }
    }
    events
}

/// The same of a profile.
fn by_object(profile: &Profile, event: usize) -> BTreeMap<String, Tally> {
    let mut sums = BTreeMap::new();
    for object in &profile.objects {
        for leaf in object.leaves.iter().filter(|leaf| leaf.event == event) {
            let name = object.path.rsplit('/').next().unwrap_or(&object.path);
            sums.entry(name.to_owned()).or_insert_with(Tally::default).add(leaf.tally);
        }
    }
    let kernel = profile.events[event].left_out.kernel;
    if kernel != Tally::default() {
        sums.insert("[kernel.kallsyms]".to_owned(), kernel);
    }
    sums
}

#[test]
fn files_and_pipes_have_the_sums_of_perf_report() {
    let names =
        ["chains", "events", "compressed", "build-ids", "untimed", "injected", "pipe", "pipe-compressed"];
    for name in names {
        let profile = profile(&format!("{name}.data"));
        let reported = reported(&format!("{name}.report"));
        let own: Vec<_> = (0..profile.events.len()).map(|event| by_object(&profile, event)).collect();
        assert_eq!(own, reported, "{name}");
        assert_eq!((profile.format, profile.unread_trace), (Format::PerfData, 0));
        assert_eq!(profile.lost, Default::default());
    }
}

#[test]
fn events_have_names_and_precision() {
    let profile = profile("events.data");
    let events: Vec<_> = profile.events.iter().map(|event| (event.name.as_str(), event.precision)).collect();
    let expected = [
        ("cpu-clock", Precision::Skids),
        ("task-clock", Precision::Skids),
        ("page-faults", Precision::Precise),
    ];
    assert_eq!(events, expected);
    assert_eq!(
        profile.command.as_deref().map(|command| command.contains("-e cpu-clock,task-clock")),
        Some(true)
    );
    assert!(profile.hostname.is_some());
}

#[test]
fn a_group_has_the_values_that_perf_gives_to_each_event() {
    let profile = profile("group.data");
    let mut expected = vec![BTreeMap::new(), BTreeMap::new()];
    for line in content("group.report").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let numbers: Vec<u64> = fields.iter().filter_map(|field| field.parse().ok()).collect();
        if let ([one, other, first, second], Some(object)) = (&numbers[..], fields.get(4)) {
            expected[0].insert((*object).to_owned(), tally(*one, *first));
            expected[1].insert((*object).to_owned(), tally(*other, *second));
        }
    }
    assert_eq!([by_object(&profile, 0), by_object(&profile, 1)].to_vec(), expected);
    // They were counted where the other event's samples were.
    assert_eq!(profile.events[1].precision, Precision::Skids);
}

/// The chains that perf prints: their frames' offsets in files, by perf's own arithmetic.
fn printed_chains() -> Vec<(u64, Vec<(String, u64)>)> {
    let text = content("chains.script");
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
    let sample = |paragraph: &str| {
        let mut lines = paragraph.lines();
        let head: Vec<&str> = lines.next().expect("a head").split_whitespace().collect();
        let period = head[head.len() - 2].parse().expect("a period");
        let frame = |line: &str| {
            let (address, rest) = line.trim().split_once(' ').expect("an address");
            let (_, object) = rest.rsplit_once('(').expect("a file");
            let address = u64::from_str_radix(address, 16).expect("hexadecimal");
            (object.trim_end_matches(')').to_owned(), address)
        };
        (period, lines.map(frame).collect())
    };
    paragraphs.map(sample).collect()
}

#[test]
fn places_and_callers_are_those_that_perf_script_prints() {
    let profile = profile("chains.data");
    let (mut printed, mut edges) = (BTreeMap::new(), BTreeMap::new());
    for (period, frames) in printed_chains() {
        let leaf = &frames[0];
        if leaf.0.starts_with("[kernel") {
            continue;
        }
        let place = |(path, offset): &(String, u64)| (path.clone(), Place::FileOffset(*offset));
        printed.entry(place(leaf)).or_insert_with(Tally::default).add(Tally::sample(period));
        if let Some(caller) = frames.get(1).filter(|(path, _)| path != "[unknown]") {
            let edge = (place(leaf), place(caller));
            edges.entry(edge).or_insert_with(Tally::default).add(Tally::sample(period));
        }
    }
    assert!(printed.len() > 3 && edges.len() > 3);
    assert_eq!(leaves(&profile, 0), printed);
    let mut own = BTreeMap::new();
    for object in &profile.objects {
        for edge in &object.edges {
            let caller = &profile.objects[edge.caller.object];
            let key =
                ((object.path.clone(), edge.leaf.clone()), (caller.path.clone(), edge.caller.place.clone()));
            own.insert(key, edge.tally);
        }
    }
    assert_eq!(own, edges);
}

#[test]
fn build_ids_come_from_the_feature_section_from_records_and_from_mappings() {
    let listed = content("chains.build-ids");
    let id = |path: &str| {
        let line = listed.lines().find(|line| line.ends_with(path)).expect("a listed file");
        let digits = &line[..40];
        (0..20).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hexadecimal")).collect()
    };
    for name in ["chains", "injected", "build-ids"] {
        let profile = profile(&format!("{name}.data"));
        let spin = profile.objects.iter().find(|object| object.path.ends_with("/spin")).expect("the program");
        assert_eq!(spin.build_id, Some(id("/spin")), "{name}");
        assert_eq!(spin.inode.is_some(), name != "build-ids", "{name}");
    }
}

#[test]
fn functions_made_at_run_time_have_the_samples_that_perf_inject_gives_them() {
    let mut expected = BTreeMap::new();
    for line in content("jit.report").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [samples, period, "[.]", name] = fields[..] {
            expected.insert(
                name.to_owned(),
                tally(samples.parse().expect("samples"), period.parse().expect("a period")),
            );
        }
    }
    assert_eq!(expected.len(), 2);
    let recorded = bytes("jit.data");
    let without = parsed(&recorded).expect("a profile");
    assert_eq!((without.wanted.len(), without.jit.len()), (1, 0));
    let (total, anonymous) = (without.events[0].total, without.events[0].left_out.anonymous);
    assert_eq!(total, anonymous);
    let (path, dump) = (&without.wanted[0].path, bytes("jit.dump"));
    let request = Request { jitdumps: &[(path, &dump)], ..Request::default() };
    let profile = read(&mut Cursor::new(&recorded), &request).expect("a profile");
    adds_up(&profile);
    assert_eq!((profile.wanted.len(), profile.events[0].left_out.anonymous), (0, Tally::default()));
    let mut found = BTreeMap::new();
    for function in &profile.jit {
        let mut sum = Tally::default();
        for (at, _, tally) in &function.leaves {
            assert!((*at as usize) < function.code.len());
            sum.add(*tally);
        }
        found.insert(function.name.clone(), sum);
        assert_eq!((function.code[0], function.code.last()), (0x89, Some(&0xc3)));
    }
    assert_eq!(found, expected);
}

/// What `go tool pprof -raw` says: nanoseconds by the leaf's address, the text's mapping, and edges.
#[test]
fn go_profiles_have_the_values_of_pprof() {
    for name in ["fixed", "pie"] {
        let profile = profile(&format!("{name}.pprof"));
        assert_eq!((profile.format, profile.events.len()), (Format::Pprof, 1));
        assert_eq!(profile.events[0].name, "cpu/nanoseconds");
        let raw = content(&format!("{name}.raw"));
        let (samples, rest) = raw.split_once("Locations").expect("locations");
        let (locations, mappings) = rest.split_once("Mappings").expect("mappings");
        let addresses: BTreeMap<&str, u64> = locations
            .lines()
            .filter_map(|line| {
                let (id, rest) = line.trim().split_once(": 0x")?;
                Some((id, u64::from_str_radix(rest.split(' ').next()?, 16).ok()?))
            })
            .collect();
        let mapping = mappings.lines().find(|line| line.starts_with("1: ")).expect("the program");
        let numbers: Vec<u64> = mapping[3..]
            .split([' ', '/'])
            .take(3)
            .map(|number| u64::from_str_radix(number.trim_start_matches("0x"), 16).expect("hexadecimal"))
            .collect();
        let offset = |id: &str| Place::FileOffset(addresses[id] - numbers[0] + numbers[2]);
        let (mut expected, mut edges) = (BTreeMap::new(), BTreeMap::new());
        for line in samples.lines() {
            let Some((values, ids)) = line.split_once(": ") else { continue };
            let values: Vec<u64> = values.split_whitespace().filter_map(|value| value.parse().ok()).collect();
            let ids: Vec<&str> = ids.split_whitespace().collect();
            let [samples, nanoseconds] = values[..] else { continue };
            let seen = tally(samples, nanoseconds);
            expected.entry(offset(ids[0])).or_insert_with(Tally::default).add(seen);
            if let (Some(caller), Place::FileOffset(_)) = (ids.get(1), offset(ids[0])) {
                let Place::FileOffset(call) = offset(caller) else { unreachable!() };
                edges.entry((offset(ids[0]), call + 1)).or_insert_with(Tally::default).add(seen);
            }
        }
        let program =
            profile.objects.iter().find(|object| object.path.contains("/spin-go")).expect("the program");
        assert_eq!(program.build_id.as_ref().map(Vec::len), Some(20));
        let own: BTreeMap<Place, Tally> =
            program.leaves.iter().map(|leaf| (leaf.place.clone(), leaf.tally)).collect();
        assert_eq!(own, expected, "{name}");
        let own: BTreeMap<(Place, u64), Tally> = program
            .edges
            .iter()
            .map(|edge| {
                let Place::FileOffset(caller) = edge.caller.place else { panic!("{edge:?}") };
                ((edge.leaf.clone(), caller), edge.tally)
            })
            .collect();
        assert_eq!(own, edges, "{name}");
    }
}

/// The text of a Go program begins at offset 0 of the file and address 0x400000 of the image, position-independent or not.
#[test]
fn offsets_of_go_profiles_are_in_the_functions_that_the_linker_placed() {
    for name in ["fixed", "pie"] {
        let text = content(&format!("{name}.functions"));
        let mut functions: Vec<(u64, &str)> = text
            .lines()
            .filter_map(|line| {
                let (address, name) = line.trim().split_once(" T ")?;
                Some((u64::from_str_radix(address, 16).ok()?, name))
            })
            .collect();
        functions.sort();
        let profile = profile(&format!("{name}.pprof"));
        let program =
            profile.objects.iter().find(|object| object.path.contains("/spin-go")).expect("the program");
        let mut work = Tally::default();
        for leaf in &program.leaves {
            let Place::FileOffset(at) = leaf.place else { panic!("{leaf:?}") };
            let svma = at + 0x40_0000;
            let function = functions.iter().rev().find(|(start, _)| *start <= svma);
            if function.is_some_and(|(_, name)| *name == "main.work") {
                work.add(leaf.tally);
            }
        }
        let total = profile.events[0].total;
        assert!(work.weight * 10 > total.weight * 9, "{name}: {work:?} of {total:?}");
    }
}

/// Functions of `objdump`: address and name.
fn symbols(name: &str) -> BTreeMap<String, u64> {
    let address = |line: &str| {
        let (address, name) = line.split_once(" <")?;
        Some((name.trim_end_matches(">:").to_owned(), u64::from_str_radix(address, 16).ok()?))
    };
    content(name).lines().filter_map(address).collect()
}

#[test]
fn callgrinds_addresses_are_those_of_the_linked_image() {
    for name in ["pie", "fixed"] {
        let profile = profile(&format!("{name}.callgrind"));
        let symbols = symbols(&format!("{name}.symbols"));
        let of = |path: &str| {
            profile.objects.iter().find(|object| object.path.ends_with(path)).expect("an object")
        };
        let library = profile.objects.iter().position(|object| object.path.ends_with("/libwork.so"));
        let own = profile.objects.iter().position(|object| object.path.ends_with(name));
        let calls_of = |object: Option<usize>, function: &str| -> u64 {
            let to = Place::Svma(symbols[function]);
            let all = profile.objects.iter().flat_map(|object| &object.calls);
            all.filter(|call| Some(call.to.object) == object && call.to.place == to)
                .map(|call| call.count)
                .sum()
        };
        // As counted.c has them: 3 in outer, 4 in recursive; one and four more of recursive; through the PLT once.
        assert_eq!(calls_of(own, "work"), 7);
        assert_eq!(calls_of(own, "outer"), 1);
        assert_eq!(calls_of(own, "recursive"), 5);
        assert_eq!(calls_of(library, "library_work"), 2);
        // Each first instruction was executed as often as its function was called.
        let executed = |path: &str, function: &str| {
            let place = Place::Svma(symbols[function]);
            of(path).leaves.iter().find(|leaf| leaf.place == place).map(|leaf| leaf.tally.weight)
        };
        assert_eq!(executed(name, "work"), Some(7));
        assert_eq!(executed("/libwork.so", "library_work"), Some(2));
        assert_eq!(profile.events[0].precision, Precision::Exact);
    }
}

/// Counts of `callgrind_annotate` by function, for each event: it lists a function once for each file of its source.
fn annotated(name: &str, events: usize) -> BTreeMap<String, Vec<u64>> {
    let mut sums = BTreeMap::new();
    let text = content(name);
    let (_, listed) = text.split_once("file:function\n").expect("a list of functions");
    for line in listed.lines().skip(1).take_while(|line| !line.starts_with("--")) {
        // Columns are numbers with their shares in parentheses, or points.
        let line = line.replace("( ", "(");
        let fields: Vec<&str> = line.split_whitespace().filter(|field| !field.ends_with("%)")).collect();
        let Some((counts, names)) = fields.split_at_checked(events) else { continue };
        let names = names.join(" ");
        let name = names.split(" [").next().and_then(|name| name.rsplit_once(':'));
        let Some((_, function)) = name else { continue };
        let function = function.split('\'').next().unwrap_or(function).to_owned();
        let sum = sums.entry(function).or_insert_with(|| vec![0; events]);
        for (sum, count) in sum.iter_mut().zip(counts) {
            *sum += count.replace(',', "").parse().unwrap_or(0u64);
        }
    }
    sums.retain(|_, counts| counts.iter().any(|count| *count > 0));
    sums
}

#[test]
fn callgrind_without_addresses_has_the_sums_of_callgrind_annotate() {
    let profile = profile("lines.callgrind");
    let names: Vec<&str> = profile.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw"]);
    let mut own = BTreeMap::new();
    for leaf in profile.objects.iter().flat_map(|object| &object.leaves) {
        let Place::Symbol { name, offset: None } = &leaf.place else { panic!("{leaf:?}") };
        own.entry(name.to_string()).or_insert_with(|| vec![0; names.len()])[leaf.event] += leaf.tally.weight;
    }
    assert_eq!(own, annotated("lines.annotated", names.len()));
    assert_eq!(own["work"][0], 21_133);
    let calls = profile.objects.iter().flat_map(|object| &object.calls);
    let is_work = |place: &Place| matches!(place, Place::Symbol { name, .. } if &**name == "work");
    assert_eq!(calls.filter(|call| is_work(&call.to.place)).map(|call| call.count).sum::<u64>(), 7);
}
