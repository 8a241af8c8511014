//! Functions made at run time, of all processes: jitdumps and perf maps → what an address was in a process at a time.
//!
//! A jitdump has times and code. A perf map (`perf-PID.map`) has names alone, and counts where no jitdump knows the address.

use crate::error::Error;
use crate::jitdump::Jitdump;
use crate::perf_map::PerfMap;
use crate::profile::{JitFunction, JitSource};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// All of them.
#[derive(Default)]
pub(super) struct RunTime<'j> {
    /// By process; with the number of the first function in `functions`.
    dumps: HashMap<u32, Vec<(Jitdump<'j>, usize)>>,
    maps: HashMap<u32, (PerfMap, usize)>,
    /// Without code and leaves.
    functions: Vec<JitFunction>,
}

impl<'j> RunTime<'j> {
    /// Adds a jitdump of a process.
    pub(super) fn add_dump(&mut self, pid: u32, path: &str, dump: Jitdump<'j>) {
        let first = self.functions.len();
        let path: Arc<str> = Arc::from(path);
        self.functions.extend(dump.functions.iter().map(|function| JitFunction {
            pid,
            source: JitSource::Jitdump { path: Arc::clone(&path), image_svma: None },
            name: function.name.clone(),
            svma: function.svma,
            code: Vec::new(),
            leaves: Vec::new(),
        }));
        for (svma, number) in dump.live.iter() {
            let function = self.functions.get_mut(first + number);
            if let Some(JitSource::Jitdump { image_svma, .. }) = function.map(|it| &mut it.source) {
                *image_svma = Some(svma);
            }
        }
        self.dumps.entry(pid).or_default().push((dump, first));
    }

    /// Adds the perf map of a process.
    pub(super) fn add_map(&mut self, pid: u32, map: PerfMap) {
        let first = self.functions.len();
        self.functions.extend(map.functions.iter().map(|(svma, name)| JitFunction {
            pid,
            source: JitSource::PerfMap,
            name: name.clone(),
            svma: *svma,
            code: Vec::new(),
            leaves: Vec::new(),
        }));
        self.maps.insert(pid, (map, first));
    }

    /// Whether a process has a perf map.
    pub(super) fn has_map(&self, pid: u32) -> bool {
        self.maps.contains_key(&pid)
    }

    /// The number of the function that had an address at a time, and the offset in it. `offset` is that of the sample.
    pub(super) fn find(
        &mut self,
        pid: u32,
        address: u64,
        time: u64,
        offset: u64,
    ) -> Result<Option<(usize, u64)>, Error> {
        for (dump, first) in self.dumps.get_mut(&pid).into_iter().flatten() {
            if let Some((function, at)) = dump.find(address, time, offset)? {
                return Ok(Some((*first + function, at)));
            }
        }
        let named = self.maps.get(&pid).and_then(|(map, first)| Some((map.find(address)?, first)));
        Ok(named.map(|((function, at), first)| (first + function, at)))
    }

    /// All functions, and the code of those that were seen.
    pub(super) fn finish(self, seen: &HashSet<usize>) -> Vec<JitFunction> {
        let mut functions = self.functions;
        for (dump, first) in self.dumps.values().flatten() {
            let described = functions.iter_mut().skip(*first).zip(&dump.functions);
            for (number, (function, described)) in (*first..).zip(described) {
                if seen.contains(&number) {
                    function.code = described.code.to_vec();
                }
            }
        }
        functions
    }
}
