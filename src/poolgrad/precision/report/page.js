"use strict";
// The report draws itself from the JSON in #data and the planes in #plane-N. Text is set as text, never as HTML.

const report = JSON.parse(document.getElementById("data").textContent);
const answer = report.comparison;
const byId = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// ---- numbers ----

const DIGITS = { float16: 5, bfloat16: 4, float32: 9, float64: 17 };
const SIZES = { float16: 2, bfloat16: 2, float32: 4, float64: 8, int32: 4, int64: 8 };
const count = (number) => Number(number).toLocaleString("en");

function short(number, digits = 4) {
  return typeof number === "number" ? String(Number(number.toPrecision(digits))) : String(number);
}

function power(number) {
  const exponent = Math.log2(number);
  return Number.isInteger(exponent) && exponent < 0 ? `2^${exponent} = ${short(number)}` : short(number);
}

function plural(number, word) {
  return `${count(number)} ${word}${Number(number) === 1 ? "" : "s"}`;
}

function float16(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

function values(bytes, dtype) {
  const buffer = bytes.buffer;
  switch (dtype) {
    case "float16": return Array.from(new Uint16Array(buffer), float16);
    case "bfloat16": return new Float32Array(Uint32Array.from(new Uint16Array(buffer), (bits) => bits << 16).buffer);
    case "float32": return new Float32Array(buffer);
    case "float64": return new Float64Array(buffer);
    case "int32": return new Int32Array(buffer);
    default: return new BigInt64Array(buffer);
  }
}

function shown(value, dtype) {
  return typeof value === "bigint" || !DIGITS[dtype] ? String(value) : Object.is(value, -0) ? "-0" : short(value, DIGITS[dtype]);
}

function apart(one, other) {
  if (typeof one === "bigint") return String(one > other ? one - other : other - one);
  return short(Math.abs(one - other));
}

// ---- codes: what is known of an element's error ----

const { fails: FAILS, mismatch: MISMATCH } = report.codes;
const bucketOf = (code) => code & (FAILS - 1);
const isFailing = (code) => code >= FAILS;
const isNoted = (code) => (report.judges_elements ? isFailing(code) : code > 0);
const largestBucket = Math.max(1, ...Object.keys(report.counts).map(Number).filter((code) => code !== MISMATCH).map(bucketOf));

function range(bucket) {
  const [low, high] = report.bounds[bucket];
  return low === high ? count(low) : `${count(low)} – ${count(high)}`;
}

function described(code) {
  if (code === MISMATCH) return "NaN or Inf differ: fails";
  const distance = `${range(bucketOf(code))} ULP apart`;
  return report.judges_elements ? `${distance}: ${isFailing(code) ? "fails" : "passes"}` : distance;
}

// ---- colours ----

let palette = [];

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const parse = (name) => {
    const hex = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
  };
  const ends = { pass: [parse("--pass-near"), parse("--pass-far")], fail: [parse("--fail-near"), parse("--fail-far")] };
  const mixed = ([from, to], bucket) => {
    const share = largestBucket > 1 ? Math.max(0, bucket - 1) / (largestBucket - 1) : 1;
    return from.map((part, index) => Math.round(part + share * (to[index] - part)));
  };
  palette = Array.from({ length: 256 }, (_, code) => {
    if (code === MISMATCH) return parse("--mismatch");
    if (code === 0) return parse("--same");
    return mixed(isFailing(code) ? ends.fail : ends.pass, bucketOf(code));
  });
}

const css = (code) => `rgb(${palette[code].join(" ")})`;

// ---- planes ----

const grid = report.grid;
const cells = grid.rows * grid.columns;
const decoded = new Map(); // the last few planes, by number

async function planeOf(number) {
  if (!decoded.has(number)) {
    if (decoded.size >= 8) decoded.delete(decoded.keys().next().value);
    decoded.set(number, decode(byId(`plane-${number}`).textContent));
  }
  return decoded.get(number);
}

