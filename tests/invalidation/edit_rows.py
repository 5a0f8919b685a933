"""What an edit makes stale: the promise of docs/architecture.md, edit by edit.

A row is an edit of the repository's own kernels or of the small cases in `project/`, and what doit must print about it:
a line for each stage that must run, with its reason. No other stage of any case may run. `F  ` marks a stage that must
fail.

    row(
        "a tile constant",                                   the promise, as the test is named
        "affine",                                            the cases that may run
        sub("kernels/affine.py", "TILE_ROWS = 2", "..."),    the edits
        runs='''
            inspect
            compile  TILE_ROWS 2 -> 3 (kernels/affine.py:«TILE_ROWS = 3»)
            execute
        ''',
    )

`compile@torch` is the stage on another platform than the case's first. A text is doit's own, whole; `…` stands for
anything, `«TILE_ROWS = 3»` for the number of the line that holds it. Without a text a stage has the usual reason: the
edited Python file for `inspect`, `new build` or `new inputs` for `execute`, `new outputs` or `new expected outputs` for
`validate`, and that of `golden` for `capture`. Verdicts are `PASSED` unless `verdicts` says otherwise.

`conservative` says why a stage runs that a cleverer fingerprint would leave out; there are few such rows, and no row in
which a stage is left out that must run.

The rows are tried in batches on copies of one project, see `edit_batches.py`: rows about different cases and files are
one edit for doit. A row about a case that has most rows costs another batch, 2 seconds; a case costs 0.3 seconds, or
0.8 if it is compiled.
"""

from __future__ import annotations

import os
from typing import Any

from edit_batches import Row
from edit_kinds import (
    Edit,
    add,
    copy,
    cut,
    delete,
    flip,
    in_record,
    new,
    rename,
    script,
    sub,
    top,
    touch,
    undone,
    unnoticed,
)

ROWS: list[Row] = []
COMPILER = os.environ.get("CXX") or "c++"


def row(promise: str, cases: str, *edits: Edit, runs: str = "", **options: Any) -> None:
    ROWS.append(Row(promise, tuple(cases.split()), edits, runs, **options))


# The golden function and what it reaches

