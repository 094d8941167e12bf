"""HIP libraries that are tools themselves."""

from __future__ import annotations

import re
import subprocess

import pytest
import rocm
from places import ROOT

import luthier as lt


class Modules(lt.Tool):
    """Looks for tool modules when a kernel is launched."""

    hip_modules = True
    decides = True

    def on_start(self, app):
        assert app.tool_modules == []

    def on_launch(self, launch):
        [self.module] = self.app.tool_modules
        counter = self.module.managed["counter"]
        [loaded] = self.module.loaded
        self.found = [int.from_bytes(counter.read(), "little"), loaded.read_variable("more"), "wrapper_of_bump.kd"]
        assert self.app.kernel_at(loaded.address("wrapper_of_bump.kd")).name == "wrapper_of_bump"

    def on_kernel(self, kernel):
        kernel.insert_at_entry(nothing)

    def on_exit(self, report):
        if hasattr(self, "module"):
            report.result = [self.module.cuid, sorted(self.module.kernels.values()), sorted(self.module.variables.values())]
            report.result += [sorted(self.module.managed), self.found[0], int.from_bytes(self.found[1], "little")]
        else:
            report.result = len(self.app.tool_modules)


@lt.hook
def nothing():
    pass


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc", "clang-offload-bundler-15")
    assert (ROOT / "python/luthier/driver/libluthier-agent.so").exists(), "`make driver` builds the agent"


@pytest.mark.parametrize("compression", [0, 1, 2, 3])
def test_a_tool_module_is_kept_apart_and_its_variables_are_read(compression):
    library = rocm.tool_module("tool_module", compression=compression)
    environment = {**rocm.ENVIRONMENT, "LD_PRELOAD": str(library)}
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    [cuid] = re.findall(r"__hip_cuid_(\w+)", symbols)
    done = lt.trace([rocm.hip("kernels"), "lds"], [Modules], mock="gfx90a", env=environment, capture=True)
    assert done.status == 0 and "passed" in done.stdout, done.stderr
    process, *kernels = done.results("modules")
    assert process == 1
    assert kernels and all(
        k == [cuid, ["wrapper_of_bump"], ["more"], ["__luthier_reserved", "counter"], 41, 7] for k in kernels
    ), kernels


def test_modules_of_the_program_are_none():
    done = lt.trace([rocm.hip("kernels"), "lds"], [Plain], mock="gfx90a", env=rocm.ENVIRONMENT, capture=True)
    assert done.status == 0 and "passed" in done.stdout, done.stderr
    assert done.results("plain") == [0]


class Plain(lt.Tool):
    """Only looks."""

    hip_modules = True

    def on_start(self, app):
        pass

    def on_exit(self, report):
        report.result = len(self.app.tool_modules)