async function decode(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let place = cells;
  const numbers = (size) => {
    const ordered = new Uint8Array(cells * size);
    for (let part = 0; part < size; part++)
      for (let cell = 0; cell < cells; cell++) ordered[cell * size + part] = bytes[place++];
    return ordered;
  };
  const offsets = grid.is_reduced ? new Uint32Array(numbers(4).buffer) : null;
  const actual = numbers(SIZES[answer.dtype]), golden = numbers(SIZES[answer.golden_dtype]);
  if (answer.dtype === answer.golden_dtype) actual.forEach((byte, index) => { golden[index] ^= byte; });
  return {
    codes: bytes.subarray(0, cells),
    offsets,
    actual: values(actual, answer.dtype),
    golden: values(golden, answer.golden_dtype),
  };
}

function nameOf(plane) {
  const colons = answer.shape.length > 1 ? [":", ":"] : answer.shape.length ? [":"] : [];
  return `[${[...plane.lead, ...colons].join(", ")}]`;
}

function coordinatesOf(plane, cell, drawn) {
  const offset = drawn.offsets ? drawn.offsets[cell] : 0;
  const row = Math.floor(cell / grid.columns) * grid.cell_height + Math.floor(offset / grid.cell_width);
  const column = (cell % grid.columns) * grid.cell_width + (offset % grid.cell_width);
  return answer.shape.length ? [...plane.lead, row, column].slice(-answer.shape.length) : [];
}

// ---- the map ----

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

// ---- everything around the map ----

function writeHeader() {
  byId("verdict").textContent = answer.passed ? "PASS" : "FAIL";
  byId("verdict").classList.add(answer.passed ? "pass" : "fail");
  byId("subject").textContent = `${report.names[0]} against ${report.names[1]}`;
  const type = answer.hf32 ? `${answer.dtype} (HF32)` : answer.dtype;
  const golden = answer.golden_dtype === answer.dtype ? "" : `, golden ${answer.golden_dtype}`;
  byId("kind").textContent = `standard ${answer.standard}, ${type}${golden}, shape [${answer.shape.join(", ")}]`;
  byId("reasons").append(...answer.reasons.map((reason) => element("li", { textContent: reason })));
}

function writeFigures() {
  const rows = [
    ["elements", count(answer.count)],
    [report.judges_elements ? "that pass" : "equal to golden", `${count(answer.count_passed)} (${report.share})`],
    ["MERE, mean relative error", short(answer.mere)],
    ["MARE, largest relative error", short(answer.mare)],
    ["largest absolute error", short(answer.max_abs)],
    ["largest distance", `${count(answer.max_ulp)} ULP`],
    ["NaN mismatches", count(answer.nan_mismatches)],
    ["Inf mismatches", count(answer.inf_mismatches)],
    ...Object.entries(answer.figures).map(([name, value]) => [name.replaceAll("_", " "), short(value)]),
  ];
  const thresholds = Object.entries(answer.thresholds).map(([name, value]) => [name.replaceAll("_", " "), power(value)]);
  const row = ([name, value]) =>
    element("tr", {}, element("th", { textContent: name, scope: "row" }), element("td", { textContent: value }));
  const heading = element("tr", { className: "heading" }, element("th", { textContent: "Thresholds", colSpan: 2 }));
  byId("figures").append(...rows.map(row), heading, ...thresholds.map(row));
}

function writePositions() {
  const named = [["first", "first that does not pass"], ["worst", "worst"], ["at_max_abs", "largest absolute error"], ["at_max_ulp", "largest distance"]];
  const found = named.filter(([key]) => answer[key]);
  if (!found.length) byId("positions").textContent = "No element differs.";
  byId("positions").append(...found.map(([key, name]) => {
    const at = answer[key];
    const line = element("p", {}, element("span", { textContent: `${name}: [${at.coordinates.join(", ")}]` }));
    const lead = at.coordinates.slice(0, -2).join();
    const plane = report.shown.find((candidate) => candidate.lead.join() === lead);
    if (plane) {
      const button = element("button", { type: "button", textContent: "show" });
      button.addEventListener("click", () => {
        const [column, row] = [...at.coordinates.slice(-2).reverse(), 0, 0];
        const cell = Math.floor(row / grid.cell_height) * grid.columns + Math.floor(column / grid.cell_width);
        show(plane, cell).then(() => canvas.scrollIntoView({ block: "nearest" }));
      });
      line.append(button);
    }
    const distance = at.ulp === null ? "" : `, ${short(at.absolute)} or ${count(at.ulp)} ULP apart`;
    line.append(element("small", { textContent: `actual ${at.actual}, golden ${at.golden}${distance}` }));
    return line;
  }));
}