row(
    "golden function: another result, judged on both platforms",
    "matmul",
    sub("kernels/matmul.py", 'values["a"] @ values["b"]', 'values["a"] @ values["b"] + 1e-5'),
    runs="""
        inspect
        golden    golden_matmul changed (kernels/matmul.py:«def golden_matmul»)
        validate
        validate@torch
        capture*
    """,
)
row(
    "golden function: a wrong result is judged, and nothing is published",
    "nested",
    sub("kernels/nested.py", 'values["x"] + 1', 'values["x"] + 2'),
    runs="""
        inspect
        golden       golden_nested changed (kernels/nested.py:«def golden_nested»)
        F  validate  WRONG_VALUE
    """,
    verdicts={"nested on cpu": "WRONG_VALUE"},
)
row(
    "golden function: an error in it",
    "layer_norm",
    sub("kernels/layer_norm.py", "mean = x.mean", "mean = x.meen"),
    runs="""
        inspect
        F  golden  GOLDEN_ERROR  kernels/layer_norm.py:«x.meen»: AttributeError: …
    """,
    verdicts={"layer_norm on cpu": "GOLDEN_ERROR"},
)
row(
    "golden function: another one is named in the case",
    "twin_first twin_second",
    sub("kernels/twins.py", "golden=golden_second", "golden=golden_first"),
    sub("kernels/twins.py", "y[:] = x + 2", "y[:] = x + 1"),
    runs="""
        inspect:twin_first   kernels/twins.py changed
        inspect:twin_second  kernels/twins.py changed
        golden:twin_second   FIRST is new (kernels/twins.py:«FIRST =»), and 3 more
        compile:twin_second  second_torch changed (kernels/twins.py:«def second_torch»)
        execute:twin_second
        validate:twin_second
        capture:twin_second
    """,
)
row(
    "golden function: a local variable has another name",
    "topk_gate",
    sub("kernels/topk_gate.py", "scores, indices = torch", "ordered, indices = torch"),
    sub("kernels/topk_gate.py", "= scores[:, :TOP_K]", "= ordered[:, :TOP_K]"),
    runs="""
        inspect  kernels/topk_gate.py changed
        golden   golden_topk_gate changed (kernels/topk_gate.py:«def golden_topk_gate»)
        capture
    """,
    conservative="the names of local variables are part of a function's syntax tree",
)
row(
    "golden function: two independent statements change places",
    "rope",
    sub(
        "kernels/rope.py",
        '    cos_lo, cos_hi = values["cos"].chunk(2, dim=-1)\n    sin_lo, sin_hi = values["sin"].chunk(2, dim=-1)\n',
        '    sin_lo, sin_hi = values["sin"].chunk(2, dim=-1)\n    cos_lo, cos_hi = values["cos"].chunk(2, dim=-1)\n',
    ),
    runs="""
        inspect
        golden   golden_rope changed (kernels/rope.py:«def golden_rope»)
        capture
    """,
    conservative="the order of statements is part of a function's syntax tree",
)
row(
    "a helper in the same file",
    "helpers",
    sub("kernels/helpers.py", "return x * 2.0", "return x + x"),
    runs="""
        inspect
        golden   doubled changed (kernels/helpers.py:«def doubled»)
        capture
    """,
)
row(
    "a helper two modules away",
    "helpers",
    sub("kernels/far_parts.py", "return x + SHIFT", "return SHIFT + x"),
    runs="""
        inspect
        golden   add_shift changed (kernels/far_parts.py:«def add_shift»)
        capture
    """,
)
row(
    "a helper that is called through another name of its module",
    "helpers",
    sub("kernels/near_parts.py", "import far_parts\n", "import far_parts as parts\n"),
    sub("kernels/near_parts.py", "far_parts.add_shift", "parts.add_shift"),
    runs="""
        inspect  kernels/near_parts.py changed
        golden   shifted changed (kernels/near_parts.py:«def shifted»), and 1 more
        capture
    """,
)
row(
    "a helper that a package's __init__ imports from inside it",
    "packaged",
    sub("kernels/toolbox/mixing.py", "WEIGHT * x", "x * WEIGHT"),
    runs="""
        inspect
        golden   blend changed (kernels/toolbox/mixing.py:«def blend»)
        capture
    """,
)
row(
    "a helper that a relative import gives another name",
    "packaged",
    sub("kernels/toolbox/numbers.py", "return 1 / STEPS", "return 2 / (STEPS * 2)"),
    runs="""
        inspect
        golden   bias changed (kernels/toolbox/numbers.py:«def bias»)
        capture
    """,
)
row(
    "a package's __init__ offers another helper under the same name",
    "packaged",
    new("kernels/toolbox/other.py", "def blend(x):\n    return 0.75 * x + 0.25\n"),
    sub("kernels/toolbox/__init__.py", "from .mixing import", "from .other import"),
    runs="""
        inspect  kernels/toolbox/__init__.py changed
        golden   blend changed (kernels/toolbox/other.py:«def blend»), and 3 more
        capture
    """,
)
row(
    "a helper's module becomes a package",
    "packaged",
    delete("kernels/toolbox/numbers.py"),
    new("kernels/toolbox/numbers/__init__.py", "WEIGHT = 0.75\n\n\ndef bias() -> float:\n    return 0.25\n"),
    runs="""
        inspect  kernels/toolbox/numbers has appeared, and 1 more
        golden   bias changed (kernels/toolbox/numbers/__init__.py:«def bias»), and 1 more
        capture
    """,
)
row(
    "a module that was not there to be imported",
    "lazy",
    new("kernels/local_steps.py", "STEP = 1.000001\n"),
    runs="""
        inspect  kernels/local_steps.py has appeared
        golden   STEP 1.0 -> 1.000001 (kernels/local_steps.py:«STEP =»)
        validate
        capture
    """,
)
row(
    "a package that comes to hide a helper's module",
    "helpers",
    new("kernels/far_parts/__init__.py", "SHIFT = 0.5\n\n\ndef add_shift(x):\n    return SHIFT + x\n"),
    runs="""
        inspect  kernels/far_parts has appeared
        golden   add_shift changed (kernels/far_parts/__init__.py:«def add_shift»)
        capture
    """,
)
row(
    "a method",
    "objects",
    sub("kernels/objects.py", "self.rated(x) + self.lift + self.bonus", "self.rated(x) + (self.lift + self.bonus)"),
    runs="""
        inspect
        golden   Model.run changed (kernels/objects.py…)
        capture
    """,
)
row(
    "a base class's method",
    "objects",
    sub("kernels/objects.py", "return x * self.base_rate", "return self.base_rate * x"),
    runs="""
        inspect
        golden   Base.rated changed (kernels/objects.py…)
        capture
    """,
)
row(
    "a class's attribute",
    "objects",
    sub("kernels/objects.py", "lift = 0.5", "lift = 0.500001"),
    runs="""
        inspect
        golden   Model.lift 0.5 -> 0.500001 (kernels/objects.py…)
        validate
        capture
    """,
)
row(
    "a base class's attribute",
    "objects",
    sub("kernels/objects.py", "base_rate = 2.0", "base_rate = 2.000001"),
    runs="""
        inspect
        golden   Base.base_rate 2.0 -> 2.000001 (kernels/objects.py…)
        validate
        capture
    """,
)
row(
    "an object's attribute",
    "objects",
    sub("kernels/objects.py", "Model(bonus=0.125)", "Model(bonus=0.125001)"),
    runs="""
        inspect
        golden   MODEL.bonus 0.125 -> 0.125001 (kernels/objects.py…)
        validate
        capture
    """,
)
row(
    "an enum's member",
    "members",
    sub("kernels/members.py", "HIGH = 2", "HIGH = 2.000001"),
    runs="""
        inspect
        golden   …Level.HIGH 2 -> 2.000001 (kernels/members.py:«HIGH =»)
        validate
        capture
    """,
)
row(
    "a dataclass's field",
    "members",
    sub("kernels/members.py", "bonus: float = 0.25", "bonus: float = 0.250001"),
    runs="""
        inspect
        golden   SETTINGS.bonus 0.25 -> 0.250001 (kernels/members.py…), and 1 more
        validate
        capture
    """,
)
row(
    "a default argument",
    "callables",
    sub("kernels/callables.py", "by: float = 0.125", "by: float = 0.125001"),
    runs="""
        inspect
        golden   raised changed (kernels/callables.py:«def raised»), and 1 more
        validate
        capture
    """,
)
row(
    "a keyword's default",
    "callables",
    sub("kernels/callables.py", "more: float = 0.125", "more: float = 0.125001"),
    runs="""
        inspect
        golden   raised changed (kernels/callables.py:«def raised»), and 1 more
        validate
        capture
    """,
)
row(
    "a closure's value",
    "callables",
    sub("kernels/callables.py", "adding(0.5)", "adding(0.500001)"),
    runs="""
        inspect
        golden   add_some closure amount 0.5 -> 0.500001 (kernels/callables.py…)
        validate
        capture
    """,
)
row(
    "a function that another returns",
    "callables",
    sub("kernels/callables.py", "return x + amount", "return amount + x"),
    runs="""
        inspect
        golden   add_some changed (kernels/callables.py…)
        capture
    """,
)
row(
    "a function's attribute",
    "callables",
    sub("kernels/callables.py", "golden_callables.extra = 0.0", "golden_callables.extra = 1e-6"),
    runs="""
        inspect
        golden   golden_callables.extra 0.0 -> 1e-06 (kernels/callables.py…)
        validate
        capture
    """,
)
row(
    "a decorator's body",
    "callables",
    sub("kernels/callables.py", "mul_(2.0)", "mul_(2.000001)"),
    runs="""
        inspect
        golden   golden_callables changed (kernels/callables.py:«def golden_callables»)
        validate
        capture
    """,
)
row(
    "a partial's argument",
    "callables",
    sub("kernels/callables.py", "by=0.25", "by=0.250001"),
    runs="""
        inspect
        golden   lower_some.keywords {'by': 0.25} -> {'by': 0.250001} (kernels/callables.py:«lower_some =»)
        validate
        capture
    """,
)
row(
    "a dict's entry",
    "tables",
    sub("kernels/tables.py", '"high": 2.0', '"high": 2.00001'),
    runs="""
        inspect
        golden   GAINS {'low': 1.0, 'high': 2.0} -> {'low': 1.0, 'high': 2.00001} (kernels/tables.py:«GAINS =»)
        validate
        capture
    """,
)
row(
    "a dict's entry that is not read",
    "tables",
    sub("kernels/tables.py", '"low": 1.0', '"low": 1.5'),
    runs="""
        inspect
        golden   GAINS {'low': 1.0, 'high': 2.0} -> {'low': 1.5, 'high': 2.0} (kernels/tables.py:«GAINS =»)
        capture
    """,
    conservative="a container counts as a whole",
)
row(
    "a value deep in containers",
    "tables",
    sub("kernels/tables.py", '"sizes": (4, 5)', '"sizes": (4, 5.0001)'),
    runs="""
        inspect
        golden   LAYERS changed (kernels/tables.py:«LAYERS =»)
        validate
        capture
    """,
)
row(
    "a tensor at module level that the golden function reads",
    "tables",
    sub("kernels/tables.py", "torch.tensor([0.5, 0.25])", "torch.tensor([0.5, 0.25001])"),
    runs="""
        inspect
        golden   WEIGHTS changed (kernels/tables.py:«WEIGHTS =»)
        validate
        capture
    """,
)
row(
    "a numpy array that the golden function reads",
    "tables",
    sub("kernels/tables.py", "np.arange(4.0)", "np.arange(4.0) + 1e-5"),
    runs="""
        inspect
        golden   OFFSETS changed (kernels/tables.py:«OFFSETS =»)
        validate
        capture
    """,
)
row(
    "a set written in another order",
    "tables",
    sub("kernels/tables.py", '{"high", "low"}', '{"low", "high"}'),
    runs="inspect",
)
row(
    "constants: one that a module two imports away sets, read through another that follows from it",
    "configured",
    sub("kernels/machine_settings.py", "BASE_RATE = 1.5", "BASE_RATE = 1.500001"),
    runs="""
        inspect
        golden   RATE 3.0 -> 3.000002 (kernels/project_settings.py:«RATE =»)
        validate
        capture
    """,
)
row(
    "constants: one of the golden function",
    "constants",
    sub("kernels/constants.py", "GOLDEN_ONLY = 1.0", "GOLDEN_ONLY = 1.00001"),
    runs="""
        inspect
        golden   GOLDEN_ONLY 1.0 -> 1.00001 (kernels/constants.py:«GOLDEN_ONLY =»)
        validate
        capture
    """,
)
row(
    "constants: one of the program",
    "constants",
    sub("kernels/constants.py", "PROGRAM_ONLY = 5.0", "PROGRAM_ONLY = 5.00001"),
    runs="""
        inspect
        compile  PROGRAM_ONLY 5.0 -> 5.00001 (kernels/constants.py:«PROGRAM_ONLY =»)
        execute
        validate
    """,
)
row(
    "constants: one of both",
    "constants",
    sub("kernels/constants.py", "SHARED = 2.0", "SHARED = 2.5"),
    runs="""
        inspect
        golden   SHARED 2.0 -> 2.5 (kernels/constants.py:«SHARED =»)
        compile  SHARED 2.0 -> 2.5 (kernels/constants.py:«SHARED =»)
        execute
        validate
        capture
    """,
)
row(
    "constants: a tile size that the golden function reads too",
    "constants",
    sub("kernels/constants.py", "CHUNK = 16", "CHUNK = 32"),
    runs="""
        inspect
        golden   CHUNK 16 -> 32 (kernels/constants.py:«CHUNK =»)
        compile  CHUNK 16 -> 32 (kernels/constants.py:«CHUNK =»)
        execute
        capture
    """,
)
row(
    "constants: the same value written otherwise",
    "gemm_int8",
    sub("kernels/gemm_int8.py", "TILE_N = 64", "TILE_N = 32 * 2"),
    runs="inspect",
)
row(
    "constants: another type of the same value",
    "constants",
    sub("kernels/constants.py", "GOLDEN_ONLY = 1.0", "GOLDEN_ONLY = 1"),
    runs="""
        inspect
        golden   GOLDEN_ONLY 1.0 -> 1 (kernels/constants.py:«GOLDEN_ONLY =»)
        capture
    """,
)
row(
    "constants: one of layer_norm's golden function and not of its C++ kernel",
    "layer_norm",
    sub("kernels/layer_norm.py", "EPS = 1e-5", "EPS = 2e-5"),
    runs="""
        inspect
        golden   EPS 1e-05 -> 2e-05 (kernels/layer_norm.py:«EPS =»)
        validate
        capture
    """,
)
row(
    "constants: one of rms_norm's golden function and of its program on one platform only",
    "rms_norm",
    sub("kernels/rms_norm.py", "EPS = 1e-6", "EPS = 1.001e-6"),
    runs="""
        inspect
        golden         EPS 1e-06 -> 1.001e-06 (kernels/rms_norm.py:«EPS =»)
        compile@torch  EPS 1e-06 -> 1.001e-06 (kernels/rms_norm.py:«EPS =»)
        execute@torch
        capture*
    """,
)
row(
    "a module that the golden function imports while it runs",
    "late",
    sub("kernels/late_parts.py", "EXTRA = 0.25", "EXTRA = 0.250001"),
    runs="""
        inspect
        golden   kernels/late_parts.py changed, which counts as a whole, and 1 more
        validate
        capture
    """,
)
row(
    "a module that is asked for a name as a text",
    "late",
    sub("kernels/named_settings.py", "OTHER = 0.5", "OTHER = 0.500001"),
    runs="""
        inspect
        golden   kernels/named_settings.py changed, which counts as a whole
        validate
        capture
    """,
)
row(
    "a module that is read as a text: a comment in it",
    "late",
    add("kernels/late_parts.py", "# four\n"),
    before=(
        sub("kernels/late.py", "EXTRA + getattr", "EXTRA + 1e-7 * len(open('kernels/late_parts.py').read()) + getattr"),
    ),
    runs="""
        golden   kernels/late_parts.py changed
        validate
        capture
    """,
)
row(
    "a module that counts as a whole: comments and docstrings in it",
    "late",
    sub("kernels/named_settings.py", '"""Settings that are asked for by name."""', '"""Settings."""  # by name'),
    add("kernels/late_parts.py", "# nothing else\n"),
)
row(
    "torch's default dtype, set at import",
    "defaults",
    sub("kernels/defaults.py", "SIZE = 8\n", "SIZE = 8\ntorch.set_default_dtype(torch.float64)\n"),
    runs="""
        inspect
        golden   torch default dtype is new (kernels/defaults.py)
        compile  torch default dtype is new (kernels/defaults.py)
        execute
        validate
        capture
    """,
)
row(
    "a method that the project adds to a class of torch",
    "defaults",
    sub("kernels/defaults.py", "SIZE = 8\n", "SIZE = 8\ntorch.Tensor.third = lambda self: self * 0.5\n"),
    sub("kernels/defaults.py", 'values["x"] * torch.full((SIZE,), 1 / 3)', '(values["x"] / 1.5).third()'),
    runs="""
        inspect  kernels/defaults.py changed
        golden   golden_defaults changed (kernels/defaults.py:«def golden_defaults»), and 3 more
        compile  torch.Tensor.third is new (kernels/defaults.py…)
        execute
        validate
        capture
    """,
)

