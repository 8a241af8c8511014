//! Writes perf.data files: for tests of what is hard to record, and for large ones.

/// Bits of `sample_type`.
pub(crate) const IP: u64 = 1 << 0;
pub(crate) const TID: u64 = 1 << 1;
pub(crate) const TIME: u64 = 1 << 2;
pub(crate) const CALLCHAIN: u64 = 1 << 5;
pub(crate) const CPU: u64 = 1 << 7;
pub(crate) const PERIOD: u64 = 1 << 8;
pub(crate) const BRANCH_STACK: u64 = 1 << 11;
pub(crate) const IDENTIFIER: u64 = 1 << 16;

/// `misc` of a record of user code.
pub(crate) const USER: u16 = 2;

/// An event's attributes.
#[derive(Clone, Copy)]
pub(crate) struct Attributes {
    pub(crate) kind: u32,
    pub(crate) config: u64,
    pub(crate) period: u64,
    pub(crate) sample_type: u64,
    pub(crate) flags: u64,
    pub(crate) clock: u32,
    pub(crate) branches: u64,
    pub(crate) id: u64,
}

/// cpu-clock, with `sample_id_all`, and all fields of a sample that are written here but branches.
pub(crate) const CPU_CLOCK: Attributes = Attributes {
    kind: 1,
    config: 0,
    period: 1000,
    sample_type: IDENTIFIER | IP | TID | TIME | PERIOD | CALLCHAIN,
    flags: 1 << 18,
    clock: 0,
    branches: 0,
    id: 7,
};

/// A sample in user code.
#[derive(Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub(crate) misc: u16,
    pub(crate) id: u64,
    pub(crate) pid: u32,
    pub(crate) time: u64,
    pub(crate) ip: u64,
    pub(crate) period: u64,
    pub(crate) chain: &'a [u64],
    pub(crate) branches: &'a [(u64, u64, u64)],
}

pub(crate) const SAMPLE: Sample<'static> =
    Sample { misc: USER, id: 7, pid: 10, time: 100, ip: 0, period: 1000, chain: &[], branches: &[] };

/// A file that is being written.
pub(crate) struct Recording {
    attributes: Vec<Attributes>,
    pub(crate) records: Vec<u8>,
    /// The CPU that the next records are of, where the first event has that field.
    pub(crate) cpu: u32,
}

impl Recording {
    pub(crate) fn new(attributes: &[Attributes]) -> Recording {
        Recording { attributes: attributes.to_vec(), records: Vec::new(), cpu: 0 }
    }

    /// A record of any kind.
    pub(crate) fn record(&mut self, kind: u32, misc: u16, body: &[u8]) {
        let size = u16::try_from(8 + body.len()).expect("a short record");
        self.records.extend(kind.to_le_bytes());
        self.records.extend(misc.to_le_bytes());
        self.records.extend(size.to_le_bytes());
        self.records.extend(body);
    }

    /// A record that is no sample, with its end: pid, tid, time, CPU, identifier.
    pub(crate) fn timed(&mut self, kind: u32, misc: u16, mut body: Vec<u8>, pid: u32, time: u64) {
        let fields = self.attributes[0].sample_type;
        body.resize(body.len().next_multiple_of(8), 0);
        body.extend([pid.to_le_bytes(), pid.to_le_bytes()].concat());
        if fields & TIME != 0 {
            body.extend(time.to_le_bytes());
        }
        if fields & CPU != 0 {
            body.extend(u64::from(self.cpu).to_le_bytes());
        }
        body.extend(self.attributes[0].id.to_le_bytes());
        self.record(kind, misc, &body);
    }

    /// `PERF_RECORD_MMAP2` with device and inode. `place`: start, length, offset in the file.
    pub(crate) fn map(&mut self, pid: u32, time: u64, place: [u64; 3], path: &str, inode: u64) {
        let which = [0u32.to_le_bytes(), 8u32.to_le_bytes()].concat();
        let which = [which, inode.to_le_bytes().to_vec(), vec![0; 8]].concat();
        self.map2(USER, pid, time, place, &which, path);
    }

    /// `PERF_RECORD_MMAP2` with a build id.
    pub(crate) fn map_with_build_id(
        &mut self,
        pid: u32,
        time: u64,
        place: [u64; 3],
        path: &str,
        build_id: &[u8],
    ) {
        let mut which = vec![0; 24];
        which[0] = build_id.len() as u8;
        which[4..4 + build_id.len()].copy_from_slice(build_id);
        self.map2(USER | 1 << 14, pid, time, place, &which, path);
    }

