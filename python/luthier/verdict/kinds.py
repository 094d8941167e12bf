"""What the kinds of findings mean, in a sentence, and what to do about them."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of finding."""

    title: str
    means: str
    cure: str


KINDS = {
    "out-of-bounds": Kind(
        "Access out of bounds",
        "An access to device memory lies outside of every allocation, or a store goes to read-only memory.",
        "Compare the index with the length of the array that the finding names, in the lane that it names.",
    ),
    "use-after-free": Kind(
        "Access to freed memory",
        "An access goes to memory that was freed: an array of an earlier launch, or a module that was unloaded.",
        "Keep the memory until all launches that use it have ended.",
    ),
    "undefined-register": Kind(
        "Undefined register",
        "A value that the kernel never wrote into a register decides something: an address, a branch, a mask, or what is stored.",
        "Initialise the variable, on all ways that lead to its use.",
    ),
    "undefined-lds": Kind(
        "Undefined LDS",
        "A value that was read from LDS decides something, and no wave of the workgroup had written it.",
        "Write the shared array before it is read, with a barrier in between, also for the last elements.",
    ),
    "undefined-lds-read": Kind(
        "Read of undefined LDS",
        "LDS was read that no wave had written, whatever becomes of the value.",
        "Write the shared array before it is read, or read fewer elements.",
    ),
    "undefined-memory": Kind(
        "Undefined device memory",
        "A value that was read from device memory decides something, and neither the program nor a kernel had written it.",
        "Initialise the allocation, by a copy, a fill or a kernel, before it is read.",
    ),
    "missing-wait": Kind(
        "Missing wait",
        "A register or memory is used before a wait has made sure that the access in flight is complete.",
        "In assembly, wait for the counter that the finding names; in compiled code, put a fence beside the barrier.",
    ),
    "hazard": Kind(
        "Hazard",
        "There are fewer wait states between two instructions than the hardware needs.",
        "In assembly, put s_nop or the instruction that the finding names in between; compilers do that by themselves.",
    ),
    "misaligned": Kind(
        "Misaligned access",
        "An access does not have the alignment that its instruction requires.",
        "Align the pointer, or use a narrower type.",
    ),
    "unallocated-register": Kind(
        "Register that was not allocated",
        "An instruction uses a register beyond those that the kernel's descriptor allocates, or that the wave has asked for.",
        "Raise the register counts of the descriptor (.amdhsa_next_free_vgpr, .amdhsa_next_free_sgpr).",
    ),
    "lds-bounds": Kind(
        "Access beyond the workgroup's LDS",
        "An access to LDS lies beyond what the workgroup has: reads give zeros, and writes are dropped.",
        "Compare the index with the size of the shared array, or give the launch more dynamic LDS.",
    ),
    "lds-race": Kind(
        "Race in LDS",
        "Two waves access the same bytes of LDS, one of them writes, and nothing orders the two accesses.",
        "Put a barrier (__syncthreads) between the two accesses.",
    ),
    "memory-race": Kind(
        "Race in device memory",
        "Two waves access the same bytes of device memory, one of them writes, and nothing orders the two accesses.",
        "Order them by a barrier, by atomics with release and acquire, or by two launches.",
    ),
    "launch-race": Kind(
        "Race between launches",
        "Two launches of a program, a launch and a copy, or one of them and the host access the same bytes, one of them writes, and nothing orders the two.",
        "Put both on one stream, have the second one's stream wait for an event behind the first, or synchronise in between.",
    ),
    "buffer-range": Kind(
        "Offset beyond an unsized buffer",
        "A buffer access has an offset below zero, or one that has wrapped: the hardware loads zeros and drops stores.",
        "Compare the index with 0 and with the length of the tensor.",
    ),
    "barrier-divergence": Kind(
        "Diverging barrier",
        "A wave ended without the barrier that others wait for, or signalled twice before it waited.",
        "Have all waves of the workgroup reach the barrier: move it out of the branch or loop.",
    ),
    "barrier-place": Kind(
        "Barrier at different places",
        "Waves of a workgroup wait for the same barrier at different instructions.",
        "Have all waves wait at one barrier, unless that is meant (ping-pong schedules).",
    ),
}


def kind(name: str) -> Kind:
    """What a kind means; for one that has no text yet, its name."""
    return KINDS.get(name) or Kind(
        name.replace("-", " ").capitalize(), f"A finding of the kind {name}.", "See the documentation."
    )
