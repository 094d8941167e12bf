"""Code that compilers have made without a wait or a distance that the hardware needs."""

from __future__ import annotations

import numpy as np

from .exhibit import Exhibit, Launch, u32, zeros

INLINE = "Nothing: nothing else looks at the distances of AMD's machine code, and compilers do not look into inline assembly."
VALUES = "Nothing: no access is wrong. A test of the results sees it, and does not say which instruction."
NOTHING_WAITS = "Nothing: the source is right, and nothing else looks at the waits and distances of AMD's machine code."


def wide_store() -> Launch:
    return Launch([zeros(64, 4, of=np.float32)], {0: np.tile(np.array([1, 2, 4, 0.5], np.float32), (64, 1))}, block=64)


def write_back() -> Launch:
    return Launch([zeros(64), zeros(1), zeros(64)], {2: u32(64, start=1)}, blocks=2, block=64)


def loop_wait() -> Launch:
    data = np.concatenate([u32(128), zeros(5 * 128)])
    rows = [u32(128)]
    for _ in range(5):
        rows.append(rows[-1][np.arange(128) ^ 64] + 1)
    return Launch([data, np.uint32(5)], {0: np.concatenate(rows)})


def floats(value: float, lanes: int = 64):
    def launch() -> Launch:
        return Launch([zeros(lanes, of=np.float32)], {0: np.full(lanes, value, np.float32)}, block=lanes)

    return launch


def forwarded_half() -> Launch:
    lane = u32(64)
    return Launch([zeros(64)], {0: (2 * (lane + 1)) << np.uint32(16) | 2 * (lane + 2)}, block=64)


def scalar() -> Launch:
    return Launch([zeros(32)], {0: np.full(32, 8, np.uint32)}, block=32)


def mask() -> Launch:
    return Launch([zeros(64)], {0: np.full(64, 2, np.uint32)}, block=64)


def permlane() -> Launch:
    lane = u32(64)
    return Launch([zeros(64)], {0: np.where(lane < 32, lane, lane + 32)}, block=64)


def translation() -> Launch:
    return Launch([zeros(32)], {0: u32(32, start=1)}, block=32)


def splat() -> Launch:
    both = 42 << 32 | 42
    given = np.array([42, both, 0, both + 1] * 16, np.uint64)
    return Launch([given, zeros(64)], {1: np.equal(given, both).astype(np.uint32)}, block=64)


def pair() -> Launch:
    given = np.arange(128, dtype=np.float16)
    want = (given.reshape(64, 2) + np.array([2, 3], np.float16)).view(np.uint32).ravel()
    return Launch([given.view(np.uint32), zeros(64)], {1: want}, block=64)


def left_loop() -> Launch:
    limits = u32(64) * 5 % 11
    return Launch([limits, zeros(64)], {1: limits}, block=64)


def registers() -> Launch:
    return Launch([u32(64), zeros(64)], {1: 2 * u32(64) + 5}, block=64)


