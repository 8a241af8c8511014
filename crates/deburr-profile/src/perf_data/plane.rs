//! Ranges that are painted over one another → what covers an address at a time.
//!
//! In: ranges of addresses, each from a time on, in the order of time. A later one replaces what it covers. What is left of each is
//! a rectangle in the plane of addresses and times, and no two of them overlap. They are kept in a segment tree over addresses: all
//! rectangles of a node cover all of its addresses, so that they are apart in time, and one binary search finds the right one. The
//! tree is made once, in *O*(*n* log *n*), and a look-up takes *O*(log² *n*), whatever the order of look-ups.

use std::collections::BTreeMap;

/// A range, from a time on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Painted<T> {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) time: u64,
    pub(super) what: T,
}

/// What is left of a range: addresses from `start` to `end`, times from `from` to `until`, without the ends.
#[derive(Debug, Clone, Copy)]
struct Rectangle<T> {
    start: u64,
    end: u64,
    from: u64,
    until: u64,
    /// Where the range began.
    origin: u64,
    what: T,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Plane<T> {
    /// Where rectangles begin and end, in order. Leaf *i* is from bound *i* to the next one.
    bounds: Vec<u64>,
    /// By `from`.
    rectangles: Vec<Rectangle<T>>,
    /// Nodes from 1 on, the children of node *n* are 2*n* and 2*n* + 1; numbers of rectangles, in order.
    nodes: Vec<Vec<u32>>,
}

/// Paints one range after another, and gives what is left of each.
fn rectangles<T: Copy>(painted: &[Painted<T>]) -> Vec<Rectangle<T>> {
    let mut living: BTreeMap<u64, Rectangle<T>> = BTreeMap::new();
    let mut done = Vec::new();
    for range in painted.iter().filter(|range| range.start < range.end) {
        let Painted { start, end, time, what } = *range;
        if let Some((_, before)) = living.range_mut(..start).next_back()
            && before.end > start
        {
            let rest = Rectangle { start, ..*before };
            before.end = start;
            living.insert(start, rest);
        }
        while let Some((&first, &covered)) = living.range(start..end).next() {
            living.remove(&first);
            if covered.end > end {
                living.insert(end, Rectangle { start: end, ..covered });
            }
            if covered.from < time {
                done.push(Rectangle { end: covered.end.min(end), until: time, ..covered });
            }
        }
        living.insert(start, Rectangle { start, end, from: time, until: u64::MAX, origin: start, what });
    }
    done.extend(living.into_values());
    done.sort_by_key(|rectangle| rectangle.from);
    done
}

impl<T: Copy> Plane<T> {
    /// Of ranges in the order of time.
    pub(super) fn new(painted: &[Painted<T>]) -> Plane<T> {
        let rectangles = rectangles(painted);
        let mut bounds: Vec<u64> =
            rectangles.iter().flat_map(|rectangle| [rectangle.start, rectangle.end]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let leaves = bounds.len().saturating_sub(1);
        let mut nodes = vec![Vec::new(); 2 * leaves];
        for (number, rectangle) in (0..).zip(&rectangles) {
            let leaf = |bound: u64| leaves + bounds.partition_point(|other| *other < bound);
            let (mut left, mut right) = (leaf(rectangle.start), leaf(rectangle.end));
            let mut put = |node: usize| {
                if let Some(list) = nodes.get_mut(node) {
                    list.push(number);
                }
            };
            while left < right {
                if left % 2 == 1 {
                    put(left);
                    left += 1;
                }
                if right % 2 == 1 {
                    right -= 1;
                    put(right);
                }
                (left, right) = (left / 2, right / 2);
            }
        }
        Plane { bounds, rectangles, nodes }
    }

    /// What covers an address at a time, and where that range began.
    pub(super) fn find(&self, time: u64, address: u64) -> Option<(T, u64)> {
        let leaf = self.bounds.partition_point(|bound| *bound <= address).checked_sub(1)?;
        let leaves = self.bounds.len() - 1;
        let mut node = leaves + leaf;
        if leaf >= leaves {
            return None;
        }
        while node > 0 {
            let list = self.nodes.get(node)?;
            let rectangle = |number: &u32| self.rectangles.get(*number as usize);
            let last =
                list.partition_point(|number| rectangle(number).is_some_and(|found| found.from <= time));
            let found = last.checked_sub(1).and_then(|last| list.get(last)).and_then(rectangle);
            if let Some(found) = found.filter(|found| time < found.until || found.until == u64::MAX) {
                return Some((found.what, found.origin));
            }
            node /= 2;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_was_painted_last_is_found_at_each_time() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for count in [0, 1, 2, 7, 40, 150] {
            let mut painted = Vec::new();
            let mut time = 0;
            for what in 0..count {
                time += random(3);
                let start = random(60);
                painted.push(Painted { start, end: start + random(20), time, what });
            }
            let plane = Plane::new(&painted);
            for time in 0..=time + 1 {
                for address in 0..90 {
                    let covers = |range: &&Painted<u64>| {
                        range.time <= time && range.start <= address && address < range.end
                    };
                    let expected = painted.iter().rev().find(covers).map(|range| (range.what, range.start));
                    assert_eq!(plane.find(time, address), expected, "{count} {time} {address}");
                }
            }
        }
    }
}
