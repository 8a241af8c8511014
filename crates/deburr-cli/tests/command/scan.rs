//! `deburr scan`: the rows of a check, each item once, whatever ends or changes meanwhile.

use super::packages::{gzip, objects, tar};
use super::{Scratch, deburr, schema_faults, stderr, stdout};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Packages that have the fixtures' objects among them.
fn packages_of_objects(count: usize) -> Vec<Vec<u8>> {
    let objects = objects();
    let some = |number| objects.iter().skip(number).step_by(count).cloned().collect::<Vec<_>>();
    (0..count).map(|number| gzip(&tar(&some(number)))).collect()
}

/// An archive: packages of the fixtures' objects, a container of them, files of their own, and what is no binary.
fn archive(scratch: &Scratch, packages: usize) -> PathBuf {
    for (number, bytes) in packages_of_objects(packages).iter().enumerate() {
        scratch.file(&format!("archive/pool/{}/p{number}.tgz", number % 3), bytes);
    }
    for (name, bytes) in objects().iter().take(5) {
        scratch.file(&format!("archive/{name}"), bytes);
    }
    scratch.file("archive/README", b"words");
    scratch.join("archive")
}

fn scanning(archive: &Path, tables: &Path) -> Command {
    let mut command = Command::new(super::program());
    command.arg("scan").arg("--tables").arg(tables).arg(archive).stdin(Stdio::null());
    command
}

/// What a scan says of itself.
fn scan(archive: &Path, tables: &Path, options: &[&str]) -> (Value, Output) {
    let output = scanning(archive, tables).args(["--format", "json"]).args(options).output().unwrap();
    let summary: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let schema: Value = serde_json::from_slice(&deburr(&["schema", "scan"]).stdout).unwrap();
    assert!(schema_faults(&schema, &summary).is_empty(), "{:?}", schema_faults(&schema, &summary));
    (summary, output)
}

/// The rows of a table, without the moment of the run, sorted.
fn rows(tables: &Path, table: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(tables.join(table)).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.extension().and_then(|it| it.to_str()), Some("parquet"), "{}", path.display());
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let cells = row.get_column_iter().filter(|(name, _)| *name != "run");
            rows.push(cells.map(|(name, cell)| format!("{name}={cell}\n")).collect());
        }
    }
    rows.sort();
    rows
}

const TABLES: [&str; 4] = ["artefacts", "files", "functions", "findings"];

fn all_rows(tables: &Path) -> Vec<Vec<String>> {
    TABLES.iter().map(|table| rows(tables, table)).collect()
}

