// Sorts and filters the table of students. Without it the page shows the same rows, lowest percentage first.
const table = document.getElementById("students");
const body = table.tBodies[0];
const names = new Intl.Collator(undefined, { numeric: true });
// Letters without their marks: "Ångström" is found by "angstrom", and by its row's plain words "Søren" by "soren".
const folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const rows = [...body.rows].map((row) => {
  const values = [...row.cells].map((cell) => cell.dataset.value === undefined ? cell.textContent : +cell.dataset.value);
  return { row, values, text: `${folded(row.textContent)} ${row.dataset.words}`, marks: row.dataset.marks.split(" ").filter(Boolean) };
});

const [search, status] = ["search", "status"].map((id) => document.getElementById(id));
const shown = document.getElementById("shown");

function filter() {
  const words = folded(search.value).split(/\s+/).filter(Boolean);
  let number = 0;
  for (const one of rows) {
    const fits = words.every((word) => one.text.includes(word)) && (!status.value || one.marks.includes(status.value));
    one.row.hidden = !fits;
    number += fits;
  }
  shown.value = `${number} of ${rows.length} shown`;
}

function sort(header, column) {
  const up = header.ariaSort !== "ascending";
  const points = header.classList.contains("number");
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.ariaSort = up ? "ascending" : "descending";
  const compare = points
    ? (a, b) => a.values[column] - b.values[column]
    : (a, b) => names.compare(a.values[column], b.values[column]);
  rows.sort(up ? compare : (a, b) => compare(b, a));
  body.replaceChildren(); // thousands of rows are put in at once a hundred times faster than moved one by one
  body.append(...rows.map((one) => one.row));
}

for (const [column, header] of [...table.tHead.rows[0].cells].entries()) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...header.childNodes);
  button.addEventListener("click", () => sort(header, column));
  header.append(button);
}
const marks = [...new Set(rows.flatMap((one) => one.marks))].sort(names.compare);
status.append(...marks.map((mark) => new Option(mark.replaceAll("-", " "), mark)));
const controls = document.getElementById("controls");
controls.addEventListener("input", filter);
controls.addEventListener("submit", (event) => event.preventDefault());
controls.hidden = false;
filter();
