//! Where each room of a drawing is: layers by dependency, an order in each that has few crossings, and positions.
//!
//! In: the rooms of one folder. Out: boxes, and lines between them. A room is below every room that imports it; the rooms of a
//! knot share a layer. Lines to one room that pass a layer share one point in it.

use crate::imports::Rooms;
use std::collections::{BTreeMap, BTreeSet};

/// Between the tops of two layers.
const LAYER_HEIGHT: f64 = 96.0;
/// Of a box.
pub(super) const BOX_HEIGHT: f64 = 28.0;
/// Between two lines that leave a box: room for a number of three digits.
const PORT_WIDTH: f64 = 24.0;
/// Of a letter of a name, at 13 px in a font of fixed width.
const LETTER_WIDTH: f64 = 8.0;
/// Between two boxes of a layer.
const GAP: f64 = 18.0;
/// Of a point at which lines pass a layer.
const POINT_WIDTH: f64 = 8.0;
/// How often orders and positions are improved; the drawings of all crates settle before.
const SWEEPS: usize = 24;

/// A box or, for a room of a lower layer, the point at which lines to it pass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    /// The box of a room.
    Room(String),
    /// The point at which lines to a room pass this layer.
    Passing(String, usize),
}

/// Where something is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Its middle, from left to right.
    pub x: f64,
    /// Its top.
    pub y: f64,
    pub width: f64,
}

/// A line from a room to the next spot on the path to a room that it imports.
#[derive(Debug)]
pub(super) struct Line {
    pub from: String,
    pub to: String,
    /// How many pairs of files import.
    pub imports: usize,
    /// Where it leaves its box, from left to right.
    pub x: f64,
    /// `None` for rooms of one layer: they are in a knot.
    pub next: Option<Spot>,
}

/// A drawing of the rooms of one folder.
#[derive(Debug)]
pub(super) struct Layout {
    pub places: BTreeMap<Spot, Place>,
    pub lines: Vec<Line>,
    /// From a point to the next spot below it.
    pub passing: Vec<(Spot, Spot)>,
    pub width: f64,
    pub height: f64,
}

/// Places the rooms of a folder.
pub(super) fn lay_out(rooms: &Rooms) -> Layout {
    let layer_of = layers(rooms);
    let (spots, links) = spots(rooms, &layer_of);
    let ordered = order(spots, &links);
    let widths = widths(rooms);
    let x = positions(&ordered, &links, &widths);
    let mut places = BTreeMap::new();
    for (layer, spots) in ordered.iter().enumerate() {
        for spot in spots {
            let width = width_of(spot, &widths);
            places.insert(spot.clone(), Place { x: x[spot], y: layer as f64 * LAYER_HEIGHT, width });
        }
    }
    let left = edge(&places, |place| place.width / 2.0 - place.x);
    places.values_mut().for_each(|place| place.x = (place.x + left).round());
    let width = edge(&places, |place| place.x + place.width / 2.0);
    let lines = lines(rooms, &layer_of, &places);
    let passing = links
        .iter()
        .filter(|(from, _)| matches!(from, Spot::Passing(..)))
        .map(|(from, to)| (from.clone(), to.clone()))
        .collect();
    Layout { places, lines, passing, width, height: ordered.len() as f64 * LAYER_HEIGHT }
}

/// The most of what places say.
fn edge(places: &BTreeMap<Spot, Place>, of: impl Fn(&Place) -> f64) -> f64 {
    places.values().map(of).fold(0.0, f64::max)
}

/// The layer of each room: one below the lowest room that imports it, except from its own knot.
pub(super) fn layers(rooms: &Rooms) -> BTreeMap<String, usize> {
    let knots: Vec<BTreeSet<String>> = rooms.knots().into_iter().map(|knot| knot.rooms).collect();
    let is_knotted =
        |one: &String, other: &String| knots.iter().any(|knot| knot.contains(one) && knot.contains(other));
    let mut layers: BTreeMap<String, usize> = rooms.is_folder.keys().map(|room| (room.clone(), 0)).collect();
    // Without knots the longest path has fewer steps than there are rooms.
    for _ in 0..rooms.is_folder.len() {
        for (one, other) in rooms.imports.keys().filter(|(one, other)| !is_knotted(one, other)) {
            let below = layers[one] + 1;
            layers.entry(other.clone()).and_modify(|layer| *layer = below.max(*layer)).or_default();
        }
        for knot in &knots {
            let lowest = knot.iter().map(|room| layers[room]).max().unwrap_or_default();
            layers.extend(knot.iter().map(|room| (room.clone(), lowest)));
        }
    }
    layers
}

