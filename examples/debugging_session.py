"""debugging_session: stops a kernel in front of its first store and shows the registers of a wave, then goes on by hand.

python examples/debugging_session.py vecadd.hsaco vecadd
"""

from __future__ import annotations

import sys

import numpy as np

import luthier as lt


def main(path: str, kernel: str) -> int:
    code = lt.CodeObject.open(path)
    a, b, c = np.arange(256, dtype=np.float32), np.ones(256, np.float32), np.zeros(256, np.float32)
    stores = [i for i in code.kernel(kernel).instructions if i.is_store]
    device = lt.Device(code.processor)
    with device.session(code, kernel, blocks=2, block=128, args=[a, b, c, np.uint32(256)]) as session:
        wave = session.run_to(stores[0].address)
        if wave is None:
            print("no wave came to the store")
            return 1
        print(f"workgroup {session.workgroup}, wave {wave.number} at {wave.pc:#x}: {stores[0].text}")
        for operand in stores[0].operands:
            register = operand.register
            if register is not None and register.file == "vgpr" and register.index is not None:
                lanes = wave.registers.vgprs[register.index].view(np.float32)[:4]
                print(f"  {operand.name} = {register}: {', '.join(f'{lane:g}' for lane in lanes)}, ...")
        print(f"  c[0:4] before: {c[:4]}")
        wave.step()
        print(f"  c[0:4] after:  {c[:4]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
