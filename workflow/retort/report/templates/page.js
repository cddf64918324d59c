// Filters rows, and papers where there is a choice. A page is whole without this script.

const listed = ".deviations > li, .behind details[id]";
const rows = [...document.querySelectorAll(`main table:not(.origin table) tbody tr, ${listed}, .line:not(.head, .axis)`)];
const opened = new Set(); // what the filter has unfolded, and folds again

/** Return whether an element holds a text. */
const holds = (element, text) => element.textContent.toLowerCase().includes(text);

/** Return whether a row is shown: neither the text nor the outcome of claims that is chosen hides it. */
const shows = (row) => !row.hidden && !row.classList.contains("uncounted");

/** Unfold the parts of a page that hide an element. */
function unfold(element) {
  for (let at = element.parentElement; at; at = at.parentElement) {
    if (at.tagName === "DETAILS" && !at.open) {
      opened.add(at);
      at.open = true;
    }
  }
}

/** Show the rows that hold a text, in tables, plots and lists; return how many of how many below the summary. */
function filterRows(text) {
  for (const details of opened) details.open = false;
  opened.clear();
  const exhibits = [...document.querySelectorAll("main .exhibit")];
  const named = exhibits.filter((one) => one.querySelector("h3") && holds(one.querySelector("h3"), text)); // whole
  for (const row of rows) {
    row.hidden = !holds(row, text) && !named.some((one) => one.contains(row));
    if (text && shows(row)) unfold(row);
  }
  for (const one of exhibits) {
    const own = rows.filter((row) => one.contains(row));
    one.hidden = text !== "" && !(own.length ? own.some(shows) : holds(one, text));
  }
  for (const link of document.querySelectorAll(".contents li a")) {
    const place = document.getElementById(link.hash.slice(1));
    link.parentElement.hidden = Boolean(place && place.hidden);
  }
  const counted = rows.filter((row) => row.closest("main"));
  return [counted.filter(shows).length, counted.length];
}

/** Return a field with a label, for the top of the contents or of a table. */
function field(label, type, changed) {
  const made = document.createElement("label");
  const input = document.createElement("input");
  input.type = type;
  input.addEventListener("input", () => changed(input));
  made.className = "filter";
  made.append(...(type === "checkbox" ? [input, label] : [label, input]));
  return made;
}

const contents = document.querySelector(".contents");
if (contents) {
  const said = document.createElement("p");
  said.className = "filter";
  said.setAttribute("role", "status");
  const filter = (input) => {
    const text = input.value.trim().toLowerCase();
    const [shown, all] = filterRows(text);
    said.textContent = !text ? "" : shown ? `${shown} rows of ${all}` : "no match";
  };
  contents.prepend(field("Filter rows ", "search", filter), said);
  contents.querySelector("details").open = matchMedia("(min-width: 76rem)").matches;
}
for (const across of document.querySelectorAll("[data-papers]")) {
  const choices = document.createElement("p");
  for (const [number, paper] of JSON.parse(across.dataset.papers)) {
    const choice = field(paper, "checkbox", (input) => {
      for (const one of across.querySelectorAll(`.of-${number}`)) one.toggleAttribute("hidden", !input.checked); // SVG has no property
    });
    choice.firstChild.checked = true;
    choices.append(choice);
  }
  across.prepend(choices);
}

// The word of a verdict has the meaning that the box of words gives it as a tooltip.
const meanings = new Map(
  [...document.querySelectorAll(".words dt")].map((one) => [one.textContent.toLowerCase(), one.nextElementSibling.textContent]),
);
for (const one of document.querySelectorAll(".verdict, .side dt")) {
  const word = one.matches(".verdict") ? one.classList.item(1).replaceAll("-", " ") : one.textContent.replace(/ \(.*/, "").toLowerCase();
  if (meanings.has(word)) one.title = meanings.get(word);
}
