//! What is on another machine, by curl(1): URL → file, within bounds of size and of time.
//!
//! curl is a program of its own: it knows proxies, certificates and retries, and brings no second TLS into this one. What it is
//! asked for goes to its standard input, since everybody may read a command line, and a URL may hold a password. Whatever a
//! server does, curl ends: it is told so, and watched besides, as older versions do not count what comes without a stated length.

use crate::output::temporary::TemporaryFile;
use crate::percent::encoded;
use deburr_archive::Fetch;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Bytes of a package whose size no index states.
const UNSTATED: u64 = 4 << 30;
/// A transfer that is slower for [`STALLED`] is given up, and tried again.
const SLOWEST: u64 = 1 << 10;
/// How long it may be so slow.
const STALLED: Duration = Duration::from_secs(30);
/// What a whole transfer may take: some time, and as long as its bytes take at this speed.
const PATIENCE: Duration = Duration::from_secs(120);
const SLOW: u64 = 64 << 10;
/// How long a server may put off, by `Retry-After` and by failing.
const PUT_OFF: Duration = Duration::from_secs(60);
/// Between two looks at a transfer.
const PAUSE: Duration = Duration::from_millis(10);

/// Whether a text is a URL that curl is asked for.
pub(crate) fn is_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
}

/// A URL as it may be shown and kept: without the name and password before its host (RFC 3986, 3.2.1).
pub(crate) fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|_| is_url(url)) else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{path}"),
        None => url.to_owned(),
    }
}

/// An archive on another machine.
pub(crate) struct Curl {
    root: String,
    scratch: PathBuf,
}

impl Curl {
    /// `scratch`: where files lie until they are read.
    pub(crate) fn new(root: &str, scratch: &Path) -> Curl {
        Curl { root: root.to_owned(), scratch: scratch.to_owned() }
    }

    /// The URL of a path below a root.
    pub(crate) fn url(root: &str, path: &str) -> String {
        format!("{}/{}", root.trim_end_matches('/'), encoded(path, "-._~/=,@"))
    }
}

impl Fetch for Curl {
    fn read(&self, path: &str, headers: &[(&str, &str)], most: u64) -> io::Result<Box<dyn Read + '_>> {
        let url = if is_url(path) { path.to_owned() } else { Curl::url(&self.root, path) };
        let wanted = Wanted { url: &url, headers, most };
        Ok(Box::new(Fetched { file: fetch(&wanted, &self.scratch)? }))
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

/// What is wanted of a server.
pub(crate) struct Wanted<'u> {
    url: &'u str,
    headers: &'u [(&'u str, &'u str)],
    /// Bytes that it has at most.
    most: u64,
}

impl<'u> Wanted<'u> {
    /// A package, of so many bytes where an index states it.
    pub(crate) fn package(url: &'u str, size: u64) -> Wanted<'u> {
        Wanted { url, headers: &[], most: if size == 0 { UNSTATED } else { size } }
    }

    /// What a whole transfer may take.
    fn patience(&self) -> Duration {
        PATIENCE + Duration::from_secs(self.most / SLOW)
    }

    /// The lines that curl reads.
    fn config(&self) -> String {
        // A place that is reached safely leads to no other.
        let onward = if self.url.starts_with("https://") { "=https" } else { "=http,https" };
        let mut lines = vec![
            ("url", self.url.to_owned()),
            ("proto", "=http,https".to_owned()),
            ("proto-redir", onward.to_owned()),
            ("max-redirs", "10".to_owned()),
            ("connect-timeout", "30".to_owned()),
            ("max-filesize", self.most.to_string()),
            ("max-time", self.patience().as_secs().to_string()),
            ("speed-limit", SLOWEST.to_string()),
            ("speed-time", STALLED.as_secs().to_string()),
            ("retry", "3".to_owned()),
            ("retry-max-time", PUT_OFF.as_secs().to_string()),
            ("write-out", "%{http_code}".to_owned()),
        ];
        lines.extend(self.headers.iter().map(|(name, value)| ("header", format!("{name}: {value}"))));
        lines.into_iter().map(|(option, value)| format!("{option} = \"{}\"\n", quoted(&value))).collect()
    }
}

/// A value as curl(1), `--config`, reads it in quotes.
fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r")
}