    fn map2(&mut self, misc: u16, pid: u32, time: u64, place: [u64; 3], which: &[u8], path: &str) {
        let mut body = [pid.to_le_bytes(), pid.to_le_bytes()].concat();
        body.extend(place.map(u64::to_le_bytes).concat());
        body.extend(which);
        body.extend([5u32.to_le_bytes(), 2u32.to_le_bytes()].concat());
        body.extend(path.as_bytes());
        body.push(0);
        self.timed(10, misc, body, pid, time);
    }

    /// `PERF_RECORD_COMM` of an exec.
    pub(crate) fn exec(&mut self, pid: u32, time: u64) {
        let body = [&pid.to_le_bytes()[..], &pid.to_le_bytes(), b"program\0"].concat();
        self.timed(3, 1 << 13, body, pid, time);
    }

    /// `PERF_RECORD_FORK`
    pub(crate) fn fork(&mut self, pid: u32, parent: u32, time: u64) {
        let mut body = [pid, parent, pid, parent].map(u32::to_le_bytes).concat();
        body.extend(time.to_le_bytes());
        self.timed(7, 0, body, pid, time);
    }

    pub(crate) fn sample(&mut self, sample: Sample<'_>) {
        let own = self.attributes.iter().find(|attributes| attributes.id == sample.id);
        let fields = own.map_or(self.attributes[0].sample_type, |attributes| attributes.sample_type);
        let mut body = Vec::new();
        let mut put = |bit: u64, words: &[u64]| {
            if fields & bit != 0 {
                body.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            }
        };
        put(IDENTIFIER, &[sample.id]);
        put(IP, &[sample.ip]);
        put(TID, &[u64::from(sample.pid) << 32 | u64::from(sample.pid)]);
        put(TIME, &[sample.time]);
        put(CPU, &[u64::from(self.cpu)]);
        put(PERIOD, &[sample.period]);
        put(CALLCHAIN, &[sample.chain.len() as u64]);
        put(CALLCHAIN, sample.chain);
        put(BRANCH_STACK, &[sample.branches.len() as u64]);
        for (from, to, flags) in sample.branches {
            put(BRANCH_STACK, &[*from, *to, *flags]);
        }
        self.record(9, sample.misc, &body);
    }

    fn attributes(attributes: &Attributes) -> Vec<u8> {
        let mut bytes = [attributes.kind, 128].map(u32::to_le_bytes).concat();
        let words = [attributes.config, attributes.period, attributes.sample_type, 0, attributes.flags];
        bytes.extend(words.map(u64::to_le_bytes).concat());
        bytes.resize(72, 0);
        bytes.extend(attributes.branches.to_le_bytes());
        bytes.resize(92, 0);
        bytes.extend(attributes.clock.to_le_bytes());
        bytes.resize(128, 0);
        bytes
    }

    /// The same as from a pipe: the events are records, too.
    pub(crate) fn finish_pipe(self) -> Vec<u8> {
        let mut piped = Recording::new(&[]);
        for attributes in &self.attributes {
            let body = [Recording::attributes(attributes), attributes.id.to_le_bytes().to_vec()].concat();
            piped.record(64, 0, &body);
        }
        [b"PERFILE2".to_vec(), 16u64.to_le_bytes().to_vec(), piped.records, self.records].concat()
    }

    /// The whole file, without features.
    pub(crate) fn finish(self) -> Vec<u8> {
        let count = self.attributes.len() as u64;
        let (ids_at, attrs_at) = (104, 104 + 8 * count);
        let (entry, data_at) = (128 + 16, attrs_at + count * (128 + 16));
        let mut file = b"PERFILE2".to_vec();
        let size = self.records.len() as u64;
        let words = [104, entry, attrs_at, count * entry, data_at, size, 0, 0, 0, 0, 0, 0];
        file.extend(words.map(u64::to_le_bytes).concat());
        for attributes in &self.attributes {
            file.extend(attributes.id.to_le_bytes());
        }
        for (attributes, index) in self.attributes.iter().zip(0..) {
            file.extend(Recording::attributes(attributes));
            file.extend([ids_at + 8 * index, 8u64].map(u64::to_le_bytes).concat());
        }
        file.extend(self.records);
        file
    }
}
