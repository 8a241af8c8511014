//! perf.data files that are hard to record: what would make a number false.

use super::dump::{Dump, dump_of};
use super::recording::{
    BRANCH_STACK, CALLCHAIN, CPU_CLOCK, IDENTIFIER, IP, PERIOD, Recording, SAMPLE, Sample, TID, TIME, USER,
};
use super::{adds_up, bytes, file_offset, leaves, parsed, tally};
use deburr_profile::{JitSource, Place, Precision, Profile, Request, Tally, WantedJitdump, read};
use std::collections::BTreeMap;
use std::io::Cursor;

const CONTEXT_KERNEL: u64 = 0u64.wrapping_sub(128);
const CONTEXT_USER: u64 = 0u64.wrapping_sub(512);

fn finished(recording: Recording) -> Profile {
    parsed(&recording.finish()).expect("a profile")
}

fn at(time: u64, ip: u64) -> Sample<'static> {
    Sample { time, ip, ..SAMPLE }
}

#[test]
fn two_mappings_of_one_file_have_their_own_offsets() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0x1000], "/a", 5);
    recording.map(10, 2, [0x70_0000, 0x1000, 0x9000], "/a", 5);
    recording.sample(at(10, 0x40_0010));
    recording.sample(at(10, 0x70_0010));
    let expected = [(file_offset("/a", 0x1010), tally(1, 1000)), (file_offset("/a", 0x9010), tally(1, 1000))];
    assert_eq!(leaves(&finished(recording), 0), BTreeMap::from(expected));
}

#[test]
fn samples_before_their_mapping_in_the_file_are_sorted_by_time() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    // One CPU's buffer was written before that of the other, which has the mappings.
    recording.sample(at(15, 0x40_0010));
    recording.sample(at(25, 0x40_0010));
    recording.sample(at(5, 0x40_0010));
    recording.map(10, 20, [0x40_0000, 0x1000, 0], "/b", 6);
    recording.map(10, 10, [0x40_0000, 0x1000, 0], "/a", 5);
    let profile = finished(recording);
    let expected = [(file_offset("/a", 0x10), tally(1, 1000)), (file_offset("/b", 0x10), tally(1, 1000))];
    assert_eq!(leaves(&profile, 0), BTreeMap::from(expected));
    assert_eq!(profile.events[0].left_out.unknown, tally(1, 1000));
}

#[test]
fn an_exec_ends_all_mappings_and_a_number_of_a_process_is_used_again() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    recording.map(1, 1, [0x40_0000, 0x1000, 0], "/shell", 1);
    recording.fork(10, 1, 10);
    recording.exec(10, 20);
    recording.map(10, 21, [0x50_0000, 0x1000, 0], "/a", 2);
    recording.fork(10, 1, 40);
    for time in [15, 25, 45] {
        recording.sample(at(time, 0x40_0000));
        recording.sample(at(time, 0x50_0000));
    }
    let profile = finished(recording);
    let expected = [(file_offset("/a", 0), tally(1, 1000)), (file_offset("/shell", 0), tally(2, 2000))];
    assert_eq!(leaves(&profile, 0), BTreeMap::from(expected));
    assert_eq!(profile.events[0].left_out.unknown, tally(3, 3000));
}

#[test]
fn text_that_was_moved_to_large_pages_is_anonymous_from_then_on() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    recording.map(10, 1, [0x40_0000, 0x40_0000, 0], "/a", 5);
    recording.map(10, 50, [0x60_0000, 0x20_0000, 0x60_0000], "//anon", 0);
    for time in [10, 60] {
        recording.sample(at(time, 0x5f_ffff));
        recording.sample(at(time, 0x60_0000));
    }
    let profile = finished(recording);
    let expected =
        [(file_offset("/a", 0x1f_ffff), tally(2, 2000)), (file_offset("/a", 0x20_0000), tally(1, 1000))];
    assert_eq!(leaves(&profile, 0), BTreeMap::from(expected));
    assert_eq!(profile.events[0].left_out.anonymous, tally(1, 1000));
}

