"""Saving and loading parameters: the same bits back, or a clear refusal that changes nothing."""

import io as stdio
import json
import os
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from helpers import refused

from gru_lib import Params, bundle, gru_init, io, linear_init

SUFFIXES = [".npz", ".safetensors"]


def model(seed=0, *, H=3, dtype=np.float64, **options):
    rng = np.random.default_rng(seed)
    m = bundle(rnn=gru_init(rng, 2, H, dtype=dtype, **options), out=linear_init(rng, H, 1, dtype=dtype))
    m.flat[:] = rng.normal(size=m.size)
    return m


def load_refused(path, p, match, error=ValueError):
    """Loading raises, and not one bit of `p` changes."""
    before = p.flat.copy()
    refused(error, match, io.load, path, p)
    np.testing.assert_array_equal(p.flat, before)


def unreadable(path, p, match):
    """Loading raises, into `p` and without it."""
    load_refused(path, p, match)
    refused(ValueError, rf"load: .*{path.name}", io.load, path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("dtype", "options"), [
    (np.float32, {"reset_after": True}), (np.float64, {"bias": False, "convention": "write"})
])  # fmt: skip
def test_load_gives_back_every_bit(tmp_path, suffix, dtype, options):
    m, path = model(dtype=dtype, **options), tmp_path / f"m{suffix}"
    io.save(path, m)
    new = model(1, dtype=dtype, **options)
    views = new.rnn.W_xr
    assert io.load(path, new) is new
    np.testing.assert_array_equal(new.flat, m.flat)
    np.testing.assert_array_equal(views, m.rnn.W_xr)  # in place: the old views see it
    io.save(path, m.rnn)
    alone = io.load(str(path))
    assert type(alone) is type(m.rnn) and alone.options == m.rnn.options and alone.dtype == dtype
    np.testing.assert_array_equal(alone.flat, m.rnn.flat)
    np.testing.assert_array_equal(alone.W_hz, m.rnn.W_hz)


def test_npz_holds_complex_and_safetensors_refuses_it(tmp_path):
    m = model().astype(np.complex128)
    m.flat[:] += 1j
    io.save(tmp_path / "m.npz", m)
    np.testing.assert_array_equal(io.load(tmp_path / "m.npz").flat, m.flat)
    with pytest.raises(ValueError, match=r"must be real for safetensors; got complex128. Use \.npz"):
        io.save(tmp_path / "m.safetensors", m)


def test_safetensors_file_is_read_by_safetensors(tmp_path):
    from safetensors.numpy import load_file

    m = model()
    io.save(tmp_path / "m.safetensors", m)
    np.testing.assert_array_equal(load_file(tmp_path / "m.safetensors")["rnn.W_x"], m.rnn.W_x)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_parameters_of_another_kind_are_refused(tmp_path, suffix):
    path = tmp_path / f"m{suffix}"
    io.save(path, model())
    load_refused(path, model(convention="write"), "must hold .*convention='write'.*it holds .*convention='keep'")
    load_refused(path, model(reset_after=True), r"must hold the arrays rnn\.W_x, .*b_hn.*it holds")
    load_refused(path, model(H=2), "rnn.W_x in .* must be float64 of shape")
    load_refused(path, model(dtype=np.float32), "must be float32 of shape .*it is float64")
    load_refused(path, gru_init(np.random.default_rng(0), 2, 3), "must hold the arrays W_x, W_h, b; it holds")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_truncated_or_foreign_file_is_refused(tmp_path, suffix):
    m, path, cut = model(), tmp_path / f"m{suffix}", tmp_path / f"cut{suffix}"
    io.save(path, m)
    data = path.read_bytes()
    target = model(1)
    for length in [0, 1, 7, 8, 9, *range(20, len(data), 37), len(data) - 1]:
        cut.write_bytes(data[:length])
        unreadable(cut, target, "cut")
    for foreign in [b"hello", b"\x00" * 1000, os.urandom(2000), b"PK\x03\x04" + b"\xff" * 100]:
        cut.write_bytes(foreign)
        unreadable(cut, target, "cut")


def test_no_flipped_bit_of_an_npz_file_loads_other_numbers(tmp_path):
    """Tried on a bit of 29. In a zip some bits say nothing, such as those of the date."""
    m, path = linear_init(np.random.default_rng(0), 2, 2), tmp_path / "m.npz"
    io.save(path, m)
    data, survived, new = path.read_bytes(), 0, m.zeros_like()
    for bit in range(0, 8 * len(data), 29):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        new.flat[:] = 0
        try:
            io.load(path, new)
        except ValueError:
            assert not new.flat.any()
        else:
            survived += 1
            np.testing.assert_array_equal(new.flat, m.flat)
    assert survived < 0.3 * 8 / 29 * len(data)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_is_refused_and_not_read(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")  # reading it would wait for ever
    (tmp_path / f"zeros{suffix}").symlink_to("/dev/zero")  # and this would never end
    (tmp_path / f"folder{suffix}").mkdir()
    for name in ("pipe", "zeros", "folder"):
        unreadable(
            tmp_path / f"{name}{suffix}", model(), f"load: path must be a file; {name}{suffix} is a folder, a pipe"
        )


def test_files_of_numpy_and_safetensors_without_our_header_are_refused(tmp_path):
    from safetensors.numpy import save_file

    arrays = dict(model().items())
    np.savez(tmp_path / "m.npz", **arrays)
    unreadable(tmp_path / "m.npz", model(), "must be a whole .npz file that gru_lib wrote; .* 'gru_lib.json'")
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, tmp_path / "m.safetensors")
    unreadable(tmp_path / "m.safetensors", model(), "must be a whole .safetensors file that gru_lib wrote")


