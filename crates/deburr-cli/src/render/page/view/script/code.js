// Annotated disassembly: weights, loops and exclusive sequences as brackets, branches as arrows, source lines and findings in between.

const LANE = 8;
const MOST_LANES = 7;

/// A listing as a table. `current`: the finding to point at.
function listingTable(listing, all, current) {
  const { insns } = listing;
  const flow = flowOf(insns);
  const weighed = insns.some(insn => insn.weight);
  const most = Math.max(0, ...insns.map(share));
  const byPlace = new Map();
  for (const finding of all) byPlace.set(finding.at, [...(byPlace.get(finding.at) || []), finding]);
  const columns = weighed ? 4 : 3;
  const rows = [];
  // A row that is no instruction is between the one at `index` and the one before.
  const between = (index, className, content) => rows.push(element("tr", { class: className },
    weighed && element("td"), element("td"), element("td", { class: "flow" }, flow.cell(index, false)), element("td", { colspan: columns - 2 - (weighed ? 1 : 0) }, content)));
  insns.forEach((insn, index) => {
    if (insn.skipped) between(index, "gap", `⋮ ${counted(insn.skipped, "instruction")} left out`);
    else if (insn.gap && index > 0) between(index, "gap", "⋮");
    if (insn.source) between(index, "source", [name(`${insn.source.file.split("/").pop()}:${insn.source.line}`, "place"), " ", insn.source.text]);
    const here = byPlace.get(insn.at) || [];
    const [mnemonic, operands] = split(insn.text);
    const target = flow.isDrawn(index) ? "" : insn.label || insn.to || "";
    rows.push(element("tr", { class: here.length ? "insn found" : "insn", id: here.includes(current) ? "pointed-at" : null },
      weighed && element("td", { class: "samples" }, weightBar(insn.weight, most)),
      element("td", { class: "address" }, insn.at.slice(2)),
      element("td", { class: "flow" }, flow.cell(index, true)),
      element("td", { class: "text" }, element("b", {}, mnemonic), " ", operands,
        target && [" ", element("span", { class: "target" }, "→ ", name(short(target, 80)))],
        insn.features && [" ", element("span", { class: "feature" }, insn.features)],
        flow.said(index) && element("span", { class: "unseen" }, flow.said(index)))));
    for (const finding of here) {
      between(index + 1, `about ${finding.severity}${finding === current ? " current" : ""}`,
        ["▲ ", severityMark(finding.severity), " ", element("strong", {}, finding.rule), ": ", finding.message]);
    }
  });
  if (listing.after) between(insns.length, "gap", `⋮ ${counted(listing.after, "instruction")} left out`);
  return element("div", { class: "listing", tabindex: "0", role: "region", "aria-label": "Disassembly, scrollable" },
    element("table", { class: "code" },
      element("caption", { class: "unseen" }, `Disassembly of ${listing.name || listing.at}`),
      element("thead", { class: "unseen" }, element("tr", {}, weighed && element("th", { scope: "col" }, "samples"),
        ["address", "flow", "instruction"].map(title => element("th", { scope: "col" }, title)))),
      element("tbody", {}, rows)));
}

/// An instruction's mnemonic, with its prefixes, and its operands.
function split(text) {
  const at = text.search(/(?<!^(?:lock|rep\w*|bnd|notrack|data16)\b.*)(?<!^(?:lock|rep\w*|bnd|notrack|data16))\s/);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at).trim()];
}

/// The gutter: for each row the pieces of the lines that pass it.
function flowOf(insns) {
  const depth = Math.max(0, ...insns.map(insn => insn.loops?.length || 0));
  const hasExclusive = insns.some(insn => insn.exclusive);
  const places = new Map(insns.map((insn, index) => [insn.at, index]));
  const arrows = [];
  insns.forEach((insn, from) => {
    const to = insn.jumps && places.get(insn.to);
    if (to !== undefined && to !== null && to !== 0 || to === 0 && insn.jumps) arrows.push({ from, to, top: Math.min(from, to), bottom: Math.max(from, to) });
  });
  // Short ones are innermost; what has no lane is named next to its instruction.
  arrows.sort((one, other) => one.bottom - one.top - (other.bottom - other.top));
  const lanes = [];
  const drawnOnes = arrows.filter(arrow => {
    let lane = lanes.findIndex(taken => taken.every(other => arrow.bottom < other.top || other.bottom < arrow.top || arrow.to === other.to));
    if (lane < 0) lane = lanes.length;
    if (lane >= MOST_LANES) return false;
    (lanes[lane] ??= []).push(arrow);
    arrow.lane = lane;
    return true;
  });
  const starts = new Set(drawnOnes.map(arrow => arrow.from));
  const left = depth * LANE + (hasExclusive ? LANE + 2 : 0);
  const width = Math.max(LANE, left + lanes.length * LANE + 8);
  const place = lane => width - 8 - lane * LANE;

  /// `isAt`: the row of an instruction; otherwise one before it.
  function cell(index, isAt) {
    const svg = drawn("svg", { width, height: 22, viewBox: `0 0 ${width} 22`, "aria-hidden": "true" });
    const insn = insns[index], before = insns[index - 1];
    const bracket = (x, edge, edgeBefore, className) => {
      if (!isAt) {
        if (edge && edgeBefore && "IL".includes(edge) && "FI".includes(edgeBefore)) svg.append(drawn("path", { class: className, d: `M${x} 0V22` }));
        return;
      }
      const shape = { F: `M${x + 5} 11H${x}V22`, I: `M${x} 0V22`, L: `M${x} 0V11H${x + 5}`, O: `M${x + 5} 11H${x}` }[edge];
      if (shape) svg.append(drawn("path", { class: className, d: shape }));
    };
    for (let at = 0; at < depth; at += 1) bracket(3 + at * LANE, insn?.loops?.[at], before?.loops?.[at], "loop");
    if (hasExclusive) bracket(4 + depth * LANE, insn?.exclusive, before?.exclusive, "exclusive");
    for (const { from, to, top, bottom, lane } of drawnOnes) {
      const x = place(lane), end = width;
      if (!isAt) {
        if (top < index && index <= bottom) svg.append(drawn("path", { class: "arrow", d: `M${x} 0V22` }));
      } else if (top < index && index < bottom) svg.append(drawn("path", { class: "arrow", d: `M${x} 0V22` }));
      else if (index === top || index === bottom) {
        const half = top === bottom ? "" : index === top ? "V22" : "V0";
        svg.append(drawn("path", { class: "arrow", d: `M${end} 11H${x}${half}` }));
        if (index === to) svg.append(drawn("path", { class: "head", d: `M${end} 11l-5 -3v6z` }));
        if (from === to) svg.append(drawn("path", { class: "head", d: `M${end} 11l-5 -3v6z` }));
      }
    }
    return svg;
  }

  const said = index => {
    const { loops, exclusive } = insns[index];
    const words = [];
    if (loops && /[FO]/.test(loops)) words.push("loop begins");
    if (loops && /[LO]/.test(loops)) words.push("loop ends");
    if (exclusive && "FO".includes(exclusive)) words.push("exclusive sequence begins");
    if (exclusive && "LO".includes(exclusive)) words.push("exclusive sequence ends");
    if (starts.has(index)) words.push(`branches to ${insns[index].to}`);
    return words.length ? ` (${words.join(", ")})` : "";
  };
  return { cell, said, isDrawn: index => starts.has(index) };
}
