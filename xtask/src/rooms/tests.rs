//! The drawing of a few small crates: layers, numbers, knots, and the same bytes each time.

use super::draw::document;
use super::layout::{Spot, ascending, crossings, lay_out, layers};
use crate::imports::Imports;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

fn read(files: &[(&str, &str)]) -> Imports {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    Imports::read(&folder.path().join("lib.rs"))
}

/// `top` imports `middle` and `low`, `middle` imports `low` from two files, and nothing names `alone`.
const ONE_WAY: [(&str, &str); 7] = [
    ("lib.rs", "mod alone;\nmod low;\nmod middle;\nmod top;\n"),
    ("alone.rs", ""),
    ("low.rs", "pub struct Low;\n"),
    ("middle/mod.rs", "mod one;\nmod two;\npub use one::One;\n"),
    ("middle/one.rs", "use crate::low::Low;\npub struct One(Low);\n"),
    ("middle/two.rs", "use crate::low::Low;\nuse super::One;\npub struct Two(Low, One);\n"),
    ("top.rs", "use crate::low::Low;\nuse crate::middle::One;\n"),
];

const KNOT: [(&str, &str); 4] = [
    ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
    ("a.rs", "pub struct A(crate::b::B);\n"),
    ("b.rs", "pub struct B;\nfn f() {\n    crate::a::A;\n    crate::c::C;\n}\n"),
    ("c.rs", "pub struct C;\n"),
];

#[test]
fn a_room_is_below_each_room_that_imports_it() {
    let rooms = read(&ONE_WAY).rooms();
    let found = layers(&rooms[0]);
    let expected = [("alone", 0), ("low", 2), ("middle", 1), ("top", 0)];
    assert_eq!(found, expected.map(|(room, layer)| (room.to_owned(), layer)).into());
}

#[test]
fn an_import_counts_from_the_file_that_is_written_to_the_file_that_defines() {
    let rooms = read(&ONE_WAY).rooms();
    let [src, middle] = rooms.as_slice() else { panic!("two folders") };
    let count = |one: &str, other: &str| src.imports[&(one.to_owned(), other.to_owned())].len();
    assert_eq!((count("middle", "low"), count("top", "middle"), count("top", "low")), (2, 1, 1));
    let defines = ("top.rs".to_owned(), "middle/one.rs".to_owned());
    assert!(src.imports[&("top".to_owned(), "middle".to_owned())].contains(&defines));
    assert_eq!(middle.edges()["two"], BTreeSet::from(["one".to_owned()]));
}

#[test]
fn a_drawing_has_boxes_and_numbers_and_is_the_same_each_time() {
    let drawn = document("a<b", &read(&ONE_WAY).rooms());
    for expected in [">top</text>", ">middle/</text>", "<title>middle to low: 2</title>", ">a&lt;b</text>"] {
        assert!(drawn.contains(expected), "{expected}: {drawn}");
    }
    assert_eq!(drawn.matches("class=\"number\"").count(), 3, "{drawn}");
    assert!(!drawn.contains("class=\"knot\"") && !drawn.contains("file knot"));
    assert_eq!(drawn, document("a<b", &read(&ONE_WAY).rooms()));
}

#[test]
fn a_knot_shares_a_layer_and_is_marked() {
    let rooms = read(&KNOT).rooms();
    let found = layers(&rooms[0]);
    assert_eq!((found["a"], found["b"], found["c"]), (0, 0, 1));
    let drawn = document("knot", &rooms);
    assert_eq!(drawn.matches("<path class=\"knot\"").count(), 2, "{drawn}");
    assert_eq!(drawn.matches("<rect class=\"file knot\"").count(), 2, "{drawn}");
}

#[test]
fn boxes_and_points_of_a_layer_do_not_overlap() {
    for (name, root) in super::crates(&crate_folder()).expect("the crates") {
        for rooms in Imports::read(&root).rooms() {
            let mut layers: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
            for place in lay_out(&rooms).places.values() {
                let sides = (place.x - place.width / 2.0, place.x + place.width / 2.0);
                layers.entry(place.y.to_bits()).or_default().push(sides);
            }
            for layer in layers.values_mut() {
                layer.sort_by(|one, other| one.0.total_cmp(&other.0));
                let is_apart = layer.windows(2).all(|pair| pair[0].1 < pair[1].0);
                assert!(is_apart, "{name}/src/{}: {layer:?}", rooms.folder);
            }
        }
    }
}

fn crate_folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").join("crates")
}

#[test]
fn lines_that_change_places_cross() {
    let spot = |name: &str| Spot::Room(name.to_owned());
    let layers = [vec![spot("a"), spot("b")], vec![spot("c"), spot("d")]];
    let links = |pairs: [(&str, &str); 2]| pairs.map(|(from, to)| (spot(from), spot(to))).into();
    assert_eq!(crossings(&layers, &links([("a", "d"), ("b", "c")])), 1);
    assert_eq!(crossings(&layers, &links([("a", "c"), ("b", "d")])), 0);
}

#[test]
fn values_that_descend_are_pooled() {
    assert_eq!(ascending(&[1.0, 4.0, 2.0, 3.0, 5.0]), [1.0, 3.0, 3.0, 3.0, 5.0]);
}
