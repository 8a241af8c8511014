//! The text of `perf script`: a line for each sample, or with call chains a paragraph.
//!
//! In: lines, with perf's default fields or with `-F comm,ip,sym,dso`. Out: a weight for each function that was running,
//! which is the first of a chain; callers count for nothing here.
//!
//! ```text
//!             prog 18207   544.645902:     250000 cpu-clock:      55d7166862b6 sum+0x16 (/usr/bin/prog)
//! ```
//!
//! [`ScriptFrame`] says how a frame is found in a line. Where period and event are shown, the period is the sample's weight: perf
//! varies it to keep its frequency.

use super::lines::Lines;
use super::sample::{Profile, Unit, Weight};
use super::tally::Tally;
use crate::readers::error::ReadError;
use crate::readers::quantity::shortened;
use deburr_profile::ScriptFrame;

/// The events that come after equal portions of time: those of the kernel's clocks and of cycles.
const TIMES: [&str; 6] = ["cpu-clock", "task-clock", "cycles", "cpu-cycles", "cpu_cycles", "ref-cycles"];

/// Reads a whole profile.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Profile, ReadError> {
    let mut reader = Reader::default();
    while let Some((number, line)) = lines.next()? {
        reader.line(number, &String::from_utf8_lossy(line))?;
    }
    if let Some(open) = &reader.open {
        // perf ends each chain with an empty line.
        return Err(ReadError::line(lines.number(), format!("the sample of line {} is cut off", open.line)));
    }
    if reader.frames == 0 {
        return Err(ReadError::whole("no sample of perf script in it"));
    }
    let profile = reader.tally.finish(Unit::Time);
    if profile.total().sum <= 0.0 {
        return Err(ReadError::whole("all of its samples have the period 0"));
    }
    Ok(profile)
}

/// A sample whose chain is being read.
#[derive(Debug)]
struct Open {
    line: usize,
    weight: Weight,
    /// Whether a frame was there, even if it is of an inlined function.
    has_frame: bool,
    is_counted: bool,
}

#[derive(Debug, Default)]
struct Reader {
    tally: Tally,
    open: Option<Open>,
    /// The event of the samples, and the line that has it first.
    event: Option<(String, usize)>,
    frames: u64,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ReadError> {
        if line.trim().is_empty() {
            match self.open.take() {
                // A chain of nothing: nobody knows what was running.
                Some(open) if !open.is_counted => self.tally.nameless(open.weight),
                _ => {}
            }
            return Ok(());
        }
        if let Some(frame) = line.strip_prefix('\t') {
            return self.chained(number, frame);
        }
        if let Some(open) = &self.open {
            return Err(expected(number, line, &format!("a frame of the sample of line {}", open.line)));
        }
        // Comments of --header; records that are no samples.
        if line.starts_with('#') || line.contains(" PERF_RECORD_") {
            return Ok(());
        }
        match ScriptFrame::in_line(line) {
            Some((head, frame)) => {
                let weight = self.weight(number, head)?;
                self.count(number, &frame, weight)
            }
            None if line.contains(" (") && line.ends_with(')') => {
                Err(expected(number, line, "an instruction pointer, a symbol and its file"))
            }
            None => {
                let weight = self.weight(number, line)?;
                self.open = Some(Open { line: number, weight, has_frame: false, is_counted: false });
                Ok(())
            }
        }
    }

    /// A line of a chain.
    fn chained(&mut self, number: usize, line: &str) -> Result<(), ReadError> {
        let Some(open) = &mut self.open else {
            return Err(expected(number, line, "a sample before its frames"));
        };
        let frame = ScriptFrame::of(line).ok_or_else(|| expected(number, line, "a frame"))?;
        open.has_frame = true;
        // The first function that is not inlined is the one that has a symbol.
        if open.is_counted || frame.object == "inlined" {
            return Ok(());
        }
        open.is_counted = true;
        let weight = open.weight;
        self.count(number, &frame, weight)
    }

    fn count(&mut self, number: usize, frame: &ScriptFrame<'_>, weight: Weight) -> Result<(), ReadError> {
        self.frames += 1;
        if is_kernel(frame) {
            self.tally.kernel(weight);
            return Ok(());
        }
        match frame.symbol() {
            None => self.tally.nameless(weight),
            Some((symbol, _)) => self.tally.function(number, frame.object, symbol, weight)?,
        }
        Ok(())
    }

