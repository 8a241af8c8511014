//! `perf-PID.map` → names of functions made at run time.
//!
//! Source: `tools/perf/Documentation/jit-interface.txt`: a line for each function, `START SIZE name`, in hexadecimal digits. It has
//! neither times nor code: of an address that was used again, the last line counts, and nothing can be checked.

use crate::bytes::name;
use crate::live::Live;
use crate::script_frame::hexadecimal;

/// The most functions.
const MOST: usize = 1 << 20;

/// The functions of one process.
#[derive(Debug, Default)]
pub(crate) struct PerfMap {
    /// Address and name.
    pub(crate) functions: Vec<(u64, String)>,
    live: Live,
}

impl PerfMap {
    /// Reads a whole map. A line that is no function is left out: the program may write to the file meanwhile.
    pub(crate) fn parse(bytes: &[u8]) -> PerfMap {
        let mut map = PerfMap::default();
        for line in bytes.split(|byte| *byte == b'\n').take(MOST) {
            let mut fields = line.splitn(3, |byte| *byte == b' ');
            let mut number =
                || hexadecimal(std::str::from_utf8(fields.next()?).ok()?.trim_start_matches("0x"));
            let (Some(start), Some(size)) = (number(), number()) else { continue };
            let (Some(text), Some(end)) = (fields.next(), start.checked_add(size)) else { continue };
            map.live.put(start, end, map.functions.len());
            map.functions.push((start, name(text)));
        }
        map
    }

    /// The function at an address, and the offset in it.
    pub(crate) fn find(&self, address: u64) -> Option<(usize, u64)> {
        self.live.find(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_an_address_counts_and_other_lines_are_left_out() {
        let map = PerfMap::parse(
            b"7f00 20 first one\nno line\n\n7f20 10 \xff\n7f18 10 later\n0x8000 8 prefixed\n\
              ffffffffffffffff 2 wraps\n9000 0 empty\n9100 zz bad\n9200 4",
        );
        let at = |address| {
            map.find(address).and_then(|(function, at)| Some((map.functions.get(function)?.1.as_str(), at)))
        };
        assert_eq!(at(0x7f00), None);
        assert_eq!((at(0x7f18), at(0x7f27)), (Some(("later", 0)), Some(("later", 15))));
        assert_eq!((at(0x7f28), at(0x8003)), (None, Some(("prefixed", 3))));
        assert_eq!((at(0x9000), at(u64::MAX)), (None, None));
    }
}