#[test]
fn a_file_that_was_replaced_is_another_object() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0], "/a (deleted)", 5);
    recording.map(11, 1, [0x40_0000, 0x1000, 0], "/a", 6);
    recording.map_with_build_id(12, 1, [0x40_0000, 0x1000, 0], "/a", &[1; 20]);
    recording.map_with_build_id(13, 1, [0x40_0000, 0x1000, 0], "/a", &[2; 16]);
    for pid in 10..=13 {
        recording.sample(Sample { pid, ip: 0x40_0020, ..SAMPLE });
    }
    let profile = finished(recording);
    let objects: Vec<_> = profile
        .objects
        .iter()
        .map(|object| {
            (object.path.as_str(), object.is_deleted, object.build_id.clone(), object.inode.is_some())
        })
        .collect();
    let expected = [
        ("/a", false, None, true),
        ("/a", false, Some(vec![1; 20]), false),
        ("/a", false, Some(vec![2; 16]), false),
        ("/a", true, None, true),
    ];
    assert_eq!(objects, expected);
    let own = profile.objects.iter().flat_map(|object| &object.leaves);
    assert!(
        own.map(|leaf| (&leaf.place, leaf.tally))
            .all(|leaf| leaf == (&Place::FileOffset(0x20), tally(1, 1000)))
    );
}

#[test]
fn modes_of_the_cpu_are_counted_apart() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0], "/a", 5);
    for (misc, period) in [(1, 1), (3, 10), (4, 100), (5, 1000), (0, 10_000), (USER, 100_000)] {
        recording.sample(Sample { misc, period, ip: 0x40_0000, ..SAMPLE });
    }
    let left_out = finished(recording).events[0].left_out;
    assert_eq!(
        (left_out.kernel, left_out.guest, left_out.unknown),
        (tally(2, 11), tally(2, 1100), tally(1, 10_000))
    );
}

#[test]
fn a_caller_is_the_second_user_frame() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0x3000], "/a", 5);
    recording.map(10, 1, [0x50_0000, 0x1000, 0], "/b", 6);
    let chains: [&[u64]; 6] = [
        &[CONTEXT_USER, 0x40_0010, 0x50_0020, 0x40_0030],
        &[CONTEXT_KERNEL, 0xffff_ffff_8100_0000, 0xffff_ffff_8100_0010, CONTEXT_USER, 0x40_0010, 0x50_0020],
        // A call that is the last instruction of its mapping.
        &[CONTEXT_USER, 0x40_0010, 0x40_1000],
        &[CONTEXT_USER, 0x40_0010],
        &[CONTEXT_USER, 0x40_0010, 0],
        &[CONTEXT_USER, 0x40_0010, 0x60_0000],
    ];
    for chain in chains {
        recording.sample(Sample { ip: 0x40_0010, chain, ..SAMPLE });
    }
    // Interrupted in the kernel: left out, whatever called it.
    recording.sample(Sample { misc: 1, ip: 0xffff_ffff_8100_0000, chain: chains[1], ..SAMPLE });
    let profile = finished(recording);
    let edges: Vec<_> = profile.objects[0]
        .edges
        .iter()
        .map(|edge| (&edge.leaf, edge.caller.object, &edge.caller.place, edge.tally.samples))
        .collect();
    let leaf = &Place::FileOffset(0x3010);
    let expected = [(leaf, 0, &Place::FileOffset(0x4000), 1), (leaf, 1, &Place::FileOffset(0x20), 2)];
    assert_eq!(edges, expected);
    assert_eq!(leaves(&profile, 0), BTreeMap::from([(file_offset("/a", 0x3010), tally(6, 6000))]));
}

