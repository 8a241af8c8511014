// A comparison of two builds: its first screen (whether the new build is worse, and why), what opens, and what its map and its
// tables have of their own.

const LEVELS = { needed: "level needed", guarded: "level with checks", present: "level contained" };
const sumOver = of => files.reduce((sum, file) => sum + (of(file) || 0), 0);
const differs = file => !file.old || (file.levels || []).length + (file.build || []).length + file.came + file.went + file.moved + differing(file) > 0;
/// How many named functions differ, those without a row among them.
const differing = file => file.differing?.[0] || 0;
const fateMark = fate => element("span", { class: `mark-of f-${fate}` }, fate);
/// How many findings appeared, by severity, those without a row among them.
const cameBySeverity = () => SEVERITIES.map((severity, at) => [severity, sumOver(file => file.came_by_severity[at])]);
const needed = file => (file.levels || []).find(level => level.what === "needed");
const arrow = (before, after) => [name(before || "none"), " → ", name(after || "none")];

/// A number of bytes before and after, and by how much it changed.
function grew(before, after) {
  if (before === after) return bytes(after);
  const change = before > 0 ? `, ${after > before ? "+" : "−"}${percent(Math.abs(after - before) / before)}` : "";
  return `${bytes(before)} → ${bytes(after)}${change}`;
}

function comparedHeadline() {
  if (files.length === 0) return "Nothing was compared";
  return run.worse ? "The new build is worse" : run.better ? "The new build is better" : "Nothing is worse";
}

/// Why, in one sentence.
function comparedLead() {
  if (files.length === 0) return "No two files belong together. What was not compared is listed below.";
  const changed = files.filter(differs).length;
  const raised = files.filter(file => needed(file)?.raised).length;
  const came = cameBySeverity().slice(0, SEVERITIES.indexOf(run.fail_on) + 1).reduce((sum, [, count]) => sum + count, 0);
  const died = files.filter(file => file.answer === "dies" && file.old_answer !== "dies").length;
  const builtWorse = files.filter(file => (file.build || []).some(([, , , isWorse]) => isWorse)).length;
  const opened = files.filter(file => file.worse && file.answer === "undecided" && file.old_answer !== "undecided").length;
  const reasons = [died > 0 && counted(died, "file dies on the baseline", "files die on the baseline"),
    opened > 0 && counted(opened, "file became undecided", "files became undecided"), raised > 0 && counted(raised, "file needs a higher level", "files need a higher level"),
    builtWorse > 0 && counted(builtWorse, "file was built in a way that costs", "files were built in a way that costs"),
    came > 0 && `${counted(came, "finding")} of severity ${run.fail_on}${run.fail_on === "error" ? "" : " or above"} appeared`].filter(Boolean);
  if (run.worse && reasons.length) return `${listed(reasons)}.`;
  return changed ? `${counted(changed, "file")} of ${grouped(files.length)} differ${changed === 1 ? "s" : ""}; ${run.better ? "what weighs most is better." : "no level is raised, and no finding appeared that counts."}`
    : `${counted(files.length, "file")}: no difference in levels, findings, and what is compared of functions.`;
}

