"""LDS beyond the workgroup's: reads give zeros and writes are dropped, lane by lane and word by word (AMD's ISA manuals,
"Out-of-Range Behavior"), against a model in NumPy. Strict mode tells, with a kind of its own. FLAT is another matter: the
hardware checks its addresses."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ["gfx900", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250"]
BYTES = 512
WORDS = BYTES // 4
#: Of lanes, in turn: inside, the last word, so that more words straddle the end, just outside, and far outside.
PLACES = np.array([0, 64, BYTES - 4, BYTES - 8, BYTES, BYTES + 4, 0xF00000, 0xFFFFFFFC], np.uint32)


def _forms(target: str) -> dict[str, tuple[str, int]]:
    """By what they do: the instruction, with %0 to %3 for destination, address and data, and its words."""
    new = target.startswith(("gfx11", "gfx12"))
    load, store = ("load", "store") if new else ("read", "write")
    pair = ("load_2addr", "store_2addr") if new else ("read2", "write2")
    stride = ("load_2addr_stride64", "store_2addr_stride64") if new else ("read2st64", "write2st64")
    compare = f"{'cmpstore' if new else 'cmpst'}_rtn_b32 %0, %1, v4, v5"
    exchange = "storexchg_2addr_rtn_b32" if new else "wrxchg2_rtn_b32"
    return {
        "load 1": (f"ds_{load}_b32 %0, %1", 1),
        "load 2": (f"ds_{load}_b64 %0, %1", 2),
        "load 4": (f"ds_{load}_b128 %0, %1", 4),
        "load 2 next": (f"ds_{pair[0]}_b32 %0, %1 offset1:1", 2),
        "load 2 apart": (f"ds_{stride[0]}_b32 %0, %1 offset1:1", 2),
        "load byte": (f"ds_{load}_u8 %0, %1 offset:3", 1),
        "store 1": (f"ds_{store}_b32 %1, v4", 1),
        "store 2": (f"ds_{store}_b64 %1, v[4:5]", 2),
        "store 4": (f"ds_{store}_b128 %1, v[4:7]", 4),
        "store 2 next": (f"ds_{pair[1]}_b32 %1, v4, v5 offset1:1", 2),
        "store 2 apart": (f"ds_{stride[1]}_b32 %1, v4, v5 offset1:1", 2),
        "store byte": (f"ds_{store}_b8 %1, v4 offset:3", 1),
        "add": ("ds_add_u32 %1, v4", 1),
        "add and return": ("ds_add_rtn_u32 %0, %1, v4", 1),
        "add two": ("ds_add_rtn_u64 %0, %1, v[4:5]", 2),
        "compare": (f"ds_{compare}", 1),
        "exchange two": (f"ds_{exchange} %0, %1, v4, v5 offset1:1", 2),
    }


SOURCE = """
KERNEL __NAME__(u32 *out, u32 *after, const u32 *places) {
    LDS u32 shared[__WORDS__];
    u32 t = local_x(), at = places[t];
    for (u32 i = t; i < __WORDS__; i += 32) shared[i] = 1000 + i;
    barrier();
    u32 a = 77, b = 77, c = 77, d = 77;
    __asm__ volatile(
        "v_or_b32 v4, 5, %5\\n\\tv_or_b32 v5, 6, %5\\n\\tv_or_b32 v6, 7, %5\\n\\tv_or_b32 v7, 8, %5\\n\\t"
        "v_mov_b32 v8, %0\\n\\tv_mov_b32 v9, %1\\n\\tv_mov_b32 v10, %2\\n\\tv_mov_b32 v11, %3\\n\\t__TEXT__\\n\\t__WAIT__\\n\\t"
        "v_mov_b32 %0, v8\\n\\tv_mov_b32 %1, v9\\n\\tv_mov_b32 %2, v10\\n\\tv_mov_b32 %3, v11"
        : "+v"(a), "+v"(b), "+v"(c), "+v"(d) : "v"(at), "v"(t * 16)
        : "memory", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11");
    out[t * 4] = a, out[t * 4 + 1] = b, out[t * 4 + 2] = c, out[t * 4 + 3] = d;
    barrier();
    for (u32 i = t; i < __WORDS__; i += 32) after[i] = shared[i];
}
"""


def _kernel(target: str, name: str, text: str, words: int) -> str:
    wait = "s_wait_dscnt 0x0" if target.startswith("gfx12") else "s_waitcnt lgkmcnt(0)"
    text = text.replace("%1", "%4").replace("%0,", "v8," if words == 1 else f"v[8:{7 + words}],")
    source = SOURCE.replace("__TEXT__", text).replace("__WAIT__", wait)
    return source.replace("__WORDS__", str(WORDS)).replace("__NAME__", name)


class Model:
    """LDS as it should be, and what lanes get."""

    def __init__(self) -> None:
        self.words = 1000 + np.arange(WORDS, dtype=np.uint32)
        #: Lanes, and where they were outside.
        self.lost: set[tuple[int, int]] = set()

    def word(self, lane: int, address: int, value: int | None = None) -> int:
        """Its old value; `value` is stored."""
        number = address // 4
        if number >= WORDS:
            self.lost.add((lane, address))
            return 0
        old = int(self.words[number])
        if value is not None:
            self.words[number] = value & 0xFFFFFFFF
        return old

    def run(self, what: str, lane: int, at: int) -> list[int]:
        data = [lane * 16 + n for n in (5, 6, 7, 8)]
        action, _, rest = what.partition(" ")
        count = int(rest[0]) if rest[:1].isdigit() else 2 if rest.startswith("two") else 1
        # Words of one access do not go on at zero; the address and an offset are added in 32 bits.
        places = [at, (at + 256) % 2**32] if "apart" in rest else [at + 4 * k for k in range(count)]
        if "next" in rest or action == "exchange":
            places = [place % 2**32 for place in places]
        if rest == "byte":
            old = self.word(lane, at)
            if action == "store":
                self.word(lane, at, old & 0xFFFFFF | data[0] << 24)
            return [old >> 24]
        if action in ("load", "store", "exchange"):
            return [self.word(lane, place, None if action == "load" else data[k]) for k, place in enumerate(places)]
        if action == "compare":
            # Nothing is equal to what there is.
            return [self.word(lane, at)]
        if any(place // 4 >= WORDS for place in places):
            self.lost.update((lane, place) for place in places if place // 4 >= WORDS)
            return [0] * count
        old = sum(self.word(lane, place) << 32 * k for k, place in enumerate(places))
        new = old + sum(data[k] << 32 * k for k in range(count))
        return [self.word(lane, place, new >> 32 * k) for k, place in enumerate(places)]


@pytest.mark.parametrize("target", TARGETS)
def test_reads_beyond_are_zero_and_writes_are_dropped(target: str) -> None:
    forms = _forms(target)
    source = "".join(_kernel(target, f"k{n}", *form) for n, form in enumerate(forms.values()))
    module = lt.Device(target, threads=1).load(compiled.build(source, target, level="O1"))
    returns = ("load", "add and", "add two", "compare", "exchange")
    for n, (what, (text, _)) in enumerate(forms.items()):
        # Lanes that change memory are all at one place: then one model serves, whatever the order of places.
        ways = [np.resize(PLACES, 32)] if "load" in what else [np.full(32, place) for place in PLACES]
        for places in ways:
            places = places & ~np.uint32(7) if "u64" in text else places
            model, want = Model(), np.full((32, 4), 77, np.uint32)
            for lane in range(32):
                old = model.run(what, lane, int(places[lane]))
                if what.startswith(returns):
                    want[lane, : len(old)] = old
            # On gfx1250 compilers switch lanes of a store off by an address far outside, which is no mistake.
            off = 1 << 30 if target == "gfx1250" and "store" in what else 1 << 33
            told = {lane for lane, place in model.lost if place < off}
            for strict in (False, True, ["out-of-bounds", "undefined-register"]):
                out, after = np.zeros((32, 4), np.uint32), np.zeros(WORDS, np.uint32)
                result = module.run(f"k{n}", blocks=1, block=32, args=[out, after, places], strict=strict)
                np.testing.assert_array_equal(out, want, f"{text} at {places[0]:#x}")
                np.testing.assert_array_equal(after, model.words, f"{text} at {places[0]:#x}")
                if strict is True:
                    assert {f["kind"] for f in result.findings} == ({"lds-bounds"} if told else set()), text
                    assert all(len(told) <= f["count"] <= 2 * len(told) for f in result.findings)
                else:
                    assert result.findings == []


REST = """
KERNEL flat(u32 *out, u32 at) {
    LDS u32 shared[64];
    u32 t = local_x();
    shared[t] = t;
    barrier();
    out[t] = *(volatile u32 *)((char *)(u32 *)&shared[t] + at);
}
KERNEL append(u32 *out, u32 at) {
    LDS u32 shared[64];
    u32 t = local_x(), got = 7;
    shared[t] = t;
    barrier();
    __asm__ volatile("s_mov_b32 m0, %1\\n\\ts_nop 1\\n\\tds_append %0\\n\\t__WAIT__" : "+v"(got) : "s"(at) : "memory", "m0");
    out[t] = got + shared[t];
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_flat_addresses_beyond_are_violations(target: str) -> None:
    wait = "s_wait_dscnt 0x0" if target.startswith("gfx12") else "s_waitcnt lgkmcnt(0)"
    module = lt.Device(target, threads=1).load(compiled.build(REST.replace("__WAIT__", wait), target))
    out = np.zeros(32, np.uint32)
    assert module.run("flat", blocks=1, block=32, args=[out, np.uint32(128)], strict=True).findings[0]["kind"] == "undefined-lds"
    with pytest.raises(lt.DeviceError, match="an access to LDS at 0x100; the workgroup has 0x100 bytes"):
        module.run("flat", blocks=1, block=32, args=[out, np.uint32(256)])
    (finding,) = module.run("flat", blocks=1, block=32, args=[out, np.uint32(252)], strict=["out-of-bounds"]).findings
    assert (finding["kind"], finding["count"], finding["lane"]) == ("out-of-bounds", 31, 1)
    assert out.tolist() == [0] * 32


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "gfx1250"])
def test_a_counter_beyond_counts_nothing(target: str) -> None:
    wait = "s_wait_dscnt 0x0" if target.startswith("gfx12") else "s_waitcnt lgkmcnt(0)"
    module = lt.Device(target, threads=1).load(compiled.build(REST.replace("__WAIT__", wait), target))
    for strict in (False, True):
        out = np.zeros(32, np.uint32)
        result = module.run("append", blocks=1, block=32, args=[out, np.uint32(256)], strict=strict)
        assert out.tolist() == list(range(32))
        assert [f["kind"] for f in result.findings] == ["lds-bounds"] * strict


