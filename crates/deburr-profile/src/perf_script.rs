//! The text of `perf script`: a line for each sample, or with call chains a paragraph.
//!
//! In: lines, with perf's default fields or others that contain `ip,sym,symoff,dso`. Out: a tally for each place: symbol and offset,
//! or an offset in the file where `dsoff` prints it (`(/usr/bin/prog+0x1139)`). Lines of `srcline` and branches of `brstack` are
//! passed over.
//!
//! In chains, an instruction pointer is an offset in the file in some versions of perf and an address in others: only its symbol is used.

use crate::error::Error;
use crate::gather::{At, Gather, Outside, Spot};
use crate::lines::{Lines, shortened};
use crate::profile::{Format, Precision, Profile, Tally};
use crate::script_frame::ScriptFrame;
use std::collections::HashMap;
use std::io::Read;

/// The most events.
const MOST_EVENTS: usize = 1 << 12;

/// Reads a whole profile.
pub(crate) fn read(input: impl Read) -> Result<Profile, Error> {
    let mut lines = Lines::new(input);
    let mut reader = Reader::default();
    while let Some((offset, line)) = lines.next()? {
        reader.line(offset, &String::from_utf8_lossy(line))?;
    }
    if reader.open.is_some() {
        // perf ends each chain with an empty line.
        return Err(Error::new(lines.offset(), "the rest of a sample's chain: the file is cut off"));
    }
    if !reader.has_sample {
        return Err(Error::new(0, "a sample of perf script, or another format of profiles"));
    }
    Ok(reader.gather.finish(Format::PerfScript, Vec::new()))
}

/// A sample whose chain is being read.
#[derive(Debug, Clone, Copy)]
struct Open {
    event: u32,
    tally: Tally,
    /// The innermost frame that is not inlined.
    leaf: Option<Where>,
    /// Whether the frame after it is known.
    is_done: bool,
}

/// Where a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    In(At),
    Outside(Outside),
}

#[derive(Debug, Default)]
struct Reader {
    gather: Gather,
    events: HashMap<String, u32>,
    open: Option<Open>,
    has_sample: bool,
}

fn unexpected(offset: u64, line: &str, expected: &str) -> Error {
    let found = shortened(line.trim());
    Error::new(offset, format!("{expected}, found {found}; perf script -F +symoff prints what is read here"))
}

impl Reader {
    fn line(&mut self, offset: u64, line: &str) -> Result<(), Error> {
        if line.trim().is_empty() {
            if let Some(open) = self.open.take() {
                self.close(&open, offset)?;
            }
            return Ok(());
        }
        let is_frame = line.starts_with('\t');
        if !is_frame && (is_source_line(line, self.open.is_some()) || is_branches(line)) {
            return Ok(());
        }
        if let Some(open) = self.open {
            if !is_frame {
                return Err(unexpected(offset, line, "a frame of a sample"));
            }
            return self.frame(open, offset, line);
        }
        if is_frame {
            return Err(unexpected(offset, line, "a sample before its frames"));
        }
        // Comments of --header; records that are no samples.
        if line.starts_with('#') || line.contains(" PERF_RECORD_") {
            return Ok(());
        }
        let line = without_branches(line);
        match ScriptFrame::in_line(line) {
            Some((head, frame)) => {
                let (event, tally) = self.event(head, offset)?;
                let leaf = Some(self.place(&frame, offset)?);
                self.close(&Open { event, tally, leaf, is_done: true }, offset)
            }
            None if line.contains(" (") && line.ends_with(')') => {
                Err(unexpected(offset, line, "an instruction pointer, a symbol and its file"))
            }
            None => {
                let (event, tally) = self.event(line, offset)?;
                self.open = Some(Open { event, tally, leaf: None, is_done: false });
                Ok(())
            }
        }
    }

    /// A line of a chain.
    fn frame(&mut self, mut open: Open, offset: u64, line: &str) -> Result<(), Error> {
        let frame = ScriptFrame::of(line).ok_or_else(|| unexpected(offset, line, "a frame"))?;
        // An inlined function has no place of its own.
        if open.is_done || frame.object == "inlined" {
            return Ok(());
        }
        let place = self.place(&frame, offset)?;
        match (open.leaf, place) {
            (None, place) => open.leaf = Some(place),
            (Some(Where::In(leaf)), Where::In(caller)) => {
                self.gather.edge(leaf, caller, open.event, open.tally, offset)?;
                open.is_done = true;
            }
            _ => open.is_done = true,
        }
        self.open = Some(open);
        Ok(())
    }

    /// Counts a sample, whose edge is counted.
    fn close(&mut self, open: &Open, offset: u64) -> Result<(), Error> {
        self.has_sample = true;
        match open.leaf {
            Some(Where::In(leaf)) => self.gather.leaf(leaf, open.event, open.tally, offset),
            Some(Where::Outside(outside)) => {
                self.gather.outside(outside, open.event, open.tally);
                Ok(())
            }
            // A chain of nothing: nobody knows what was running.
            None => {
                self.gather.outside(Outside::Unknown, open.event, open.tally);
                Ok(())
            }
        }
    }

