//! Callgrind's output: exact counts of events by function, or by instruction with `--dump-instr=yes`; and exact counts of calls.
//!
//! In: lines as "Callgrind Format Specification" (Valgrind's manual) describes them, version 1, also with compressed names and
//! relative positions. Out: what was counted at each place itself, and calls with what the callee cost inclusively.
//!
//! An instruction's address is relative to its object as it is linked ([`Spot::Svma`]): callgrind subtracts the load bias, in
//! position-independent programs and shared libraries as in others. Objects `???` have no file; they are left out. Without
//! addresses, a place is a function's name, without the `'2` of a recursion.

mod names;

use crate::error::Error;
use crate::gather::{At, Gather, NameId, ObjectId, Outside, Spot};
use crate::lines::{Lines, shortened};
use crate::profile::{Format, Precision, Profile, Tally};
use names::Names;
use std::io::Read;

/// The most events that are counted.
const MOST_EVENTS: usize = 64;

/// Whether a file begins as one in this format.
pub(crate) fn begins(beginning: &[u8]) -> bool {
    let keys: [&[u8]; 6] = [b"# callgrind format", b"version:", b"creator:", b"pid:", b"cmd:", b"positions:"];
    keys.iter().any(|key| beginning.starts_with(key))
}

/// Reads a whole profile.
pub(crate) fn read(input: impl Read) -> Result<Profile, Error> {
    let mut lines = Lines::new(input);
    let mut reader =
        Reader { positions: Positions { has_line: true, ..Positions::default() }, ..Reader::default() };
    while let Some((offset, line)) = lines.next()? {
        reader.line(offset, &String::from_utf8_lossy(line))?;
    }
    if reader.call.is_some() {
        return Err(Error::new(lines.offset(), "the cost of a call: the file is cut off"));
    }
    reader.close(lines.offset())?;
    if reader.gather.events.is_empty() {
        return Err(Error::new(lines.offset(), "a line \"events:\""));
    }
    if !reader.has_sum {
        return Err(Error::new(lines.offset(), "a line \"summary:\" or \"totals:\": the file is cut off"));
    }
    Ok(reader.gather.finish(Format::Callgrind, Vec::new()))
}

/// The positions of the last line, which the next is relative to.
#[derive(Debug, Clone, Copy, Default)]
struct Positions {
    has_address: bool,
    has_line: bool,
    address: u64,
}

impl Positions {
    /// How many fields of a line are positions.
    fn count(&self) -> usize {
        usize::from(self.has_address) + usize::from(self.has_line)
    }

    /// The address that a field means.
    fn address(&self, field: &str) -> Option<u64> {
        if field == "*" {
            return Some(self.address);
        }
        if let Some(gained) = field.strip_prefix('+') {
            return self.address.checked_add(number(gained)?);
        }
        if let Some(lost) = field.strip_prefix('-') {
            return self.address.checked_sub(number(lost)?);
        }
        number(field)
    }
}

/// A number, hexadecimal after `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A line `calls=`, whose cost the next line has.
#[derive(Debug, Clone, Copy)]
struct OpenCall {
    count: u64,
    to: Option<At>,
}

#[derive(Debug, Default)]
struct Reader {
    gather: Gather,
    objects: Names,
    functions: Names,
    positions: Positions,
    object: Option<ObjectId>,
    function: Option<NameId>,
    /// Of the next call, where other than its caller's.
    called_object: Option<Option<ObjectId>>,
    called: Option<NameId>,
    call: Option<OpenCall>,
    /// What was counted in this part; and what the part says of that, with that line.
    sums: Vec<u64>,
    stated: Vec<(Vec<u64>, u64)>,
    has_sum: bool,
    costs: Vec<u64>,
}

/// The name of a function without the depth of its recursion: `sum'2`.
fn without_depth(name: &str) -> &str {
    match name.rsplit_once('\'') {
        Some((plain, depth)) if !depth.is_empty() && depth.bytes().all(|digit| digit.is_ascii_digit()) => {
            plain
        }
        _ => name,
    }
}

