//! What is on another machine, by curl(1): URL → file.
//!
//! curl is a program of its own: it knows proxies, certificates and retries, and brings no second TLS into this one.

use crate::output::temporary::TemporaryFile;
use crate::percent::encoded;
use deburr_archive::Fetch;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether a text is a URL that curl is asked for.
pub(super) fn is_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
}

/// An archive on another machine.
pub(super) struct Curl {
    root: String,
    scratch: PathBuf,
}

impl Curl {
    /// `scratch`: where files lie until they are read.
    pub(super) fn new(root: &str, scratch: &Path) -> Curl {
        Curl { root: root.to_owned(), scratch: scratch.to_owned() }
    }

    /// The URL of a path below a root.
    pub(super) fn url(root: &str, path: &str) -> String {
        format!("{}/{}", root.trim_end_matches('/'), encoded(path, "-._~/=,@"))
    }
}

impl Fetch for Curl {
    fn read(&self, path: &str, headers: &[(&str, &str)]) -> io::Result<Box<dyn Read + '_>> {
        let url = if is_url(path) { path.to_owned() } else { Curl::url(&self.root, path) };
        Ok(Box::new(Fetched { file: fetch(&url, headers, &self.scratch)? }))
    }
}

/// A file that goes away once it is read.
struct Fetched {
    file: TemporaryFile,
}

impl Read for Fetched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.file.file.read(into)
    }
}

/// Fetches a URL into a file of that folder, which goes away with what is returned.
///
/// # Errors
/// `NotFound` where the server says so; otherwise what curl says.
pub(super) fn fetch(url: &str, headers: &[(&str, &str)], scratch: &Path) -> io::Result<TemporaryFile> {
    std::fs::create_dir_all(scratch)?;
    let file = TemporaryFile::next_to(&scratch.join("fetched"), 0o600)?;
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--silent", "--show-error", "--proto", "=http,https"]);
    // A server that sends nothing for a minute is not waited for; what fails for a moment is tried again.
    curl.args(["--connect-timeout", "30", "--speed-limit", "1", "--speed-time", "60", "--retry", "3"]);
    curl.args(["--write-out", "%{http_code}", "--output"]).arg(file.path());
    for (name, value) in headers {
        curl.arg("--header").arg(format!("{name}: {value}"));
    }
    let output =
        curl.arg("--").arg(url).stdin(Stdio::null()).output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                io::Error::other("no curl on PATH, which fetches what is on another machine")
            }
            _ => error,
        })?;
    if output.status.success() {
        return Ok(file);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().last().unwrap_or("curl failed").trim();
    match output.stdout.as_slice() {
        b"404" | b"410" => Err(io::Error::new(io::ErrorKind::NotFound, said.to_owned())),
        _ => Err(io::Error::other(said.to_owned())),
    }
}

/// Fetches several at a time, in their order.
pub(super) fn fetch_all(urls: &[&str], scratch: &Path) -> Vec<Result<TemporaryFile, String>> {
    /// Connections at a time, which servers of packages bear from one client.
    const AT_A_TIME: usize = 4;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(url) = urls.get(at) else { return done };
            done.push((at, fetch(url, &[], scratch).map_err(|error| error.to_string())));
        }
    };
    let mut done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_A_TIME.min(urls.len())).map(|_| scope.spawn(work)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, fetched)| fetched).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_spelt_for_a_url() {
        let url = |path| Curl::url("https://deb.debian.org/debian/", path);
        assert_eq!(
            url("pool/main/g/g++/g++_1~rc1_arm64.deb"),
            "https://deb.debian.org/debian/pool/main/g/g%2B%2B/g%2B%2B_1~rc1_arm64.deb"
        );
        // A file whose own name has a percent sign, as those with an epoch have in some archives.
        assert_eq!(url("a_1%3a2.deb"), "https://deb.debian.org/debian/a_1%253a2.deb");
        assert_eq!(url("a b?c#d\u{e4}"), "https://deb.debian.org/debian/a%20b%3Fc%23d%C3%A4");
        assert!(is_url("http://x/") && !is_url("/http://x/") && !is_url("ftp://x/"));
    }
}