/// The files below a folder but the cache.
fn files(folder: &Path) -> Vec<String> {
    let found = Command::new("find").arg(folder).args(["-type", "f", "-printf", "%P\n"]).output().unwrap();
    let mut names: Vec<String> = stdout(&found).lines().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn rows_are_those_of_a_check() {
    let scratch = Scratch::new("scan-rows");
    let archive = archive(&scratch, 7);
    let listed = files(&archive);
    let (scanned, checked) = (scratch.join("scanned"), scratch.join("checked"));
    let (summary, output) = scan(&archive, &scanned, &["-j", "2", "--baseline", "x86-64-v1"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert_eq!(
        (&summary["items"], &summary["checked"], &summary["kept"]),
        (&12.into(), &12.into(), &0.into())
    );
    let mut check = Command::new(super::program());
    check.args(["check", "--no-debug-files", "--fail-on=never", "--baseline", "x86-64-v1"]);
    check.arg(format!("--format=parquet={}", checked.display()));
    let checks =
        check.args(listed.iter().filter(|path| *path != "README")).current_dir(&archive).output().unwrap();
    assert_eq!(checks.status.code(), Some(0), "{}", stderr(&checks));
    for table in TABLES {
        let own = rows(&scanned, table);
        assert!(own.len() >= 12, "{table}: {} rows", own.len());
        assert_eq!(own, rows(&checked, table), "{table}");
    }
}

#[test]
fn what_has_not_changed_is_not_checked_again() {
    let scratch = Scratch::new("scan-again");
    let (archive, tables) = (archive(&scratch, 5), scratch.join("tables"));
    let counts = |summary: &Value| (summary["kept"].as_u64().unwrap(), summary["checked"].as_u64().unwrap());
    let (first, _) = scan(&archive, &tables, &[]);
    assert_eq!(counts(&first), (0, 10));
    let (second, _) = scan(&archive, &tables, &[]);
    assert_eq!((counts(&second), &second["shard"]), ((10, 0), &first["shard"]));
    // Other options are other rows.
    let (third, _) = scan(&archive, &tables, &["--baseline", "x86-64-v1"]);
    assert_eq!(counts(&third), (0, 10));
    // One changes, one goes, one comes.
    fs::copy(archive.join("pool/0/p0.tgz"), archive.join("pool/1/p1.tgz")).unwrap();
    fs::rename(archive.join("pool/2/p2.tgz"), archive.join("pool/2/p9.tgz")).unwrap();
    let (fourth, _) = scan(&archive, &tables, &[]);
    assert_eq!(counts(&fourth), (8, 2));
    // Another machine with the same cache, where all files are elsewhere and of another time.
    let (other, cache) = (scratch.join("other"), tables.join("cache").display().to_string());
    assert!(Command::new("cp").arg("-r").args([&archive, &other]).status().unwrap().success());
    let (there, _) = scan(&other, &scratch.join("there"), &["--cache", &cache]);
    assert_eq!((counts(&there), &there["shard"]), ((10, 0), &fourth["shard"]));
}

#[test]
fn parts_together_are_the_whole() {
    let scratch = Scratch::new("scan-parts");
    let (archive, whole, parts) = (archive(&scratch, 11), scratch.join("whole"), scratch.join("parts"));
    scan(&archive, &whole, &[]);
    for number in [2, 1, 3] {
        let (summary, _) =
            scan(&archive, &parts, &["--shard", &format!("{number}/3"), "--run", "1700000000"]);
        assert_eq!(summary["run"], 1_700_000_000.0);
    }
    assert_eq!(all_rows(&parts), all_rows(&whole));
    // The same part again, and with other rows: it replaces what it was.
    scan(&archive, &parts, &["--shard", "2/3", "--run", "1700000000"]);
    assert_eq!(all_rows(&parts), all_rows(&whole));
    fs::remove_dir_all(archive.join("pool")).unwrap();
    for number in 1..=3 {
        scan(&archive, &parts, &["--shard", &format!("{number}/3"), "--run", "1700000000"]);
    }
    assert_eq!(rows(&parts, "artefacts").len(), 5);
    let other = scanning(&archive, &parts).args(["--shard", "1/2", "--run", "1700000000"]).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("was begun in 3 parts, and not in 2"), "{}", stderr(&other));
    assert_eq!(rows(&parts, "artefacts").len(), 5, "nothing is there twice");
    let without = scanning(&archive, &parts).args(["--shard", "1/3"]).output().unwrap();
    assert_eq!(without.status.code(), Some(2));
    assert!(stderr(&without).contains("--run <SECONDS>"), "{}", stderr(&without));
}

#[test]
fn a_killed_scan_goes_on_and_has_left_no_part() {
    let scratch = Scratch::new("scan-killed");
    let (archive, whole, tables) = (archive(&scratch, 40), scratch.join("whole"), scratch.join("tables"));
    let (clean, _) = scan(&archive, &whole, &["-j", "1"]);
    let seconds = clean["elapsed_seconds"].as_f64().unwrap();
    // Moments from the start to a little after the end of a whole scan, in an order without a system.
    for moment in (0..20).map(|number| f64::from(number * 7 % 20) / 18.0) {
        let mut child = scanning(&archive, &tables).args(["-j", "1"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs_f64(seconds * moment));
        let _ = child.kill();
        child.wait().unwrap();
        if moment < 0.5 {
            let _ = fs::remove_dir_all(tables.join("cache/rows/0a"));
        }
        for table in TABLES {
            let named = fs::read_dir(tables.join(table)).into_iter().flatten();
            let named = named
                .filter(|entry| !entry.as_ref().unwrap().file_name().as_encoded_bytes().starts_with(b"."));
            assert!(named.count() <= 1, "{table}: no more than the one shard");
        }
    }
    let (last, _) = scan(&archive, &tables, &[]);
    assert_eq!(last["shard"], clean["shard"]);
    assert_eq!(all_rows(&tables), all_rows(&whole));
    let left: Vec<String> = files(&tables).into_iter().filter(|name| name.contains(".deburr-")).collect();
    assert_eq!(left, [""; 0], "what the killed ones had begun");
}

#[test]
fn a_broken_package_stops_nothing() {
    let scratch = Scratch::new("scan-broken");
    let (archive, tables) = (archive(&scratch, 6), scratch.join("tables"));
    let package = archive.join("pool/0/p3.tgz");
    let whole = fs::read(&package).unwrap();
    fs::write(&package, &whole[..whole.len() / 2]).unwrap();
    for _ in 0..2 {
        let (summary, output) = scan(&archive, &tables, &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("deburr: pool/0/p3.tgz!"), "{}", stderr(&output));
        assert!(summary["failures"][0]["reason"].as_str().unwrap().contains("gzip: cut off"));
        assert!(rows(&tables, "files").iter().any(|row| row.contains("gzip: cut off")));
        assert_eq!(rows(&tables, "artefacts").len(), 11, "all the others");
    }
    fs::write(&package, &whole).unwrap();
    let (mended, output) = scan(&archive, &tables, &[]);
    assert_eq!((output.status.code(), &mended["checked"]), (Some(0), &1.into()));
    let (clean, _) = scan(&archive, &scratch.join("clean"), &[]);
    assert_eq!(mended["shard"], clean["shard"]);
}

#[test]
fn a_package_that_grows_while_it_is_read_leaves_no_rows_of_a_mixture() {
    let scratch = Scratch::new("scan-growing");
    let (archive, tables) = (archive(&scratch, 4), scratch.join("tables"));
    let (clean, _) = scan(&archive, &scratch.join("clean"), &[]);
    let package = archive.join("pool/1/p1.tgz");
    let whole = fs::read(&package).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let mut file = OpenOptions::new().append(true).open(&package).unwrap();
                file.write_all(&whole[..512]).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for _ in 0..5 {
            let output = scanning(&archive, &tables).output().unwrap();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    fs::write(&package, &whole).unwrap();
    let (after, _) = scan(&archive, &tables, &[]);
    assert_eq!(after["shard"], clean["shard"]);
    assert_eq!(after["failures"], Value::Array(Vec::new()));
}

#[test]
fn a_change_under_the_same_times_is_seen_where_the_clock_cannot_vouch() {
    let scratch = Scratch::new("scan-clock");
    let (archive, tables) = (archive(&scratch, 2), scratch.join("tables"));
    let (one, other) = (archive.join("pool/0/p0.tgz"), fs::read(archive.join("pool/1/p1.tgz")).unwrap());
    let touch = |when: &str| Command::new("touch").args(["-d", when]).arg(&one).status().unwrap();
    // A clock that was too early, and one that was too late.
    for when in ["2100-01-01", "1971-01-01"] {
        assert!(touch(when).success());
        scan(&archive, &tables, &[]);
        // As long as before, with the same time of modification: only the inode's own time and the content differ.
        let mut bytes = other.clone();
        bytes.resize(fs::metadata(&one).unwrap().len() as usize, 0);
        fs::write(&one, &bytes).unwrap();
        assert!(touch(when).success());
        let (seen, _) = scan(&archive, &tables, &[]);
        let (fresh, _) = scan(&archive, &scratch.join(when), &[]);
        assert_eq!(seen["shard"], fresh["shard"], "{when}");
    }
}

#[test]
fn two_scans_into_one_directory_are_one() {
    let scratch = Scratch::new("scan-two");
    let (archive, tables) = (archive(&scratch, 12), scratch.join("tables"));
    let (clean, _) = scan(&archive, &scratch.join("clean"), &[]);
    let start =
        || scanning(&archive, &tables).args(["--format", "json"]).stdout(Stdio::piped()).spawn().unwrap();
    let outputs = [start(), start(), start()].map(|child| child.wait_with_output().unwrap());
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["shard"], clean["shard"]);
    }
    assert_eq!(all_rows(&tables), all_rows(&scratch.join("clean")));
}

#[test]
fn a_full_disk_leaves_no_shard_and_the_next_scan_goes_on() {
    let scratch = Scratch::new("scan-full");
    let archive = archive(&scratch, 30);
    let (tables, cache) = (scratch.join("tables"), scratch.join("cache"));
    for folder in [&tables, &cache] {
        fs::create_dir(folder).unwrap();
    }
    let (clean, _) = scan(&archive, &scratch.join("clean"), &[]);
    for full in [&tables, &cache] {
        // A file system of its own, as small as it gets, that only this run sees; then there is room.
        let script = format!(
            "mount -t tmpfs -o size=48k none '{full}' && '{deburr}' scan --tables '{tables}' --cache '{cache}' '{archive}'; \
             status=$?; find '{tables}' -type f; \
             mount -o remount,size=64m '{full}' && '{deburr}' scan --format json --tables '{tables}' --cache '{cache}' '{archive}' >&2; \
             exit $status",
            full = full.display(),
            deburr = super::program(),
            tables = tables.display(),
            cache = cache.display(),
            archive = archive.display(),
        );
        let mut alone = Command::new("unshare");
        alone.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        let output = alone.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(": no space left on device"), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "neither under its name nor under another");
        let shard = clean["shard"].as_str().unwrap();
        assert!(stderr(&output).contains(&format!("\"shard\":\"{shard}\"")), "{}", stderr(&output));
    }
}

#[test]
fn an_archive_that_is_not_there_is_an_error() {
    let scratch = Scratch::new("scan-missing");
    let output = scanning(&scratch.join("missing"), &scratch.join("tables")).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("missing: no such file or directory"), "{}", stderr(&output));
    assert_eq!(files(scratch.path()), [""; 0], "no table of nothing");
}