DIRECT = """
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
KERNEL direct(const u32 *in, u32 *out) {
    LDS u32 shared[64];
    u32 t = local_x();
    shared[t] = t;
    barrier();
    u64 base = (u64)in;
    u32x4 buffer = {(u32)base, (u32)(base >> 32) & 0xffff, 256, 0x27000};
    // Half of the lanes' words would be beyond.
    __asm__ volatile("s_mov_b32 m0, 128\\n\\ts_nop 1\\n\\tbuffer_load_dword %0, %1, 0 offen lds\\n\\ts_waitcnt vmcnt(0)"
        : : "v"(t * 4), "s"(buffer) : "memory", "m0");
    out[t] = shared[t];
}
"""


@pytest.mark.parametrize("target", ["gfx900", "gfx908", "gfx90a", "gfx942", "gfx950"])
def test_a_load_to_lds_drops_the_lanes_that_are_beyond(target: str) -> None:
    module = lt.Device(target, threads=1).load(compiled.build(DIRECT, target))
    for strict in (False, True):
        given, out = np.arange(500, 564, dtype=np.uint32), np.zeros(64, np.uint32)
        result = module.run("direct", blocks=1, block=64, args=[given, out], strict=strict)
        assert out.tolist() == [*range(32), *range(500, 532)]
        assert [(f["kind"], f["count"]) for f in result.findings] == [("lds-bounds", 32)] * strict
