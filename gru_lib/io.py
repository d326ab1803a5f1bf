"""Save and load parameters. Loading executes nothing, and checks sizes before it reads.

Two formats, chosen by the file's suffix: ``.npz`` (NumPy's own, without pickle) and ``.safetensors`` (with
``gru-lib[safetensors]``). Both hold the arrays under their names and a header that says what they are: a GRU that was
trained as "keep" does not load into one that is "write". Both hold checksums: an ``.npz`` file one of every array, as
every zip does, a ``.safetensors`` file one of everything, among its metadata. Older files without it still load.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from gru_lib._core.checks import check_instance
from gru_lib._core.optional import needs
from gru_lib._core.params import Bundle, Params
from gru_lib._core.types import Array

__all__ = ["load", "save"]

_HEADER = "gru_lib.json"  # describes the arrays
_CHECKSUM = "gru_lib.sha256"  # of the header and of the arrays, in a .safetensors file
_HEADER_BYTES = 1 << 20
_NPY_BYTES = 1024  # more than the overhead of one array in a file
# What the readers of zip and .npy raise at bytes that are neither.
_DAMAGED = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, TokenError, ValueError)


def save(path: str | os.PathLike[str], p: Params) -> None:
    """Write parameters of any kind to a file, whole or not at all: under a temporary name first, then renamed.

    The path ends in ``.npz`` or ``.safetensors`` (for real numbers only; ImportError if the package is missing). An
    existing file is replaced.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gru_lib import gru_init, save
    >>> p = gru_init(np.random.default_rng(0), D=3, H=5)
    >>> with TemporaryDirectory() as folder:
    ...     save(Path(folder, "gru.npz"), p)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['gru.npz']
    """
    check_instance("save", "p", p, Params)
    path, arrays, header = _path("save", path), dict(p.items()), describe(p)
    if _is_safetensors("save", path):
        if p.dtype.kind == "c":
            raise ValueError(f"save: p must be real for safetensors; got {p.dtype}. Use .npz.")
        with needs(f"save: {path.name}", "safetensors", "safetensors"):
            from safetensors.numpy import save as to_bytes

        arrays, text = {name: np.ascontiguousarray(a) for name, a in arrays.items()}, json.dumps(header)
        write_atomically(path, to_bytes(arrays, metadata={_HEADER: text, _CHECKSUM: _checksum(text, arrays)}))
    else:
        write_npz(path, arrays, header)


def load(path: str | os.PathLike[str], p: Params) -> None:
    """Read parameters from a file that `save` wrote, into `p`.

    `p` must have the kind, sizes, conventions and dtype that were saved. It is overwritten in place once the whole
    file has been checked; if anything is wrong, `p` stays as it was.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not one that `save` wrote, is damaged or too large, or holds parameters of another kind. A pipe
        or a device is never read.
    """
    check_instance("load", "p", p, Params)
    path, arrays, wanted = _path("load", path), dict(p.items()), json.loads(json.dumps(describe(p)))
    read = _read_safetensors if _is_safetensors("load", path) else read_npz
    header, found = read("load", path, arrays, _HEADER_BYTES)
    if header != wanted:
        raise ValueError(f"load: {path.name} must hold {_brief(wanted)}; it holds {_brief(header)}.")
    for name, array in arrays.items():
        array[...] = found[name]


def _path(where: str, path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise TypeError(f"{where}: path must be text or a path; got {type(path).__name__}.") from None


def describe(p: Params) -> dict[str, Any]:
    """Return what `p` is, apart from its numbers, as plain values for JSON."""
    what: dict[str, Any] = {"kind": type(p).__name__, "options": p.options}
    if isinstance(p, Bundle):
        what["members"] = {name: describe(member) for name, member in p.members()}
    return what


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: a kill at any moment leaves the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_npz(path: Path, arrays: Mapping[str, Array], header: Mapping[str, Any]) -> None:
    """Write named arrays and a header, uncompressed: numbers hardly compress, and reading never expands anything."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    named: dict[str, Any] = {_HEADER: text, **arrays}
    np.savez(buffer, **named)
    write_atomically(path, buffer.getvalue())


