// The map of one plane: drawing it, and looking at its cells with mouse or keys.

const canvas = byId("map");
const inOrder = [...report.shown].sort((one, other) => one.number - other.number);
let current = null; // { plane, drawn }
let cursor = -1; // the cell that is looked at

function paint() {
  const { drawn } = current;
  canvas.width = grid.columns;
  canvas.height = grid.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(grid.columns, grid.rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = Uint32Array.from(palette, ([red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red);
  for (let cell = 0; cell < cells; cell++) pixels[cell] = colours[drawn.codes[cell]];
  context.putImageData(image, 0, 0);
  fit();
}

function fit() {
  // Whole pixels per cell while there is room, so that all cells are of one size.
  const room = [byId("frame").parentElement.clientWidth - 34, Math.max(400, window.innerHeight - 190)];
  let scale = Math.min(room[0] / grid.columns, room[1] / grid.rows, 40);
  if (scale > 1) scale = Math.floor(scale);
  canvas.style.imageRendering = scale < 1 ? "auto" : ""; // else single lines would vanish
  canvas.style.width = `${Math.max(grid.columns * scale, 1)}px`;
  canvas.style.height = `${Math.max(grid.rows * scale, grid.rows === 1 ? 32 : 1)}px`;
  if (cursor >= 0) placeCursor();
}

async function show(plane, cell = -1) {
  const drawn = await planeOf(plane.number);
  current = { plane, drawn };
  byId("plane").value = String(plane.number);
  for (const button of byId("strip").children)
    button.setAttribute("aria-pressed", String(button.dataset.number === String(plane.number)));
  const place = inOrder.indexOf(plane);
  byId("previous").disabled = place === 0;
  byId("next").disabled = place === inOrder.length - 1;
  canvas.setAttribute("aria-label", `Map of plane ${nameOf(plane)}: ${described(plane.worst)} at worst`);
  leave();
  paint();
  if (cell >= 0) look(cell);
}

function step(by) {
  const plane = inOrder[inOrder.indexOf(current.plane) + by];
  if (plane) show(plane);
}

function textOf(cell) {
  const { plane, drawn } = current;
  const actual = drawn.actual[cell], golden = drawn.golden[cell];
  const lines = [
    `[${coordinatesOf(plane, cell, drawn).join(", ")}]`,
    `actual ${shown(actual, answer.dtype)}`,
    `golden ${shown(golden, answer.golden_dtype)}`,
  ];
  if (drawn.codes[cell] !== MISMATCH && actual !== golden && !Number.isNaN(actual))
    lines.push(`difference ${apart(actual, golden)}`);
  lines.push(described(drawn.codes[cell]));
  if (grid.is_reduced) lines.push(`the worst of ${grid.cell_height} × ${grid.cell_width} elements here`);
  return lines;
}

function placeCursor() {
  const mark = byId("cursor"), width = canvas.clientWidth / grid.columns, height = canvas.clientHeight / grid.rows;
  mark.hidden = false;
  mark.style.left = `${((cursor % grid.columns) + 0.5) * width}px`;
  mark.style.top = `${(Math.floor(cursor / grid.columns) + 0.5) * height}px`;
  mark.style.width = `${width + 4}px`;
  mark.style.height = `${height + 4}px`;
}

function look(cell, pointer = null) {
  cursor = cell;
  placeCursor();
  const lines = textOf(cell), tooltip = byId("tooltip");
  byId("status").textContent = lines.join(", ");
  tooltip.textContent = lines.join("\n");
  tooltip.hidden = false;
  const mark = byId("cursor").getBoundingClientRect();
  const [x, y] = pointer ?? [mark.right, mark.bottom];
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = `${x + 14 + box.width > window.innerWidth ? Math.max(0, x - 14 - box.width) : x + 14}px`;
  tooltip.style.top = `${y + 14 + box.height > window.innerHeight ? Math.max(0, y - 14 - box.height) : y + 14}px`;
}

function leave() {
  cursor = -1;
  byId("tooltip").hidden = true;
  byId("cursor").hidden = true;
  byId("status").textContent = "";
}

function findNext() {
  const codes = current.drawn.codes;
  const at = codes.findIndex((code, cell) => cell > cursor && isNoted(code));
  if (at >= 0) return look(at);
  const later = inOrder.slice(inOrder.indexOf(current.plane) + 1).find((plane) => isNoted(plane.worst));
  const plane = later ?? inOrder.find((candidate) => isNoted(candidate.worst));
  if (plane) show(plane).then(() => look(current.drawn.codes.findIndex(isNoted)));
}

canvas.addEventListener("pointermove", (event) => {
  if (!current) return;
  const box = canvas.getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left) / box.width) * grid.columns);
  const row = Math.floor(((event.clientY - box.top) / box.height) * grid.rows);
  if (column < 0 || row < 0 || column >= grid.columns || row >= grid.rows) return;
  look(row * grid.columns + column, [event.clientX, event.clientY]);
});
canvas.addEventListener("pointerleave", () => { byId("tooltip").hidden = true; });
canvas.addEventListener("blur", () => { byId("tooltip").hidden = true; });
canvas.addEventListener("keydown", (event) => {
  if (!current || event.ctrlKey || event.altKey || event.metaKey) return;
  const far = event.shiftKey ? 10 : 1, at = Math.max(cursor, 0);
  const row = Math.floor(at / grid.columns), column = at % grid.columns;
  const to = (newRow, newColumn) =>
    look(Math.min(grid.rows - 1, Math.max(0, newRow)) * grid.columns + Math.min(grid.columns - 1, Math.max(0, newColumn)));
  const keys = {
    ArrowLeft: () => to(row, column - far), ArrowRight: () => to(row, column + far),
    ArrowUp: () => to(row - far, column), ArrowDown: () => to(row + far, column),
    Home: () => to(row, 0), End: () => to(row, grid.columns - 1),
    PageUp: () => step(-1), PageDown: () => step(1), Escape: leave, n: findNext, N: findNext,
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  if (cursor < 0 && event.key.startsWith("Arrow")) to(0, 0);
  else keys[event.key]();
});
