// The pages of rules, which are Markdown: paragraphs, lists, tables, code, links → elements.

/// The section of a rule's page under a heading, as elements; `null` without one.
function proseOf(rule, heading) {
  const page = run.rules[rule]?.page;
  const start = page?.indexOf(`\n## ${heading}`) ?? -1;
  if (start < 0) return null;
  const body = page.slice(page.indexOf("\n", start + 1) + 1);
  const end = body.indexOf("\n## ");
  return prose(end < 0 ? body : body.slice(0, end));
}

/// The first paragraph or point under a heading, as Markdown.
function firstOf(rule, heading) {
  const after = run.rules[rule]?.page.split(`\n## ${heading}`)[1] || "";
  const first = after.slice(after.indexOf("\n")).trim().split(/\n\n|\n- /)[0];
  return first.replace(/^- /, "").replace(/\s*\n\s*/g, " ");
}

function prose(text) {
  const made = [];
  const lines = text.split("\n");
  for (let index = 0; index < lines.length;) {
    const line = lines[index];
    const take = is => {
      const taken = [];
      while (index < lines.length && is(lines[index])) taken.push(lines[index++]);
      return taken;
    };
    if (!line.trim()) index += 1;
    else if (line.startsWith("```")) {
      index += 1;
      const code = take(line => !line.startsWith("```"));
      index += 1;
      made.push(element("pre", { tabindex: "0" }, element("code", {}, code.join("\n"))));
    } else if (line.startsWith("|")) {
      const rows = take(line => line.startsWith("|")).filter(row => !/^[|\s:-]+$/.test(row))
        .map(row => row.replace(/^\||\|\s*$/g, "").split("|").map(cell => cell.trim()));
      const cells = (row, name) => element("tr", {}, row.map(cell => element(name, name === "th" ? { scope: "col" } : {}, inline(cell))));
      made.push(element("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Published figures" },
        element("table", {}, element("thead", {}, cells(rows[0], "th")), element("tbody", {}, rows.slice(1).map(row => cells(row, "td"))))));
    } else if (/^(-|\d+\.) /.test(line)) {
      const items = [];
      for (const part of take(line => line.trim() !== "" && (/^(-|\d+\.) |^ /.test(line)))) {
        if (/^(-|\d+\.) /.test(part)) items.push(part.replace(/^(-|\d+\.) /, ""));
        else items[items.length - 1] += ` ${part.trim()}`;
      }
      made.push(element(line.startsWith("-") ? "ul" : "ol", {}, items.map(item => element("li", {}, inline(item)))));
    } else {
      const words = take(line => line.trim() !== "" && !/^(```|\||- )/.test(line));
      if (words.length === 0) words.push(lines[index++]);
      made.push(element("p", {}, inline(words.join(" "))));
    }
  }
  return made;
}

/// `code`, *emphasis* and [links](https://…) within a paragraph.
function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^\]]+\]\([^)\s]+\)|<https?:[^>]+>)/).map(part => {
    if (/^`.+`$/.test(part)) return element("code", {}, part.slice(1, -1));
    if (/^\*\*.+\*\*$/.test(part)) return element("strong", {}, part.slice(2, -2));
    if (/^\*.+\*$/.test(part)) return element("em", {}, part.slice(1, -1));
    const link = part.match(/^\[([^\]]+)\]\(([^)]+)\)$/) || part.match(/^<()(https?:[^>]+)>$/);
    if (link) return /^https?:/.test(link[2]) ? element("a", { href: link[2], rel: "noreferrer" }, link[1] || link[2]) : link[1];
    return part;
  });
}
