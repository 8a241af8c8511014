//! The SELinux module for what was laid out, in the Common Intermediate Language.
//!
//! In: places and file contexts. Out: the module's text: a label for each launcher and variant that would get another one than the file in
//! its place, and what the domain of a confined program needs. The domain changes when the launcher is started, whose label is the
//! program's; the variant has the same label and is started without a further change, for which many domains have no right
//! (`execute_no_trans`). The ID and the level are expressions, so that one module serves all versions.
//!
//! CIL: SELinux Project, *CIL Reference Guide*, sections *filecon*, *allow*, *optional*. Each statement that names a type is optional: the
//! policy of a machine may lack the module that defines it.

use super::PolicyError;
use super::contexts::{Contexts, Kind, Label};
use super::places::{Laid, Location, Places};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A path of a tree as a system will have it, for the labels that the policy gives now.
const SAMPLE: &str = "0123456789ab/x86-64-v3";

/// The text of a module, and lines for the reader.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// `None` where the policy needs none.
    pub(super) text: Option<String>,
    pub(super) remarks: Vec<String>,
}

impl Location {
    fn sample(&self) -> String {
        match self {
            Location::Trees(trees, path) => format!("{trees}/{SAMPLE}/{path}"),
            Location::File(path) => path.clone(),
        }
    }

    fn expression(&self) -> String {
        match self {
            Location::Trees(trees, path) => {
                format!("{}/[0-9a-f]+/[^/]+/{}", escaped(trees), escaped(path))
            }
            Location::File(path) => escaped(path),
        }
    }
}

/// A path whose characters mean themselves in an expression.
fn escaped(path: &str) -> String {
    let mut text = String::new();
    for character in path.chars() {
        if r"\.^$?*+|[](){}".contains(character) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// What a domain needs: classes and permissions by type.
type Rules = BTreeSet<(String, &'static str)>;

const PROGRAM: &str = "(file (getattr open read map execute execute_no_trans))";
const LIBRARY: &str = "(file (getattr open read map execute))";
const FOLDER: &str = "(dir (getattr search))";
const LINK: &str = "(lnk_file (getattr read))";

/// Writes the module.
pub(super) fn module(
    places: &Places,
    contexts: &Contexts,
    domains: &[(String, String)],
    name: &str,
) -> Result<Module, PolicyError> {
    let mut labels: BTreeMap<Label, BTreeSet<String>> = BTreeMap::new();
    let mut rules: BTreeMap<String, Rules> = BTreeMap::new();
    let mut module = Module::default();
    let mut used = BTreeSet::new();
    let around = around(places, contexts)?;
    for (place, laid) in &places.files {
        let Some(label) = contexts.label(place, Kind::File)? else { continue };
        let launcher = laid.launcher.iter().map(|path| Location::File(path.clone()));
        for location in launcher.chain(laid.variants.iter().cloned()) {
            if contexts.label(&location.sample(), Kind::File)?.as_ref() != Some(&label) {
                labels.entry(label.clone()).or_default().insert(location.expression());
            }
        }
        if !laid.is_program {
            continue;
        }
        let named: Vec<&str> = domains
            .iter()
            .filter(|(kind, _)| *kind == label.kind)
            .map(|(_, domain)| domain.as_str())
            .collect();
        used.extend((!named.is_empty()).then(|| label.kind.clone()));
        let by_name = label.kind.strip_suffix("_exec_t").map(|stem| format!("{stem}_t"));
        let of_program: Vec<String> = match named.as_slice() {
            [] => by_name.into_iter().collect(),
            named => named.iter().map(|&domain| domain.to_owned()).collect(),
        };
        if !of_program.is_empty() {
            module.remarks.push(format!("{place}: {}, domain {}", label.kind, of_program.join(", ")));
        }
        for domain in of_program {
            let rules = rules.entry(domain).or_default();
            rules.insert((label.kind.clone(), PROGRAM));
            rules.extend(around.iter().cloned());
            rules.extend(at_place(place, laid, contexts)?);
        }
    }
    if let Some((kind, _)) = domains.iter().find(|(kind, _)| !used.contains(kind)) {
        return Err(PolicyError::Type(kind.clone()));
    }
    if labels.is_empty() && rules.is_empty() {
        module.remarks.push(
            "each file already has the label of its place, and no program has a domain: no module is needed"
                .to_owned(),
        );
    } else {
        module.text = Some(text(name, &labels, &rules));
    }
    Ok(module)
}

/// What every domain of a tree's programs meets on its way to a variant: folders, links in the trees, and libraries.
fn around(places: &Places, contexts: &Contexts) -> Result<Rules, PolicyError> {
    let mut rules = Rules::new();
    let mut add = |path: &str, kind: Kind, rule: &'static str| -> Result<(), PolicyError> {
        rules.extend(contexts.label(path, kind)?.map(|label| (label.kind, rule)));
        Ok(())
    };
    for (place, laid) in &places.files {
        for location in &laid.variants {
            let sample = location.sample();
            let top = match location {
                Location::Trees(trees, _) => trees.as_str(),
                Location::File(_) => parent(&sample),
            };
            let mut folder = parent(&sample);
            while folder.starts_with(top) {
                add(folder, Kind::Folder, FOLDER)?;
                add(&format!("{folder}/link"), Kind::Link, LINK)?;
                folder = parent(folder);
            }
        }
        if !laid.is_program {
            add(place, Kind::File, LIBRARY)?;
        }
    }
    Ok(rules)
}

/// What the domain of one program meets: the link in its place, and the folders of link and launcher.
fn at_place(place: &str, laid: &Laid, contexts: &Contexts) -> Result<Rules, PolicyError> {
    let mut rules = Rules::new();
    if let Some(launcher) = &laid.launcher {
        rules.extend(contexts.label(place, Kind::Link)?.map(|label| (label.kind, LINK)));
        rules.extend(contexts.label(parent(launcher), Kind::Folder)?.map(|label| (label.kind, FOLDER)));
    }
    rules.extend(contexts.label(parent(place), Kind::Folder)?.map(|label| (label.kind, FOLDER)));
    Ok(rules)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn text(name: &str, labels: &BTreeMap<Label, BTreeSet<String>>, rules: &BTreeMap<String, Rules>) -> String {
    // Blocks share a namespace with all other modules.
    let block: String = name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect();
    let mut text = format!(
        ";; {name}: labels and rules for the launchers and variants of deburr pack.\n;; Install: semodule -i {name}.cil, then restorecon -R on the folder of the trees.\n"
    );
    for (index, (Label { user, role, kind }, expressions)) in labels.iter().enumerate() {
        let _ = writeln!(text, "(optional deburr_{block}_label_{index}");
        for expression in expressions {
            // A string of CIL ends at a quotation mark, a line of file contexts at white space.
            let expression = expression.replace('"', "\\x22").replace(' ', "\\x20");
            let _ = writeln!(text, "    (filecon \"{expression}\" file ({user} {role} {kind} ((s0) (s0))))");
        }
        text.push_str(")\n");
    }
    for (domain, rules) in rules {
        let _ = writeln!(text, "(optional deburr_{block}_{domain}");
        for (kind, rule) in rules {
            let _ = writeln!(text, "    (allow {domain} {kind} {rule})");
        }
        text.push_str(")\n");
    }
    text
}
