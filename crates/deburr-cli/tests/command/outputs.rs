//! Every option of every verb that writes, at every kind of place: what is no regular file is written to as
//! it is, links are followed and stay, what is read or makes no sense is refused, and nothing is left of how
//! a file came to be.

#[path = "../../src/args/files.rs"]
mod files;

use super::{Scratch, stderr, stdout};
use files::{FILES, Role};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const LIBRARY: &[u8] = include_bytes!("../data/libcounters.so");
const RECORD: &[u8] = include_bytes!("../../src/render/bench/example.json");

/// A command that writes to `{}`.
struct Case {
    name: String,
    arguments: Vec<String>,
    /// What is found in whatever it writes.
    marker: &'static str,
}

/// The commands that try an option; several where it takes several forms.
fn cases(verb: &str, option: &str) -> Vec<Case> {
    let case = |arguments: &str, marker| Case {
        name: format!("{verb} {arguments}"),
        arguments: arguments.split(' ').map(str::to_owned).collect(),
        marker,
    };
    let measured = "--paired --values a.txt b.txt";
    match (verb, option) {
        ("check", "format") => [
            ("text", "llsc-loop"),
            ("concise", "llsc-loop"),
            ("json", "\"schema_version\":2"),
            ("sarif", "2.1.0"),
            ("github", "::warning"),
            ("junit", "<testsuites"),
        ]
        .map(|(format, marker)| case(&format!("--format {format}={{}} lib.so"), marker))
        .into(),
        ("check", "html") => vec![case("--html {} lib.so", "<html")],
        ("check", "output") => vec![case("-o {} lib.so", "llsc-loop")],
        ("check", "add_allowances") => vec![case("--add-allowances={} lib.so", "[[allow]]")],
        ("fix", "output") => vec![case("-o {} lib.so", "GNU")],
        ("fix", "dispatch") => vec![case("--dispatch {} lib.so", "")],
        ("diff", "html") => vec![case("lib.so lib.so --html {}", "<html")],
        ("diff", "format") => vec![case("lib.so lib.so --format html={}", "<html")],
        ("compare", "format") => vec![case(&format!("{measured} --format html={{}}"), "<html")],
        ("compare", "html") => vec![case(&format!("{measured} --html {{}}"), "<html")],
        ("compare", "export_hyperfine") => {
            vec![case(
                "--no-gate --aa true --pairs 2 --region 50 --input b.txt --export-hyperfine {}",
                "\"results\"",
            )]
        }
        ("compare", "record") => {
            vec![case("--no-gate --aa true --pairs 2 --region 50 --record {}", "\"commands\"")]
        }
        ("compare", "output") => vec![case("--no-gate --aa true --pairs 2 --region 50 --output {}", "")],
        ("scan", "tables") => vec![case("--tables {} lib.so", "")],
        ("scan", "cache") => vec![case("--tables tables --cache {} lib.so", "")],
        ("try", "record") => {
            vec![case("--cpu x86-64-v2 --record {} -- /bin/true lib.so", "\"schema_version\"")]
        }
        ("record", "output") => {
            vec![case("--event cpu-clock -o {} -- /bin/true lib.so", "PERFILE2")]
        }
        ("bench", "format") => vec![case("--show record.json --format html={}", "<html")],
        ("bench", "html") => vec![case("--show record.json --html {}", "<html")],
        _ => panic!("{verb} {option}: no command tries it"),
    }
}

/// All that write to files, or begin them.
fn all(roles: &[Role]) -> Vec<Case> {
    let wanted = FILES.iter().filter(|(_, _, role)| roles.contains(role));
    wanted.flat_map(|(verb, option, _)| cases(verb, option)).collect()
}

const FILE_ROLES: [Role; 3] = [Role::Writes, Role::Extends, Role::Begins];

/// A folder with what the commands read.
fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(&format!("outputs-{name}"));
    scratch.file("lib.so", LIBRARY);
    scratch.file("record.json", RECORD);
    for (name, base) in [("a.txt", 100), ("b.txt", 104)] {
        let lines: String = (0..16).map(|pair| format!("{base}.{:02}\n", pair * 37 % 100)).collect();
        scratch.file(name, lines.as_bytes());
    }
    scratch
}

