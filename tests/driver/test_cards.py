"""Cards by name against AMD's own tables: the specifications on ROCm's pages, and libdrm's list of device numbers."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest
import rocm
from places import ROOT

DRIVER = ROOT / "python/luthier/driver/libhsakmt.so.1"
# ROCm's page of GPU specifications, for one GPU as ROCm counts them (one die of an MI250): processor, compute units, memory
# in GiB, and caches in KiB: of a compute unit, of a die (L2), of the memory (L3).
SPECIFICATIONS = {
    "MI50": ("gfx906", 60, 16, 16, 4096, 0),
    "MI60": ("gfx906", 64, 32, 16, 4096, 0),
    "MI100": ("gfx908", 120, 32, 16, 8192, 0),
    "MI210": ("gfx90a", 104, 64, 16, 8192, 0),
    "MI250": ("gfx90a", 104, 64, 16, 8192, 0),
    "MI250X": ("gfx90a", 110, 64, 16, 8192, 0),
    "MI300X": ("gfx942", 304, 192, 32, 4096, 256 << 10),
    "MI325X": ("gfx942", 304, 256, 32, 4096, 256 << 10),
    "MI350X": ("gfx950", 256, 288, 32, 4096, 256 << 10),
    "MI355X": ("gfx950", 256, 288, 32, 4096, 256 << 10),
    "RX 6800 XT": ("gfx1030", 72, 16, 16, 4096, 128 << 10),
    "RX 6900 XT": ("gfx1030", 80, 16, 16, 4096, 128 << 10),
    "RX 7600": ("gfx1102", 32, 8, 32, 2048, 32 << 10),
    "RX 7800 XT": ("gfx1101", 60, 16, 32, 4096, 64 << 10),
    "RX 7900 XT": ("gfx1100", 84, 20, 32, 6144, 80 << 10),
    "RX 7900 XTX": ("gfx1100", 96, 24, 32, 6144, 96 << 10),
    "PRO W7900": ("gfx1100", 96, 48, 32, 6144, 96 << 10),
    "RX 9060 XT": ("gfx1200", 32, 16, 32, 4096, 32 << 10),
    "RX 9070": ("gfx1201", 56, 16, 32, 8192, 64 << 10),
    "RX 9070 XT": ("gfx1201", 64, 16, 32, 8192, 64 << 10),
}
# Not on that page.
OTHERS = {"RX Vega 64", "RX 5700 XT"}


def numbers(file: Path) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", file.read_text(), re.M)}


def node(card: str, folder: Path) -> Path:
    """The topology's folder of a GPU that is this card."""
    driver = ctypes.CDLL(str(DRIVER))
    assert driver.luthierTopology(str(folder).encode(), f"LUTHIER_MOCK_AS={card}".encode()) == 0
    return folder / "sys/class/kfd/kfd/topology/nodes/1"


def names() -> list[str]:
    driver = ctypes.CDLL(str(DRIVER))
    driver.luthierCheckCard.restype = ctypes.c_char_p
    return driver.luthierCheckCard(b"no such card").decode().split(", ")


def test_every_card_is_in_the_table():
    assert set(names()) == set(SPECIFICATIONS) | OTHERS


@pytest.mark.parametrize("card", SPECIFICATIONS)
def test_card_is_as_large_as_amd_says(card, tmp_path):
    target, units, memory, *caches = SPECIFICATIONS[card]
    place = node(card, tmp_path)
    found = numbers(place / "properties")
    assert (place / "name").read_text() == f"{target}\n" and found["local_mem_size"] == memory << 30
    assert found["simd_count"] == units * found["simd_per_cu"]
    sizes = {}
    for file in place.glob("caches/*/properties"):
        cache = numbers(file)
        sizes[cache["level"]] = cache["size"]
    assert [sizes.get(level, 0) for level in (1, 2, 3)] == caches


def test_device_numbers_are_those_that_libdrm_knows_by_the_cards_names(tmp_path):
    root = rocm.need_rocm7()
    known: dict[int, str] = {}
    for number, name in re.findall(r"^([0-9A-F]{4}),\s*\w+,\s*(.*)$", (root / "usr/share/libdrm/amdgpu.ids").read_text(), re.M):
        known[int(number, 16)] = known.get(int(number, 16), "") + name.upper() + "\n"
    for i, card in enumerate(names()):
        (tmp_path / str(i)).mkdir()
        device = numbers(node(card, tmp_path / str(i)) / "properties")["device_id"]
        # libdrm's names of Vegas have no number behind them.
        assert card.upper().removesuffix(" 64") in known[device], f"{card}: {device:#x} is {known.get(device)}"


# What rocminfo says of people's cards (ROCm/hipBLASLt#831, ollama/ollama#3158): engines, and arrays of one. The kernel tells how
# many arrays all engines have, by which AMD's thunk divides.
ENGINES = {"RX 7900 XTX": (6, 2), "PRO W7900": (6, 2)}


@pytest.mark.parametrize("card", ENGINES)
def test_rocminfo_has_the_engines_of_the_card_and_the_arrays_of_one(card, tmp_path):
    rocm.need_rocm7()
    words = [sys.executable, "-m", "luthier", "trace", "--rocm", "7", "--as", card, "--", "rocminfo"]
    done = subprocess.run(words, capture_output=True, text=True, env=rocm.ENVIRONMENT, timeout=rocm.TIMEOUT)
    assert done.returncode == 0, done.stderr
    gpu = done.stdout.partition("Agent 2")[2]
    found = [int(re.search(rf"{what}: +(\d+)", gpu)[1]) for what in ("Shader Engines", "Shader Arrs. per Eng.")]
    engines, arrays = ENGINES[card]
    assert found == [engines, arrays]
    assert numbers(node(card, tmp_path) / "properties")["array_count"] == engines * arrays