function comparedFacts() {
  const pairs = files.filter(file => file.old).length, added = files.length - pairs;
  const [before, after] = [0, 1].map(side => sumOver(file => file.bytes?.[side]));
  const compared = [counted(pairs, "file"), added && `${grouped(added)} only in the new build`, run.only_old_count && `${grouped(run.only_old_count)} only in the old one`].filter(Boolean).join(", ");
  const levels = files.flatMap(file => (file.levels || []).map(level => [file, level]));
  const raised = levels.filter(([, level]) => level.raised && level.what === "needed");
  const changed = files.flatMap(file => (file.build || []).map(row => [file, row]));
  const built = [...changed.filter(([, row]) => row[3]), ...changed.filter(([, row]) => !row[3])];
  const shown = [...raised, ...levels.filter(pair => !raised.includes(pair))].slice(0, 6);
  const chip = (fate, count) => [element("a", { class: "chip", ...to({ change: fate, section: "findings", open: "" }) }, fateMark(fate), " ", data(`fate ${fate}`, count)), " "];
  const bySeverity = cameBySeverity().filter(([, count]) => count);
  const different = sumOver(differing);
  const parts = [["appeared", "came"], ["gone", "went"], ["moved", "moved"], ["remained", "same"]];
  return [
    ["Compared", [element("p", {}, name(run.old, "path"), " → ", name(run.new, "path")),
      element("p", { class: "muted" }, `${compared}; code: ${grew(before, after)}`)]],
    ["Levels", levels.length === 0 ? element("p", {}, "The same in every file")
      : [shown.map(([file, level]) => element("p", {}, files.length > 1 ? [element("a", { ...to({ in: file.path, section: "functions", open: "" }) }, name(file.name)), ": "] : "",
        LEVELS[level.what] ?? level.what, " ", arrow(level.old, level.new), " ", element("span", { class: `mark-of v-${level.raised ? "raised" : "lowered"}` }, level.raised ? "raised" : "lowered"))),
        levels.length > shown.length && element("p", { class: "muted" }, `and ${counted(levels.length - shown.length, "other change")} of levels`)]],
    ...(built.length > 0 ? [["Build", [built.slice(0, 6).map(([file, [what, before, after, isWorse]]) => element("p", {},
      files.length > 1 ? [element("a", { ...to({ in: file.path, section: "functions", open: "" }) }, name(file.name)), ": "] : "", what, " ", arrow(before, after), " ",
      isWorse && element("span", { class: "mark-of error" }, "worse"))),
    built.length > 6 && element("p", { class: "muted" }, `and ${counted(built.length - 6, "other change")} of how files were built`)]]] : []),
    ["Findings", [element("p", {}, parts.map(([fate, sum]) => chip(fate, sumOver(file => file[sum])))),
      bySeverity.length > 0 && element("p", { class: "muted" }, "appeared: ", listed(bySeverity.map(([severity, count]) => counted(count, severity))))]],
    ["Functions", element("p", {}, data("functions-came", sumOver(file => file.functions_came)), " appeared, ", data("functions-went", sumOver(file => file.functions_went)), " gone",
      ", in files that both builds have; ", counted(different, "function differs", "functions differ"), different > functions.length ? `, of which ${grouped(functions.length)} have room on the map` : "")],
  ];
}

/// The files that changed most, those that are worse first, each with its reason.
function worstFiles() {
  const changed = files.filter(differs).sort(fileOrder);
  if (changed.length === 0) { fill("worst"); return; }
  fill("worst", element("h2", {}, run.worse ? "What makes it worse" : "What changed"), element("ol", { class: "worst" }, changed.slice(0, 6).map(file => {
    const level = needed(file);
    const first = ofFile(file).filter(finding => finding.change === "appeared").sort(worse)[0];
    const sums = [file.came && `${counted(file.came, "finding")} appeared`, file.went && `${grouped(file.went)} gone`, file.moved && `${grouped(file.moved)} moved`, differing(file) > 0 && `${counted(differing(file), "function differs", "functions differ")}`].filter(Boolean);
    return element("li", {},
      element("h3", {}, file.worse && element("span", { class: "mark-of error" }, "worse"), " ", element("a", { ...to({ in: file.path, section: file.came + file.went ? "findings" : "functions", open: "" }) }, name(file.name)),
        !file.old && element("span", { class: "muted" }, "only in the new build")),
      (file.build || []).filter(row => row[3]).slice(0, 3).map(([what, before, after]) => element("p", {}, what, ": ", arrow(before, after))),
      level && element("p", {}, `${level.raised ? "Needs more" : "Needs less"}: `, arrow(level.old, level.new)),
      first && element("p", {}, severityMark(first.severity), " ", element("a", { ...to({ open: first.key }) }, first.rule), " in ", name(short(called(first), 70)), ": ", first.message),
      sums.length > 0 && element("p", { class: "muted" }, listed(sums)));
  })));
}