impl Case {
    fn command(&self, scratch: &Scratch, place: &str) -> Command {
        let mut command = Command::new(crate::program());
        let verb = self.name.split(' ').next().unwrap();
        let arguments = self.arguments.iter().map(|argument| argument.replace("{}", place));
        command.current_dir(scratch.path()).arg(verb).args(arguments).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", scratch.join("state"));
        if verb == "record" {
            super::record::pretend(&mut command, &scratch.join("state"), super::record::WRITES);
        }
        command
    }

    fn run(&self, scratch: &Scratch, place: &str) -> Output {
        self.command(scratch, place).output().unwrap()
    }

    fn done(&self, scratch: &Scratch, place: &str) -> Output {
        let output = self.run(scratch, place);
        let failed = format!("{} to {place}: {}", self.name, stderr(&output));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{failed}");
        output
    }

    fn refused(&self, scratch: &Scratch, place: &str, reason: &str) {
        let before = names(scratch.path());
        let output = self.run(scratch, place);
        let told = format!("{} to {place}: {}{}", self.name, stderr(&output), stdout(&output));
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(stderr(&output).contains(reason), "{told}");
        assert_eq!(names(scratch.path()), before, "{told}");
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        bytes.windows(self.marker.len()).any(|part| part == self.marker.as_bytes())
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "state");
    names.sort();
    names
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What comes out of a FIFO, read by somebody else.
fn reading(fifo: PathBuf) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        File::open(fifo).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    })
}

fn ended(mut child: Child) -> Output {
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(since.elapsed() < Duration::from_secs(60), "it hangs");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn regular_file_is_replaced_whole_with_its_mode_and_other_names_keep_what_they_had() {
    for case in all(&[Role::Writes, Role::Extends]) {
        let scratch = scratch("regular");
        let path = scratch.file("out", b"");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        fs::hard_link(&path, scratch.join("second")).unwrap();
        scratch.file(".out.deburr-7-0", b"what a killed run left");
        case.done(&scratch, "out");
        assert!(case.is_in(&fs::read(&path).unwrap()), "{}", case.name);
        assert_eq!(fs::read(scratch.join("second")).unwrap(), b"", "{}", case.name);
        // A rewritten program is one, too.
        let mode = if case.name.starts_with("fix") { 0o644 } else { 0o640 };
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode, "{}", case.name);
        assert_eq!(
            names(scratch.path()),
            ["a.txt", "b.txt", "lib.so", "out", "record.json", "second"],
            "{}",
            case.name
        );
    }
}

#[test]
fn file_that_is_begun_is_never_written_over() {
    for case in all(&[Role::Begins]) {
        let scratch = scratch("begun");
        scratch.file("out", b"older");
        symlink("out", scratch.join("link")).unwrap();
        for place in ["out", "link"] {
            case.refused(&scratch, place, "exists");
        }
        assert_eq!(fs::read(scratch.join("out")).unwrap(), b"older");
    }
}

#[test]
fn links_are_followed_and_stay_also_where_nothing_is_there_yet() {
    for case in all(&FILE_ROLES) {
        let scratch = scratch("links");
        fs::create_dir(scratch.join("there")).unwrap();
        symlink("there/second", scratch.join("first")).unwrap();
        symlink("../third", scratch.join("there/second")).unwrap();
        case.done(&scratch, "first");
        assert!(case.is_in(&fs::read(scratch.join("third")).unwrap()), "{}", case.name);
        for link in ["first", "there/second"] {
            assert!(scratch.join(link).is_symlink(), "{}: {link}", case.name);
        }
        assert!(!scratch.join("third").is_symlink());
        assert_eq!(
            names(scratch.path()),
            ["a.txt", "b.txt", "first", "lib.so", "record.json", "there", "third"]
        );
        assert_eq!(names(&scratch.join("there")), ["second"]);
    }
}

