//! What the documents point at: relative links, headings and the repository's own paths.
//!
//! In: the text of a Markdown file. Out: what it names and the repository does not have, as lines for a reader. Code blocks are
//! skipped. A backquoted path counts if its first folder is the repository's, and is there or in a crate; a backquoted table
//! (`*.csv`) is in `evidence/`.

use crate::{entries, files_below, read, repository};
use std::path::{Path, PathBuf};

/// Folders of the repository whose paths the documents name from its root.
const FOLDERS: [&str; 7] = ["crates/", "docs/", "evidence/", "fuzz/", "scripts/", "tests/", "xtask/"];

/// The documents for readers, and the rules' pages.
fn documents() -> Vec<PathBuf> {
    let folders = ["docs", "evidence", "crates/deburr-core/pages"].map(|folder| repository().join(folder));
    let files =
        entries(repository()).into_iter().chain(folders.iter().flat_map(|folder| files_below(folder)));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The lines of a text that are in no code block.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The fragment by which GitHub links to a heading.
fn fragment(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Whether a relative link from a file in `folder` leads to a file, and to a heading of it where one is named.
fn leads_somewhere(folder: &Path, own: &str, link: &str) -> bool {
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = folder.join(path);
    let text = match path {
        "" => own.to_owned(),
        _ if target.is_file() => read(&target),
        _ => return target.exists(),
    };
    let mut headings = prose(&text).filter_map(|line| line.strip_prefix('#'));
    heading.is_none_or(|wanted| headings.any(|line| fragment(line.trim_start_matches('#')) == wanted))
}

/// What a text names and the repository does not have.
fn broken(folder: &Path, text: &str) -> Vec<String> {
    let homes: Vec<PathBuf> =
        [repository().to_owned()].into_iter().chain(entries(&repository().join("crates"))).collect();
    let mut found = Vec::new();
    for line in prose(text) {
        let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let relative = links.filter(|link| !link.contains("://"));
        found.extend(relative.filter(|link| !leads_somewhere(folder, text, link)).map(str::to_owned));
        for quoted in line.split('`').skip(1).step_by(2) {
            let is_path = FOLDERS.iter().any(|folder| quoted.starts_with(folder));
            let is_pattern = quoted.contains(['*', '<', ' ']);
            let is_table = quoted.ends_with(".csv") && !quoted.contains('/');
            let exists = if is_table {
                repository().join("evidence").join(quoted).exists()
            } else {
                homes.iter().any(|home| home.join(quoted).exists())
            };
            if (is_path || is_table) && !is_pattern && !exists {
                found.push(quoted.to_owned());
            }
        }
    }
    found
}

#[test]
fn documents_point_at_what_exists() {
    let planted = "# A heading\n[here](#a-heading) [file](README.md) [site](https://example.org/) `docs/reference/fix.md` `scripts/*`\n\
                   ```\n[in code](absent.md)\n```\n[gone](docs/absent.md) [gone](README.md#absent) [gone](#absent)\n\
                   `scripts/absent` `absent.csv`\n";
    let expected = ["docs/absent.md", "README.md#absent", "#absent", "scripts/absent", "absent.csv"];
    assert_eq!(broken(repository(), planted), expected);

    let documents = documents();
    assert!(documents.len() > 20, "only {} documents are found", documents.len());
    for path in documents {
        let folder = path.parent().expect("a document is in a folder");
        let found = broken(folder, &read(&path));
        assert!(found.is_empty(), "{} points at nothing: {}", path.display(), found.join(", "));
    }
}
