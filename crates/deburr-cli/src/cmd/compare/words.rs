//! The text of a command → the words that are run: by a shell, or by themselves; names in braces replaced.
//!
//! In: what an option says, and what replaces each name. Out: a [`Task`], or a complaint that says what to
//! do. Without a shell words are split as POSIX has it (shlex), and nothing else of a shell is done: what only a
//! shell would do is refused, since it would run something else than was meant.

use crate::args::compare::Compare;
use crate::args::compare::sweep::Values;
use deburr_lab::measure::process::Task;
use std::ffi::OsString;

/// What only a shell does, at the beginning of a word.
const OPERATORS: [&str; 8] = ["|", "&", ";", "<", ">", "1>", "2>", "&>"];

/// What only a shell runs.
const BUILTINS: [&str; 10] =
    ["cd", "export", "ulimit", "source", ".", "eval", "exec", "set", "unset", "alias"];

/// How commands become arguments.
pub(super) struct Words<'o> {
    pub(super) options: &'o Compare,
    /// What `{port}` is replaced by.
    pub(super) port: Option<u16>,
    /// What the names that are swept over are replaced by.
    pub(super) values: &'o Values,
}

impl Words<'_> {
    /// A command as it is to be run: by a shell, or by itself.
    pub(super) fn task(&self, what: &str, command: &str) -> Result<Task, String> {
        let options = self.options;
        let mut command = command.to_owned();
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        if let Some(port) = self.port {
            command = command.replace("{port}", &port.to_string());
            env.push(("DEBURR_PORT".into(), port.to_string().into()));
        }
        for (name, value) in &self.values.0 {
            command = command.replace(&format!("{{{name}}}"), value);
        }
        if let Some(name) = unquoted(&command).into_iter().find_map(|word| placeholder(&word)) {
            return Err(format!("{what}: {}", self.unknown(&name)));
        }
        let words: Vec<String> = match options.trial.shell.as_str() {
            "none" => {
                let words = shlex::split(&command)
                    .ok_or_else(|| format!("{what} {command:?}: a quote is not closed"))?;
                if let Some(found) = needs_shell(&command, &words) {
                    return Err(format!(
                        "{what} {command:?}: {found:?} is for a shell: add --shell sh, or quote it if the program is to get it"
                    ));
                }
                words
            }
            shell => {
                let shell = shlex::split(shell)
                    .filter(|words| !words.is_empty())
                    .ok_or_else(|| format!("--shell {:?}: expected a shell, or none", options.trial.shell))?;
                shell.into_iter().chain(["-c".to_owned(), command]).collect()
            }
        };
        if words.is_empty() {
            return Err(format!("{what}: an empty command"));
        }
        let words = words.into_iter().map(OsString::from).collect();
        Ok(Task { words, env, folder: options.trial.cwd.clone(), ..Task::default() })
    }

    pub(super) fn optional(&self, what: &str, command: &Option<String>) -> Result<Option<Task>, String> {
        command.as_ref().map(|command| self.task(what, command)).transpose()
    }

    /// Why a name in braces has no value.
    fn unknown(&self, name: &str) -> String {
        let known: Vec<String> =
            self.options.param.iter().map(|parameter| format!("{{{}}}", parameter.name)).collect();
        let why = match (name, known.is_empty()) {
            ("port", _) => "only commands of servers and their clients have a port".to_owned(),
            (_, true) => format!("give its values by --param {name}=…"),
            (_, false) if self.options.param.iter().any(|parameter| parameter.name == name) => {
                "it has no value here, since this runs once for all of them".to_owned()
            }
            (_, false) => format!("--param has values of {}", known.join(", ")),
        };
        format!("{{{name}}} has no value: {why}; in quotes it is left as it is")
    }
}

/// The parameters that no command has in it.
pub(super) fn unused(options: &Compare) -> Option<&str> {
    let commands = [
        &options.a,
        &options.aa,
        &options.client,
        &options.server_a,
        &options.server_b,
        &options.ready,
        &options.trial.prepare,
        &options.relink,
    ];
    let texts: Vec<&String> = commands.into_iter().flatten().chain(&options.b).collect();
    let is_used = |name: &str| texts.iter().any(|text| text.contains(&format!("{{{name}}}")));
    options.param.iter().map(|parameter| parameter.name.as_str()).find(|name| !is_used(name))
}

/// The words of a command with what is in quotes left out: what a shell would see.
fn unquoted(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '\\') => _ = rest.next(),
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(c);
                // A mark for what was quoted, which begins or goes on with a word.
                word.get_or_insert_default().push('\'');
            }
            (None, '\\') => {
                rest.next();
                word.get_or_insert_default().push('\'');
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A name in braces, which is no `${NAME}` of a shell.
fn placeholder(word: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    word.match_indices('{').find_map(|(at, _)| {
        let (name, _) = word.get(at + 1..)?.split_once('}')?;
        let is_name = !name.is_empty() && name.chars().all(is_part);
        (is_name && !word.get(..at)?.ends_with('$')).then(|| name.to_owned())
    })
}

/// What in a command only a shell would do: an operator, a builtin, or a variable before the program.
fn needs_shell(command: &str, words: &[String]) -> Option<String> {
    let seen = unquoted(command);
    let is_operator = |word: &&String| {
        OPERATORS.iter().any(|operator| word.starts_with(operator)) || (word.len() > 1 && word.ends_with(';'))
    };
    let is_variable = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let is_builtin = |word: &&String| BUILTINS.contains(&word.as_str());
    let first = words.first().filter(|word| is_builtin(word) || is_variable(word));
    let substituted = seen.iter().find(|word| word.contains('`') || word.contains("$("));
    first.or_else(|| seen.iter().find(is_operator)).or(substituted).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(command: &str) -> Option<String> {
        needs_shell(command, &shlex::split(command).expect("words"))
    }

    #[test]
    fn what_only_a_shell_does_is_seen_where_it_is_not_quoted() {
        for (command, found) in [
            ("cat x | wc", "|"),
            ("make; ./run", "make;"),
            ("./run >/dev/null", ">/dev/null"),
            ("./run 2>&1", "2>&1"),
            ("cd x", "cd"),
            ("FOO=1 ./run", "FOO=1"),
            ("./run && true", "&&"),
            ("echo $(date)", "$(date)"),
        ] {
            assert_eq!(needs(command).as_deref(), Some(found), "{command}");
        }
        for plain in [
            "curl http://x/?a=1&b=2;c",
            "awk '{print $1 > \"x\"}' f",
            "./run '|' \\; a=b",
            "grep -e \"a | b\" f",
            "./run --x=1 -",
            "2=3 x",
            "sh -c 'cd x; FOO=1 y'",
        ] {
            assert_eq!(needs(plain), None, "{plain}");
        }
    }

    #[test]
    fn names_in_braces_are_placeholders_where_they_are_not_quoted() {
        let found = |command: &str| unquoted(command).iter().find_map(|word| placeholder(word));
        assert_eq!(found("run -c {clients}"), Some("clients".to_owned()));
        assert_eq!(found("run --size={size}k"), Some("size".to_owned()));
        for plain in [
            "awk '{print}'",
            "run ${HOME}",
            "f() { true; }",
            "run {a,b}",
            "run {}",
            "run \"{x}\"",
            "run \\{x}",
        ] {
            assert_eq!(found(plain), None, "{plain}");
        }
    }
}
