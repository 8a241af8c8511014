// A check: its first screen (what was looked at, what it needs and why, the worst findings and what to do about them), and what
// its map and its tables have of their own.

const counts = run.statistics || { findings_by_severity: {} };
const severe = SEVERITIES.map(severity => [severity, counts.findings_by_severity[severity] || 0]).filter(([, count]) => count);
const levelOf = file => [file.level, ...(file.needed_beyond || [])].join(" + ");
const guardedLevel = file => [file.level_guarded, ...(file.guarded_beyond || [])].join(" + ");
const needOf = file => `${file.made_at_run_time ? "uses up to " : ""}${levelOf(file)}`;
const needsMore = file => !file.made_at_run_time && isAboveFirst(file);
const isAboveFirst = file => !FIRST_LEVELS.has(file.level) || (file.needed_beyond || []).length > 0;

/// The sentence that a busy reader takes away.
function checkedHeadline() {
  const [only] = files;
  if (files.length === 0) return "Nothing was checked";
  if (files.length > 1) {
    const found = severe.map(([severity, count]) => counted(count, severity));
    return `${grouped(files.length)} files: ${found.length ? listed(found) : "nothing to report"}`;
  }
  if (!only.bytes) return `${only.name} has no executable code`;
  if (only.made_at_run_time) return `${only.name} was made at run time, and ${needOf(only)}`;
  if (only.answered) return `${only.name} ${only.answer === "undecided" ? "is " : ""}${only.answered}`;
  if (needsMore(only)) return `${only.name} needs ${levelOf(only)}`;
  const not = only.not || [];
  const but = not.length ? `, but ${not.length === 1 ? "one that is" : `${not.length} that are`} known` : "";
  return `${only.name} runs on every ${ARCHES[only.arch] ?? only.arch} machine${but}`;
}

function checkedLead() {
  if (files.length === 0) return "No file could be checked. What was skipped is listed below.";
  if (files.length > 1 && run.answers) return `${run.answers}.`;
  if (files.length > 1) {
    const more = files.filter(needsMore).length;
    return more ? `${counted(more, "file needs", "files need")} more than the first level of ${more === 1 ? "its" : "their"} architecture.`
      : files.some(file => file.made_at_run_time) ? "No file needs more than the first level of its architecture; code made at run time is for the CPU that it ran on."
      : "Every file runs on the first level of its architecture: on every such machine.";
  }
  const found = severe.map(([severity, count]) => counted(count, severity));
  return found.length ? `${listed(found)}: where its code costs more than it has to, or may.` : "Nothing to report: no rule found anything.";
}

/// Why a file needs its level: the function that needs most of it, and who reaches it.
function because(file) {
  const by = file.needed_by;
  if (!by) return file.refuses ? element("p", {}, `It ${file.refuses}: a check of its own ends it there.`) : null;
  const item = file.of.find(item => item.at === by.svma && isAbove(item));
  const title = by.function || `the function at ${by.svma}`;
  const link = item ? element("a", { ...to({ open: item.key }) }, name(title)) : name(title);
  const root = by.root ? `, reached without a check from ${ROOTS[by.root] ?? by.root}` : "";
  return element("p", {}, "Because of ", link, root, ".");
}

function needs() {
  if (files.length === 1) {
    const [file] = files;
    if (!file.bytes) return [element("p", {}, "Nothing: it holds no code.")];
    if (file.made_at_run_time) return [element("p", {}, "Made at run time, for the CPU that it ran on, it ", element("strong", { id: "level" }, needOf(file)), ".")];
    const not = file.not || [];
    return [
      element("p", {}, element("strong", { id: "level" }, levelOf(file)), needsMore(file) ? "" : ": every machine of its architecture has that."),
      because(file),
      file.level_guarded && element("p", {}, "After checks at run time it uses up to ", element("strong", {}, guardedLevel(file)), "."),
      not.length > 0 && element("p", {}, `It does not run on ${listed(not)}.`),
      file.not_followed > 0 && element("p", {}, `Of ${counted(file.not_followed, "function")} above it, it is not proven that a check is before them.`),
      file.why_undecided && element("p", { id: "undecided" }, `It is ${file.why_undecided}.`),
      file.claim && element("p", {}, "It is held to ", element("strong", {}, file.claim.level), ", which ", name(file.claim.part), " claims: ", file.claim.text),
    ];
  }
  const most = Math.max(...run.levels.map(level => level[2]), 1);
  return [element("table", { class: "levels" },
    element("caption", { class: "unseen" }, "Files by the level that they need"),
    element("thead", { class: "unseen" }, element("tr", {}, ["level", "files", "share", "for example"].map(title => element("th", { scope: "col" }, title)))),
    element("tbody", {}, run.levels.map(([arch, level, count, examples]) => {
      const bar = element("span", { class: "bar" });
      bar.style.setProperty("--share", `${Math.max(0.5, 100 * count / most)}%`);
      return element("tr", {}, element("th", { scope: "row" }, level || arch), element("td", {}, data("files", count)), element("td", { "aria-hidden": "true" }, bar),
        element("td", { class: "examples" }, examples.map((path, at) => [at > 0 ? ", " : "", element("a", { ...to({ in: path, section: "functions", open: "" }) }, name(path.slice(path.lastIndexOf("/") + 1)))]),
          examples.length > 0 && count > examples.length ? ", …" : ""));
    })))];
}

