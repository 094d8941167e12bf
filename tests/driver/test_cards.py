"""Cards by name against AMD's own tables: the specifications on ROCm's pages, and libdrm's list of device numbers; against what
rocminfo says on people's cards, whole and in parts."""

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
    return driver.luthierCheckVariables(b"LUTHIER_MOCK_AS=no such card").decode().partition("there are ")[2].split(", ")


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


def rocminfo(card: str) -> list[str]:
    """What ROCm 7's rocminfo says of each GPU of a card."""
    rocm.need_rocm7()
    words = [sys.executable, "-m", "luthier", "trace", "--rocm", "7", "--as", card, "--", "rocminfo"]
    done = subprocess.run(words, capture_output=True, text=True, env=rocm.ENVIRONMENT, timeout=rocm.TIMEOUT)
    assert done.returncode == 0, done.stderr
    # What stands before agents, and the CPU.
    return re.split(r"^Agent \d+", done.stdout, flags=re.M)[2:]


def number(text: str, what: str) -> int:
    return int(re.search(rf"{what}: +(\d+)", text)[1])


@pytest.mark.parametrize("card", ENGINES)
def test_rocminfo_has_the_engines_of_the_card_and_the_arrays_of_one(card, tmp_path):
    (gpu,) = rocminfo(card)
    engines, arrays = ENGINES[card]
    assert [number(gpu, what) for what in ("Shader Engines", "Shader Arrs. per Eng.")] == [engines, arrays]
    assert numbers(node(card, tmp_path) / "properties")["array_count"] == engines * arrays


# rocminfo's "Cacheline Size" on people's cards, below kernels of 2024 and later (before, the kernel told none, and ROCr said 64):
# RX 7900 XTX, RX 9070 XT (device 0x7550), MI300A (gfx942's dies). The others are amdkfd's own tables (kfd_crat.c): of Vega, of
# Aldebaran and of Navi 1x and 2x.
LINES = {"RX 7900 XTX": 128, "RX 9070 XT": 256, "MI300X": 128, "MI100": 64, "MI210": 128, "RX 5700 XT": 128, "RX 6900 XT": 128}


@pytest.mark.parametrize("card", LINES)
def test_the_kernel_tells_the_lines_of_the_caches(card, tmp_path):
    found = [numbers(file) for file in node(card, tmp_path).glob("caches/*/properties")]
    lines = {cache["level"]: cache["cache_line_size"] for cache in found}
    assert lines[2] == LINES[card] and lines.get(3, 64) == 64


@pytest.mark.parametrize("card", ["RX 7900 XTX", "RX 9070 XT"])
def test_rocminfo_has_the_line_of_the_second_cache(card):
    (gpu,) = rocminfo(card)
    assert number(gpu, "Cacheline Size") == LINES[card]


def test_rocminfo_shows_the_parts_of_a_card_as_it_does_on_a_real_one():
    """rocminfo of an MI300X in CPX (ROCm/ROCm#4750): 38 compute units, 4 engines and 24 GB each; one UUID; functions of
    one PCI device."""
    gpus = rocminfo("MI300X:CPX")
    assert len(gpus) == 8
    for gpu in gpus:
        assert [number(gpu, what) for what in ("Compute Unit", "Shader Engines", "Shader Arrs. per Eng.")] == [38, 4, 1]
        assert [number(gpu, what) for what in ("L1", "L2", "L3")] == [32, 4096, 262144] and "AMD Instinct MI300X" in gpu
        assert f"Size:                    {24 << 20}(" in gpu
    places = [number(gpu, "BDFID") for gpu in gpus]
    assert places == list(range(places[0], places[0] + 8)) and places[0] % 8 == 0
    assert len({re.search(r"Uuid: +(\S+)", gpu)[1] for gpu in gpus}) == 1


# GPUs of a card, and of each compute units, dies and gigabytes.
PARTS = {
    "MI300X": (1, 304, 8, 192),
    "MI300X:SPX": (1, 304, 8, 192),
    "MI300X:dpx": (2, 152, 4, 96),
    "MI300X:QPX/NPS4": (4, 76, 2, 48),
    "MI355X:CPX/NPS2": (8, 32, 1, 36),
}


