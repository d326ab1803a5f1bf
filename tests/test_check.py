"""The checker: a right answer passes, and each mistake gets its own name."""

import ast
import functools
import inspect
import io
import json
import linecache
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from check_answers import ANSWERS, PLANTED
from check_answers import VARIANTS as IN_VARIANTS
from check_answers.values import as_printed, spellings

from gru_book import check
from gru_book.cells import stack_rnn_init
from gru_book.check.engine import EXERCISES, run
from gru_book.check.values import VALUES, Values, wanted
from gru_lib import (
    LSTMState,
    bce_with_logits,
    elman_forward,
    elman_init,
    gru_forward,
    gru_init,
    gru_step,
    gru_step_backward,
    lstm_forward,
    lstm_step,
    lstm_step_backward,
    sigmoid,
)
from gru_lib.decode import beam_search, greedy

ROOT = Path(__file__).resolve().parents[1]

VARIANTS = [
    {"convention": convention, "reset_after": after, "bias": bias}
    for convention in ("keep", "write")
    for after in (False, True)
    for bias in (False, True)
]
SET = [(name, {}) for name in EXERCISES if not name.startswith("gru")]
SET += [(name, options) for name in EXERCISES if name.startswith("gru") for options in VARIANTS]
SET += [("gru_forward", options | {"lengths": True}) for options in VARIANTS]

ODD = [
    (), [], {}, "text", [[1], [2, 3]], object(), 1, 1j, np.nan, (None,) * 3, ("a", [[1], [2, 3]], {}), np.array(["a"]),
    np.zeros(0),
]  # fmt: skip


def program(source):
    """Run the source and return its f. Registering the lines lets a traceback quote them, as in a notebook."""
    space = {"np": np, "sigmoid": sigmoid, "gru_step": gru_step, "gru_step_backward": gru_step_backward}
    space |= {"beam_search": beam_search, "greedy": greedy, "gru_init": gru_init, "elman_init": elman_init}
    space |= {"stack_rnn_init": stack_rnn_init}
    space |= {"elman_forward": elman_forward, "lstm_forward": lstm_forward, "LSTMState": LSTMState}
    linecache.cache["<answer>"] = (len(source), None, source.splitlines(keepends=True), "<answer>")
    exec(compile(source, "<answer>", "exec"), space)
    return space["f"]


def replaced(answer, old, new):
    """The text of an answer with a piece replaced: a literal piece, or after ~ a regular expression."""
    if old.startswith("~"):
        text, count = re.subn(old[1:], new, answer, flags=re.MULTILINE)
    else:
        text, count = answer.replace(old, new), answer.count(old)
    assert count, "the text to replace is not in the answer"
    return text


def planted(name, old, new):
    """The answer with that piece replaced."""
    return program(replaced(ANSWERS[name], old, new))


@functools.cache
def answered(name, old, new):
    """What the checker says of a planted mistake."""
    return getattr(check, name)(planted(name, old, new))


def test_every_exercise_is_offered_and_has_an_answer_and_wrong_ones():
    assert set(EXERCISES) == set(ANSWERS) == {name for name, *_ in PLANTED}
    assert set(EXERCISES) | set(VALUES) == set(check.__all__) - {"Result"}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_right_answer_passes(name):
    result = getattr(check, name)(program(ANSWERS[name]))
    assert result.ok and bool(result)
    shown = EXERCISES[name]().shown or "does what the equations say"
    assert repr(result).startswith(f"Right: f {shown}")


@pytest.mark.parametrize(("name", "old", "new", "message"), PLANTED)
def test_a_planted_mistake_is_named(name, old, new, message):
    result = answered(name, old, new)
    assert not result.ok and not result
    assert re.search(message, repr(result)), repr(result)
    assert "\n" not in repr(result)


