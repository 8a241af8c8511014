//! Which file of a crate names which other: the import graph, read from the source by `syn`.
//!
//! In: the root file of a crate (`lib.rs` or `main.rs`). Out: for each file, the files that define what it names, and the
//! circles among them. A path is followed through re-exports to the file that defines its item, so that `mod.rs` files which
//! only hand names on are on no circle. Unit tests are left out; they may name anything of their crate.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, UseTree, Visibility};

/// A module's path below the crate's root: `["insn", "sweep"]`.
type Module = Vec<String>;

/// One file of a crate.
struct File {
    path: PathBuf,
    children: BTreeSet<String>,
    /// Names that the module hands on or brings in, with their paths as written.
    uses: BTreeMap<String, Vec<String>>,
    /// Paths of glob imports.
    globs: Vec<Vec<String>>,
    /// Every path that the code names, as written.
    named: BTreeSet<Vec<String>>,
    /// What the module defines itself.
    items: BTreeSet<String>,
}

/// The files of a crate and what each names.
pub struct Imports {
    files: BTreeMap<Module, File>,
    src: PathBuf,
}

impl Imports {
    /// Reads the crate whose root file is `root`.
    pub fn read(root: &Path) -> Self {
        let src = root.parent().expect("a root file lies in a folder").to_owned();
        let mut files = BTreeMap::new();
        read_module(root, &src, Module::new(), &mut files);
        Self { files, src }
    }

    /// For each file, the other files of the crate that define what it names; paths below `src/`.
    pub fn edges(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, file) in &self.files {
            let targets = edges.entry(self.name(file)).or_default();
            let named = file.named.iter().chain(&file.globs);
            let modules = named.filter_map(|path| self.definition(module, path, 0));
            let others = modules.filter(|target| target != module);
            targets.extend(others.map(|target| self.name(&self.files[&target])));
        }
        edges
    }

    /// The circles: groups of files each of which reaches every other by imports.
    pub fn circles(&self) -> Vec<BTreeSet<String>> {
        circles(&self.edges())
    }

    /// For each folder below `src/`, itself among them: its rooms, and which imports lead from one to another.
    ///
    /// A folder's own `mod.rs` is in no room of that folder.
    pub fn rooms(&self) -> Vec<Rooms> {
        let mut folders: BTreeMap<String, Rooms> = BTreeMap::new();
        for file in self.files.values().map(|file| self.name(file)) {
            for (folder, room, is_folder) in homes(&file) {
                let rooms = folders.entry(folder.clone()).or_insert_with(|| Rooms::new(folder));
                rooms.is_folder.insert(room, is_folder);
            }
        }
        for (file, targets) in self.edges() {
            for target in targets {
                let Some((folder, one, other)) = parted(&file, &target) else { continue };
                let rooms = folders.entry(folder.clone()).or_insert_with(|| Rooms::new(folder));
                rooms.imports.entry((one, other)).or_default().insert((file.clone(), target));
            }
        }
        folders.into_values().collect()
    }

    /// The knots of rooms: in a folder, groups of folders and files each of which reaches every other by imports of what is
    /// in it.
    pub fn knots(&self) -> Vec<Knot> {
        self.rooms().iter().flat_map(Rooms::knots).collect()
    }

    fn name(&self, file: &File) -> String {
        file.path.strip_prefix(&self.src).unwrap_or(&file.path).display().to_string()
    }

    /// The module that defines what `path` leads to, as seen from `module`; `None` for what other crates define.
    fn definition(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        if depth > 16 {
            return None;
        }
        let mut at = module.clone();
        let mut segments = path;
        while let Some((first, rest)) = segments.split_first() {
            match first.as_str() {
                "crate" => at = Module::new(),
                "self" => {}
                "super" => {
                    at.pop();
                }
                name => return self.item(&at, name, rest, depth),
            }
            segments = rest;
        }
        Some(at)
    }

    fn item(&self, at: &Module, name: &str, rest: &[String], depth: usize) -> Option<Module> {
        let file = self.files.get(at)?;
        if file.children.contains(name) {
            let child: Module = at.iter().cloned().chain([name.to_owned()]).collect();
            return match rest.split_first() {
                Some((next, rest)) => self.item(&child, next, rest, depth).or(Some(child)),
                None => Some(child),
            };
        }
        if file.items.contains(name) {
            return Some(at.clone());
        }
        if let Some(path) = file.uses.get(name) {
            let whole: Vec<String> = path.iter().chain(rest).cloned().collect();
            return self.definition(at, &whole, depth + 1);
        }
        file.globs.iter().find_map(|glob| {
            let whole: Vec<String> = glob.iter().cloned().chain([name.to_owned()]).collect();
            self.definition(at, &whole, depth + 1)
        })
    }
}

