//! Where and of what the numbers are, for people: a line of text, and rows of names and values.
//!
//! In: the machine and the programs of a record. Out: text without markup; what is not known is left out.

use deburr_lab::measure::provenance::{Host, Program, Provenance};

/// How much of a commit or a build-id tells it from others.
const SHORT: usize = 12;

/// One line.
pub(super) fn line(provenance: &Provenance) -> String {
    let mut parts: Vec<String> =
        [machine(&provenance.host), provenance.host.name.clone()].into_iter().flatten().collect();
    for (name, program) in ["A", "B"].into_iter().zip(&provenance.programs) {
        let commit =
            program.commit.as_deref().map(|commit| format!("commit {}{}", short(commit), changed(program)));
        let of = commit.or_else(|| program.build_id.as_deref().map(|id| format!("build-id {}", short(id))));
        parts.extend(of.map(|of| format!("{name} {of}")));
    }
    parts.join("; ")
}

/// Rows with the names of what they are.
pub(super) fn rows(provenance: &Provenance) -> Vec<(&'static str, String)> {
    let Provenance { began, host, programs: [a, b] } = provenance;
    let rows = [
        ("measured", began.clone()),
        ("machine", host.name.clone()),
        ("CPU", machine(host)),
        ("program of A", program(a)),
        ("program of B", program(b)),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn machine(host: &Host) -> Option<String> {
    let Host { cpu, kernel, governor, virtualised, hypervisor, .. } = host;
    let by = hypervisor.as_ref().map(|maker| format!(" ({maker})")).unwrap_or_default();
    let parts = [
        cpu.clone(),
        kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        governor.as_ref().map(|governor| format!("governor {governor}")),
        match virtualised {
            Some(true) => Some(format!("virtualised{by}")),
            None if !by.is_empty() => Some(format!("virtualised{by}")),
            _ => None,
        },
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn program(program: &Program) -> Option<String> {
    let Program { path, build_id, commit, .. } = program;
    let parts = [
        path.clone(),
        build_id.as_ref().map(|id| format!("build-id {id}")),
        commit.as_ref().map(|commit| format!("commit {commit}{}", changed(program))),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn changed(program: &Program) -> &'static str {
    if program.is_dirty == Some(true) { " with changes" } else { "" }
}

/// The beginning of a commit or a build-id.
pub(super) fn short(digits: &str) -> &str {
    digits.get(..SHORT).unwrap_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        assert_eq!((line(&Provenance::default()), rows(&Provenance::default())), (String::new(), Vec::new()));
        let known = Provenance {
            began: Some("2026-01-31T12:00:00Z".to_owned()),
            host: Host {
                name: Some("box".to_owned()),
                cpu: Some("A CPU".to_owned()),
                virtualised: Some(true),
                hypervisor: Some("QEMU".to_owned()),
                ..Host::default()
            },
            programs: [
                Program {
                    path: Some("/a".to_owned()),
                    build_id: Some("00ff".to_owned()),
                    commit: Some("0123456789abcdef".to_owned()),
                    is_dirty: Some(true),
                },
                Program { build_id: Some("00fe".to_owned()), ..Program::default() },
            ],
        };
        assert_eq!(
            line(&known),
            "A CPU, virtualised (QEMU); box; A commit 0123456789ab with changes; B build-id 00fe"
        );
        assert_eq!(
            rows(&known)[3],
            ("program of A", "/a, build-id 00ff, commit 0123456789abcdef with changes".to_owned())
        );
    }
}
