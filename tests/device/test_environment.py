"""What ``LUTHIER_EMULATOR_SIMD`` and ``LUTHIER_NATIVE`` may say: a word that is not obeyed would have its user compare something
with itself."""

from __future__ import annotations

import os
import subprocess
import sys

import compiled
import pytest

SOURCE = "KERNEL one(u32 *out) { out[local_x()] = group_x() + local_x(); }"
MAKES = "import luthier as lt\ntry: lt.Device('gfx90a')\nexcept lt.ArgumentError as error: print(error)\nelse: print('made')\n"


def _python(code: str, word: str | bytes, variable: str = "LUTHIER_EMULATOR_SIMD") -> str:
    """What a process says whose environment has the word."""
    environment = {**os.environb, variable.encode(): word if isinstance(word, bytes) else word.encode()}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return done.stdout


@pytest.mark.parametrize("word", ("avx-2", "avx512", "AVX2", "0", " base", b"\xff"))
def test_a_word_that_is_none_is_refused_by_name(word):
    shown = word if isinstance(word, str) else "\N{REPLACEMENT CHARACTER}"
    assert _python(MAKES, word) == f"LUTHIER_EMULATOR_SIMD={shown} is not possible: it is base or avx2\n"


@pytest.mark.parametrize("word", ("", "base"))
def test_the_words_that_there_are_are_taken(word):
    assert _python(MAKES, word) == "made\n"


@pytest.mark.parametrize("word", ("often", "random:", "-1", "1.5"))
def test_a_word_about_native_code_that_is_none_is_refused_by_name(word):
    assert _python(MAKES, word, "LUTHIER_NATIVE") == f"LUTHIER_NATIVE={word} is not possible: it is a number, or random:SEED\n"


@pytest.mark.parametrize("word", ("", "0", "1", "random:7"))
def test_the_words_about_native_code_are_taken(word):
    assert _python(MAKES, word, "LUTHIER_NATIVE") == "made\n"


def test_a_process_that_mends_the_word_goes_on():
    mends = f"{MAKES}import os\nos.environ['LUTHIER_EMULATOR_SIMD'] = 'base'\n{MAKES}"
    first, second = _python(mends, "nonsense").splitlines()
    assert first.startswith("LUTHIER_EMULATOR_SIMD=nonsense") and second == "made"


def test_what_the_device_knows_is_refused_as_the_device_is():
    done = subprocess.run(
        [sys.executable, "-m", "luthier", "device", "--coverage", "gfx90a"],
        capture_output=True, text=True, env={**os.environ, "LUTHIER_EMULATOR_SIMD": "nonsense"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "luthier: error: LUTHIER_EMULATOR_SIMD=nonsense is not possible: it is base or avx2\n"


def test_the_command_line_ends_with_status_2_and_one_line():
    file = compiled.build(SOURCE, "gfx90a")
    command = [sys.executable, "-m", "luthier", "run", str(file), "--kernel", "one", "--grid", "64", "--block", "64"]
    command += ["--arg", "buf:u32[64]=zeros"]
    environment = {**os.environ, "LUTHIER_EMULATOR_SIMD": "nonsense"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "luthier: error: LUTHIER_EMULATOR_SIMD=nonsense is not possible: it is base or avx2\n"
