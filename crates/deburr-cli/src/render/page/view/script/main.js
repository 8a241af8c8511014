// The parts together: filters, tables, keys, and what follows when the state changes.

const matches = (finding, words) => [finding.name, finding.near, finding.rule, finding.message, finding.file.path, finding.place, finding.source]
  .some(text => text?.toLowerCase().includes(words));

/// The findings that the filters leave, the worst first.
function chosen() {
  const words = (state.q || "").toLowerCase();
  const least = Number(state.weight) / 100 || 0;
  return findings.filter(finding => (!state.rule || finding.rule === state.rule)
    && (!state.severity || finding.severity === state.severity)
    && (!state.in || finding.file.path === state.in)
    && (!least || share(finding) >= least)
    && (!words || matches(finding, words)));
}

const byText = of => (one, other) => String(of(one)).localeCompare(String(of(other)));
const fileColumn = { title: "File", class: "file", cell: row => element("bdi", { title: row.file.path }, row.file.name), order: byText(row => row.file.path) };
const weightColumn = hasWeights ? [{ title: "Weight", class: "heavy", cell: row => weightBar(row.weight), order: (one, other) => share(other) - share(one) }] : [];

const findingTable = table(at("finding-table"), {
  label: "Findings",
  href: finding => ({ open: finding.key }),
  columns: [
    { title: "Function", class: "function", cell: calledInCell, order: byText(called) },
    { title: "Severity", class: "severity", cell: finding => severityMark(finding.severity), order: (one, other) => severityOf(one) - severityOf(other) || worse(one, other) },
    ...weightColumn,
    { title: "Rule", class: "rule", cell: finding => finding.rule, order: byText(finding => finding.rule) },
    { title: "Place", class: "place", cell: finding => element("code", {}, finding.place), order: byText(finding => finding.place.padStart(40)) },
    ...(files.length > 1 ? [fileColumn] : !findings.some(finding => finding.source) ? [] : [{ title: "Source", class: "file", cell: finding => finding.source ? name(`${finding.source.split("/").pop()}:${finding.line}`) : "", order: byText(finding => `${finding.source}:${String(finding.line).padStart(8)}`) }]),
  ],
});

const functionTable = table(at("function-table"), {
  label: "Functions above the first level",
  href: item => ({ open: item.key }),
  columns: [
    { title: "Function", class: "function", cell: calledInCell, order: byText(called) },
    { title: "Verdict", class: "severity", cell: item => verdictMark(item.reach), order: byText(item => Object.keys(VERDICTS).indexOf(item.reach)) },
    ...weightColumn,
    { title: "Level", class: "rule", cell: item => name(item.level || ""), order: byText(item => item.level) },
    { title: "Bytes", class: "number", cell: item => item.size ? grouped(item.size) : "", order: (one, other) => (other.size || 0) - (one.size || 0) },
    ...(files.length > 1 ? [fileColumn] : [{ title: "Place", class: "place", cell: item => element("code", {}, item.place), order: byText(item => item.place.padStart(40)) }]),
  ],
});