def test_every_planted_mistake_of_an_exercise_gets_another_message():
    seen = {}
    for name, old, new, _ in PLANTED:
        message = answered(name, old, new).message
        assert message not in seen.setdefault(name, set()), message
        seen[name].add(message)
    assert sum(map(len, seen.values())) == len(PLANTED) > 400
    # And every mistake that is listed is planted. Those of a step are planted in the step; a loop inherits them.
    inherit = {"gru_forward": "gru_step", "gru_backward": "gru_step_backward"}
    for name, build in EXERCISES.items():
        found = seen[name] | seen.get(inherit.get(name), set())
        assert [message for message, _ in build().mistakes() if message not in found] == [], name


@pytest.mark.parametrize(
    ("variant", "old", "new", "message"), [(of, *slip) for of, (_, slips) in IN_VARIANTS.items() for slip in slips]
)
def test_mistakes_in_a_variant_are_named(variant, old, new, message):
    (name, options), (answer, _) = variant, IN_VARIANTS[variant]
    asked = eval(f"dict({options})")
    assert getattr(check, name)(program(answer), **asked).ok
    assert re.search(message, repr(getattr(check, name)(program(replaced(answer, old, new)), **asked)))


@pytest.mark.parametrize(("name", "options"), SET)
def test_every_listed_mistake_is_named_when_its_outputs_come_back(name, options):
    exercise = EXERCISES[name](**options)
    listed = list(exercise.mistakes())
    assert listed
    exercise = replace(exercise, flatten=None, mistakes=lambda: listed)
    outer = [label for label in exercise.right if label.removeprefix("d") not in exercise.grads]
    for message, outputs in listed:
        grads = [{grad: outputs[f"d{grad}"] for grad in exercise.grads}] if exercise.grads else []
        back = (*(outputs[label] for label in outer), *grads)
        assert run(exercise, lambda *_, back=back, **__: back).message == message


@functools.cache
def in_solutions():
    """What the solutions of the pages print of the checker, by the name of the check."""
    printed = {}
    for path in (ROOT / "book").glob("*.ipynb"):
        for cell in json.loads(path.read_text("utf8"))["cells"]:
            for name in re.findall(r"\bcheck\.(\w+)\(", "".join(cell["source"]) if cell["cell_type"] == "code" else ""):
                outputs = ("".join(o.get("text", o.get("data", {}).get("text/plain", ""))) for o in cell["outputs"])
                printed[name] = printed.get(name, "") + "".join(outputs)
    return printed


@pytest.mark.parametrize("name", VALUES)
def test_the_numbers_of_the_solution_pass(name):
    """nbval executes the solution."""
    assert re.search("^Right: ", in_solutions()[name], re.M)


@pytest.mark.parametrize("name", VALUES)
def test_what_the_page_prints_is_right_in_every_spelling(name):
    task = VALUES[name]()
    given = {label: as_printed(name, v) if np.asarray(v).dtype.kind in "biuf" else v for label, v in task.right.items()}
    for label, value in given.items():
        for spelled in spellings(value, whole=label in task.exact):
            result = getattr(check, name)(*(given | {label: spelled}).values())
            assert result.ok, (label, spelled, result)


def test_numbers_to_one_decimal_place_are_right_as_a_table_prints_them_and_not_beyond_it():
    task = Values({"std": [2.414, 0.2883, 0.0283], "a": 0.0233, "b": 2.3285})
    assert task.printed({"std": np.array([2.41, 0.29, 0.03])}, ["std"])
    assert task.printed({"a": 0.02, "b": 2.33}, ["a", "b"])
    for wrong in ([2.41, 0.29, 0.02], [2.4, 0.3, 0], [2.42, 0.29, 0.03], [2, 0, 0]):
        assert not task.printed({"std": np.array(wrong)}, ["std"]), wrong
    assert not task.printed({"a": 0.03, "b": 2.33}, ["a", "b"]) and not task.printed({"a": 0.02}, ["a"])
    assert not Values({"n": [120, 3]}, exact=("n",)).printed({"n": np.array([120, 3])}, ["n"])
    masked = Values({"v": [2.414, 0.0283]}, [("v", [2.41, 0.03], "that is the slip.")])
    assert not masked.printed({"v": np.array([2.41, 0.03])}, ["v"])


