// What is looked at, in the address after `#`: filters, the part of the page, what is open. A link to it is a link to the same view.

const readState = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
let state = readState();
const watchers = [];

/// The address of this view with some of it changed; an empty value goes away.
function hrefWith(changes) {
  const next = { ...state, ...changes };
  const kept = Object.entries(next).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${new URLSearchParams(kept)}`;
}

/// The attributes of a link that changes some of the view. Its address is made again when it is followed: other parts of the
/// view may have changed since.
const to = changes => ({ href: hrefWith(changes), "data-to": JSON.stringify(changes) });
for (const kind of ["pointerdown", "click", "keydown"]) {
  addEventListener(kind, event => {
    const link = event.target.closest?.("a[data-to]");
    if (link) link.setAttribute("href", hrefWith(JSON.parse(link.dataset.to)));
  }, { capture: true });
}

/// Changes filters: the way back leads to what was open before, not to each letter that was typed.
function change(changes) {
  history.replaceState(null, "", hrefWith(changes));
  follow();
}

/// Goes to a view, from which the way back leads here; what is drawn is that view at once.
function go(changes) {
  location.hash = hrefWith(changes);
  follow();
}

function follow() {
  const before = state;
  state = readState();
  for (const watcher of watchers) watcher(before);
}
addEventListener("hashchange", follow);