const fileTable = table(at("file-table"), {
  label: "Files",
  href: file => ({ in: file.path, section: file.findings ? "findings" : "functions", open: "" }),
  columns: [
    { title: "File", class: "wide", cell: file => name(file.path, "path"), order: byText(file => file.path) },
    { title: "Needs", class: "rule", cell: file => levelOf(file), order: byText(levelOf) },
    { title: "Findings", class: "number", cell: file => file.findings ? grouped(file.findings.length) : "", order: (one, other) => (other.findings?.length || 0) - (one.findings?.length || 0) },
    { title: "Above", class: "number", cell: file => file.functions ? grouped(file.functions.length) : "", order: (one, other) => (other.functions?.length || 0) - (one.functions?.length || 0) },
    { title: "Code", class: "number", cell: file => file.bytes ? bytes(file.bytes[0]) : "", order: (one, other) => (other.bytes?.[0] || 0) - (one.bytes?.[0] || 0) },
  ],
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
  for (const { rule } of findings) rules.set(rule, (rules.get(rule) || 0) + 1);
  const severities = SEVERITIES.filter(severity => findings.some(finding => finding.severity === severity));
  const clear = element("a", { class: "clear", ...to({ q: "", rule: "", severity: "", in: "", weight: "", open: "", section: "" }) }, "Clear");
  fill("finding-filters",
    field("Search", "q", { type: "search", id: "search", placeholder: "function, file, message" }),
    choice("Rule", "rule", [...rules].sort((one, other) => other[1] - one[1]).map(([rule, count]) => [rule, `${rule} (${grouped(count)})`])),
    choice("Severity", "severity", severities.map(severity => [severity, severity])),
    files.length > 1 && field("File", "in", { type: "search", placeholder: "its whole path", list: "paths" }),
    hasWeights && field("Weight from, in %", "weight", { type: "number", min: 0, max: 100, step: 0.1, inputmode: "decimal" }),
    clear);
  if (files.length > 1) {
    const paths = files.filter(file => file.findings).slice(0, 500).map(file => element("option", { value: file.path }));
    at("finding-filters").append(element("datalist", { id: "paths" }, paths));
  }
  const measures = Object.entries(MEASURES).filter(([key]) => key !== "weight" || hasWeights);
  fill("map-filters",
    field("Search", "find", { type: "search", placeholder: "function, file, feature" }),
    choice("Area", "by", measures.map(([key, [text]]) => [key, text]), usualMeasure),
    choice("Groups", "group", Object.entries(GROUPS).filter(([key]) => key !== "file" || files.length > 1).map(([key, [text]]) => [key, `by ${text}`]), usualGroup));
  for (const form of document.querySelectorAll("form")) form.addEventListener("submit", event => event.preventDefault());
}

let lastChosen = "";
function showTables() {
  const key = JSON.stringify([state.q, state.rule, state.severity, state.in, state.weight, state.verdict]);
  if (key === lastChosen) return;
  lastChosen = key;
  const rows = chosen().sort(worse);
  findingTable.show(rows);
  const filtered = rows.length < findings.length;
  at("finding-count").replaceChildren(data("shown", rows.length), filtered ? ` of ${counted(findings.length, "finding")}` : rows.length === 1 ? " finding" : " findings",
    rows.length === 0 && findings.length > 0 ? ": nothing passes these filters" : ", the worst first",
    run.room.findings.left_out ? `; ${counted(run.room.findings.left_out, "more has", "more have")} no row on this page` : "");
  const verdicts = Object.keys(VERDICTS);
  const items = above.filter(item => (!state.verdict || item.reach === state.verdict) && (!state.in || item.file.path === state.in))
    .sort((one, other) => share(other) - share(one) || verdicts.indexOf(one.reach) - verdicts.indexOf(other.reach));
  functionTable.show(items);
  at("function-count").replaceChildren(data("functions", items.length), items.length === 1 ? " function" : " functions",
    state.verdict && VERDICTS[state.verdict] ? `: ${VERDICTS[state.verdict][0]}` : "", state.in ? ` in ${short(state.in, 80)}` : "");
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

function start() {
  at("version").textContent = run.version;
  at("title").replaceChildren(headline());
  at("lead").textContent = lead();
  document.title = `${headline()} – deburr check`;
  facts();
  worst();
  limits();
  makeFilters();
  at("findings").hidden = findings.length === 0;
  at("functions").hidden = above.length === 0;
  at("files").hidden = files.length < 2;
  at("file-count").textContent = `${counted(files.length, "file")}${counts.other_files ? `; ${counted(counts.other_files, "other file")} passed over: neither ELF nor archive` : ""}`;
  const most = (one, other, of) => (other[of]?.length || 0) - (one[of]?.length || 0);
  if (files.length > 1) fileTable.show([...files].sort((one, other) => most(one, other, "findings") || most(one, other, "functions") || one.number - other.number));
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
