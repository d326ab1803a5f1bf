"""Do the tests notice a mistake in the core? ``make mutants`` makes small ones, and runs the tests on each.

A mutant is a module with one change: a sign, a comparison, a number, an axis, a transpose, a function of NumPy's, or a
statement left out. The tests that execute the changed line run on it, the quickest first. If one fails, the mutant is
*killed*; if all pass it *survives*: it is equivalent, or the tests have a hole. Survivors that somebody has looked at
stand in ``tests/mutants.csv``, with the reason; equivalent ones do not count. The score is what is killed of the rest.

``--sample 300`` (the default) takes so many by chance, always the same; ``--all`` takes all; ``--only text`` those
whose module, function or statement has the text; ``--list`` lists them and runs nothing.

No file is changed: each mutant lives in a process of its own, forked from one in which pytest has collected the tests
already. So most take a fraction of a second, and Windows, which cannot fork, runs none.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import os
import random
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import _lru_cache_wrapper, cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "tests" / "mutants.csv"
LAST = ROOT / "_build" / "mutants.json"
REASONS = ("equivalent", "open")  # what a reason begins with

MODULES = ("_core/*", "cells/*", "gates", "ops", "optim", "gradcheck", "jacobian", "scan")
TESTS = (
    "gru", "cell", "checks", "blocks_and_spans", "lstm", "elman", "gates", "ops", "optim", "gradcheck", "params",
    "loop", "types", "signature", "buffers", "products", "scan", "jacobian", "mingru", "scrn", "stack_rnn", "ntm",
    "ablated_gru", "cbow", "bidirectional", "stack", "dropout", "seq2seq", "bad_calls", "train", "io",
)  # fmt: skip
# Of these files, what does not run in this process, or takes long and says nothing that others do not.
LEFT_OUT = ("survives_sigkill", "flipped_bit", "learns_to", "test_types.py", "threads_share")

LEAST = 0.95  # of the mutants that are not equivalent
SAMPLE, SEED = 300, 0
# Seconds of the processor: for what runs beside the tests named after the module, and until a mutant has no end.
OTHERS, PATIENCE = 3.0, 10
ELSEWHERE, NOTHING = 64, 5  # what a process says: the change is in no function; pytest: there is no test

# ------------------------------------------------------------------------------------------------------- the mutants

OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,), ast.MatMult: (ast.Mult,), ast.LShift: (ast.RShift,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
# Methods and functions, of NumPy's most of all, that are taken for each other.
NAMES = {
    "zeros": "ones", "zeros_like": "ones_like", "ones": "zeros", "ones_like": "zeros_like", "sum": "mean",
    "mean": "sum", "max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "argmax": "argmin",
    "any": "all", "all": "any", "exp": "expm1", "log": "log1p", "tanh": "sin", "add": "subtract", "multiply": "divide",
    "sqrt": "square", "cumsum": "cumprod", "concatenate": "stack", "floor": "ceil", "copy": "view", "items": "keys",
    "abs": "real", "isfinite": "isnan", "float64": "float32",
}  # fmt: skip
NAMES_OF_PARTS = {"T"}  # dropped: a.T becomes a


def alternatives(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of a node."""
    for other in OPERATORS.get(type(node), ()):
        yield other()
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1 if isinstance(value, int) else 2 * value)
        case ast.Attribute(value=value, attr=name) if name in NAMES_OF_PARTS:
            yield value
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if name in NAMES:
            yield ast.Attribute(value, NAMES[name], ast.Load())
        case ast.Name(id=name, ctx=ast.Load()) if name in ("max", "min", "any", "all"):
            yield ast.Name(NAMES[name], ast.Load())
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
            yield type(node)(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute() | ast.Tuple(elts=[ast.Subscript(), *_])]):
            yield ast.Pass()


