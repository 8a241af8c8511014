//! The book of this repository, and of a small one with faults.

use super::{PAGES, assemble, build, files_below, links, mdbook, rules, text_of};
use crate::repository;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The pages of a book's source, from its root.
fn pages(source: &Path) -> Vec<String> {
    let found = files_below(source, "src", ".md").unwrap();
    found.iter().map(|path| path.trim_start_matches("src/").to_owned()).collect()
}

/// The links of a page to something in the book, that lead nowhere; `targets` has what they may lead to.
fn dead(
    folder: &Path,
    page: &str,
    links: &[&str],
    fragments: impl Fn(&Path) -> Option<Vec<String>>,
) -> Vec<String> {
    let own = folder.join(page);
    let leads_nowhere = |link: &&&str| {
        let (path, fragment) = link.split_once('#').map_or((**link, None), |(path, part)| (path, Some(part)));
        let target = if path.is_empty() { own.clone() } else { own.parent().unwrap().join(path) };
        let known = fragments(&target);
        known.is_none_or(|known| fragment.is_some_and(|wanted| !known.iter().any(|one| one == wanted)))
    };
    let inside = links.iter().filter(|link| !link.contains("://"));
    inside.filter(leads_nowhere).map(|link| format!("{page}: {link}")).collect()
}

