//! The options that name files, and what becomes of these: a list for the tests, which check it against the
//! command line's definition, and try every option that writes.

/// What the command does with the file that an option names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is read, or looked into.
    Reads,
    /// It is written, whatever was there before.
    Writes,
    /// It is read, and written with something added to it.
    Extends,
    /// It is begun, and grows; nothing may be there before.
    Begins,
    /// It goes on, in the file that it was begun in.
    Continues,
    /// It is a directory that files are put into.
    Fills,
}

/// Verb, option and role of each.
pub(crate) const FILES: [(&str, &str, Role); 48] = [
    ("check", "paths", Role::Reads),
    ("check", "config", Role::Reads),
    ("check", "add_allowances", Role::Extends),
    ("check", "format", Role::Writes),
    ("check", "html", Role::Writes),
    ("check", "output", Role::Writes),
    ("check", "measured", Role::Reads),
    ("check", "profile", Role::Reads),
    ("check", "tried", Role::Reads),
    ("check", "debug_dir", Role::Reads),
    ("check", "root", Role::Reads),
    ("scan", "archive", Role::Reads),
    ("scan", "tables", Role::Fills),
    ("scan", "cache", Role::Fills),
    ("scan", "packages_from", Role::Reads),
    ("scan", "config", Role::Reads),
    ("query", "folder", Role::Reads),
    ("show", "file", Role::Reads),
    ("show", "config", Role::Reads),
    ("show", "debug_dir", Role::Reads),
    ("diff", "old", Role::Reads),
    ("diff", "new", Role::Reads),
    ("diff", "format", Role::Writes),
    ("diff", "html", Role::Writes),
    ("diff", "config", Role::Reads),
    ("diff", "debug_dir", Role::Reads),
    ("fix", "paths", Role::Reads),
    ("fix", "output", Role::Writes),
    ("fix", "dispatch", Role::Fills),
    ("fix", "config", Role::Reads),
    ("fix", "debug_dir", Role::Reads),
    ("compare", "values", Role::Reads),
    ("compare", "files", Role::Reads),
    ("compare", "cwd", Role::Reads),
    ("compare", "input", Role::Reads),
    ("compare", "output", Role::Fills),
    ("compare", "record", Role::Begins),
    ("compare", "resume", Role::Continues),
    ("compare", "format", Role::Writes),
    ("compare", "html", Role::Writes),
    ("compare", "export_hyperfine", Role::Writes),
    ("try", "root", Role::Reads),
    ("try", "record", Role::Writes),
    ("record", "output", Role::Writes),
    ("bench", "compare_with", Role::Reads),
    ("bench", "show", Role::Reads),
    ("bench", "format", Role::Writes),
    ("bench", "html", Role::Writes),
];
