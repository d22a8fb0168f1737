// Makes tables sortable. Without it they are the same tables in the order of the experiment.
for (const table of document.querySelectorAll("table.sortable")) {
  const headers = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const original = [...body.rows];

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
  };

  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };

  const sort = (column, direction) => {
    const isNumeric = original.some((row) => row.cells[column].dataset.key !== undefined);
    const isMissing = (row) => isNumeric && row.cells[column].dataset.key === undefined;
    const rows = direction === "none" ? original : [...original].sort((a, b) => {
      if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b); // last either way
      const order = compare(keyOf(a, column), keyOf(b, column));
      return direction === "ascending" ? order : -order;
    });
    body.append(...rows);
    headers.forEach((header, i) => header.setAttribute("aria-sort", i === column ? direction : "none"));
  };

  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => {
      const next = { none: "descending", descending: "ascending", ascending: "none" };
      sort(column, next[header.getAttribute("aria-sort")]);
    });
    header.append(button);
    header.setAttribute("aria-sort", "none");
  });
}

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
