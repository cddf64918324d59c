"use strict";
// Sorts tables and copies them with one click. A page is whole without this script: it adds buttons, no content.

/** Return the number that a cell begins with, as in "<0.001" or "×5.3", or its text; nothing for a dash, with or without a note: it sorts last. */
function keyOf(cell) {
  const text = (cell.querySelector(".ours") || cell).textContent.trim().replace("−", "-");
  const value = parseFloat(text.replace(/^[<×]\s*/, "").replaceAll(",", ""));
  return Number.isNaN(value) ? (/^([–-][a-z,]*)?$/.test(text) ? null : text.toLowerCase()) : value;
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return typeof a === "number" ? b - a : a.localeCompare(b);
}

/** Sort the rows by a column: from the largest number down, or texts from A to Z; then back; then as it was. */
function sortBy(table, head, column) {
  const body = table.tBodies[0];
  table.unsorted ||= [...body.rows];
  const rows = [...table.unsorted];
  const keys = new Map(rows.map((row) => [row, keyOf(row.cells[column])]));
  const numbers = [...keys.values()].some((key) => typeof key === "number");
  const [first, second] = numbers ? ["descending", "ascending"] : ["ascending", "descending"];
  const state = { none: first, [first]: second, [second]: "none" }[head.ariaSort || "none"];
  for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
  head.ariaSort = state === "none" ? null : state;
  const sign = state === second ? -1 : 1;
  if (state !== "none") {
    rows.sort((a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      return x === null || y === null ? compare(x, y) : sign * compare(x, y);
    });
  }
  table.classList.toggle("sorted", state !== "none");
  body.append(...rows);
}

function button(label, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.append(label);
  made.addEventListener("click", action);
  return made;
}

/** Copy a text by selecting it, where a page may not write to the clipboard; return whether that succeeded. */
function copySelected(area, pressed) {
  const details = area.closest("details");
  details.hidden = false; // a hidden text cannot be selected
  details.open = true;
  area.select();
  const copied = document.execCommand("copy");
  details.hidden = copied; // what could not be copied stays, to be copied by hand
  pressed.focus();
  return copied;
}

/** Copy a text, and say next to the buttons whether that succeeded: a screen reader reads this message alone. */
async function copy(area, pressed, said) {
  let copied = true;
  try {
    await navigator.clipboard.writeText(area.value);
  } catch {
    copied = copySelected(area, pressed);
  }
  const label = area.dataset.format;
  const message = copied ? `${label} copied` : `${label} could not be copied; the text is below`;
  said.textContent = message;
  setTimeout(() => {
    if (said.textContent === message) said.textContent = "";
  }, 4000);
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (head.tagName !== "TH") return;
    const pressed = button("", () => sortBy(table, head, column));
    pressed.append(...head.childNodes);
    pressed.title = "Sort by this column";
    head.append(pressed);
  });
}
for (const details of document.querySelectorAll("details.copies")) {
  const bar = document.createElement("p");
  bar.className = "bar";
  bar.append("Copy as ");
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  for (const area of details.querySelectorAll("textarea")) {
    const pressed = button(area.dataset.format, () => copy(area, pressed, said));
    bar.append(pressed);
  }
  bar.append(said);
  details.before(bar);
  details.hidden = true;
}
/** Show the claims that a count counts; all of them if the place is their table, or one of its rows. */
function showCounted(place) {
  const claims = place.closest(".claims");
  if (!claims) return;
  const counted = place.matches(".count") ? place.id : "";
  for (const row of claims.querySelectorAll("tbody tr")) {
    const shown = !counted || row.querySelector(`[data-count="${CSS.escape(counted)}"]`);
    row.classList.toggle("uncounted", !shown);
  }
  const choice = claims.querySelector("select");
  if (choice) choice.value = counted;
}

/** Return a choice of outcomes for a table of claims; what is chosen is a place on the page, as if a count were clicked. */
function choiceOfOutcomes(claims) {
  const choice = document.createElement("select");
  choice.add(new Option("any outcome", ""));
  for (const side of claims.querySelectorAll(".side:has(> dd > .count)")) {
    const group = document.createElement("optgroup");
    group.label = side.querySelector("dt").textContent;
    group.append(...[...side.querySelectorAll(".count")].map((count) => new Option(count.textContent, count.id)));
    choice.append(group);
  }
  choice.addEventListener("change", () => (location.hash = choice.value || claims.id));
  const label = document.createElement("label");
  label.className = "filter";
  label.append("Show claims with ", choice);
  return label;
}

for (const claims of document.querySelectorAll("article.claims:has(.count)")) {
  claims.querySelector(".scroll").before(choiceOfOutcomes(claims));
}
/** Open what hides the place that a link leads to. */
function reveal() {
  const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!place) return;
  for (let at = place; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  const folded = place.querySelector(":scope > .folded, :scope > td > .folded");
  if (folded) folded.open = true;
  showCounted(place);
  place.scrollIntoView();
}
// a box closes when a link in it leads away; Escape closes it without a script
addEventListener("click", (event) => event.target.closest("[popover] a")?.closest("[popover]").hidePopover());
addEventListener("hashchange", reveal);
reveal();
