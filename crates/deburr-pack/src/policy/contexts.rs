//! The file contexts of an SELinux policy: path → label, as `selabel_lookup(3)` finds it.
//!
//! In: `file_contexts` and, beside it, `file_contexts.subs_dist`. Out: the context of a path. The format is selabel_file(5): an expression,
//! perhaps a kind of file, and a context. The last line that matches counts, and a line without an expression counts before all others.

use super::PolicyError;
use regex::Regex;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A kind of file, by the letter that a line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
}

impl Kind {
    fn letter(self) -> &'static str {
        match self {
            Kind::File => "--",
            Kind::Folder => "-d",
            Kind::Link => "-l",
        }
    }
}

/// A context without its range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Label {
    pub(super) user: String,
    pub(super) role: String,
    pub(super) kind: String,
}

#[derive(Debug)]
struct Line {
    number: usize,
    /// The expression.
    path: String,
    /// The letter of a kind; empty for all.
    kind: String,
    context: String,
}

/// The file contexts of a policy.
#[derive(Debug)]
pub(super) struct Contexts {
    path: PathBuf,
    /// The line that counts first is the first.
    lines: Vec<Line>,
    /// Folders that are labelled as others; the last one counts.
    substitutes: Vec<(String, String)>,
}

impl Contexts {
    /// Reads the file, and what it substitutes.
    pub(super) fn read(path: &Path) -> Result<Contexts, PolicyError> {
        let text = fs::read_to_string(path).map_err(|error| PolicyError::Io(path.to_owned(), error))?;
        let mut name = path.as_os_str().to_owned();
        name.push(".subs_dist");
        let substitutes = match fs::read_to_string(&name) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(PolicyError::Io(name.into(), error)),
        };
        Contexts::parse(path, &text, &substitutes)
    }

    fn parse(path: &Path, text: &str, substitutes: &str) -> Result<Contexts, PolicyError> {
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (path_of, kind, context) = match fields.as_slice() {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [path_of, context] => (*path_of, "", *context),
                [path_of, kind, context] if kind.starts_with('-') => (*path_of, *kind, *context),
                _ => {
                    let reason = "expected a path, perhaps a kind such as --, and a context (selabel_file(5)); name the file_contexts of a built policy";
                    return Err(PolicyError::Line(path.to_owned(), index + 1, reason.to_owned()));
                }
            };
            let (path, kind, context) = (path_of.to_owned(), kind.to_owned(), context.to_owned());
            lines.push(Line { number: index + 1, path, kind, context });
        }
        if lines.is_empty() {
            let reason = "expected the file contexts of a policy, and there is none in it";
            return Err(PolicyError::File(path.to_owned(), reason.to_owned()));
        }
        lines.reverse();
        lines.sort_by_key(|line| is_expression(&line.path));
        let pairs = substitutes.lines().filter(|line| !line.trim_start().starts_with('#'));
        let pairs = pairs.filter_map(|line| {
            let mut fields = line.split_whitespace();
            Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
        });
        Ok(Contexts { path: path.to_owned(), lines, substitutes: pairs.collect() })
    }

    /// The label of a file; `None` where the policy gives none.
    pub(super) fn label(&self, path: &str, kind: Kind) -> Result<Option<Label>, PolicyError> {
        let substituted = self.substitutes.iter().rev().find_map(|(from, to)| {
            let rest = path.strip_prefix(from.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
        });
        let path = substituted.as_deref().unwrap_or(path);
        for line in &self.lines {
            let is_kind = line.kind.is_empty() || line.kind == kind.letter();
            // Most lines are for other folders; only the few that are left are compiled.
            if !is_kind || !path.starts_with(stem(&line.path)) {
                continue;
            }
            let expression = Regex::new(&format!("^(?:{})$", line.path))
                .map_err(|_| self.fault(line, "expected a regular expression without look-around"))?;
            if expression.is_match(path) {
                return self.parsed(line);
            }
        }
        Ok(None)
    }

    fn parsed(&self, line: &Line) -> Result<Option<Label>, PolicyError> {
        if line.context == "<<none>>" {
            return Ok(None);
        }
        let fields: Vec<&str> = line.context.splitn(4, ':').collect();
        match fields.as_slice() {
            // A range of its own is for devices and for policies of several levels.
            [user, role, kind] | [user, role, kind, "s0"] => {
                let (user, role, kind) = ((*user).to_owned(), (*role).to_owned(), (*kind).to_owned());
                Ok(Some(Label { user, role, kind }))
            }
            _ => Err(self.fault(line, "expected a context such as system_u:object_r:bin_t:s0")),
        }
    }

    fn fault(&self, line: &Line, reason: &str) -> PolicyError {
        PolicyError::Line(self.path.clone(), line.number, reason.to_owned())
    }
}