#[test]
fn events_with_different_fields_are_distinguished_by_their_identifier() {
    let branches = super::recording::Attributes {
        kind: 0,
        sample_type: IDENTIFIER | IP | TID | TIME | BRANCH_STACK,
        period: 3,
        flags: 1 << 18 | 2 << 15,
        id: 8,
        ..CPU_CLOCK
    };
    let mut recording = Recording::new(&[CPU_CLOCK, branches]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0], "/a", 5);
    recording.map(10, 1, [0x50_0000, 0x1000, 0x1000], "/b", 6);
    recording.sample(Sample { ip: 0x40_0010, chain: &[CONTEXT_USER, 0x40_0010, 0x40_0020], ..SAMPLE });
    let taken = [
        (0x40_0010, 0x50_0020, 1),
        (0x40_0010, 0x50_0020, 2),
        (0x40_0010, 0xffff_ffff_8100_0000, 0),
        (0x50_0030, 0x40_0000, 2),
    ];
    recording.sample(Sample { id: 8, ip: 0x50_0000, branches: &taken, ..SAMPLE });
    let profile = finished(recording);
    assert_eq!(
        (profile.events[1].name.as_str(), profile.events[1].precision),
        ("cycles", Precision::Precise)
    );
    // Without a period of its own, a sample has that of its event.
    assert_eq!(leaves(&profile, 1), BTreeMap::from([(file_offset("/b", 0x1000), tally(1, 3))]));
    let found: Vec<_> = profile
        .objects
        .iter()
        .flat_map(|object| &object.branches)
        .map(|branch| (&branch.from, branch.to.object, &branch.to.place, branch.count, branch.mispredicted))
        .collect();
    let expected = [
        (&Place::FileOffset(0x10), 1, &Place::FileOffset(0x1020), 2, 1),
        (&Place::FileOffset(0x1030), 0, &Place::FileOffset(0), 1, 0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_stack_of_calls_has_no_taken_branches() {
    let calls = super::recording::Attributes {
        sample_type: IDENTIFIER | IP | TID | TIME | BRANCH_STACK,
        branches: 1 << 11,
        ..CPU_CLOCK
    };
    let mut recording = Recording::new(&[calls]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0], "/a", 5);
    recording.sample(Sample { ip: 0x40_0010, branches: &[(0x40_0020, 0x40_0000, 0)], ..SAMPLE });
    let profile = finished(recording);
    assert_eq!((profile.objects[0].leaves.len(), profile.objects[0].branches.len()), (1, 0));
}

#[test]
fn memory_files_are_anonymous_and_files_without_a_path_are_unknown() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0], "/a", 5);
    recording.map(10, 2, [0x40_0000, 0x1000, 0], "//toolong", 6);
    recording.map(10, 2, [0x50_0000, 0x1000, 0], "/memfd:doublemapper (deleted)", 7);
    recording.sample(at(10, 0x40_0010));
    recording.sample(at(10, 0x50_0010));
    let left_out = finished(recording).events[0].left_out;
    assert_eq!((left_out.anonymous, left_out.unknown), (tally(1, 1000), tally(1, 1000)));
}

#[test]
fn a_frequency_is_no_period_and_an_exact_instruction_is_precise() {
    let frequency = super::recording::Attributes {
        sample_type: IDENTIFIER | IP | TID | TIME,
        period: 4000,
        flags: 1 << 18 | 1 << 10,
        ..CPU_CLOCK
    };
    let mut recording = Recording::new(&[frequency]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0], "/a", 5);
    recording.sample(Sample { misc: USER | 1 << 14, ip: 0x40_0010, ..SAMPLE });
    let profile = finished(recording);
    assert_eq!(profile.events[0].total, tally(1, 1));
    assert_eq!(profile.events[0].precision, Precision::Precise);
}

#[test]
fn what_the_profiler_lost_and_what_is_not_read_is_counted() {
    let mut recording = Recording::new(&[CPU_CLOCK]);
    let ends = [0u64, 0, 7].map(u64::to_le_bytes).concat();
    recording.record(2, 0, &[[7u64, 30].map(u64::to_le_bytes).concat(), ends.clone()].concat());
    recording.record(13, 0, &[4u64.to_le_bytes().to_vec(), ends.clone()].concat());
    recording.record(5, 0, &[[0u64; 3].map(u64::to_le_bytes).concat(), ends].concat());
    // A record of a kind that is not known yet, and a trace: its data follows the record.
    recording.record(999, 0, &[9; 16]);
    recording.record(50, 0, &[9; 8]);
    recording.record(71, 0, &[[64u64; 1].map(u64::to_le_bytes).concat(), vec![0; 32]].concat());
    recording.records.extend([0xff; 64]);
    recording.map(10, 1, [0x40_0000, 0x1000, 0], "/a", 5);
    recording.sample(at(10, 0x40_0010));
    let profile = finished(recording);
    assert_eq!((profile.lost.records, profile.lost.throttled, profile.unread_trace), (34, 1, 64));
    assert_eq!(profile.events[0].total, tally(1, 1000));
}

