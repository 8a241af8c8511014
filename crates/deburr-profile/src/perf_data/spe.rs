//! Bytes of an Arm SPE trace → the operations that were sampled.
//!
//! The Statistical Profiling Extension picks one operation in so many, follows it through the pipeline, and writes a *record* of it:
//! packets, of which the last one is a timestamp or an end. The record names the instruction itself, so that nothing skids. A packet
//! is a header, whose bits 5:4 are the size of the payload that follows (1, 2, 4 or 8 bytes):
//!
//! | header | packet | of it is kept |
//! |---|---|---|
//! | `00`, `01` | padding, end | |
//! | `20`-`2f` `00` | alignment: padding up to a boundary | |
//! | `20`-`23` and a header | the same header, with a larger index | |
//! | `42` `52` `62` `72` | events | whether a branch was not taken, or mispredicted |
//! | `48`-`4b` | type of the operation | whether it is a branch |
//! | `64`-`67` | context: what the kernel put into CONTEXTIDR | the thread |
//! | `71` | timestamp, in ticks of the generic timer | all |
//! | `98`-`9f` | counter | of index 0, the total latency in cycles |
//! | `b0`-`b7` | address | of index 0, the instruction; of index 1, the branch's target |
//!
//! Other packets with a size are skipped. What is no packet damages its record: all up to the next end of a record is one lost record.
//! A record without an instruction is whole: operations that raised an exception have none. A record does not go beyond its buffer,
//! as the driver hands buffers on between records.
//!
//! Source: Arm Architecture Reference Manual for A-profile, *Statistical Profiling Extension Sample Record Specification*.

use crate::error::Error;

/// An address of an instruction, and at which exception level it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    /// Bits 55:0. They are all of an address of user code.
    pub(super) svma: u64,
    pub(super) level: u8,
}

impl Instruction {
    /// Bits 62:61 are the exception level; bit 63 and, with realms, bit 60 are the security state.
    fn of(payload: u64) -> Instruction {
        Instruction { svma: payload & (u64::MAX >> 8), level: (payload >> 61 & 3) as u8 }
    }

    /// Whether it ran at EL0.
    pub(super) fn is_user(self) -> bool {
        self.level == 0
    }
}

/// An operation that was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Operation {
    pub(super) instruction: Option<Instruction>,
    /// Where a branch goes.
    pub(super) target: Option<Instruction>,
    /// The thread, where the kernel writes it into CONTEXTIDR.
    pub(super) thread: Option<u32>,
    /// Cycles from its dispatch until it was complete.
    pub(super) latency: Option<u64>,
    pub(super) ticks: Option<u64>,
    pub(super) is_branch: bool,
    pub(super) is_not_taken: bool,
    pub(super) is_mispredicted: bool,
}

/// A packet, as far as it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packet {
    Padding,
    End,
    Timestamp(u64),
    Events(u64),
    Context(u64),
    Branch,
    Address { index: u8, payload: u64 },
    Counter { index: u8, payload: u64 },
    Other,
}

/// Why there is no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The bytes end within one.
    Short,
    /// None begins so.
    Damaged,
}

/// The packet that bytes begin with, and its size. `position`: where it is in the trace.
fn packet(bytes: &[u8], position: u64) -> Result<(Packet, u64), Fault> {
    let byte = |at: usize| bytes.get(at).copied().ok_or(Fault::Short);
    let first = byte(0)?;
    let (extension, header, start) = match first {
        0x00 => return Ok((Packet::Padding, 1)),
        0x01 => return Ok((Packet::End, 1)),
        0x20..=0x2f => match byte(1)? {
            0x00 => {
                let boundary = 2u64 << (first & 0xf);
                return Ok((Packet::Padding, (boundary - position % boundary).max(2)));
            }
            header if first <= 0x23 => (first & 3, header, 2),
            _ => return Err(Fault::Damaged),
        },
        _ => (0, first, 1),
    };
    if matches!(header >> 6, 0b00 | 0b11) {
        return Err(Fault::Damaged);
    }
    let size = 1usize << (header >> 4 & 3);
    let payload = bytes.get(start..start + size).ok_or(Fault::Short)?;
    let payload = payload.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let index = extension << 3 | header & 7;
    let packet = match header {
        0xb0..=0xb7 => Packet::Address { index, payload },
        0x98..=0x9f => Packet::Counter { index, payload },
        _ if extension != 0 || start == 2 => Packet::Other,
        0x71 => Packet::Timestamp(payload),
        0x42 | 0x52 | 0x62 | 0x72 => Packet::Events(payload),
        0x64..=0x67 => Packet::Context(payload),
        0x4a => Packet::Branch,
        _ => Packet::Other,
    };
    Ok((packet, (start + size) as u64))
}

