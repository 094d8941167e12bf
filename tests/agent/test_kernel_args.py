"""The arguments of a program's launches are those that it has passed."""

from __future__ import annotations

import rocm

import luthier as lt


def test_arguments_of_all_kinds_are_decoded_by_their_types():
    rocm.need("hipcc")
    done = lt.trace([rocm.hip("arguments")], ["kernel_args"], mock="gfx90a", capture=True)
    assert done.status == 0, done.stderr
    launches = [launch for told in done.results("kernel_args") for launch in told["launches"]]
    (launch,) = launches
    pair = bytes.fromhex("03000000") + bytes.fromhex("0000003f")
    at = (done.stdout or "").split()[1]
    assert launch["args"] == [{"pointer": at}, -2.5, 0.125, -7, True, 250, {"bytes": pair.hex()}, None, -(1 << 40)]
    assert launch["grid"] == [64, 1, 1] and launch["block"] == [64, 1, 1]
