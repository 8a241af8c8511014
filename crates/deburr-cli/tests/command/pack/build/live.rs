//! `deburr pack build` on a terminal: a line that changes while a variant is built. Elsewhere: a line at its start and at its end.

use super::{MAKEFILE, command, sources};
use crate::{stderr, stdout};
use deburr_test_support::Scratch;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a command with a terminal of 90 columns as its standard error, and prints what that got.
const TERMINAL: &str = "import fcntl, os, pty, struct, subprocess, sys, termios
leader, follower = pty.openpty()
fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 90, 0, 0))
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=follower)
os.close(follower)
while True:
    try:
        data = os.read(leader, 65536)
    except OSError:
        break
    sys.stdout.buffer.write(data)
sys.exit(child.wait())
";

/// What the build writes: a colour, a title for the terminal's window, a line that is longer than the terminal.
const NOISY: &str = "slow: all
\t@printf 'begin\\r\\033[31mred\\033[0m and \\033]0;title\\007slow\\n'; sleep 1.2
\t@printf 'long%0200d\\n' 1; sleep 1.2
\t@touch done
";

fn on_terminal(scratch: &Scratch, folder: &Path, options: &[&str]) -> Output {
    let script = scratch.file("terminal.py", TERMINAL.as_bytes());
    let mut python = Command::new("python3");
    python.arg(script).args([crate::program(), "pack", "build"]).args(options);
    python.args(["--levels", "x86-64-v1,x86-64-v3", "--", "make", "slow"]).current_dir(folder);
    python.env("TERM", "xterm").env_remove("CC").env_remove("CXX").env_remove("NO_COLOR");
    python.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn terminal_shows_which_variant_is_built_how_many_calls_it_made_and_what_it_said_last() {
    let scratch = Scratch::new("pack-live");
    let folder = sources(&scratch, &format!("{MAKEFILE}{NOISY}"));
    let output = on_terminal(&scratch, &folder, &[]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for expected in [
        "x86-64-v1, 1 of 2 00:00:0",
        "x86-64-v3, 2 of 2 00:00:0",
        "2 compiler calls  red and slow",
        "2 compiler calls  long0000",
        "x86-64-v3: built and checked",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown:?}");
    }
    assert!(!shown.contains("\u{1b}[31m") && !shown.contains("title"), "{shown:?}");
    assert!(!shown.contains(": building"), "{shown:?}");
    // It is cut where the terminal ends, so that it can be taken away again: the last thing that is shown is the end.
    assert!(!shown.contains(&"0".repeat(90)), "{shown:?}");
    let last = shown.trim_end().rsplit(['\n', '\r']).next().unwrap();
    assert!(last.ends_with(" s") && last.contains("x86-64-v3: built and checked"), "{last:?}");
    // Nothing is built: nothing is live.
    let again = on_terminal(&scratch, &folder, &[]);
    assert!(stdout(&again).contains("unchanged since it was built"), "{}", stdout(&again));
    assert!(!stdout(&again).contains(" of 2 "), "{}", stdout(&again));
}

#[test]
fn quiet_build_shows_nothing_on_a_terminal_and_elsewhere_there_are_two_lines_for_a_variant() {
    let scratch = Scratch::new("pack-live-none");
    let folder = sources(&scratch, &format!("{MAKEFILE}{NOISY}"));
    let output = on_terminal(&scratch, &folder, &["--quiet"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));

    let output = command(&folder, "x86-64-v1,x86-64-v2", &["make", "slow"]).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| !line.contains("same code")).collect();
    assert!(
        lines[0] == "deburr: x86-64-v1: building" || lines[0].ends_with("unchanged since it was built"),
        "{said}"
    );
    assert!(said.contains("deburr: x86-64-v2: building\ndeburr: x86-64-v2: "), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains("compiler calls"), "{said}");
}

#[test]
fn failed_variant_on_a_terminal_leaves_its_message_and_no_live_line() {
    let scratch = Scratch::new("pack-live-failed");
    let folder = sources(&scratch, "slow:\n\t@echo grim; sleep 1; exit 3\n");
    let output = on_terminal(&scratch, &folder, &[]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains("0 compiler calls  grim"), "{shown:?}");
    assert!(shown.contains("x86-64-v1: the command ended with exit status: 2"), "{shown:?}");
}
