"use strict";
const $ = id => document.getElementById(id), el = (tag, cls, text) => {
  const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e;
};
const unpacked = {};
async function unpack(id) {
  if (unpacked[id] !== undefined) return unpacked[id];
  const bytes = Uint8Array.from(atob($(id).textContent), c => c.charCodeAt(0));
  const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
  writer.write(bytes); writer.close();
  const decoder = new TextDecoder(); let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value, { stream: true });
  return unpacked[id] = JSON.parse(text + decoder.decode());
}
const show = v => v === null || v === undefined ? "" : Number.isInteger(v) ? v.toLocaleString("en") : v.toLocaleString("en", { maximumFractionDigits: 2 });
const tint = (v, most) => v > 0 && most > 0 ? `rgba(var(--hot),${(0.08 + 0.5 * v / most).toFixed(3)})` : "";
let facts, current = -1, fn, heat = 0, files = {}, folded = new Set(), closed = new Set(), rows = [];
const most = values => values.reduce((a, b) => Math.max(a, b || 0), 0);

function inFold(block) { return block.loops.some((l, depth) => folded.has(l) && fn.loops[l].header !== fn.blocks.indexOf(block)); }

async function open(i) {
  current = i; fn = await unpack("function" + i); folded = new Set(); closed = new Set();
  for (const n of new Set(fn.instructions.file)) if (n >= 0) files[n] = await unpack("file" + n);
  for (const d of $("list").children) d.classList.toggle("on", +d.dataset.i === i);
  const kernel = facts.kernels.find(k => k.name === fn.name);
  $("facts").textContent = facts.target + (kernel ? ` · ${kernel.sgprs} SGPRs, ${kernel.vgprs} VGPRs, ${show(kernel.lds)} bytes of LDS, ${show(kernel.scratch)} of scratch` +
    (kernel.occupancy === null ? "" : ` · ${kernel.occupancy} waves a SIMD by registers`) : "");
  drawCode(); drawSource(); drawGraph(); search();
}

function drawCode() {
  const code = $("code"), I = fn.instructions, live = I.live_vgprs; code.textContent = ""; rows = [];
  const table = el("table"), head = table.createTHead().insertRow();
  for (const c of facts.columns) { const td = el("td", "c", c.title); td.title = c.about; head.append(td); }
  if (live) { const td = el("td", "c", "live v/s/a"); td.title = "registers that are live before the instruction"; head.append(td); }
  head.append(el("td", "", "address"), el("td", "", fn.name));
  const width = facts.columns.length + (live ? 1 : 0), top = fn.values.map(most), topLive = live ? most(live) : 0;
  fn.blocks.forEach((block, b) => {
    const body = el("tbody", "b"); body.dataset.b = b; table.append(body);
    const row = body.insertRow(); row.className = "b";
    for (let c = 0; c < facts.columns.length; c++) row.append(el("td", "c", ""));
    if (live) row.append(el("td"));
    row.append(el("td", "dim", "0x" + block.address.toString(16)));
    const name = el("td"); name.append("  ".repeat(block.loops.length) + block.label + ":"); row.append(name);
    fn.loops.forEach((loop, l) => {
      if (loop.header !== b) return;
      const fold = el("span", "fold", ""); fold.dataset.loop = l; name.append(fold);
      fold.onclick = e => { e.stopPropagation(); folded.has(l) ? folded.delete(l) : folded.add(l); folding(); };
    });
    row.onclick = () => { closed.has(b) ? closed.delete(b) : closed.add(b); folding(); };
    for (let i = block.first; i < block.first + block.count; i++) {
      const r = body.insertRow(); r.className = "i"; r.dataset.i = i;
      fn.values.forEach((values, c) => { const td = el("td", "c", show(values[i])); if (c === heat) td.style.background = tint(values[i], top[c]); r.append(td); });
      if (live) { const td = el("td", "c live", `${live[i]}/${I.live_sgprs[i]}/${I.live_agprs[i]}`); td.style.background = `linear-gradient(to left,#3b82f633 ${topLive ? 100 * live[i] / topLive : 0}%,transparent 0)`; r.append(td); }
      r.append(el("td", "dim", "0x" + I.address[i].toString(16)), el("td", "", "  ".repeat(block.loops.length + 1) + I.text[i]));
      r.onclick = () => select(I.file[i], I.line[i], false);
      rows[i] = r;
    }
  });
  code.append(table); folding();
}

function folding() {
  for (const body of document.querySelectorAll("#code tbody")) {
    const b = +body.dataset.b, block = fn.blocks[b];
    body.classList.toggle("none", inFold(block));
    const shut = closed.has(b) || block.loops.some(l => folded.has(l) && fn.loops[l].header === b);
    for (const r of body.rows) if (r.className !== "b") r.classList.toggle("none", shut);
    for (const fold of body.querySelectorAll(".fold")) {
      const l = +fold.dataset.loop, blocks = fn.blocks.filter(x => x.loops.includes(l)), n = blocks.reduce((a, x) => a + x.count, 0);
      fold.textContent = `${folded.has(l) ? "▸" : "▾"} loop of ${blocks.length} block${blocks.length === 1 ? "" : "s"}, ${n} instruction${n === 1 ? "" : "s"}`;
    }
  }
}