/// Fetches a URL into a file of that folder, which goes away with what is returned.
///
/// # Errors
/// `NotFound` where the server says so; otherwise what curl says, or which bound was met.
pub(crate) fn fetch(wanted: &Wanted<'_>, scratch: &Path) -> io::Result<TemporaryFile> {
    std::fs::create_dir_all(scratch)?;
    let file = TemporaryFile::next_to(&scratch.join("fetched"), 0o600)?;
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--silent", "--show-error", "--netrc-optional", "--config", "-"]);
    curl.arg("--output").arg(file.path());
    let curl = curl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut curl = curl.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::other("no curl on PATH, which fetches what is on another machine")
        }
        _ => error,
    })?;
    if let Some(mut input) = curl.stdin.take() {
        // Where it has ended already, it says why.
        let _ = input.write_all(wanted.config().as_bytes());
    }
    let output = watched(curl, wanted, &file)?;
    if output.status.success() {
        return Ok(file);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = deburr_text::one_line(said.lines().last().unwrap_or("curl failed").trim()).into_owned();
    match output.stdout.get(output.stdout.len().saturating_sub(3)..) {
        Some(b"404" | b"410") => Err(io::Error::new(io::ErrorKind::NotFound, said)),
        Some(b"429") => Err(io::Error::other(format!("429, too many requests, for now: {said}"))),
        _ => Err(io::Error::other(said)),
    }
}

/// Waits for the end of curl, which meets its bounds.
fn watched(mut curl: Child, wanted: &Wanted<'_>, file: &TemporaryFile) -> io::Result<Output> {
    // With its retries.
    let until = Instant::now() + wanted.patience() * 2 + PUT_OFF;
    while curl.try_wait()?.is_none() {
        let bytes = file.file.metadata()?.len();
        let bound = if bytes > wanted.most {
            format!("it has more than {} bytes, and should not", wanted.most)
        } else if Instant::now() > until {
            format!("it did not come within {} seconds", (wanted.patience() * 2 + PUT_OFF).as_secs())
        } else {
            std::thread::sleep(PAUSE);
            continue;
        };
        // It may have ended meanwhile.
        let _ = curl.kill();
        curl.wait()?;
        return Err(io::Error::other(bound));
    }
    curl.wait_with_output()
}

/// Fetches several at a time, in their order.
pub(crate) fn fetch_all(wanted: &[Wanted<'_>], scratch: &Path) -> Vec<Result<TemporaryFile, String>> {
    /// Connections at a time, which servers of packages bear from one client.
    const AT_A_TIME: usize = 4;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(wanted) = wanted.get(at) else { return done };
            done.push((at, fetch(wanted, scratch).map_err(|error| error.to_string())));
        }
    };
    let mut done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_A_TIME.min(wanted.len())).map(|_| scope.spawn(work)).collect();
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

    #[test]
    fn credentials_are_not_shown() {
        for (url, shown) in [
            ("https://me:secret@host/a@b", "https://***@host/a@b"),
            ("https://to@ken@host:8080", "https://***@host:8080"),
            ("http://host/a@b", "http://host/a@b"),
            ("http://host?a@b", "http://host?a@b"),
            ("/folder/a://b@c", "/folder/a://b@c"),
        ] {
            assert_eq!(without_credentials(url), shown);
        }
    }

    #[test]
    fn what_curl_reads_cannot_become_another_option() {
        let headers = [("Accept", "a\"\noutput = \"/etc/passwd")];
        let wanted = Wanted { url: "https://host/\\\"\r\nurl = \"file:///", headers: &headers, most: 1 };
        let config = wanted.config();
        let lines: Vec<&str> = config.lines().collect();
        assert_eq!(lines.iter().filter(|line| line.starts_with("url")).count(), 1, "{config}");
        assert!(!config.contains("\noutput"), "{config}");
        assert!(config.contains("proto-redir = \"=https\"\n"), "a safe place leads to no other");
        assert!(lines.iter().all(|line| line.ends_with('"')), "{config}");
    }
}