#[test]
fn every_link_of_the_book_leads_to_a_page_and_a_heading() {
    let folder = TempDir::new().unwrap();
    let count = assemble(repository(), folder.path()).unwrap();
    let (source, pages) = (folder.path().join("src"), pages(folder.path()));
    assert_eq!(pages.len(), count + 1, "the summary is no page");
    let (mut links_inside, mut found) = (0, Vec::new());
    for page in &pages {
        let text = text_of(&source.join(page)).unwrap();
        let links = links::found(&text);
        links_inside += links.iter().filter(|link| !link.contains("://")).count();
        found.extend(dead(&source, page, &links, |target| {
            Some(links::fragments(&fs::read_to_string(target).ok()?))
        }));
    }
    assert!(links_inside > 100, "only {links_inside} links are found");
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn each_rule_has_its_page_and_a_line_in_the_summary() {
    let folder = TempDir::new().unwrap();
    assemble(repository(), folder.path()).unwrap();
    let source = folder.path().join("src");
    let [summary, index] = ["SUMMARY.md", "rules/index.md"].map(|page| text_of(&source.join(page)).unwrap());
    let rules = rules::read(repository()).unwrap();
    let ids: BTreeSet<String> = rules.iter().map(|rule| format!("{PAGES}/{}.md", rule.id)).collect();
    assert_eq!(ids, files_below(repository(), PAGES, ".md").unwrap().into_iter().collect());
    for rule in &rules {
        assert_eq!(summary.matches(&format!("](rules/{}.md)", rule.id)).count(), 1, "{}", rule.id);
        assert_eq!(index.matches(&format!("]({}.md)", rule.id)).count(), 1, "{}", rule.id);
        let page = text_of(&source.join(format!("rules/{}.md", rule.id))).unwrap();
        let begin = format!("# {}\n\n*{}* · Severity: {}", rule.id, rule.summary, rule.severity);
        assert!(page.starts_with(&begin), "{}: {page:.200}", rule.id);
        // What `deburr explain` prints follows.
        for line in rule.page.lines().filter(|line| line.starts_with("## ")) {
            assert!(page.contains(&format!("\n{line}\n")), "{}: no {line}", rule.id);
        }
    }
}

#[test]
fn every_page_is_in_the_summary() {
    let folder = TempDir::new().unwrap();
    assemble(repository(), folder.path()).unwrap();
    let summary = text_of(&folder.path().join("src/SUMMARY.md")).unwrap();
    let listed: BTreeSet<&str> = links::found(&summary).into_iter().collect();
    let pages = pages(folder.path());
    let written: BTreeSet<&str> =
        pages.iter().map(String::as_str).filter(|page| *page != "SUMMARY.md").collect();
    assert_eq!(listed, written);
}

/// A repository with one rule and some documents.
fn planted(documents: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let rule = "const RULE: Rule = Rule {\n    id: \"a-rule\",\n    summary: \"a \\\"thing\\\"\",\n    severity: \"note; else\",\n    \
                preview: true,\n    benchmark: None,\n};\n";
    let always = [
        ("Cargo.toml", "[workspace.package]\nrepository = \"https://example.org/r\"\n"),
        ("crates/deburr-core/src/rule/a_rule.rs", rule),
        (
            "crates/deburr-core/pages/a-rule.md",
            "# a-rule\n\n## What it finds\n\n[code](../src/rule/a_rule.rs)\n",
        ),
        (
            "docs/SUMMARY.md",
            "# Summary\n\n[R](../README.md)\n- [One](one.md)\n  - [Rules](../crates/deburr-core/pages)\n",
        ),
        (
            "README.md",
            "---\nname: r\n---\n\n# R\n[one](docs/one.md#a-part) [rule](crates/deburr-core/pages/a-rule.md)\n",
        ),
        (
            "docs/one.md",
            "# One\n## A part\n[home](../README.md) [folder](../crates) `[code](gone.md)`\n```\n[code](gone.md)\n```\n",
        ),
    ];
    for (path, text) in always.iter().chain(documents) {
        super::write(&folder.path().join(path), text).unwrap();
    }
    folder
}

#[test]
fn links_between_pages_stay_and_others_become_addresses() {
    let (repository, out) = (planted(&[]), TempDir::new().unwrap());
    assert_eq!(assemble(repository.path(), out.path()), Ok(4));
    let page = |path: &str| text_of(&out.path().join("src").join(path)).unwrap();
    assert_eq!(page("index.md"), "# R\n[one](one.md#a-part) [rule](rules/a-rule.md)\n");
    let one = "# One\n## A part\n[home](index.md) [folder](https://example.org/r/tree/HEAD/crates) `[code](gone.md)`\n\
               ```\n[code](gone.md)\n```\n";
    assert_eq!(page("one.md"), one);
    let address = "https://example.org/r/blob/HEAD/crates/deburr-core/src/rule/a_rule.rs";
    assert!(page("rules/a-rule.md").ends_with(&format!("## What it finds\n\n[code]({address})\n")));
    let summary = "# Summary\n\n[R](index.md)\n- [One](one.md)\n  - [Rules](rules/index.md)\n    - [a-rule](rules/a-rule.md)\n";
    assert_eq!(page("SUMMARY.md"), summary);
    let row = "## Notes\n\n| rule | finds | severity |\n|---|---|---|\n\
               | [`a-rule`](a-rule.md) | a \"thing\" | note; else; in preview |\n";
    assert!(page("rules/index.md").contains(row));
}

#[test]
fn pictures_stay_next_to_their_page() {
    let shown = "# One\n## A part\n![a chart](charts/a.svg)\n";
    let repository = planted(&[("docs/one.md", shown), ("docs/charts/a.svg", "<svg/>\n")]);
    let out = TempDir::new().unwrap();
    assert_eq!(assemble(repository.path(), out.path()), Ok(4), "a picture is no page");
    assert_eq!(text_of(&out.path().join("src/one.md")).unwrap(), shown);
    assert_eq!(text_of(&out.path().join("src/charts/a.svg")).unwrap(), "<svg/>\n");
}

#[test]
fn a_page_that_is_not_listed_and_a_link_to_nothing_are_refused() {
    let refused = |documents: &[(&str, &str)]| {
        let (repository, out) = (planted(documents), TempDir::new().unwrap());
        assemble(repository.path(), out.path()).unwrap_err()
    };
    assert_eq!(refused(&[("docs/design/two.md", "# Two\n")]), "docs/design/two.md is not in docs/SUMMARY.md");
    assert_eq!(refused(&[("README.md", "[x](docs/gone.md)\n")]), "README.md: docs/gone.md leads nowhere");
    let listed =
        "- [R](../README.md)\n- [One](one.md)\n- [Two](two.md)\n- [Rules](../crates/deburr-core/pages)\n";
    assert!(refused(&[("docs/SUMMARY.md", listed)]).contains("docs/two.md: No such file"));
}

#[test]
fn dead_links_are_found() {
    let folder = Path::new("/");
    let known = |target: &Path| {
        (target == Path::new("/a.md") || target == Path::new("/p.md")).then(|| vec!["x".to_owned()])
    };
    let links = ["a.md", "a.md#x", "#x", "https://example.org", "a.md#y", "#y", "b.md"];
    assert_eq!(dead(folder, "p.md", &links, known), ["p.md: a.md#y", "p.md: #y", "p.md: b.md"]);
}

/// The values of an attribute in a page of HTML.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    html.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Needs mdBook, which no distribution has: `cargo xtask nightly` installs it.
#[test]
#[ignore = "needs mdbook; cargo xtask nightly"]
fn mdbook_builds_the_site_without_a_warning_and_its_links_lead_to_ids() {
    assert!(mdbook().is_some(), "no mdbook: `cargo install mdbook --locked` installs it");
    let folder = TempDir::new().unwrap();
    let count = assemble(repository(), folder.path()).unwrap();
    let site = folder.path().join("site");
    let said = build(folder.path(), &site).unwrap();
    let lower = said.to_lowercase();
    assert!(!lower.contains("warn") && !lower.contains("error"), "{said}");
    let sources = pages(folder.path());
    let html: Vec<String> = sources
        .iter()
        .map(|page| page.replace(".md", ".html"))
        .filter(|page| site.join(page).exists())
        .collect();
    assert_eq!(html.len(), count, "{html:?}");
    let mut found = Vec::new();
    for page in &html {
        let text = text_of(&site.join(page)).unwrap();
        let main = text.split_once("<main>").and_then(|(_, rest)| rest.split_once("</main>")).unwrap().0;
        found.extend(dead(&site, page, &attributes(main, "href"), |target| {
            let text = fs::read_to_string(target).ok()?;
            Some(attributes(&text, "id").into_iter().map(str::to_owned).collect())
        }));
    }
    assert_eq!(found, Vec::<String>::new());
}
