// Everything around the map, and the beginning of it all.

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
    if (!total) return;
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
    const name = bucket > 11 ? `2^${bucket - 2} – 2^${bucket - 1}` : range(bucket);
    row(name, [[bucket, counts(bucket)], [FAILS + bucket, counts(FAILS + bucket)]]);
  }
  row("NaN, Inf", [[MISMATCH, counts(MISMATCH)]]);
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
window.addEventListener("scroll", () => {
  if (byId("tooltip").hidden || cursor < 0) return;
  const mark = byId("cursor").getBoundingClientRect();
  if (mark.bottom < 0 || mark.top > window.innerHeight) byId("tooltip").hidden = true;
  else look(cursor);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
