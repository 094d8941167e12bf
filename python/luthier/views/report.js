"use strict";
const rows = () => [...document.querySelectorAll("section tr")].filter(r => r.querySelector("td"));
document.getElementById("search").oninput = e => {
  const words = e.target.value.toLowerCase(); let n = 0;
  for (const r of rows()) { const hit = r.textContent.toLowerCase().includes(words); r.classList.toggle("none", !hit); n += hit; }
  document.getElementById("hits").textContent = words ? `${n} rows` : "";
};
for (const th of document.querySelectorAll("section th")) th.onclick = () => {
  const table = th.closest("table"), at = th.cellIndex, down = th.dataset.down !== "yes"; th.dataset.down = down ? "yes" : "no";
  const value = r => { const t = r.cells[at].textContent, n = Number(t.replaceAll(",", "")); return t !== "" && !Number.isNaN(n) ? n : t; };
  const sorted = [...table.rows].filter(r => r.querySelector("td")).sort((a, b) => {
    const [x, y] = [value(a), value(b)]; const c = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return down ? -c : c;
  });
  for (const r of sorted) r.parentNode.append(r);
};
document.getElementById("theme").onclick = () => {
  const dark = getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)"; document.documentElement.dataset.theme = dark ? "light" : "dark";
};
