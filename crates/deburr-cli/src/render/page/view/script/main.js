// The parts together: filters, tables, keys, and what follows when the state changes.

const matches = (finding, words) => [finding.name, finding.near, finding.rule, finding.message, finding.file.path, finding.place, finding.source]
  .some(text => text?.toLowerCase().includes(words));

const view = isDiff ? diffView() : checkView();
const functionsTitle = `Functions ${view.functionsAre}`;

/// The findings that the filters leave, the worst first.
function chosen() {
  const words = (state.q || "").toLowerCase();
  const least = Number(state.weight) / 100 || 0;
  return findings.filter(finding => (!state.rule || finding.rule === state.rule)
    && (!state.change || finding.change === state.change)
    && (!state.severity || finding.severity === state.severity)
    && (!state.in || finding.file.path === state.in)
    && (!least || share(finding) >= least)
    && (!words || matches(finding, words)));
}

const fileColumn = { title: "File", class: "file", cell: row => element("bdi", { title: row.file.path }, row.file.name), order: byText(row => row.file.path) };

const findingTable = table(at("finding-table"), {
  label: "Findings",
  href: finding => ({ open: finding.key }),
  columns: [
    { title: "Function", class: "function", cell: calledInCell, order: byText(called) },
    { title: "Severity", class: "severity", cell: finding => severityMark(finding.severity), order: (one, other) => severityOf(one) - severityOf(other) || worse(one, other) },
    ...view.findingColumns,
    ...weightColumn,
    { title: "Rule", class: "rule", cell: finding => finding.count > 1 ? `${finding.rule} ×${grouped(finding.count)}` : finding.rule, order: byText(finding => finding.rule) },
    { title: "Place", class: "place", cell: finding => element("code", {}, finding.place), order: byText(finding => finding.place.padStart(40)) },
    ...(files.length > 1 ? [fileColumn] : !findings.some(finding => finding.source) ? [] : [{ title: "Source", class: "file", cell: finding => finding.source ? name(`${finding.source.split("/").pop()}:${finding.line}`) : "", order: byText(finding => `${finding.source}:${String(finding.line).padStart(8)}`) }]),
  ],
});

const functionTable = table(at("function-table"), {
  label: functionsTitle,
  href: item => ({ open: item.key }),
  columns: [
    { title: "Function", class: "function", cell: calledInCell, order: byText(called) },
    { title: view.kindTitle, class: "severity", cell: item => kindMark(item.kinds[0]), order: byText(item => Object.keys(KINDS).indexOf(item.kinds[0])) },
    ...view.functionColumns,
    ...(files.length > 1 ? [fileColumn] : [{ title: "Place", class: "place", cell: item => element("code", {}, item.place), order: byText(item => item.place.padStart(40)) }]),
  ],
});

const fileTable = table(at("file-table"), {
  label: "Files",
  href: file => ({ in: file.path, section: file.findings ? "findings" : "functions", open: "" }),
  columns: [{ title: "File", class: "wide", cell: file => name(file.path, "path"), order: byText(file => file.path) }, ...view.fileColumns],
});

/// A choice among values, or a field, bound to one word of the state.
function choice(label, key, options, usual = "") {
  const select = element("select", { on: { change: event => change({ [key]: event.target.value, open: "" }) } },
    usual === "" && element("option", { value: "" }, "all"), options.map(([value, text]) => element("option", { value }, text)));
  const follow = () => { select.value = state[key] || usual; };
  watchers.push(follow);
  follow();
  return element("label", {}, label, select);
}

function field(label, key, attributes) {
  const input = element("input", { ...attributes, on: { input: event => change({ [key]: event.target.value, open: "" }) } });
  const follow = () => { if (document.activeElement !== input) input.value = state[key] || ""; };
  watchers.push(follow);
  follow();
  return element("label", {}, label, input);
}

function makeFilters() {
  const rules = new Map();
  for (const { rule, count = 1 } of findings) rules.set(rule, (rules.get(rule) || 0) + count);
  const severities = SEVERITIES.filter(severity => findings.some(finding => finding.severity === severity));
  const clear = element("a", { class: "clear", ...to({ q: "", rule: "", severity: "", change: "", in: "", weight: "", open: "", section: "" }) }, "Clear");
  fill("finding-filters",
    field("Search", "q", { type: "search", id: "search", placeholder: "function, file, message" }),
    choice("Rule", "rule", [...rules].sort((one, other) => other[1] - one[1]).map(([rule, count]) => [rule, `${rule} (${grouped(count)})`])),
    choice("Severity", "severity", severities.map(severity => [severity, severity])),
    view.fates.length > 0 && choice("Change", "change", view.fates.map(([fate, count]) => [fate, `${fate} (${grouped(count)})`])),
    files.length > 1 && field("File", "in", { type: "search", placeholder: "its whole path", list: "paths" }),
    hasWeights && field("Weight from, in %", "weight", { type: "number", min: 0, max: 100, step: 0.1, inputmode: "decimal" }),
    clear);
  if (files.length > 1) {
    const paths = files.filter(file => file.findings).slice(0, 500).map(file => element("option", { value: file.path }));
    at("finding-filters").append(element("datalist", { id: "paths" }, paths));
  }
  const groups = Object.entries(view.groups).filter(([key]) => key !== "file" || files.length > 1);
  fill("map-filters",
    field("Search", "find", { type: "search", placeholder: "function, file, feature" }),
    choice("Area", "by", Object.entries(view.measures).map(([key, [text]]) => [key, text]), view.usualMeasure),
    choice("Groups", "group", groups.map(([key, [text]]) => [key, `by ${text}`]), view.usualGroup));
  for (const form of document.querySelectorAll("form")) form.addEventListener("submit", event => event.preventDefault());
}

