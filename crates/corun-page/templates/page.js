"use strict";
// Everything is readable without this script: it sorts tables and shows words beside marks.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    if (!button.textContent.trim()) return;
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table.tBodies[0], column, down);
    });
  });
}
function sort(body, column, down) {
  const key = (row) => row.cells[column];
  const compare = (one, other) => {
    const [a, b] = [key(one), key(other)];
    const [x, y] = [a?.dataset.value, b?.dataset.value];
    // Cells without a number come last, whichever way.
    if (x !== undefined && y !== undefined) return down ? y - x : x - y;
    if (x !== undefined || y !== undefined) return x !== undefined ? -1 : 1;
    const order = (a?.textContent ?? "").localeCompare(b?.textContent ?? "", "en", { numeric: true });
    return down ? -order : order;
  };
  body.append(...[...body.rows].sort(compare));
}
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
const words = new WeakMap();
document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest?.("svg > *");
  const title = mark?.querySelector(":scope > title");
  if (title) {
    words.set(mark, title.textContent);
    title.remove();
  }
  tip.hidden = !words.has(mark);
  if (!tip.hidden) tip.textContent = words.get(mark);
});
document.addEventListener("pointermove", (event) => {
  if (tip.hidden) return;
  const right = innerWidth - tip.offsetWidth - 8;
  tip.style.left = Math.max(4, Math.min(event.clientX + 12, right)) + "px";
  tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 12) + "px";
});
