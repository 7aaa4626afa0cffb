// Tables that stand in the page already: sorting by their headings, choosing rows and columns.

function sortable(table) {
  const rows = [...table.tHead.rows];
  const labels = rows[0].querySelectorAll('th[scope="col"]');
  const heads = rows.length > 1 ? [...labels, ...rows[1].cells] : [...labels];
  const original = new Map([...table.tBodies].map((body) => [body, [...body.rows]]));
  const key = `sort-${table.dataset.sort}`;

  function sort(index, order) {
    heads.forEach((head, i) => {
      if (i === index && order) head.setAttribute("aria-sort", order);
      else head.removeAttribute("aria-sort");
    });
    for (const [body, all] of original) {
      const fixed = all.filter((row) => row.classList.contains("block"));
      const moved = all.filter((row) => !row.classList.contains("block"));
      if (order) moved.sort((a, b) => compare(a.cells[index], b.cells[index], order));
      body.append(...fixed, ...moved);
    }
    remember(key, order ? `${index}:${order}` : "", "");
  }

  heads.forEach((head, index) => {
    const button = node("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    const first = head.classList.contains("number") ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      sort(index, now === null ? first : now === first ? second : "");
    });
  });
  const [index, order] = (STATE.get(key) ?? "").split(":");
  if (heads[index] && ["ascending", "descending"].includes(order)) sort(Number(index), order);
}

// Numbers by value, labels by text; what is blank comes last either way.
function compare(a, b, order) {
  const sign = order === "ascending" ? 1 : -1;
  const numeric = a.tagName === "TD";
  const [x, y] = [a, b].map((cell) => (numeric ? cell.dataset.value : cell.textContent));
  if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
  return sign * (numeric ? x - y : x.localeCompare(y));
}

function drawDirections(place) {
  const table = document.querySelector('table[data-sort="directions"]');
  const rows = [...table.tBodies[0].rows];
  const count = node("p", { class: "count", "aria-live": "polite" });
  const all = [["", "all"], ...DATA.metrics.map((one) => [headingOf(one), one.name])];
  const find = search("find", "Direction", "de, en-de, → ar", draw);
  const group = choice("in", "Group", groupOptions(), "", draw);
  const metric = choice("show", "Metric", all, "", draw);
  place.append(controls(find, group, metric), count);

  function draw() {
    const wanted = arrow(find.value.toLowerCase());
    const inside = new Set(members(group.value));
    let shown = 0;
    for (const row of rows) {
      const name = row.cells[0].textContent;
      row.hidden = !(name.toLowerCase().includes(wanted) && inside.has(name.replace(" → ", "-")));
      shown += !row.hidden;
    }
    for (const cell of table.querySelectorAll("[data-over]")) {
      cell.hidden = metric.value !== "" && cell.dataset.over !== metric.value;
    }
    count.textContent = `${shown} of ${rows.length} directions`;
  }
  draw();
}

const headingOf = (metric) => `${metric.name} ${metric.higher ? "↑" : "↓"}`;