@pytest.mark.parametrize(("name", "given"), [
    ("bug_mystery", ("1/3", "dx", "w_hz")),
    *(("bug_mystery", (1 / 3, "dx", name)) for name in ("W_hz", "dW_hz", "g.W_hz")),
    ("gate_hand", ("6 4.5 4.5", ["3/8", "3/8", "¼", "0"])),
    ("lm_start", ("4.1109, 5.9307",)),
    ("mem_trace", ("010000", "1 1 1 0 1 1", [[1, 1, -1, -1, 1, -1]])),
    *(("s2s_product", (P, "(4 ln 2)/4")) for P in ("-4 ln 2", "-ln 16")),
    ("s2s_product", ("-4 ln 2, ln 2",)),
    ("s2s_product", ("-4 ln 2", "1/4 ln 16")),
    ("s2s_mean", ("ln 2", "5/8 ln 2", "5/8")),
    ("lm_start", ("ln 61", "log2(61)")),
    ("att_hand", ("1/7, 2/7, 4/7", "2/7 ln 2, 4/7 ln 4")),
    ("att_hand", ("1/7, 2/7, 4/7", ["2/7 ln 2", "8/7 ln 2"])),
])  # fmt: skip
def test_numbers_typed_as_a_text_are_read(name, given):
    assert getattr(check, name)(*given).ok, getattr(check, name)(*given)


def test_a_logarithm_typed_as_a_text_is_read_in_every_spelling():
    few = ("-4 ln 2", "−4 ln 2", "-4·ln 2", "-4ln2", "-4 log 2", "-4*log(2)", "- 4 * np.log(2)", "-4 \\ln 2")
    more = ("-(4 ln 2)", "−ln 16", "-ln(16)", "ln 1/16", "ln(1/16)", "ln ½ + ln ¼ + ln ½", "-log 2^4", "-4 ln 2.0")
    for log_p in few + more:
        assert check.s2s_product(log_p, "ln 2").ok, log_p


def test_a_text_that_is_no_number_is_refused_and_a_wrong_one_named():
    for text in ("", "-4 ln", "minus four", "ln(", "-4 ln 0", "4 ln 2 2..3", "__import__('os')", "1/0"):
        assert not check.s2s_product(text, "ln 2").ok, text
    assert check.s2s_product("-4 log2 2", "ln 2").message.startswith("log_P: those are bits")
    assert check.s2s_product("4 ln 2", "ln 2").message.startswith("log_P has the wrong sign")


@pytest.mark.parametrize("name", VALUES)
def test_every_listed_slip_in_a_number_is_named_and_no_two_alike(name):
    task, seen = VALUES[name](), set()
    for label, value, message in task.slips:
        result = getattr(check, name)(*(task.right | {label: value}).values())
        of_several = f"{label}: " if len(task.right) > 1 else ""
        assert not result.ok and result.message.startswith(of_several + message), result
        assert (label, message) not in seen
        seen.add((label, message))


#: Where an answer is drawn, or rounded on the way to it, it may be off by more: hence by how much at most.
ROUGH = {"other_sharp": 0.02, "lstm_biases": 0.012}


@pytest.mark.parametrize("name", VALUES)
def test_a_number_that_is_off_by_more_than_its_rounding_is_refused(name):
    """Of three digits, half of the last is at most five parts in a thousand."""
    task = VALUES[name]()
    numbers = {label: value for label, value in task.right.items() if np.asarray(value).dtype.kind in "if"}
    for label, value in numbers.items():
        off = 2.1 * ROUGH.get(name, 5e-3)
        for factor in (1 + off, 1 / (1 + off)):
            wrong = np.multiply(value, factor)
            if np.asarray(value).any():
                assert not task.fits(label, wrong.tolist() if np.ndim(wrong) else float(wrong), value), (label, wrong)