/// Rooms of a folder that import each other.
pub struct Knot {
    /// Below `src/`; empty for `src/` itself.
    pub folder: String,
    /// Folders, and files without `.rs`.
    pub rooms: BTreeSet<String>,
    /// The files that make it: which names which.
    pub imports: BTreeSet<(String, String)>,
}

/// The rooms of one folder.
pub struct Rooms {
    /// Below `src/`; empty for `src/` itself.
    pub folder: String,
    /// Folders, and files without `.rs`; whether each is a folder.
    pub is_folder: BTreeMap<String, bool>,
    /// For a room that imports another: which file names which.
    pub imports: BTreeMap<(String, String), BTreeSet<(String, String)>>,
}

impl Rooms {
    fn new(folder: String) -> Self {
        Self { folder, is_folder: BTreeMap::new(), imports: BTreeMap::new() }
    }

    /// Which rooms each room imports.
    pub fn edges(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut edges: BTreeMap<String, BTreeSet<String>> =
            self.is_folder.keys().map(|room| (room.clone(), BTreeSet::new())).collect();
        for (one, other) in self.imports.keys() {
            edges.entry(one.clone()).or_default().insert(other.clone());
        }
        edges
    }

    /// Groups of these rooms each of which reaches every other.
    pub fn knots(&self) -> Vec<Knot> {
        let knot = |rooms: BTreeSet<String>| {
            let inside =
                self.imports.iter().filter(|((one, other), _)| rooms.contains(one) && rooms.contains(other));
            let imports = inside.flat_map(|(_, imports)| imports.clone()).collect();
            Knot { folder: self.folder.clone(), rooms, imports }
        };
        circles(&self.edges()).into_iter().map(knot).collect()
    }
}

/// The files that are in no room of their folder.
fn is_own(name: &str) -> bool {
    ["mod.rs", "lib.rs", "main.rs"].contains(&name)
}

fn room_of(name: &str) -> String {
    name.trim_end_matches(".rs").to_owned()
}

/// The rooms that a file is in: for each folder above it, that folder, the room, and whether the room is a folder.
fn homes(file: &str) -> Vec<(String, String, bool)> {
    let parts: Vec<&str> = file.split('/').collect();
    let last = parts.len() - 1;
    let rooms = parts.iter().enumerate().filter(|(at, part)| *at < last || !is_own(part));
    rooms.map(|(at, part)| (parts[..at].join("/"), room_of(part), at < last)).collect()
}

/// Where two files part: the folder that has both, and the room of each in it. `None` where one is that folder's `mod.rs` or the
/// crate's root, or both are one room.
fn parted(one: &str, other: &str) -> Option<(String, String, String)> {
    let (mut of_one, mut of_other) = (one.split('/').peekable(), other.split('/').peekable());
    let mut folder = Vec::new();
    loop {
        let (first, second) = (of_one.next()?, of_other.next()?);
        if first == second {
            folder.push(first);
            continue;
        }
        let parted = (folder.join("/"), room_of(first), room_of(second));
        return (!is_own(first) && !is_own(second) && parted.1 != parted.2).then_some(parted);
    }
}