@dataclass(frozen=True)
class Mutant:
    """A module with one node replaced: which one, as steps from the module down, and by which alternative."""

    path: Path
    steps: tuple[tuple[str, int | None], ...]
    choice: int
    function: str
    before: str
    after: str
    lines: range

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is known by in ``tests/mutants.csv``."""
        return str(self.path.relative_to(ROOT).as_posix()), self.function, self.before, self.after

    def __str__(self) -> str:
        return f"{self.key[0]}:{self.lines[0]} {self.function}: {self.before}  ->  {self.after}"


def nodes(node: ast.AST, steps: tuple[Any, ...] = ()) -> Iterator[tuple[ast.AST, tuple[Any, ...]]]:
    """Every node that may be replaced, with the way to it.

    No types, no words of errors, no lists of names, no docstrings, and no `strict` of a zip, which only guards.
    """
    yield node, steps
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "ctx", "bases"):
            continue
        if isinstance(node, ast.Raise) or (isinstance(node, ast.keyword) and node.arg == "strict"):
            continue
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            continue
        if isinstance(value, list):
            for i, each in enumerate(value):
                if isinstance(each, ast.AST):
                    yield from nodes(each, (*steps, (name, i)))
        elif isinstance(value, ast.AST):
            yield from nodes(value, (*steps, (name, None)))


def at(node: Any, steps: Iterable[tuple[str, int | None]]) -> Any:
    """The node that steps lead to."""
    for name, index in steps:
        node = getattr(node, name) if index is None else getattr(node, name)[index]
    return node


def mutated(tree: Any, steps: Sequence[tuple[str, int | None]], choice: int) -> Any:
    """A copy of a tree with the node at `steps` replaced by one of its alternatives."""
    tree = copy.deepcopy(tree)
    new = list(alternatives(at(tree, steps)))[choice]
    if not steps:
        return new
    *way, (name, index) = steps
    if index is None:
        setattr(at(tree, way), name, new)
    else:
        getattr(at(tree, way), name)[index] = new
    return ast.fix_missing_locations(tree)


def head(statement: ast.AST) -> str:
    """A statement in one line, without what stands below it."""
    if hasattr(statement, "body"):
        statement = copy.copy(statement)
        statement.body, statement.orelse, statement.decorator_list = [ast.Pass()], [], []  # type: ignore[attr-defined]
        return ast.unparse(statement).rsplit(":", 1)[0]
    return " ".join(ast.unparse(statement).split())


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a module."""
    tree = ast.parse(path.read_text("utf8"))
    for node, steps in nodes(tree):
        count = len(list(alternatives(node)))
        if not count:
            continue
        above = [at(tree, steps[:n]) for n in range(len(steps) + 1)]
        function = ".".join(each.name for each in above if isinstance(each, ast.FunctionDef | ast.ClassDef))
        depth = max(n for n, each in enumerate(above) if isinstance(each, ast.stmt))
        statement = above[depth]
        last = statement.body[0].lineno - 1 if hasattr(statement, "body") else statement.end_lineno
        lines = range(statement.lineno, max(statement.lineno, last) + 1)
        for choice in range(count):
            after = head(mutated(statement, steps[depth:], choice))
            if after != head(statement):
                yield Mutant(path, steps, choice, function, head(statement), after, lines)


# ---------------------------------------------------------------------------------------------------------- the tests


class Session:
    """A plugin of pytest: the tests run once, recorded, and then on each mutant."""

    def __init__(self, chosen: Sequence[Mutant], out: TextIO) -> None:
        self.chosen, self.out = chosen, out
        self.recorded = stored()
        self.tracer: Any = None
        if self.recorded is None:
            from coverage import Coverage

            self.tracer = Coverage(data_file=None, include=[str(path) for path in modules()], config_file=False)
            self.tracer.start()
        self.seconds: dict[str, float] = {}  # of the processor
        self.start = 0.0
        self.failed = False
        self.score = 0.0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Called by pytest."""
        items[:] = [item for item in items if not any(word in item.nodeid for word in LEFT_OUT)]

    def pytest_runtest_setup(self, item: Any) -> None:
        """Called by pytest."""
        if self.tracer is not None:
            if sys.gettrace() is None:  # a test has set another trace, and taken it away
                self.tracer.stop()
                self.tracer.start()
            self.tracer.switch_context(item.nodeid)
        self.start = time.process_time()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest."""
        self.seconds[report.nodeid] = time.process_time() - self.start
        if report.failed:
            self.failed = True
            print(report.longreprtext, file=self.out, flush=True)

    def pytest_runtestloop(self, session: Any) -> bool:
        """Called by pytest, once it has collected the tests."""
        items = {item.nodeid: item for item in session.items}
        if self.tracer is not None:
            run_items(session.items)
            self.tracer.stop()
            if self.failed:
                return True
            self.recorded, self.tracer = store(self.seconds, self.tracer.get_data()), None
        assert self.recorded is not None
        self.score = report(self.chosen, self.recorded, items, self.out)
        return True


def run_items(items: Sequence[Any]) -> None:
    """Run tests that pytest has collected."""
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


class Chosen:
    """A plugin of pytest: these tests, in this order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.place = {test: n for n, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Called by pytest."""
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda i: self.place[i.nodeid])


def run_pytest(tests: Iterable[str], plugin: object) -> int:
    """Run the tests of these files in this process."""
    import pytest

    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests], plugins=[plugin]))


def files_of_tests() -> list[str]:
    """The files with the core's tests."""
    return [f"tests/test_{name}.py" for name in TESTS]


