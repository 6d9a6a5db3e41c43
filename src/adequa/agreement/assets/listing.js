const body = document.querySelector("tbody");
const rows = [...body.rows];
const form = document.querySelector("form");
const counter = document.querySelector("output");
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

function filter() {
  const { verdict, pair, text } = form.elements;
  const query = text.value.toLowerCase();
  let count = 0;
  for (const row of rows) {
    row.hidden = (verdict.value && row.dataset.verdict !== verdict.value)
      || (pair.value && row.dataset.pair !== pair.value)
      || !texts.get(row).includes(query);
    count += row.hidden ? 0 : 1;
  }
  counter.textContent = `${count} of ${rows.length} shown`;
}

function compare(first, second) {
  const difference = Number(first) - Number(second);
  return Number.isNaN(difference) ? first.localeCompare(second) : difference;
}

function sort(header) {
  const direction = header.getAttribute("aria-sort") === "descending" ? 1 : -1;
  const value = (row) => row.cells[header.cellIndex].dataset.value;
  rows.sort((first, second) => direction * compare(value(first), value(second)));
  for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  for (const row of rows) body.append(row);
}

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sort(button.parentNode));
}
form.hidden = false;
filter();
