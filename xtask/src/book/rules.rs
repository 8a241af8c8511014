//! The rules, as the core states them: `const RULE: Rule = Rule { … }` in each file of `rule/`.
//!
//! In: the repository. Out: id, summary, severity and page of each rule. It reads the core's source, so that no task of this
//! package has to wait for the core to be compiled.

use std::fs;
use std::path::Path;

/// What the book shows of a rule.
pub(super) struct Rule {
    /// Its id: `llsc-loop`.
    pub(super) id: String,
    /// One line: what it finds.
    pub(super) summary: String,
    /// With which severity it reports: `warning; note where written by hand`.
    pub(super) severity: String,
    /// Whether it runs only where it is named.
    pub(super) is_preview: bool,
    /// Whether `deburr bench` measures what it costs.
    pub(super) has_benchmark: bool,
    /// Its page, which `deburr explain` prints.
    pub(super) page: String,
}

/// The folder of the pages, from the root of the repository.
pub(super) const PAGES: &str = "crates/deburr-core/pages";

/// All rules, by id.
pub(super) fn read(repository: &Path) -> Result<Vec<Rule>, String> {
    let folder = repository.join("crates/deburr-core/src/rule");
    let mut rules = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        let source = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let Some((_, stated)) = source.split_once("const RULE: Rule = Rule {") else { continue };
        let stated = stated.split_once("\n};").map_or(stated, |(stated, _)| stated);
        let field = |name: &str| {
            let value = stated.split_once(&format!("\n    {name}:")).map(|(_, rest)| rest);
            value.ok_or_else(|| format!("{}: no field {name}", path.display()))
        };
        let id = literal(field("id")?)?;
        let page = repository.join(PAGES).join(format!("{id}.md"));
        rules.push(Rule {
            summary: literal(field("summary")?)?,
            severity: literal(field("severity")?)?,
            is_preview: field("preview")?.trim_start().starts_with("true"),
            has_benchmark: field("benchmark")?.trim_start().starts_with("Some"),
            page: fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?,
            id,
        });
    }
    rules.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(rules)
}

/// The string literal that a field's value begins with.
fn literal(value: &str) -> Result<String, String> {
    let inside = value.trim_start().strip_prefix('"').ok_or_else(|| format!("no string: {value:.40}"))?;
    let (mut text, mut is_escaped) = (String::new(), false);
    for c in inside.chars() {
        match c {
            '\\' if !is_escaped => is_escaped = true,
            '"' if !is_escaped => return Ok(text),
            _ => {
                is_escaped = false;
                text.push(c);
            }
        }
    }
    Err(format!("a string without an end: {value:.40}"))
}

/// The page of all rules, by severity.
pub(super) fn index(rules: &[Rule]) -> String {
    let mut text = String::from(
        "# Rules\n\nWhat `deburr rules` lists, by the severity that a finding has in most cases. \
         `deburr explain RULE` prints the same pages. A rule in preview runs with `--preview` or `--select RULE`.\n",
    );
    for (severity, heading) in [("error", "Errors"), ("warning", "Warnings"), ("note", "Notes")] {
        text.push_str(&format!("\n## {heading}\n\n| rule | finds | severity |\n|---|---|---|\n"));
        for rule in rules.iter().filter(|rule| rule.severity.starts_with(severity)) {
            let preview = if rule.is_preview { "; in preview" } else { "" };
            let row =
                format!("| [`{0}`]({0}.md) | {1} | {2}{preview} |\n", rule.id, rule.summary, rule.severity);
            text.push_str(&row);
        }
    }
    text
}

/// The page of one rule: what `deburr explain` prints, with what `deburr rules` says of it below the heading.
pub(super) fn page(rule: &Rule) -> String {
    let preview = if rule.is_preview { ". In preview: it runs with `--preview` or `--select`" } else { "" };
    let stated = format!("*{}* · Severity: {}{preview}.", rule.summary, rule.severity);
    let (heading, rest) = rule.page.split_once('\n').unwrap_or((&rule.page, ""));
    let mut text = format!("{heading}\n\n{stated}\n{rest}");
    if rule.has_benchmark {
        text.push_str(&format!("\nWhat it costs on this CPU: `deburr bench {}`.\n", rule.id));
    }
    text
}
