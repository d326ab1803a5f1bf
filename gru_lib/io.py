"""Save and load parameters. Loading executes nothing, and fills no memory that the file does not.

Two formats, chosen by the file's suffix: ``.npz`` (NumPy's own, without pickle) and ``.safetensors`` (with
``gru-lib[safetensors]``). Both hold the arrays under their names and a header that says what they are: a GRU that was
trained as "keep" does not load into one that is "write". An ``.npz`` file holds a checksum of every array, as any zip.
"""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any, overload

import numpy as np

from gru_lib.checks import check_dtype, check_instance
from gru_lib.params import Bundle, P, Params
from gru_lib.types import Array

__all__ = ["load", "save"]

_HEADER = "gru_lib.json"  # describes the arrays


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
    path = _path("save", path)
    arrays, header = dict(p.items()), describe(p)
    if path.suffix == ".npz":
        write_npz(path, arrays, header)
        return
    if p.dtype.kind == "c":
        raise ValueError(f"save: p must be real for safetensors; got {p.dtype}. Use .npz.")
    write_atomically(
        path, _safetensors(f"save: {path.name}").numpy.save(arrays, metadata={_HEADER: json.dumps(header)})
    )


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
        those of `p`.

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
        for name, array in p.items():
            check_instance("load", f"p.{name}", array, np.ndarray)
    path = _path("load", path)
    header, arrays = read("load", path)
    if p is None:
        try:
            p = _blank(header, arrays)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            what = "damaged, or holds parameters of a kind that is not known here"
            raise ValueError(f"load: {path.name} is {what}: {error}") from None
    check_arrays("load", path, arrays, dict(p.items()))
    wanted = json.loads(json.dumps(describe(p)))
    if header != wanted:
        raise ValueError(f"load: {path.name} must hold {brief(wanted)}; it holds {brief(header)}.")
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
        if issubclass(kind, Bundle):
            members = header["members"].items()
            return kind({name: blank(member, f"{place}{name}.") for name, member in members}, options=options)
        given = {name: options[name] for name in signature(kind).parameters if name in options}
        return kind(**given, flat=np.empty(counts[place], dtype))  # it checks its options, and that they fit the count

    return blank(header, "")


def _kinds(of: type[Params]) -> dict[str, Any]:
    """The subclasses by name; of two with one name, as a cell of a notebook makes if it runs twice, the later one."""
    return {name: kind for each in of.__subclasses__() for name, kind in ({each.__name__: each} | _kinds(each)).items()}


def _path(where: str, path: Any) -> Path:
    try:
        path = Path(path)
    except TypeError:
        raise TypeError(f"{where}: path must be text or a path; got {type(path).__name__}.") from None
    if "\0" in str(path):
        raise ValueError(f"{where}: path must be the name of a file; got {str(path)!r}.")
    if path.suffix not in (".npz", ".safetensors"):
        raise ValueError(f"{where}: path must end in .npz or .safetensors; got {path.name!r}.")
    return path


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
    """Write named arrays and a header, uncompressed: numbers hardly compress."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    named: dict[str, Any] = {_HEADER: text, **arrays}
    np.savez(buffer, **named)
    write_atomically(path, buffer.getvalue())


def read(where: str, path: Path) -> tuple[Any, dict[str, Array]]:
    """Read the header and the arrays in a file. Nothing is unpickled."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{where}: path must be a file; {path.name} is a folder, a pipe or a device.")
    try:
        if path.suffix == ".npz":
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as named:
                if sum(entry.file_size for entry in named.zip.infolist()) > path.stat().st_size:
                    raise ValueError("its arrays are packed, and unpacked they may fill the memory")
                arrays = dict(named)
            text = arrays.pop(_HEADER).tobytes()
        else:
            safetensors = _safetensors(f"{where}: {path.name}")
            arrays = safetensors.numpy.load_file(path)
            with safetensors.safe_open(path, "numpy") as opened:
                text = opened.metadata()[_HEADER]
        return json.loads(text), arrays
    except (FileNotFoundError, ImportError):
        raise
    except Exception as error:  # whatever the readers of zip, of .npy and of .safetensors raise at bytes that are none
        must = f"must be a whole {path.suffix} file that gru_lib wrote"
        raise ValueError(f"{where}: {path.name} {must}; it cannot be read: {type(error).__name__}: {error}") from None


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


def brief(header: Any) -> str:
    """A header in one line, for an error message."""
    match header:
        case {"members": dict(members)}:
            return f"{{{', '.join(f'{name}: {brief(member)}' for name, member in members.items())}}}"
        case {"kind": kind, "options": dict(options)}:
            return f"{kind}({', '.join(f'{name}={value!r}' for name, value in options.items())})"
    return "something else"


def _safetensors(where: str) -> Any:
    """The package safetensors, which only these files need."""
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(f'{where} needs safetensors: pip install "gru-lib[safetensors]"') from error
    return safetensors
