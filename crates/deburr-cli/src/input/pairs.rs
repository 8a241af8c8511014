//! Pairs: the names of files in two builds → which belongs to which.
//!
//! First by the same name. Then by the name without versions: `libx.so.1.2.3` goes with `libx.so.1.2.4`, and
//! `lib/postgresql/15/bin/postgres` with `lib/postgresql/17/bin/postgres`. Then without all that packages
//! have in their names apart from what is in them, as no two versions need look alike. Then as libraries were called
//! before auditwheel or delvewheel put them into a wheel, in whichever folder `NAME.libs` they are. Then modules
//! without the Python that they are for. At last, what has moved to another folder, by the file's own name, where each build has one of that
//! name left.

use std::collections::BTreeMap;

/// The indices of a file in the old and in the new list; one of them at least.
pub(crate) type Pair = (Option<usize>, Option<usize>);

/// Pairs two lists of names; those of packages end in `!`, and those of what is in them go on after it. Pairs
/// come in the order of the new list, then what only the old one has.
pub(crate) fn pair(old: &[String], new: &[String]) -> Vec<Pair> {
    let keys: [fn(&str) -> String; 7] = [
        str::to_owned,
        without_versions,
        without_versions_of_packages,
        without_marks,
        without_folder_of_libraries,
        without_python,
        without_folders,
    ];
    let mut partner: Vec<Option<usize>> = vec![None; new.len()];
    let mut is_taken = vec![false; old.len()];
    for (stage, key) in keys.into_iter().enumerate() {
        let mut left: BTreeMap<String, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (index, name) in old.iter().enumerate().filter(|(index, _)| !is_taken[*index]) {
            left.entry(key(name)).or_default().0.push(index);
        }
        for (index, name) in new.iter().enumerate().filter(|(index, _)| partner[*index].is_none()) {
            left.entry(key(name)).or_default().1.push(index);
        }
        let must_be_alone = stage + 1 == keys.len();
        let alike = left.into_values().filter(|(a, b)| !must_be_alone || (a.len(), b.len()) == (1, 1));
        for (found, index) in alike.flat_map(|(a, b)| a.into_iter().zip(b)) {
            partner[index] = Some(found);
            is_taken[found] = true;
        }
    }
    let paired = partner.into_iter().enumerate().map(|(new, old)| (old, Some(new)));
    let left = is_taken.into_iter().enumerate().filter(|(_, is_taken)| !is_taken);
    paired.chain(left.map(|(old, _)| (Some(old), None))).collect()
}

/// A path with the names of the packages in it cut down to what they are called before their version, and the
/// architecture: `curl_7.88.1-10+deb12u5_arm64.deb!` and `curl_8.5.0-2_arm64.deb!` are alike.
fn without_versions_of_packages(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some((package, inner)) = rest.split_once('!') {
        let (name, version) = name_and_version(package);
        let end = version.rfind('_').or_else(|| version.rfind('.')).unwrap_or(version.len());
        out.push_str(name);
        out.push_str(&version[end..]);
        out.push('!');
        rest = inner;
    }
    out.push_str(rest);
    without_versions(&out)
}

