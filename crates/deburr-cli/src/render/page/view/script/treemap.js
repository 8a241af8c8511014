// The map: functions as rectangles, as large as their code, coloured by the verdict on them or by what became of them, in groups
// that can be opened.
//
// Squarified treemaps: Bruls, Huizing and van Wijk (2000). A group is drawn with a strip for its name.

const MAP_WIDTH = 1080;
/// Rectangles that are drawn: more cannot be seen.
const MOST_TILES = 1500;
const MOST_GROUPS = 150;
/// Values, the largest first → rectangles of these areas within a rectangle.
function squarified(values, { x, y, width, height }) {
  const rectangles = [];
  const sum = values.reduce((all, value) => all + value, 0);
  if (!(sum > 0) || width <= 0 || height <= 0) return values.map(() => ({ x, y, width: 0, height: 0 }));
  const scale = width * height / sum;
  let at = 0;
  while (at < values.length) {
    const side = Math.min(width, height);
    let end = at, area = 0, ratio = Infinity;
    while (end < values.length) {
      const next = area + values[end] * scale;
      // The least square of a row's rectangles: its largest or its smallest one.
      const worstOf = side > 0 ? Math.max(side * side * values[at] * scale / (next * next), next * next / (side * side * values[end] * scale || 1e-9)) : Infinity;
      if (end > at && worstOf > ratio) break;
      ratio = worstOf;
      area = next;
      end += 1;
    }
    const depth = side > 0 ? area / side : 0;
    let along = 0;
    for (; at < end; at += 1) {
      const length = depth > 0 ? values[at] * scale / depth : 0;
      rectangles.push(width >= height ? { x, y: y + along, width: depth, height: length } : { x: x + along, y, width: length, height: depth });
      along += length;
    }
    if (width >= height) { x += depth; width -= depth; } else { y += depth; height -= depth; }
  }
  return rectangles;
}

const isHit = (item, words) => !words || [item.name, item.near, item.file.path, item.place, ...view.words(item)].some(text => text?.toLowerCase().includes(words));

/// What the map shows: of a check the functions above the first level, those with findings and the hot ones; of a comparison
/// those that differ; or one group of them.
function mapped() {
  const { measures, groups: groupings } = view;
  const measure = Object.hasOwn(measures, state.by) ? state.by : view.usualMeasure;
  const group = Object.hasOwn(groupings, state.group) ? state.group : view.usualGroup;
  const value = measures[measure][1], groupOf = groupings[group][1];
  const items = functions.filter(item => value(item) > 0 && (!state.verdict || item.kinds.includes(state.verdict)));
  const groups = new Map();
  for (const item of items) {
    const key = groupOf(item);
    const known = groups.get(key) || { key, items: [], value: 0 };
    known.items.push(item);
    known.value += value(item);
    groups.set(key, known);
  }
  let ordered = [...groups.values()].sort((one, other) => other.value - one.value);
  const zoomed = ordered.find(({ key }) => key === state.into);
  if (zoomed) ordered = [zoomed];
  return { measure, group, value, groups: ordered, zoomed: Boolean(zoomed), count: items.length };
}

function drawMap() {
  at("map").hidden = functions.length === 0;
  if (functions.length === 0) return;
  const { measure, group, value, groups, zoomed, count } = mapped();
  const words = (state.find || "").toLowerCase();
  const width = Math.min(MAP_WIDTH, Math.max(300, at("treemap").clientWidth || MAP_WIDTH)), height = count < 12 ? 220 : 440;
  const svg = drawn("svg", { class: "treemap", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `Map of ${grouped(count)} functions; arrow keys go from one to the next` });
  const hits = words ? groups.flatMap(({ items }) => items).filter(item => isHit(item, words)).length : 0;
  let hidden = 0;
  // What is too small to be seen is one rectangle together, so that areas stay true.
  const { kept, rest } = largest(groups, ({ value }) => value, width * height, MOST_GROUPS, 60);
  const restOf = (items, value) => ({ rest: items, value: items.reduce((sum, item) => sum + value(item), 0) });
  const shownGroups = rest.length ? [...kept, restOf(rest, ({ value }) => value)] : kept;
  const all = shownGroups.reduce((sum, { value }) => sum + value, 0);
  const frames = squarified(shownGroups.map(({ value }) => value), { x: 0, y: 0, width, height });
  shownGroups.forEach((of, index) => {
    const frame = frames[index];
    if (of.rest) {
      hidden += of.rest.reduce((sum, { items }) => sum + items.length, 0);
      svg.append(restTile(frame, `${counted(of.rest.length, group)} more`));
      return;
    }
    const strip = frame.height > 34 && frame.width > 44 && groups.length > 1 ? 18 : zoomed ? 18 : 0;
    if (strip) svg.append(groupHead(of, frame, group, zoomed));
    const inner = { x: frame.x + 1, y: frame.y + strip + 1, width: frame.width - 2, height: frame.height - strip - 2 };
    const items = [...of.items].sort((one, other) => value(other) - value(one));
    const most = Math.max(3, Math.floor(MOST_TILES * of.value / all));
    const { kept, rest } = largest(items, value, inner.width * inner.height, most, 24);
    const together = Object.keys(KINDS).map(kind => restOf(rest.filter(item => item.kinds[0] === kind), value)).filter(({ rest }) => rest.length);
    const entries = [...kept.map(item => ({ item, value: value(item) })), ...together].sort((one, other) => other.value - one.value);
    const tiles = squarified(entries.map(({ value }) => value), inner);
    entries.forEach(({ item, rest }, at) => svg.append(item ? tileOf(item, tiles[at], measure, words)
      : restTile(tiles[at], `${grouped(rest.length)} more`, rest[0].kinds[0])));
    hidden += rest.length;
    svg.append(drawn("rect", { class: "border", x: frame.x, y: frame.y, width: Math.max(0, frame.width), height: Math.max(0, frame.height) }));
  });
  fill("treemap", svg);
  moveByArrows(svg);
  at("map-note").textContent = [
    words && `${counted(hits, "function is", "functions are")} found.`,
    hidden > 0 && `${counted(hidden, "function is", "functions are")} too small to draw here${zoomed ? "" : "; open a group to see more"}.`,
  ].filter(Boolean).join(" ");
}