@pytest.mark.parametrize("name", VALUES)
def test_whatever_is_given_for_a_number_the_checker_answers(name):
    count = len(VALUES[name]().right)
    for value in (*ODD[:7], 1j, np.nan, None, ..., sigmoid, np.array(["a"])):
        result = getattr(check, name)(*[value] * count)
        assert not result.ok and result.message and "\n" not in result.message
        assert result.blank == (value is None or value is ...)


@pytest.mark.parametrize(("name", "given", "said"), [
    ("gru_second", (..., ...), "my_r and my_z are still `...`. Put your answers there."),
    ("gru_second", (0.8, ...), "my_z is still `...`. Put your answer there."),
    ("gru_second", ([0.8, 0.5], 0.5), "my_r must be a number, such as 0.617; got a list of 2."),
    ("gru_second", ("x", 0.5), "my_r must be a number, such as 0.617; got the text 'x'."),
    ("gru_second", (sigmoid, 0.5), "my_r must be a number, such as 0.617; got a function."),
    ("bwd_open", (3, [1, 2], 4), "at_z must be numbers in any order, such as [7, 8]; got a number."),
    ("bwd_open", ([[3], [4]], [1, 2], 4), "at_z must be numbers in any order, such as [7, 8]; got a list of 2."),
    ("gate_hand", (6, [1, 2, 3, 4]), "my_h must be a list of 3 numbers; got a number."),
    ("other_pile", ([1, 2], [1]), "my_strengths must be a list of 3 lists of 3 numbers each; got a list of 2."),
    ("beam_hand", (1, "ba", "x"), 'by_greedy must be a text in quotes, such as "two words"; got a number.'),
    ("hwy_line", (sigmoid,), 'digits must be a set, such as {"x", "y"}; got a function.'),
    ("bug_mystery", (0.33, "dx", "W_hz"), "factor: 0.33 is rounded to two digits: which count of the check has this "
     "reciprocal? Right: B and C."),
    # Only a share is in per cent, and no logarithm is a whole number.
    ("gate_drift", (74.16,), "best_z is in per cent; give the share."),
    ("sub_steep", (800,), "smallest_K is wrong: 800 is too large."),
    ("hwy_explode", (600,), "weight is wrong: 600 is too large."),
    ("hwy_explode", (5.99,), "weight is wrong: 5.99 is too small."),
    ("scan_three", (173.1234,), "angle is too large by 1 / ln 2. The natural logarithm, or another?"),
    ("scan_three", (83.1777,), "angle is too small by ln 2. The natural logarithm, or another?"),
    ("scan_three", (52.1153,), "angle is too small by ln 10. The natural logarithm, or another?"),
    ("hwy_explode", (0.1667,), "weight is the reciprocal of what it should be."),
    ("hwy_explode", (0,), "weight is wrong: 0 is too small."),
])  # fmt: skip
def test_a_value_that_is_missing_of_another_kind_or_off_by_a_factor_is_told_so(name, given, said):
    assert getattr(check, name)(*given).message == said


@pytest.mark.parametrize(
    "digits",
    ["3 6 1 2", "3612", "3, 6, 1, 2", "1 2 3 6", 1236, [3, 6, 1, 2], ["3", "6", "1", "2"], {1, 2, 3, 6}, set("1236")],
)
def test_words_may_stand_with_spaces_or_commas_and_single_letters_without(digits):
    assert check.hwy_line(digits)


def test_an_example_of_what_is_wanted_is_no_answer():
    for name, build in VALUES.items():
        for label, right in build().right.items():
            shown = re.search(r"such as (.*)", wanted(right))
            assert not (shown and build().fits(label, ast.literal_eval(shown[1]), right)), (name, label)


ADDED_UP = "def f(hs, das):\n    dW = np.zeros((hs.shape[2], das.shape[2]))\n    for h, da in zip(hs, das):\n        "


