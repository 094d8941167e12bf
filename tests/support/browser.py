"""Pages in headless Chromium: what a script finds in them, what the console says, and a picture."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="pages are looked at in Debian's chromium, which is not here")

_SCRIPT = """
<script>(async () => {
  const errors = [];
  window.addEventListener("error", e => errors.push(e.message));
  window.addEventListener("unhandledrejection", e => errors.push(String(e.reason)));
  const shown = e => e.getClientRects().length > 0;
  const until = async ready => { for (let i = 0; i < 200 && !ready(); i++) await new Promise(go => setTimeout(go, 20)); };
  let found; try { found = await (async () => { %s })(); } catch (e) { errors.push(String(e)); }
  const out = document.createElement("pre"); out.id = "seen-by-the-test"; out.textContent = JSON.stringify({found, errors});
  document.body.append(out);
})();</script>"""


def look(page: Path, script: str) -> Any:
    """Opens a copy of the page with a script at its end, the body of an async function; gives what that returns. Fails for
    whatever the console calls an error."""
    copy = page.with_suffix(".tested.html")
    copy.write_text(page.read_text().replace("</body>", _SCRIPT % script + "</body>"))
    done = _chromium("--dump-dom", "--enable-logging=stderr", "--v=0", page=copy)
    seen = json.loads(html.unescape(re.search(r'<pre id="seen-by-the-test">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
    assert seen["errors"] == [], seen["errors"]
    assert not re.findall(r"CONSOLE.*(?:Uncaught|Error|Failed|Refused).*", done.stderr)
    return seen.get("found")


def picture(page: Path, to: Path, dark: bool = False) -> Path:
    """A screenshot as PNG."""
    copy = page.with_suffix(".dark.html" if dark else ".light.html")
    copy.write_text(page.read_text().replace("<html ", f'<html data-theme="{"dark" if dark else "light"}" ', 1))
    _chromium(f"--screenshot={to}", "--window-size=1500,900", page=copy)
    assert to.stat().st_size > 10_000
    return to


def _chromium(*options: str, page: Path) -> subprocess.CompletedProcess[str]:
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=8000",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