/// A Debian archive of packages, with the index as its tools write it.
fn debian(scratch: &Scratch, packages: usize) -> PathBuf {
    let mut index = String::new();
    for (number, bytes) in packages_of_objects(packages).into_iter().enumerate() {
        let path = format!("pool/p{number}_1%3a2_arm64.deb");
        let (size, sha256) = (bytes.len(), sha256(&bytes));
        scratch.file(&format!("debian/{path}"), &bytes);
        let architecture = if number == 0 { "all" } else { "arm64" };
        index += &format!(
            "Package: p{number}\nVersion: 1:2\nArchitecture: {architecture}\nFilename: {path}\nSize: {size}\nSHA256: {sha256}\n\n"
        );
    }
    let folder = "debian/dists/stable";
    scratch.file(&format!("{folder}/main/binary-arm64/Packages"), index.as_bytes());
    let (size, sha256) = (index.len(), sha256(index.as_bytes()));
    let release = format!(
        "Suite: stable\nComponents: main\nArchitectures: arm64\nSHA256:\n {sha256} {size} main/binary-arm64/Packages\n"
    );
    scratch.file(&format!("{folder}/Release"), release.as_bytes());
    scratch.join("debian")
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Serves a folder to those who ask until the process ends; what has `cut` in its path is cut off. Returns the URL.
fn serve(folder: PathBuf, cut: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (folder, mut stream) = (folder.clone(), stream.unwrap());
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let length = std::io::Read::read(&mut stream, &mut request).unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or("/").replace("%25", "%");
                let answer = match fs::read(folder.join(path.trim_start_matches('/'))) {
                    Ok(bytes) => {
                        let mut answer = format!(
                            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                            bytes.len()
                        )
                        .into_bytes();
                        answer.extend(if path.contains(cut) { &bytes[..bytes.len() / 2] } else { &bytes });
                        answer
                    }
                    Err(_) => {
                        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
                    }
                };
                let _ = stream.write_all(&answer);
            });
        }
    });
    url
}