const fileOrder = (one, other) => Number(other.worse || 0) - Number(one.worse || 0)
  || Number(needed(other)?.raised || 0) - Number(needed(one)?.raised || 0) || other.came - one.came || other.went - one.went || differing(other) - differing(one) || one.number - other.number;

function comparedShare() {
  const size = sumOver(file => file.differing?.[1]), all = sumOver(file => file.bytes?.[1]);
  const [count, length] = [0, 1].map(at => sumOver(file => file.unchanged?.[at]));
  const rest = count ? ` ${counted(count, "named function has", "named functions have")} the size, the features and the findings of before (${bytes(length)}), and ${count === 1 ? "is" : "are"} not drawn. Functions are matched by name; their bytes are not compared.` : "";
  return `The functions that differ are ${percent(size / Math.max(1, all))} of ${bytes(all)} of code in the new build.${rest}`;
}

/// What a function was and is.
const sideFact = (title, side, path) => side && [title, element("code", {}, side.place), ` · ${bytes(side.size)} · ${side.level}`,
  side.count > 1 ? ` · ${grouped(side.count)} functions of this name, taken as one` : "", element("br"), name(path, "path muted")];

function functionOfDiff(item) {
  const { file, old, new: now } = item;
  const own = findingsIn(item);
  const changes = [...item.changes.filter(({ what }) => what !== "size"),
    ...(old && now && old.level !== now.level ? [{ what: "level", before: old.level, after: now.level }] : []),
    ...(old && now && old.size !== now.size ? [{ what: "size", before: bytes(old.size), after: bytes(now.size) }] : []),
    ...(item.calls ? [{ what: "calls of it", before: grouped(item.calls[0] || 0), after: grouped(item.calls[1] || 0) }] : [])];
  const code = [["The code in the new build", now && listingOf(file, null, { at: now.at, in: now.in, build: "" }), ""],
    ["The code in the old build", old && listingOf(file, null, { at: old.at, in: old.in, build: "old" }), "old"]].filter(([, listing]) => listing);
  const show = (side, path) => side && element("p", {}, copyable(`deburr show ${quoted(path)} ${quoted(side.place)}`));
  return [
    title(item.kinds.slice(0, 3).map(kindMark), " ", name(called(item))),
    element("p", { class: "message" }, item.kinds.map(kind => KINDS[kind]?.[1] ?? kind).map((text, at) => at ? text : text[0].toUpperCase() + text.slice(1)).join("; "), "."),
    facts2([sideFact("New build", now, file.path), sideFact("Old build", old, file.old || "")]),
    changes.length > 0 && [element("h3", {}, "What changed"), element("div", { class: "table", tabindex: "0", role: "region", "aria-label": "What changed" },
      element("table", { class: "callers" }, element("thead", {}, element("tr", {}, ["What", "Old", "New"].map(text => element("th", { scope: "col" }, text)))),
        element("tbody", {}, changes.map(({ what, before, after }) => element("tr", {}, element("th", { scope: "row" }, what), element("td", {}, before), element("td", {}, after))))))],
    findingsOf(own),
    code.map(([heading, listing, build]) => [element("h3", {}, heading), listingTable(listing, ofFile(file).filter(finding => finding.build === build), null)]),
    code.length === 0 && element("p", { class: "muted" }, "Code is on this page where findings are. These show it:"),
    show(now, file.path), show(old, file.old || ""),
  ];
}

function findingOfDiff(finding) {
  const { file, rule, change, count } = finding;
  const item = functionOf(finding);
  const path = change === "gone" ? file.old : file.path;
  const meaning = { appeared: "only the new build has it", gone: "only the old build has it", moved: "it was in another function of the old build", remained: "both builds have it; this is the new one" }[change];
  return [
    title(fateMark(change), " ", severityMark(finding.severity), " ", rule),
    element("p", { class: "message" }, finding.message),
    facts2([
      ["Change", meaning, count > 1 ? `; ${grouped(count)} like it in the function, of which this is the first` : ""],
      change === "moved" && ["Moved from", name(finding.from || "")],
      ["Function", item ? element("a", { ...to({ open: item.key }) }, name(called(finding))) : name(called(finding))],
      ["Place", element("code", {}, finding.place)],
      sourceFact(finding),
      ["File", name(path, "path")],
    ]),
    change !== "gone" && whatToDo(finding),
    element("h3", {}, change === "gone" ? "The code in the old build" : "The code"),
    codeOf(finding, path),
    pageOf(rule),
  ];
}

