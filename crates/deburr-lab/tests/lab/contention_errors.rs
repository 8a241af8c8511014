//! How far off the contention model is on published rows: the tables of `docs/contention-model.md`.
//!
//! With `DEBURR_BLESS` set they are written; without, they must be what the model says now, byte for byte.

use deburr_lab::model::evaluate::{Evaluation, Prediction, evaluate};
use deburr_lab::model::published::{Build, Role, Row, microbenchmarks, sweep};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const BEGIN: &str =
    "<!-- written by DEBURR_BLESS=1 cargo test -p deburr-lab --test lab contention_errors -->\n";
const END: &str = "<!-- end of what is written -->\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Machines with something to fit to: of the Kunpeng 920 neither one thread's time nor the number of operations is published.
fn rows() -> Vec<Row> {
    let read = |name: &str| fs::read_to_string(repository().join("evidence").join(name)).unwrap();
    let mut rows = microbenchmarks(&read("atomics_microbench.csv")).unwrap();
    assert!(rows.iter().all(|row| !row.machine.contains("Kunpeng")));
    rows.extend(sweep(&read("rw_lock_like_thread_sweep.csv")).unwrap());
    rows
}

#[test]
fn roles_read_no_time_and_hold_out_whole_operations_and_numbers_of_threads() {
    let rows = rows();
    let fitted: Vec<&Row> = rows.iter().filter(|row| row.role == Role::Fitted).collect();
    assert_eq!(fitted.len(), 3 * 4 + 3 * 2);
    assert!(fitted.iter().all(|row| row.build != Build::Outlined));
    let is_micro = |row: &&&Row| row.machine != "thread sweep";
    assert!(fitted.iter().filter(is_micro).all(|row| row.threads == 16));
    assert!(fitted.iter().filter(is_micro).all(|row| ["EXCHANGE", "FETCH_ADD"].contains(&row.name.as_str())));
    let count = |role| rows.iter().filter(|row| row.role == role).count();
    let of_roles = [Role::OtherOperation, Role::OtherThreads, Role::OtherBoth, Role::OtherBuild].map(count);
    assert_eq!(of_roles, [48, 56, 18, 23]);
    assert_eq!(count(Role::Input) + fitted.len() + of_roles.iter().sum::<usize>(), rows.len());
}

#[test]
fn the_documented_errors_are_those_of_the_model() {
    let evaluations = evaluate(&rows()).unwrap();
    let path = repository().join("docs/contention-model.md");
    let text = fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).expect("where the tables begin");
    let (old, tail) = rest.split_once(END).expect("where they end");
    let new = tables(&evaluations);
    if std::env::var_os("DEBURR_BLESS").is_some() {
        fs::write(&path, format!("{head}{BEGIN}{new}{END}{tail}")).unwrap();
    } else {
        let hint =
            "docs/contention-model.md: DEBURR_BLESS=1 cargo test -p deburr-lab --test lab contention_errors";
        assert_eq!(old, new, "{hint}");
    }
}

fn tables(evaluations: &[Evaluation]) -> String {
    let all: Vec<&Prediction> = evaluations.iter().flat_map(|it| &it.predictions).collect();
    let held: Vec<&Prediction> = all.iter().copied().filter(|it| it.is_held_out()).collect();
    let mut out = constants(evaluations);
    let near = within(&held, Prediction::factor);
    let plain = within(&held, Prediction::plain_factor);
    let _ = writeln!(
        out,
        "\n**{near} of {} rows that nothing was fitted to are within a factor of two, {} are not.** Without a model it is {plain}.\n",
        held.len(),
        held.len() - near
    );
    out += &summary(&all);
    out += &each(&all);
    out
}

fn constants(evaluations: &[Evaluation]) -> String {
    let mut out =
        "| machine | transfer | share | request | off what it was fitted to |\n|---|---|---|---|---|\n"
            .to_owned();
    for Evaluation { machine, fit, .. } in evaluations {
        let it = fit.constants;
        let (transfer, share, request) = (it.transfer_ns, it.share_ns, it.request_ns);
        let _ = writeln!(
            out,
            "| {machine} | {transfer:.1} ns | {share:.1} ns | {request:.1} ns | {:.2}× |",
            fit.error
        );
    }
    out
}

/// By role, and within the role by build.
fn summary(all: &[&Prediction]) -> String {
    let mut groups: BTreeMap<(Role, Build), Vec<&Prediction>> = BTreeMap::new();
    for prediction in all {
        groups.entry((prediction.row.role, prediction.row.build)).or_default().push(prediction);
    }
    let mut out =
        "| rows | build | number | median | lowest | highest | within 2× | without a model |\n".to_owned();
    out += "|---|---|---|---|---|---|---|---|\n";
    for ((role, build), group) in groups {
        let mut ratios: Vec<f64> = group.iter().map(|it| it.ratio()).collect();
        ratios.sort_by(f64::total_cmp);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.2} | {:.2} | {:.2} | {} | {} |",
            role.name(),
            build.name(),
            group.len(),
            (ratios[(ratios.len() - 1) / 2] + ratios[ratios.len() / 2]) / 2.0,
            ratios[0],
            ratios[ratios.len() - 1],
            within(&group, Prediction::factor),
            within(&group, Prediction::plain_factor),
        );
    }
    out
}

fn within(group: &[&Prediction], factor: impl Fn(&Prediction) -> f64) -> usize {
    group.iter().filter(|it| factor(it) <= 2.0).count()
}

/// Machine, operation and build.
type Key<'a> = (&'a str, &'a str, Build);

/// Each row's ratio, by number of threads.
fn each(all: &[&Prediction]) -> String {
    let mut lines: Vec<(Key<'_>, Vec<String>)> = Vec::new();
    let mut sorted = all.to_vec();
    sorted.sort_by_key(|it| (&it.row.machine, &it.row.name, it.row.build, it.row.threads));
    for prediction in sorted {
        let row = &prediction.row;
        let key = (row.machine.as_str(), row.name.as_str(), row.build);
        let mark = match (prediction.is_held_out(), prediction.factor() <= 2.0) {
            (true, false) => "**",
            (true, true) => "",
            (false, _) => "_",
        };
        let cell = format!("{}: {mark}{:.2}{mark}", row.threads, prediction.ratio());
        match lines.last_mut() {
            Some((last, cells)) if *last == key => cells.push(cell),
            _ => lines.push((key, vec![cell])),
        }
    }
    let mut out = "\n| machine | operation | build | by threads: predicted time / published time |\n|---|---|---|---|\n".to_owned();
    for ((machine, name, build), cells) in lines {
        let _ = writeln!(out, "| {machine} | {name} | {} | {} |", build.name(), cells.join(", "));
    }
    out
}