@pytest.mark.parametrize("product", [
    "h.T @ da", "np.dot(h.T, da)", "np.einsum('nh,nk->hk', h, da)", "np.asarray(h).T @ np.asarray(da)",
    "np.tensordot(h, da, axes=(0, 0))",
])  # fmt: skip
def test_a_sum_of_products_is_not_a_single_one_however_the_steps_are_multiplied(product):
    summed = f"def f(hs, das):\n    return sum({product} for h, da in zip(hs, das))"
    for text in (summed, f"{ADDED_UP}dW += {product}\n    return dW", f"{ADDED_UP}dW = dW + {product}\n    return dW"):
        assert check.fast_sum(program(text)).message.startswith("right, but by several products")
    for text in ("(hs.transpose(0, 2, 1) @ das).sum(axis=0)", "sum(hs[:, n].T @ das[:, n] for n in range(len(hs[0])))"):
        assert not check.fast_sum(program(f"def f(hs, das):\n    return {text}")).ok


@pytest.mark.parametrize("product", [
    "np.dot(X.T, A)", "np.matmul(X.T, A)", "np.asarray(X).T @ np.asarray(A)", "(A.T @ X).T", "np.inner(X.T, A.T)",
    "np.einsum('tnh,tnk->hk', hs, das)", "np.tensordot(hs, das, axes=((0, 1), (0, 1)))",
    "np.vstack([h for h in hs]).T @ np.concatenate(list(das))",
    "hs.transpose(1, 0, 2).reshape(X.shape).T @ das.transpose(1, 0, 2).reshape(A.shape)",
])  # fmt: skip
def test_a_single_product_passes_in_every_spelling(product):
    head = "def f(hs, das):\n    X, A = hs.reshape(-1, hs.shape[2]), das.reshape(-1, das.shape[2])\n    "
    assert check.fast_sum(program(f"{head}return {product}")).ok
    assert check.fast_sum(program(f"{head}dW = np.zeros((4, 12))\n    dW += {product}\n    return dW")).ok


def test_verdicts_name_the_readers_function():
    assert repr(check.gru_step(gru_step)) == "Right: gru_step does what the equations say, in all 12 numbers."
    assert check.sigmoid(lambda a: sigmoid(a)).message.startswith("your function does what the equations say")
    assert check.sigmoid(lambda a: a.nothing).message.startswith("your function stopped with AttributeError")
    for f in (None, ...):
        assert check.sigmoid(f).blank


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_message_can_be_printed_in_every_encoding(encoding, monkeypatch):
    """A script's output may go to a file; in UTF-8 it is as it was."""
    every = [message for name in EXERCISES for message, _ in EXERCISES[name]().mistakes()]
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", out)
    for message in every:
        print(check.Result(False, message))
    out.flush()
    printed = out.buffer.getvalue().decode(encoding)
    monkeypatch.undo()
    assert printed.count("\n") == len(every) and "\\N{" not in printed
    assert "da_z lacks the slope of sigma: z * (1 - z)." in printed
    assert str(check.Result(False, "σ")) == "Not yet: σ"


@pytest.mark.parametrize("name", EXERCISES)
def test_a_docstring_says_the_arguments_and_the_shapes(name):
    """One letter is one size, in what is given and in what is wanted."""
    task = EXERCISES[name]()
    _, given, *_ = inspect.getdoc(EXERCISES[name]).split("\n\n")
    assert given.startswith(("Given ", "Return "))
    arrays = {label: a.shape for label, a in (task.right | task.args).items() if isinstance(a, np.ndarray) and a.ndim}
    said = re.findall(r"(\w+) \(([^()]*)\)", given)
    sizes = {}
    for label, shape in said:
        if label in arrays:
            dims = [d.strip() for d in shape.split(",") if d.strip()]
            assert len(dims) == len(arrays[label]), (label, shape)
            for dim, size in zip(dims, arrays[label], strict=True):
                if dim.isidentifier():
                    assert sizes.setdefault(dim, size) == size, (label, dim)
    for label, shape in said:
        if label in arrays:
            dims = [re.sub(r"(\d)([A-Z])", r"\1*\2", d.strip()) for d in shape.split(",") if d.strip()]
            assert tuple(eval(d, {}, sizes) for d in dims) == arrays[label], (label, shape)


