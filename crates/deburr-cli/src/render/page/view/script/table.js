// Tables of any length: only the rows in view, and some around them, are in the document. Every row has a link, arrow keys move
// from one to the next, and screen readers hear how many rows there are.

const ROW_HEIGHT = 34;
const AROUND = 12;
/// Rows on paper.
const MOST_PRINTED = 300;

/// A table in `host`. A column has `title`, `cell` (row → children), and perhaps `order` (a comparison) and `class`. `href`: what the
/// link of a row's first cell changes.
function table(host, { label, columns, href }) {
  let rows = [], shown = [], sortedBy = -1, reversed = false, active = 0, printing = false;
  const body = element("tbody");
  const heads = columns.map((column, index) => {
    const content = column.order
      ? element("button", { type: "button", on: { click: () => sort(index) } }, column.title)
      : column.title || element("span", { class: "unseen" }, "link");
    return element("th", { scope: "col", class: column.class }, content);
  });
  const widths = element("colgroup", {}, columns.map(column => element("col", { class: column.class })));
  const grid = element("table", { class: "long", "aria-label": label }, widths,
    element("thead", {}, element("tr", {}, heads)), body);
  const frame = element("div", { class: "frame", tabindex: "0", role: "region", "aria-label": `${label}, scrollable` }, grid);
  host.replaceChildren(frame);

  function sort(index) {
    reversed = sortedBy === index && !reversed;
    sortedBy = index;
    heads.forEach((head, at) => at === index
      ? head.setAttribute("aria-sort", reversed ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
    arrange();
  }

  function arrange() {
    const order = columns[sortedBy]?.order;
    shown = order ? [...rows].sort((one, other) => reversed ? order(other, one) : order(one, other)) : rows;
    active = 0;
    grid.setAttribute("aria-rowcount", String(shown.length + 1));
    frame.scrollTop = 0;
    draw();
  }

  function draw() {
    const height = frame.clientHeight || 400;
    const first = printing ? 0 : Math.max(0, Math.floor(frame.scrollTop / ROW_HEIGHT) - AROUND);
    const end = printing ? Math.min(shown.length, MOST_PRINTED)
      : Math.min(shown.length, Math.ceil((frame.scrollTop + height) / ROW_HEIGHT) + AROUND);
    const focused = body.contains(document.activeElement);
    const space = count => {
      const row = element("tr", { "aria-hidden": "true", class: "space" }, element("td", { colspan: columns.length }));
      row.firstChild.style.height = `${count * ROW_HEIGHT}px`;
      return row;
    };
    const made = [];
    if (first > 0) made.push(space(first));
    for (let index = first; index < end; index += 1) made.push(row(index));
    if (end < shown.length && !printing) made.push(space(shown.length - end));
    body.replaceChildren(...made);
    if (focused) (body.querySelector(`[data-index="${active}"] a`) || frame).focus({ preventScroll: true });
  }

  function row(index) {
    const of = shown[index];
    const cells = columns.map((column, at) => {
      const content = column.cell(of);
      return element("td", { class: column.class },
        at === 0 ? element("a", { ...to(href(of)), tabindex: index === active ? "0" : "-1" }, content) : content);
    });
    return element("tr", { "data-index": index, "aria-rowindex": index + 2 }, cells);
  }

  function go(index) {
    active = Math.max(0, Math.min(shown.length - 1, index));
    const top = active * ROW_HEIGHT, height = frame.clientHeight - 2 * ROW_HEIGHT;
    if (top < frame.scrollTop) frame.scrollTop = top;
    else if (top > frame.scrollTop + height) frame.scrollTop = top - height;
    draw();
    body.querySelector(`[data-index="${active}"] a`)?.focus({ preventScroll: true });
  }

  frame.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  frame.addEventListener("keydown", event => {
    const page = Math.max(1, Math.floor(frame.clientHeight / ROW_HEIGHT) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in moves) || event.target.closest("thead")) return;
    event.preventDefault();
    go(body.contains(event.target) ? active + moves[event.key] : active);
  });
  body.addEventListener("focusin", event => {
    const index = event.target.closest("tr")?.dataset.index;
    if (index !== undefined) active = Number(index);
  });
  body.addEventListener("click", event => {
    // The whole row is a target for a pointer; its link is the one for everybody else.
    if (!event.target.closest("a, button")) event.target.closest("tr")?.querySelector("a")?.click();
  });
  addEventListener("resize", () => draw());
  addEventListener("beforeprint", () => { printing = true; draw(); });
  addEventListener("afterprint", () => { printing = false; draw(); });

  return {
    show(next) { rows = next; arrange(); },
    /// The rows in their present order.
    rows: () => shown,
  };
}

// Orders and columns that several tables have.
const byText = of => (one, other) => String(of(one)).localeCompare(String(of(other)));
const numberColumn = (title, of, { rank = "", shown = grouped } = {}) => ({
  title, class: `number ${rank}`, cell: row => of(row) ? shown(of(row)) : "", order: (one, other) => (of(other) || 0) - (of(one) || 0),
});
const weightColumn = hasWeights ? [{ title: "Weight", class: "heavy", cell: row => weightBar(row.weight), order: (one, other) => share(other) - share(one) }] : [];
