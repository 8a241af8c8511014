//! Callgrind's output (and that of other programs in the same format): exact counts of events, by function.
//!
//! In: lines as "Callgrind Format Specification" (Valgrind's manual, chapter on callgrind) describes them, version 1, also
//! with compressed names and relative positions. Out: for each function what was counted in itself; what it calls is
//! counted there. The first event counts, which is `Ir` (instructions executed) in callgrind's own files.

use super::lines::Lines;
use super::sample::{Profile, Unit, Weight};
use super::tally::Tally;
use crate::readers::error::ReadError;
use crate::readers::quantity::shortened;
use std::collections::HashMap;

/// The most bytes of names that are kept for their numbers.
const MOST_BYTES: usize = 256 << 20;

/// Whether a file begins as one in this format.
pub(super) fn begins(beginning: &[u8]) -> bool {
    let keys: [&[u8]; 6] = [b"# callgrind format", b"version:", b"creator:", b"pid:", b"cmd:", b"positions:"];
    keys.iter().any(|key| beginning.starts_with(key))
}

/// Reads a whole profile.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Profile, ReadError> {
    let mut reader = Reader::default();
    while let Some((number, line)) = lines.next()? {
        reader.line(number, &String::from_utf8_lossy(line))?;
    }
    if reader.is_after_calls {
        return Err(ReadError::line(
            lines.number(),
            "the file ends where the cost of a call is expected: cut off",
        ));
    }
    reader.close(lines.number())?;
    let Some(event) = reader.event else {
        return Err(ReadError::whole("no line \"events:\" in it: no profile of callgrind"));
    };
    if !reader.has_sum {
        return Err(ReadError::whole("neither \"summary:\" nor \"totals:\" in it: cut off?"));
    }
    let profile = reader.tally.finish(Unit::Events(event));
    if profile.total().sum <= 0.0 {
        return Err(ReadError::whole("nothing was counted in it"));
    }
    Ok(profile)
}

/// Names by their numbers: `(7) main` defines one, `(7)` stands for it.
#[derive(Debug, Default)]
struct Names {
    known: HashMap<u64, String>,
    bytes: usize,
}

impl Names {
    /// The name that a line gives.
    fn name(&mut self, number: usize, text: &str) -> Result<String, ReadError> {
        let Some((id, name)) = text.strip_prefix('(').and_then(|text| text.split_once(')')) else {
            return Ok(text.to_owned());
        };
        // A name of its own that begins with a parenthesis: `(below main)`.
        let Ok(id) = id.parse::<u64>() else { return Ok(text.to_owned()) };
        let name = name.trim();
        if name.is_empty() {
            return self.known.get(&id).cloned().ok_or_else(|| {
                ReadError::line(number, format!("({id}) stands for a name that no line before has"))
            });
        }
        self.bytes += name.len();
        if self.bytes > MOST_BYTES {
            return Err(ReadError::line(
                number,
                "more than 256 MiB of names up to here: no profile of one program",
            ));
        }
        self.known.insert(id, name.to_owned());
        Ok(name.to_owned())
    }
}