    fn place(&mut self, frame: &ScriptFrame<'_>, offset: u64) -> Result<Where, Error> {
        if let Some(outside) = outside(frame) {
            return Ok(Where::Outside(outside));
        }
        let (path, file_offset) = frame.path();
        let spot = match (file_offset, frame.symbol()) {
            (Some(at), _) => Spot::FileOffset(at),
            (None, Some((name, at))) => Spot::Symbol(self.gather.name(name, offset)?, at),
            (None, None) => return Ok(Where::Outside(Outside::Unknown)),
        };
        Ok(Where::In((self.gather.object_at(path, offset)?, spot)))
    }

    /// Event and period by what is before an instruction pointer. Without an event, a sample weighs 1.
    fn event(&mut self, head: &str, offset: u64) -> Result<(u32, Tally), Error> {
        let mut fields = head.split_whitespace().rev();
        let (last, period, time) = (fields.next(), fields.next(), fields.next());
        let name = last.and_then(|last| last.strip_suffix(':'));
        let name = name.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
        let mut tally = Tally::sample(1);
        // Among perf's own fields a period comes after the time, and nothing else is a number there.
        let is_time = |time: &str| time.ends_with(':') && time.starts_with(|c: char| c.is_ascii_digit());
        if let Some(period) = period.filter(|_| name.is_some() && time.is_some_and(is_time)) {
            let period = period.parse();
            tally.weight = period.map_err(|_| unexpected(offset, head, "a period before the event"))?;
        }
        let name = name.unwrap_or("samples");
        if let Some(event) = self.events.get(name) {
            return Ok((*event, tally));
        }
        if self.events.len() >= MOST_EVENTS {
            return Err(unexpected(offset, head, "at most 4096 events"));
        }
        let plain = name.split(':').next().unwrap_or(name);
        let modifiers = name.rsplit(':').next().filter(|modifiers| *modifiers != plain).unwrap_or_default();
        // Of a fault, the text does not say whether it was only read along with another event of its group.
        let is_precise = modifiers.matches('p').count() >= 2;
        let precision = if is_precise { Precision::Precise } else { Precision::Skids };
        let event = self.gather.event(crate::bytes::name(name.as_bytes()), precision);
        self.events.insert(name.to_owned(), event);
        Ok((event, tally))
    }
}

/// `  dl-load.c:1772`, which `srcline` prints after a frame; or `  [kernel.kallsyms][ffffffff817e0373]`. Within a chain nothing
/// else begins with two blanks.
fn is_source_line(line: &str, is_in_chain: bool) -> bool {
    let Some(rest) = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) else { return false };
    let number = rest.trim_end().rsplit_once(':').map(|(_, number)| number);
    let number = number.map(|number| number.split_whitespace().next().unwrap_or_default());
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'?';
    is_in_chain
        || rest.contains("][") && rest.ends_with(']')
        || number.is_some_and(|number| !number.is_empty() && number.bytes().all(is_digit))
}

/// `0x55d716686151/0x55d716686140/P/-/-/0`
fn is_branch(token: &str) -> bool {
    token.starts_with("0x") && token.contains("/0x")
}

fn is_branches(line: &str) -> bool {
    line.split_whitespace().all(is_branch)
}

/// A line up to the branches at its end.
fn without_branches(mut line: &str) -> &str {
    line = line.trim_end();
    while let Some((before, last)) = line.rsplit_once(' ') {
        if !is_branch(last) {
            break;
        }
        line = before.trim_end();
    }
    line
}

/// What is in no file.
fn outside(frame: &ScriptFrame<'_>) -> Option<Outside> {
    let object = frame.object;
    if object.starts_with("[guest") {
        return Some(Outside::Guest);
    }
    if object.starts_with("[vdso") || object.starts_with("[vsyscall") || object.starts_with("[uprobes") {
        return None;
    }
    let is_module =
        object.strip_suffix(".xz").or(object.strip_suffix(".zst")).unwrap_or(object).ends_with(".ko");
    if frame.ip >> 63 == 1 || object.starts_with("[kernel") || is_module {
        return Some(Outside::Kernel);
    }
    let anonymous = [
        "//anon",
        "[heap]",
        "[stack",
        "[anon",
        "/anon_hugepage",
        "/dev/zero",
        "/SYSV",
        "/memfd:",
        "/tmp/perf-",
    ];
    if anonymous.iter().any(|beginning| object.starts_with(beginning)) {
        return Some(Outside::Anonymous);
    }
    // Modules of the kernel are in brackets, too.
    match object {
        "[unknown]" | "" => Some(Outside::Unknown),
        _ if object.starts_with('[') => Some(Outside::Kernel),
        _ => None,
    }
}