#[test]
fn without_times_records_count_in_the_order_of_the_file() {
    let untimed =
        super::recording::Attributes { sample_type: IDENTIFIER | IP | TID | PERIOD | CALLCHAIN, ..CPU_CLOCK };
    let mut recording = Recording::new(&[untimed]);
    recording.map(10, 900, [0x40_0000, 0x1000, 0], "/a", 5);
    recording.sample(at(0, 0x40_0010));
    recording.map(10, 1, [0x40_0000, 0x1000, 0], "/b", 6);
    recording.sample(at(0, 0x40_0010));
    let expected = [(file_offset("/a", 0x10), tally(1, 1000)), (file_offset("/b", 0x10), tally(1, 1000))];
    assert_eq!(leaves(&finished(recording), 0), BTreeMap::from(expected));
}

#[test]
fn without_a_common_clock_only_functions_that_had_their_addresses_alone_count() {
    let dump = dump_of(&[
        ("alone", 0x7000_0000, 5, &[1; 16]),
        ("first", 0x7000_0100, 5, &[2; 16]),
        ("second", 0x7000_0108, 50, &[3; 16]),
    ]);
    let wanted = WantedJitdump { pid: 10, path: "/x/jit-3.dump".to_owned() };
    for (is_monotonic, names) in [(false, vec!["alone", "second"]), (true, vec!["alone", "first"])] {
        let flags = CPU_CLOCK.flags | u64::from(is_monotonic) << 25;
        let clock = super::recording::Attributes { flags, clock: u32::from(is_monotonic), ..CPU_CLOCK };
        let mut recording = Recording::new(&[clock]);
        recording.map(10, 1, [0x6000_0000, 0x1000, 0], &wanted.path, 9);
        recording.map(10, 1, [0x7000_0000, 0x1000, 0], "//anon", 0);
        recording.sample(at(10, 0x7000_0004));
        // In both of the overlapping ones; in the second alone; in none.
        recording.sample(at(10, 0x7000_010c));
        recording.sample(at(10, 0x7000_0114));
        recording.sample(at(10, 0x7000_0800));
        let file = recording.finish();
        assert_eq!(parsed(&file).expect("a profile").wanted, vec![wanted.clone()]);
        let request = Request { jitdumps: &[(&wanted.path, &dump)], ..Request::default() };
        let profile = read(&mut Cursor::new(&file), &request).expect("a profile");
        adds_up(&profile);
        let found: Vec<&str> = profile.jit.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(found, names, "{is_monotonic}");
        assert_eq!(profile.events[0].left_out.anonymous.samples, 2, "{is_monotonic}");
        assert_eq!(profile.jit[0].leaves, [(4, 0, tally(1, 1000))]);
        assert_eq!(profile.jit[0].code, [1; 16]);
    }
}

/// Process 10 with memory of its own, and a common clock.
fn run_time(jitdumps: &[&str]) -> Recording {
    let clock = super::recording::Attributes { flags: CPU_CLOCK.flags | 1 << 25, clock: 1, ..CPU_CLOCK };
    let mut recording = Recording::new(&[clock]);
    for (number, path) in (9..).zip(jitdumps) {
        recording.map(10, 1, [0x6000_0000, 0x1000, 0], path, number);
    }
    recording.map(10, 1, [0x7000_0000, 0x1_0000, 0], "//anon", 0);
    recording
}