@pytest.mark.parametrize("body", ["return None", "return ...", "raise NotImplementedError", "pass"])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_blank_stub_gets_a_kind_sentence(name, body):
    result = getattr(check, name)(program(f"def f(*args, **kwargs):\n    {body}\n"))
    assert not result.ok
    assert result.blank and result.message == "f is still blank. Put your lines in place of `...`."


@pytest.mark.parametrize(("line", "said"), [
    ("np.tanh(x @ p['W_x'])", "`p.W_x`, not `p['W_x']`"),
    ('x @ {"x": p.W_x}["x"] + h_prev @ p["W_h"]', "`p.W_h`, not `p['W_h']`"),
    ("(q := p) and x @ q['W_x']", "`q.W_x`, not `q['W_x']`"),
    ("p['no such'] + p[0]", "`p.W`, not `p['W']`"),
])  # fmt: skip
def test_parameters_taken_for_a_dictionary_are_explained(line, said):
    message = check.elman_step(program(f"def f(x, h_prev, p):\n    return {line}\n")).message
    assert message.endswith(f"is not subscriptable. Parameters are attributes: {said}.")


@pytest.mark.parametrize(("old", "new", "message"), [
    ("da @ p.W_x.T,", "(da @ p.W_x.T).sum(axis=1),", r"dx must have shape \(3, 2\); it has \(3,\)\.$"),
    ("da @ p.W_x.T,", "np.array([da @ p.W_x.T] * 3),", r"dx must have shape \(3, 2\); it has \(3, 3, 2\)\.$"),
    ("da @ p.W_x.T,", "da @ p.W_x.T / 3,", r"^dx is 0\.333333 times what it should be\. Right: dh_prev, dW_x"),
])  # fmt: skip
def test_hints_about_sums_over_the_batch_are_for_the_gradients_of_parameters_alone(old, new, message):
    assert re.search(message, check.elman_step_backward(planted("elman_step_backward", old, new)).message)


def test_an_overflow_that_raises_is_named():
    source = "def f(a):\n    with np.errstate(over='raise'):\n        return 1 / (1 + np.exp(-a))\n"
    said = check.sigmoid(program(source)).message
    assert said == (
        "σ(−1000) and σ(1000) must be 0 and 1; f stopped with FloatingPointError"
        " in the line `return 1 / (1 + np.exp(-a))`: overflow encountered in exp."
    )


@pytest.mark.parametrize(("name", "old", "new"), [
    ("carried", "return last, since", "return last, since.astype(int)"),
    ("carried", "return last, since", "return list(last), [int(k) for k in since]"),
    ("gru_forward", "np.array(hs), h", "np.array(hs, float), np.array(h, float)"),
    ("gru_step_backward", "dx, dh_prev, g", "dx.astype(np.float64), dh_prev, {k: list(a) for k, a in g.items()}"),
])  # fmt: skip
def test_whole_numbers_lists_and_float64_are_right_where_no_type_is_asked_for(name, old, new):
    f = planted(name, old, new)
    assert getattr(check, name)(f).ok, getattr(check, name)(f)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_right_answer_in_float32_is_right(name):
    f = program(ANSWERS[name])

    def rounded(value):
        if isinstance(value, dict):
            return {key: rounded(each) for key, each in value.items()}
        if isinstance(value, list) or type(value) is tuple:
            return type(value)(map(rounded, value))
        return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype == np.float64 else value

    assert getattr(check, name)(lambda *args, **options: rounded(f(*args, **options))).ok


