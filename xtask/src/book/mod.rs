//! The documentation as a site: `cargo xtask book [DIR]`.
//!
//! In: `docs/SUMMARY.md`, which has the pages and their order with links that also lead somewhere in the repository; the
//! documents that it names; the rules and their pages. Out: the source of a book for mdBook in `target/book-src`, and the site in
//! DIR. Nothing of that is committed, so that a page exists once. Links between pages stay links between pages, and pictures go
//! along. What is neither (source code, tables) becomes an address of the repository.

mod links;
mod rules;
#[cfg(test)]
mod tests;

use crate::repository;
use rules::{PAGES, Rule};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The list of the pages.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Assembles the book and builds it in `site`.
pub fn run(site: Option<&Path>) -> Result<(), String> {
    let source = repository().join("target/book-src");
    let pages = assemble(repository(), &source)?;
    println!("book: {pages} pages in {}", source.display());
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    let site = site.map_or_else(|| repository().join("target/book"), |site| here.join(site));
    let said = build(&source, &site)?;
    print!("{said}");
    println!("book: {}", site.join("index.html").display());
    Ok(())
}

/// The programs that build a book, in the order in which they are tried: that on PATH, and that of `cargo xtask nightly`.
pub fn mdbook() -> Option<PathBuf> {
    let own = tools().join("bin/mdbook");
    [PathBuf::from("mdbook"), own]
        .into_iter()
        .find(|mdbook| Command::new(mdbook).arg("--version").output().is_ok())
}

/// Where `cargo xtask nightly` installs what no distribution has.
pub fn tools() -> PathBuf {
    repository().join("target/tools")
}

/// Runs mdBook on an assembled source, and returns what it says.
fn build(source: &Path, site: &Path) -> Result<String, String> {
    let missing = "book: mdbook is not on PATH; `cargo install mdbook --locked` installs it";
    let mut mdbook = Command::new(mdbook().ok_or(missing)?);
    let done = mdbook.arg("build").arg(source).arg("--dest-dir").arg(site).output();
    let done = done.map_err(|error| format!("book: mdbook: {error}"))?;
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    if done.status.success() { Ok(said) } else { Err(format!("book: mdbook: {}\n{said}", done.status)) }
}

/// One line of [`SUMMARY`] that names a page: what precedes the title, the title, the path from the root of the repository.
struct Entry<'a> {
    before: &'a str,
    title: &'a str,
    path: String,
}

/// Writes the source of the book into a folder, which it empties first, and returns the number of pages.
fn assemble(repository: &Path, source: &Path) -> Result<usize, String> {
    let rules = rules::read(repository)?;
    let summary = text_of(&repository.join(SUMMARY))?;
    let lines: Vec<Result<Entry<'_>, &str>> = summary.lines().map(|line| entry(line).ok_or(line)).collect();
    let documents: Vec<&str> =
        lines.iter().flatten().map(|entry| entry.path.as_str()).filter(|path| *path != PAGES).collect();
    let unlisted = files_below(repository, "docs", ".md")?
        .into_iter()
        .filter(|path| path != SUMMARY && !documents.contains(&path.as_str()));
    let mut faults: Vec<String> = unlisted.map(|path| format!("{path} is not in {SUMMARY}")).collect();

    // Where each page is in the book, by its path in the repository.
    let mut places: BTreeMap<String, String> =
        documents.iter().map(|path| ((*path).to_owned(), place(path))).collect();
    places.extend(
        rules.iter().map(|rule| (format!("{PAGES}/{}.md", rule.id), format!("rules/{}.md", rule.id))),
    );
    places.insert(PAGES.to_owned(), "rules/index.md".to_owned());
    let pictures = files_below(repository, "docs", ".svg")?;
    places.extend(pictures.iter().map(|path| (path.clone(), place(path))));
    let book = Book { repository, address: &address(repository)?, places: &places };

    let mut pages = vec![
        ("SUMMARY.md".to_owned(), written_summary(&lines, &places, &rules)),
        ("rules/index.md".to_owned(), rules::index(&rules)),
    ];
    let own = rules.iter().map(|rule| (format!("{PAGES}/{}.md", rule.id), Ok(rules::page(rule))));
    let read = documents.iter().map(|path| ((*path).to_owned(), document(&repository.join(path))));
    for (path, text) in read.chain(own) {
        match text.and_then(|text| links::rewrite(&text, |link| book.target(&path, link))) {
            Ok(text) => pages.push((places[&path].clone(), text)),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    let _ = fs::remove_dir_all(source);
    for (place, text) in &pages {
        write(&source.join("src").join(place), text)?;
    }
    for picture in &pictures {
        write(&source.join("src").join(place(picture)), &text_of(&repository.join(picture))?)?;
    }
    write(&source.join("book.toml"), &settings(book.address))?;
    Ok(pages.len() - 1)
}

/// A document without its front matter, which is for programs and would become a heading.
fn document(path: &Path) -> Result<String, String> {
    let text = text_of(path)?;
    let front = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    Ok(front.map_or(text.as_str(), |(_, rest)| rest.trim_start()).to_owned())
}

/// What a line of the summary names.
fn entry(line: &str) -> Option<Entry<'_>> {
    let (before, rest) = line.split_once('[')?;
    let (title, rest) = rest.split_once("](")?;
    Some(Entry { before, title, path: resolved("docs", rest.strip_suffix(')')?) })
}

/// Where a document is in the book: those of `docs/` at its root.
fn place(path: &str) -> String {
    let path = path.strip_prefix("docs/").unwrap_or(path);
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => path.to_lowercase(),
    }
}