fn unexpected(offset: u64, line: &str, expected: &str) -> Error {
    Error::new(offset, format!("{expected}, found {}", shortened(line)))
}

impl Reader {
    fn line(&mut self, offset: u64, line: &str) -> Result<(), Error> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '*')) {
            return self.cost(offset, line);
        }
        if self.call.is_some() {
            return Err(unexpected(offset, line, "the cost of a call"));
        }
        match line.find(['=', ':']).and_then(|at| line.split_at_checked(at)) {
            Some((key, value)) if value.starts_with('=') => {
                self.body(offset, key, value.strip_prefix('=').unwrap_or_default())
            }
            Some((key, value)) => self.header(offset, line, key, value.trim_start_matches(':').trim()),
            None => Err(unexpected(offset, line, "a line of callgrind's format")),
        }
    }

    /// An object by its name; `None`: callgrind knows none.
    fn object(&mut self, value: &str, offset: u64) -> Result<Option<ObjectId>, Error> {
        let name = self.objects.name(&mut self.gather, value, offset, |name| name)?;
        let path = self.gather.name_of(name);
        if path.is_empty() || &*path == "???" {
            return Ok(None);
        }
        self.gather.object_at(&path, offset).map(Some)
    }

    /// `fn=(1) main`
    fn body(&mut self, offset: u64, key: &str, value: &str) -> Result<(), Error> {
        match key {
            "ob" => self.object = self.object(value, offset)?,
            "fn" => {
                self.function = Some(self.functions.name(&mut self.gather, value, offset, without_depth)?);
            }
            "cob" => self.called_object = Some(self.object(value, offset)?),
            "cfn" => {
                self.called = Some(self.functions.name(&mut self.gather, value, offset, without_depth)?)
            }
            "calls" => self.calls(offset, value)?,
            // Files of the source, and jumps, which cost nothing of their own.
            "fl" | "fi" | "fe" | "cfi" | "cfl" | "jump" | "jcnd" | "rcalls" | "frfn" => {}
            _ => return Err(unexpected(offset, key, "a line of callgrind's format")),
        }
        Ok(())
    }

    /// `calls=3 0x1149 +2`: how often, and the callee's position.
    fn calls(&mut self, offset: u64, value: &str) -> Result<(), Error> {
        let mut fields = value.split_ascii_whitespace();
        let count = fields.next().and_then(number);
        let count = count.ok_or_else(|| unexpected(offset, value, "how often a function was called"))?;
        let object = self.called_object.take().unwrap_or(self.object);
        let spot = if self.positions.has_address {
            let address = fields.next().and_then(|field| self.positions.address(field));
            Spot::Svma(address.ok_or_else(|| unexpected(offset, value, "the address of a called function"))?)
        } else {
            let called =
                self.called.ok_or_else(|| unexpected(offset, value, "a line \"cfn=\" before a call"))?;
            Spot::Symbol(called, None)
        };
        self.call = Some(OpenCall { count, to: object.map(|object| (object, spot)) });
        Ok(())
    }

    /// `events: Ir`
    fn header(&mut self, offset: u64, line: &str, key: &str, value: &str) -> Result<(), Error> {
        match key {
            "version" if value != "1" => Err(unexpected(offset, line, "version 1 of callgrind's format")),
            "cmd" => {
                self.gather.command.get_or_insert_with(|| value.to_owned());
                Ok(())
            }
            "events" => self.events(offset, line, value),
            "positions" => {
                (self.positions.has_address, self.positions.has_line) = match value {
                    "line" => (false, true),
                    "instr" => (true, false),
                    "instr line" => (true, true),
                    _ => return Err(unexpected(offset, line, "lines, instructions or both")),
                };
                Ok(())
            }
            // One dump after the other: each has sums of its own.
            "part" => self.close(offset),
            "summary" | "totals" => {
                let sums: Option<Vec<u64>> =
                    value.split_ascii_whitespace().map(|sum| sum.parse().ok()).collect();
                let sums = sums.filter(|sums| !sums.is_empty() && sums.len() <= self.gather.events.len());
                let sums = sums.ok_or_else(|| unexpected(offset, line, "a sum for each event"))?;
                self.stated.push((sums, offset));
                self.has_sum = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn events(&mut self, offset: u64, line: &str, value: &str) -> Result<(), Error> {
        let names: Vec<&str> = value.split_ascii_whitespace().collect();
        if names.is_empty() || names.len() > MOST_EVENTS {
            return Err(unexpected(offset, line, "names of events"));
        }
        if self.gather.events.is_empty() {
            for name in names {
                self.gather.event(name.to_owned(), Precision::Exact);
            }
            self.sums = vec![0; self.gather.events.len()];
            return Ok(());
        }
        let known = self.gather.events.iter().map(|event| event.name.as_str());
        if known.eq(names) { Ok(()) } else { Err(unexpected(offset, line, "the events of the parts before")) }
    }

    /// `+3 200`: positions, then counts.
    fn cost(&mut self, offset: u64, line: &str) -> Result<(), Error> {
        if self.gather.events.is_empty() {
            return Err(unexpected(offset, line, "the line \"events:\" before counts"));
        }
        let mut fields = line.split_ascii_whitespace();
        if self.positions.has_address {
            let address = fields.clone().next().and_then(|field| self.positions.address(field));
            self.positions.address = address.ok_or_else(|| unexpected(offset, line, "an address"))?;
        }
        let mut positions = fields.by_ref().take(self.positions.count());
        if positions.by_ref().count() < self.positions.count() {
            return Err(unexpected(offset, line, "positions and counts"));
        }
        self.costs.clear();
        for field in fields.take(MOST_EVENTS + 1) {
            let count = field.parse().map_err(|_| unexpected(offset, line, "positions and counts"))?;
            self.costs.push(count);
        }
        if self.costs.len() > self.gather.events.len() {
            return Err(unexpected(offset, line, "no more counts than events"));
        }
        match self.call.take() {
            Some(call) => self.called(call, offset),
            None => self.own(offset, line),
        }
    }

    /// Where the cost of a line is; `None`: in no object, or in a function without a name.
    fn at(&self) -> Option<At> {
        if self.positions.has_address {
            return Some((self.object?, Spot::Svma(self.positions.address)));
        }
        let name = self.function?;
        let text = self.gather.name_of(name);
        let is_nameless = &*text == "???" || text.starts_with("0x");
        if is_nameless { None } else { Some((self.object?, Spot::Symbol(name, None))) }
    }

    fn called(&mut self, call: OpenCall, offset: u64) -> Result<(), Error> {
        if let (Some(from), Some(to)) = (self.at(), call.to) {
            self.gather.call(from, to, call.count, &self.costs, offset)?;
        }
        Ok(())
    }

    fn own(&mut self, offset: u64, line: &str) -> Result<(), Error> {
        if self.function.is_none() && self.costs.iter().any(|cost| *cost > 0) {
            return Err(unexpected(offset, line, "a line \"fn=\" before counts"));
        }
        let at = self.at();
        for ((event, cost), sum) in (0..).zip(&self.costs).zip(&mut self.sums) {
            *sum = sum.checked_add(*cost).ok_or_else(|| unexpected(offset, line, "counts of 64 bits"))?;
            let tally = Tally { samples: 0, weight: *cost };
            match at {
                _ if *cost == 0 => {}
                Some(at) => self.gather.leaf(at, event, tally, offset)?,
                None => self.gather.outside(Outside::Unknown, event, tally),
            }
        }
        Ok(())
    }

    /// Ends a part: what was counted is what it says.
    fn close(&mut self, offset: u64) -> Result<(), Error> {
        for (stated, at) in std::mem::take(&mut self.stated) {
            for (counted, stated) in self.sums.iter().zip(stated) {
                if *counted != stated {
                    let expected = format!(
                        "counts that sum to {stated}, found {counted}: the file is cut off before {offset:#x}"
                    );
                    return Err(Error::new(at, expected));
                }
            }
        }
        self.sums.iter_mut().for_each(|sum| *sum = 0);
        Ok(())
    }
}