# Specs and inputs

row(
    "a seed",
    "matmul",
    sub("kernels/matmul.py", "rtol=1e-3", "seed=1,\n    rtol=1e-3"),
    runs="""
        inspect
        golden   seed 0 -> 1 (kernels/matmul.py:«seed=1»)
        execute
        validate
        execute@torch
        validate@torch
        capture*
    """,
)
row(
    "a seed of one of two cases in a file",
    "twin_first twin_second",
    sub("kernels/twins.py", "seed=1", "seed=2"),
    runs="""
        inspect:twin_first
        inspect:twin_second
        golden:twin_second   seed 1 -> 2 (kernels/twins.py:«seed=2»)
        execute:twin_second
        validate:twin_second
        capture:twin_second
    """,
)
row(
    "an input's name",
    "shapes",
    sub("kernels/shapes.py", 'TensorSpec("a"', 'TensorSpec("left"'),
    runs="""
        inspect
        golden   argument 1 a: float32 [2, 3] in -> left: float32 [2, 3] in (kernels/shapes.py:«"left"»), and 2 more
        compile  argument 1 a: float32 [2, 3] in -> left: float32 [2, 3] in (kernels/shapes.py:«"left"»)
        execute
        capture
    """,
)
row(
    "an output's name",
    "shapes",
    sub("kernels/shapes.py", 'TensorSpec("y"', 'TensorSpec("result"'),
    runs="""
        inspect
        golden   argument 4 y: float32 [2, 3] out -> result: float32 [2, 3] out (kernels/shapes.py:«"result"»)
        compile  argument 4 y: float32 [2, 3] out -> result: float32 [2, 3] out (kernels/shapes.py:«"result"»)
        execute
        validate
        capture
    """,
)
row(
    "the order of arguments",
    "shapes",
    sub(
        "kernels/shapes.py",
        """\
        TensorSpec("a", (ROWS, COLS), torch.float32, torch.rand),
        TensorSpec("b", (ROWS, COLS), torch.float32, 2.0),
""",
        """\
        TensorSpec("b", (ROWS, COLS), torch.float32, 2.0),
        TensorSpec("a", (ROWS, COLS), torch.float32, torch.rand),
""",
    ),
    runs="""
        inspect
        golden   argument 1 a: float32 [2, 3] in -> b: float32 [2, 3] in (kernels/shapes.py:«"b"»), and 1 more
        compile  argument 1 a: float32 [2, 3] in -> b: float32 [2, 3] in (kernels/shapes.py:«"b"»), and 1 more
        execute
        validate
        capture
    """,
)
row(
    "a shape",
    "shapes",
    sub("kernels/shapes.py", "ROWS, COLS = 2, 3", "ROWS, COLS = 3, 3"),
    runs="""
        inspect
        golden   argument a: float32 [2, 3] in -> float32 [3, 3] in (kernels/shapes.py:«"a"»), and 2 more
        compile  argument a: float32 [2, 3] in -> float32 [3, 3] in (kernels/shapes.py:«"a"»), and 2 more
        execute
        validate
        capture
    """,
)
row(
    "an output's dtype",
    "shapes",
    sub(
        "kernels/shapes.py",
        'TensorSpec("y", (ROWS, COLS), torch.float32',
        'TensorSpec("y", (ROWS, COLS), torch.float64',
    ),
    runs="""
        inspect
        golden   argument y: float32 [2, 3] out -> float64 [2, 3] out (kernels/shapes.py:«"y"»)
        compile  argument y: float32 [2, 3] out -> float64 [2, 3] out (kernels/shapes.py:«"y"»)
        execute
        validate
        capture
    """,
)
row(
    "an output that becomes inout",
    "shapes",
    sub("kernels/shapes.py", "torch.float32, is_output", "torch.float32, torch.ones, is_output"),
    runs="""
        inspect
        golden   argument y: float32 [2, 3] out -> float32 [2, 3] inout (kernels/shapes.py:«"y"»), and 1 more
        compile  argument y: float32 [2, 3] out -> float32 [2, 3] inout (kernels/shapes.py:«"y"»)
        execute
        capture
    """,
)
row(
    "an inout tensor that becomes an output, on two platforms",
    "ported",
    sub("kernels/ported.py", "torch.float32, torch.ones, is_output", "torch.float32, is_output"),
    runs="""
        inspect
        golden         argument y: float32 [4, 6] inout -> float32 [4, 6] out (kernels/ported.py:«"y"»), and 1 more
        compile        argument y: float32 [4, 6] inout -> float32 [4, 6] out (kernels/ported.py:«"y"»)
        execute
        F  validate  NOT_WRITTEN
        compile@torch  argument y: float32 [4, 6] inout -> float32 [4, 6] out (kernels/ported.py:«"y"»)
        execute@torch
        F  validate@torch  NOT_WRITTEN
    """,
    verdicts={"ported on cpu": "NOT_WRITTEN", "ported on torch": "NOT_WRITTEN"},  # the kernel still reads it
)
row(
    "a number as the initial value",
    "shapes",
    sub("kernels/shapes.py", "torch.float32, 2.0", "torch.float32, 2.5"),
    runs="""
        inspect
        golden   initial value of b: 2.0 -> 2.5 (kernels/shapes.py:«"b"»)
        execute
        validate
        capture
    """,
)
row(
    "an initial value that is drawn otherwise",
    "rope",
    sub(
        "kernels/rope.py",
        'TensorSpec("x", (ROWS, HEAD_DIM), torch.float32, torch.randn)',
        'TensorSpec("x", (ROWS, HEAD_DIM), torch.float32, torch.rand)',
    ),
    runs="""
        inspect
        golden   initial value of x: torch.randn -> torch.rand (kernels/rope.py:«"x"»)
        execute
        validate
        capture
    """,
)
row(
    "a scalar's value of a C++ kernel, which is not built into it",
    "attention_decode",
    sub("kernels/attention_decode.py", "MAX_SEQ, SEQ_LEN = 256, 100", "MAX_SEQ, SEQ_LEN = 256, 64"),
    runs="""
        inspect
        golden   scalar seq_len 100 -> 64 (kernels/attention_decode.py:«ScalarSpec("seq_len"»)
        execute
        validate
        capture
    """,
)
row(
    "an initialiser that is a lambda",
    "initial",
    sub("kernels/initial.py", "torch.full((SIZE,), 0.25)", "torch.full((SIZE,), 0.5)"),
    runs="""
        inspect
        golden   initial value of a: changed (kernels/initial.py:«"a"»)
        execute
        validate
        capture
    """,
)
row(
    "an initialiser that makes the same input in another way",
    "initial",
    sub("kernels/initial.py", "torch.full((SIZE,), 0.25)", "torch.ones(SIZE) / 4"),
    runs="""
        inspect
        golden   initial value of a: changed (kernels/initial.py:«"a"»)
        capture
    """,
)
row(
    "an initialiser",
    "gemm_int8",
    sub(
        "kernels/gemm_int8.py",
        "def init_a() -> torch.Tensor:\n    return torch.randint(-128, 128, (M, K))",
        "def init_a() -> torch.Tensor:\n    return torch.randint(-127, 128, (M, K))",
    ),
    runs="""
        inspect
        golden   init_a changed (kernels/gemm_int8.py:«def init_a»)
        execute
        validate
        capture
    """,
)
row(
    "an initialiser's helper",
    "initial",
    sub("kernels/initial.py", "torch.arange(start, start + SIZE)", "torch.arange(start, start + SIZE) + 1"),
    runs="""
        inspect
        golden   counted changed (kernels/initial.py:«def counted»)
        execute
        validate
        capture
    """,
)
row(
    "a constant that an initialiser's helper reads",
    "rope",
    sub("kernels/rope.py", "THETA = 10000.0", "THETA = 20000.0"),
    runs="""
        inspect
        golden   THETA 10000.0 -> 20000.0 (kernels/rope.py:«THETA =»)
        execute
        validate
        capture
    """,
)
row(
    "a tensor at module level that is an initial value",
    "initial",
    sub("kernels/initial.py", "[0.5, 1.5,", "[0.25, 1.5,"),
    runs="""
        inspect
        golden   initial value of c: changed (kernels/initial.py:«"c"»)
        execute
        validate
        capture
    """,
)
row(
    "a numpy array that a lambda initialiser returns",
    "initial",
    sub("kernels/initial.py", "np.linspace(0.0, 1.0, SIZE)", "np.linspace(0.0, 2.0, SIZE)"),
    runs="""
        inspect
        golden   GRID changed (kernels/initial.py:«GRID =»)
        execute
        validate
        capture
    """,
)
row(
    "a shape of a kernel on two platforms",
    "matmul",
    sub("kernels/matmul.py", "M, N, K = 256, 256, 256", "M, N, K = 128, 256, 256"),
    runs="""
        inspect
        golden         argument a: float32 [256, 256] in -> float32 [128, 256] in (kernels/matmul.py:«"a"»), and 1 more
        compile        argument a: float32 [256, 256] in -> float32 [128, 256] in (kernels/matmul.py:«"a"»), and 1 more
        compile@torch  argument a: float32 [256, 256] in -> float32 [128, 256] in (kernels/matmul.py:«"a"»), and 1 more
        execute
        execute@torch
        validate
        validate@torch
        capture*
    """,
)
row(
    "a dtype that the C++ kernel does not take",
    "positions",
    sub("kernels/positions.py", '"x", (SIZE,), torch.float32', '"x", (SIZE,), torch.float64'),
    runs="""
        inspect
        golden      argument x: float32 [8] in -> float64 [8] in (kernels/positions.py:«"x"»)
        F  compile  COMPILE_ERROR  kernels/positions.cpp: …
    """,
    verdicts={"positions on cpu": "COMPILE_ERROR"},
)