def write(path, m, **changed):
    """The arrays of `save`, some of them changed."""
    io.save(path, m)
    with np.load(path) as file:
        np.savez(path, **(dict(file) | changed))


class Trap:
    """Unpickling it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_pickled_content_is_never_run(tmp_path):
    m, path, sprung = model(), tmp_path / "m.npz", tmp_path / "sprung"
    write(path, m, **{"out.b": np.array([Trap(sprung)], dtype=object)})
    unreadable(path, model(1), "it cannot be read: ValueError: Object arrays")
    assert not sprung.exists()


def test_a_decompression_bomb_is_refused_unopened(tmp_path):
    m, path = model(), tmp_path / "m.npz"
    io.save(path, m)
    with np.load(path) as file:
        np.savez_compressed(path, **(dict(file) | {"out.b": np.zeros(1 << 22)}))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    unreadable(path, model(1), "its arrays are packed")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


def test_an_array_that_lies_about_its_shape_is_refused(tmp_path):
    m, path = model(), tmp_path / "m.npz"
    io.save(path, m)
    data = path.read_bytes()
    for lie in (b"(9,), }" + b" " * 10, b"(30000000000,), }"):
        with zipfile.ZipFile(path, "w") as file, zipfile.ZipFile(stdio.BytesIO(data)) as old:
            for info in old.infolist():  # each keeps its date: Python 3.14 would take that of SOURCE_DATE_EPOCH
                array, lies = old.read(info), info.filename == "out.b.npy"
                file.writestr(info, array.replace(b"(1,), }" + b" " * 10, lie) if lies else array)
        unreadable(path, model(1), "it cannot be read: (ValueError|.*MemoryError)")


def test_a_header_that_describes_no_parameters_is_refused(tmp_path):
    m, path = model(), tmp_path / "m.npz"
    right = io.describe(m)
    rnn = right["members"]["rnn"]

    def of_rnn(**changed):
        return right | {"members": right["members"] | {"rnn": rnn | changed}}

    for header, match in [
        ([], "list"), ({"kind": "Bundle"}, "'options'"),
        (right | {"kind": "Path"}, "'Path' is none of AblatedGRUParams, "),
        (right | {"members": {}}, "at least one member"),
        (of_rnn(kind="LSTMParams"), r"flat must be contiguous with shape \(72,\); got \(54,\)"),
        (of_rnn(options=rnn["options"] | {"convention": "evil"}), "convention must be one of 'keep', 'write'"),
        (of_rnn(options={"H": 3}), "missing a? ?.*'D'"),
    ]:  # fmt: skip
        write(path, m, **{"gru_lib.json": np.frombuffer(json.dumps(header).encode(), np.uint8)})
        refused(ValueError, rf"load: .*m\.npz (?s:.*){match}", io.load, path)
        load_refused(path, model(1), r"m\.npz must hold .*; it holds")
    write(path, m, **{"gru_lib.json": np.frombuffer(b"{", np.uint8)})
    unreadable(path, model(1), "it cannot be read: JSONDecodeError")


def test_a_kind_of_ones_own_loads_if_its_class_takes_its_options(tmp_path):
    class Scale(Params):
        def __init__(self, K, flat=None):
            super().__init__({"a": (K,)}, options={"K": K}, flat=flat)

    class Shift(Params):
        pass

    io.save(tmp_path / "scale.npz", Scale(3, np.arange(3.0)))
    scale = io.load(tmp_path / "scale.npz")
    assert type(scale) is Scale and scale.a.tolist() == [0, 1, 2]
    shift = Shift({"a": (2,)}, flat=np.ones(2))
    io.save(tmp_path / "shift.npz", shift)
    assert io.load(tmp_path / "shift.npz", shift.zeros_like()).a.tolist() == [1, 1]
    refused(ValueError, r"load: shift\.npz is .*missing .*'shapes'", io.load, tmp_path / "shift.npz")


def test_a_failed_save_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    m, path = model(), tmp_path / "m.npz"
    io.save(path, m)
    before = path.read_bytes()

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(io.os, "fsync", broken)
    refused(OSError, "disk full", io.save, path, model(1))
    assert path.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["m.npz"]


def test_path_and_kind_are_checked(tmp_path):
    with pytest.raises(ValueError, match=r"save: path must end in \.npz or \.safetensors; got 'm.pkl'"):
        io.save(tmp_path / "m.pkl", model())
    refused(TypeError, "save: p must be a Params; got ndarray", io.save, tmp_path / "m.npz", np.zeros(3))
    refused(ValueError, "load: path must be the name of a file; got", io.load, "a\0.npz")
    with pytest.raises(FileNotFoundError):
        io.load(tmp_path / "none.npz", model())


def test_safetensors_is_asked_for_only_when_it_is_needed(tmp_path, monkeypatch):
    for module in ("safetensors", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, module, None)
    io.save(tmp_path / "m.npz", model())
    said = r'm\.safetensors needs safetensors: pip install "gru-lib\[safetensors\]"'
    refused(ImportError, said, io.save, tmp_path / "m.safetensors", model())
