//! Checks of a page, as scripts that return a line for each thing that is wrong.

/// Nothing is wider than the window, other than what scrolls by itself.
pub(crate) const OVERFLOW: &str = r"
const wide = document.scrollingElement.scrollWidth;
return wide > innerWidth ? [`the page is ${wide} px wide`] : [];
";

/// The labels of each picture: whole, large enough, and none over another.
pub(crate) const LABELS: &str = r"
const wrong = [];
for (const svg of document.querySelectorAll('figure svg')) {
  const frame = svg.getBoundingClientRect();
  if (!frame.width) continue;
  const name = svg.closest('figure').dataset.name + ' (' + svg.closest('figure').id + ')';
  const labels = [...svg.querySelectorAll('text')].filter((it) => it.textContent.trim());
  const boxes = labels.map((it) => it.getBoundingClientRect());
  boxes.forEach((box, at) => {
    const text = labels[at].textContent;
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
      wrong.push(`${name}: ${text} is cut off`);
    const size = parseFloat(getComputedStyle(labels[at]).fontSize) * frame.width / svg.viewBox.baseVal.width;
    if (size < 10.5) wrong.push(`${name}: ${text} has letters of ${size.toFixed(1)} px`);
    for (let other = 0; other < at; other += 1) {
      const right = Math.min(box.right, boxes[other].right) - Math.max(box.left, boxes[other].left);
      const down = Math.min(box.bottom, boxes[other].bottom) - Math.max(box.top, boxes[other].top);
      if (right > 1 && down > 4) wrong.push(`${name}: ${text} lies over ${labels[other].textContent}`);
    }
  });
}
return wrong;
";

/// The contrast of every text with what it stands on: 4.5 to 1 at least.
pub(crate) const CONTRAST: &str = r"
const colour = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
const light = ([r, g, b]) => {
  const part = (it) => (it /= 255) <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const ratio = (one, other) => {
  const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
};
const ground = (element) => {
  for (let it = element; it; it = it.parentElement) {
    const found = colour(getComputedStyle(it).backgroundColor);
    if (found.length === 3 || found[3] > 0) return found;
  }
  return [255, 255, 255];
};
const wrong = new Set();
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const element = walk.currentNode.parentElement;
  if (!walk.currentNode.textContent.trim() || !element.getClientRects().length) continue;
  if (['SCRIPT', 'STYLE', 'title', 'desc'].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const isDrawn = element instanceof SVGElement;
  let below = ground(element);
  if (element.classList.contains('inside')) {
    let shape = element.previousElementSibling;
    while (shape && shape.tagName !== 'rect') shape = shape.previousElementSibling;
    if (shape) below = colour(getComputedStyle(shape).fill);
  }
  const found = ratio(colour(isDrawn ? style.fill : style.color), below);
  if (found < 4.5) wrong.add(`${element.tagName}.${element.getAttribute('class') ?? ''}: contrast ${found.toFixed(2)} of ${element.textContent.trim().slice(0, 30)}`);
}
// Bars, curves and marks against the page: 3 to 1 at least.
for (const shape of document.querySelectorAll('.bar, .curve, .mark')) {
  const style = getComputedStyle(shape);
  // A hollow mark is seen by its outline.
  const outline = parseFloat(style.strokeWidth) > 0 ? [style.stroke] : [];
  const drawn = [style.fill, ...outline].filter((it) => it !== 'none' && colour(it).length);
  const found = drawn.length ? Math.max(...drawn.map((it) => ratio(colour(it), ground(shape)))) : 21;
  if (found < 3 && !/h[0-5]|unused|idle/.test(shape.getAttribute('class'))) wrong.add(`${shape.getAttribute('class')}: contrast ${found.toFixed(2)}`);
}
return [...wrong];
";

/// Names, roles and structure, as a screen reader needs them.
pub(crate) const NAMES: &str = r"
const wrong = [];
if (document.documentElement.lang !== 'en') wrong.push('the page has no language');
if (!document.title.trim()) wrong.push('the page has no title');
if (document.querySelectorAll('h1').length !== 1) wrong.push('there is not one h1');
if (document.querySelectorAll('main').length !== 1) wrong.push('there is not one main');
const ids = new Set();
for (const it of document.querySelectorAll('[id]')) {
  if (ids.has(it.id)) wrong.push(`the id ${it.id} is there twice`);
  ids.add(it.id);
}
for (const it of document.querySelectorAll('[aria-labelledby]')) {
  for (const id of it.getAttribute('aria-labelledby').split(' ')) {
    if (!document.getElementById(id)?.textContent.trim()) wrong.push(`${it.tagName} is named by ${id}, which says nothing`);
  }
}
for (const it of document.querySelectorAll('svg')) {
  if (it.getAttribute('role') !== 'img' || !it.hasAttribute('aria-labelledby')) wrong.push('a picture has no name');
}
for (const it of document.querySelectorAll('a, button, summary')) {
  if (!it.textContent.trim()) wrong.push(`${it.tagName} has no name`);
}
for (const it of document.querySelectorAll('a[href^=\'#\']')) {
  if (!document.querySelector(it.getAttribute('href'))) wrong.push(`the link ${it.textContent} leads nowhere`);
}
for (const it of document.querySelectorAll('table')) {
  if (!it.caption?.textContent.trim()) wrong.push('a table has no caption');
  if ([...it.tHead.rows[0].cells].some((cell) => cell.scope !== 'col')) wrong.push('a heading of a table has no scope');
  const columns = it.tHead.rows[0].cells.length;
  if ([...it.tBodies[0].rows].some((row) => row.cells.length !== columns)) wrong.push('a row of a table has other columns');
}
for (const it of document.querySelectorAll('[tabindex]')) {
  if (!it.getAttribute('aria-label')) wrong.push('what can be focused has no name');
  if (it.tabIndex > 0) wrong.push('the order of the keyboard is not that of the page');
}
let level = 0;
for (const it of document.querySelectorAll('h1, h2, h3')) {
  const own = Number(it.tagName[1]);
  if (own > level + 2) wrong.push(`${it.textContent} is a heading of level ${own} after one of level ${level}`);
  level = own;
}
return wrong;
";
