"""Save and load parameters. Loading executes nothing, and takes no more memory than the file has bytes, a few times.

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
from collections import Counter
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from tokenize import TokenError
from typing import Any, get_type_hints, overload

import numpy as np

from gru_lib._core.checks import check_dtype, check_instance
from gru_lib._core.optional import needs
from gru_lib._core.params import Bundle, P, Params
from gru_lib._core.types import Array

__all__ = ["load", "save"]

_HEADER = "gru_lib.json"  # describes the arrays
_CHECKSUM = "gru_lib.sha256"  # of the header and of the arrays, in a .safetensors file
_HEADER_BYTES = 1 << 20
_NPY_BYTES = 1024  # more than the overhead of one array in a file
# What the readers of zip and .npy raise at bytes that are neither.
_DAMAGED = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, TokenError, ValueError)
# What is raised at a header that describes no parameters.
_WRONG = (AttributeError, KeyError, RuntimeError, TypeError, ValueError)


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


@overload
def load(path: str | os.PathLike[str]) -> Any: ...
@overload
def load(path: str | os.PathLike[str], p: P) -> P: ...
def load(path: str | os.PathLike[str], p: Params | None = None) -> Any:
    """Read parameters from a file that `save` wrote.

    They are new, of the kind, sizes, conventions and dtype that were saved (float64 if there are no numbers). A kind of
    your own must be defined by then, by a class that takes its options, as GRUParams does.

    With `p`, the numbers go into `p`, which is returned: it must have the kind, sizes, conventions and dtype that were
    saved. It is overwritten once the whole file has been checked; if anything is wrong, it stays as it was.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not one that `save` wrote, is damaged, or holds parameters of an unknown kind, or of another than
        those of `p`. A pipe or a device is never read.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from gru_lib import gru_init, load, save
    >>> path = os.path.join(tempfile.mkdtemp(), "net.npz")
    >>> rng = np.random.default_rng(0)
    >>> save(path, gru_init(rng, D=2, H=3, convention="write"))
    >>> load(path).convention
    'write'
    """
    if p is not None:
        check_instance("load", "p", p, Params)
    path = _path("load", path)
    read = _read_safetensors if _is_safetensors("load", path) else read_npz
    header, arrays = read("load", path, None if p is None else room(dict(p.items()), _HEADER_BYTES))
    if p is None:
        try:
            p = _blank(header, arrays)
        except _WRONG as error:
            what = "damaged, or holds parameters of a kind that is not known here"
            raise ValueError(f"load: {path.name} is {what}: {error}") from None
    check_arrays("load", path, arrays, dict(p.items()))
    wanted = json.loads(json.dumps(describe(p)))
    if header != wanted:
        raise ValueError(f"load: {path.name} must hold {_brief(wanted)}; it holds {_brief(header)}.")
    for name, array in p.items():
        array[...] = arrays[name]
    return p


def _blank(header: Any, arrays: Mapping[str, Array]) -> Params:
    """Return new parameters as a header describes them, on as many numbers as the arrays have; or raise."""
    kinds, counts = _kinds(Params), Counter[str]()
    for name, array in arrays.items():
        counts["".join(name.rpartition(".")[:2])] += array.size
    dtype = check_dtype("load", next(iter(arrays.values())).dtype) if arrays else np.dtype(np.float64)

    def blank(header: Any, place: str) -> Params:
        if header["kind"] not in kinds:
            raise ValueError(f"{header['kind']!r} is none of {', '.join(sorted(kinds))}")
        kind, options = kinds[header["kind"]], header["options"]
        if not issubclass(kind, Bundle):  # it checks its options, and that they fit the count
            given = {name: options[name] for name in signature(kind).parameters if name in options}
            return kind(**given, flat=np.empty(counts[place], dtype))
        members = header["members"].items()
        p = kind({name: blank(member, f"{place}{name}.") for name, member in members}, options=options)
        for name, wanted in get_type_hints(kind).items():
            if isinstance(wanted, type):
                check_instance(kind.__name__, name, getattr(p, name), wanted)
        return p

    return blank(header, "")


def _kinds(of: type[Params]) -> dict[str, Any]:
    """The subclasses by name; of two with one name, as a cell of a notebook makes if it runs twice, the later one."""
    return {name: kind for each in of.__subclasses__() for name, kind in ({each.__name__: each} | _kinds(each)).items()}


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


def room(arrays: Mapping[str, Array], header_bytes: int) -> int:
    """The most bytes that a file with these arrays, and a header of so many bytes, can have."""
    return sum(a.nbytes for a in arrays.values()) + header_bytes + 2 * _NPY_BYTES * (len(arrays) + 2)


def read_npz(where: str, path: Path, room: int | None) -> tuple[Any, dict[str, Array]]:
    """Read the header and the arrays in a file of at most `room` bytes. Nothing is unpickled or decompressed."""
    data, arrays = _read(where, path, room), {}
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGED as error:
        raise ValueError(f"{where}: {path.name} is not an .npz file, or it is damaged: {error}") from None
    entries = file.infolist()
    if any(e.compress_type != zipfile.ZIP_STORED for e in entries) or sum(e.file_size for e in entries) > len(data):
        raise ValueError(f"{where}: {path.name} is not one that save wrote: its arrays are packed or too large.")
    for entry in entries:
        name = entry.filename.removesuffix(".npy")
        try:
            if name in arrays:
                raise ValueError("it stands there twice")
            arrays[name] = _parse_npy(file.read(entry))
        except _DAMAGED as error:
            raise ValueError(f"{where}: {path.name} is damaged, or not one that save wrote: {name}: {error}") from None
    return _parse_header(where, path, arrays.pop(_HEADER, None)), arrays


def _parse_npy(data: bytes) -> Array:
    """The array in an .npy file, whose header must agree with the bytes there are."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("another version of the .npy format")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    if fortran_order or dtype.hasobject:
        raise ValueError("not a plain array")
    return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape)


