"""Kernels that load and store bytes and halves of words, in device memory and in LDS, and access buffers by descriptors, with lanes
that have no part in it.

Registers besides those of the plain kernels: ``v27`` and ``v28`` are the work-item's number in halves and in itself, in bytes, ``v29``
an offset that leads nowhere in some lanes, ``v30`` where the work-item's bytes are in LDS; ``s[64:67]`` and ``s[68:71]`` describe two
of the buffers.
"""

from __future__ import annotations

from .generate import Kernel

#: Bytes of LDS: two words for each work-item that a workgroup can have.
LDS = 8192
#: An offset that is inside of no buffer here.
NOWHERE = 0x80000000
#: What loads and stores are called on GCN and CDNA, and since RDNA3.
LOADS = {
    "ubyte": "u8", "sbyte": "i8", "ushort": "u16", "sshort": "i16", "short_d16": "d16_b16", "short_d16_hi": "d16_hi_b16",
    "ubyte_d16": "d16_u8", "ubyte_d16_hi": "d16_hi_u8", "sbyte_d16": "d16_i8", "sbyte_d16_hi": "d16_hi_i8",
}  # fmt: skip
STORES = {"byte": "b8", "short": "b16", "byte_d16_hi": "d16_hi_b8", "short_d16_hi": "d16_hi_b16"}
LDS_LOADS = "u8 i8 u16 i16 u8_d16 u8_d16_hi i8_d16 i8_d16_hi u16_d16 u16_d16_hi".split()
LDS_STORES = "b8 b16 b8_d16_hi b16_d16_hi".split()


class NarrowKernel(Kernel):
    lds = LDS

    def __init__(self, processor: str, lanes: int, seed: str):
        self.is_rdna3 = processor[:5] in ("gfx11", "gfx12")
        self.is_wide = processor == "gfx1250"
        super().__init__(processor, lanes, seed)

    @property
    def settings(self) -> list[str]:
        return [f"group_segment_fixed_size {LDS}"]

    def _beginning(self) -> list[str]:
        of, lines = self.random, super()._beginning()
        for first, base in ((64, 42), (68, of.choice((40, 44)))):
            records = of.choice((1 << 20, 1 << 20, 1024, 128, 0))
            lines += [f"s_mov_b32 s{first}, s{base}", f"s_and_b32 s{first + 1}, s{base + 1}, 0xffff"]
            if self.is_wide:
                lines += [f"s_movk_i32 s{first + 2}, 0x{records >> 7:x}", f"s_mov_b32 s{first + 3}, 0"]
            else:
                word = 0x27000 if self.is_cdna else 0x31004000
                lines += [f"s_mov_b32 s{first + 2}, 0x{records:x}", f"s_mov_b32 s{first + 3}, 0x{word:x}"]
        lines += ["v_lshlrev_b32 v27, 1, v3", "v_mov_b32 v28, v3", f"v_mov_b32 v29, 0x{NOWHERE:x}"]
        lines += [f"v_cmp_{of.choice(('gt', 'lt', 'ne'))}_u32_e64 {self.vcc}, {of.randrange(64)}, v3"]
        lines += [f"v_cndmask_b32_e32 v29, v29, {of.choice(('v4', 'v4', 'v27'))}, {self.vcc}"]
        swaps = of.choice((0, 0, 4, 12))
        lines += ["v_and_b32 v30, 0x3ff, v3", f"v_lshlrev_b32 v30, {of.choice((0, 1, 2))}, v30", f"v_xor_b32 v30, {swaps}, v30"]
        return lines

    def _offset(self, most: int) -> str:
        return self.random.choice(["", "", *[f" offset:{number}" for number in (1, 2, 4, 64, most)]])

    def _scalar_offset(self) -> str:
        return self.random.choice(["null" if self.has_counters else "0", "s46"])

    def _narrow_load(self, prefix: str) -> str:
        name = self.random.choice(list(LOADS))
        return f"{prefix}_load_{LOADS[name] if self.is_rdna3 else name} {self._vector()}"

    def _narrow_store(self, prefix: str) -> str:
        name = self.random.choice(list(STORES))
        return f"{prefix}_store_{STORES[name] if self.is_rdna3 else name}"

    def _load(self) -> str:
        of, base = self.random, self.random.choice((40, 42, 44))
        kind = of.choice(("plain", "global", "global", "far", "buffer", "buffer", "lds", "lds"))
        if kind == "plain":
            return super()._load()
        if kind == "lds":
            name = of.choice(LDS_LOADS)
            return (
                f"ds_{'load' if self.is_rdna3 else 'read'}_{name} {self._vector()}, v30{self._offset(4093)}\n{self._lds_wait()}"
            )
        if kind == "far":
            line = f"{self._address(base)}{self._narrow_load('global')}, v[6:7], off{self._offset(130)}"
        elif kind == "global":
            offsets = of.choice(("v4", "v27", "v27", "v28", "v9"))
            line = f"{self._narrow_load('global')}, {offsets}, s[{base}:{base + 1}]{self._offset(131)}"
        else:
            word = f"buffer_load_{'b32' if self.is_rdna3 else 'dword'} {self._vector()}"
            what = of.choice((word, word, self._narrow_load("buffer")))
            line = f"{what}, {self._in_buffer()}"
        return f"{line}\n{self.wait}"

    def _in_buffer(self) -> str:
        of, first = self.random, self.random.choice((64, 68))
        offsets = of.choice(("v4", "v29", "v29", "v27", "v28", "v9"))
        return f"{offsets}, s[{first}:{first + 3}], {self._scalar_offset()} offen{self._offset(130)}"

    def _store(self) -> str:
        of, base = self.random, self.random.choice((42, 42, 44))
        kind = of.choice(("plain", "global", "far", "buffer", "buffer", "lds"))
        if kind == "plain":
            return super()._store()
        if kind == "lds":
            return f"ds_{'store' if self.is_rdna3 else 'write'}_{of.choice(LDS_STORES)} v30, {self._vector()}{self._offset(4093)}"
        if kind == "far":
            return f"{self._address(base)}{self._narrow_store('global')} v[6:7], {self._vector()}, off{self._offset(130)}"
        if kind == "global":
            offsets = of.choice(("v4", "v27", "v27", "v28"))
            return f"{self._narrow_store('global')} {offsets}, {self._vector()}, s[{base}:{base + 1}]{self._offset(130)}"
        word = f"buffer_store_{'b32' if self.is_rdna3 else 'dword'}"
        # The second buffer is one that is read by other work-items.
        return f"{of.choice((word, word, self._narrow_store('buffer')))} {self._vector()}, {self._in_buffer()}"

    def _lds_wait(self) -> str:
        return "s_wait_dscnt 0x0" if self.has_counters else "s_waitcnt lgkmcnt(0)"