def test_clipping_as_pytorch_does_it_is_right():
    """It adds 1e-6 to the norm."""
    for new in ("min(1, max_norm / (norm + 1e-6))", "float(np.clip(max_norm / (norm + 1e-6), None, 1.0))"):
        assert check.clip(planted("clip", "~min.*", new)).ok
    assert not check.clip(planted("clip", "~min.*", "min(1, max_norm / (norm + 1e-3))")).ok


def test_no_exercise_asks_for_a_function_of_some_type():
    for file, label, body, names, _ in asked_in_the_book():
        assert set(names) <= set(VALUES) or not re.search(r"float32|dtype", body), f"{file}: {label}"


def test_gradients_in_parameters_of_another_kind_are_named():
    p = elman_init(np.random.default_rng(0), 2, 4)
    said = check.gru_step_backward(lambda dh, cache, _: (cache.x, dh, p)).message
    assert said.startswith("grads must be made by p.zeros_like(); this ElmanParams has no W_xr, W_xz, W_xn")


def test_numbers_may_come_as_one_list_or_each_in_a_list():
    nats, bits = np.log(61), np.log2(61)
    assert check.lm_start([nats, bits]).ok and check.lm_start((nats, bits)).ok
    assert check.lm_start([nats], np.array([[bits]])).ok
    assert check.lm_start(nats).message == "give first_nats and first_bits, in this order; got 1 of 2."
    assert check.gate_drift([0.7416]).ok
    for value in (10**400, Refuses()):
        assert check.gate_drift(value).message.startswith("best_z must be a number, such as 0.617; got ")


class Refuses:
    """As a tensor that requires a gradient."""

    def __array__(self, *_, **__):
        raise RuntimeError("call detach first")


@pytest.mark.parametrize("s", [Refuses(), [[1], [2, 3]], "text"])
def test_what_is_no_array_is_named(s):
    assert check.sigmoid(lambda a: s).message.startswith("s must be an array of numbers; got ")


def test_a_call_in_place_of_the_function_is_explained():
    assert "give the function itself" in check.sigmoid(np.zeros(3)).message


def library_lstm_step_backward(dstate, cache, p):
    """The library's function, given the cache of its own forward step."""
    return lstm_step_backward(dstate, lstm_step(cache.x, LSTMState(cache.h_prev, cache.c_prev), p)[1], p)


@pytest.mark.parametrize("options", VARIANTS)
def test_the_oracle_agrees_with_the_library_in_every_variant(options):
    """Two programs written apart, one with loops and one with matrices, give the same numbers."""
    for result in (
        check.gru_step(gru_step, **options),
        check.gru_step_backward(gru_step_backward, **options),
        check.gru_forward(gru_forward, **options),
        check.gru_forward(gru_forward, lengths=True, **options),
        check.gru_backward(program(ANSWERS["gru_backward"]), **options),
        check.lstm_step(lstm_step),
        check.lstm_step_backward(library_lstm_step_backward),
        check.bce(bce_with_logits),
        check.sigmoid(sigmoid),
    ):
        assert result.ok, result


def test_the_variant_asked_for_is_the_variant_checked():
    answer = program(ANSWERS["gru_step"])
    assert "z and 1 − z" in check.gru_step(answer, convention="write").message
    assert "acts before the product" in check.gru_step(answer, reset_after=True).message
    with pytest.raises(ValueError, match=r"check\.gru_step: convention must be one of"):
        check.gru_step(gru_step, convention="both")


def test_nan_in_padding_is_named():
    wrong = (
        ANSWERS["gru_forward"]
        .replace("np.where(real, xs[t], 0)", "xs[t]")
        .replace("np.where(real, new, h)", "real * new + (1 - real) * h")
        .replace("np.where(real, h, 0)", "real * h")
    )
    assert "NaN in the padding reaches the result" in check.gru_forward(program(wrong), lengths=True).message


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_comes_back_the_checker_answers(name):
    others = [gru_init(np.random.default_rng(0), 1, 1, bias=False)]
    for value in [*ODD, *((a, a, b) for a in (np.zeros((3, 2)), None) for b in (*others, {}, 3))]:
        result = getattr(check, name)(lambda *_, value=value, **__: value)
        assert not result.ok and result.message and "\n" not in result.message


