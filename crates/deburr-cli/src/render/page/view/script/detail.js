// What is open: one finding or one function, in a dialog over the page.

/// Opens and closes the dialog as the state has it.
function showDetail() {
  const dialog = at("detail");
  const key = state.open || "";
  const finding = findingByKey.get(key), item = functionByKey.get(key);
  if (!finding && !item) {
    if (dialog.open) dialog.close();
    if (key) say("What this link points at is not on this page");
    return;
  }
  const order = finding ? findingTable.rows() : functionTable.rows();
  const index = order.indexOf(finding || item);
  const step = (by, label, text) => {
    const next = index < 0 ? null : order[index + by];
    return element("a", { class: "step", ...(next ? to({ open: next.key }) : {}), "aria-disabled": next ? null : "true", role: "link", "aria-label": label, "data-step": by }, text);
  };
  const close = element("a", { class: "step close", ...to({ open: "" }), "aria-label": "Close" }, "Close");
  dialog.replaceChildren(
    element("div", { class: "bar-of-dialog" }, step(-1, "Previous", "‹ Previous"), step(1, "Next", "Next ›"),
      index >= 0 && element("span", { class: "muted" }, `${grouped(index + 1)} of ${grouped(order.length)}`), close),
    element("div", { class: "detail" }, finding ? view.findingDetail(finding) : view.functionDetail(item)));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  at("detail-title").focus({ preventScroll: true });
  const frame = dialog.querySelector(".listing"), pointed = dialog.querySelector("#pointed-at");
  if (frame && pointed) frame.scrollTop = Math.max(0, pointed.offsetTop - frame.clientHeight / 3);
}

const title = (...words) => element("h2", { id: "detail-title", tabindex: "-1" }, words);
const facts2 = rows => element("dl", { class: "facts small" }, rows.filter(row => row && row[1] !== null && row[1] !== "" && row[1] !== false)
  .map(([term, ...what]) => element("div", {}, element("dt", {}, term), element("dd", {}, what))));
