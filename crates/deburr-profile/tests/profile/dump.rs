//! Writes jitdumps.

/// A jitdump that is being written.
pub(crate) struct Dump(pub(crate) Vec<u8>);

impl Dump {
    /// For a machine, by `e_machine`.
    pub(crate) fn new(machine: u32) -> Dump {
        let mut dump = [0x4a69_5444u32, 1, 40, machine, 0, 10].map(u32::to_le_bytes).concat();
        dump.extend([0u64; 2].map(u64::to_le_bytes).concat());
        Dump(dump)
    }

    /// A record of any kind.
    pub(crate) fn record(&mut self, kind: u32, time: u64, body: &[u8]) {
        let size = u32::try_from(16 + body.len()).expect("a short record");
        self.0.extend([kind, size].map(u32::to_le_bytes).concat());
        self.0.extend(time.to_le_bytes());
        self.0.extend(body);
    }

    /// `JIT_CODE_LOAD`.
    pub(crate) fn load(&mut self, name: &str, svma: u64, time: u64, code: &[u8]) {
        let fields = [10 | 10 << 32, svma, svma, code.len() as u64, 0];
        let body = [&fields.map(u64::to_le_bytes).concat(), name.as_bytes(), &[0], code].concat();
        self.record(0, time, &body);
    }

    /// `JIT_CODE_MOVE`.
    pub(crate) fn moved(&mut self, from: u64, to: u64, size: u64, time: u64) {
        self.record(1, time, &[10 | 10 << 32, to, from, to, size, 0].map(u64::to_le_bytes).concat());
    }
}

/// One of x86-64: functions with address, time and code.
pub(crate) fn dump_of(functions: &[(&str, u64, u64, &[u8])]) -> Vec<u8> {
    let mut dump = Dump::new(62);
    functions.iter().for_each(|(name, svma, time, code)| dump.load(name, *svma, *time, code));
    dump.0
}
