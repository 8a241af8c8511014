//! Pairs: the names of files in two builds → which belongs to which.
//!
//! First by the same name, then by the name without versions: `libx.so.1.2.3` goes with `libx.so.1.2.4`, and
//! `lib/postgresql/15/bin/postgres` with `lib/postgresql/17/bin/postgres`.

use std::collections::BTreeMap;

/// The indices of a file in the old and in the new list; one of them at least.
pub(crate) type Pair = (Option<usize>, Option<usize>);

/// Pairs two lists of names. Pairs come in the order of the new list, then what only the old one has.
pub(crate) fn pair(old: &[String], new: &[String]) -> Vec<Pair> {
    let mut partner: Vec<Option<usize>> = vec![None; new.len()];
    let mut is_taken = vec![false; old.len()];
    for key in [str::to_owned as fn(&str) -> String, without_versions] {
        let mut waiting: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, name) in old.iter().enumerate().rev().filter(|(index, _)| !is_taken[*index]) {
            waiting.entry(key(name)).or_default().push(index);
        }
        for (index, name) in new.iter().enumerate() {
            if partner[index].is_none()
                && let Some(found) = waiting.get_mut(&key(name)).and_then(Vec::pop)
            {
                partner[index] = Some(found);
                is_taken[found] = true;
            }
        }
    }
    let paired = partner.into_iter().enumerate().map(|(new, old)| (old, Some(new)));
    let left = is_taken.into_iter().enumerate().filter(|(_, is_taken)| !is_taken);
    paired.chain(left.map(|(old, _)| (Some(old), None))).collect()
}

/// A path with every number, and every run of numbers with dots in between, as `#`; a version at the end of a shared
/// object's name is left out.
fn without_versions(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path.chars().peekable();
    while let Some(c) = rest.next() {
        if !c.is_ascii_digit() {
            out.push(c);
            continue;
        }
        out.push('#');
        loop {
            let mut ahead = rest.clone();
            match ahead.next() {
                Some(c) if c.is_ascii_digit() => rest = ahead,
                Some('.') if ahead.peek().is_some_and(char::is_ascii_digit) => rest = ahead,
                _ => break,
            }
        }
    }
    match out.strip_suffix(".#") {
        Some(stem) if stem.ends_with(".so") => stem.to_owned(),
        _ => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn files_pair_by_name_and_then_without_versions() {
        let old = names(&["bin/a", "lib/libx.so.1.2.3", "lib/15/plugin.so", "gone"]);
        let new = names(&["bin/a", "came", "lib/17/plugin.so", "lib/libx.so.1.2.4"]);
        let expected =
            [(Some(0), Some(0)), (None, Some(1)), (Some(2), Some(2)), (Some(1), Some(3)), (Some(3), None)];
        assert_eq!(pair(&old, &new), expected);
    }

    #[test]
    fn the_same_name_goes_before_one_that_is_like_it() {
        let (old, new) = (names(&["libx.so.1", "libx.so.2"]), names(&["libx.so.2", "libx.so.3"]));
        assert_eq!(pair(&old, &new), [(Some(1), Some(0)), (Some(0), Some(1))]);
    }

    #[test]
    fn versions_are_runs_of_numbers() {
        for (path, expected) in [
            ("libx.so", "libx.so"),
            ("libx.so.1.2.3", "libx.so"),
            ("libx-1.2.so", "libx-#.so"),
            ("lib/15/bin/postgres", "lib/#/bin/postgres"),
            ("a.1.b", "a.#.b"),
        ] {
            assert_eq!(without_versions(path), expected);
        }
    }
}