const quoted = text => /^[\w./+=:@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

function findingOfCheck(finding) {
  const { file, rule } = finding;
  const item = functionOf(finding);
  const cost = file.costs && file.costs[rule];
  const evidence = Object.entries(finding.evidence || {}).map(([key, value]) => [key.replaceAll("_", " "), Array.isArray(value) ? value.join(", ") : String(value)]);
  const inFunction = item && isAbove(item) && element("a", { ...to({ open: item.key }) }, "How control gets there");
  return [
    title(severityMark(finding.severity), " ", rule),
    element("p", { class: "message" }, finding.message),
    facts2([
      ["Function", name(called(finding)), inFunction ? [" · ", inFunction] : ""],
      ["Place", element("code", {}, finding.place), finding.loop ? " · in a loop" : "", finding.calls ? ` · its function is called from ${counted(finding.calls, "place")}` : ""],
      sourceFact(finding),
      ["File", name(file.path, "path")],
      finding.other && ["Compared with", name(finding.other.path), " ", element("code", {}, finding.other.svma)],
      finding.compiler && ["Made by", typeof finding.compiler === "string" ? finding.compiler : JSON.stringify(finding.compiler)],
      finding.weight && ["Weight", weightBar(finding.weight), finding.by ? ` · ${finding.by}` : ""],
    ]),
    finding.callers?.length > 0 && [element("h3", {}, "Who calls it, and what it took from there"), callersTable(finding.callers)],
    whatToDo(finding),
    element("h3", {}, "The code"),
    codeOf(finding, file.path),
    element("h3", {}, "The evidence"),
    evidence.length > 0 && facts2(evidence),
    cost !== undefined && element("div", { class: "measured" }, measured(cost)),
    pageOf(rule),
  ];
}

/// The source line of a finding.
const sourceFact = ({ source, line }) => source && ["Source", name(`${source}${line ? `:${line}` : ""}`)];

/// The findings in a function, each with what became of it where builds are compared.
function findingsOf(own) {
  const item = ({ change, severity, key, rule, count, place }) => element("li", {}, change && [fateMark(change), " "], severityMark(severity), " ",
    element("a", { ...to({ open: key }) }, rule), count > 1 ? ` ×${grouped(count)} ` : " ", element("code", {}, place));
  return own.length > 0 && [element("h3", {}, "Its findings"), element("ul", { class: "plain" }, own.slice(0, 50).map(item))];
}

/// What removes a finding.
function whatToDo({ file, rule }) {
  const fixes = (file.advice || []).filter(advice => advice.rules.includes(rule));
  if (fixes.length > 0) return [element("h3", {}, "What to change"), fixes.map(advice => remedy(advice, (advice.removes || {})[rule] ?? advice.findings))];
  return firstOf(rule, "What to do") && [element("h3", {}, "What to do"), element("p", {}, inline(firstOf(rule, "What to do")))];
}

/// The code around a finding, and how to see it elsewhere; `path`: of the file that it is in.
function codeOf(finding, path) {
  const listing = listingOf(finding.file, finding);
  const beside = other => other.in === finding.in && (other.build || "") === (finding.build || "");
  return [
    listing ? listingTable(listing, ofFile(finding.file).filter(beside), finding)
      : element("p", { class: "muted" }, "The page has no room for its code, or nothing is listed there. This shows it:"),
    element("p", {}, copyable(`deburr show ${quoted(path)} ${quoted(finding.place)}`)),
  ];
}

/// What the page of a rule says, in parts to open.
function pageOf(rule) {
  const part = (heading, title = heading, open = false) => proseOf(rule, heading) && element("details", { open }, element("summary", {}, title), proseOf(rule, heading));
  return [part("Why it costs"), part("On which cores, with the source", undefined, true), part("What to do", "What to do, in full"), part("When it is wrong")];
}

/// The calls of a helper that its samples were given back to, with a link to what the page has there: a finding, or the
/// function that calls.
function callersTable(callers) {
  const most = Math.max(...callers.map(share));
  const there = caller => ofFile(caller.file).find(finding => finding.at === caller.at && finding.in === null) || functionOf(caller);
  return element("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Calls of it, the heaviest first" },
    element("table", { class: "callers" },
      element("thead", {}, element("tr", {}, ["Called from", "Call at", "Weight"].map(title => element("th", { scope: "col" }, title)))),
      element("tbody", {}, callers.map(caller => {
        const target = there(caller);
        return element("tr", {},
          element("th", { scope: "row" }, target ? element("a", { ...to({ open: target.key }) }, name(called(caller))) : name(called(caller))),
          element("td", {}, element("code", {}, caller.at)),
          element("td", {}, weightBar(caller.weight, most)));
      }))));
}

/// What a finding of the rule costs on the machine that was measured.
function measured(cost) {
  if (!cost) return element("p", { class: "muted" }, "Not measured on the machine whose record was given.");
  return element("table", {}, element("caption", {}, `Measured: ${cost.kernel}, ${cost.found} compared with ${cost.instead || "nothing"}`),
    element("thead", {}, element("tr", {}, ["threads", "more time an operation"].map(text => element("th", { scope: "col" }, text)))),
    element("tbody", {}, cost.by_threads.map(({ threads, picoseconds }) => element("tr", {},
      element("th", { scope: "row" }, threads), element("td", {}, data("cost", picoseconds, `${(picoseconds / 1000).toFixed(1)} ns`))))));
}

