// The data of the page → files, findings and functions as objects. What the columns mean is documented in record.rs of
// render/check/html and of render/diff/html.

const run = JSON.parse(document.getElementById("run").textContent);
const files = [...document.querySelectorAll("script.files")].flatMap(element => JSON.parse(element.textContent));
const isDiff = run.kind === "diff";
// Of a comparison, code of the old build is apart.
const codeElements = new Map([...document.querySelectorAll("script.code")].map(element => [`${element.dataset.file}${element.dataset.build || ""}`, element]));

const SEVERITIES = ["error", "warning", "note"];
const VERDICTS = {
  "required": ["needed", "runs without a check: a machine that lacks it dies here"],
  "under-guarded": ["checked for too little", "a check is before it that does not prove all it uses"],
  "unknown": ["not proven", "a path to it is not followed"],
  "presumed": ["presumably checked", "chosen by a test that has the right meaning, of a word not proven to hold it"],
  "covered": ["needed anyway", "not proven, and the file needs that level for other reasons"],
  "guarded": ["checked", "every path to it passes a sufficient check"],
  "offered": ["offered", "callers in other files choose it by its name, which says for which CPUs it is"],
  "unreached": ["not reached", "no known path leads to it"],
  "first": ["first level", "needs nothing special, and has findings, or took much of the run"],
  "made": ["made at run time", "for the CPU that it ran on, and has findings, or took much of the run"],
};
const CHANGES = {
  "gained": ["findings appeared", "has findings that it did not have"],
  "raised": ["level raised", "uses instructions of a higher level than before"],
  "lost": ["findings gone", "no longer has findings that it had"],
  "lowered": ["level lowered", "no longer uses instructions of a higher level"],
  "appeared": ["appeared", "only the new build has it"],
  "gone": ["gone", "only the old build has it"],
  "otherwise": ["made differently", "other vector widths, atomics or features"],
  "called": ["calls changed", "called from more or fewer places"],
  "resized": ["resized", "longer or shorter than before"],
};
/// What a function is coloured by: the verdict on it, or what became of it.
const KINDS = isDiff ? CHANGES : VERDICTS;
/// What became of findings.
const FATES = ["appeared", "gone", "moved", "remained"];
const ROOTS = {
  "entry-point": "the start of the program",
  "preinit-array": "the loader, before anything else",
  "init-array": "the loader, before main",
  "fini-array": "the loader, at the end",
  "loader": "the loader",
  "exported": "callers outside of the file",
  "data": "a pointer in data",
};
const ARCHES = { x86_64: "x86-64", aarch64: "AArch64" };
const FIRST_LEVELS = new Set(["x86-64-v1", "armv8.0-a"]);

/// An address as it is shown: in a section, it is an offset.
const placeIn = (section, at) => section ? `${section}+${at}` : at;

/// Rows → objects; columns in `texts` are numbers of the file's table.
function objects(rows, columns, file, texts) {
  return (rows || []).map(row => {
    const object = { file };
    for (let at = 0; at < columns.length; at += 1) {
      const value = row[at] || null;
      object[columns[at]] = value !== null && texts.has(columns[at]) ? file.texts[value] : value;
    }
    object.place = placeIn(object.in, object.at);
    return object;
  });
}

const FINDING_TEXTS = new Set(["rule", "severity", "name", "near", "in", "message", "source", "by", "change", "from"]);
const FUNCTION_TEXTS = new Set(["name", "near", "in", "level", "reach", "root", "because", "group"]);
const findings = [];
const functions = [];

/// The findings and functions of a file that was checked.
function readChecked(file) {
  for (const finding of objects(file.findings, run.columns.finding, file, FINDING_TEXTS)) {
    finding.evidence = file.evidence[finding.evidence || 0];
    finding.callers = (finding.callers || []).map(([name, at, weight]) => ({ file, name: name ? file.texts[name] : null, at, in: null, place: at, weight: weight || 0 }));
    finding.key = `finding:${file.path}:${finding.place}:${finding.rule}`;
    findings.push(finding);
  }
  const text = value => value ? file.texts[value] : null;
  for (const item of objects(file.functions, run.columns.function, file, FUNCTION_TEXTS)) {
    const uses = item.uses || [];
    item.uses = uses.flatMap((name, at) => at % 2 ? [] : [[text(name), uses[at + 1]]]);
    item.path = (item.path || []).map(([name, at, stored]) => ({ name: text(name), at, stored: Boolean(stored) }));
    item.guard = item.guard && { kind: text(item.guard[0]), at: item.guard[1], name: text(item.guard[2]), features: item.guard[3].map(text) };
    item.endangered = (item.endangered || []).map(text);
    file.of.push(item);
  }
  for (const item of objects(file.others, run.columns.other, file, FUNCTION_TEXTS)) {
    const [reach, level] = file.made_at_run_time ? ["made", ""] : ["first", FIRST_LEVELS.has(file.level) ? file.level : "first level"];
    file.of.push({ ...item, reach, level, uses: [], path: [], guard: null, endangered: [] });
  }
  for (const item of file.of) {
    item.key = `function:${file.path}:${item.place}`;
    item.kinds = [item.reach];
    functions.push(item);
  }
}