# Files and variables that are read

row(
    "a data file that the golden function reads",
    "readers",
    sub("kernels/tables/bias.txt", "1.0", "1.00001"),
    runs="""
        golden   kernels/tables/bias.txt changed
        validate
        capture  kernels/tables/bias.txt changed
    """,
)
row(
    "a data file that an initialiser reads",
    "readers",
    sub("kernels/tables/points.txt", "3.5", "4.5"),
    runs="""
        golden   kernels/tables/points.txt changed
        execute
        validate
        capture
    """,
)
row(
    "a data file that is read at import",
    "readers",
    sub("kernels/tables/scales.json", '"gain": 2.0', '"gain": 2.000001'),
    runs="""
        inspect  kernels/tables/scales.json changed
        golden   SCALES {'gain': 2.0, 'unused': 1} -> {'gain': 2.000001, 'unused': 1} (kernels/readers.py:«SCALES =»)
        validate
        capture
    """,
)
row(
    "a data file that was looked for and appears",
    "readers",
    new("kernels/tables/correction.txt", "0.00001\n"),
    runs="""
        golden   kernels/tables/correction.txt has appeared
        validate
        capture
    """,
)
row(
    "a folder that the golden function lists",
    "readers",
    new("kernels/tables/parts/two.txt", "2\n"),
    runs="""
        golden       kernels/tables/parts holds other files
        F  validate  WRONG_VALUE
    """,
    verdicts={"readers on torch": "WRONG_VALUE"},
)
row(
    "a folder that the golden function lists: a file in it that is not read",
    "",
    sub("kernels/tables/parts/one.txt", "1", "2"),
)
row(
    "a data file that is gone",
    "readers",
    delete("kernels/tables/bias.txt"),
    runs="F  golden  GOLDEN_ERROR  kernels/reading.py:«read_text())»: FileNotFoundError: …",
    verdicts={"readers on torch": "GOLDEN_ERROR"},
)
row(
    "a data file of the same size with its time restored",
    "readers",
    unnoticed(sub("kernels/tables/bias.txt", "1.0", "1.5")),
    runs="""
        golden       kernels/tables/bias.txt changed
        F  validate  WRONG_VALUE
    """,
    verdicts={"readers on torch": "WRONG_VALUE"},
)
row(
    "files that nobody reads, beside one that is read",
    "",
    sub("kernels/tables/notes.txt", "nobody", "no one"),
    new("kernels/tables/more_notes.txt", "new\n"),
)
row(
    "a data file that is touched",
    "",
    touch("kernels/tables/bias.txt"),
)
row(
    "an environment variable that the golden function reads",
    "configured",
    runs="""
        golden   environment variable CONFIGURED_LEVEL: not set -> 1.000001
        validate
        capture
    """,
    environment={"CONFIGURED_LEVEL": "1.000001"},
)
row(
    "an environment variable that a condition at import reads",
    "configured",
    runs="""
        inspect  environment variable CONFIGURED_PRECISE: not set -> 1
        golden   PRECISE False -> True (kernels/configured.py:«PRECISE =»)
        capture
    """,
    environment={"CONFIGURED_PRECISE": "1"},
)
row(
    "an environment variable that nothing reads",
    "",
    environment={"CONFIGURED_OTHER": "1"},
)
row(
    "a setting that nothing reaches, two modules away",
    "configured",
    sub("kernels/machine_settings.py", "CORES = 8", "CORES = 16"),
    runs="inspect",
)

# The program

