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
const SIZES = { float16: 2, bfloat16: 2, float32: 4, float64: 8, int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, int64: 8 };
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
    case "int8": return new Int8Array(buffer);
    case "uint8": return new Uint8Array(buffer);
    case "int16": return new Int16Array(buffer);
    case "uint16": return new Uint16Array(buffer);
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
  const distance = code === MISMATCH ? "NaN or Inf differ" : `${range(bucketOf(code))} ULP apart`;
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