@pytest.mark.parametrize("card", PARTS)
def test_parts_of_a_card_are_nodes_and_the_first_has_its_files(card, tmp_path):
    count, units, dies, memory = PARTS[card]
    nodes = node(card, tmp_path).parent
    assert sorted(place.name for place in nodes.iterdir()) == [str(n) for n in range(count + 1)]
    for n in range(1, count + 1):
        found = numbers(nodes / str(n) / "properties")
        assert (found["simd_count"], found["num_xcc"]) == (4 * units, dies)
        assert found["local_mem_size"] == memory << 30 and found["location_id"] & 7 == n - 1
    device = tmp_path / "sys/class/drm/card0/device"
    name, _, mode = card.partition(":")
    compute, _, domains = mode.upper().partition("/")
    said = [(device / f"current_{what}_partition").read_text().strip() for what in ("compute", "memory")]
    assert said == [compute or "SPX", domains or "NPS1"]
    assert (device / "available_compute_partition").read_text() == "SPX, DPX, QPX, CPX\n"
    assert int((device / "mem_info_vram_total").read_text()) == count * memory << 30
    others = [tmp_path / f"sys/class/drm/card{n}/device" for n in range(1, count)]
    assert all(place.is_dir() and not list(place.iterdir()) for place in others)


def test_a_card_of_one_die_says_nothing_of_parts(tmp_path):
    node("RX 7900 XTX", tmp_path)
    assert not list((tmp_path / "sys/class/drm/card0/device").glob("*partition*"))


HIP_SEES = """
import ctypes
hip = ctypes.CDLL("libamdhip64.so.7")
count, size = ctypes.c_int(), ctypes.c_size_t()
assert hip.hipGetDeviceCount(ctypes.byref(count)) == 0
for n in range(count.value):
    units, memory = ctypes.c_int(), ctypes.c_void_p()
    assert hip.hipDeviceGetAttribute(ctypes.byref(units), 63, n) == 0
    assert hip.hipDeviceTotalMem(ctypes.byref(size), n) == 0
    assert hip.hipSetDevice(n) == 0 and hip.hipMalloc(ctypes.byref(memory), 4096) == 0
    assert hip.hipMemset(memory, n + 1, 4096) == 0
    back = (ctypes.c_ubyte * 4096)()
    assert hip.hipMemcpy(back, memory, 4096, 2) == 0
    print("device", units.value, size.value >> 30, set(back))
"""


def test_hip_works_on_every_part_of_a_card():
    rocm.need_rocm7()
    words = [sys.executable, "-m", "luthier", "trace", "--rocm", "7", "--as", "MI300X:QPX", "--", sys.executable, "-c", HIP_SEES]
    done = subprocess.run(words, capture_output=True, text=True, env=rocm.ENVIRONMENT, timeout=rocm.TIMEOUT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-4:] == [f"device 76 48 {{{n}}}" for n in range(1, 5)], done.stdout


def test_gpus_of_one_card_see_each_other_within_it(tmp_path):
    driver = ctypes.CDLL(str(DRIVER))
    variables = b"LUTHIER_MOCK_AS=MI300X:DPX\nLUTHIER_MOCK=gfx942,2"
    assert driver.luthierTopology(str(tmp_path).encode(), variables) == 0
    nodes = tmp_path / "sys/class/kfd/kfd/topology/nodes"
    kinds = {}
    for n in range(1, 5):
        for link in (nodes / str(n) / "io_links").glob("*/properties"):
            found = numbers(link)
            kinds[n, found["node_to"]] = found["type"], found["weight"]
    # XGMI with the weight of a socket within a card, and PCIe through the host between cards.
    assert (kinds[1, 2], kinds[3, 4], kinds[1, 3], kinds[2, 0]) == ((11, 13), (11, 13), (2, 40), (2, 20))
    hives = [numbers(nodes / str(n) / "properties")["hive_id"] for n in range(1, 5)]
    assert hives[0] == hives[1] != hives[2] == hives[3] and 0 not in hives