/// What the page of a comparison has of its own.
function diffView() {
  const fates = FATES.map(fate => [fate, sumOf(findings.filter(finding => finding.change === fate))]).filter(([, count]) => count);
  const change = item => Math.abs((item.new?.size || 0) - (item.old?.size || 0));
  const sizes = item => item.old && item.new && item.old.size !== item.new.size ? `${bytes(item.old.size)} → ${bytes(item.new.size)}` : bytes(item.size);
  return {
    tool: "deburr diff", headline: comparedHeadline, lead: comparedLead, facts: comparedFacts, worst: worstFiles,
    share: comparedShare, leftOut: () => [], findingDetail: findingOfDiff, functionDetail: functionOfDiff,
    measures: {
      size: ["size of code", item => item.size || 1],
      change: ["change in size", change],
      findings: ["findings that appeared or are gone", item => (item.gained || 0) + (item.lost || 0)],
    },
    usualMeasure: "size",
    groups: {
      file: ["file", item => item.file.path],
      change: ["change", item => KINDS[item.kinds[0]]?.[0] ?? item.kinds[0]],
      level: ["level in the new build", item => item.level || "first level"],
    },
    usualGroup: files.length > 1 ? "file" : "change",
    words: item => [item.level, item.old?.level, ...item.kinds.map(kind => KINDS[kind]?.[0])],
    said: sizes,
    second: (item, measure) => measure === "findings" || item.gained || item.lost ? `findings ${[item.gained && `+${grouped(item.gained)}`, item.lost && `−${grouped(item.lost)}`].filter(Boolean).join(" ")}` : sizes(item),
    worse: (one, other) => FATES.indexOf(one.change) - FATES.indexOf(other.change) || worse(one, other),
    functionsAre: "that differ", kindTitle: "What", functionOrder: (one, other) => (other.size || 0) - (one.size || 0),
    fates,
    findingColumns: [{ title: "Change", class: "fate", cell: finding => fateMark(finding.change), order: (one, other) => FATES.indexOf(one.change) - FATES.indexOf(other.change) || worse(one, other) }],
    functionColumns: [
      { title: "Level", class: "rule", cell: item => item.old && item.new && item.old.level !== item.new.level ? arrow(item.old.level, item.new.level) : name(item.level), order: byText(item => item.level) },
      numberColumn("Old", item => item.old?.size), numberColumn("New", item => item.new?.size),
    ],
    fileColumns: [
      { title: "Needs", class: "rule", cell: file => file.old && file.old_level !== file.level ? arrow(file.old_level, file.level) : name(file.level), order: byText(file => file.level) },
      ...(files.some(file => file.answer) ? [{ title: "Answer", class: "rule", cell: file => file.old_answer && file.old_answer !== file.answer ? arrow(file.old_answer, file.answer || "") : file.answer || "", order: byText(file => file.answer || "") }] : []),
      numberColumn("Appeared", file => file.came), numberColumn("Gone", file => file.went, { rank: "minor" }), numberColumn("Functions", differing, { rank: "minor" }),
      { title: "Verdict", class: "number judged", cell: file => file.worse ? element("span", { class: "mark-of error" }, "worse") : file.old ? "" : "new file", order: fileOrder },
    ],
    fileOrder,
    fileCount: `${counted(files.length, "file")}, the worst first`,
    lists: [[`${counted(run.only_old_count, "file")} only in the old build`, run.only_old.map(path => [path, ""]), run.only_old_count],
      [`${counted(run.skipped_count, "file")} not compared`, run.skipped, run.skipped_count]],
  };
}
