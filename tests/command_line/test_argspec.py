"""The grammar of --arg and its kin."""

from __future__ import annotations

import numpy as np
import pytest

from luthier.cli.argspec import TYPES, parse_argument, parse_dump, parse_sizes, parse_symbol
from luthier.errors import ArgumentError


@pytest.mark.parametrize("name", TYPES)
def test_every_type(name):
    dtype = np.dtype(TYPES[name])
    for init, want in (("zeros", np.zeros(5)), ("ones", np.ones(5)), ("arange", np.arange(5))):
        got = parse_argument(f"buf:{name}[5]={init}")
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, want.astype(dtype))
    value = parse_argument(f"{name}=7")
    assert value == 7 and value.dtype == dtype


def test_random_is_reproducible_and_covers_the_type():
    first, second, other = (parse_argument(f"buf:u8[4096]=random:{seed}") for seed in (1, 1, 2))
    assert np.array_equal(first, second) and not np.array_equal(first, other)
    assert len(np.unique(first)) == 256
    floats = parse_argument("buf:f32[1000]=random:3")
    assert floats.dtype == np.float32 and 0 <= floats.min() < floats.max() <= 1


def test_npy(tmp_path):
    path = tmp_path / "a=b.npy"
    data = np.arange(6, dtype=np.int16).reshape(2, 3)
    np.save(path, data)
    np.testing.assert_array_equal(parse_argument(f"buf:i16[6]={path}"), data)
    for text, why in (
        (f"buf:i16[5]={path}", "holds 6 elements, not 5"),
        (f"buf:u16[6]={path}", "holds int16, not uint16"),
        (f"buf:u16[6]={tmp_path}/none.npy", "no such file"),
    ):
        with pytest.raises(ArgumentError, match=why):
            parse_argument(text)
    path.write_bytes(b"no array")
    with pytest.raises(ArgumentError, match="is no .npy file"):
        parse_argument(f"buf:i16[6]={path}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("i32=-5", -5),
        ("u64=0xffffffffffffffff", (1 << 64) - 1),
        ("i8=-128", -128),
        ("f64=1e300", 1e300),
        ("f32=-inf", -np.inf),
        ("f16=0.5", 0.5),
    ],
)
def test_scalars(text, value):
    assert parse_argument(text) == value


def test_null():
    assert parse_argument("null") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected buf:TYPE"),
        ("5", "expected buf:TYPE"),
        ("i32=", "'' is not an integer"),
        ("i32=1.5", "not an integer"),
        ("i33=1", "'i33' is not a type"),
        ("u8=256", "does not fit u8"),
        ("u8=-1", "does not fit u8"),
        ("f16=1e9", "does not fit f16"),
        ("f32=one", "not a number"),
        ("buf:f32", "expected buf:TYPE"),
        ("buf:f32[]=zeros", "not a number of elements"),
        ("buf:f32[0]=zeros", "not a number of elements"),
        ("buf:f32[-4]=zeros", "not a number of elements"),
        ("buf:f32[4]", "not an initial value"),
        ("buf:f32[4]=twos", "not an initial value"),
        ("buf:f32[4]=random:x", "not a seed"),
        ("buf:q32[4]=zeros", "'q32' is not a type"),
        ("buf:f64[999999999999]=zeros", "more than any device has"),
    ],
)
def test_bad_arguments(text, why):
    with pytest.raises(ArgumentError, match=why) as error:
        parse_argument(text)
    assert "\n" not in str(error.value)


def test_sizes():
    assert parse_sizes("--grid", "64") == (64,)
    assert parse_sizes("--grid", "0x40,2,1") == (64, 2, 1)
    with pytest.raises(ArgumentError, match="--grid 4,x"):
        parse_sizes("--grid", "4,x")


def test_dump_and_symbol():
    assert parse_dump("2=a=b.npy") == (2, "a=b.npy")
    for bad in ("a.npy", "x=a.npy", "1=", "-1=a.npy"):
        with pytest.raises(ArgumentError):
            parse_dump(bad)
    assert parse_symbol("tool.counts") == ("tool.counts", None)
    assert parse_symbol("tool.counts:u64") == ("tool.counts", "uint64")
    with pytest.raises(ArgumentError, match="'u65' is not a type"):
        parse_symbol("a:u65")