/// Advice of all files together, that which removes most first.
function remedies() {
  const together = new Map();
  for (const file of files) {
    for (const advice of file.advice || []) {
      const key = `${file.arch} ${advice.compiler} ${advice.flags}`;
      const known = together.get(key) || { ...advice, findings: 0, files: 0 };
      known.findings += advice.findings;
      known.files += 1;
      together.set(key, known);
    }
  }
  return [...together.values()].sort((one, other) => other.findings - one.findings);
}

/// One remedy in words, with what to paste.
function remedy(advice, removed = advice.findings) {
  const what = advice.compiler === "assembler" ? "in assembly: another source" : `with ${advice.compiler}${advice.without ? `, built without ${advice.without}` : ""}${advice.flags ? ": " : ""}`;
  const breaks = advice.breaks || [];
  const cost = advice.oldest ? `Runs from ${advice.oldest} on, no longer on ${listed(breaks, 4)}.` : advice.flags ? "Runs where it ran." : "";
  return element("div", { class: "remedy" }, `Removes ${counted(removed, "finding")} ${what}`,
    advice.flags ? copyable(advice.flags) : "", cost && element("span", { class: "muted" }, ` ${cost}`));
}

function checkedFacts() {
  const looked = files.length === 1 ? [name(files[0].path, "path")] : [counted(counts.files_checked, "file")];
  const code = `${bytes(counts.executable_bytes)} of code in ${counted(counts.functions, "function")}`;
  const builds = files.length === 1 ? files[0].compilers || [] : [];
  const rows = [["Looked at", [element("p", {}, looked), element("p", { class: "muted" },
    [code, files.length === 1 && (ARCHES[files[0].arch] ?? files[0].arch), builds.length && `built by ${listed(builds, 3)}`].filter(Boolean).join("; "))]],
    ["Needs", needs()],
    ["Found", [element("p", {}, severe.length === 0 ? "Nothing" : severe.flatMap(([severity, count]) =>
      [element("a", { class: "chip", ...to({ severity, section: "findings", open: "" }) }, severityMark(severity), " ", data(`count ${severity}`, count)), " "])),
      counts.allowed > 0 && element("p", { class: "muted" }, `and ${counted(counts.allowed, "finding")} that the configuration allows`),
      counts.runtime_findings > 0 && element("p", { class: "muted" }, files.length === 1 ? files[0].not_counted
        : `${counted(counts.runtime_findings, "finding")} in runtimes and C libraries not counted`)]]];
  const profiled = files.filter(file => file.profile).sort((one, other) => other.profile.weight - one.profile.weight);
  if (profiled.length) {
    const seen = file => element("p", {}, files.length > 1 ? `${short(file.path, 60)}: ${file.profile.what}` : file.profile.what);
    rows.push(["Profile", [profiled.slice(0, 3).map(seen),
      profiled.length > 3 && element("p", { class: "muted" }, `and ${counted(profiled.length - 3, "other file")}`)]]);
  }
  const remedyRows = remedies().slice(0, 3).map(advice => remedy(advice));
  if (remedyRows.length) rows.push(["Remedy", remedyRows]);
  return rows;
}

/// The worst rules, each with its worst place.
function worstRules() {
  if (findings.length === 0) {
    fill("worst", files.length ? element("p", { class: "empty" }, "No findings. What the rules look for is in ", element("code", {}, "deburr explain"), ".") : "");
    return;
  }
  const byRule = new Map();
  for (const finding of findings) {
    const group = byRule.get(finding.rule) || { rule: finding.rule, count: 0, files: new Set(), worst: finding, weight: 0 };
    group.count += 1;
    group.files.add(finding.file);
    group.weight += share(finding);
    if (worse(finding, group.worst) < 0) group.worst = finding;
    byRule.set(finding.rule, group);
  }
  const groups = [...byRule.values()].sort((one, other) => other.weight - one.weight || severityOf(one.worst) - severityOf(other.worst) || other.count - one.count);
  fill("worst", element("h2", {}, "Worst first"), element("ol", { class: "worst" }, groups.slice(0, 6).map(group => {
    const total = counts.findings_by_rule[group.rule] ?? group.count;
    const { worst } = group;
    const fixes = (worst.file.advice || []).filter(advice => advice.rules.includes(group.rule));
    return element("li", {},
      element("h3", {}, severityMark(worst.severity), " ", element("a", { ...to({ rule: group.rule, section: "findings", open: "" }) }, group.rule),
        " ", element("span", { class: "muted" }, data("total", total, counted(total, "finding")), files.length > 1 ? ` in ${counted(group.files.size, "file")}` : ""),
        group.weight > 0 && weightBar(group.weight)),
      element("p", {}, run.rules[group.rule]?.summary || worst.message),
      element("p", { class: "muted" }, "Worst at ", element("a", { ...to({ open: worst.key }) }, name(short(called(worst), 90))),
        files.length > 1 ? [" in ", name(short(worst.file.path, 70))] : "",
        worst.loop ? ", in a loop" : "", worst.calls > 1 ? `, called from ${counted(worst.calls, "place")}` : ""),
      fixes.length > 0 ? remedy(fixes[0], (fixes[0].removes || {})[group.rule] ?? fixes[0].findings)
        : element("p", {}, inline(firstOf(group.rule, "What to do"))));
  })));
}

