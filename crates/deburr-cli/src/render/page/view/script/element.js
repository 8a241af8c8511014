// Elements and words. All text of others gets into the page as text of a node, never as HTML.

/// An element with attributes and children; `text` of others is only ever a text node.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (attribute === "on") for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    else made.setAttribute(attribute, value === true ? "" : String(value));
  }
  made.append(...children.flat(3).filter(child => child !== null && child !== undefined && child !== false && child !== ""));
  return made;
}

/// The same in SVG.
function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, String(value));
  made.append(...children);
  return made;
}

const at = id => document.getElementById(id);
const fill = (id, ...children) => at(id).replaceChildren(...children.flat(3).filter(Boolean));
const grouped = number => Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const counted = (number, one, many = `${one}s`) => `${grouped(number)} ${number === 1 ? one : many}`;
const percent = share => share > 0 && share < 0.0005 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`;
const bytes = number => number < 1024 ? `${grouped(number)} bytes`
  : number < 1048576 ? `${(number / 1024).toFixed(1)} KiB` : number < 1073741824 ? `${(number / 1048576).toFixed(1)} MiB`
  : `${(number / 1073741824).toFixed(2)} GiB`;

/// A number that programs can read off the page.
const data = (name, value, shown) => element("data", { class: name, value }, shown ?? grouped(value));
/// A name or a path, which does not change the direction of what is around it.
const name = (text, className = "") => element("bdi", { class: `name ${className}`, title: text }, text);
const severityMark = severity => element("span", { class: `mark-of ${severity}` }, severity);
const kindMark = kind => element("span", { class: `mark-of v-${kind}` }, KINDS[kind]?.[0] ?? kind);

/// How a function is called: by its name, or by where it is.
function called(item) {
  if (item.name) return item.name;
  return item.near ? `(no name; near ${item.near})` : `(no name) ${item.place}`;
}

/// The same for a cell of a table, where room is scarce.
function calledInCell(item) {
  if (item.name) return name(item.name);
  return element("i", {}, item.near ? ["near ", name(item.near)] : "no name");
}

/// A path shortened in its middle.
function short(path, length) {
  if (path.length <= length) return path;
  const end = Math.ceil(length * 0.7);
  return `${path.slice(0, length - end - 1)}…${path.slice(-end)}`;
}

/// Names in a row: `a, b and c`, no more than `most`.
function listed(items, most = 6) {
  if (items.length > most) return `${items.slice(0, most).join(", ")} and ${items.length - most} more`;
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/// Says something to those who hear the page.
function say(text) {
  at("said").textContent = text;
}

/// Text to paste, with a button that copies it.
function copyable(text) {
  const button = element("button", { type: "button", class: "copy", "aria-label": `Copy ${text}` }, "Copy");
  button.addEventListener("click", async () => {
    let copied = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages of a file may not have the clipboard's interface.
      const field = element("textarea", { class: "unseen" });
      field.value = text;
      button.after(field);
      field.select();
      copied = document.execCommand("copy");
      field.remove();
      button.focus();
    }
    button.textContent = copied ? "Copied" : "Select it";
    say(copied ? "Copied" : "Copying is not possible here");
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return element("span", { class: "copyable" }, element("code", {}, text), button);
}

/// A bar for a weight, with its number.
function weightBar(weight, most = 1) {
  if (!weight) return null;
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", `${Math.min(100, 100 * weight / (most || 1))}%`);
  return element("span", { class: "weight" }, bar, data("weight", weight, percent(weight)));
}