#[test]
fn places_that_make_no_sense_are_refused_and_nothing_is_left() {
    for case in all(&FILE_ROLES) {
        let scratch = scratch("nonsense");
        fs::create_dir(scratch.join("folder")).unwrap();
        let _socket = UnixListener::bind(scratch.join("socket")).unwrap();
        symlink("loop", scratch.join("loop")).unwrap();
        symlink("none/out", scratch.join("lost")).unwrap();
        for (place, reason) in [
            ("folder", "a directory"),
            ("missing/", "a directory"),
            ("socket", "a socket"),
            ("loop", "symbolic links"),
            ("lost", "no such file"),
            ("none/out", "no such file"),
            ("/dev/full", "o space left"),
        ] {
            case.refused(&scratch, place, reason);
        }
    }
}

#[test]
fn device_stays_a_device_and_takes_what_is_written() {
    for case in all(&FILE_ROLES) {
        let scratch = scratch("device");
        symlink("/dev/null", scratch.join("link")).unwrap();
        for place in ["/dev/null", "link"] {
            case.done(&scratch, place);
            assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device(), "{}", case.name);
        }
        assert!(scratch.join("link").is_symlink());
    }
}

#[test]
fn pipe_stays_a_pipe_and_whoever_waits_for_its_reader_says_so() {
    for case in all(&FILE_ROLES) {
        let scratch = scratch("pipe");
        let fifo = scratch.join("pipe");
        make_fifo(&fifo);
        let mut child = case.command(&scratch, "pipe");
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = [0; 7];
        child.stderr.as_mut().unwrap().read_exact(&mut told).unwrap();
        let reader = reading(fifo.clone());
        let output = ended(child);
        assert!(case.is_in(&reader.join().unwrap()), "{}", case.name);
        assert!(stderr(&output).contains("pipe: waiting for a reader"), "{}: {}", case.name, stderr(&output));
        assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo(), "{}", case.name);
        // With a reader, nothing is to be said of it.
        let reader = reading(fifo);
        std::thread::sleep(Duration::from_millis(50));
        let output = case.done(&scratch, "pipe");
        assert!(case.is_in(&reader.join().unwrap()), "{}", case.name);
        assert!(!stderr(&output).contains("waiting") || stderr(&output).contains("pipe"), "{}", case.name);
    }
}

#[test]
fn standard_output_is_added_to_and_has_nothing_else_in_it() {
    for case in all(&[Role::Writes, Role::Begins]) {
        let scratch = scratch("stdout");
        for place in ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"] {
            let path = scratch.file("log", b"before\n");
            let log = File::options().append(true).open(&path).unwrap();
            let status = case.command(&scratch, place).stdout(log).stderr(Stdio::null()).status().unwrap();
            assert!(matches!(status.code(), Some(0 | 1)), "{} to {place}", case.name);
            let written = fs::read(&path).unwrap();
            let rest = written.strip_prefix(b"before\n").unwrap_or_default();
            assert!(case.is_in(rest), "{} to {place}", case.name);
            if case.name.starts_with("fix") {
                assert!(rest.starts_with(b"\x7fELF"), "{}", case.name);
            }
            assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
        }
    }
}

#[test]
fn what_is_read_is_not_written_over_by_any_of_its_names() {
    for case in all(&[Role::Writes, Role::Extends]) {
        let scratch = scratch("inputs");
        let input = match case.name.split(' ').next() {
            Some("compare") => "b.txt",
            Some("bench") => "record.json",
            _ => "lib.so",
        };
        let before = fs::read(scratch.join(input)).unwrap();
        symlink(input, scratch.join("link")).unwrap();
        fs::hard_link(scratch.join(input), scratch.join("twin")).unwrap();
        for place in [input, "./link", "twin"] {
            let output = case.run(&scratch, place);
            assert_eq!(output.status.code(), Some(2), "{} to {place}: {}", case.name, stderr(&output));
        }
        assert!(fs::read(scratch.join(input)).unwrap() == before, "{}", case.name);
        assert!(scratch.join("link").is_symlink());
    }
}