row(
    "a tile constant",
    "affine",
    sub("kernels/affine.py", "TILE_ROWS = 2", "TILE_ROWS = 3"),
    runs="""
        inspect
        compile  TILE_ROWS 2 -> 3 (kernels/affine.py:«TILE_ROWS =»)
        execute
    """,
)
row(
    "a tile constant of programs on two platforms",
    "ported",
    sub("kernels/ported.py", "TILE = 2", "TILE = 4"),
    runs="""
        inspect
        compile        TILE 2 -> 4 (kernels/ported.py:«TILE =»)
        execute
        compile@torch  TILE 2 -> 4 (kernels/ported.py:«TILE =»)
        execute@torch
    """,
)
row(
    "a tile constant of rms_norm",
    "rms_norm",
    sub("kernels/rms_norm.py", "TILE_ROWS = 32", "TILE_ROWS = 40"),
    runs="""
        inspect
        compile        TILE_ROWS 32 -> 40 (kernels/rms_norm.py:«TILE_ROWS =»)
        execute
        compile@torch  TILE_ROWS 32 -> 40 (kernels/rms_norm.py:«TILE_ROWS =»)
        execute@torch
    """,
)
row(
    "a tile parameter that the kernel does not use",
    "options",
    sub("kernels/options.py", '"UNROLL": 4', '"UNROLL": 8'),
    runs="""
        inspect
        compile  UNROLL 4 -> 8 (kernels/options.py:«"UNROLL": 8»)
    """,
)
row(
    "a tile parameter that is added",
    "constants",
    sub("kernels/constants.py", 'tiles={"CHUNK": CHUNK}', 'tiles={"CHUNK": CHUNK, "TILE": 2}'),
    runs="""
        inspect
        compile  TILE is new (kernels/constants.py:«"TILE": 2»)
        execute
    """,
)
row(
    "a tile size for which the kernel does not compile",
    "softmax",
    sub("kernels/softmax.py", "TILE_ROWS = 32", 'TILE_ROWS = "rows of it"'),
    runs="""
        inspect
        F  compile        COMPILE_ERROR  …
        compile@torch     TILE_ROWS 32 -> 'rows of it' (kernels/softmax.py:«TILE_ROWS =»)
        F  execute@torch  RUNTIME_ERROR  …
    """,
    verdicts={"softmax on cpu": "COMPILE_ERROR", "softmax on torch": "RUNTIME_ERROR"},
)
row(
    "C++: the kernel's body",
    "matmul",
    sub("kernels/matmul.cpp", "= c_tile[i][j];", "= c_tile[i][j] * 1.000001f;"),
    runs="""
        compile  kernels/matmul.cpp changed
        execute
        validate
    """,
)
row(
    "C++: a wrong result",
    "affine",
    sub("kernels/affine.cpp", "+ shift;", "- shift;"),
    runs="""
        compile      kernels/affine.cpp changed
        execute
        F  validate  WRONG_VALUE
    """,
    verdicts={"affine on cpu": "WRONG_VALUE"},
)
row(
    "C++: an error",
    "layer_norm",
    sub("kernels/layer_norm.cpp", "void layer_norm(", "void layer_norm(("),
    runs="F  compile  COMPILE_ERROR  kernels/layer_norm.cpp:…",
    verdicts={"layer_norm on cpu": "COMPILE_ERROR"},
)
row(
    "C++: another name of a local variable makes the same binary",
    "affine",
    sub(
        "kernels/affine.cpp",
        "c = 0; c < y.shape[1]; ++c) y(r, c) = scaled(x(r, c)) + shift;",
        "k = 0; k < y.shape[1]; ++k) y(r, k) = scaled(x(r, k)) + shift;",
    ),
    runs="compile  kernels/affine.cpp changed",
)
row(
    "C++: a comment, blank lines and the blanks of a line",
    "softmax",
    top("kernels/softmax.cpp", "/* softmax\n   of rows */\n\n"),
    sub(
        "kernels/softmax.cpp",
        "const std::int64_t rows = x.shape[0], columns",
        "const std::int64_t rows=x.shape[0],\n    columns",
    ),
)
row(
    "C++: a moved line in a source that asserts",
    "positions",
    top("kernels/positions.cpp", "// Lines count here.\n"),
    runs="""
        compile  kernels/positions.cpp changed
        execute
    """,
)
row(
    "C++: a comment at the end of a source that asserts",
    "positions",
    add("kernels/positions.cpp", "// the end\n"),
    runs="compile  kernels/positions.cpp changed",
    conservative="the source counts byte by byte, since lines may be in its binary",
)
row(
    "C++: a header that a header includes",
    "affine",
    sub("kernels/affine_constants.h", "SCALE 2.0f", "SCALE 2.000001f"),
    runs="""
        compile  kernels/affine_constants.h changed
        execute
        validate
    """,
)
row(
    "C++: a header's comment",
    "affine",
    sub("kernels/affine.h", "// What affine.cpp needs", "// All that affine.cpp needs"),
)
row(
    "C++: a header that nothing includes",
    "",
    sub("kernels/affine_unused.h", "UNUSED 1", "UNUSED 2"),
)
row(
    "C++: a header that is gone",
    "affine",
    delete("kernels/affine_constants.h"),
    runs="F  compile  COMPILE_ERROR  kernels/affine.h:…",
    verdicts={"affine on cpu": "COMPILE_ERROR"},
)
row(
    "C++: a header that comes to hide the compiler's own",
    "nested",
    new("kernels/sub/inner/float.h", "#define FLT_RADIX 2.000001f\n"),
    runs="""
        compile  kernels/sub/inner/float.h has appeared
        execute
        validate
    """,
)
row(
    "C++: a header that comes to hide golden_tasks' own",
    "nested",
    new("kernels/sub/golden_tasks.h", "#include_next <golden_tasks.h>\n"),
    runs="compile  kernels/sub/golden_tasks.h has appeared",
)
row(
    "C++: a header of the same name in a folder that is not looked in",
    "",
    new("kernels/sub/float.h", "#error not this one\n"),
)
row(
    "C++: a header appears that __has_include asks for",
    "nested",
    new("kernels/sub/larger.h", "#undef STEP\n#define STEP 1.000001f\n"),
    runs="""
        compile  kernels/sub/larger.h has appeared
        execute
        validate
    """,
)
row(
    "C++: a macro that golden function and kernel share",
    "options",
    sub("kernels/options.py", "GAIN = 3", "GAIN = 5"),
    runs="""
        inspect
        golden   GAIN 3 -> 5 (kernels/options.py:«GAIN =»)
        compile  GAIN 3 -> 5 (kernels/options.py:«GAIN =»)
        execute
        validate
        capture
    """,
)
row(
    "C++: a macro is taken away for which the source has the same value",
    "options",
    sub("kernels/options.py", ', "BIAS": 1}', "}"),
    runs="""
        inspect
        compile  BIAS is gone (kernels/options.py)
    """,
)
row(
    "C++: a flag",
    "options",
    sub("kernels/options.py", "defines=", 'flags="-O1", defines='),
    runs="""
        inspect
        compile  flags none -> -O1 (kernels/options.py:«flags=»)
        execute
    """,
)
row(
    "C++: debug",
    "options",
    sub("kernels/options.py", "defines=", "debug=True, defines="),
    runs="""
        inspect
        compile  build release -> debug (kernels/options.py)
        execute
    """,
)
row(
    "C++: sanitize",
    "options",
    sub("kernels/options.py", "defines=", 'sanitize="undefined", defines='),
    runs="""
        inspect
        compile  sanitize none -> undefined (kernels/options.py:«sanitize=»)
        execute
    """,
)
row(
    "C++: another function of the source",
    "options",
    sub("kernels/options.py", 'function="options"', 'function="options_backwards"'),
    runs="""
        inspect
        compile  function options -> options_backwards (kernels/options.py:«function=»)
        execute
    """,
)
row(
    "C++: a source of the same text in another folder, where its headers are others",
    "nested",
    new("kernels/sub2/inner/step.h", "#define STEP 1.000001f\n"),
    copy("kernels/sub/nested.cpp", "kernels/sub2/nested.cpp"),
    sub("kernels/nested.py", '"sub/nested.cpp"', '"sub2/nested.cpp"'),
    runs="""
        inspect  kernels/nested.py changed
        compile  …
        execute
        validate
    """,
)
row(
    "C++: another compiler",
    "affine",
    script("tools/c++", f'exec {COMPILER} "$@"\n'),
    runs="compile  compiler … -> …/tools/c++, and 2 more",
    environment={"CXX": "tools/c++"},
    alone=True,
)
row(
    "C++: a variable that the compiler reads",
    "affine",
    runs="compile  environment variable CPATH: not set -> /nowhere",
    environment={"CPATH": "/nowhere"},
    alone=True,
)
row(
    "torch: the program's body",
    "ported",
    sub("kernels/ported.py", "y[rows] * WEIGHT + squared(x[rows])", "squared(x[rows]) + y[rows] * WEIGHT"),
    runs="""
        inspect
        compile@torch  ported_torch changed (kernels/ported.py:«def ported_torch»)
        execute@torch
    """,
)
row(
    "torch: the program's helper",
    "ported",
    sub("kernels/ported.py", "return part * part", "return part * part * 1.000001"),
    runs="""
        inspect
        compile@torch  squared changed (kernels/ported.py:«def squared»)
        execute@torch
        validate@torch
    """,
)
row(
    "torch: matmul's second program",
    "matmul",
    sub("kernels/matmul.py", "c_tile += a[rows", "c_tile = c_tile + a[rows"),
    runs="""
        inspect
        compile@torch  matmul_torch changed (kernels/matmul.py:«def matmul_torch»)
        execute@torch
    """,
)
row(
    "torch: a wrong result on one platform",
    "ported",
    sub("kernels/ported.py", "return part * part", "return part + part"),
    runs="""
        inspect
        compile@torch      squared changed (kernels/ported.py:«def squared»)
        execute@torch
        F  validate@torch  WRONG_VALUE
    """,
    verdicts={"ported on torch": "WRONG_VALUE"},
)
row(
    "torch: a constant of golden function and both programs",
    "ported",
    sub("kernels/ported.py", "WEIGHT = 0.25", "WEIGHT = 0.5"),
    runs="""
        inspect
        golden         WEIGHT 0.25 -> 0.5 (kernels/ported.py:«WEIGHT =»)
        compile        WEIGHT 0.25 -> 0.5 (kernels/ported.py:«WEIGHT =»)
        execute
        validate
        compile@torch  WEIGHT 0.25 -> 0.5 (kernels/ported.py:«WEIGHT =»)
        execute@torch
        validate@torch
        capture*
    """,
)
row(
    "torch: a program in a module that is named by a text",
    "lazy",
    sub("kernels/lazy_program.py", "x + ONE", "ONE + x"),
    runs="""
        inspect
        compile  lazy_torch changed (kernels/lazy_program.py:«def lazy_torch»)
        execute
    """,
)
row(
    "torch: the module of a program is gone",
    "lazy",
    delete("kernels/lazy_program.py"),
    runs="""
        inspect     kernels/lazy_program.py is gone
        F  compile  SKIPPED  platform 'torch' of case 'lazy' is not available: No module named 'lazy_program'
    """,
    verdicts={"lazy on torch": "SKIPPED"},
)
row(
    "torch: a tile parameter that the program does not take",
    "lazy",
    sub("kernels/lazy.py", 'programs={"torch"', 'tiles={"OTHER": 2}, programs={"torch"'),
    runs="inspect",
)
row(
    "torch: the program's error",
    "defaults",
    sub("kernels/defaults.py", "1 / 3) * x", "1 / 3) * missing"),
    runs="""
        inspect
        compile     defaults_torch changed (kernels/defaults.py:«def defaults_torch»)
        F  execute  RUNTIME_ERROR  …
    """,
    verdicts={"defaults on torch": "RUNTIME_ERROR"},
)
row(
    "a golden function's error, mended by undoing the edit",
    "defaults",
    sub("kernels/defaults.py", "values['nothing']", "values"),
    before=(sub("kernels/defaults.py", 'values["x"] *', "values['nothing'][\"x\"] *"),),
    runs="inspect",
)
row(
    "C++: a wrong result, mended by undoing the edit",
    "positions",
    sub("kernels/positions.cpp", "y(i) = +x(i)", "y(i) = -x(i)"),
    before=(sub("kernels/positions.cpp", "y(i) = -x(i)", "y(i) = +x(i)"),),
    runs="""
        compile   kernels/positions.cpp changed…; an earlier build is used again
        execute
        validate
    """,
)
row(
    "a snapshot that was not proved is published once a looser policy lets the run pass",
    "lazy",
    sub("kernels/lazy.py", "golden=golden_lazy,", "golden=golden_lazy, rtol=0.25,"),
    before=(sub("kernels/lazy.py", "STEP = 1.0", "STEP = 1.125"),),
    runs="""
        inspect
        validate  rtol 1e-05 -> 0.25 (kernels/lazy.py:«rtol=»)
        capture   STEP 1.0 -> 1.125 (kernels/lazy.py:«STEP =»)
    """,
)
row(
    "a damaged snapshot that is removed is made again",
    "twin_second",
    delete("build_output/twin_second/data"),
    before=(flip("build_output/twin_second/data/in/x.pt"),),
    runs="""
        golden   build_output/twin_second/data/manifest.json is gone
        capture  never made
    """,
)
row(
    "an earlier build is used again",
    "affine",
    sub("kernels/affine.py", "TILE_ROWS = 4", "TILE_ROWS = 2"),
    before=(sub("kernels/affine.py", "TILE_ROWS = 2", "TILE_ROWS = 4"),),
    runs="""
        inspect
        compile  TILE_ROWS 4 -> 2 (kernels/affine.py:«TILE_ROWS =»); an earlier build is used again
        execute
    """,
)