/// The next spot on the path from a room in a layer to another room.
fn next(layer: usize, other: &str, layer_of: &BTreeMap<String, usize>) -> Spot {
    if layer_of[other] == layer + 1 {
        Spot::Room(other.into())
    } else {
        Spot::Passing(other.into(), layer + 1)
    }
}

type Links = BTreeSet<(Spot, Spot)>;

/// The spots of each layer, and which lead to which of the next.
fn spots(rooms: &Rooms, layer_of: &BTreeMap<String, usize>) -> (Vec<Vec<Spot>>, Links) {
    let count = layer_of.values().max().map_or(0, |last| last + 1);
    let mut spots: Vec<BTreeSet<Spot>> = vec![BTreeSet::new(); count];
    let mut links = Links::new();
    for (room, layer) in layer_of {
        spots[*layer].insert(Spot::Room(room.clone()));
    }
    for (one, other) in rooms.imports.keys() {
        let mut from = Spot::Room(one.clone());
        for layer in layer_of[one]..layer_of[other] {
            let to = next(layer, other, layer_of);
            spots[layer + 1].insert(to.clone());
            links.insert((from, to.clone()));
            from = to;
        }
    }
    (spots.into_iter().map(|layer| layer.into_iter().collect()).collect(), links)
}

/// For each spot, those of the layer above that lead to it and those of the layer below that it leads to.
fn neighbours(links: &Links) -> BTreeMap<&Spot, [Vec<&Spot>; 2]> {
    let mut neighbours: BTreeMap<&Spot, [Vec<&Spot>; 2]> = BTreeMap::new();
    for (from, to) in links {
        neighbours.entry(to).or_default()[0].push(from);
        neighbours.entry(from).or_default()[1].push(to);
    }
    neighbours
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Orders each layer by the mean position of the neighbours above, then of those below, in turn.
fn order(mut layers: Vec<Vec<Spot>>, links: &Links) -> Vec<Vec<Spot>> {
    let neighbours = neighbours(links);
    let mut best = (crossings(&layers, links), layers.clone());
    for sweep in 0..SWEEPS {
        let side = sweep % 2;
        let mut at: Vec<usize> = (0..layers.len()).collect();
        if side == 1 {
            at.reverse();
        }
        for layer in at {
            let rank = ranks(&layers);
            let wanted = |spot: &Spot| {
                let others = neighbours.get(spot).map(|sides| sides[side].as_slice()).unwrap_or_default();
                mean(others.iter().map(|other| rank[*other])).unwrap_or(rank[spot])
            };
            let mut sorted: Vec<(f64, Spot)> =
                layers[layer].iter().map(|spot| (wanted(spot), spot.clone())).collect();
            sorted.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            layers[layer] = sorted.into_iter().map(|(_, spot)| spot).collect();
        }
        let count = crossings(&layers, links);
        if count < best.0 {
            best = (count, layers.clone());
        }
    }
    best.1
}

/// The rank of each spot in its layer, from 0 to 1.
fn ranks(layers: &[Vec<Spot>]) -> BTreeMap<Spot, f64> {
    let rank = |layer: &[Spot]| -> Vec<(Spot, f64)> {
        let count = layer.len() as f64;
        layer.iter().enumerate().map(|(at, spot)| (spot.clone(), (at as f64 + 0.5) / count)).collect()
    };
    layers.iter().flat_map(|layer| rank(layer)).collect()
}

/// How many pairs of links cross.
pub(super) fn crossings(layers: &[Vec<Spot>], links: &Links) -> usize {
    let mut place = BTreeMap::new();
    for (layer, spots) in layers.iter().enumerate() {
        place.extend(spots.iter().enumerate().map(|(at, spot)| (spot, (layer, at))));
    }
    let ends: Vec<[(usize, usize); 2]> = links.iter().map(|(from, to)| [place[from], place[to]]).collect();
    let cross = |one: &[(usize, usize); 2], other: &[(usize, usize); 2]| {
        one[0].0 == other[0].0
            && (one[0].1 < other[0].1 && one[1].1 > other[1].1
                || one[0].1 > other[0].1 && one[1].1 < other[1].1)
    };
    let pairs =
        ends.iter().enumerate().map(|(at, one)| ends[..at].iter().filter(|other| cross(one, other)).count());
    pairs.sum()
}

/// A box is wide enough for its name and for the lines that leave it.
fn widths(rooms: &Rooms) -> BTreeMap<String, f64> {
    let edges = rooms.edges();
    let width = |room: &String| {
        let letters = room.chars().count() + usize::from(rooms.is_folder[room]);
        (letters as f64 * LETTER_WIDTH + 16.0).max(edges[room].len() as f64 * PORT_WIDTH + 8.0)
    };
    rooms.is_folder.keys().map(|room| (room.clone(), width(room))).collect()
}

fn width_of(spot: &Spot, widths: &BTreeMap<String, f64>) -> f64 {
    match spot {
        Spot::Room(room) => widths[room],
        Spot::Passing(..) => POINT_WIDTH,
    }
}

/// Positions in each layer as near to the mean of the neighbours as its order permits.
fn positions(layers: &[Vec<Spot>], links: &Links, widths: &BTreeMap<String, f64>) -> BTreeMap<Spot, f64> {
    let neighbours = neighbours(links);
    let offsets = |layer: &[Spot]| -> Vec<f64> {
        let mut end = 0.0;
        let middle = |spot: &Spot| {
            let width = width_of(spot, widths);
            end += width + GAP;
            end - GAP - width / 2.0
        };
        layer.iter().map(middle).collect()
    };
    let mut x: BTreeMap<Spot, f64> = BTreeMap::new();
    for layer in layers {
        let offsets = offsets(layer);
        let middle = offsets.last().copied().unwrap_or_default() / 2.0;
        x.extend(layer.iter().zip(offsets).map(|(spot, offset)| (spot.clone(), offset - middle)));
    }
    for sweep in 0..SWEEPS {
        let mut at: Vec<usize> = (0..layers.len()).collect();
        if sweep % 2 == 1 {
            at.reverse();
        }
        for layer in at.into_iter().map(|at| &layers[at]) {
            let wanted = |spot: &Spot| {
                let others = neighbours.get(spot).into_iter().flatten().flatten();
                mean(others.map(|other| x[*other])).unwrap_or(x[spot])
            };
            let offsets = offsets(layer);
            let free: Vec<f64> =
                layer.iter().zip(&offsets).map(|(spot, offset)| wanted(spot) - offset).collect();
            let settled = ascending(&free);
            let placed = layer.iter().zip(settled).zip(offsets);
            x.extend(placed.map(|((spot, settled), offset)| (spot.clone(), settled + offset)));
        }
    }
    x
}

/// The ascending values nearest to some values, by least squares: pool adjacent violators.
pub(super) fn ascending(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut pool = (*value, 1);
        while let Some((before, count)) = pools.pop_if(|(before, _)| *before > pool.0) {
            let all = count + pool.1;
            pool = ((before * count as f64 + pool.0 * pool.1 as f64) / all as f64, all);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
}

/// The lines that leave boxes, each at a place of its own on the lower side of its box, in the order of where they lead.
fn lines(rooms: &Rooms, layer_of: &BTreeMap<String, usize>, places: &BTreeMap<Spot, Place>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (room, others) in rooms.edges() {
        let layer = layer_of[&room];
        let next = |other: &str| (layer_of[other] > layer).then(|| next(layer, other, layer_of));
        let target = |other: &String| places[&next(other).unwrap_or_else(|| Spot::Room(other.clone()))].x;
        let mut others: Vec<String> = others.into_iter().collect();
        others.sort_by(|one, other| target(one).total_cmp(&target(other)));
        let first = places[&Spot::Room(room.clone())].x - (others.len() as f64 - 1.0) * PORT_WIDTH / 2.0;
        for (at, other) in others.into_iter().enumerate() {
            let imports = rooms.imports[&(room.clone(), other.clone())].len();
            let next = next(&other);
            lines.push(Line {
                from: room.clone(),
                to: other,
                imports,
                x: first + at as f64 * PORT_WIDTH,
                next,
            });
        }
    }
    lines
}