    /// The weight of a sample by what is before its instruction pointer: the period where there is one.
    fn weight(&mut self, number: usize, head: &str) -> Result<Weight, ReadError> {
        let mut fields = head.split_whitespace().rev();
        let (last, period, time) = (fields.next(), fields.next(), fields.next());
        let one = Weight { samples: 1, sum: 1.0, squares: 1.0 };
        let event = last.and_then(|last| last.strip_suffix(':'));
        let Some(event) = event.filter(|event| event.starts_with(|c: char| c.is_ascii_alphabetic())) else {
            return Ok(one);
        };
        // Among perf's own fields a period comes after the time, and nothing else is a number there.
        let is_time = |time: &str| time.ends_with(':') && time.starts_with(|c: char| c.is_ascii_digit());
        let Some(period) = period.filter(|_| time.is_some_and(is_time)) else { return Ok(one) };
        let period: u64 = period.parse().map_err(|_| expected(number, head, "a period before the event"))?;
        self.event(number, event)?;
        let period = period as f64;
        Ok(Weight { samples: 1, sum: period, squares: period * period })
    }

    /// Makes sure that all samples are of one event, and that it is time.
    fn event(&mut self, number: usize, event: &str) -> Result<(), ReadError> {
        let name = plain_event(event);
        if let Some((first, line)) = &self.event {
            if first == name {
                return Ok(());
            }
            let (first, name) = (shortened(first), shortened(name));
            return Err(ReadError::line(
                number,
                format!(
                    "event {name}, where line {line} has {first}; record one event alone (perf record -e)"
                ),
            ));
        }
        if !TIMES.contains(&name) {
            return Err(ReadError::line(
                number,
                format!(
                    "event {}, whose samples are no portions of time; record cycles or cpu-clock (perf record -e)",
                    shortened(name)
                ),
            ));
        }
        self.event = Some((name.to_owned(), number));
        Ok(())
    }
}

/// An event without its unit and modifiers: `cycles` of `cpu_core/cycles/ppp:`.
fn plain_event(event: &str) -> &str {
    let within = event.split_once('/').map_or(event, |(_, within)| within);
    within.split(['/', ':']).next().unwrap_or(within)
}

fn expected(number: usize, line: &str, what: &str) -> ReadError {
    let found = shortened(line.trim());
    ReadError::line(
        number,
        format!("expected {what}, found {found:?}; perf script -F comm,ip,sym,dso writes what is read here"),
    )
}