#[test]
fn a_sample_belongs_to_the_version_that_was_there_at_its_time() {
    let mut dump = Dump::new(62);
    dump.load("replaced", 0x7000_0000, 10, &[1; 32]);
    dump.load("moving", 0x7000_0100, 10, &[2; 32]);
    dump.load("replacing", 0x7000_0010, 20, &[3; 32]);
    dump.moved(0x7000_0100, 0x7000_0200, 32, 30);
    // The same once more is the same function.
    dump.load("replacing", 0x7000_0010, 40, &[3; 32]);
    let mut recording = run_time(&["/x/jit-10.dump"]);
    for (time, ip) in [(5, 0), (15, 0x18), (25, 0x18), (45, 0x18), (15, 0x104), (35, 0x204), (50, 0x220)] {
        recording.sample(at(time, 0x7000_0000 + ip));
    }
    let request = Request { jitdumps: &[("/x/jit-10.dump", &dump.0)], ..Request::default() };
    let profile = read(&mut Cursor::new(&recording.finish()), &request).expect("a profile");
    adds_up(&profile);
    let source = |image_svma| JitSource::Jitdump { path: "/x/jit-10.dump".into(), image_svma };
    let found: Vec<_> =
        profile.jit.iter().map(|it| (it.name.as_str(), &it.source, it.leaves.as_slice())).collect();
    assert_eq!(
        found,
        [
            ("replaced", &source(None), &[(0x18, 0, tally(1, 1000))][..]),
            ("replacing", &source(Some(0x7000_0010)), &[(8, 0, tally(2, 2000))]),
            ("moving", &source(Some(0x7000_0200)), &[(4, 0, tally(2, 2000))]),
        ]
    );
    assert_eq!((profile.events[0].left_out.anonymous, profile.wanted_perf_maps), (tally(2, 2000), vec![10]));
}

#[test]
fn a_process_may_have_several_jitdumps_of_which_one_is_damaged() {
    let one = dump_of(&[("one", 0x7000_0000, 5, &[1; 16])]);
    let two = dump_of(&[("two", 0x7000_0100, 5, &[2; 16])]);
    let paths = ["/a/jit-10.dump", "/b/jit-10.dump", "/c/jit-10.dump"];
    let mut recording = run_time(&paths);
    recording.sample(at(10, 0x7000_0000));
    recording.sample(at(10, 0x7000_0100));
    let jitdumps = [(paths[0], one.as_slice()), (paths[1], &[0; 64]), (paths[2], &two)];
    let request = Request { jitdumps: &jitdumps, ..Request::default() };
    let profile = read(&mut Cursor::new(&recording.finish()), &request).expect("a profile");
    adds_up(&profile);
    let names: Vec<&str> = profile.jit.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let wanted = WantedJitdump { pid: 10, path: paths[1].to_owned() };
    assert_eq!((profile.unread_jitdumps.len(), profile.wanted), (1, vec![wanted]));
    assert_eq!(profile.unread_jitdumps[0].0, paths[1]);
}

#[test]
fn a_perf_map_names_what_no_jitdump_describes() {
    let dump = dump_of(&[("described", 0x7000_0000, 5, &[1; 16])]);
    let mut recording = run_time(&["/x/jit-10.dump"]);
    for ip in [0, 0x108, 0x300] {
        recording.sample(at(10, 0x7000_0000 + ip));
    }
    let file = recording.finish();
    assert_eq!(parsed(&file).expect("a profile").wanted_perf_maps, [10]);
    let map = b"70000000 10 other name of it\n70000100 20 only a name\n70000400 20 unseen\n";
    let request = Request { jitdumps: &[("/x/jit-10.dump", &dump)], perf_maps: &[(10, map), (11, map)] };
    let profile = read(&mut Cursor::new(&file), &request).expect("a profile");
    adds_up(&profile);
    let found: Vec<_> =
        profile.jit.iter().map(|it| (it.name.as_str(), &it.source, it.code.len(), it.leaves[0].0)).collect();
    let described = JitSource::Jitdump { path: "/x/jit-10.dump".into(), image_svma: Some(0x7000_0000) };
    assert_eq!(found, [("described", &described, 16, 0), ("only a name", &JitSource::PerfMap, 0, 8)]);
    assert_eq!((profile.events[0].left_out.anonymous, profile.wanted_perf_maps.len()), (tally(1, 1000), 0));
}