#[test]
fn program_of_a_tree_that_is_checked_is_no_place_for_a_report_and_another_file_is() {
    let scratch = scratch("tree");
    scratch.file("tree/lib.so", LIBRARY);
    scratch.file("tree/report", b"an older report");
    let check = |place: &str| Case {
        name: "check".to_owned(),
        arguments: ["-o", place, "tree"].map(str::to_owned).into(),
        marker: "llsc-loop",
    };
    check("tree/lib.so").refused(&scratch, "", "would be lost");
    assert!(fs::read(scratch.join("tree/lib.so")).unwrap() == LIBRARY);
    check("tree/report").done(&scratch, "");
    assert!(check("").is_in(&fs::read(scratch.join("tree/report")).unwrap()));
}

#[test]
fn one_file_for_two_outputs_is_refused() {
    let scratch = scratch("twice");
    symlink("same", scratch.join("link")).unwrap();
    make_fifo(&scratch.join("pipe"));
    let measured = ["--no-gate", "--aa", "true", "--pairs", "2"];
    let formats = |one: &str, other: &str| {
        ["check", "--format", &format!("sarif={one}"), "--format", &format!("json={other}"), "lib.so"]
            .map(str::to_owned)
            .to_vec()
    };
    let compare = [&["compare"], &measured[..], &["--html", "same", "--record", "link"]].concat();
    for arguments in [
        formats("same", "./same"),
        formats("same", "link"),
        formats("/dev/stdout", "-"),
        compare.into_iter().map(str::to_owned).collect(),
    ] {
        let mut command = Command::new(crate::program());
        let output =
            command.current_dir(scratch.path()).args(&arguments).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stdout(&output));
        assert!(!scratch.join("same").exists(), "{arguments:?}");
    }
}

#[test]
fn directory_is_found_through_links_and_nothing_else_is_taken_for_one() {
    for case in all(&[Role::Fills]) {
        let scratch = scratch("folder");
        scratch.file("file", b"");
        make_fifo(&scratch.join("pipe"));
        symlink("loop", scratch.join("loop")).unwrap();
        for (place, reason) in [
            ("file", "not a directory"),
            ("pipe", "not a directory"),
            ("/dev/null", "not a directory"),
            ("/dev/stdout", "not a directory"),
            ("loop", "symbolic links"),
        ] {
            case.refused(&scratch, place, reason);
        }
        symlink("new", scratch.join("link")).unwrap();
        case.done(&scratch, "link");
        assert!(scratch.join("link").is_symlink() && !names(&scratch.join("new")).is_empty());
    }
}

#[test]
fn record_goes_on_in_a_regular_file_only() {
    let scratch = scratch("resume");
    make_fifo(&scratch.join("pipe"));
    let case = Case {
        name: "compare".to_owned(),
        arguments: ["--no-gate", "--aa", "true", "--resume={}"].map(str::to_owned).into(),
        marker: "",
    };
    for place in ["pipe", "/dev/null", "."] {
        case.refused(&scratch, place, "no regular file");
    }
}

#[test]
fn folder_that_may_not_be_written_to_keeps_its_file_which_gets_the_report() {
    // Root may write everywhere: then the run is somebody else's, with a copy of the command that all may run.
    let scratch = scratch("read-only");
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let path = scratch.file("closed/report", b"older");
    let copy = scratch.join("deburr");
    fs::copy(crate::program(), &copy).unwrap();
    for (name, mode) in [("", 0o755), ("closed/report", 0o666), ("closed", 0o555)] {
        fs::set_permissions(scratch.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    let run = |place: &str| {
        let mut command = if is_root { Command::new("setpriv") } else { Command::new("env") };
        if is_root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command
            .arg(&copy)
            .args(["check", "-o", place, "lib.so"])
            .current_dir(scratch.path())
            .output()
            .unwrap()
    };
    let inode = fs::metadata(&path).unwrap().ino();
    let output = run("closed/report");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert!(fs::read_to_string(&path).unwrap().contains("llsc-loop"));
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    let output = run("closed/new");
    assert!(stderr(&output).contains("closed/new: permission denied"), "{}", stderr(&output));
    fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let output = run("closed/report");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    fs::set_permissions(scratch.join("closed"), PermissionsExt::from_mode(0o755)).unwrap();
}