EXHIBITS = (
    Exhibit(
        "llvm_wide_store",
        (
            "https://github.com/llvm/llvm-project/issues/202333",
            "https://github.com/llvm/llvm-project/pull/203770",
            "https://github.com/triton-lang/triton/pull/10719",
        ),
        "LLVM's hazard recognizer of 2026 lost an `s_nop` between a store of four words in a branch and an "
        "instruction that overwrites them, as it added up distances over several paths. On gfx950 models in bf16 "
        "gave NaN under torch.compile; PyTorch's update of Triton waited for it.",
        NOTHING_WAITS,
        wide_store,
        targets=("gfx942", "gfx950"),
    ),
    Exhibit(
        "llvm_write_back",
        ("https://github.com/llvm/llvm-project/pull/178316",),
        "A release of agent scope on gfx942 writes the cache back by `buffer_wbl2`, which counts in vmcnt. LLVM "
        "took the wait behind it for superfluous where no load or store was left, so that the flag could be seen "
        "before the data. Mended by counting `buffer_wbl2`.",
        NOTHING_WAITS,
        write_back,
        targets=("gfx942", "gfx950"),
    ),
    Exhibit(
        "llvm_loop_wait",
        (
            "https://github.com/llvm/llvm-project/pull/220356",
            "https://github.com/llvm/llvm-project/pull/220357",
        ),
        "A loop of fence, load and store: LLVM dropped the wait of the fence at the loop's head, since in the "
        "first round nothing is under way. In later rounds the store of the round before is.",
        NOTHING_WAITS,
        loop_wait,
        targets=("gfx1030", "gfx1100", "gfx1201"),
    ),
    Exhibit(
        "llvm_matrix_window",
        ("https://github.com/llvm/llvm-project/pull/222040",),
        "LLVM looked back 19 instructions for a matrix instruction whose result is used. On gfx950 some take 20 "
        "states, and one that stood exactly there was overlooked.",
        NOTHING_WAITS,
        floats(65.0),
        ("gfx950",),
    ),
    Exhibit(
        "llvm_matrix_mixed",
        ("https://github.com/llvm/llvm-project/pull/218363",),
        "Two different matrix instructions in a row with the same accumulator: LLVM counts on forwarding, which "
        "works for a chain of one instruction, says the change, which asks for 5 states on gfx950.",
        NOTHING_WAITS,
        floats(48.0),
        ("gfx950",),
        missed="the change is open, and LLVM 22, by which strict mode goes, pads nothing here",
    ),
    Exhibit(
        "llvm_forwarded_half",
        ("https://github.com/llvm/llvm-project/pull/100276",),
        "On MI300 the result of an instruction that shifts it into one half of a register needs a state before it "
        "is used. An instruction that writes the other half and keeps this one uses it, too, which LLVM did not "
        "see.",
        NOTHING_WAITS,
        forwarded_half,
        targets=("gfx942",),
    ),
    Exhibit(
        "llvm_wmma_factor",
        ("https://github.com/llvm/llvm-project/pull/76143",),
        "On gfx11 a VALU instruction has to stand between a matrix instruction and another one that has its "
        "result as a factor. LLVM padded other pairs and not this one.",
        NOTHING_WAITS,
        floats(16.0, 32),
        ("gfx1100",),
    ),
    Exhibit(
        "llvm_wmma_dual",
        (
            "https://github.com/llvm/llvm-project/pull/183573",
            "https://github.com/llvm/llvm-project/pull/149865",
        ),
        "On gfx1250 a matrix instruction runs beside VALU instructions and still reads its factors: LLVM kept "
        "ordinary instructions from overwriting them too soon, and forgot dual ones (VOPD).",
        NOTHING_WAITS,
        floats(32.0, 32),
        ("gfx1250",),
    ),
    Exhibit(
        "llvm_scalar_gfx12",
        (
            "https://github.com/llvm/llvm-project/pull/100067",
            "https://github.com/llvm/llvm-project/pull/118750",
        ),
        "On gfx12 a scalar register that the VALU has read, and that is then written and read again, needs a wait "
        "in between (`s_wait_alu`). LLVM had none at first.",
        NOTHING_WAITS,
        scalar,
        targets=("gfx1201",),
    ),
    Exhibit(
        "llvm_mask_gfx11",
        ("https://github.com/llvm/llvm-project/pull/138663",),
        "On gfx11 with 64 lanes a scalar register that was a mask, and is written by the VALU and read again, "
        "needs a wait for the writer. LLVM left it out.",
        NOTHING_WAITS,
        mask,
        targets=("gfx1100",),
        flags=("-mwavefrontsize64",),
    ),
    Exhibit(
        "llvm_permlane_gfx950",
        ("https://github.com/llvm/llvm-project/pull/117286",),
        "On gfx950 `v_cmpx` sets the lanes that are on, and a permutation of lanes has to keep four states away "
        "from it. LLVM did not know that at first.",
        NOTHING_WAITS,
        permlane,
        targets=("gfx950",),
    ),
    Exhibit(
        "llvm_translation_wait",
        ("https://github.com/llvm/llvm-project/issues/213394",),
        "On gfx1250 the address of an access must stay until it is translated (XCNT), in case that the access has "
        "to be done again after a page fault. A later pass of LLVM removes a branch, and the wait that should "
        "have stood there is missing.",
        NOTHING_WAITS,
        translation,
        targets=("gfx1250",),
        missed="the mock device has no page faults, so that no access is done twice",
    ),
    Exhibit(
        "triton_inline_matrix",
        ("https://github.com/facebookexperimental/triton/pull/3168",),
        "Triton's TLX put matrix instructions into inline assembly, into which LLVM's hazard recognizer does not "
        "look: the result is used before it is there. Mended by `s_nop` in the assembly.",
        INLINE,
        floats(64.0),
        ("gfx950",),
    ),
    Exhibit(
        "llvm_folded_splat",
        ("https://github.com/llvm/llvm-project/issues/139908",),
        "LLVM folded a constant of 64 bits whose halves are equal, 42 and 42, into the operand 42 of a comparison of 64 bits, "
        "whose upper half is zero.",
        VALUES,
        splat,
        targets=("gfx90a", "gfx942"),
        is_compared=True,
    ),
    Exhibit(
        "llvm_folded_pair",
        ("https://github.com/llvm/llvm-project/issues/139317",),
        "LLVM folded the pair of constants 2.0 and 3.0 of a packed addition into 0, in Mojo's code for a vector plus 0 to 7.",
        VALUES,
        pair,
        targets=("gfx90a", "gfx942"),
        is_compared=True,
    ),
    Exhibit(
        "llvm_left_loop",
        ("https://github.com/llvm/llvm-project/pull/203256",),
        "A scalar that each lane of a divergent loop takes with it as it leaves was read behind the loop, so that all lanes got "
        "what the last one had.",
        VALUES,
        left_loop,
        targets=("gfx90a", "gfx942"),
        is_compared=True,
    ),
    Exhibit(
        "booth_registers",
        ("https://github.com/Zaneham/Booth/issues/109",),
        "The compiler Booth wrote a smaller number of vector registers into the kernel's descriptor than its code uses. Here inline "
        "assembly uses registers that it does not tell the compiler of.",
        "Nothing: the registers may be another wave's, and values change now and then.",
        registers,
    ),
    Exhibit(
        "tilelang_accumulator",
        ("https://github.com/tile-ai/tilelang/issues/2936",),
        "A kernel of tilelang adds a matrix product to a fragment that nothing has cleared: NaN wherever registers held anything. "
        "Mended by clearing it.",
        "A warning of the compiler, perhaps. compute-sanitizer's initcheck looks at device memory alone.",
        floats(16.0),
        targets=("gfx90a", "gfx942", "gfx950"),
    ),
)