def read_npz(
    where: str, path: Path, wanted: Mapping[str, Array], header_bytes: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the header and the arrays with the names, shapes and dtypes of `wanted`.

    Sizes are checked before anything of that size is read, and nothing is unpickled or decompressed.
    """
    room = sum(a.nbytes for a in wanted.values()) + header_bytes + 2 * _NPY_BYTES * (len(wanted) + 2)
    data = _read(where, path, room)
    limits = {_HEADER: header_bytes} | {name: a.nbytes for name, a in wanted.items()}
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGED as error:
        raise ValueError(f"{where}: {path.name} is not an .npz file, or it is damaged: {error}") from None
    _check_names(where, path, [entry.filename.removesuffix(".npy") for entry in file.infolist()], wanted)
    arrays = {}
    for name, limit in limits.items():
        entry = file.getinfo(f"{name}.npy")
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > limit + _NPY_BYTES:
            raise ValueError(f"{where}: {path.name} is not one that save wrote: {name} is packed or too large.")
        try:
            arrays[name] = _parse_npy(file.read(entry))
        except _DAMAGED as error:
            raise ValueError(f"{where}: {path.name} is damaged, or not one that save wrote: {name}: {error}") from None
    header = _parse_header(where, path, arrays.pop(_HEADER).tobytes())
    for name, array in wanted.items():
        _check_array(where, path, name, (arrays[name].dtype, arrays[name].shape), array)
    return header, arrays


def _parse_npy(data: bytes) -> Array:
    """The array in an .npy file, whose header must agree with the bytes there are."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("another version of the .npy format")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    if fortran_order or dtype.hasobject:
        raise ValueError("not a plain array")
    return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape)


def _parse_header(where: str, path: Path, text: str | bytes) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: the header of {path.name} is damaged: {error}") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, of which Python would keep the last of two values with one name, and others the first."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a name stands there twice: {', '.join(name for name, _ in pairs)}")
    return found


def _read_safetensors(
    where: str, path: Path, wanted: Mapping[str, Array], header_bytes: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    with needs(f"{where}: {path.name}", "safetensors", "safetensors"):
        from safetensors import SafetensorError, deserialize

    data = _read(where, path, sum(a.nbytes for a in wanted.values()) + header_bytes + _NPY_BYTES * (len(wanted) + 2))
    try:  # it checks that the pieces fill the file, one after the other
        pieces = dict(deserialize(data))  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{where}: {path.name} is not a .safetensors file, or it is damaged: {error}") from None
    metadata = _parse_header(where, path, data[8 : 8 + int.from_bytes(data[:8], "little")]).get("__metadata__") or {}
    checksum = metadata.pop(_CHECKSUM, None)
    _check_names(where, path, [*pieces, *metadata], wanted)
    kinds, found = {"F32": np.dtype(np.float32), "F64": np.dtype(np.float64)}, {}
    for name, array in wanted.items():
        kind, shape = pieces[name]["dtype"], tuple(pieces[name]["shape"])
        _check_array(where, path, name, (kinds.get(kind, kind), shape), array)
        found[name] = np.frombuffer(pieces[name]["data"], array.dtype).reshape(shape)
    if checksum is not None and checksum != _checksum(metadata[_HEADER], found):
        raise ValueError(f"{where}: {path.name} is damaged: its numbers do not have the checksum that it holds.")
    return _parse_header(where, path, metadata[_HEADER]), found


def _checksum(header: str, arrays: Mapping[str, Array]) -> str:
    checksum = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        checksum.update(name.encode())
        checksum.update(arrays[name].tobytes())
    return checksum.hexdigest()


def _read(where: str, path: Path, room: int) -> bytes:
    """Read a file of at most `room` bytes. What is no file at all, such as a pipe or a device, is not even opened."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{where}: path must be a file; {path.name} is a folder, a pipe or a device.")
    if found.st_size > room:
        raise ValueError(f"{where}: {path.name} must have at most {room:,} bytes to fit; it has {found.st_size:,}.")
    with open(path, "rb") as file:
        return file.read(room)


def _is_safetensors(where: str, path: Path) -> bool:
    if path.suffix == ".npz":
        return False
    if path.suffix != ".safetensors":
        raise ValueError(f"{where}: path must end in .npz or .safetensors; got {path.name!r}.")
    return True


def _check_names(where: str, path: Path, names: list[str], wanted: Mapping[str, Array]) -> None:
    if _HEADER not in names:
        raise ValueError(f"{where}: {path.name} is not one that save wrote: it has no {_HEADER}.")
    if sorted(names) != sorted([_HEADER, *wanted]):
        held = ", ".join(name for name in names if name != _HEADER)
        raise ValueError(f"{where}: {path.name} must hold the arrays {', '.join(wanted)}; it holds {held}.")


def _check_array(where: str, path: Path, name: str, found: tuple[Any, tuple[int, ...]], wanted: Array) -> None:
    if found != (wanted.dtype, wanted.shape):
        raise ValueError(
            f"{where}: {name} in {path.name} must be {wanted.dtype} of shape {wanted.shape}; "
            f"it is {found[0]} of shape {found[1]}."
        )


def _brief(header: Any) -> str:
    """A header in one line, for an error message."""
    if not isinstance(header, dict) or "kind" not in header:
        return "something else"
    members, options = header.get("members"), header.get("options")
    if isinstance(members, dict) and members:
        return f"{{{', '.join(f'{name}: {_brief(member)}' for name, member in members.items())}}}"
    named = ", ".join(f"{k}={v!r}" for k, v in options.items()) if isinstance(options, dict) else ""
    return f"{header['kind']}({named})"
