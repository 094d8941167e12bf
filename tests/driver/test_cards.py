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
    driver.luthierCheckVariables.restype = ctypes.c_char_p
    wrong = driver.luthierCheckVariables(b"LUTHIER_MOCK_AS=none").decode()
    return wrong.removeprefix("LUTHIER_MOCK_AS=none: there is no such card here; there are ").split(", ")


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


def agents(card: str) -> list[str]:
    """What rocminfo of ROCm 7 says of each GPU, if they are this card."""
    rocm.need_rocm7()
    words = [sys.executable, "-m", "luthier", "trace", "--rocm", "7", "--as", card, "--", "rocminfo"]
    done = subprocess.run(words, capture_output=True, text=True, env=rocm.ENVIRONMENT, timeout=rocm.TIMEOUT)
    assert done.returncode == 0, done.stderr
    _host, *gpus = re.split(r"^Agent \d+ *$", done.stdout, flags=re.M)[1:]
    return gpus


def of_agent(agent: str, what: str) -> int:
    return int(re.search(rf"{re.escape(what)}: *(\d+)", agent)[1])


@pytest.mark.parametrize("card", ENGINES)
def test_rocminfo_has_the_engines_of_the_card_and_the_arrays_of_one(card, tmp_path):
    (gpu,) = agents(card)
    found = [of_agent(gpu, what) for what in ("Shader Engines", "Shader Arrs. per Eng.")]
    engines, arrays = ENGINES[card]
    assert found == [engines, arrays]
    assert numbers(node(card, tmp_path) / "properties")["array_count"] == engines * arrays


# Likewise, of ROCm 6 and 7: bytes of a line of the cache that all compute units share.
LINES = {"RX Vega 64": 64, "MI210": 128, "MI300X": 128, "RX 6800 XT": 128, "RX 7900 XTX": 128, "RX 9070 XT": 256}


@pytest.mark.parametrize("card", LINES)
def test_rocminfo_has_the_lines_of_the_cards_cache(card):
    (gpu,) = agents(card)
    assert of_agent(gpu, "Cacheline Size") == LINES[card]


# AMD's guide to the MI300X's partitions: GPUs of a card, and the compute units, dies and GiB of each.
PARTITIONS = {"SPX": (1, 304, 8, 192), "DPX": (2, 152, 4, 96), "QPX": (4, 76, 2, 48), "CPX": (8, 38, 1, 24)}


@pytest.mark.parametrize("mode", PARTITIONS)
def test_each_partition_of_a_card_is_a_gpu(mode, tmp_path):
    count, units, dies, memory = PARTITIONS[mode]
    nodes = node(f"MI300X:{mode}", tmp_path).parent
    gpus = [numbers(nodes / str(number) / "properties") for number in range(1, count + 1)]
    assert not (nodes / str(count + 1)).exists()
    for part, gpu in enumerate(gpus):
        assert (gpu["simd_count"] // gpu["simd_per_cu"], gpu["num_xcc"], gpu["local_mem_size"]) == (units, dies, memory << 30)
        # The kernel tells partitions of a card by PCI's number of the function.
        assert (gpu["location_id"] & ~7, gpu["location_id"] & 7) == (gpus[0]["location_id"], part)
    assert len({gpu["unique_id"] for gpu in gpus}) == count
    device = tmp_path / "sys/class/drm/card0/device"
    assert (device / "current_compute_partition").read_text() == f"{mode}\n"
    assert (device / "available_compute_partition").read_text() == "SPX, DPX, QPX, CPX\n"


def test_rocminfo_has_each_partition_of_a_card():
    gpus = agents("MI300X:CPX")
    assert [(of_agent(gpu, "Compute Unit"), of_agent(gpu, "Shader Engines")) for gpu in gpus] == [(38, 4)] * 8


@pytest.mark.parametrize(
    "card, why",
    [
        ("MI300X:TPX", "MI300X has no partitions TPX; it has SPX, DPX, QPX, CPX"),
        ("RX 7900 XTX:CPX", "RX 7900 XTX has one die, and no partitions"),
        ("MI300X:", "which partitions MI300X has is to follow the colon: SPX, DPX, QPX, CPX"),
    ],
)
def test_partitions_that_a_card_has_not_are_refused(card, why):
    words = [sys.executable, "-m", "luthier", "trace", "--as", card, "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"luthier: error: --as {card}: {why}")


def test_a_process_has_eight_gpus_at_most():
    words = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx942,2", "--as", "MI300X:CPX", "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    why = "--as MI300X:CPX: 2 such cards are 16 GPUs, and a process has 8 at most"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"luthier: error: {why}")