#[test]
fn what_contradicts_itself_is_refused_with_its_offset() {
    let refused = |recording: Recording, expected: &str| {
        let error = parsed(&recording.finish()).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    };
    let start = Recording::new(&[CPU_CLOCK]).finish().len();
    let mut huge = Recording::new(&[CPU_CLOCK]);
    huge.record(9, USER, &[7, 0, 0, 0, 0, u64::MAX].map(u64::to_le_bytes).concat());
    refused(huge, &format!("at offset {start:#x}: expected {} more bytes in this record", u64::MAX));
    let mut other = Recording::new(&[CPU_CLOCK, super::recording::Attributes { id: 8, ..CPU_CLOCK }]);
    other.sample(Sample { id: 99, ..SAMPLE });
    refused(other, "expected a sample of an event that the file describes");
    let mut small = Recording::new(&[CPU_CLOCK]);
    small.records.extend([3, 0, 0, 0, 0, 0, 4, 0]);
    refused(small, "expected a record of 8 bytes or more, found 4");
    let mut long = Recording::new(&[CPU_CLOCK]);
    long.records.extend([3, 0, 0, 0, 0, 0, 40, 0]);
    refused(long, "expected a record that ends where the records do: the file is cut off");
    let mut trace = Recording::new(&[CPU_CLOCK]);
    trace.record(71, 0, &[0xff; 40]);
    refused(trace, "after a record, within the records: the file is cut off");
    let mut eventless = Recording::new(&[]);
    eventless.record(68, 0, &[]);
    refused(eventless, "expected the attributes of an event");
    let mut unfinished = Recording::new(&[CPU_CLOCK]).finish();
    unfinished[48..56].fill(0);
    let error = parsed(&unfinished).expect_err("no size").to_string();
    assert!(error.starts_with("at offset 0x28: expected the size of the records"), "{error}");
}

/// A zstd frame of blocks that repeat a byte.
fn repeated(blocks: usize, byte: u8) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
    for _ in 0..blocks {
        // 128 KiB of one byte: type 1.
        frame.extend(&(128u32 << 13 | 2).to_le_bytes()[..3]);
        frame.push(byte);
    }
    frame
}

#[test]
fn compressed_bombs_are_refused_and_harmless_ones_pass() {
    let of = |blocks: usize, byte: u8| {
        let mut recording = Recording::new(&[CPU_CLOCK]);
        recording.record(81, 0, &repeated(blocks, byte));
        parsed(&recording.finish())
    };
    // Each record is of kind 0x08080808 and of 0x0808 bytes: 257 blocks of 128 KiB are a multiple of that.
    assert_eq!(of(257, 8).expect("nothing in it").events[0].total, Tally::default());
    let error = of(600, 8).expect_err("a bomb").to_string();
    assert!(error.contains("at most 1000 bytes from each of 2406 compressed bytes"), "{error}");
    let error = of(2, 0).expect_err("records without a size").to_string();
    assert!(error.contains("records of 8 bytes or more, compressed; found 0"), "{error}");
    let error = of(1, 8).expect_err("half a record").to_string();
    assert!(error.contains("the rest of a compressed record"), "{error}");
}

#[test]
fn compressed_records_may_be_cut_anywhere() {
    // The stream of a real recording, in records of seven bytes each.
    let file = bytes("compressed.data");
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes")) as usize;
    let (start, size) = (word(40), word(48));
    let mut records = Vec::new();
    let mut at = start;
    while at < start + size {
        let length = usize::from(u16::from_le_bytes([file[at + 6], file[at + 7]]));
        if file[at] == 81 {
            for part in file[at + 8..at + length].chunks(7) {
                records.extend([81, 0, 0, 0, 0, 0, 8 + part.len() as u8, 0]);
                records.extend(part);
            }
        } else {
            records.extend(&file[at..at + length]);
        }
        at += length;
    }
    let mut other = file[..start].to_vec();
    other[48..56].copy_from_slice(&(records.len() as u64).to_le_bytes());
    // No feature sections: they would be elsewhere.
    other[72..104].fill(0);
    other.extend(records);
    let (whole, cut) = (parsed(&file).expect("a profile"), parsed(&other).expect("a profile"));
    assert_eq!(whole.events, cut.events);
    assert_eq!(leaves(&whole, 0), leaves(&cut, 0));
}