# How outputs are judged

row(
    "rtol",
    "judged",
    sub("kernels/judged.py", "rtol=1e-4", "rtol=1e-3"),
    runs="""
        inspect
        validate  rtol 0.0001 -> 0.001 (kernels/judged.py:«rtol=»)
    """,
)
row(
    "atol, on two platforms",
    "softmax",
    sub("kernels/softmax.py", "atol=1e-6", "atol=1e-7"),
    runs="""
        inspect
        validate        atol 1e-06 -> 1e-07 (kernels/softmax.py:«atol=»)
        validate@torch  atol 1e-06 -> 1e-07 (kernels/softmax.py:«atol=»)
    """,
)
row(
    "rtol written otherwise",
    "attention_decode",
    sub("kernels/attention_decode.py", "rtol=1e-4", "rtol=0.0001"),
)
row(
    "rtol that is too small for what has run",
    "matmul",
    sub("kernels/matmul.py", "rtol=1e-3,\n    atol=1e-3", "rtol=0.0,\n    atol=0.0"),
    runs="""
        inspect
        F  validate        WRONG_VALUE
        F  validate@torch  WRONG_VALUE
    """,
    verdicts={"matmul on cpu": "WRONG_VALUE", "matmul on torch": "WRONG_VALUE"},
)
row(
    "a comparator's body",
    "judged",
    sub("kernels/judged.py", "worst <= LIMIT * share", "not worst > LIMIT * share"),
    runs="""
        inspect
        validate  within changed (kernels/judged.py:«def within»)
    """,
)
row(
    "a comparator's constant",
    "judged",
    sub("kernels/judged.py", "LIMIT = 0.5", "LIMIT = 0.25"),
    runs="""
        inspect
        validate  LIMIT 0.5 -> 0.25 (kernels/judged.py:«LIMIT =»)
    """,
)
row(
    "a comparator's argument",
    "judged",
    sub("kernels/judged.py", "share=0.5", "share=0.25"),
    runs="""
        inspect
        validate  comparator.keywords …
    """,
)
row(
    "a comparator is added",
    "judged",
    sub("kernels/judged.py", "share=0.5)}", 'share=0.5), "z": exactly}'),
    runs="""
        inspect
        validate  exactly is new (kernels/judged.py:«def exactly»), and 1 more
    """,
)
row(
    "a comparator is taken away",
    "judged",
    sub("kernels/judged.py", '    compare_fn={"y": functools.partial(within, share=0.5)},\n', ""),
    runs="""
        inspect
        validate  …
    """,
)
row(
    "a comparator's docstring and comments",
    "judged",
    sub("kernels/judged.py", "    worst = spread", '    """Within a share of the limit."""\n    worst = spread'),
)
row(
    "a guard that is switched off, with its reason",
    "lazy",
    sub("kernels/lazy.py", "golden=golden_lazy,", 'golden=golden_lazy, unguarded={"repeat": "a race is meant"},'),
    runs="""
        inspect
        execute  guard repeat on -> off
    """,
)
row(
    "the reason why a guard is off",
    "lazy",
    sub("kernels/lazy.py", "a race is meant", "a race is meant, and harmless"),
    before=(
        sub("kernels/lazy.py", "golden=golden_lazy,", 'golden=golden_lazy, unguarded={"repeat": "a race is meant"},'),
    ),
    runs="inspect",
)
row(
    "more runs that must give the same bits",
    "lazy",
    sub("kernels/lazy.py", "golden=golden_lazy,", "golden=golden_lazy, repeat=3,"),
    runs="""
        inspect
        execute  guard repeat on -> on in 3 runs
    """,
)
row(
    "a reason to trust a pass that means little",
    "lazy",
    sub("kernels/lazy.py", "golden=golden_lazy,", 'golden=golden_lazy, trust="for now",'),
    runs="""
        inspect
        validate  trust is new (kernels/lazy.py:«trust=»)
    """,
)
row(
    "a blind spot that is explained: only the teeth test asks",
    "lazy",
    sub("kernels/lazy.py", "golden=golden_lazy,", 'golden=golden_lazy, blind={"one NaN": "there are none"},'),
    runs="inspect",
)


# Edits without meaning