function writeHistogram() {
  const table = byId("histogram");
  table.replaceChildren();
  const counts = (code) => report.counts[code] ?? 0;
  const longest = Math.log2(1 + Math.max(1, ...Object.values(report.counts)));
  const row = (name, parts) => {
    const total = parts.reduce((sum, [, number]) => sum + number, 0);
    const bars = element("div", { className: "bars" });
    bars.style.width = `${(100 * Math.log2(1 + total)) / longest}%`;
    for (const [code, number] of parts.filter(([, some]) => some)) {
      const bar = element("i", { title: `${plural(number, "element")}, ${described(code)}` });
      bar.style.flex = `${number} 0 2px`;
      bar.style.background = css(code);
      bars.append(bar);
    }
    const cell = element("td", {}, bars);
    const label = element("th", { textContent: name, scope: "row" });
    table.append(element("tr", {}, label, cell, element("td", { textContent: count(total) })));
  };
  for (let bucket = 0; bucket <= largestBucket; bucket++) {
    const name = bucket > 11 ? `to 2^${bucket - 1}` : range(bucket);
    row(name, [[bucket, counts(bucket)], [FAILS + bucket, counts(FAILS + bucket)]]);
  }
  if (counts(MISMATCH)) row("NaN, Inf", [[MISMATCH, counts(MISMATCH)]]);
}

function writeLegend() {
  const swatch = (colours, text) => {
    const box = element("i", { className: colours.length > 1 ? "" : "one" });
    box.style.background = colours.length > 1 ? `linear-gradient(to right, ${colours.join(", ")})` : colours[0];
    return element("span", {}, box, text);
  };
  const ends = (first) => [css(first + 1), css(first + largestBucket)];
  const far = `1 to ${range(largestBucket).split(" – ").pop()} ULP`;
  byId("legend").replaceChildren(
    swatch([css(0)], "the same value"),
    ...(report.judges_elements
      ? [swatch(ends(0), `differs, passes (${far})`), swatch(ends(FAILS), `fails (${far})`)]
      : [swatch(ends(0), `differs (${far}); ${answer.standard} has no rule for single elements`)]),
    swatch([css(MISMATCH)], "NaN or Inf differ"),
  );
}

function writePlanes() {
  const word = report.judges_elements ? "failing" : "different";
  const all = report.planes.count, some = report.shown.length;
  const axis = answer.shape.length - 1;
  const notes = [`${plural(all, "plane")} of ${count(report.planes.rows)} × ${count(report.planes.columns)} elements` +
    (axis > 0 ? `: axis ${axis - 1} runs down, axis ${axis} to the right.` : ".")];
  if (some < all) notes.push(`Only the worst ${some === 1 ? "one is" : `${count(some)} are`} on this page, to keep it small.`);
  if (grid.is_reduced) notes.push(`A cell of the map stands for ${grid.cell_height} × ${grid.cell_width} elements and shows the worst of them.`);
  byId("map-note").textContent = notes.join(" ");
  byId("plane").append(...report.shown.map((plane) =>
    element("option", { value: String(plane.number), textContent: `${nameOf(plane)}  ${count(plane.failing)} ${word}` })));
  byId("strip").append(...inOrder.map((plane) => {
    const label = `Plane ${nameOf(plane)}: ${count(plane.failing)} ${word}`;
    const button = element("button", { type: "button", title: label });
    button.dataset.number = String(plane.number);
    button.setAttribute("aria-label", label);
    button.addEventListener("click", () => show(plane));
    return button;
  }));
  byId("strip").hidden = some < 2;
}

function colourStrip() {
  const byNumber = new Map(report.shown.map((plane) => [String(plane.number), plane]));
  for (const button of byId("strip").children) button.style.background = css(byNumber.get(button.dataset.number).worst);
}

function recolour() {
  readColours();
  writeHistogram();
  writeLegend();
  colourStrip();
  if (current) paint();
}

writeHeader();
writeFigures();
writePositions();
writePlanes();
recolour();
if (report.shown.length && cells) show(report.shown[0]);
else byId("map-note").textContent = "The tensors have no elements.";
byId("plane").addEventListener("change", (event) =>
  show(report.shown.find((plane) => String(plane.number) === event.target.value)));
byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
byId("find").addEventListener("click", () => current && findNext());
window.addEventListener("resize", () => current && fit());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
