//! A zip file from members that are compressed already: APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16.
//!
//! In: members in the order of the file, and one time for all. Out: bytes that depend on nothing else. Sizes are in the local
//! headers, with no descriptor after the data: whoever reads a wheel as a stream, as installers do, can pass a stored member.
//! Without zip64: whatever needs it is refused.

use super::error::WheelError;

/// The general purpose flag of a name in UTF-8 (section 4.4.4).
const UTF8: u16 = 1 << 11;
/// Version 2.0: deflate (section 4.4.3).
const NEEDED: u16 = 20;
/// Made on Unix, so that modes are read (section 4.4.2).
const UNIX: u16 = 3 << 8 | NEEDED;

/// A member to write.
pub(super) struct Stored<'a> {
    pub(super) name: &'a str,
    pub(super) is_executable: bool,
    /// 0 or 8 (section 4.4.5).
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) size: u64,
    pub(super) data: &'a [u8],
}

/// The time of all members, as MS-DOS has it (section 4.4.6): from 1980 on, in steps of two seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipTime {
    date: u16,
    time: u16,
}

impl ZipTime {
    /// From seconds since 1970, in UTC; the nearest time where there is none for it.
    pub fn from_unix(seconds: u64) -> ZipTime {
        let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
        let is_leap =
            |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let mut year = 1970;
        while year < 2108 && days >= 365 + u64::from(is_leap(year)) {
            days -= 365 + u64::from(is_leap(year));
            year += 1;
        }
        if year < 1980 {
            return ZipTime { date: 1 << 5 | 1, time: 0 };
        }
        if year > 2107 {
            return ZipTime { date: 127 << 9 | 12 << 5 | 31, time: 23 << 11 | 59 << 5 | 29 };
        }
        let february = 28 + u64::from(is_leap(year));
        let mut month = 1;
        for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
            if days < length {
                break;
            }
            days -= length;
            month += 1;
        }
        let date = (year - 1980) << 9 | month << 5 | (days + 1);
        let time = (of_day / 3600) << 11 | (of_day / 60 % 60) << 5 | (of_day % 60 / 2);
        // Seven, four and five bits; five, six and five.
        ZipTime { date: (date & 0xffff) as u16, time: (time & 0xffff) as u16 }
    }
}

/// Writes the file.
///
/// # Errors
/// A size, an offset or a number of members that needs zip64.
pub(super) fn compose(members: &[Stored<'_>], time: ZipTime) -> Result<Vec<u8>, WheelError> {
    let no_room = || WheelError::new("a size or an offset that would need zip64, or more than 65,535 files");
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for member in members {
        // The largest value says that the number is elsewhere.
        let narrow =
            |value: u64| u32::try_from(value).ok().filter(|value| *value != u32::MAX).ok_or_else(no_room);
        let name = u16::try_from(member.name.len()).map_err(|_| no_room())?;
        let flags = if member.name.is_ascii() { 0 } else { UTF8 };
        let offset = narrow(file.len() as u64)?;
        let mut common = Vec::with_capacity(26);
        for field in [NEEDED, flags, member.method, time.time, time.date] {
            common.extend(field.to_le_bytes());
        }
        for field in [member.crc, narrow(member.data.len() as u64)?, narrow(member.size)?] {
            common.extend(field.to_le_bytes());
        }
        common.extend(name.to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        file.extend_from_slice(b"PK\x03\x04");
        file.extend_from_slice(&common);
        file.extend_from_slice(member.name.as_bytes());
        file.extend_from_slice(member.data);
        directory.extend_from_slice(b"PK\x01\x02");
        directory.extend(UNIX.to_le_bytes());
        directory.extend_from_slice(&common);
        // The length of the comment, the disk, and internal attributes.
        directory.extend([0; 6]);
        let mode: u32 = if member.is_executable { 0o100_755 } else { 0o100_644 };
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend_from_slice(member.name.as_bytes());
    }
    let count = u16::try_from(members.len()).ok().filter(|count| *count != u16::MAX).ok_or_else(no_room)?;
    let narrow =
        |value: usize| u32::try_from(value).ok().filter(|value| *value != u32::MAX).ok_or_else(no_room);
    let (start, length) = (narrow(file.len())?, narrow(directory.len())?);
    file.extend(directory);
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend(length.to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend(0_u16.to_le_bytes());
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::zip::directory::Directory;

    fn date(time: ZipTime) -> (u16, u16, u16, u16, u16, u16) {
        let ZipTime { date, time } = time;
        (1980 + (date >> 9), date >> 5 & 15, date & 31, time >> 11, time >> 5 & 63, (time & 31) * 2)
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, (1980, 1, 1, 0, 0, 0)),
            (315_532_800, (1980, 1, 1, 0, 0, 0)),
            (951_782_400, (2000, 2, 29, 0, 0, 0)),
            (951_868_799, (2000, 2, 29, 23, 59, 58)),
            (951_868_800, (2000, 3, 1, 0, 0, 0)),
            (1_767_225_599, (2025, 12, 31, 23, 59, 58)),
            (1_796_063_685, (2026, 11, 30, 18, 34, 44)),
            (4_354_819_198, (2107, 12, 31, 23, 59, 58)),
            (4_354_819_200, (2107, 12, 31, 23, 59, 58)),
            (u64::MAX, (2107, 12, 31, 23, 59, 58)),
        ] {
            assert_eq!(date(ZipTime::from_unix(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn what_is_written_is_read_by_the_strict_reader() {
        let member = |name, is_executable| Stored {
            name,
            is_executable,
            method: 0,
            crc: 0x3524_41c2,
            size: 3,
            data: b"abc",
        };
        let members = [member("a", true), member("b/ä", false)];
        let made = compose(&members, ZipTime::from_unix(0)).unwrap();
        let Ok(directory) = Directory::parse(&made, 10) else { panic!("not read") };
        let read: Vec<_> = directory.entries.iter().map(|it| (it.name, it.is_executable, it.data)).collect();
        assert_eq!(read, [(&b"a"[..], true, &b"abc"[..]), ("b/ä".as_bytes(), false, b"abc")]);
        assert_eq!(directory.entries[1].flags, UTF8);
        assert_eq!(made, compose(&members, ZipTime::from_unix(1)).unwrap());
    }

    #[test]
    fn what_needs_zip64_is_refused() {
        let member = Stored {
            name: "a",
            is_executable: false,
            method: 8,
            crc: 0,
            size: u64::from(u32::MAX),
            data: b"",
        };
        let error = compose(&[member], ZipTime::from_unix(0)).unwrap_err();
        assert!(error.to_string().contains("zip64"), "{error}");
    }
}
