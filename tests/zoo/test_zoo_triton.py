"""The zoo's Triton and Gluon kernels: the one with the bug is reported, the mended one is silent and right."""

from __future__ import annotations

import pytest

pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

from exhibits import triton_kernels  # noqa: E402
from exhibits.exhibit import said  # noqa: E402
from test_zoo import PAGE, assert_reported  # noqa: E402

EXHIBITS = {e.name: e for e in triton_kernels.EXHIBITS}
EVERY = [(name, target) for name, e in EXHIBITS.items() for target in e.targets]


@pytest.fixture(autouse=True, scope="module")
def fresh_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        # Which of two accesses that race comes second, and is reported, is then the same each time.
        patch.setenv("LUTHIER_THREADS", "1")
        yield


@pytest.mark.parametrize("name, target", EVERY)
def test_the_bug_is_reported_where_it_is(name, target):
    exhibit = EXHIBITS[name]
    findings = assert_reported(exhibit, target)
    if target == exhibit.targets[0]:
        assert said(findings[0], exhibit.path) in PAGE.read_text()


@pytest.mark.parametrize("name, target", EVERY)
def test_the_mended_kernel_is_silent_and_right(name, target):
    launch, findings = EXHIBITS[name].run(target, mended=True)
    assert findings == []
    launch.check()


def test_every_exhibit_has_its_section():
    text = PAGE.read_text()
    for name, exhibit in EXHIBITS.items():
        assert f"\n## {name}\n" in text and all(source in text for source in exhibit.sources), name
