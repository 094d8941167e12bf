"""What waves begin with: user and system SGPRs that a kernel asks for, some more of them than it needs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

#: User SGPRs in the order in which they come, and how many each has.
USER = {
    "private_segment_buffer": 4, "dispatch_ptr": 2, "queue_ptr": 2, "kernarg_segment_ptr": 2, "dispatch_id": 2,
    "flat_scratch_init": 2, "private_segment_size": 1,
}  # fmt: skip
#: Those whose values are addresses of the process: no result may depend on them.
ADDRESSES = ("private_segment_buffer", "dispatch_ptr", "queue_ptr", "kernarg_segment_ptr", "flat_scratch_init")
#: Bytes of scratch of a work-item, where a kernel has some.
SCRATCH = 16


@dataclass
class Entry:
    """Where values are at the beginning: the first register of each, and the descriptor's lines for it."""

    at: dict[str, int] = field(default_factory=dict)
    settings: list[str] = field(default_factory=list)
    #: Registers that hold (a part of) an address.
    addresses: set[int] = field(default_factory=set)
    #: Words of the arguments that are in registers, from ``at["arguments"]`` on.
    preloaded: int = 0
    scratch: int = 0

    @property
    def begins_behind(self) -> bool:
        """Whether waves begin 256 bytes behind the kernel's symbol."""
        return self.preloaded > 0


def random_entry(of: random.Random, processor: str) -> Entry:
    """One that has the arguments' address, and the workgroup's numbers in all dimensions."""
    entry = Entry()
    # These set flat scratch up by code, the others by the processor.
    sets_up = processor in ("gfx90a", "gfx1030")
    in_ttmps = processor[:5] == "gfx12"
    entry.scratch = SCRATCH if of.random() < 0.3 else 0
    next_register = 0
    for name, words in USER.items():
        is_known = sets_up or name not in ("private_segment_buffer", "flat_scratch_init")
        if name != "kernarg_segment_ptr" and (not is_known or of.random() < 0.6):
            continue
        if name == "private_segment_size" and processor == "gfx1250":
            continue
        entry.at[name] = next_register
        entry.settings.append(f"user_sgpr_{name} 1")
        if name in ADDRESSES:
            entry.addresses.update(range(next_register, next_register + words))
        next_register += words
    if processor in ("gfx90a", "gfx942", "gfx1250") and of.random() < 0.3:
        entry.preloaded = of.randrange(1, min(14, 16 - next_register) + 1) if next_register < 16 else 0
        if entry.preloaded:
            entry.at["arguments"] = next_register
            entry.settings.append(f"user_sgpr_kernarg_preload_length {entry.preloaded}")
            next_register += entry.preloaded
    for axis in "xyz":
        entry.settings.append(f"system_sgpr_workgroup_id_{axis} 1")
        if not in_ttmps:
            entry.at[axis] = next_register
            next_register += 1
    if not in_ttmps and of.random() < 0.5:
        entry.at["workgroup_info"] = next_register
        entry.settings.append("system_sgpr_workgroup_info 1")
        next_register += 1
    if entry.scratch:
        entry.settings.append(f"private_segment_fixed_size {SCRATCH}")
        entry.settings.append(f"{'system_sgpr_private_segment_wavefront_offset' if sets_up else 'enable_private_segment'} 1")
        if sets_up:
            entry.at["scratch_offset"] = next_register
            next_register += 1
    return entry