#[derive(Debug, Default)]
struct Reader {
    tally: Tally,
    /// The first of the events that are counted.
    event: Option<String>,
    /// How many numbers come before the counts of a line.
    positions: usize,
    objects: Names,
    functions: Names,
    object: String,
    function: Option<String>,
    /// What was counted for the function so far.
    pending: u64,
    /// What was counted in this part, and what the part says of that, with its line.
    sum: u64,
    stated: Option<(u64, usize)>,
    has_sum: bool,
    /// Whether the next line has the cost of a call.
    is_after_calls: bool,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ReadError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '*')) {
            return self.cost(number, line);
        }
        if self.is_after_calls {
            return Err(unexpected(number, line, "the cost of a call"));
        }
        match line.find(['=', ':']).and_then(|at| line.split_at_checked(at)) {
            Some((key, value)) if value.starts_with('=') => {
                self.body(number, key, value.trim_start_matches('='))
            }
            Some((key, value)) => self.header(number, line, key, value.trim_start_matches(':').trim()),
            None => Err(unexpected(number, line, "a line of callgrind's format")),
        }
    }

    /// `fn=(1) main`
    fn body(&mut self, number: usize, key: &str, value: &str) -> Result<(), ReadError> {
        match key {
            "ob" => {
                self.flush(number)?;
                self.object = self.objects.name(number, value)?;
            }
            "fn" => {
                self.flush(number)?;
                self.function = Some(self.functions.name(number, value)?);
            }
            "cob" => drop(self.objects.name(number, value)?),
            "cfn" => drop(self.functions.name(number, value)?),
            "calls" => self.is_after_calls = true,
            // Files of the source, and jumps, which cost nothing of their own.
            "fl" | "fi" | "fe" | "cfi" | "cfl" | "jump" | "jcnd" | "rcalls" | "frfn" => {}
            _ => return Err(unexpected(number, key, "a line of callgrind's format")),
        }
        Ok(())
    }

    /// `events: Ir`
    fn header(&mut self, number: usize, line: &str, key: &str, value: &str) -> Result<(), ReadError> {
        match key {
            "version" if value != "1" => Err(unexpected(number, line, "version 1 of callgrind's format")),
            "events" => {
                let event = value.split_whitespace().next().unwrap_or_default();
                if self.event.as_ref().is_some_and(|known| known != event) || event.is_empty() {
                    return Err(unexpected(number, line, "the events that the parts before count"));
                }
                self.event = Some(event.to_owned());
                Ok(())
            }
            "positions" => {
                self.positions = value.split_whitespace().count();
                let is_known = matches!(value, "line" | "instr" | "instr line");
                if is_known { Ok(()) } else { Err(unexpected(number, line, "lines, instructions or both")) }
            }
            // One dump after the other: each has sums of its own.
            "part" => self.close(number),
            "summary" | "totals" => {
                let sum = value.split_whitespace().next().and_then(|sum| sum.parse().ok());
                let sum = sum.ok_or_else(|| unexpected(number, line, "a number"))?;
                (self.stated, self.has_sum) = (Some((sum, number)), true);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// `+3 200`: positions, then counts.
    fn cost(&mut self, number: usize, line: &str) -> Result<(), ReadError> {
        if self.event.is_none() {
            return Err(unexpected(number, line, "the line \"events:\" before counts"));
        }
        let mut fields = line.split_ascii_whitespace().skip(self.positions.max(1));
        let count = fields.next().map_or(Some(0), |count| count.parse::<u64>().ok());
        let count = count.ok_or_else(|| unexpected(number, line, "positions and counts"))?;
        if std::mem::take(&mut self.is_after_calls) {
            return Ok(());
        }
        if self.function.is_none() && count > 0 {
            return Err(unexpected(number, line, "a line \"fn=\" before counts"));
        }
        let add =
            |one: u64| one.checked_add(count).ok_or_else(|| unexpected(number, line, "counts of 64 bits"));
        (self.pending, self.sum) = (add(self.pending)?, add(self.sum)?);
        Ok(())
    }

    /// Gives what was counted to its function.
    fn flush(&mut self, number: usize) -> Result<(), ReadError> {
        let count = std::mem::take(&mut self.pending);
        if count == 0 {
            return Ok(());
        }
        let weight = Weight { samples: 0, sum: count as f64, squares: 0.0 };
        let name = self.function.as_deref().unwrap_or_default();
        // Callgrind's names of what has none; `'2` is the second of a recursion.
        let is_nameless = name == "???" || name.starts_with("0x");
        let plain = name
            .rsplit_once('\'')
            .filter(|(_, depth)| !depth.is_empty() && depth.bytes().all(|digit| digit.is_ascii_digit()));
        match plain.map_or(name, |(plain, _)| plain) {
            "" => self.tally.nameless(weight),
            _ if is_nameless => self.tally.nameless(weight),
            name => self.tally.function(number, &self.object, name, weight)?,
        }
        Ok(())
    }

    /// Ends a part: what was counted is what it says.
    fn close(&mut self, number: usize) -> Result<(), ReadError> {
        self.flush(number)?;
        let sum = std::mem::take(&mut self.sum);
        match self.stated.take() {
            Some((stated, line)) if stated != sum => Err(ReadError::line(
                number,
                format!("the counts sum to {sum}, where line {line} says {stated}: cut off?"),
            )),
            _ => Ok(()),
        }
    }
}

fn unexpected(number: usize, line: &str, what: &str) -> ReadError {
    ReadError::line(number, format!("expected {what}, found {:?}", shortened(line)))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const WHOLE: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 1\ncmd: ./prog 1\npart: 1\n\n\
        desc: Trigger: Program termination\n\npositions: line\nevents: Ir Dr\nsummary: 160 3\n\n\
        ob=(1) /bin/prog\nfl=(1) a.c\nfn=(1) main\n1 10 2\n+3 20\ncob=(2) /lib/libc.so\ncfi=(2) b.c\ncfn=(2) sum'2\n\
        calls=3 15\n* 90 1\nfn=(1)\n9 5\nfi=(2)\n-2 5 1\n\nob=(2)\nfl=(2)\nfn=(2)\n15 90\njump=2 +1\n16\nfn=(3) 0x0000000000001090\n1 20\n\
        fn=(4) ???\n1 7\nfn=(5) (below main)\n1 3\n\ntotals: 160 3\n";

    fn profile(text: &str) -> Result<Profile, String> {
        read(&mut text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_function_has_what_was_counted_in_itself() {
        let found = profile(WHOLE).unwrap();
        let all: Vec<(&str, &str, f64)> = found
            .functions
            .iter()
            .map(|(function, weight)| (function.object.as_str(), function.name.as_str(), weight.sum))
            .collect();
        let expected = [
            ("/bin/prog", "main", 40.0),
            ("/lib/libc.so", "(below main)", 3.0),
            ("/lib/libc.so", "sum", 90.0),
        ];
        assert_eq!(all, expected);
        assert_eq!(
            (found.unit, found.nameless.sum, found.kernel.sum),
            (Unit::Events("Ir".to_owned()), 27.0, 0.0)
        );
    }

    #[test]
    fn positions_of_instructions_and_several_parts_are_read() {
        let two = "version: 1\npart: 1\npositions: instr line\nevents: Ir\nfn=main\n0x401000 1 4\n+3 * 2\ntotals: 6\n\
                   part: 2\nevents: Ir\nfn=main\n0x401000 1 5\ntotals: 5\n";
        assert_eq!(profile(two).unwrap().functions[0].1.sum, 11.0);
    }

    #[test]
    fn what_is_cut_off_or_contradicts_itself_is_refused_with_its_line() {
        let refused = |text: &str, expected: &str| {
            let error = profile(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        };
        let last = WHOLE.lines().count();
        // Cut after each line, and in the middle of each line: never taken for a whole profile with other counts.
        let mut at = 0;
        for line in WHOLE.lines() {
            for end in [at, at + line.len() / 2] {
                let (cut, rest) = WHOLE.split_at(end);
                // Everything is there but its sum, which the beginning states, too.
                let is_all = rest.trim_start().starts_with("totals");
                assert!(is_all || profile(cut).is_err(), "{cut}");
            }
            at += line.len() + 1;
        }
        refused(
            &WHOLE.replace("15 90\n", "15 91\n"),
            &format!("line {}: the counts sum to 161, where line {last} says 160", last + 1),
        );
        refused(
            &WHOLE.replace("fn=(1)\n", "fn=(9)\n"),
            "line 24: (9) stands for a name that no line before has",
        );
        refused(
            &WHOLE.replace("events: Ir Dr\n", ""),
            "line 16: expected the line \"events:\" before counts, found \"1 10 2\"",
        );
        refused(&WHOLE.replace("* 90 1\n", ""), "line 23: expected the cost of a call, found \"fn=(1)\"");
        refused(&WHOLE.replace("9 5\n", "9 x\n"), "line 25: expected positions and counts, found \"9 x\"");
        refused(
            &WHOLE.replace("\nfi=(2)", "\nxx=(2)"),
            "line 26: expected a line of callgrind's format, found \"xx\"",
        );
        refused("version: 2\n", "line 1: expected version 1 of callgrind's format, found \"version: 2\"");
        refused("version: 1\nhello\n", "line 2: expected a line of callgrind's format, found \"hello\"");
        refused("version: 1\n", "no line \"events:\" in it");
        refused(
            "version: 1\nevents: Ir\n5 5\n",
            "line 3: expected a line \"fn=\" before counts, found \"5 5\"",
        );
        refused("version: 1\nevents: Ir\nfn=a\n5 5\n", "neither \"summary:\" nor \"totals:\"");
        let most = "version: 1\nevents: Ir\nfn=a\n5 18446744073709551615\n5 1\n";
        refused(most, "line 5: expected counts of 64 bits, found \"5 1\"");
    }
}