function functionOfCheck(item) {
  const { file } = item;
  const group = (file.groups || []).find(group => group.id === item.group);
  const own = findingsIn(item);
  const callers = own.find(finding => finding.callers?.length)?.callers;
  const listing = own.length || item.weight ? listingOf(file, null, item) : null;
  return [
    title(kindMark(item.reach), " ", name(called(item))),
    element("p", { class: "message" }, verdictSentence(item)),
    facts2([
      ["Needs", item.level || "", item.uses.length ? element("span", { class: "muted" }, ` (${item.uses.map(([feature, count]) => `${feature} ${grouped(count)}`).join(", ")} instructions)`) : ""],
      ["Place", element("code", {}, item.place), item.size ? ` · ${bytes(item.size)}` : ""],
      ["File", name(file.path, "path")],
      item.endangered.length > 0 && ["Dies on", listed(item.endangered)],
      item.because && ["Not proven because", item.because.replaceAll("-", " ")],
      item.weight && ["Weight", weightBar(item.weight)],
      ...(item.tried || []).map(tried => [`Tried as ${tried.cpu}`, `${counted(tried.entered, "run")} of ${grouped(tried.runs)} entered it, ${counted(tried.executed, "instruction")} above it executed, ${counted(tried.died, "process", "processes")} died in it`]),
    ]),
    (item.path.length > 0 || item.guard) && [element("h3", {}, item.reach === "guarded" ? "The check before it" : "How control gets there"), pathOf(item)],
    group && [element("h3", {}, "What would settle it"), element("p", {}, group.message),
      element("p", { class: "muted" }, { closure: "deburr check --closure looks into the libraries that the file needs.", guard: "Who knows the code can state it in deburr.toml.", run: "A run on a CPU without the level: deburr try." }[group.settled_by] || ""),
      group.stated_as && [element("pre", { tabindex: "0" }, element("code", {}, group.stated_as))]],
    callers && [element("h3", {}, "Who calls it, and what it took from there"), callersTable(callers)],
    findingsOf(own),
    listing ? [element("h3", {}, "The code"), listingTable(listing, own, null)]
      : (own.length > 0 || item.weight) && [element("h3", {}, "The code"), element("p", { class: "muted" }, "Its code is not on this page, which has room for the worst and the heaviest. This shows it:")],
    element("p", {}, copyable(`deburr show ${quoted(file.path)} ${quoted(item.place)}`)),
  ];
}

function verdictSentence(item) {
  const sentence = KINDS[item.reach]?.[1] ?? item.reach;
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}.`;
}

/// The proof as a path: who starts, which function calls or stores which, and the check on the way.
function pathOf(item) {
  const nodes = [];
  const node = (className, edge, ...what) => nodes.push(element("li", { class: className }, edge && element("span", { class: "edge" }, edge), element("span", { class: "node" }, what)));
  if (item.root) node("root", "", ROOTS[item.root] ?? item.root);
  else if (item.guard && item.path.length === 0) node("root", "", "every path to it");
  const guard = item.guard;
  const check = () => node("check", "is checked", `${guard.kind} check at `, element("code", {}, guard.at), guard.name ? [" in ", name(short(guard.name, 80))] : "",
    guard.features.length ? [" proves ", element("strong", {}, listed(guard.features, 12))] : " proves nothing of what is used");
  const holder = guard ? item.path.findIndex(step => step.name !== null && step.name === guard.name) : -1;
  item.path.forEach((step, index) => {
    const isLast = index === item.path.length - 1;
    const edge = index === 0 ? item.root ? (item.root === "exported" ? "call" : "starts") : "" : step.stored ? "passes on the address of" : "calls";
    node(isLast ? "end" : "", edge, name(short(step.name || `(no name) ${step.at}`, 90)), " ", element("code", { class: "muted" }, step.at));
    if (guard && (index === holder || (holder < 0 && index === item.path.length - 2))) check();
  });
  if (item.path.length === 0) {
    if (guard) check();
    node("end", "and then enters", name(short(called(item), 90)), " ", element("code", { class: "muted" }, item.place));
  }
  return element("ol", { class: "proof" }, nodes);
}

at("detail").addEventListener("cancel", event => {
  event.preventDefault();
  go({ open: "" });
});
at("detail").addEventListener("click", event => {
  if (event.target === at("detail")) go({ open: "" });
});
