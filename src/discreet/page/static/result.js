// The result: a figure can be chosen, the link and the programs copied.

export function result(page) {
  document.addEventListener("click", copy);
  if (!page) return;
  const layer = page.querySelector("[data-go]");
  if (layer) layer.addEventListener("change", () => layer.form.submit());
  figures(page.querySelector(".figures"));
}

async function copy(event) {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent.trim();
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return;
  }
  const before = button.innerHTML;
  button.textContent = button.dataset.copied;
  document.getElementById("say").textContent = button.dataset.copied;
  setTimeout(() => {
    button.innerHTML = before;
  }, 2000);
}

function figures(table) {
  if (!table) return;
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].filter((cell) => cell.matches(".n")));
  if (!rows.length || !rows[0].length) return;
  rows[0][0].tabIndex = 0;
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td.n");
    if (!cell) return;
    pick(table, rows, cell);
    cell.focus({ preventScroll: true }); // so that arrow keys go on from here
  });
  table.addEventListener("focusin", (event) => {
    const cell = event.target.closest("td.n");
    if (cell) pick(table, rows, cell);
  });
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td.n");
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!cell || !step) return;
    event.preventDefault();
    const [y, x] = place(rows, cell);
    const next = rows[y + step[0]] && rows[y + step[0]][x + step[1]];
    if (next) {
      pick(table, rows, next);
      next.focus();
    }
  });
}

function place(rows, cell) {
  const y = rows.findIndex((row) => row.includes(cell));
  return [y, rows[y].indexOf(cell)];
}

function pick(table, rows, cell) {
  for (const old of table.querySelectorAll("td.picked, td[tabindex]")) {
    // The cell itself keeps its place: without it, it would lose the focus.
    if (old === cell) continue;
    old.classList.remove("picked");
    old.removeAttribute("tabindex");
  }
  cell.classList.add("picked");
  cell.tabIndex = 0;
  const [y, x] = place(rows, cell);
  const what = [...rowNames(table, y), ...columnNames(table, x)].join(", ");
  const given = { what, value: cell.textContent.trim(), ...cell.dataset };
  document.getElementById("chosen").textContent = table.dataset[said(cell.dataset)].replace(/{(\w+)}/g, (_, name) => given[name]);
}

function said(told) {
  if (!told.parts) return told.low ? "range" : "plain";
  return told.low90 ? "sumUsual" : told.low ? "sumRange" : "sumPlain";
}

function rowNames(table, y) {
  // A head may span rows: the last one that began at its depth still holds.
  const held = [];
  const body = table.tBodies[0].rows;
  for (let i = 0; i <= y; i += 1) {
    const heads = [...body[i].cells].filter((cell) => cell.matches("th"));
    const from = held.filter((one) => one.until > i).length;
    held.length = from;
    for (const head of heads) held.push({ text: head.textContent.trim(), until: i + head.rowSpan });
  }
  return held.map((one) => one.text);
}

function columnNames(table, x) {
  // Under each figure's head there may be heads of its ranges, which are no figures.
  const lines = [...table.tHead.rows].filter((line) => !line.matches(".subs"));
  const taken = lines.map(() => []);
  const names = [];
  lines.forEach((line, y) => {
    let at = 0;
    for (const head of line.cells) {
      if (!head.matches("th")) continue;
      while (taken[y][at]) at += 1;
      for (let down = 0; down < head.rowSpan && y + down < lines.length; down += 1) {
        for (let wide = 0; wide < span(head); wide += 1) taken[y + down][at + wide] = true;
      }
      if (at <= x && x < at + span(head)) names.push(head.textContent.trim().replace(/ [▲▼]$/, ""));
      at += span(head);
    }
  });
  return names;
}

function span(head) {
  return Number(head.dataset.span || head.colSpan);
}