/// Characters of expressions (libselinux has the same).
const META: &[char] = &['.', '^', '$', '?', '*', '+', '|', '[', '(', '{'];

/// Whether a path is an expression and not one name.
fn is_expression(path: &str) -> bool {
    let mut is_escaped = false;
    path.chars().any(|character| {
        let is_meta = !is_escaped && META.contains(&character);
        is_escaped = !is_escaped && character == '\\';
        is_meta
    })
}

/// What every path that an expression matches begins with.
fn stem(path: &str) -> &str {
    let end = path.find(|character| character == '\\' || META.contains(&character)).unwrap_or(path.len());
    let is_alternative = path.contains('|') && !path.contains('(');
    let stem = if is_alternative { "" } else { &path[..end] };
    // A repeated character may be absent.
    match path[end..].chars().next() {
        Some('?' | '*' | '{') => stem.char_indices().next_back().map_or("", |(at, _)| &stem[..at]),
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "# a policy
/usr(/.*)?\tsystem_u:object_r:usr_t:s0
/usr/(.*/)?bin(/.*)?\tsystem_u:object_r:bin_t:s0
/usr/lib(/.*)?\tsystem_u:object_r:lib_t:s0
/usr/bin/post(gres|master)\t--\tsystem_u:object_r:postgresql_exec_t:s0
/usr/bin/birds?\t--\tsystem_u:object_r:bird_exec_t:s0
/usr/bin/fixed\t--\tsystem_u:object_r:fixed_exec_t:s0
/usr/bin/f.*\tsystem_u:object_r:games_exec_t:s0
/usr/lib/swap\t--\t<<none>>
";

    fn kind(path: &str, kind: Kind) -> Option<String> {
        let contexts =
            Contexts::parse(Path::new("file_contexts"), POLICY, "# alias\n/usr/lib64 /usr/lib\n").unwrap();
        contexts.label(path, kind).unwrap().map(|label| label.kind)
    }

    #[test]
    fn the_last_line_that_matches_path_and_kind_counts() {
        for (path, of, expected) in [
            ("/usr/share/x", Kind::File, "usr_t"),
            ("/usr/bin/other", Kind::File, "bin_t"),
            ("/usr/bin/postgres", Kind::File, "postgresql_exec_t"),
            ("/usr/bin/postgres", Kind::Link, "bin_t"),
            ("/usr/bin/bird", Kind::File, "bird_exec_t"),
            ("/usr/bin/birds", Kind::File, "bird_exec_t"),
            ("/usr/bin", Kind::Folder, "bin_t"),
            // A name without an expression counts before those with one.
            ("/usr/bin/fixed", Kind::File, "fixed_exec_t"),
            ("/usr/bin/fixed", Kind::Link, "games_exec_t"),
            ("/usr/lib64/x", Kind::File, "lib_t"),
        ] {
            assert_eq!(kind(path, of).as_deref(), Some(expected), "{path}");
        }
        assert_eq!((kind("/usr/lib/swap", Kind::File), kind("/srv", Kind::File)), (None, None));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let parse = |text: &str| Contexts::parse(Path::new("fc"), text, "");
        let fault = parse("/a -- x y z\n").unwrap_err().to_string();
        assert!(fault.starts_with("fc:1: expected a path"), "{fault}");
        assert_eq!(
            parse("# empty\n").unwrap_err().to_string(),
            "fc: expected the file contexts of a policy, and there is none in it"
        );
        for (text, expected) in [
            ("\n/a(?!b).* u:r:t:s0\n", "fc:2: expected a regular expression"),
            ("/ab u:r:t:s0-s15\n", "fc:1: expected a context"),
        ] {
            let fault = parse(text).unwrap().label("/ab", Kind::File).unwrap_err().to_string();
            assert!(fault.starts_with(expected), "{fault}");
        }
    }
}