let lastChosen = "";
function showTables() {
  const key = JSON.stringify([state.q, state.rule, state.severity, state.change, state.in, state.weight, state.verdict]);
  if (key === lastChosen) return;
  lastChosen = key;
  const rows = chosen().sort(view.worse);
  findingTable.show(rows);
  const [count, all] = [sumOf(rows), sumOf(findings)];
  at("finding-count").replaceChildren(data("shown", count), count < all ? ` of ${counted(all, "finding")}` : count === 1 ? " finding" : " findings",
    count > rows.length ? ` in ${counted(rows.length, "row")}` : "",
    count === 0 && all > 0 ? ": nothing passes these filters" : ", the worst first",
    run.room.findings.left_out ? `; ${counted(run.room.findings.left_out, "more has", "more have")} no row on this page` : "");
  const kinds = Object.keys(KINDS);
  const items = above.filter(item => (!state.verdict || item.kinds.includes(state.verdict)) && (!state.in || item.file.path === state.in))
    .sort((one, other) => share(other) - share(one) || kinds.indexOf(one.kinds[0]) - kinds.indexOf(other.kinds[0]) || view.functionOrder(one, other));
  functionTable.show(items);
  at("function-count").replaceChildren(data("functions", items.length), items.length === 1 ? " function" : " functions",
    Object.hasOwn(KINDS, state.verdict || "") ? `: ${KINDS[state.verdict][0]}` : "", state.in ? ` in ${short(state.in, 80)}` : "");
}

function showMap(before) {
  const keys = ["find", "by", "group", "into", "verdict"];
  if (before && keys.every(key => before[key] === state[key])) return;
  drawShare();
  drawMap();
}

function showSection(before) {
  if (!state.section || (before && before.section === state.section && before.open !== state.open)) return;
  const section = at(state.section);
  if (!section || section.hidden) return;
  section.scrollIntoView();
  section.querySelector("h2")?.focus({ preventScroll: true });
}

/// What the page does not show, and what could not be looked at.
function limits() {
  const { room } = run;
  const lines = [];
  if (room.findings.left_out) lines.push(`${counted(room.findings.left_out, "finding")} are counted and have no row: a page holds ${grouped(room.findings.of_run)}, ${grouped(room.findings.of_file)} of a file, the worst first.`);
  if (room.functions.left_out) lines.push(`${counted(room.functions.left_out, "function")} ${view.functionsAre} have no row: a page holds ${grouped(room.functions.of_run)}, ${grouped(room.functions.of_file)} of a file.`);
  if (room.code.left_out) lines.push(`The code of ${counted(room.code.left_out, "function")} with findings${hasWeights ? ", or hot," : ""} is left out: a page holds ${grouped(room.code.of_run)} instructions, ${grouped(room.code.of_file)} of a file; of many files fewer of each. deburr show lists the rest.`);
  lines.push(...view.leftOut());
  const listOf = ([title, rows, total]) => rows.length > 0 && element("details", {}, element("summary", {}, title),
    element("ul", { class: "plain" }, rows.slice(0, 200).map(([path, reason]) => element("li", {}, name(path), reason ? `: ${reason}` : ""))),
    total > 200 && element("p", { class: "muted" }, `and ${grouped(total - 200)} more`));
  fill("limits",
    element("p", {}, `Made by deburr ${run.version} from the same report as --format json. One file: nothing is fetched, and nothing is sent.`),
    lines.length > 0 ? element("ul", { class: "plain", id: "left-out" }, lines.map(line => element("li", {}, line))) : element("p", { class: "muted" }, "Nothing was left out."),
    view.lists.map(listOf),
    element("p", { class: "muted keys" }, "Keys: Tab to a table or the map, arrows in it, Enter opens, j and k go to the next and the previous, Esc closes, / searches."));
}

function start() {
  at("tool").textContent = view.tool;
  at("version").textContent = run.version;
  at("title").replaceChildren(view.headline());
  at("lead").textContent = view.lead();
  document.title = `${view.headline()} – ${view.tool}`;
  at("functions-title").textContent = functionsTitle;
  fill("facts", view.facts().map(([title, what]) => element("div", {}, element("dt", {}, title), element("dd", {}, what))));
  view.worst();
  limits();
  makeFilters();
  at("findings").hidden = findings.length === 0;
  at("functions").hidden = above.length === 0;
  at("files").hidden = files.length < 2;
  at("file-count").textContent = view.fileCount;
  if (files.length > 1) fileTable.show([...files].sort(view.fileOrder));
  watchers.push(showTables, showMap, showSection, showDetail);
  const parts = [["map", "Map"], ["findings", "Findings"], ["functions", "Functions"], ["files", "Files"], ["about", "About"]];
  for (const watcher of watchers) watcher();
  fill("parts", parts.filter(([id]) => !at(id).hidden).map(([id, text]) => element("a", { ...to({ section: id, open: "" }) }, text)));
}

addEventListener("keydown", event => {
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !at("findings").hidden) {
    event.preventDefault();
    at("search").focus();
  }
  const step = { j: 1, k: -1 }[event.key];
  const link = step && at("detail").open && at("detail").querySelector(`[data-step="${step}"][href]`);
  if (link) go(JSON.parse(link.dataset.to));
});

// On paper nobody can open what is folded.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("dialog details")) folded.open = true;
});

let width = 0;
addEventListener("resize", () => {
  if (Math.abs(innerWidth - width) > 20) { width = innerWidth; drawMap(); }
});
width = innerWidth;
start();
document.documentElement.dataset.ready = "true";
