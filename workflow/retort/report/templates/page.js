// Filters rows, and papers where there is a choice. A page is whole without this script.

/** Hide the rows that do not hold a text, in tables and plots, and tables of which no row is left. */
function filterRows(text) {
  const holds = (row) => row.textContent.toLowerCase().includes(text);
  const rows = [...document.querySelectorAll("main table:not(.origin table) tbody tr, .line:not(.head, .axis)")];
  for (const row of rows) row.hidden = !holds(row);
  for (const one of document.querySelectorAll("main .exhibit")) {
    const own = rows.filter((row) => one.contains(row));
    one.hidden = text !== "" && !(own.length ? own.some((row) => !row.hidden) : holds(one));
  }
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
  contents.prepend(field("Filter rows ", "search", (input) => filterRows(input.value.trim().toLowerCase())));
  contents.querySelector("details").open = matchMedia("(min-width: 76rem)").matches;
}
for (const across of document.querySelectorAll("[data-papers]")) {
  const choices = document.createElement("p");
  for (const [number, paper] of JSON.parse(across.dataset.papers)) {
    const choice = field(paper, "checkbox", (input) => {
      for (const one of across.querySelectorAll(`.of-${number}`)) one.hidden = !input.checked;
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
for (const one of document.querySelectorAll(".verdict, .side dt, .side-of")) {
  const word = one.matches(".verdict") ? one.classList.item(1).replaceAll("-", " ") : one.textContent.replace(/ \(.*/, "");
  if (meanings.has(word)) one.title = meanings.get(word);
}