#[test]
fn an_archive_with_an_index_is_the_same_here_and_there() {
    let scratch = Scratch::new("scan-indexed");
    let archive = debian(&scratch, 9);
    scratch.file("debian/pool/not-in-the-index.deb", &gzip(&tar(&objects())));
    let selected = ["--suite", "stable", "--architecture", "aarch64"];
    let (here, output) = scan(&archive, &scratch.join("here"), &selected);
    assert_eq!((output.status.code(), &here["checked"]), (Some(0), &8.into()), "{}", stderr(&output));
    let url = serve(archive.clone(), "\0");
    let (there, output) = scan(Path::new(&url), &scratch.join("there"), &selected);
    assert_eq!((output.status.code(), &there["shard"]), (Some(0), &here["shard"]), "{}", stderr(&output));
    let (again, _) = scan(Path::new(&url), &scratch.join("there"), &selected);
    assert_eq!((&again["kept"], &again["bytes_checked"]), (&8.into(), &0.into()), "nothing is fetched");
    let with_all = [&selected[..], &["--architecture", "all"]].concat();
    assert_eq!(scan(&archive, &scratch.join("with-all"), &with_all).0["items"], 9);
    assert_eq!(
        fs::read_dir(scratch.join("there/cache/downloads")).unwrap().count(),
        0,
        "what was fetched has gone"
    );
    let (one, _) = scan(&archive, &scratch.join("one"), &["--suite", "stable", "--package", "p3"]);
    assert_eq!(one["items"], 1);
    let (all, _) = scan(&archive, &scratch.join("all"), &["--no-index"]);
    assert_eq!(all["items"], 10);
}

