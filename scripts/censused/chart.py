"""Figures → bars as SVG, in the colours of deburr's own pages, for light and dark.

The same rows give the same bytes. A picture has its own ground, since a page that shows it may be light where the system is dark.
"""

from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 720, 230, 60, 14, 10, 34
STYLE = """
    svg { --ground: #ffffff; --text: #1b1f24; --muted: #57606a; --grid: #e7ebef; --hue-0: #0072b2; --hue-1: #c24e00; --hue-2: #00875f; --hue-3: #a8328a; --hue-4: #b4bcc6; }
    @media (prefers-color-scheme: dark) {
      svg { --ground: #0f1419; --text: #e6edf3; --muted: #a3b0bd; --grid: #232b34; --hue-0: #56b4e9; --hue-1: #f0a04b; --hue-2: #2fbf8f; --hue-3: #e08bc4; --hue-4: #4a5663; }
    }
    text { font: 13px system-ui, sans-serif; fill: var(--text); } .muted { fill: var(--muted); }
    .ground { fill: var(--ground); } line { stroke: var(--grid); }
"""


def grouped(title, series, rows, unit=" %"):
    """One bar for each series in each row: rows are (label, values), and a value may be None."""
    body, y = [], TOP + 10
    most = scale(max((value for _, values in rows for value in values if value is not None), default=0))
    for label, values in rows:
        height = len(series) * BAR
        body.append(text(LEFT - 10, y + height / 2 + 5, label, anchor="end"))
        for index, value in enumerate(values):
            at = y + index * BAR
            if value is None:
                body.append(text(LEFT + 4, at + 11, "-", "muted"))
                continue
            width = (WIDTH - LEFT - RIGHT) * value / most
            body.append(bar(LEFT, at, width, index))
            body.append(text(LEFT + width + 5, at + 11, f"{value:.1f}{unit}", "muted"))
        y += height + GAP
    return drawn(title, series, body, y, most, unit)


def stacked(title, series, rows, unit=" %"):
    """One bar for each row, of parts that are a whole together: rows are (label, values)."""
    body, y = [], TOP + 10
    for label, values in rows:
        body.append(text(LEFT - 10, y + 17, label, anchor="end"))
        x, whole = LEFT, sum(values)
        for index, value in enumerate(values):
            width = (WIDTH - LEFT - RIGHT) * value / whole if whole else 0
            body.append(bar(x, y, width, index, BAR + 10))
            if width > 40:
                body.append(f'<text x="{x + width / 2:.1f}" y="{y + 17:.1f}" text-anchor="middle" style="fill: var(--{"text" if index == 4 else "ground"})">{100 * value / whole:.0f}{unit}</text>')
            x += width
        y += BAR + 10 + GAP
    return drawn(title, series, body, y, 100, unit)


def scale(most):
    """The end of the axis: the first round number that is not below."""
    return next((step for step in (1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100) if step >= most), most)


def bar(x, y, width, hue, height=BAR):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height - 1}" style="fill: var(--hue-{hue})"/>'


def text(x, y, words, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(words)}</text>'


def drawn(title, series, body, bottom, most, unit):
    height = bottom + 24
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">',
             f"  <title>{escape(title)}</title>", f"  <style>{STYLE}  </style>", f'  <rect class="ground" width="{WIDTH}" height="{height:.0f}"/>']
    x = LEFT
    for index, name in enumerate(series):
        lines.append("  " + bar(x, 10, 12, index, 13) + text(x + 17, 21, name))
        x += 17 + 7.2 * len(name) + 18
    for part in range(5):
        at = LEFT + (WIDTH - LEFT - RIGHT) * part / 4
        lines.append(f'  <line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom:.1f}"/>' + text(at, bottom + 15, f"{most * part / 4:g}{unit}", "muted", "middle"))
    return "\n".join([*lines, *("  " + part for part in body), "</svg>"]) + "\n"