/// Those of sorted items that can be seen in an area, no more than `most` of them, and the rest.
function largest(items, value, area, most, least) {
  const sum = items.reduce((sum, item) => sum + value(item), 0);
  const small = items.findIndex(item => value(item) / sum * area < least);
  const end = Math.min(most, small < 0 ? items.length : small);
  return { kept: items.slice(0, end), rest: items.slice(end) };
}

function restTile({ x, y, width, height }, text, reach = "") {
  const tile = drawn("g", { class: reach ? `tile rest v-${reach}` : "tile rest" }, drawn("rect", { x, y, width: Math.max(0, width - 1), height: Math.max(0, height - 1) }));
  const letters = Math.floor((width - 8) / 6.6);
  if (height > 16 && letters > 3) tile.append(drawn("text", { x: x + 4, y: y + 13 }, short(text, letters)));
  tile.append(drawn("title", {}, text));
  return tile;
}

function groupHead(of, frame, group, zoomed) {
  const title = group === "file" ? of.key.slice(of.key.lastIndexOf("/") + 1) || of.key : of.key;
  const text = zoomed ? `‹ all   ${group === "file" ? of.key : of.key}` : title;
  const letters = Math.floor((frame.width - 10) / 6.6);
  const link = drawn("a", { ...to({ into: zoomed ? "" : of.key, section: "", open: "" }), class: "group", tabindex: "-1",
    "aria-label": zoomed ? "Back to all groups" : `${of.key}: ${counted(of.items.length, "function")}, open` },
    drawn("rect", { x: frame.x, y: frame.y, width: frame.width, height: 18 }),
    drawn("text", { x: frame.x + 5, y: frame.y + 13 }, short(text, Math.max(2, letters))));
  link.append(drawn("title", {}, `${of.key}: ${counted(of.items.length, "function")}`));
  return link;
}

function tileOf(item, tile, measure, words) {
  const kind = state.verdict && item.kinds.includes(state.verdict) ? state.verdict : item.kinds[0];
  const said = `${called(item)}: ${item.kinds.map(kind => KINDS[kind]?.[0] ?? kind).join(", ")}, ${view.said(item)}${files.length > 1 ? `, in ${item.file.path}` : ""}`;
  const link = drawn("a", { ...to({ open: item.key, section: "" }), class: `tile v-${kind}${words && !isHit(item, words) ? " faded" : ""}`, tabindex: "-1", "aria-label": said },
    drawn("rect", { x: tile.x, y: tile.y, width: Math.max(0, tile.width - 1), height: Math.max(0, tile.height - 1) }));
  const letters = Math.floor((tile.width - 8) / 6.6);
  if (tile.height > 16 && letters > 3) link.append(drawn("text", { x: tile.x + 4, y: tile.y + 13 }, short(item.name || item.place, letters)));
  if (tile.height > 32 && letters > 5) {
    link.append(drawn("text", { class: "second", x: tile.x + 4, y: tile.y + 27 }, short(view.second(item, measure), letters)));
  }
  link.append(drawn("title", {}, said));
  return link;
}

/// One stop for the Tab key; arrows go to the nearest rectangle in their direction.
function moveByArrows(svg) {
  const links = [...svg.querySelectorAll("a")];
  links[0]?.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", event => {
    const [right, down] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] || [0, 0];
    const from = event.target.closest("a");
    if (!from || !(right || down)) return;
    event.preventDefault();
    const middle = link => { const box = link.querySelector("rect").getBBox(); return [box.x + box.width / 2, box.y + box.height / 2]; };
    const [x, y] = middle(from);
    let best = null, least = Infinity;
    for (const link of links) {
      const [toX, toY] = middle(link);
      const along = (toX - x) * right + (toY - y) * down, across = Math.abs((toX - x) * down) + Math.abs((toY - y) * right);
      if (link !== from && along > 1 && along + 2 * across < least) { best = link; least = along + 2 * across; }
    }
    if (!best) return;
    from.setAttribute("tabindex", "-1");
    best.setAttribute("tabindex", "0");
    best.focus();
  });
}

/// The legend, with how many functions each colour has; each entry is a filter.
function drawShare() {
  const count = kind => functions.filter(item => item.kinds.includes(kind)).length;
  const parts = Object.entries(KINDS).map(([kind, words]) => [kind, words, count(kind)]).filter(([, , count]) => count);
  fill("share", element("ul", { class: "legend" }, parts.map(([kind, [called, meaning], count]) => element("li", {},
    element("a", { ...to({ verdict: state.verdict === kind ? "" : kind, open: "", section: "" }), "aria-current": state.verdict === kind ? "true" : null, title: meaning },
      element("span", { class: `swatch v-${kind}`, "aria-hidden": "true" }), called, " ", data(`verdict ${kind}`, count))))));
  at("map-lead").textContent = view.share();
}