def asked_in_the_book():
    """Of each exercise that names a check: the file, the label, the text, the checks, and the solution."""
    for file in sorted((Path(__file__).parents[1] / "book_text").glob("[0-9]*.md")):
        text = file.read_text(encoding="utf-8")
        for label, body in re.findall(r"```\{exercise\}[^\n]*\n:label: (\S+)\n(.*?)\n```\n", text, re.DOTALL):
            if "`check." in body:
                solution = re.search(rf"```{{solution-start}} {label}\n.*?```{{solution-end}}", text, re.DOTALL)
                yield file.name, label, body, re.findall(r"`check\.(\w+)", body), solution and solution[0]


def test_exercises_show_the_call_of_their_check_and_solutions_make_it():
    asked = set()
    for file, label, body, names, solution in asked_in_the_book():
        assert solution, f"{file}: {label}"
        for name in names:
            assert f"check.{name}(" in solution, f"{file}: {label}: {name}"
            assert name not in VALUES or label == "ex-" + name.replace("_", "-"), f"{file}: {label}: {name}"
            shown = re.findall(rf"`check\.{name}\(([^`]*)\)`", body)
            assert name not in VALUES or shown == [", ".join(VALUES[name]().right)], f"{file}: {label}: {name}"
        asked |= set(names)
    pages = Path(__file__).parents[1] / "book_text"
    assert "check.lstm_step(my_lstm_step)" in (pages / "12-lstm.md").read_text()  # in the page itself
    only_for_the_reader = {"adam"}
    assert asked | {"lstm_step"} == set(check.__all__) - {"Result"} - only_for_the_reader
    chapters = {file[:2] for file, *_ in asked_in_the_book()}
    assert chapters == {path.name[:2] for path in pages.glob("[0-9][0-9]-*.md")}


KINDS = ("W_x", "W_h", "b_")


@pytest.mark.parametrize("after", [False, True])
def test_a_step_that_reads_the_arrays_in_another_convention_is_told_in_which(after):
    """Chapter 10's readings: orders, keep and write, three resets, and W_h turned; none is passed over."""

    def reader(order, write, reset, turned):
        def my_step(x, h, p):
            W, R, b = ({g: getattr(p, kind + to) for g, to in zip("rzn", order, strict=True)} for kind in KINDS)
            R = {g: a.T if turned else a for g, a in R.items()}
            r, z = (1 / (1 + np.exp(-(x @ W[g] + h @ R[g] + b[g]))) for g in "rz")
            a = x @ W["n"] + b["n"]
            if reset == "whole":
                n = r * (a + h @ R["n"] + p.b_hn)
            elif reset == "after":
                n = a + r * (h @ R["n"] + p.b_hn)
            else:
                n = a + (r * h) @ R["n"] + p.b_hn
            keep = 1 - z if write else z
            return keep * h + (1 - keep) * np.tanh(n)

        return my_step

    told = set()
    right = "after" if after else "before"
    for order, write, reset, turned in product(
        ("rzn", "zrn", "nrz"), (False, True), ("before", "after", "whole"), (0, 1)
    ):
        faults = (order != "rzn") + write + (reset != right) + turned
        verdict = check.gru_step(reader(order, write, reset, turned), reset_after=after)
        assert verdict.ok == (faults == 0)
        if faults > 1:
            told.add(verdict.message)
            assert verdict.message.startswith("the arrays are read in another convention: "), verdict.message
            assert verdict.message.count(";") == faults - 1
    assert len(told) == 36 - 1 - 2 - 1 - 2 - 1  # every combination gets its own words
