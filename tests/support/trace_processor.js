// Perfetto's trace processor, as its UI has it, in Node: reads a trace, and answers questions in SQL.
// Arguments: the folder of the UI's release, the trace, then the questions. Prints a list of tables as JSON.
const fs = require("fs");
const path = require("path");
const vm = require("vm");
const [folder, trace, ...questions] = process.argv.slice(2);

// What a worker of a browser has; the bundle runs nowhere else.
const log = (...words) => process.stderr.write(`${words.join(" ")}\n`);
const worker = {
  console: { log, warn: log, error: log }, WorkerGlobalScope() {}, importScripts() {}, location: { href: "http://localhost/engine_bundle.js" },
  XMLHttpRequest: class {
    open(_method, name) { this.name = path.basename(name); }
    send() { this.response = new Uint8Array(fs.readFileSync(path.join(folder, this.name))).buffer; }
  },
  URL, TextDecoder, TextEncoder, performance, crypto, setTimeout, clearTimeout,
};
worker.self = worker;

// Protocol buffers, as far as trace_processor.proto of Perfetto needs them.
const varint = n => { const out = []; for (; n > 127; n = Math.floor(n / 128)) out.push(n % 128 | 128); return [...out, n]; };
const bytes = (field, data) => Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(data.length)]), data]);
const number = (field, n) => Buffer.from([...varint(field * 8), ...varint(n)]);
function* fields(data) {
  let at = 0;
  const next = () => { let n = 0n, shift = 0n; for (;;) { const b = data[at++]; n |= BigInt(b & 127) << shift; shift += 7n; if (b < 128) return n; } };
  while (at < data.length) {
    const tag = Number(next()), kind = tag & 7;
    if (kind === 0) yield [tag >> 3, next()];
    else if (kind === 2) { const size = Number(next()); yield [tag >> 3, data.subarray(at, at += size)]; }
    else throw new Error(`a field of kind ${kind}`);
  }
}
const varints = data => { const out = []; for (let at = 0; at < data.length;) { let n = 0n, shift = 0n, b; do { b = data[at++]; n |= BigInt(b & 127) << shift; shift += 7n; } while (b > 127); out.push(n); } return out; };

let answers = [];
const port = { postMessage(data) { answers.push(Buffer.from(data)); } };
const source = fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8");
vm.runInContext(source, vm.createContext(worker));
worker.onmessage({ data: port });
let seq = 0;
function ask(method, args = Buffer.alloc(0)) {
  const one = Buffer.concat([number(1, ++seq), number(2, method), args]);
  answers = [];
  port.onmessage({ data: vm.runInContext("bytes => new Uint8Array(bytes)", worker)(bytes(1, one)) });
  const told = [];
  for (const [, rpc] of fields(Buffer.concat(answers))) for (const [field, value] of fields(rpc)) {
    if (field === 5) throw new Error(value.toString());
    if (field === 201) for (const [f, v] of fields(value)) if (f === 2) throw new Error(v.toString());
    if (field === 203) told.push(value);
  }
  return told;
}
function table(results) {
  const columns = [], cells = [];
  for (const result of results) for (const [field, value] of fields(result)) {
    if (field === 1) columns.push(value.toString());
    if (field === 2) throw new Error(value.toString());
    if (field !== 3) continue;
    const parts = { 1: [], 2: [], 3: Buffer.alloc(0), 5: "" };
    for (const [f, v] of fields(value)) parts[f] = f < 3 ? varints(v) : f === 5 ? v.toString() : v;
    const strings = parts[5].split("\0");
    let reals = 0;
    for (const kind of parts[1]) {
      if (kind === 1n) cells.push(null);
      else if (kind === 2n) cells.push(Number(BigInt.asIntN(64, parts[2].shift())));
      else if (kind === 3n) cells.push(parts[3].readDoubleLE(8 * reals++));
      else if (kind === 4n) cells.push(strings.shift());
      else throw new Error(`a cell of kind ${kind}`);
    }
  }
  const rows = [];
  for (let at = 0; at < cells.length; at += columns.length) rows.push(Object.fromEntries(columns.map((c, n) => [c, cells[at + n]])));
  return rows;
}
setTimeout(() => { // what the bundle has put off is done first
  ask(1, bytes(101, fs.readFileSync(trace)));
  ask(2);
  const tables = questions.map(question => table(ask(3, bytes(103, bytes(1, Buffer.from(question))))));
  process.stdout.write(`${JSON.stringify(tables)}\n`, () => process.exit(0));
}, 100);
