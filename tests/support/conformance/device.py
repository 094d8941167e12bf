"""Runs trials on the mock device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import luthier
from luthier.device.launching import Launch
from luthier.errors import LuthierError

from .assembly import RECORD, Trial, Writer
from .targets import Target


class Refused(Exception):
    """The device does not do this instruction, and says so."""


class Batch:
    """Trials in one code object, loaded once."""

    def __init__(self, target: Target, trials: Sequence[Trial]):
        self.target = target
        self.device = luthier.Device(target.processor, threads=1)
        self.module = self.device.core.load(luthier.CodeObject.open(Writer(target).assemble(trials)).core)

    def buffer(self, data: np.ndarray) -> int:
        address = self.device.core.alloc(max(data.nbytes, 256))
        self.device.core.write(address, data.tobytes())
        return address

    def run(self, trial: Trial, scalars: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``scalars`` are (waves, 16), ``rows`` (waves, loads, lanes) of ``uint32``; results likewise."""
        core, lanes = self.device.core, self.target.lanes
        waves = len(scalars)
        out_scalars = np.full((waves, RECORD), 0xDEADBEEF, np.uint32)
        out_rows = np.full((waves, max(1, len(trial.stores)), lanes), 0xDEADBEEF, np.uint32)
        buffers = [self.buffer(np.ascontiguousarray(a)) for a in (scalars, rows, out_scalars, out_rows)]
        try:
            kernarg = np.array(buffers, np.uint64).tobytes()
            core.launch(self.module, Launch(trial.symbol, (waves * lanes, 1, 1), (lanes, 1, 1)), kernarg)
            out_scalars = np.frombuffer(core.read(buffers[2], out_scalars.nbytes), np.uint32).reshape(out_scalars.shape)
            out_rows = np.frombuffer(core.read(buffers[3], out_rows.nbytes), np.uint32).reshape(out_rows.shape)
        except LuthierError as error:
            if "does not implement" in str(error) or "not modelled" in str(error) or "does not know" in str(error):
                raise Refused(str(error)) from error
            raise
        finally:
            for address in buffers:
                core.free(address)
        return out_scalars, out_rows