/// The summary with the pages' places, and with each rule below the page of all rules.
fn written_summary(
    lines: &[Result<Entry<'_>, &str>],
    places: &BTreeMap<String, String>,
    rules: &[Rule],
) -> String {
    let mut text = String::new();
    for line in lines {
        match line {
            Err(line) => text.push_str(line),
            Ok(Entry { before, title, path }) => {
                text.push_str(&format!("{before}[{title}]({})", places[path]));
                let indent = before.len() - before.trim_start().len() + 2;
                for rule in rules.iter().filter(|_| path == PAGES) {
                    text.push_str(&format!("\n{:indent$}- [{1}](rules/{1}.md)", "", rule.id));
                }
            }
        }
        text.push('\n');
    }
    text
}

/// mdBook's settings. A page that the summary names must be there.
fn settings(address: &str) -> String {
    format!(
        "[book]\ntitle = \"deburr\"\nlanguage = \"en\"\nsrc = \"src\"\n\n[build]\ncreate-missing = false\n\n\
         [output.html]\nsmart-punctuation = false\ngit-repository-url = \"{address}\"\n"
    )
}

/// What links are resolved by.
struct Book<'a> {
    repository: &'a Path,
    address: &'a str,
    places: &'a BTreeMap<String, String>,
}

impl Book<'_> {
    /// The target in the book of a link in a document of the repository.
    fn target(&self, document: &str, link: &str) -> Result<String, String> {
        if link.contains("://") || link.starts_with('#') {
            return Ok(link.to_owned());
        }
        let (path, fragment) = link.find('#').map_or((link, ""), |at| link.split_at(at));
        let path = resolved(document.rsplit_once('/').map_or("", |(folder, _)| folder), path);
        if let Some(place) = self.places.get(&path) {
            let depth = self.places[document].matches('/').count();
            return Ok(format!("{}{place}{fragment}", "../".repeat(depth)));
        }
        let kind = match self.repository.join(&path) {
            file if file.is_file() => "blob",
            folder if folder.is_dir() => "tree",
            _ => return Err(format!("{document}: {link} leads nowhere")),
        };
        Ok(format!("{}/{kind}/HEAD/{path}{fragment}", self.address))
    }
}

/// A relative path in a folder, from the root of the repository.
fn resolved(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The address of the repository.
fn address(repository: &Path) -> Result<String, String> {
    let manifest = text_of(&repository.join("Cargo.toml"))?;
    let manifest: toml::Table = manifest.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let address =
        manifest.get("workspace").and_then(|table| table.get("package")?.get("repository")?.as_str());
    address.map(str::to_owned).ok_or_else(|| "Cargo.toml: no repository".to_owned())
}

/// The files in a folder and below whose names have that ending, from the root of the repository.
fn files_below(repository: &Path, folder: &str, ending: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(repository.join(folder)).map_err(|error| format!("{folder}: {error}"))? {
        let entry = entry.map_err(|error| format!("{folder}: {error}"))?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            found.extend(files_below(repository, &path, ending)?);
        } else if path.ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn text_of(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}