fn is_kernel(frame: &ScriptFrame<'_>) -> bool {
    frame.ip >> 63 == 1 || frame.object.starts_with("[kernel") || frame.object.starts_with("[guest.kernel")
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use std::fmt::Write;

    fn profile(text: &str) -> Result<Profile, String> {
        read(&mut text.as_bytes()).map_err(|error| error.to_string())
    }

    /// Functions with the sum of their weights; then the kernel, and what has no name.
    fn sums(text: &str) -> (Vec<(String, String, f64)>, f64, f64) {
        let found = profile(text).unwrap();
        assert_eq!(found.unit, Unit::Time);
        let functions = found.functions.into_iter();
        let functions = functions.map(|(function, weight)| (function.object, function.name, weight.sum));
        (functions.collect(), found.kernel.sum, found.nameless.sum)
    }

    fn one(object: &str, name: &str, sum: f64) -> (String, String, f64) {
        (object.to_owned(), name.to_owned(), sum)
    }

    #[test]
    fn a_line_for_each_sample_with_few_fields_or_with_perf_s_own() {
        let few = "          hot-v1  ffffffff813620e2 handle_softirqs ([kernel.kallsyms])\n\
                   \x20         hot-v1      55d7166862b6 chase.constprop.0 (/tmp/hot v1)\n\
                   \x20         hot-v1      55d7166862b6 chase.constprop.0 (/tmp/hot v1)\n\
                   \x20         hot-v1            12ab34 [unknown] (/lib/libx.so)\n\
                   \x20         hot-v1                 0 [unknown] ([unknown])\n";
        assert_eq!(sums(few), (vec![one("/tmp/hot v1", "chase.constprop.0", 2.0)], 1.0, 2.0));
        let own = "          hot-v1 18207   544.644324:     250000 cpu-clock:pppH:  ffffffff813620e2 handle_softirqs+0x72 ([kernel.kallsyms])\n\
                   \x20         hot-v1 18207 [001]   544.645902:        500 cpu-clock:pppH:      55d7166862b6 sum(int, char)+0x16 (/tmp/hot (deleted))\n";
        assert_eq!(sums(own), (vec![one("/tmp/hot (deleted)", "sum(int, char)", 500.0)], 250_000.0, 0.0));
    }

    #[test]
    fn the_first_of_a_chain_counts_and_what_is_inlined_does_not() {
        let chains = "hot-v1 18253   546.739120:     250000 cpu-clock: \n\
                      \t           153e0 inner (inlined)\n\
                      \t           153e0 outer<a (*)(int)>+0x270 (/usr/lib/ld.so)\n\
                      \t               0 [unknown] ([unknown])\n\n\
                      hot-v1 18253   546.739366:     250000 cpu-clock: \n\n\
                      hot-v1 18253   546.739618:     250000 cpu-clock: \n\
                      \tffffffff815e3d25 unmap_page_range+0xb35 ([kernel.kallsyms])\n\
                      \t           153e0 outer+0x270 (/usr/lib/ld.so)\n\n";
        let outer = one("/usr/lib/ld.so", "outer<a (*)(int)>", 250_000.0);
        assert_eq!(sums(chains), (vec![outer], 250_000.0, 250_000.0));
        let few = "hot-v1 \n\t           153e0 main (/bin/prog)\n\nhot-v1 \n\t           153e1 main (/bin/prog)\n\n";
        assert_eq!(sums(few), (vec![one("/bin/prog", "main", 2.0)], 0.0, 0.0));
    }

    #[test]
    fn commands_that_look_like_addresses_stay_commands() {
        for command in ["dd", "(sd-pam)", "a b", "Web Content", "deadbeef", "0", "ä", "x (/y)", "cycles:"] {
            let mut line = String::new();
            writeln!(line, "{command:>16}      55d7166862b6 main (/bin/dd)").unwrap();
            assert_eq!(sums(&line).0, [one("/bin/dd", "main", 1.0)], "{line}");
            let line = format!(
                "{command:>16}  123456 [001]  5.5:        7 cycles:u:             12345 main+0x1 (/bin/dd)\n"
            );
            assert_eq!(sums(&line).0, [one("/bin/dd", "main", 7.0)], "{line}");
        }
    }

    #[test]
    fn files_and_symbols_may_have_parentheses() {
        for object in ["/a (b)", "/memfd:prog (deleted)", "/a)b", "/a(b", "[vdso]", "anon_inode:x", "//anon"]
        {
            for symbol in ["main", "operator()(int)", "f<(x)1>", "a::(anonymous namespace)::b", "operator("] {
                let line = format!("            prog      55d7166862b6 {symbol} ({object})\n");
                // What cannot be distinguished: a parenthesis that never ends, and a file with one that never began.
                if symbol == "operator(" && object == "/a)b" {
                    continue;
                }
                assert_eq!(sums(&line).0, [one(object, symbol, 1.0)], "{line}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_foreign_is_refused_with_its_line() {
        let refused = |text: &str, expected: &str| {
            let error = profile(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        };
        refused("", "no sample of perf script in it");
        refused("# comment\n\n", "no sample of perf script in it");
        refused("hello\n\nworld\n\n", "no sample of perf script in it");
        refused("hello\nworld\n", "line 2: expected a frame of the sample of line 1, found \"world\"");
        refused("\t 12 main (/x)\n", "line 1: expected a sample before its frames, found \"12 main (/x)\"");
        refused("prog\n\t 12 main (/x)\n", "line 3: the sample of line 1 is cut off");
        refused("prog\n\t 12 main\n", "line 2: expected a frame, found \"12 main\"; perf script -F");
        refused("prog\n\t 12 ma", "line 2: the file ends within this line: cut off");
        refused(
            "prog 12 main (/x)\n",
            "line 1: expected an instruction pointer, a symbol and its file, found \"prog 12 main (/x)\"",
        );
        refused("PERFILE2....", "a perf.data, where text is expected; perf script");
        let compressed = read(&mut &b"\x1f\x8b\x08"[..]).unwrap_err().to_string();
        assert!(compressed.starts_with("compressed by gzip; unpack it first"), "{compressed}");
        let event = |event: &str| format!("prog 1 5.5:  7 {event}: \n\t 12 main (/x)\n\n");
        refused(
            &event("instructions:u"),
            "line 1: event instructions, whose samples are no portions of time",
        );
        refused(&event("cpu_core/cache-misses/ppp"), "line 1: event cache-misses,");
        let two = event("cycles:ppp") + &event("cpu-clock");
        refused(&two, "line 4: event cpu-clock, where line 1 has cycles; record one event alone");
        let hybrid = event("cpu_core/cycles/ppp") + &event("cpu_atom/cycles/");
        assert_eq!(sums(&hybrid).0, [one("/x", "main", 14.0)]);
        refused(&event("cycles").replace(" 7 ", " 0 "), "all of its samples have the period 0");
        refused(
            &event("cycles").replace(" 7 ", " x "),
            "line 1: expected a period before the event, found \"prog 1 5.5:  x cycles:\"",
        );
    }
}