function drawSource() {
  const source = $("source"), I = fn.instructions; source.textContent = "";
  const times = {}; for (const n of I.file) times[n] = (times[n] || 0) + 1;
  const used = [...new Set(I.file)].filter(n => n >= 0).sort((a, b) => times[b] - times[a]);  // headers are behind the kernel's own file
  if (!used.length) { source.append(el("div", "file", "no source lines"), el("div", "dim", "compile with -g (Triton's kernels have lines)")); return; }
  const column = facts.columns[heat];
  for (const n of used) {
    const sums = {};
    I.line.forEach((line, i) => {
      if (I.file[i] !== n || !column) return;
      const v = fn.values[heat][i]; if (v === null) return;
      sums[line] = sums[line] === undefined ? v : column.combine === "max" ? Math.max(sums[line], v) : sums[line] + v;
    });
    const top = most(Object.values(sums)), has = new Set(I.line.filter((_, i) => I.file[i] === n));
    source.append(el("div", "file", facts.files[n] + (files[n] ? "" : " (the file is not here)")));
    const lines = files[n] || [], last = files[n] ? lines.length : Math.max(...has);
    for (let line = 1; line <= last; line++) {
      if (!files[n] && !has.has(line)) continue;
      const d = el("div", "l"); d.dataset.file = n; d.dataset.line = line;
      const v = el("span", "v", column ? show(sums[line]) : ""); v.style.background = tint(sums[line], top);
      d.append(v, el("span", "n", line), lines[line - 1] || ""); if (!has.has(line)) d.classList.add("dim");
      d.onclick = () => select(n, line, true); source.append(d);
    }
  }
}

function drawGraph() {
  const graph = $("graph");
  if (!fn.graph) { graph.textContent = "Graphs are drawn where there are at most 5,000 blocks: choose kernels."; return; }
  graph.innerHTML = fn.graph;
  for (const node of graph.querySelectorAll(".node")) node.onclick = () => {
    const b = fn.blocks[+node.dataset.key]; rows[b.first].scrollIntoView({ block: "center" }); mark([rows[b.first]]);
  };
}

function mark(elements) { for (const e of document.querySelectorAll(".sel")) e.classList.remove("sel"); for (const e of elements) e.classList.add("sel"); }
function select(file, line, fromSource) {
  const I = fn.instructions, mine = rows.filter((_, i) => I.file[i] === file && I.line[i] === line && file >= 0);
  const there = [...document.querySelectorAll("#source .l")].filter(d => +d.dataset.file === file && +d.dataset.line === line);
  mark([...mine, ...there]); const to = fromSource ? mine[0] : there[0]; if (to) to.scrollIntoView({ block: "center" });
}

function search() {
  const words = $("search").value.toLowerCase();
  for (const e of document.querySelectorAll(".hit")) e.classList.remove("hit");
  if (!words) { $("hits").textContent = ""; return 0; }
  const found = [...rows, ...document.querySelectorAll("#source .l")].filter(e => e.textContent.toLowerCase().includes(words));
  for (const e of found) e.classList.add("hit");
  for (const r of rows) if (r.classList.contains("hit")) {
    const block = fn.blocks[+r.parentNode.dataset.b]; closed.delete(+r.parentNode.dataset.b); for (const l of block.loops) folded.delete(l);
  }
  folding(); $("hits").textContent = found.length + (found.length === 1 ? " hit" : " hits");
  if (found.length) found[0].scrollIntoView({ block: "center" });
  return found.length;
}

async function start() {
  facts = await unpack("about"); $("title").textContent = facts.title;
  facts.columns.forEach((c, i) => { const o = el("option", "", c.title); o.value = i; $("heat").append(o); });
  if (!facts.columns.length) $("heat").parentNode.classList.add("none");
  const order = facts.functions.map((f, i) => i).sort((a, b) => facts.functions[b].total - facts.functions[a].total || a - b), top = most(facts.functions.map(f => f.total));
  for (const i of order) {
    const f = facts.functions[i], d = el("div", "", `${f.name} (${f.instructions})`); d.dataset.i = i; d.title = f.name;
    d.style.background = tint(f.total, top); d.onclick = () => open(i); $("list").append(d);
  }
  $("list").classList.toggle("none", facts.functions.length < 2);
  $("heat").onchange = () => { heat = +$("heat").value; drawCode(); drawSource(); };
  $("search").oninput = search; document.onkeydown = e => { if (e.key === "/" && e.target.tagName !== "INPUT") { e.preventDefault(); $("search").focus(); } };
  $("foldall").onclick = () => { const all = fn.loops.map((_, l) => l); folded = folded.size === all.length ? new Set() : new Set(all); folding(); };
  $("showgraph").onclick = () => $("graph").classList.toggle("none"); $("showsource").onclick = () => $("source").classList.toggle("none");
  $("theme").onclick = () => { const dark = getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)"; document.documentElement.dataset.theme = dark ? "light" : "dark"; };
  if (order.length) await open(order[0]);
  document.body.dataset.ready = "yes";
}
start();