def own_tests(path: Path) -> list[str]:
    """The files of tests that are named after a module; for passes over sequences also what cuts and compares them."""
    name = path.stem.removeprefix("_").removesuffix("_pass")
    more = ["blocks_and_spans"] if "pass" in path.stem else ["cell"] if path.stem == "registry" else []
    return [f"tests/test_{each}.py" for each in (name, *more)]


def digest() -> str:
    """A hash of the library, its tests and this script."""
    sources = sorted([*(ROOT / "gru_lib").rglob("*.py"), *(ROOT / "tests").glob("*.py"), Path(__file__)])
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def stored() -> dict[str, Any] | None:
    """What was recorded the last time, unless a file has changed since."""
    found = json.loads(LAST.read_text("utf8")) if LAST.is_file() else {}
    return found if found.get("digest") == digest() else None


def store(seconds: dict[str, float], data: Any) -> dict[str, Any]:
    """Keep what was recorded: the seconds of each test, and of each line its tests; "" stands for the import."""
    lines = {
        str(Path(file).relative_to(ROOT).as_posix()): {
            str(line): list(tests) for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    found = {"digest": digest(), "seconds": seconds, "lines": lines}
    LAST.parent.mkdir(exist_ok=True)
    LAST.write_text(json.dumps(found), "utf8")
    return found


def tests_of(mutant: Mutant, recorded: dict[str, Any]) -> list[str]:
    """The tests that execute the changed line: those of the module, then the quickest of the others.

    Of a line that runs when the module is imported, those that execute any line of the module.
    """
    lines, seconds = recorded["lines"].get(mutant.key[0], {}), recorded["seconds"]
    tests = {test for line in mutant.lines for test in lines.get(str(line), ())}
    if tests == {""}:
        tests = {test for of_line in lines.values() for test in of_line}
    quick = sorted(tests - {""}, key=seconds.__getitem__)
    own = [test for test in quick if test.partition("::")[0] in own_tests(mutant.path)]
    chosen, left = list(own), OTHERS
    for test in quick:
        left -= seconds[test]
        if left < 0:
            break
        if test not in own:
            chosen.append(test)
    return chosen


# ------------------------------------------------------------------------------------------------ a mutant in a process


class Finder(importlib.abc.MetaPathFinder):
    """Lets one module be imported from other code."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return code

        self.name, self.path, self.loader = name, path, Loader(name, str(path))

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Called by import."""
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self.loader)


def forget() -> None:
    """Let the library, the tests and what they share be imported again."""
    ours = (str(ROOT / "gru_lib"), str(ROOT / "tests"), str(ROOT / "conftest.py"))
    for name, module in list(sys.modules.items()):
        if name != "__main__" and str(getattr(module, "__file__", None) or "").startswith(ours):
            del sys.modules[name]


def in_a_fork(work: Callable[[], int], seconds: float) -> int | None:
    """What `work` returns in a process of its own; None if it takes more of the processor, or ten minutes."""
    process = os.fork()
    if not process:
        import resource

        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            code = work()
        finally:
            os._exit(code)
    end = time.monotonic() + 600
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of every function of a module."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from codes(const)


@cache
def live(kind: type) -> list[Any]:
    """The functions of the library that are there, of a kind."""
    found = (each for each in gc.get_objects() if isinstance(each, kind))
    return [each for each in found if str(each.__module__).startswith("gru_lib")]


def exchange(code: CodeType) -> bool:
    """Give the functions that are there the code of a mutant, and say whether all of the change is in them."""
    before = codes(compile(Path(code.co_filename).read_text("utf8"), code.co_filename, "exec"))
    old = {(each.co_qualname, each.co_firstlineno): each for each in before}
    new = {(each.co_qualname, each.co_firstlineno): each for each in codes(code)}
    changed = {key: each for key, each in new.items() if each != old.get(key)}
    there = defaultdict(list)
    for each in live(FunctionType):
        if each.__code__.co_filename == code.co_filename:
            there[each.__code__.co_qualname, each.__code__.co_firstlineno].append(each)
    for key, with_change in changed.items():
        for function in there[key]:
            if function.__code__.co_freevars != with_change.co_freevars:
                return False
            function.__code__ = with_change
    for each in live(_lru_cache_wrapper):  # what was computed before is forgotten
        each.cache_clear()
    getattr(sys.modules["gru_lib"], "release_buffers", int)()
    return any(there[key] for key in changed) and set(new) == set(old)


def killed(mutant: Mutant, tests: Sequence[str], items: dict[str, Any], seconds: float) -> bool:
    """Whether one of the tests fails on the mutant, or has no end.

    The functions that are there get the mutant's code, which is quick. If the change is elsewhere, the library and the
    tests are imported anew.
    """
    name = ".".join(mutant.path.relative_to(ROOT).with_suffix("").parts)
    tree = mutated(ast.parse(mutant.path.read_text("utf8")), mutant.steps, mutant.choice)
    code = compile(tree, str(mutant.path), "exec")

    def exchanged() -> int:
        class Fails:
            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.failed:
                    os._exit(1)

        if not exchange(code):
            return ELSEWHERE
        chosen = [items[test] for test in tests]
        plugins = chosen[0].config.pluginmanager
        plugins.unregister(name="terminalreporter")  # it writes past what was redirected
        plugins.register(Fails())
        run_items(chosen)
        return 0

    def imported() -> int:
        forget()
        sys.meta_path.insert(0, Finder(name, mutant.path, code))
        return run_pytest(dict.fromkeys(test.partition("::")[0] for test in tests), Chosen(tests))

    result = in_a_fork(exchanged, PATIENCE + 5 * seconds) if mutant.function else ELSEWHERE
    if result == ELSEWHERE:
        result = in_a_fork(imported, PATIENCE + 5 * seconds)
        if result == NOTHING:
            raise RuntimeError(f"no test was found for {mutant}")
    return result != 0


# ---------------------------------------------------------------------------------------------------------- the report


def listed() -> dict[tuple[str, ...], str]:
    """The survivors that were looked at: the reason of each."""
    with LISTED.open(encoding="utf8", newline="") as file:
        return {
            (row["module"], row["function"], row["before"], row["after"]): row["reason"] for row in csv.DictReader(file)
        }


def modules() -> list[Path]:
    """The files of the core."""
    return sorted(path for pattern in MODULES for path in (ROOT / "gru_lib").glob(f"{pattern}.py"))


def choose(every: Sequence[Mutant], sample: int | None, only: str) -> list[Mutant]:
    """The mutants to run, in the order of the files."""
    if only:
        return [m for m in every if only in str(m)]
    if sample is None or sample >= len(every):
        return list(every)
    taken = random.Random(SEED).sample(range(len(every)), sample)
    return [every[i] for i in sorted(taken)]


def report(chosen: Sequence[Mutant], recorded: dict[str, Any], items: dict[str, Any], out: TextIO) -> float:
    """Run the mutants, print those that survive, and return the score."""
    known, counts, start = listed(), dict.fromkeys(("killed", "survived", *REASONS), 0), time.monotonic()
    print(file=out)  # pytest's dots end here
    live(FunctionType), live(_lru_cache_wrapper)  # once for all forks
    gc.freeze()
    for mutant in chosen:
        tests = tests_of(mutant, recorded)
        reason = known.get(mutant.key, "")
        dead = bool(tests) and killed(mutant, tests, items, sum(recorded["seconds"][test] for test in tests))
        what = "killed" if dead else reason.partition(":")[0] or "survived"
        counts[what] += 1
        if dead and reason:
            print(f"listed, but killed: {mutant}", file=out, flush=True)
        elif what == "survived":
            print(f"survived {len(tests)} tests: {mutant}", file=out, flush=True)
    score = counts["killed"] / max(len(chosen) - counts["equivalent"], 1)
    print(
        f"{len(chosen)} mutants in {time.monotonic() - start:.0f} s: {counts['killed']} killed,"
        f" {counts['equivalent']} equivalent, {counts['open'] + counts['survived']} others."
        f" {100 * score:.1f} % of those that are not equivalent are killed.",
        file=out,
        flush=True,
    )
    return score


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants and print the score; 1 if it is too low."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"how many, taken by chance; {SAMPLE} unless told")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--only", default="", help="those whose module, function or statement has this text")
    parser.add_argument("--list", action="store_true", help="list them, run nothing")
    asked = parser.parse_args(arguments)
    every = [mutant for path in modules() for mutant in mutants(path)]
    chosen = choose(every, None if asked.all else asked.sample, asked.only)
    if asked.list:
        print(*chosen, f"{len(chosen)} of {len(every)} mutants", sep="\n")
        return 0
    if not hasattr(os, "fork"):
        sys.exit("Mutants need a system that can fork: Linux or macOS.")
    os.nice(15)
    os.chdir(ROOT)
    with os.fdopen(os.dup(1), "w") as out:  # pytest takes the other
        print(f"{len(chosen)} of {len(every)} mutants.", file=out, flush=True)
        session = Session(chosen, out)
        run_pytest(files_of_tests(), session)
    if session.failed:
        sys.exit("The tests must pass before anything is changed.")
    return int(session.score < LEAST)


if __name__ == "__main__":
    sys.exit(main())