/// Groups of which each member reaches every other.
fn circles(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        edges.keys().map(|file| (file, reachable(edges, file))).collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (file, targets) in &reached {
        let mutual = targets.iter().filter(|target| reached[**target].contains(*file));
        let circle: BTreeSet<String> = mutual.map(|target| (*target).clone()).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

fn reachable<'a>(edges: &'a BTreeMap<String, BTreeSet<String>>, from: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(file) = waiting.pop() {
        waiting.extend(edges[file].iter().filter(|target| reached.insert(*target)));
    }
    reached
}

/// Every path that a file names outside of its unit tests, as written: `std::fs`, also where it is imported in a group.
pub fn written(path: &Path) -> BTreeSet<String> {
    let file = read_file(path);
    let paths = file.named.iter().chain(file.uses.values()).map(|path| path.join("::"));
    paths.chain(file.globs.iter().map(|path| format!("{}::*", path.join("::")))).collect()
}

fn read_file(path: &Path) -> File {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut file = File {
        path: path.to_owned(),
        children: BTreeSet::new(),
        uses: BTreeMap::new(),
        globs: Vec::new(),
        named: BTreeSet::new(),
        items: BTreeSet::new(),
    };
    read_items(&parsed.items, &mut file);
    file
}

fn read_module(path: &Path, folder: &Path, module: Module, files: &mut BTreeMap<Module, File>) {
    let mut file = read_file(path);
    let children = file.children.clone();
    // `pub(crate)`, `pub(super)` and the value `self` name no file.
    file.named.retain(|path| path.len() > 1 || !["crate", "super", "self"].contains(&path[0].as_str()));
    // A name that is only handed on is no import; one that the code uses as well is.
    let names: BTreeSet<&str> =
        file.named.iter().filter_map(|path| path.first().map(String::as_str)).collect();
    let used: Vec<Vec<String>> = file
        .uses
        .iter()
        .filter(|(name, _)| names.contains(name.as_str()))
        .map(|(_, path)| path.clone())
        .collect();
    file.named.extend(used);
    files.insert(module.clone(), file);
    for child in children {
        let flat = folder.join(format!("{child}.rs"));
        let nested = folder.join(&child);
        let path = if flat.exists() { flat } else { nested.join("mod.rs") };
        let inner: Module = module.iter().cloned().chain([child]).collect();
        read_module(&path, &nested, inner, files);
    }
}

fn read_items(items: &[Item], file: &mut File) {
    for item in items.iter().filter(|item| !is_test(attributes(item))) {
        match item {
            Item::Mod(inner) if inner.content.is_none() => {
                file.children.insert(inner.ident.to_string());
            }
            Item::Mod(inner) => {
                let (_, items) = inner.content.as_ref().expect("a module with a body");
                file.items.insert(inner.ident.to_string());
                read_items(items, file);
            }
            Item::Use(used) => {
                let is_handed_on = !matches!(used.vis, Visibility::Inherited);
                read_use(&used.tree, &mut Vec::new(), is_handed_on, file);
            }
            other => {
                file.items.extend(defined(other));
                read_tokens(other.to_token_stream(), file);
            }
        }
    }
}

fn read_use(tree: &UseTree, before: &mut Vec<String>, is_handed_on: bool, file: &mut File) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            read_use(&path.tree, before, is_handed_on, file);
            before.pop();
        }
        UseTree::Name(name) => {
            let mut path = before.clone();
            if name.ident != "self" {
                path.push(name.ident.to_string());
            }
            let Some(last) = path.last().cloned() else { return };
            add_use(last, path, is_handed_on, file);
        }
        UseTree::Rename(rename) => {
            let path = before.iter().cloned().chain([rename.ident.to_string()]).collect();
            add_use(rename.rename.to_string(), path, is_handed_on, file);
        }
        UseTree::Glob(_) => file.globs.push(before.clone()),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| read_use(tree, before, is_handed_on, file));
        }
    }
}

fn add_use(name: String, path: Vec<String>, is_handed_on: bool, file: &mut File) {
    if !is_handed_on {
        file.named.insert(path.clone());
    }
    file.uses.insert(name, path);
}

/// Every path in the tokens: identifiers joined by `::`, macros' arguments among them.
fn read_tokens(tokens: TokenStream, file: &mut File) {
    let mut path: Vec<String> = Vec::new();
    let mut colons = 0;
    let mut is_member = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    file.named.extend((!path.is_empty()).then(|| std::mem::take(&mut path)));
                }
                if !is_member {
                    path.push(ident.to_string());
                }
                (colons, is_member) = (0, false);
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            other => {
                file.named.extend((!path.is_empty()).then(|| std::mem::take(&mut path)));
                colons = 0;
                is_member = matches!(&other, TokenTree::Punct(punct) if punct.as_char() == '.');
                if let TokenTree::Group(group) = other {
                    read_tokens(group.stream(), file);
                }
            }
        }
    }
    file.named.extend((!path.is_empty()).then_some(path));
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_only_test = |attribute: &Attribute| {
        attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    };
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") && is_only_test(attribute))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