#[test]
fn an_index_that_is_not_whole_is_an_error_and_a_package_that_is_not_a_failure() {
    let scratch = Scratch::new("scan-index-cut");
    let archive = debian(&scratch, 5);
    let selected = ["--suite", "stable"];
    fs::write(archive.join("pool/p2_1%3a2_arm64.deb"), gzip(&tar(&objects()))).unwrap();
    fs::remove_file(archive.join("pool/p3_1%3a2_arm64.deb")).unwrap();
    let (summary, output) = scan(&archive, &scratch.join("tables"), &selected);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(summary["checked"], 3, "what failed is not checked: {summary}");
    let reasons: Vec<&str> =
        summary["failures"].as_array().unwrap().iter().map(|it| it["reason"].as_str().unwrap()).collect();
    assert_eq!(
        reasons,
        ["its bytes are not those of the index: the SHA-256 is another", "no such file or directory"]
    );
    assert_eq!(rows(&scratch.join("tables"), "artefacts").len(), 3);
    // A server that goes away within a package.
    let url = serve(archive.clone(), "p4_");
    let (summary, output) = scan(Path::new(&url), &scratch.join("there"), &selected);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(summary["failures"].as_array().unwrap().len(), 3, "{summary}");
    assert!(summary["failures"][2]["reason"].as_str().unwrap().contains("curl: ("), "{summary}");
    let index = archive.join("dists/stable/main/binary-arm64/Packages");
    let whole = fs::read(&index).unwrap();
    for length in [0, whole.len() / 2, whole.len() - 1] {
        fs::write(&index, &whole[..length]).unwrap();
        let output = scanning(&archive, &scratch.join("none")).args(selected).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{length}: {}", stderr(&output));
        assert!(stderr(&output).contains("Packages"), "{}", stderr(&output));
    }
    for table in TABLES {
        assert!(!scratch.join("none").join(table).exists(), "no table of a part");
    }
    let output = scanning(&archive, &scratch.join("none")).args(["--suite", "unheard-of"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output =
        scanning(&scratch.join("debian/pool"), &scratch.join("none")).args(selected).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no index of packages"), "{}", stderr(&output));
}

/// How a server behaves that is asked for the package `p3`.
#[derive(Clone, Copy, PartialEq)]
enum Conduct {
    /// It puts off, for so many seconds.
    PutOff(u32),
    /// It sends without an end and without a length.
    Endless,
    /// It says that it has far more than there is.
    Longer,
    /// It sends the client elsewhere.
    Redirects(&'static str),
    /// It sends the client to where it is.
    GoesRound,
    /// It serves what there is, to those alone that have a password.
    Secret,
}

/// Serves a folder as such a server does. Returns its address, and what was asked for.
fn serve_as(folder: PathBuf, conduct: Conduct) -> (String, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = std::sync::Arc::<std::sync::Mutex<Vec<String>>>::default();
    let log = std::sync::Arc::clone(&asked);
    let answer = move |request: &str, stream: &mut std::net::TcpStream| -> std::io::Result<()> {
        let path = request.split(' ').nth(1).unwrap_or("/").replace("%25", "%");
        log.lock().unwrap().push(path.clone());
        let is_meant = path.contains("pool/p3");
        let head = |status: &str, more: &str| format!("HTTP/1.1 {status}\r\nConnection: close\r\n{more}\r\n");
        let redirect = |stream: &mut std::net::TcpStream, to: &str| {
            let more = format!("Location: {to}\r\nContent-Length: 0\r\n");
            stream.write_all(head("302 Found", &more).as_bytes())
        };
        // `me:secret`, in base 64 (RFC 7617).
        if conduct == Conduct::Secret && !request.contains("Authorization: Basic bWU6c2VjcmV0") {
            return stream.write_all(head("401 Unauthorized", "Content-Length: 0\r\n").as_bytes());
        }
        let Ok(bytes) = fs::read(folder.join(path.trim_start_matches('/'))) else {
            return stream.write_all(head("404 Not Found", "Content-Length: 0\r\n").as_bytes());
        };
        match conduct {
            Conduct::PutOff(seconds) if is_meant => {
                let more = format!("Retry-After: {seconds}\r\nContent-Length: 0\r\n");
                stream.write_all(head("429 Too Many Requests", &more).as_bytes())
            }
            Conduct::Endless if is_meant => {
                stream.write_all(head("200 OK", "").as_bytes())?;
                // As much as fits on no disk of a test: whoever does not stop this fails.
                (0..1 << 20).try_for_each(|_| stream.write_all(&[0; 1 << 16]))
            }
            Conduct::Longer if is_meant => {
                stream.write_all(head("200 OK", "Content-Length: 1000000000000\r\n").as_bytes())
            }
            Conduct::Redirects(to) if is_meant => redirect(stream, to),
            Conduct::GoesRound if is_meant => redirect(stream, &path.replace('%', "%25")),
            _ => {
                let more = format!("Content-Length: {}\r\n", bytes.len());
                stream.write_all(head("200 OK", &more).as_bytes())?;
                stream.write_all(&bytes)
            }
        }
    };
    std::thread::spawn(move || {
        let answer = std::sync::Arc::new(answer);
        for stream in listener.incoming() {
            let (answer, mut stream) = (std::sync::Arc::clone(&answer), stream.unwrap());
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let length = std::io::Read::read(&mut stream, &mut request).unwrap_or(0);
                // A client that goes away is no fault of a server.
                let _ = answer(&String::from_utf8_lossy(&request[..length]), &mut stream);
            });
        }
    });
    (address, asked)
}

/// An RPM repository of packages, as createrepo_c(8) writes its index.
fn rpm_repository(scratch: &Scratch, packages: usize) -> PathBuf {
    let mut primary =
        format!("<metadata xmlns=\"http://linux.duke.edu/metadata/common\" packages=\"{packages}\">");
    for (number, bytes) in packages_of_objects(packages).into_iter().enumerate() {
        let path = format!("pool/p{number}-1-1.aarch64.rpm");
        scratch.file(&format!("rpm/{path}"), &bytes);
        primary += &format!(
            "<package type=\"rpm\"><name>p{number}</name><arch>aarch64</arch><version epoch=\"0\" ver=\"1\" rel=\"1\"/>\
             <checksum type=\"sha256\" pkgid=\"YES\">{}</checksum><size package=\"{}\"/><location href=\"{path}\"/></package>",
            sha256(&bytes),
            bytes.len()
        );
    }
    primary += "</metadata>";
    scratch.file("rpm/repodata/primary.xml", primary.as_bytes());
    let repomd = format!(
        "<repomd><data type=\"primary\"><checksum type=\"sha256\">{}</checksum>\
         <location href=\"repodata/primary.xml\"/><size>{}</size></data></repomd>",
        sha256(primary.as_bytes()),
        primary.len()
    );
    scratch.file("rpm/repodata/repomd.xml", repomd.as_bytes());
    scratch.join("rpm")
}

/// A simple index of Python with a wheel for each project (PEP 691).
fn python_index(scratch: &Scratch, packages: usize) -> PathBuf {
    for (number, bytes) in packages_of_objects(packages).into_iter().enumerate() {
        let name = format!("p{number}-1-py3-none-manylinux_2_17_aarch64.whl");
        scratch.file(&format!("python/pool/{name}"), &bytes);
        let page = serde_json::json!({
            "meta": {"api-version": "1.1"},
            "name": format!("p{number}"),
            "files": [{
                "filename": name, "url": format!("../../pool/{name}"),
                "hashes": {"sha256": sha256(&bytes)}, "size": bytes.len(),
            }],
        });
        scratch.file(&format!("python/simple/p{number}/index.html"), page.to_string().as_bytes());
    }
    scratch.join("python")
}

const OF_DEBIAN: [&str; 2] = ["--suite", "stable"];
const OF_PYTHON: [&str; 10] =
    ["--package", "p0", "--package", "p1", "--package", "p2", "--package", "p3", "--package", "p4"];

#[test]
fn a_hostile_server_costs_one_package_and_says_why() {
    let scratch = Scratch::new("scan-hostile");
    let archives = [
        (debian(&scratch, 5), OF_DEBIAN.as_slice()),
        (rpm_repository(&scratch, 5), &[]),
        (python_index(&scratch, 5), OF_PYTHON.as_slice()),
    ];
    let conducts = [
        (Conduct::PutOff(3600), "429, too many requests"),
        (Conduct::Endless, "bytes, and should not"),
        (Conduct::Longer, "maximum"),
        (Conduct::Redirects("file:///etc/passwd"), "not supported"),
        (Conduct::Redirects("ftp://127.0.0.1/x"), "not supported"),
        (Conduct::GoesRound, "redirects"),
    ];
    for (kind, (archive, selected)) in archives.iter().enumerate() {
        for (number, &(conduct, reason)) in conducts.iter().enumerate() {
            let (address, asked) = serve_as(archive.clone(), conduct);
            let url = format!("http://{address}");
            let tables = scratch.join(format!("tables-{kind}-{number}"));
            let (summary, output) = scan(Path::new(&url), &tables, selected);
            let what = format!("{}, {reason}", archive.display());
            assert_eq!(output.status.code(), Some(1), "{what}: {}", stderr(&output));
            let failures = summary["failures"].as_array().unwrap();
            assert_eq!((failures.len(), &summary["checked"]), (1, &4.into()), "{what}: {summary}");
            let said = failures[0]["reason"].as_str().unwrap();
            assert!(said.to_lowercase().contains(reason), "{what}: {said}");
            assert_eq!(fs::read_dir(tables.join("cache/downloads")).unwrap().count(), 0, "{what}");
            if number == 0 {
                // The next scan begins with what failed, and fetches nothing else.
                asked.lock().unwrap().clear();
                scan(Path::new(&url), &tables, selected);
                let packages: Vec<String> =
                    asked.lock().unwrap().iter().filter(|path| path.contains("/pool/")).cloned().collect();
                assert!(
                    !packages.is_empty() && packages.iter().all(|path| path.contains("/p3")),
                    "{packages:?}"
                );
            }
        }
    }
}

#[test]
fn a_cache_that_was_tampered_with_changes_no_row() {
    let scratch = Scratch::new("scan-tampered");
    let (archive, tables) = (archive(&scratch, 4), scratch.join("tables"));
    let cache = tables.join("cache");
    let (clean, _) = scan(&archive, &tables, &[]);
    let rows = all_rows(&tables);
    // Hashes are noted of files that were not changed in the last two seconds.
    let begun = std::time::Instant::now();
    while fs::read_dir(cache.join("hashes")).is_ok_and(|mut entries| entries.next().is_none()) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no hashes");
        scan(&archive, &tables, &[]);
    }
    let kept: Vec<(PathBuf, Vec<u8>)> = files(&cache)
        .iter()
        .map(|name| (cache.join(name), fs::read(cache.join(name)).unwrap()))
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    assert!(kept.len() > 9, "{}", kept.len());
    let mut next = kept.iter().cycle().skip(1);
    for (path, bytes) in &kept {
        let (_, of_another) = next.next().unwrap();
        let mut turned = bytes.clone();
        let middle = turned.len() / 2;
        turned[middle] ^= 1;
        for (what, text) in [
            ("a bit", turned.as_slice()),
            ("half", &bytes[..bytes.len() / 2]),
            ("nothing", &[]),
            ("another", of_another),
            ("words", b"{\"pool\": [[0, 0], \"0\"]}"),
        ] {
            fs::write(path, text).unwrap();
            let (after, output) = scan(&archive, &tables, &[]);
            let what = format!("{}: {what}", path.display());
            assert_eq!(
                (output.status.code(), &after["shard"]),
                (Some(0), &clean["shard"]),
                "{what}: {after}"
            );
            assert_eq!(
                (&after["items"], &after["failures"]),
                (&clean["items"], &clean["failures"]),
                "{what}"
            );
        }
    }
    assert_eq!(all_rows(&tables), rows);
}

