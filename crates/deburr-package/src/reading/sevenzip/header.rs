//! The header of a 7z archive: its properties → folders, coders, and files.
//!
//! Every count is bounded by the bytes that are left, as each of what it counts takes some: a header cannot say more than it has.

/// Bytes before the first packed stream.
pub(super) const SIGNATURE: usize = 32;

/// Which bits of a list are set.
type Bits = Vec<bool>;
type Parsed<T> = Result<T, String>;

/// A header, or where a compressed one is.
pub(super) enum Header {
    Plain(Archive),
    Packed(Archive),
}

/// What a header says.
#[derive(Debug, Default)]
pub(super) struct Archive {
    /// Packed streams: where, from the beginning of the archive, and how long.
    pub(super) packed: Vec<(u64, u64)>,
    pub(super) folders: Vec<Folder>,
    pub(super) files: Vec<File>,
}

/// Coders that make one stream.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) coders: Vec<Coder>,
    /// Which output goes to which input.
    pub(super) bonds: Vec<(u64, u64)>,
    /// The packed streams by the inputs that read them.
    pub(super) inputs: Vec<u64>,
    /// Numbers of the packed streams.
    pub(super) packed: Vec<usize>,
    /// The size of each output.
    pub(super) sizes: Vec<u64>,
    crc: Option<u32>,
    /// The files in its stream: sizes and checksums.
    pub(super) streams: Vec<(u64, Option<u32>)>,
}

/// A coder.
#[derive(Debug)]
pub(super) struct Coder {
    pub(super) id: Vec<u8>,
    pub(super) inputs: u64,
    pub(super) properties: Vec<u8>,
}

/// A file.
#[derive(Debug, Default, Clone)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) has_stream: bool,
    /// A symbolic link, or something else that is no regular file.
    pub(super) is_special: bool,
}

impl Folder {
    /// The output that goes nowhere: the folder's own.
    pub(super) fn main(&self) -> Option<usize> {
        (0..self.coders.len()).find(|out| !self.bonds.iter().any(|bond| bond.1 == *out as u64))
    }

    /// The size of its stream.
    pub(super) fn size(&self) -> Option<u64> {
        self.sizes.get(self.main()?).copied()
    }
}

/// Understands a header.
pub(super) fn parse(bytes: &[u8]) -> Parsed<Header> {
    let mut cursor = Cursor { rest: bytes };
    match cursor.byte()? {
        0x17 => Ok(Header::Packed(cursor.streams()?)),
        1 => {
            let mut archive = Archive::default();
            loop {
                match cursor.byte()? {
                    0 => return Ok(Header::Plain(archive)),
                    2 => cursor.archive_properties()?,
                    4 => archive = Archive { files: archive.files, ..cursor.streams()? },
                    5 => archive.files = cursor.files()?,
                    other => return Err(format!("an unknown property {other} in its header")),
                }
            }
        }
        other => Err(format!("an unknown header {other}")),
    }
}

struct Cursor<'h> {
    rest: &'h [u8],
}

const CUT: &str = "its header is cut off";
/// Coders of a folder, and inputs of a coder (7-Zip has the same).
const MOST_CODERS: u64 = 32;

