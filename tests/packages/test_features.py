"""What cargo builds in several commands, it compiles once: the crates have the same features in each."""

from __future__ import annotations

import re
import subprocess

from places import ROOT

#: What `make` has cargo build: the native module, the driver, the agent; the tests come with what the Makefile says.
BUILT = {name: ["--package", f"luthier-{name}", "--edges", "normal,build"] for name in ("python", "driver", "agent")}


def features(words: list[str]) -> dict[str, str]:
    """The features of each crate and version, in a command with these words."""
    command = ["cargo", "tree", "--locked", "--offline", "--target", "x86_64-unknown-linux-gnu", "--prefix", "none", *words]
    done = subprocess.run([*command, "--format", "{p}\t{f}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (line.removesuffix(" (*)").split("\t") for line in done.stdout.splitlines())
    return {crate.split(" (")[0]: names for crate, names in filter(lambda line: len(line) == 2, lines)}


def test_crates_have_the_same_features_whatever_is_built():
    (tested,) = re.findall(r"^TESTED := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    found = {**{name: features(words) for name, words in BUILT.items()}, "tests": features(tested.split())}
    assert {"luthier-abi v0.1.0", "luthier-emulator v0.1.0"} <= set(found["driver"]) & set(found["python"]) & set(found["tests"])
    everything = {crate for crates in found.values() for crate in crates}
    differ = {}
    for crate in everything:
        kinds = {command: crates[crate] for command, crates in found.items() if crate in crates}
        if len(set(kinds.values())) > 1:
            differ[crate] = kinds
    assert differ == {}, "crates/features has what all want"