def _parse_header(where: str, path: Path, text: str | bytes | Array | None) -> Any:
    if text is None:
        raise ValueError(f"{where}: {path.name} is not one that save wrote: it has no {_HEADER}.")
    try:
        text = text.tobytes() if isinstance(text, np.ndarray) else text
        return json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: the header of {path.name} is damaged: {error}") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, of which Python would keep the last of two values with one name, and others the first."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a name stands there twice: {', '.join(name for name, _ in pairs)}")
    return found


def _read_safetensors(where: str, path: Path, room: int | None) -> tuple[Any, dict[str, Array]]:
    with needs(f"{where}: {path.name}", "safetensors", "safetensors"):
        from safetensors import SafetensorError, deserialize

    data, dtypes, arrays = _read(where, path, room), {"F32": np.float32, "F64": np.float64}, {}
    try:  # it checks that the pieces fill the file, one after the other
        pieces = dict(deserialize(data))  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{where}: {path.name} is not a .safetensors file, or it is damaged: {error}") from None
    metadata = _parse_header(where, path, data[8 : 8 + int.from_bytes(data[:8], "little")]).get("__metadata__") or {}
    checksum, text = metadata.pop(_CHECKSUM, None), metadata.pop(_HEADER, None)
    header = _parse_header(where, path, text)
    for name, piece in pieces.items():
        if piece["dtype"] not in dtypes:
            metadata[name] = piece["dtype"]
        else:
            arrays[name] = np.frombuffer(piece["data"], dtypes[piece["dtype"]]).reshape(piece["shape"])
    if metadata:
        raise ValueError(f"{where}: {path.name} is not one that save wrote: it holds {', '.join(metadata)}.")
    if checksum is not None and checksum != _checksum(text, arrays):
        raise ValueError(f"{where}: {path.name} is damaged: its numbers do not have the checksum that it holds.")
    return header, arrays


def _checksum(header: str, arrays: Mapping[str, Array]) -> str:
    checksum = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        checksum.update(name.encode())
        checksum.update(arrays[name].tobytes())
    return checksum.hexdigest()


def _read(where: str, path: Path, room: int | None) -> bytes:
    """Read a file of at most `room` bytes. What is no file at all, such as a pipe or a device, is not even opened."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{where}: path must be a file; {path.name} is a folder, a pipe or a device.")
    if room is not None and found.st_size > room:
        raise ValueError(f"{where}: {path.name} must have at most {room:,} bytes to fit; it has {found.st_size:,}.")
    with open(path, "rb") as file:
        return file.read(found.st_size)


def _is_safetensors(where: str, path: Path) -> bool:
    if path.suffix == ".npz":
        return False
    if path.suffix != ".safetensors":
        raise ValueError(f"{where}: path must end in .npz or .safetensors; got {path.name!r}.")
    return True


def check_arrays(where: str, path: Path, arrays: Mapping[str, Array], wanted: Mapping[str, Array]) -> None:
    """Raise ValueError unless the arrays have the names, shapes and dtypes of those wanted."""
    if arrays.keys() != wanted.keys():
        names, held = ", ".join(wanted) or "none", ", ".join(arrays) or "none"
        raise ValueError(f"{where}: {path.name} must hold the arrays {names}; it holds {held}.")
    for name, a in wanted.items():
        found = arrays[name]
        if (found.dtype, found.shape) != (a.dtype, a.shape):
            raise ValueError(
                f"{where}: {name} in {path.name} must be {a.dtype} of shape {a.shape}; "
                f"it is {found.dtype} of shape {found.shape}."
            )


def _brief(header: Any) -> str:
    """A header in one line, for an error message."""
    try:
        if header.get("members"):
            return f"{{{', '.join(f'{name}: {_brief(member)}' for name, member in header['members'].items())}}}"
        return f"{header['kind']}({', '.join(f'{name}={value!r}' for name, value in header['options'].items())})"
    except _WRONG:
        return "something else"