impl<'h> Cursor<'h> {
    fn take(&mut self, size: u64) -> Parsed<&'h [u8]> {
        let split = usize::try_from(size).ok().and_then(|size| self.rest.split_at_checked(size));
        let (taken, rest) = split.ok_or(CUT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Parsed<u8> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn word(&mut self) -> Parsed<u32> {
        let bytes = self.take(4)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    /// A number: the first byte's highest bits that are set say how many bytes follow, its others are the highest of the number.
    fn number(&mut self) -> Parsed<u64> {
        let first = self.byte()?;
        let more = first.leading_ones();
        let low = self.take(u64::from(more))?;
        let low = low.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let high = u64::from(first) & (0x7f_u64 >> more);
        Ok(if more >= 7 { low } else { high << (8 * more) | low })
    }

    /// A number of things that take bytes each.
    fn count(&mut self) -> Parsed<u64> {
        let count = self.number()?;
        if count > self.rest.len() as u64 + 1 {
            Err(format!("{count} things in a header of fewer bytes"))
        } else {
            Ok(count)
        }
    }

    fn bits(&mut self, count: usize) -> Parsed<Bits> {
        let bytes = self.take(count.div_ceil(8) as u64)?;
        let bit = |at: usize| bytes.get(at / 8).is_some_and(|byte| byte & (0x80 >> (at % 8)) != 0);
        Ok((0..count).map(bit).collect())
    }

    /// Bits, with a byte before them that may say that all are set.
    fn bits_or_all(&mut self, count: usize) -> Parsed<Bits> {
        if self.byte()? != 0 { Ok(vec![true; count.min(self.rest.len() * 8 + 8)]) } else { self.bits(count) }
    }

    /// Checksums, of those things that have one.
    fn sums(&mut self, count: usize) -> Parsed<Vec<Option<u32>>> {
        let defined = self.bits_or_all(count)?;
        defined.into_iter().map(|is_there| if is_there { self.word().map(Some) } else { Ok(None) }).collect()
    }

    fn archive_properties(&mut self) -> Parsed<()> {
        while self.byte()? != 0 {
            let size = self.number()?;
            self.take(size)?;
        }
        Ok(())
    }

    fn streams(&mut self) -> Parsed<Archive> {
        let mut archive = Archive::default();
        let mut has_files = false;
        loop {
            match self.byte()? {
                0 => break,
                6 => archive.packed = self.packed()?,
                7 => archive.folders = self.folders()?,
                8 => {
                    self.files_of_folders(&mut archive.folders)?;
                    has_files = true;
                }
                other => return Err(format!("an unknown property {other} of streams")),
            }
        }
        let mut next = 0;
        for folder in &mut archive.folders {
            folder.packed = (next..next + folder.inputs.len()).collect();
            next += folder.inputs.len();
            if !has_files {
                folder.streams = folder.size().map(|size| (size, folder.crc)).into_iter().collect();
            }
        }
        Ok(archive)
    }

    fn packed(&mut self) -> Parsed<Vec<(u64, u64)>> {
        let mut at = self.number()?.saturating_add(SIGNATURE as u64);
        let count = self.count()?;
        let mut packed = Vec::new();
        loop {
            match self.byte()? {
                0 => return Ok(packed),
                9 => {
                    for _ in 0..count {
                        let size = self.number()?;
                        packed.push((at, size));
                        at = at.saturating_add(size);
                    }
                }
                10 => drop(self.sums(usize::try_from(count).unwrap_or(usize::MAX))?),
                other => return Err(format!("an unknown property {other} of packed streams")),
            }
        }
    }

    fn folders(&mut self) -> Parsed<Vec<Folder>> {
        if self.byte()? != 0x0b {
            return Err("no folders where they begin".to_owned());
        }
        let count = self.count()?;
        if self.byte()? != 0 {
            return Err("folders in another stream: not read".to_owned());
        }
        let mut folders = Vec::new();
        for _ in 0..count {
            folders.push(self.folder()?);
        }
        loop {
            match self.byte()? {
                0 => return Ok(folders),
                0x0c => {
                    for folder in &mut folders {
                        folder.sizes = folder.coders.iter().map(|_| self.number()).collect::<Parsed<_>>()?;
                    }
                }
                0x0a => {
                    let sums = self.sums(folders.len())?;
                    for (folder, sum) in folders.iter_mut().zip(sums) {
                        folder.crc = sum;
                    }
                }
                other => return Err(format!("an unknown property {other} of folders")),
            }
        }
    }

    fn folder(&mut self) -> Parsed<Folder> {
        let mut folder = Folder::default();
        let count = self.number()?;
        if !(1..=MOST_CODERS).contains(&count) {
            return Err(format!("a folder of {count} coders"));
        }
        let mut inputs = 0;
        for _ in 0..count {
            let flags = self.byte()?;
            let id = self.take(u64::from(flags & 15))?.to_vec();
            let (mut of_coder, mut outputs) = (1, 1);
            if flags & 0x10 != 0 {
                (of_coder, outputs) = (self.number()?, self.number()?);
            }
            if outputs != 1 || of_coder > MOST_CODERS {
                return Err("a coder of several outputs: not read".to_owned());
            }
            let properties = if flags & 0x20 != 0 {
                let size = self.number()?;
                self.take(size)?.to_vec()
            } else {
                Vec::new()
            };
            inputs += of_coder;
            folder.coders.push(Coder { id, inputs: of_coder, properties });
        }
        for _ in 1..count {
            folder.bonds.push((self.number()?, self.number()?));
        }
        let Some(packed) = inputs.checked_sub(count - 1).filter(|packed| *packed > 0) else {
            return Err("a folder without packed streams".to_owned());
        };
        let is_free = |input: &u64| !folder.bonds.iter().any(|bond| bond.0 == *input);
        folder.inputs = match packed {
            1 => (0..inputs).filter(is_free).take(1).collect(),
            _ => (0..packed).map(|_| self.number()).collect::<Parsed<_>>()?,
        };
        Ok(folder)
    }

    /// How the stream of each folder is cut into files.
    fn files_of_folders(&mut self, folders: &mut [Folder]) -> Parsed<()> {
        let mut counts = vec![1_u64; folders.len()];
        let mut property = self.byte()?;
        if property == 0x0d {
            for count in &mut counts {
                *count = self.count()?;
            }
            property = self.byte()?;
        }
        for (folder, count) in folders.iter_mut().zip(&counts) {
            let mut left = folder.size().ok_or("a folder without a size")?;
            for at in 0..*count {
                let size = if at + 1 < *count && property == 9 { self.number()? } else { left };
                left = left.checked_sub(size).ok_or("files that are longer than their folder")?;
                folder.streams.push((size, None));
            }
            // The only file of a folder has its checksum.
            if let ([stream], Some(crc)) = (folder.streams.as_mut_slice(), folder.crc) {
                stream.1 = Some(crc);
            }
        }
        if property == 9 {
            property = self.byte()?;
        }
        while property != 0 {
            if property != 0x0a {
                return Err(format!("an unknown property {property} of files in folders"));
            }
            let mut missing: Vec<&mut Option<u32>> = folders
                .iter_mut()
                .flat_map(|folder| folder.streams.iter_mut())
                .map(|stream| &mut stream.1)
                .filter(|sum| sum.is_none())
                .collect();
            let sums = self.sums(missing.len())?;
            for (place, sum) in missing.iter_mut().zip(sums) {
                **place = sum;
            }
            property = self.byte()?;
        }
        Ok(())
    }

    fn files(&mut self) -> Parsed<Vec<File>> {
        let count = usize::try_from(self.count()?).unwrap_or(usize::MAX);
        let mut files = vec![File { has_stream: true, ..File::default() }; count];
        loop {
            let property = self.byte()?;
            if property == 0 {
                return Ok(files);
            }
            let size = self.number()?;
            let mut of_property = Cursor { rest: self.take(size)? };
            match property {
                0x0e => {
                    for (file, is_empty) in files.iter_mut().zip(of_property.bits(count)?) {
                        file.has_stream = !is_empty;
                    }
                }
                0x11 => of_property.names(&mut files)?,
                0x15 => of_property.attributes(&mut files)?,
                _ => {}
            }
        }
    }

    /// Names in UTF-16, each with a zero at its end.
    fn names(&mut self, files: &mut [File]) -> Parsed<()> {
        if self.byte()? != 0 {
            return Err("names in another stream: not read".to_owned());
        }
        let units = self
            .rest
            .chunks_exact(2)
            .map(|pair| pair.iter().rev().fold(0, |unit, byte| unit << 8 | u16::from(*byte)));
        let units: Vec<u16> = units.collect();
        for (file, name) in files.iter_mut().zip(units.split(|unit| *unit == 0)) {
            file.name = String::from_utf16_lossy(name);
        }
        Ok(())
    }

    /// Windows' attributes, of which the upper half is the mode where the archive was made on a Unix.
    fn attributes(&mut self, files: &mut [File]) -> Parsed<()> {
        let defined = self.bits_or_all(files.len())?;
        if self.byte()? != 0 {
            return Err("attributes in another stream: not read".to_owned());
        }
        for (file, _) in files.iter_mut().zip(defined).filter(|(_, is_there)| *is_there) {
            let attributes = self.word()?;
            let kind = attributes >> 16 & 0o170_000;
            file.is_special = attributes & 0x8000 != 0 && !matches!(kind, 0 | 0o100_000);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_length_in_the_first_byte() {
        for (bytes, number) in [
            (&[0x12][..], 0x12),
            (&[0x80, 0xff], 0xff),
            (&[0x92, 0x34], 0x1234),
            (&[0xc1, 0x02, 0x03], 0x0001_0302),
            (&[0xff, 1, 2, 3, 4, 5, 6, 7, 8], 0x0807_0605_0403_0201),
        ] {
            assert_eq!(Cursor { rest: bytes }.number(), Ok(number), "{bytes:?}");
        }
        assert!(Cursor { rest: &[0xff, 1] }.number().is_err());
    }

    #[test]
    fn a_header_counts_no_more_than_it_has() {
        // A header of files: eight million of them.
        assert!(parse(&[1, 5, 0xe8, 0, 0, 0]).is_err());
        assert!(parse(&[1, 4, 7, 0x0b, 0x40]).is_err());
        assert!(parse(&[]).is_err());
    }
}
