//! How far a scan is: what became of each item, and a bar with an estimate where the standard error is a terminal.

use super::cache::Key;
use crate::args::batch::Progress;
use crate::batch::progress::Meter;
use crate::product::scan_item::Item;

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its rows are kept under that name.
    Kept(Key),
    /// There are none, for that reason.
    Failed(String),
}

/// The course of a scan.
pub(super) struct Course {
    fates: Vec<Option<Fate>>,
    meter: Meter,
    items: usize,
    bytes: u64,
    /// The items that were open.
    open: usize,
}

impl Course {
    /// `fates`: of each item, what is known before.
    pub(super) fn new(progress: Progress, items: &[Item], fates: Vec<Option<Fate>>) -> Course {
        let open: Vec<&Item> =
            items.iter().zip(&fates).filter(|(_, fate)| fate.is_none()).map(|(item, _)| item).collect();
        let (open, bytes) = (open.len(), open.iter().map(|item| item.size).sum());
        let template = "{wide_bar} {msg}, {bytes}/{total_bytes}, {eta} left";
        Course { fates, meter: Meter::new(progress, bytes, template), items: 0, bytes: 0, open }
    }

    /// The items that are open, with their numbers.
    pub(super) fn open<'i>(&self, items: &'i [Item]) -> impl Iterator<Item = (usize, &'i Item)> {
        items.iter().enumerate().zip(&self.fates).filter(|(_, fate)| fate.is_none()).map(|(item, _)| item)
    }

    /// An item that was open has ended.
    pub(super) fn ended(&mut self, number: usize, item: &Item, fate: Fate) {
        if let Some(known) = self.fates.get_mut(number) {
            *known = Some(fate);
        }
        self.items += 1;
        self.bytes += item.size;
        let (items, open) = (self.items, self.open);
        self.meter.show(self.bytes, || format!("{items} of {open}"));
    }

    /// What became of all, and the bytes of those that were open.
    pub(super) fn finish(self) -> (Vec<Fate>, u64) {
        self.meter.finish();
        let unchecked = || Fate::Failed("it was not checked".to_owned());
        (self.fates.into_iter().map(|fate| fate.unwrap_or_else(unchecked)).collect(), self.bytes)
    }
}
