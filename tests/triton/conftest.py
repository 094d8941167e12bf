"""What tests of Triton kernels need: Triton (`make setup-triton`), and code that is compiled here and now."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def fresh_cache(tmp_path_factory: pytest.TempPathFactory):
    # Not `triton`: without Triton that is this folder, as Python sees it.
    pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")
    from triton import knobs

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        assert knobs.cache.dir.startswith(str(tmp_path_factory.getbasetemp()))
        yield


@pytest.fixture
def on_gpu(request: pytest.FixtureRequest):
    """Installs a mock GPU for the test; strict mode's findings are errors."""
    import luthier.triton

    def install(target: str, **how):
        luthier.triton.install(target, **{"strict": True, "findings": "raise", **how})

    yield install
    luthier.triton.detach()
    luthier.triton.uninstall()