row(
    "Python: a comment in the golden function",
    "attention_decode",
    sub("kernels/attention_decode.py", "    group = q.shape", "    # heads share\n    group = q.shape"),
)
row(
    "Python: the file's docstring",
    "layer_norm",
    sub("kernels/layer_norm.py", '"""Layer normalisation of', '"""Layer norm of'),
)
row(
    "Python: an initialiser's docstring",
    "topk_gate",
    sub("kernels/topk_gate.py", '"""Scores in steps of an eighth, so', '"""Scores, so'),
)
row(
    "Python: formatting, quotes and brackets",
    "rope",
    sub(
        "kernels/rope.py",
        '    x_lo, x_hi = values["x"].chunk(2, dim=-1)\n',
        "    (x_lo, x_hi) = values['x'].chunk(\n        2,\n        dim=(-1),\n    )\n\n",
    ),
)
row(
    "Python: line ends and a tab",
    "gemm_int8",
    sub("kernels/gemm_int8.py", "TILE_M = 64\n", "TILE_M\t= 64   \n\n\n"),
)
row(
    "Python: the order of imports",
    "initial",
    sub("kernels/initial.py", "import numpy as np\nimport torch\n", "import torch\nimport numpy as np\n"),
    runs="inspect",
)
row(
    "Python: functions change places",
    "layer_norm",
    sub("kernels/layer_norm.py", "ROWS, COLS = 512, 256\nEPS = 1e-5  # the same as in layer_norm.cpp\n", ""),
    sub("kernels/layer_norm.py", "\n\ncase = Case(", "\n\nEPS = 1e-5\nROWS, COLS = 512, 256\n\ncase = Case("),
    runs="inspect  kernels/layer_norm.py changed",
)
row(
    "Python: code under `if False`",
    "topk_gate",
    sub(
        "kernels/topk_gate.py",
        '    values["values"][:] =',
        '    if False:\n        print("never")\n    values["values"][:] =',
    ),
)
row(
    "Python: code after a return",
    "topk_gate",
    sub("kernels/topk_gate.py", "round() / 8\n", "round() / 8\n    print(TOKENS)\n"),
)
row(
    "Python: a function that nothing calls",
    "helpers",
    sub("kernels/helpers.py", "return x * 3.0", "return x * 4.0"),
    runs="inspect",
)
row(
    "Python: a function and a constant that nothing reaches, two modules away",
    "helpers",
    sub("kernels/far_parts.py", "NOT_USED = 7", "NOT_USED = 8"),
    sub("kernels/far_parts.py", "return x - NOT_USED", "return NOT_USED - x"),
    runs="inspect  kernels/far_parts.py changed",
)
row(
    "Python: the function that returns the specs is written otherwise",
    "lazy",
    sub("kernels/lazy.py", "def build_specs()", "def make_specs()"),
    sub("kernels/lazy.py", "specs=build_specs", "specs=make_specs"),
    sub("kernels/lazy.py", "(SIZE,), torch.float32, is_output", "[4 * 2], torch.float, is_output"),
    runs="inspect  kernels/lazy.py changed",
)
row(
    "a case's limits of time and memory",
    "lazy",
    sub("kernels/lazy.py", "golden=golden_lazy,", "golden=golden_lazy, timeout=90, memory=2**34,"),
    runs="inspect",
)
row(
    "comments in dodo.py",
    "",
    add("dodo.py", "# nothing else\n"),
)
row(
    "Python: an import that nothing uses",
    "members",
    sub("kernels/members.py", "import torch\n", "import math\n\nimport torch\n"),
    runs="inspect",
)
row(
    "Python: a module of the package that nothing imports",
    "",
    new("kernels/toolbox/unused.py", "VALUE = 1\n"),
)
row(
    "Python: comments in all modules that a golden function reaches",
    "packaged",
    top("kernels/toolbox/__init__.py", "# a package\n"),
    top("kernels/toolbox/mixing.py", "# mixing\n"),
    sub("kernels/toolbox/numbers.py", "STEPS = 4", "STEPS = 4  # of a quarter"),
)
row(
    "Python: annotations of the golden function",
    "defaults",
    sub("kernels/defaults.py", "def golden_defaults(values: dict) -> None:", "def golden_defaults(values):"),
    runs="inspect",
)
row(
    "Python: what runs in a script only",
    "rope",
    sub("kernels/rope.py", "    case.main()", '    print("rope")\n    case.main()'),
    runs="inspect",
)
row(
    "an edit that is undone before doit runs",
    "topk_gate",
    undone(sub("kernels/topk_gate.py", "TOKENS, EXPERTS, TOP_K = 200", "TOKENS, EXPERTS, TOP_K = 100")),
    undone(sub("kernels/topk_gate.cpp", "void topk_gate", "void topk_gate_2")),
)
row(
    "files that are touched",
    "rms_norm",
    touch("kernels/rms_norm.py"),
    touch("kernels/rms_norm.cpp"),
    touch("build_output/rms_norm/contract.json"),
    touch("build_output/rms_norm/data/in/x.pt"),
    touch("build_output/rms_norm/cpu/runtime/kernels/rms_norm.so"),
)
row(
    "a golden constant of the same length, with size and time of its file restored",
    "constants",
    unnoticed(sub("kernels/constants.py", "GOLDEN_ONLY = 1.0", "GOLDEN_ONLY = 1.1")),
    runs="""
        inspect
        golden       GOLDEN_ONLY 1.0 -> 1.1 (kernels/constants.py:«GOLDEN_ONLY =»)
        F  validate  WRONG_VALUE
    """,
    verdicts={"constants on torch": "WRONG_VALUE"},
)
row(
    "a helper of the same length, with size and time of its file restored",
    "helpers",
    unnoticed(sub("kernels/far_parts.py", "SHIFT = 0.5", "SHIFT = 0.7")),
    runs="""
        inspect
        golden       SHIFT 0.5 -> 0.7 (kernels/far_parts.py:«SHIFT =»)
        F  validate  WRONG_VALUE
    """,
    verdicts={"helpers on torch": "WRONG_VALUE"},
)
row(
    "C++ of the same length, with size and time of its file restored",
    "positions",
    unnoticed(sub("kernels/positions.cpp", "y(i) = -x(i)", "y(i) = +x(i)")),
    runs="""
        compile      kernels/positions.cpp changed
        execute
        F  validate  WRONG_VALUE
    """,
    verdicts={"positions on cpu": "WRONG_VALUE"},
)

# Cases and platforms

FRESH = """\
import torch

from golden_tasks import Case, TensorSpec


def build_specs():
    return [TensorSpec("x", (4,), torch.float32, torch.rand), TensorSpec("y", (4,), torch.float32, is_output=True)]


def golden_fresh(values):
    values["y"][:] = values["x"] + 1


def fresh_torch(x, y):
    y[:] = x + 1


case = Case("fresh", specs=build_specs, golden=golden_fresh, programs={"torch": fresh_torch})
"""
row(
    "a new case in a new file",
    "fresh",
    new("kernels/fresh.py", FRESH),
    runs="""
        inspect   never made
        golden    never made
        compile   never made
        execute   never made
        validate  never made
        capture   never made
    """,
    verdicts={"fresh on torch": "PASSED"},
)
row(
    "a new case in a file that has others",
    "twin_first twin_second twin_third",
    add(
        "kernels/twins.py",
        'third = Case("twin_third", specs=build_specs, golden=golden_first, programs={"torch": first_torch})\n',
    ),
    runs="""
        inspect:twin_first
        inspect:twin_second
        inspect:twin_third   never made
        golden:twin_third    never made
        compile:twin_third   never made
        execute:twin_third   never made
        validate:twin_third  never made
        capture:twin_third   never made
    """,
    verdicts={"twin_third on torch": "PASSED"},
)
row(
    "a case's file is gone",
    "late",
    delete("kernels/late.py"),
    verdicts={"late on torch": None},
)
row(
    "one of two cases of a file is gone",
    "twin_first twin_second",
    sub("kernels/twins.py", 'second = Case("twin_second"', 'second = dict(name="twin_second"'),
    runs="inspect:twin_first",
    verdicts={"twin_second on torch": None},
)
row(
    "a case has another name",
    "late later",
    sub("kernels/late.py", 'Case("late"', 'Case("later"'),
    runs="""
        inspect:later   never made
        golden:later    never made
        compile:later   never made
        execute:later   never made
        validate:later  never made
        capture:later   never made
    """,
    verdicts={"late on torch": None, "later on torch": "PASSED"},
)
row(
    "a case's file has another name",
    "objects",
    rename("kernels/objects.py", "kernels/all_objects.py"),
    runs="inspect  kernels/all_objects.py …",
)
row(
    "a case's file has another name: an enum's members are what they were",
    "members",
    rename("kernels/members.py", "kernels/all_members.py"),
    runs="inspect  kernels/all_members.py …",
)
row(
    "a second platform",
    "nested",
    sub("kernels/nested.py", "case = Case(", "def nested_torch(x, y):\n    y[:] = x + 1\n\n\ncase = Case("),
    sub("kernels/nested.py", 'CppKernel("sub/nested.cpp")}', 'CppKernel("sub/nested.cpp"), "torch": nested_torch}'),
    runs="""
        inspect         kernels/nested.py changed, and 1 more
        compile@torch   never made
        execute@torch   never made
        validate@torch  never made
    """,
    verdicts={"nested on torch": "PASSED"},
)
row(
    "a platform is taken away",
    "rms_norm",
    sub("kernels/rms_norm.py", ', "torch": rms_norm_torch}', "}"),
    runs="inspect  kernels/rms_norm.py changed, and 1 more",
    verdicts={"rms_norm on torch": None},
)

# Artefacts that are removed

row(
    "removed: inspect.json",
    "defaults",
    delete("build_output/defaults/inspect.json"),
    runs="inspect  build_output/defaults/inspect.json is gone",
)
row(
    "removed: contract.json",
    "softmax",
    delete("build_output/softmax/contract.json"),
    runs="inspect  build_output/softmax/contract.json is missing",
)
row(
    "removed: policy.json",
    "members",
    delete("build_output/members/policy.json"),
    runs="inspect  build_output/members/policy.json is missing",
)
row(
    "removed: program.json",
    "rms_norm",
    delete("build_output/rms_norm/torch/program.json"),
    runs="inspect  build_output/rms_norm/torch/program.json is missing",
)
row(
    "removed: the build",
    "gemm_int8",
    delete("build_output/gemm_int8/cpu/runtime"),
    runs="compile  build_output/gemm_int8/cpu/runtime/build.json is gone",
)
row(
    "removed: a build for torch",
    "ported",
    delete("build_output/ported/torch/runtime"),
    runs="compile@torch  build_output/ported/torch/runtime/build.json is gone",
)
row(
    "removed: build.json",
    "rope",
    delete("build_output/rope/cpu/runtime/build.json"),
    runs="compile  build_output/rope/cpu/runtime/build.json is gone",
)
row(
    "removed: the binary",
    "topk_gate",
    delete("build_output/topk_gate/cpu/runtime/kernels/topk_gate.so"),
    runs="compile  build_output/topk_gate/cpu/runtime/kernels/topk_gate.so is missing",
)
row(
    "removed: the run's outputs",
    "attention_decode",
    delete("build_output/attention_decode/cpu/replay"),
    runs="execute  build_output/attention_decode/cpu/replay/out/k_cache.pt is missing, and 2 more",
)
row(
    "removed: run.json",
    "layer_norm",
    delete("build_output/layer_norm/cpu/run.json"),
    runs="execute  build_output/layer_norm/cpu/run.json is gone",
)
row(
    "removed: verdict.json",
    "attention_decode",
    delete("build_output/attention_decode/cpu/verdict.json"),
    runs="validate  build_output/attention_decode/cpu/verdict.json is gone",
)
row(
    "removed: the snapshot",
    "gemm_int8",
    delete("build_output/gemm_int8/data"),
    runs="""
        golden   build_output/gemm_int8/data/manifest.json is gone
        capture  never made
    """,
)
row(
    "removed: a pending snapshot",
    "objects",
    delete("build_output/objects/pending"),
    before=(sub("kernels/objects.py", "lift = 0.5", "lift = 0.75"),),
    runs="""
        golden       Model.lift 0.5 -> 0.75 (kernels/objects.py…)
        F  validate  WRONG_VALUE   (as recorded: nothing has changed since)
    """,
    verdicts={"objects on torch": "WRONG_VALUE"},
)
row(
    "removed: the manifest",
    "topk_gate",
    delete("build_output/topk_gate/data/manifest.json"),
    runs="F  golden  DAMAGED  build_output/topk_gate/data/manifest.json is missing or damaged",
    verdicts={"topk_gate on cpu": "DAMAGED"},
)
row(
    "removed: a file of the inputs",
    "rms_norm",
    delete("build_output/rms_norm/data/in/gamma.pt"),
    runs="F  golden  DAMAGED  build_output/rms_norm/data/in/gamma.pt is missing",
    verdicts={"rms_norm on cpu": "DAMAGED", "rms_norm on torch": "DAMAGED"},
)
row(
    "removed: a file of the expected outputs",
    "rope",
    delete("build_output/rope/data/out/y.pt"),
    runs="F  golden  DAMAGED  build_output/rope/data/out/y.pt is missing",
    verdicts={"rope on cpu": "DAMAGED"},
)
row(
    "removed: doit's state",
    "",
    delete("build_output/.doit.sqlite3"),
)
row(
    "removed: the memory of files",
    "",
    delete("build_output/.memory.json"),
)
row(
    "removed: logs and locks",
    "positions",
    delete("build_output/positions/inspect.log"),
    delete("build_output/positions/cpu/compile.log"),
    delete("build_output/positions/.snapshot.lock"),
)
row(
    "removed: all of a case",
    "twin_second",
    delete("build_output/twin_second"),
    runs="""
        inspect   never made
        golden    never made
        compile   never made
        execute   never made
        validate  never made
        capture   never made
    """,
)