/// What bounds and the run itself left out of the page, as lines.
function checkedLeftOut() {
  const lines = [];
  if (counts.undecoded_bytes) lines.push(`${bytes(counts.undecoded_bytes)} of code could not be decoded.`);
  for (const [what, count] of [["guards", run.stale_guards], ["allowances", run.stale_allowances]]) if (count) lines.push(`The configuration has ${count} stale ${what}.`);
  if (run.exceeded_allowances) lines.push(`Findings exceed ${counted(run.exceeded_allowances, "allowance")} of the configuration.`);
  return lines;
}

/// All code as one bar in words: what needs nothing special, and the rest as a share of bytes.
function checkedShare() {
  const all = Math.max(1, counts.executable_bytes);
  const mappedBytes = functions.reduce((sum, item) => sum + (item.size || 0), 0);
  const part = above.length ? `${counted(above.length, "function needs", "functions need")} more than the first level` : "No function needs more than the first level";
  return `${part}. With those that have findings${hasWeights ? ", and those that took most of the run," : ""} they are ${percent(mappedBytes / all)} of ${bytes(all)} of code; the rest is not drawn.`;
}

/// What the page of a check has of its own.
function checkView() {
  const faults = files.flatMap(file => (file.faults || []).map(fault => [file.path, fault]));
  return {
    tool: "deburr check", headline: checkedHeadline, lead: checkedLead, facts: checkedFacts, worst: worstRules,
    share: checkedShare, leftOut: checkedLeftOut, findingDetail: findingOfCheck, functionDetail: functionOfCheck,
    measures: {
      size: ["size of code", item => item.size || 1],
      uses: ["instructions above the first level", item => item.uses.reduce((sum, [, count]) => sum + count, 0)],
      ...(hasWeights ? { weight: ["weight in the profile", share] } : {}),
    },
    usualMeasure: hasWeights ? "weight" : "size",
    groups: {
      file: ["file", item => item.file.path],
      level: ["level", item => item.level || "first level"],
      verdict: ["verdict", item => VERDICTS[item.reach]?.[0] ?? item.reach],
    },
    usualGroup: files.length > 1 ? "file" : "level",
    words: item => [item.level, ...item.uses.map(([feature]) => feature)],
    said: item => `${item.level || ""}, ${bytes(item.size || 0)}${item.weight ? `, ${percent(share(item))} of samples` : ""}`,
    second: (item, measure) => measure === "weight" ? percent(share(item)) : item.uses.length ? item.uses.map(([feature]) => feature).join(" ") : bytes(item.size || 0),
    worse: (one, other) => worse(one, other),
    functionsAre: "above the first level", kindTitle: "Verdict", functionOrder: () => 0,
    fates: [],
    findingColumns: [],
    functionColumns: [
      ...weightColumn,
      { title: "Level", class: "rule", cell: item => name(item.level || ""), order: byText(item => item.level) },
      numberColumn("Bytes", item => item.size),
    ],
    fileColumns: [
      ...(run.answers ? [{ title: "Answer", class: "rule", cell: file => file.answered || "not judged", order: byText(file => file.answer || "") }] : []),
      { title: "Needs", class: "rule", cell: file => needOf(file), order: byText(levelOf) },
      numberColumn("Findings", file => file.findings?.length),
      numberColumn("Above", file => file.functions?.length),
      numberColumn("Code", file => file.bytes?.[0], { shown: bytes }),
    ],
    fileOrder: (one, other) => (other.findings?.length || 0) - (one.findings?.length || 0) || (other.functions?.length || 0) - (one.functions?.length || 0) || one.number - other.number,
    fileCount: `${counted(files.length, "file")}${counts.other_files ? `; ${counted(counts.other_files, "other file")} passed over: neither ELF nor archive` : ""}`,
    lists: [[`${counted(counts.files_skipped, "file")} not checked`, run.skipped, counts.files_skipped], [`${counted(faults.length, "fault")} in files that were read in part`, faults, faults.length]],
  };
}
