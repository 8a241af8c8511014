//! A member of a package as the package's own directory describes it, without its bytes.
//!
//! In: what a tar header or a zip file's directory says. Out: [`Member`], with the path that a link leads to.

use crate::name::{shown, tidied};

/// A member, as a [`crate::Sink`] gets it before its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// As [`crate::Object::path`].
    pub path: String,
    /// The path that it leads to, of the same form, where it is a symbolic or a hard link; nothing says that there is such a
    /// member.
    pub leads_to: Option<String>,
    /// Whether its header holds a hash or a signature of its bytes (`security.ima` and `security.evm` in pax records).
    pub is_signed: bool,
}

/// What a member is linked to, as its package has it.
pub(crate) enum Link<'l> {
    /// From the folder of the link on, or from the root of the package.
    Symbolic(&'l [u8]),
    /// From the root of the package on.
    Hard(&'l [u8]),
}

impl Link<'_> {
    /// The path in `package` that a link of this name leads to. What climbs out of the package stays at its root.
    pub(crate) fn leads_to(&self, package: &str, name: &[u8]) -> String {
        let mut parts: Vec<&[u8]> = Vec::new();
        let own = tidied(name);
        let (start, target) = match self {
            Link::Symbolic(target) if !target.starts_with(b"/") => (parent(own), *target),
            Link::Symbolic(target) | Link::Hard(target) => (&b""[..], *target),
        };
        for part in start.split(|byte| *byte == b'/').chain(target.split(|byte| *byte == b'/')) {
            match part {
                b"" | b"." => {}
                b".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        format!("{package}!{}", shown(&parts.join(&b'/')))
    }
}

/// The folder of a name.
fn parent(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    name.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_a_path_of_the_package() {
        let symbolic = |name: &[u8], target: &[u8]| Link::Symbolic(target).leads_to("p", name);
        assert_eq!(symbolic(b"./usr/lib/a.so", b"a.so.1"), "p!usr/lib/a.so.1");
        assert_eq!(symbolic(b"a.so", b"./a.so.1"), "p!a.so.1");
        assert_eq!(symbolic(b"usr/lib/a.so", b"../lib64/./a.so"), "p!usr/lib64/a.so");
        assert_eq!(symbolic(b"usr/lib/a.so", b"/opt/a.so"), "p!opt/a.so");
        assert_eq!(symbolic(b"a.so", b"../../../b\n.so"), "p!b\\x0a.so");
        assert_eq!(Link::Hard(b"./usr/bin/a").leads_to("p", b"usr/bin/b"), "p!usr/bin/a");
    }
}