#[test]
fn a_password_in_a_url_is_neither_shown_nor_on_a_command_line() {
    let scratch = Scratch::new("scan-password");
    let archive = debian(&scratch, 5);
    fs::remove_file(archive.join("pool/p3_1%3a2_arm64.deb")).unwrap();
    let (address, _) = serve_as(archive, Conduct::Secret);
    let url = format!("http://me:secret@{address}");
    // A curl that tells its words.
    let real = Command::new("sh").args(["-c", "command -v curl"]).output().unwrap();
    let words = scratch.join("words");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\nexec {} \"$@\"\n",
        words.display(),
        String::from_utf8_lossy(&real.stdout).trim()
    );
    let curl = scratch.file("bin/curl", script.as_bytes());
    fs::set_permissions(curl, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", scratch.join("bin").display(), std::env::var("PATH").unwrap());
    let tables = scratch.join("tables");
    let output = scanning(Path::new(&url), &tables)
        .args(["--suite", "stable", "--run", "5"])
        .env("PATH", path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(fs::read_to_string(&words).unwrap().contains("--config -"), "curl was asked");
    assert!(!fs::read_to_string(&words).unwrap().contains("secret"));
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(printed.contains("p3_") && !printed.contains("secret"), "{printed}");
    let wrong = format!("http://me:secret2@{address}/none");
    let output =
        scanning(Path::new(&wrong), &scratch.join("none")).args(["--suite", "stable"]).output().unwrap();
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert_eq!(output.status.code(), Some(2));
    assert!(printed.contains("***@") && !printed.contains("secret"), "{printed}");
    for file in files(&tables) {
        let bytes = fs::read(tables.join(&file)).unwrap_or_default();
        assert!(!bytes.windows(6).any(|six| six == b"secret"), "{file}");
    }
}
