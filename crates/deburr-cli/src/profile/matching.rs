//! Which objects of a profile a binary is: by build id, and where the profile has none, by path.

use deburr_profile::Object;
use deburr_text::one_line;
use std::path::{Path, PathBuf};

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Matched {
    /// Indices of objects: a profile may have a file more than once.
    Objects(Vec<usize>),
    /// Only another build of it; what to do.
    OtherBuild(String),
    Nothing,
}

/// Finds a binary in a profile. `build_id`: its own, in hexadecimal digits; `is_named`: whether the user named the file.
pub(super) fn find(objects: &[Object], build_id: Option<&str>, path: &Path, is_named: bool) -> Matched {
    let numbered = || objects.iter().enumerate();
    let id_of = |object: &Object| object.build_id.as_deref().map(hex);
    if let Some(own) = build_id {
        let same: Vec<usize> = numbered()
            .filter(|(_, object)| id_of(object).as_deref() == Some(own))
            .map(|(it, _)| it)
            .collect();
        if !same.is_empty() {
            return Matched::Objects(same);
        }
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let member = member_of(path);
    let is_there = |object: &Object| {
        let recorded = Path::new(&object.path);
        recorded == whole || member.as_ref().is_some_and(|member| recorded == Path::new("/").join(member))
    };
    let is_called = |object: &Object| {
        let recorded = Path::new(&object.path).file_name();
        recorded == path.file_name() || member.as_deref().is_some_and(|member| recorded == member.file_name())
    };
    let called: Vec<(usize, &Object)> = numbered().filter(|(_, object)| is_called(object)).collect();
    let (other, open): (Vec<_>, Vec<_>) =
        called.into_iter().partition(|(_, object)| build_id.is_some() && object.build_id.is_some());
    let there: Vec<usize> = open.iter().filter(|(_, object)| is_there(object)).map(|(it, _)| *it).collect();
    if !there.is_empty() {
        return Matched::Objects(there);
    }
    // Elsewhere on the machine of the recording: that can only be meant where there is one of that name.
    let is_one = open.iter().all(|(_, object)| Some(&object.path) == open.first().map(|(_, it)| &it.path));
    if let ([_, ..], true) = (open.as_slice(), is_one) {
        return Matched::Objects(open.iter().map(|(it, _)| *it).collect());
    }
    let meant = other.iter().find(|(_, object)| is_there(object) || is_named);
    meant.map_or(Matched::Nothing, |(_, object)| {
        let (recorded, own) = (id_of(object).unwrap_or_default(), build_id.unwrap_or_default());
        Matched::OtherBuild(format!(
            "the profile is of another build of it: {} with build id {recorded}, and this one has {own}; check the file that ran, \
             or record a profile of this one",
            one_line(&object.path)
        ))
    })
}

/// The path within its package of what is in one.
fn member_of(path: &Path) -> Option<PathBuf> {
    path.to_str()?.rsplit_once('!').map(|(_, member)| PathBuf::from(member))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(path: &str, build_id: Option<&[u8]>) -> Object {
        Object {
            path: path.to_owned(),
            is_deleted: false,
            build_id: build_id.map(<[u8]>::to_vec),
            inode: None,
            leaves: Vec::new(),
            edges: Vec::new(),
            calls: Vec::new(),
            branches: Vec::new(),
        }
    }

    #[test]
    fn a_build_id_finds_a_file_wherever_it_was() {
        let objects = [object("/usr/bin/a", Some(&[1])), object("/proc/1/root/a", Some(&[0xab, 2]))];
        assert_eq!(find(&objects, Some("ab02"), Path::new("copy"), true), Matched::Objects(vec![1]));
    }

    #[test]
    fn another_build_is_an_error_where_this_file_is_meant() {
        let objects = [object("/usr/bin/a", Some(&[1]))];
        let Matched::OtherBuild(message) = find(&objects, Some("02"), Path::new("build/a"), true) else {
            panic!("no error")
        };
        assert!(message.contains("/usr/bin/a with build id 01, and this one has 02"), "{message}");
        // In a folder, there may be many of that name.
        assert_eq!(find(&objects, Some("02"), Path::new("build/a"), false), Matched::Nothing);
        // But not at that place.
        let there = find(&objects, Some("02"), Path::new("/usr/bin/a"), false);
        assert!(matches!(there, Matched::OtherBuild(_)));
    }

    #[test]
    fn without_build_ids_a_path_or_a_name_that_only_one_has_will_do() {
        let objects = [object("/a/x", None), object("/b/x", None), object("/b/y", None)];
        assert_eq!(find(&objects, Some("01"), Path::new("/b/x"), true), Matched::Objects(vec![1]));
        assert_eq!(find(&objects, None, Path::new("copy/y"), false), Matched::Objects(vec![2]));
        assert_eq!(find(&objects, None, Path::new("copy/x"), true), Matched::Nothing);
    }

    #[test]
    fn what_is_in_a_package_has_its_path_in_there() {
        let objects = [object("/usr/bin/x", None), object("/opt/x", None), object("/site/y.so", None)];
        let found = |path: &str| find(&objects, None, Path::new(path), false);
        assert_eq!(found("pool/x.deb!usr/bin/x"), Matched::Objects(vec![0]));
        assert_eq!(found("y.whl!y.so"), Matched::Objects(vec![2]));
        assert_eq!(found("pool/x.deb!usr/sbin/x"), Matched::Nothing);
        assert_eq!(found("y.so!z"), Matched::Nothing);
    }
}
