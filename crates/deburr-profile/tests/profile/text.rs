//! The text of `perf script`.

use super::{file_offset, leaves, parsed, profile, tally};
use deburr_profile::{Format, Place, Precision, Tally};
use std::collections::BTreeMap;

fn symbol(path: &str, name: &str, offset: u64) -> (String, Place) {
    (path.to_owned(), Place::Symbol { name: name.into(), offset: Some(offset) })
}

#[test]
fn text_has_the_samples_of_the_file_that_perf_printed() {
    for (text, data) in [("chains.script", "chains.data"), ("group.script", "group.data")] {
        let (text, data) = (profile(text), profile(data));
        assert_eq!(text.format, Format::PerfScript);
        assert!(text.events.iter().all(|event| event.precision == Precision::Skids));
        for (event, (text, data)) in text.events.iter().zip(&data.events).enumerate() {
            assert_eq!(
                (&text.name, text.total, text.left_out),
                (&data.name, data.total, data.left_out),
                "{event}"
            );
        }
        let sums = |profile: &deburr_profile::Profile| -> BTreeMap<String, Tally> {
            let mut sums = BTreeMap::new();
            for ((path, _), tally) in leaves(profile, 0) {
                sums.entry(path).or_insert_with(Tally::default).add(tally);
            }
            sums
        };
        assert_eq!(sums(&text), sums(&data));
    }
}

#[test]
fn lines_of_the_source_change_nothing() {
    assert_eq!(profile("srcline.script"), profile("chains.script"));
}

#[test]
fn fields_may_be_others() {
    let text = "\
# captured on    : today
            spin  7692 26236.261087:     247967   cpu-clock:      55d7166862b6 work(int, char (*)())+0x16 (/usr/bin/spin)
        my  spin  7692 [001] 26236.261087:     3 cpu-clock:u:      55d7166862b6 work+0x17 (/usr/bin/spin+0x1139)
            spin  ffffffff813349dd native_write_msr+0xd ([kernel.kallsyms])
            spin      7f3300001234 [unknown] (/usr/lib/libc.so.6)
            spin      7f3300001234 [unknown] (//anon)
            spin      7f3300001234 [unknown] ([unknown])
            spin  7692 26236.261087:     2 cpu-clock:      55d7166862b6 main+0x1 (/a b (c)/spin)  0x55d716686151/0x55d716686140/P/-/-/0  0x1/0x2/M/-/-/0
            spin  7692 26236.261087: PERF_RECORD_EXIT(7692:7692):(1:1)
";
    let profile = parsed(text.as_bytes()).expect("a profile");
    let names: Vec<&str> = profile.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["cpu-clock", "cpu-clock:u", "samples"]);
    let expected = [
        (symbol("/a b (c)/spin", "main", 1), tally(1, 2)),
        (symbol("/usr/bin/spin", "work(int, char (*)())", 0x16), tally(1, 247_967)),
    ];
    assert_eq!(leaves(&profile, 0), BTreeMap::from(expected));
    assert_eq!(leaves(&profile, 1), BTreeMap::from([(file_offset("/usr/bin/spin", 0x1139), tally(1, 3))]));
    let left_out = profile.events[2].left_out;
    assert_eq!(
        (left_out.kernel, left_out.anonymous, left_out.unknown),
        (tally(1, 1), tally(1, 1), tally(2, 2))
    );
}

#[test]
fn an_inlined_function_has_no_frame() {
    let text = "\
spin  6899 26235.067736:     250000 cpu-clock: \n\
\t            11ac step (inlined)\n\
\t            11ac work+0x13 (/usr/bin/spin)\n\
\t            11ea outer (inlined)\n\
\t            11ea main+0x1a (/usr/bin/spin)\n\
\t           2724a __libc_start_call_main+0x7a (/usr/lib/libc.so.6)\n\n";
    let profile = parsed(text.as_bytes()).expect("a profile");
    assert_eq!(
        leaves(&profile, 0),
        BTreeMap::from([(symbol("/usr/bin/spin", "work", 0x13), tally(1, 250_000))])
    );
    let edges = &profile.objects[0].edges;
    assert_eq!(edges.len(), 1);
    assert_eq!(edges[0].caller.place, symbol("", "main", 0x1a).1);
    assert_eq!(edges[0].tally, tally(1, 250_000));
}

#[test]
fn what_is_no_text_of_perf_script_is_refused_with_its_offset() {
    let refused = |text: &str, expected: &str| {
        let error = parsed(text.as_bytes()).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    refused("hello\n", "at offset 0x6: expected the rest of a sample's chain");
    refused("# only a comment\n", "at offset 0x0: expected a sample of perf script");
    refused("\t  11ac work+0x13 (/a)\n", "at offset 0x0: expected a sample before its frames");
    let head = "spin  1 2.0:  5 cpu-clock: \n";
    refused(&format!("{head}{head}"), "at offset 0x1c: expected a frame of a sample");
    refused(&format!("{head}\tno frame\n"), "at offset 0x1c: expected a frame, found \"no frame\"");
    refused("spin  1 2.0:  x cpu-clock: \n", "at offset 0x0: expected a period before the event");
    refused("spin  1 2.0:  5 cpu-clock: ", "at offset 0x0: expected the rest of a line: the file is cut off");
    refused(&format!("{}\n", "x".repeat(2 << 20)), "at offset 0x0: expected a line of at most 1024 KiB");
}