/// The findings and functions of two files that were compared. What is gone is in the old build.
function readCompared(file) {
  for (const finding of objects(file.findings, run.columns.finding, file, FINDING_TEXTS)) {
    finding.count ||= 1;
    finding.build = finding.change === "gone" ? "old" : "";
    // What moved to one place may come from several functions.
    finding.key = `${finding.change}:${file.path}:${finding.place}:${finding.rule}${finding.from ? `:${finding.from}` : ""}`;
    findings.push(finding);
  }
  const text = value => value ? file.texts[value] : "";
  file.byName = new Map();
  for (const item of objects(file.functions, run.columns.function, file, FUNCTION_TEXTS)) {
    const side = part => part && { at: part[0], in: text(part[1]) || null, size: part[2] || 0, level: text(part[3]), count: part[4] || 1,
      place: placeIn(text(part[1]), part[0]) };
    Object.assign(item, { old: side(item.old), new: side(item.new) });
    const own = item.new || item.old;
    Object.assign(item, { at: own.at, in: own.in, place: own.place, size: own.size, level: own.level, build: item.new ? "" : "old" });
    item.kinds = item.what.map(text);
    item.changes = (item.changes || []).map(([what, before, after]) => ({ what: text(what).replaceAll("-", " "), before: text(before), after: text(after) }));
    // Two long names may be alike once their middle is lost: then neither is known by its name.
    const isOther = file.byName.has(item.name);
    item.key = `function:${file.path}:${item.name}${isOther ? `:${item.place}` : ""}`;
    file.of.push(item);
    file.byName.set(item.name, isOther ? null : item);
    functions.push(item);
  }
}

files.forEach((file, number) => {
  file.number = number;
  file.texts = file.texts || [];
  file.name = file.path.slice(file.path.lastIndexOf("/") + 1) || file.path;
  file.of = [];
  file.code = {};
  if (isDiff) readCompared(file); else readChecked(file);
});
// What comparisons of files found has no row of its own in the record of a file.
for (const found of run.across || []) {
  const file = files.find(file => file.path === found.path);
  if (!file) continue;
  const place = placeIn(found.section, found.svma);
  findings.push({ ...found, file, at: found.svma, in: found.section || null, place, name: found.function, extent: 0,
    key: `finding:${found.path}:${place}:${found.rule}` });
}

const findingByKey = new Map(findings.map(finding => [finding.key, finding]));
const functionByKey = new Map(functions.map(item => [item.key, item]));
const isAbove = item => item.reach !== "first" && item.reach !== "made";
/// The functions that have a row of their own.
const above = functions.filter(isAbove);
const hasWeights = files.some(file => file.profile);

/// The functions of a file by address, for searching.
function sorted(file) {
  file.sorted ??= file.of.map(item => ({ start: BigInt(item.at), end: BigInt(item.at) + BigInt(item.size || 1), item }))
    .sort((one, other) => one.start < other.start ? -1 : 1);
  return file.sorted;
}

/// The function that a finding is in, if the page has it.
function functionOf(finding) {
  if (isDiff) return finding.file.byName.get(finding.name);
  const at = BigInt(finding.at);
  const candidates = sorted(finding.file);
  return candidates.find(({ start, end, item }) => item.in === finding.in && start <= at && at < end)?.item;
}

/// The findings in a function.
function findingsIn(item) {
  if (isDiff) return functionOf(item) === item ? ofFile(item.file).filter(finding => finding.name === item.name) : [];
  const start = BigInt(item.at), end = start + BigInt(item.size || 1);
  return ofFile(item.file).filter(finding => finding.in === item.in && BigInt(finding.at) >= start && BigInt(finding.at) < end);
}

/// The findings of a file.
function ofFile(file) {
  file.findingObjects ??= findings.filter(finding => finding.file === file);
  return file.findingObjects;
}

/// The listing of the function at a place, or of the one that holds a finding; of a comparison, in one of the builds.
function listingOf(file, finding, item) {
  const build = (item || finding).build || "";
  const element = codeElements.get(`${file.number}${build}`);
  if (!element) return null;
  file.code[build] ??= JSON.parse(element.textContent).map(listing => ({ ...listing, insns: instructions(listing) }));
  const is = listing => item ? (listing.in ?? null) === item.in && listing.at === item.at
    : (listing.in ?? null) === finding.in && listing.insns.some(insn => insn.at === finding.at);
  return file.code[build].find(is) || null;
}

/// The rows of a listing as objects, with all addresses.
function instructions(listing) {
  const columns = run.columns.insn;
  let next = 0n;
  return listing.rows.map(row => {
    const insn = Object.fromEntries(columns.map((name, at) => [name, row[at] || null]));
    if (insn.at !== null) next = BigInt(insn.at);
    insn.at = `0x${next.toString(16)}`;
    next += BigInt(insn.size);
    for (const name of ["text", "label", "loops", "features"]) {
      if (insn[name] !== null) insn[name] = listing.texts[insn[name]];
    }
    if (insn.source) insn.source = { file: listing.texts[insn.source[0]], line: insn.source[1] || 0, text: listing.texts[insn.source[2] || 0] };
    return insn;
  });
}

const severityOf = finding => SEVERITIES.indexOf(finding.severity);
const share = item => item.weight || 0;

/// The worst first: heavy where there is a profile, severe, in loops, of functions called from many places.
function worse(one, other) {
  return share(other) - share(one) || severityOf(one) - severityOf(other) || (other.loop || 0) - (one.loop || 0)
    || (other.calls || 0) - (one.calls || 0);
}

/// How many findings some rows are: like ones of a function share a row of a comparison.
const sumOf = rows => rows.reduce((sum, { count = 1 }) => sum + count, 0);