/// The path of a package up to its name, and the rest from its version on; empty without a version.
fn name_and_version(package: &str) -> (&str, &str) {
    let file = package.rfind('/').map_or(0, |at| at + 1);
    let is_version = |at: &usize| package[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let hyphens = package.match_indices(['-', '_']).map(|(at, _)| at);
    match hyphens.filter(|at| *at > file).find(is_version) {
        // Debian's libraries of 2024 whose time_t grew on 32-bit machines have a new name on all others, too.
        Some(at) => (package[..at].strip_suffix("t64").unwrap_or(&package[..at]), &package[at + 1..]),
        None => (package, ""),
    }
}

/// What all builds of a file have in their paths, for other Pythons and architectures, and of other versions: the project, the last
/// folder, and the file's name. `None` where the path has no folder.
pub(crate) fn kin(path: &str) -> Option<String> {
    let (package, member) = path.split_once('!').unwrap_or(("", path));
    let (project, _) = name_and_version(package.rsplit('/').next()?);
    let (folders, file) = member.rsplit('!').next()?.rsplit_once('/')?;
    let folder = folders.rsplit('/').next()?;
    let file = without_python(&without_architecture(file));
    Some(format!("{}!{}/{file}", project.to_lowercase(), without_architecture(folder)))
}

/// A path without what architectures are called in it.
fn without_architecture(path: &str) -> String {
    ["x86_64", "aarch64", "amd64", "arm64", "x64"]
        .iter()
        .fold(path.to_owned(), |path, name| path.replace(name, ""))
}

/// The file's own name, without versions; a member of an archive keeps the archive's.
fn without_folders(path: &str) -> String {
    without_marks(&path[start_of_file(path)..])
}

/// Where the name of a file begins in its path.
fn start_of_file(path: &str) -> usize {
    let file = path.find('(').map_or(path, |at| &path[..at]);
    file.trim_end_matches('!').rfind(['/', '!']).map_or(0, |at| at + 1)
}

/// A path without versions of packages, with its file as it was called before a tool that repairs wheels put a hash
/// after the first part of its name, and without what marks a release as no final one:
/// `libopenblasp-r0-ae94cfde.3.9.dev.so` and `libopenblasp-r0-09e95953.3.13.so` are alike, as is `libopenblasp-r0.3.9.so`.
fn without_marks(path: &str) -> String {
    let (folder, file) = path.split_at(start_of_file(path));
    let (file, member) = file.split_at(file.find(['(', '!']).unwrap_or(file.len()));
    let path = format!("{folder}{}{member}", without_hashes(file));
    without_release_words(&without_versions_of_packages(&path))
}

/// As [`without_marks`], and without what precedes a folder `NAME.libs`, with it: the folder is called like the
/// distribution, and was `NAME/.libs` once.
fn without_folder_of_libraries(path: &str) -> String {
    let path = without_marks(path);
    let inner = path.rfind('!').map_or(0, |at| at + 1);
    let mut folders = path[inner..].match_indices('/').map(|(at, _)| inner + at);
    match folders.find(|at| path[..*at].ends_with(".libs")) {
        Some(end) => format!("{}.libs{}", &path[..inner], &path[end..]),
        None => path,
    }
}

/// As [`without_marks`], without what an extension module says of its Python: `_m.cpython-311-x86_64-linux-gnu.so`, `_m.abi3.so` and
/// `_m.so` are alike (PEP 3149, PEP 384).
fn without_python(path: &str) -> String {
    let is_python = |tag: &str| tag == "abi3" || tag.starts_with("cpython-") || tag.starts_with("pypy");
    let stem = path.strip_suffix(".so").and_then(|stem| stem.rsplit_once('.'));
    match stem.filter(|(_, tag)| is_python(tag)) {
        Some((module, _)) => without_marks(&format!("{module}.so")),
        None => without_marks(path),
    }
}

/// The name of a file without the hashes that follow hyphens.
fn without_hashes(file: &str) -> String {
    let is_hashed = |at: &usize| hash_length(&file[at + 1..]) > 0;
    match file.match_indices('-').map(|(at, _)| at).find(is_hashed) {
        Some(at) => format!("{}{}", &file[..at], &file[at + 1 + hash_length(&file[at + 1..])..]),
        None => file.to_owned(),
    }
}

/// A path without versions, and without the words next to those that say which kind of release it is:
/// `libx.#.dev.so`, `libx-#rc#.so`.
fn without_release_words(path: &str) -> String {
    const WORDS: [&str; 10] =
        ["alpha", "beta", "dev", "final", "git", "post", "pre", "preview", "rc", "snapshot"];
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(c) = rest.chars().next() {
        let after = rest.trim_start_matches(['.', '-', '_', '+']);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let is_word = WORDS.iter().any(|word| after[..letters].eq_ignore_ascii_case(word));
        if is_word && out.ends_with('#') {
            let number = &after[letters..];
            let number = number.strip_prefix(['.', '-', '_']).unwrap_or(number).strip_prefix('#');
            rest = number.unwrap_or(&after[letters..]);
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    without_version_at_end(out)
}

/// A path with every number, and every run of numbers with dots in between, as `#`; so are the hashes that
/// tools put into names, 8, 16 or more hexadecimal digits as in `libgfortran-8f1e9814.so.5`. A version at the end
/// of a shared object's name is left out.
fn without_versions(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(c) = rest.chars().next() {
        let length = version_length(rest).max(if out.ends_with('-') { hash_length(rest) } else { 0 });
        match length {
            0 => out.push(c),
            _ => out.push('#'),
        }
        rest = &rest[length.max(c.len_utf8())..];
    }
    without_version_at_end(out)
}

/// Without the version at the end of a shared object's name.
fn without_version_at_end(path: String) -> String {
    match path.strip_suffix(".#") {
        Some(stem) if stem.ends_with(".so") => stem.to_owned(),
        _ => path,
    }
}

/// Bytes of the numbers, with dots between them, that a text begins with.
fn version_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (0..bytes.len())
        .take_while(|&at| is_digit(at) || (at > 0 && bytes[at] == b'.' && is_digit(at + 1)))
        .count()
}

/// Bytes of the hashes, with hyphens between them, that a text begins with, up to a dot or the end. auditwheel's have 8
/// digits, Cargo's 16, delvewheel's 32.
fn hash_length(text: &str) -> usize {
    let hashes = text.find('.').map_or(text, |end| &text[..end]);
    let is_hash = |part: &str| {
        matches!(part.len(), 8 | 16 | 32 | 40 | 64) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if hashes.split('-').all(is_hash) { hashes.len() } else { 0 }
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
    fn builds_of_one_file_are_kin_and_files_of_one_name_are_not() {
        let of = |path: &str| kin(path).unwrap_or_default();
        let old = "d/propcache-0.4.1-cp311-cp311-manylinux_2_17_x86_64.whl!propcache/_helpers_c.cpython-311-x86_64-linux-gnu.so";
        let new = "e/propcache-0.5.2-cp312-cp312-manylinux_2_17_aarch64.whl!propcache/_helpers_c.cpython-312-aarch64-linux-gnu.so";
        assert_eq!((of(old), of(new)), ("propcache!propcache/_helpers_c.so".into(), of(old)));
        for (one, other) in [
            (
                "libf1_1:2_arm64.deb!usr/lib/aarch64-linux-gnu/libf.so.1.2",
                "libf1_2_amd64.deb!usr/lib/x86_64-linux-gnu/libf.so.1.3",
            ),
            (
                "a-1-py3-none-linux_x86_64.whl!a.libs/libz-8f1e9814.so.1",
                "A-2-py3-none-linux_x86_64.whl!a.libs/libz-daac5196.so.1",
            ),
            ("old/a/_core.abi3.so", "new/a/_core.cpython-311-x86_64-linux-gnu.so"),
            ("x-1.tgz!package/x.linux-x64-gnu.node", "x-1.tgz!package/x.linux-arm64-gnu.node"),
        ] {
            assert_eq!(of(one), of(other));
        }
        let core = "a-1-cp311-cp311-linux_x86_64.whl!a/_core.so";
        for other in [
            "b-1-cp311-cp311-linux_x86_64.whl!a/_core.so",
            "a-1-cp311-cp311-linux_x86_64.whl!b/_core.so",
            "a/_core.so",
        ] {
            assert_ne!(of(core), of(other));
        }
        // Two projects whose names begin alike.
        assert_ne!(of("scikit_learn-1-x.whl!s/_c.so"), of("scikit_image-1-x.whl!s/_c.so"));
        assert_ne!(of("python3-a_1_arm64.deb!usr/lib/l.so"), of("python3-b_1_arm64.deb!usr/lib/l.so"));
        assert_eq!((kin("_core.so"), kin("a-1-x.whl!_core.so")), (None, None));
    }

    #[test]
    fn versions_are_runs_of_numbers() {
        for (path, expected) in [
            ("libx.so", "libx.so"),
            ("libx.so.1.2.3", "libx.so"),
            ("libx-1.2.so", "libx-#.so"),
            ("lib/15/bin/postgres", "lib/#/bin/postgres"),
            ("a.1.b", "a.#.b"),
            ("a.1.", "a.#."),
            ("libgfortran-8f1e9814.so.5.0.0", "libgfortran-#.so"),
            ("libgfortran-daac5196-038a5e3c.so.5", "libgfortran-#.so"),
            ("libx-deadbeef0123abcd.rlib", "libx-#.rlib"),
            ("libx-12345678.9.so", "libx-#.so"),
            ("libx-deadbeef1.so", "libx-deadbeef#.so"),
            ("é-1/ü", "é-#/ü"),
        ] {
            assert_eq!(without_versions(path), expected);
        }
    }

    #[test]
    fn library_that_a_wheel_carries_is_the_one_that_it_was_before_it_got_a_hash() {
        for (path, expected) in [
            ("numpy.libs/libopenblasp-r0-ae94cfde.3.9.dev.so", "numpy.libs/libopenblasp-r#.so"),
            ("numpy.libs/libopenblasp-r0-09e95953.3.13.so", "numpy.libs/libopenblasp-r#.so"),
            ("libopenblasp-r0.3.21.so", "libopenblasp-r#.so"),
            ("libscipy_openblas64_-56d6093b.so", "libscipy_openblas#_.so"),
            ("msvcp140-263139962577ecda4cd9469ca360a746.dll", "msvcp#.dll"),
            ("a.libs/libz-263139962577ecda4cd9469ca360a746.so.1.3", "a.libs/libz.so"),
            ("libgfortran-daac5196-038a5e3c.so.5", "libgfortran.so"),
            ("libx-1.2rc1.so", "libx-#.so"),
            ("libx-1.2-beta.3.so", "libx-#.so"),
            ("libx.so.1.2.dev", "libx.so"),
            ("x_1.0.dev3/bin/x", "x_#/bin/x"),
            // Neither a hash nor a word next to a version.
            ("lib-deadbeef/libx.so", "lib-deadbeef/libx.so"),
            ("libx-deadbee.so", "libx-deadbee.so"),
            ("libdev.so", "libdev.so"),
            ("lib1.device.so", "lib#.device.so"),
            ("libx-deadbeef.a(y-deadbeef.o)", "libx.a(y-#.o)"),
        ] {
            assert_eq!(without_marks(path), expected, "{path}");
        }
        for (path, expected) in [
            ("numpy/.libs/libz-dd453c56.so.1", ".libs/libz.so"),
            ("a-1.whl!opencv_python.libs/libz-dd453c56.so.1", "a.whl!.libs/libz.so"),
            ("opencv/libs/libz.so.1", "opencv/libs/libz.so"),
        ] {
            assert_eq!(without_folder_of_libraries(path), expected, "{path}");
        }
    }

    #[test]
    fn libraries_of_a_wheel_pair_whatever_their_hashes_and_their_folder() {
        let old = names(&[
            "numpy/.libs/libgfortran-91cc3cb1.so.3.0.0",
            "numpy/.libs/libopenblasp-r0-ae94cfde.3.9.dev.so",
            "scipy.libs/libopenblasp-r0-5bebc122.3.13.dev.so",
            "scipy.libs/libquadmath-2d0c479f.so.0.0.0",
        ]);
        let new = names(&[
            "numpy.libs/libopenblasp-r0-09e95953.3.13.so",
            "numpy.libs/libgfortran-2e0d59d6.so.5.0.0",
            "scipy.libs/libopenblasp-r0-085ca80a.3.9.so",
            "scipy.libs/libquadmath-96973f99.so.0.0.0",
            "scipy.libs/libgfortran.so",
        ]);
        let expected =
            [(Some(1), Some(0)), (Some(0), Some(1)), (Some(2), Some(2)), (Some(3), Some(3)), (None, Some(4))];
        assert_eq!(pair(&old, &new), expected);
        // Two libraries whose names only begin alike stay two.
        let (old, new) = (names(&["a.libs/libxy-deadbeef.so.1"]), names(&["a.libs/libxz-0badcafe.so.1"]));
        assert_eq!(pair(&old, &new), [(None, Some(0)), (Some(0), None)]);
    }

    #[test]
    fn modules_pair_whatever_python_they_are_for() {
        let old = names(&[
            "m/_qc.cpython-311-x86_64-linux-gnu.so",
            "m/_b.pypy39-pp73-x86_64-linux-gnu.so",
            "m/a.b.so",
        ]);
        let new = names(&["m/_b.so", "m/_qc.abi3.so", "m/a.so"]);
        let expected = [(Some(1), Some(0)), (Some(0), Some(1)), (None, Some(2)), (Some(2), None)];
        assert_eq!(pair(&old, &new), expected);
    }

    #[test]
    fn packages_pair_by_what_they_are_called_before_their_version() {
        for (path, expected) in [
            ("pool/curl_7.88.1-10+deb12u5_arm64.deb!", "pool/curl_arm#.deb!"),
            ("libssl3_3.0.11-1~deb12u2_amd64.deb!usr/lib/libssl.so.3", "libssl#_amd#.deb!usr/lib/libssl.so"),
            ("libssl3t64_3.5.7-1~deb13u2_amd64.deb!x", "libssl#_amd#.deb!x"),
            ("bash-5.2.15-3.fc38.aarch64.rpm!bin/bash", "bash.rpm!bin/bash"),
            ("a.conda!pkg-lz4-4.3.2-py311_0.tar.zst!x", "a.conda!pkg-lz#_#.tar.zst!x"),
            ("-1!x", "-#!x"),
            ("no-package", "no-package"),
        ] {
            assert_eq!(without_versions_of_packages(path), expected);
        }
        let old = names(&["curl_7.88.1-10+deb12u5_arm64.deb!", "curl_7.88.1-10+deb12u5_amd64.deb!"]);
        let new = names(&["curl_8.5.0-2_amd64.deb!", "curl_8.5.0-2_arm64.deb!"]);
        assert_eq!(pair(&old, &new), [(Some(1), Some(0)), (Some(0), Some(1))]);
    }

    #[test]
    fn file_that_moved_is_found_by_its_name_unless_there_are_several() {
        let old = names(&["lib/libc.so.6", "a/x.o", "b/x.o", "old/libx.a(m.o)"]);
        let new = names(&["usr/lib/libc.so.6", "c/x.o", "new/libx.a(m.o)"]);
        let expected =
            [(Some(0), Some(0)), (None, Some(1)), (Some(3), Some(2)), (Some(1), None), (Some(2), None)];
        assert_eq!(pair(&old, &new), expected);
        assert_eq!(without_folders("pool/a.deb!"), "a.deb!");
        assert_eq!(without_folders("a.deb!usr/lib/libx.so.1"), "libx.so");
        assert_eq!(without_folders("libx.a(dir/m.o)"), "libx.a(dir/m.o)");
    }
}