/// Reads one buffer of a trace, in pieces.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Bytes of a packet that the next piece continues.
    rest: Vec<u8>,
    /// Where `rest` is in the trace.
    position: u64,
    /// Bytes of the next piece that are padding.
    padding: u64,
    operation: Operation,
    /// Whether the record has a packet.
    has_begun: bool,
    is_damaged: bool,
    /// Records that are damaged, or cut off.
    pub(super) lost: u64,
}

impl Decoder {
    /// Of a buffer that begins at a position of the trace.
    pub(super) fn new(position: u64) -> Decoder {
        Decoder {
            rest: Vec::new(),
            position,
            padding: 0,
            operation: Operation::default(),
            has_begun: false,
            is_damaged: false,
            lost: 0,
        }
    }

    /// Reads the next piece.
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        mut each: impl FnMut(&Operation) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let padding = usize::try_from(self.padding).unwrap_or(usize::MAX).min(rest.len());
            self.padding -= padding as u64;
            let rest = rest.get(padding..).unwrap_or_default();
            // Snapshots have megabytes of zeros.
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            let rest = rest.get(zeros..).unwrap_or_default();
            (at, self.position) =
                (at + padding + zeros, self.position.wrapping_add((padding + zeros) as u64));
            match packet(rest, self.position) {
                Ok((Packet::Padding, size)) => self.padding = size,
                Ok((packet, size)) => {
                    at += size as usize;
                    self.position = self.position.wrapping_add(size);
                    self.packet(packet, &mut each)?;
                }
                Err(Fault::Damaged) => {
                    self.is_damaged = true;
                    (at, self.position) = (at + 1, self.position.wrapping_add(1));
                }
                Err(Fault::Short) => break,
            }
        }
        bytes.drain(..at.min(bytes.len()));
        self.rest = bytes;
        Ok(())
    }

    fn packet(
        &mut self,
        packet: Packet,
        each: &mut impl FnMut(&Operation) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let operation = &mut self.operation;
        match packet {
            Packet::Timestamp(ticks) => {
                operation.ticks = Some(ticks);
                return self.end(each);
            }
            Packet::End => return self.end(each),
            Packet::Events(events) => {
                operation.is_not_taken = events & 1 << 6 != 0;
                operation.is_mispredicted = events & 1 << 7 != 0;
            }
            Packet::Context(context) => operation.thread = u32::try_from(context).ok(),
            Packet::Branch => operation.is_branch = true,
            Packet::Address { index: 0, payload } => operation.instruction = Some(Instruction::of(payload)),
            Packet::Address { index: 1, payload } => operation.target = Some(Instruction::of(payload)),
            Packet::Counter { index: 0, payload } => operation.latency = Some(payload),
            Packet::Padding | Packet::Address { .. } | Packet::Counter { .. } | Packet::Other => {}
        }
        self.has_begun = true;
        Ok(())
    }

    /// The end of a record.
    fn end(&mut self, each: &mut impl FnMut(&Operation) -> Result<(), Error>) -> Result<(), Error> {
        let operation = std::mem::take(&mut self.operation);
        let is_whole = std::mem::take(&mut self.has_begun) && !std::mem::take(&mut self.is_damaged);
        if is_whole {
            return each(&operation);
        }
        self.lost = self.lost.saturating_add(1);
        Ok(())
    }

    /// How many records were lost, with one that is cut off at the end.
    pub(super) fn finish(self) -> u64 {
        let is_cut = self.has_begun || self.is_damaged || !self.rest.is_empty();
        self.lost.saturating_add(u64::from(is_cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of real hardware, as Linux' commit ffd3d18c20b8 shows it, which added SPE to perf: a load of the kernel.
    const LOAD: [u8; 46] = [
        0x49, 0x00, // LD
        0xb2, 0xc0, 0x3b, 0x29, 0x0f, 0x00, 0x00, 0xff, 0xff, // VA 0xffff00000f293bc0
        0xb3, 0xc0, 0xeb, 0x24, 0xfb, 0x00, 0x00, 0x00, 0x80, // PA 0xfb24ebc0 ns=1
        0x9a, 0x00, 0x00, // LAT 0 XLAT
        0x42, 0x16, // EV RETIRED L1D-ACCESS TLB-ACCESS
        0xb0, 0x00, 0xc4, 0x15, 0x08, 0x00, 0x00, 0xff, 0xff, // PC 0xff00000815c400 el3 ns=1
        0x98, 0x00, 0x00, // LAT 0 TOT
        0x71, 0x36, 0x6c, 0x21, 0x2c, 0x09, 0x00, 0x00, 0x00, // TS 39395093558
    ];

    /// A mispredicted branch at 0x40_0010 to 0x40_0400, of 0x2a cycles, by thread 0x1234, with a data source and an end.
    const BRANCH: [u8; 37] = [
        0x4a, 0x01, // B COND
        0x65, 0x34, 0x12, 0x00, 0x00, // CONTEXT 0x1234 el2
        0x98, 0x2a, 0x00, // LAT 42 TOT
        0x99, 0x07, 0x00, // LAT 7 ISSUE
        0xb1, 0x00, 0x04, 0x40, 0x00, 0x00, 0x00, 0x00, 0x80, // TGT 0x400400 el0 ns=1
        0xb0, 0x10, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x80, // PC 0x400010 el0 ns=1
        0x52, 0x82, 0x00, // EV RETIRED MISPRED
        0x43, 0x08, // DATA-SOURCE 8
        0x01, // END
    ];

    fn pieces<'a>(position: u64, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Operation>, u64) {
        let mut decoder = Decoder::new(position);
        let mut found = Vec::new();
        for piece in pieces {
            let each = |operation: &Operation| {
                found.push(*operation);
                Ok(())
            };
            decoder.push(piece, each).unwrap();
        }
        (found, decoder.finish())
    }

    fn decoded(bytes: &[u8]) -> (Vec<Operation>, u64) {
        pieces(0, [bytes])
    }

    fn load() -> Operation {
        Operation {
            instruction: Some(Instruction { svma: 0xff_0000_0815_c400, level: 3 }),
            latency: Some(0),
            ticks: Some(39_395_093_558),
            ..Operation::default()
        }
    }

    fn branch() -> Operation {
        Operation {
            instruction: Some(Instruction { svma: 0x40_0010, level: 0 }),
            target: Some(Instruction { svma: 0x40_0400, level: 0 }),
            thread: Some(0x1234),
            latency: Some(42),
            is_branch: true,
            is_mispredicted: true,
            ..Operation::default()
        }
    }

    #[test]
    fn records_are_read_as_the_manual_has_them() {
        assert_eq!(decoded(&LOAD), (vec![load()], 0));
        assert_eq!(decoded(&BRANCH), (vec![branch()], 0));
        assert!(!load().instruction.unwrap().is_user() && branch().instruction.unwrap().is_user());
        let both = [&LOAD[..], &[0; 18], &BRANCH].concat();
        assert_eq!(decoded(&both), (vec![load(), branch()], 0));
    }

    #[test]
    fn packets_may_be_in_several_pieces() {
        let both = [&LOAD[..], &[0x2f, 0], &[9; 66_000][..65_536 - 46 - 2], &BRANCH].concat();
        let whole = decoded(&both);
        assert_eq!(whole, (vec![load(), branch()], 0));
        for size in 1..60 {
            assert_eq!(pieces(0, both.chunks(size)), whole, "{size}");
        }
    }

    #[test]
    fn packets_that_are_not_needed_are_skipped_by_their_size() {
        let others: [&[u8]; 9] = [
            &[0x44, 1],                                        // Reserved, a byte.
            &[0x5c, 1, 1],                                     // Reserved, two bytes.
            &[0x6d, 1, 1, 1, 1],                               // Reserved, four bytes.
            &[0xb4, 1, 1, 1, 1, 1, 1, 1, 1],                   // The previous branch's target.
            &[0x88, 1],                                        // A counter of another size.
            &[0x21, 0xb0, 1, 1, 1, 1, 1, 1, 1, 1],             // An address of index 8.
            &[0x20, 0xb1, 0x00, 0x04, 0x40, 0, 0, 0, 0, 0x80], // The target, with a long header.
            &[0x23, 0x98, 1, 1],                               // A counter of index 24.
            &[0x22, 0x71, 1, 1, 1, 1, 1, 1, 1, 1],             // No timestamp, as its header is long.
        ];
        for other in others {
            let (last, packets) = BRANCH.split_last().unwrap();
            let record = [packets, other, &[*last]].concat();
            assert_eq!(decoded(&record), (vec![branch()], 0), "{other:x?}");
        }
    }

    #[test]
    fn alignment_goes_up_to_a_boundary_of_the_trace() {
        // A boundary of eight bytes: what is before it is no packet.
        let aligned = |position: u64, between: &[u8]| {
            let bytes = [&[0x22, 0x00], between, &BRANCH[..]].concat();
            pieces(position, [&bytes[..]])
        };
        assert_eq!(aligned(0x1000, &[0xff; 6]), (vec![branch()], 0));
        assert_eq!(aligned(0x1005, &[0xff; 1]), (vec![branch()], 0));
        assert_eq!(aligned(0x1006, &[]), (vec![branch()], 0));
        assert_eq!(aligned(0x1007, &[]), (vec![branch()], 0));
        assert_eq!(aligned(0x1000, &[0xff; 7]), (vec![], 1));
    }

    #[test]
    fn damage_costs_the_record_that_it_is_in_and_no_other() {
        let packets = [0, 2, 11, 20, 23, 25, 34, 37];
        for damage in [&[0xff][..], &[0xc0, 0xff], &[0x02], &[0x24, 0xff]] {
            for at in packets {
                let damaged = [&LOAD[..at], damage, &LOAD[at..], &BRANCH, &LOAD].concat();
                assert_eq!(decoded(&damaged), (vec![branch(), load()], 1), "{damage:x?} at {at}");
            }
        }
    }

    #[test]
    fn a_record_is_found_again_after_whatever_damage() {
        for at in 0..LOAD.len() {
            for byte in 0..=0xff {
                let damaged = [&LOAD[..at], &[byte], &LOAD[at..], &BRANCH, &[0; 27], &LOAD].concat();
                let (found, lost) = decoded(&damaged);
                assert!(found.ends_with(&[load()]), "{byte:x?} at {at}");
                // A payload that is read as packets may have an end of its own.
                assert!(found.len() as u64 + lost <= 4, "{byte:x?} at {at}: {found:?}, {lost}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_is_one_lost_record() {
        for end in 1..BRANCH.len() {
            let bytes = [&LOAD[..], &BRANCH[..end]].concat();
            assert_eq!(decoded(&bytes), (vec![load()], 1), "{end}");
        }
        assert_eq!(decoded(&[]), (vec![], 0));
        assert_eq!(decoded(&[0; 1000]), (vec![], 0));
        // An end of nothing, and a packet that would need more than there is.
        assert_eq!(decoded(&[0x01]), (vec![], 1));
        assert_eq!(decoded(&[0x2f, 0x00]), (vec![], 0));
        assert_eq!(decoded(&[0x20]), (vec![], 1));
    }
}
