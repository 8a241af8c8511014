//! An SMT solver as a process: scripts of SMT-LIB 2 in, answers out.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// `z3 -in`, one for as many questions as there are.
pub(crate) struct Z3 {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Sat,
    Unsat,
    Unknown,
}

impl Z3 {
    /// The maximum of milliseconds for one query.
    const LIMIT: u32 = 20_000;

    pub(crate) fn start() -> Z3 {
        let mut command = Command::new("z3");
        command.args(["-in", "-smt2", &format!("-t:{}", Self::LIMIT)]);
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = process.unwrap_or_else(|error| {
            panic!("z3: {error}: `scripts/install-tools test` installs it (Debian and Ubuntu: z3)")
        });
        let (to, from) = (process.stdin.take().expect("a pipe"), process.stdout.take().expect("a pipe"));
        Z3 { process, to, from: BufReader::new(from) }
    }

    /// Forgets all, then asserts so much, and checks whether it can be.
    pub(crate) fn ask(&mut self, script: &str) -> Answer {
        write!(self.to, "(reset)\n(set-logic QF_ABV)\n{script}\n(check-sat)\n").expect("z3 listens");
        match self.reply().trim() {
            "sat" => Answer::Sat,
            "unsat" => Answer::Unsat,
            "unknown" | "timeout" => Answer::Unknown,
            other => panic!("z3: {other}\n{script}"),
        }
    }

    /// What some constants are in the model of the last answer; of a truth 0 or 1.
    pub(crate) fn values(&mut self, names: &[String]) -> HashMap<String, u128> {
        writeln!(self.to, "(get-value ({}))", names.join(" ")).expect("z3 listens");
        let reply = self.reply().replace(['(', ')'], " ");
        let tokens: Vec<&str> = reply.split_whitespace().collect();
        let value = |text: &str| match (text.split_at_checked(2), text) {
            (Some(("#x", digits)), _) => u128::from_str_radix(digits, 16).ok(),
            (Some(("#b", digits)), _) => u128::from_str_radix(digits, 2).ok(),
            (_, "true") => Some(1),
            (_, "false") => Some(0),
            _ => None,
        };
        let pair =
            |pair: &[&str]| (pair[0].to_owned(), value(pair[1]).unwrap_or_else(|| panic!("z3: {reply}")));
        tokens.chunks_exact(2).map(pair).collect()
    }

    /// As many lines as it takes until every parenthesis is closed.
    fn reply(&mut self) -> String {
        let (mut reply, mut open) = (String::new(), 0);
        loop {
            let mut line = String::new();
            let read = self.from.read_line(&mut line).expect("z3 answers");
            assert!(read > 0, "z3 ended: {reply}");
            open += line.matches('(').count() as i64 - line.matches(')').count() as i64;
            reply.push_str(&line);
            if open <= 0 {
                return reply;
            }
        }
    }
}

impl Drop for Z3 {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