# Artefacts that are edited or damaged

row(
    "damaged: inspect.json",
    "twin_first",
    cut("build_output/twin_first/inspect.json"),
    runs="inspect  build_output/twin_first/inspect.json was edited or damaged",
)
row(
    "edited: inspect.json",
    "tables",
    in_record("build_output/tables/inspect.json", "made_from", "kernels/tables.py", to="blake3:0"),
    runs="inspect  build_output/tables/inspect.json was edited or damaged",
)
row(
    "damaged: contract.json",
    "twin_first",
    cut("build_output/twin_first/contract.json"),
    runs="inspect  build_output/twin_first/contract.json was altered",
)
row(
    "edited: contract.json",
    "initial",
    in_record("build_output/initial/contract.json", "seed", to=7),
    runs="inspect  build_output/initial/contract.json was altered",
)
row(
    "edited: policy.json",
    "members",
    in_record("build_output/members/policy.json", "rtol", to=1.0),
    runs="inspect  build_output/members/policy.json was altered",
)
row(
    "edited: program.json",
    "positions",
    in_record("build_output/positions/cpu/program.json", "plan", "debug", to=True),
    runs="inspect  build_output/positions/cpu/program.json was altered",
)
row(
    "damaged: build.json",
    "nested",
    cut("build_output/nested/cpu/runtime/build.json"),
    runs="compile  build_output/nested/cpu/runtime/build.json was edited or damaged",
)
row(
    "edited: build.json",
    "matmul",
    in_record("build_output/matmul/cpu/runtime/build.json", "made_from", "tile TILE_M", to="16"),
    runs="compile  build_output/matmul/cpu/runtime/build.json was edited or damaged",
)
row(
    "edited: the binary",
    "gemm_int8",
    flip("build_output/gemm_int8/cpu/runtime/kernels/gemm_int8.so"),
    runs="compile  build_output/gemm_int8/cpu/runtime/kernels/gemm_int8.so was altered",
)
row(
    "edited: a source in the build",
    "attention_decode",
    add("build_output/attention_decode/cpu/runtime/kernels/attention_decode.cpp", "\n"),
    runs="compile  build_output/attention_decode/cpu/runtime/kernels/attention_decode.cpp was altered",
)
row(
    "edited: the generated code in the build",
    "layer_norm",
    add("build_output/layer_norm/cpu/runtime/orchestration/layer_norm.cpp", "\n"),
    runs="compile  build_output/layer_norm/cpu/runtime/orchestration/layer_norm.cpp was altered",
)
row(
    "edited: the source in a build for torch",
    "configured",
    add("build_output/configured/torch/runtime/kernels/configured.py", "\n"),
    runs="compile  build_output/configured/torch/runtime/kernels/configured.py was altered",
)
row(
    "damaged: one of the run's outputs",
    "softmax",
    flip("build_output/softmax/cpu/replay/out/y.pt"),
    runs="execute  build_output/softmax/cpu/replay/out/y.pt was altered",
)
row(
    "damaged: run.json",
    "packaged",
    cut("build_output/packaged/torch/run.json"),
    runs="execute  build_output/packaged/torch/run.json was edited or damaged",
)
row(
    "edited: run.json",
    "rms_norm",
    in_record("build_output/rms_norm/cpu/run.json", "made_from", "inputs", to="blake3:0"),
    runs="execute  build_output/rms_norm/cpu/run.json was edited or damaged",
)
row(
    "damaged: verdict.json",
    "late",
    cut("build_output/late/torch/verdict.json"),
    runs="validate  build_output/late/torch/verdict.json was edited or damaged",
)
row(
    "edited: verdict.json",
    "softmax",
    in_record("build_output/softmax/torch/verdict.json", "made_from", "rtol", to="0.1"),
    runs="validate@torch  build_output/softmax/torch/verdict.json was edited or damaged",
)
row(
    "edited: a failing verdict.json that is made to say PASSED",
    "members",
    in_record("build_output/members/torch/verdict.json", "status", to="PASSED"),
    before=(sub("kernels/members.py", "y[:] = x + 2.25", "y[:] = x + 3"),),
    runs="F  validate  WRONG_VALUE",
    verdicts={"members on torch": "WRONG_VALUE"},
)
row(
    "damaged: the manifest",
    "twin_second",
    cut("build_output/twin_second/data/manifest.json"),
    runs="F  golden  DAMAGED  build_output/twin_second/data/manifest.json is missing or damaged",
    verdicts={"twin_second on torch": "DAMAGED"},
)
row(
    "edited: the manifest",
    "configured",
    in_record("build_output/configured/data/manifest.json", "outputs", to="blake3:0"),
    runs="F  golden  DAMAGED  build_output/configured/data/manifest.json is missing or damaged",
    verdicts={"configured on torch": "DAMAGED"},
)
row(
    "edited: what the manifest says it was made from",
    "defaults",
    in_record("build_output/defaults/data/manifest.json", "made_from", "seed", to="9"),
    runs="F  golden  DAMAGED  build_output/defaults/data/manifest.json is missing or damaged",
    verdicts={"defaults on torch": "DAMAGED"},
)
row(
    "damaged: a file of the inputs",
    "configured",
    flip("build_output/configured/data/in/x.pt"),
    runs="F  golden  DAMAGED  build_output/configured/data/in/x.pt is not what its manifest says: …",
    verdicts={"configured on torch": "DAMAGED"},
)
row(
    "damaged: a file of the inputs is cut off",
    "gemm_int8",
    cut("build_output/gemm_int8/data/in/scale.pt"),
    runs="F  golden  DAMAGED  build_output/gemm_int8/data/in/scale.pt is not what its manifest says: …",
    verdicts={"gemm_int8 on cpu": "DAMAGED"},
)
row(
    "damaged: a file of the expected outputs",
    "attention_decode",
    flip("build_output/attention_decode/data/out/out.pt"),
    runs="F  golden  DAMAGED  build_output/attention_decode/data/out/out.pt is not what its manifest says: …",
    verdicts={"attention_decode on cpu": "DAMAGED"},
)
row(
    "damaged: two files of a snapshot, size and time restored",
    "softmax",
    unnoticed(flip("build_output/softmax/data/out/y.pt")),
    unnoticed(flip("build_output/softmax/data/in/x.pt")),
    runs="F  golden  DAMAGED  build_output/softmax/data/in/x.pt is not what its manifest says: …",
    verdicts={"softmax on cpu": "DAMAGED", "softmax on torch": "DAMAGED"},
)
row(
    "damaged: a file of a snapshot that the next edit makes again",
    "packaged",
    flip("build_output/packaged/data/out/y.pt"),
    sub("kernels/toolbox/numbers.py", "WEIGHT = 0.75", "WEIGHT = 0.750001"),
    runs="""
        inspect
        golden   WEIGHT 0.75 -> 0.750001 (kernels/toolbox/numbers.py:«WEIGHT =»)
        validate
        capture
    """,
)
row(
    "damaged: doit's state",
    "",
    cut("build_output/.doit.sqlite3"),
)
row(
    "damaged: the memory of files",
    "",
    cut("build_output/.memory.json"),
)
