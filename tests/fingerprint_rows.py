"""Edits of small projects, for the tests of fingerprints: what each must change, or leave alone.

`«old|new»` in a text is the edit. A text alone is the module `kernel`, whose `golden` is the golden function.
"""

from __future__ import annotations

Files = dict[str, str]

# What the golden function reaches: each edit is seen, and everything could be resolved.
CHANGES: dict[str, str | Files] = {
    # The golden function itself
    "its body": "def golden(v): return v + «1|2»",
    "a constant's type in it": "def golden(v): return v + «1|1.0»",
    "a constant's sign in it": "def golden(v): return v * «0.0|-0.0»",
    "a text in it that is no docstring": """
        def golden(v):
            v.mode = «'a'|'b'»
    """,
    "a decorator added": """
        import torch
        «|@torch.no_grad()»
        def golden(v): return v
    """,
    "a decorator's argument that is a global": """
        import torch
        DTYPE = torch.«float16|bfloat16»
        @torch.autocast("cpu", dtype=DTYPE)
        def golden(v): return v
    """,
    "the body under torch.no_grad": """
        import torch
        @torch.no_grad()
        def golden(v): return v + «1|2»
    """,
    "the body under a wrapper of the project": """
        import functools
        def twice(f):
            @functools.wraps(f)
            def wrapper(v): return f(f(v))
            return wrapper
        @twice
        def golden(v): return v + «1|2»
    """,
    "a wrapper of the project": """
        import functools
        def twice(f):
            @functools.wraps(f)
            def wrapper(v): return f(f(v)) + «1|2»
            return wrapper
        @twice
        def golden(v): return v
    """,
    "which wrapper of a library is put around it": """
        import torch
        def impl(v): return v
        golden = torch.«no_grad|enable_grad»()(impl)
    """,
    "a helper under lru_cache": """
        import functools
        @functools.lru_cache(maxsize=None)
        def helper(n): return n + «1|2»
        def golden(v): return v + helper(3)
    """,
    "a helper under contextmanager": """
        import contextlib
        @contextlib.contextmanager
        def scale(): yield «1|2»
        def golden(v):
            with scale() as s: return v * s
    """,
    "a helper under singledispatch": """
        import functools
        @functools.singledispatch
        def helper(v): return 0
        @helper.register
        def _(v: int): return «1|2»
        def golden(v): return helper(v)
    """,
    "a default": "def golden(v, eps=«1|2»): return v + eps",
    "a default that is a global": "EPS = «1|2»\ndef golden(v, eps=EPS): return v + eps",
    "a keyword-only default": "EPS = «1|2»\ndef golden(v, *, eps=EPS): return v + eps",
    "a closure's value": """
        def make(n):
            def golden(v): return v + n
            return golden
        golden = make(«1|2»)
    """,
    "a closure's function": """
        def one(v): return 1
        def two(v): return 2
        def make(f): return lambda v: f(v)
        golden = make(«one|two»)
    """,
    "a closure made in a loop": """
        makers = []
        for n in range(«3|4»):
            makers.append(lambda v, n=n: v + n)
        golden = makers[-1]
    """,
    "a function attribute": "def golden(v): return v + golden.eps\ngolden.eps = «1|2»",
    "a partial's argument": """
        import functools
        def impl(v, n, m=0): return v + n
        golden = functools.partial(impl, n=«1|2»)
    """,
    "a partial's function": """
        import functools
        def impl(v, n): return v + «n|2 * n»
        golden = functools.partial(impl, n=1)
    """,
    "a lambda": "golden = lambda v: v + «1|2»",
    "the first of two lambdas on a line": "other, golden = lambda v: v, lambda v: v + «1|2»",
    "which of two lambdas on a line": "«golden, other|other, golden» = lambda v: v + 1, lambda v: v + 2",
    "which of two lambdas on a line, by a constant elsewhere": """
        INDEX = «0|1»
        golden = [lambda v: v + 1, lambda v: v + 2][INDEX]
    """,
    "a method": """
        class Golden:
            def run(self, v): return v + «1|2»
        golden = Golden().run
    """,
    "the object that a method belongs to": """
        class Golden:
            def __init__(self, n): self.n = n
            def run(self, v): return v + self.n
        golden = Golden(«1|2»).run
    """,
    "a callable object": """
        class Golden:
            def __call__(self, v): return v + «1|2»
        golden = Golden()
    """,
    # Functions that it reaches
    "a helper": """
        def helper(v): return v + «1|2»
        def golden(v): return helper(v)
    """,
    "a helper's helper": """
        def inner(v): return v + «1|2»
        def helper(v): return inner(v)
        def golden(v): return helper(v)
    """,
    "a helper two modules away": {
        "kernel.py": "from near import near\ndef golden(v): return near(v)",
        "near.py": "import far\ndef near(v): return far.far(v)",
        "far.py": "def far(v): return v + «1|2»",
    },
    "a helper imported by name": {
        "kernel.py": "from helpers import f\ndef golden(v): return f(v)",
        "helpers.py": "def f(v): return v + «1|2»",
    },
    "a helper imported under another name": {
        "kernel.py": "from helpers import f as g\ndef golden(v): return g(v)",
        "helpers.py": "def f(v): return v + «1|2»",
    },
    "a helper reached through its module": {
        "kernel.py": "import helpers\ndef golden(v): return helpers.f(v)",
        "helpers.py": "def f(v): return v + «1|2»",
    },
    "a helper in a package": {
        "kernel.py": "import pkg.m\ndef golden(v): return pkg.m.f(v)",
        "pkg/__init__.py": "",
        "pkg/m.py": "def f(v): return v + «1|2»",
    },
    "a helper in a package under another name": {
        "kernel.py": "import pkg.m as x\ndef golden(v): return x.f(v)",
        "pkg/__init__.py": "",
        "pkg/m.py": "def f(v): return v + «1|2»",
    },
    "a helper in a package without __init__": {
        "kernel.py": "import space.m\ndef golden(v): return space.m.f(v)",
        "space/m.py": "def f(v): return v + «1|2»",
    },
    "a helper in a package, by a relative import": {
        "kernel.py": "from pkg import f\ndef golden(v): return f(v)",
        "pkg/__init__.py": "from .m import f",
        "pkg/m.py": "from . import n\ndef f(v): return n.g(v)",
        "pkg/n.py": "def g(v): return v + «1|2»",
    },
    "a helper imported with a star": {
        "kernel.py": "from helpers import *\ndef golden(v): return f(v)",
        "helpers.py": "def f(v): return v + «1|2»",
    },
    "a helper named in a nested function": """
        def helper(v): return v + «1|2»
        def golden(v):
            def inner(w): return helper(w)
            return inner(v)
    """,
    "a helper named in a comprehension": """
        def helper(v): return v + «1|2»
        def golden(v): return [helper(w) for w in v]
    """,
    "a helper named in a class inside": """
        def helper(v): return v + «1|2»
        def golden(v):
            class Inner:
                value = helper(v)
            return Inner.value
    """,
    "recursion": "def golden(v): return golden(v - 1) if v else «1|2»",
    "mutual recursion": """
        def even(n): return n == 0 or odd(n - 1)
        def odd(n): return n != «0|1» and even(n - 1)
        def golden(v): return even(v)
    """,
    "an alias that is pointed at another reached function": """
        def relu(v): return v
        def gelu(v): return -v
        act = «relu|gelu»
        def golden(v): return act(v) + relu(v) + gelu(v)
    """,
    "an alias in another module that is pointed at another reached function": {
        "kernel.py": "import a, b, c\ndef golden(v): return a.f(v) + b.f(v) + c.g(v)",
        "a.py": "def f(v): return 1",
        "b.py": "def f(v): return 2",
        "c.py": "from «a|b» import f\ndef g(v): return f(v)",
    },
    "a module's name that is pointed at another reached module": {
        "kernel.py": "import a, b, «a|b» as m\ndef golden(v): return m.f(v) + a.f(v) + b.f(v)",
        "a.py": "def f(v): return 1",
        "b.py": "def f(v): return 2",
    },
    "two functions of one name in two modules change places": {
        "kernel.py": "import a, b\nN = 1\ndef golden(v): return N + a.«f|g»(v) + b.«g|f»(v)",
        "a.py": "N = 1\ndef f(v): return v + N\ndef g(v): return v - N",
        "b.py": "N = 2\ndef f(v): return v + N\ndef g(v): return v - N",
    },
    "a function that is replaced after its definition": {
        "kernel.py": "import helpers\ndef patch(v): return v + «1|2»\nhelpers.f = patch\n"
        "def golden(v): return helpers.f(v)",
        "helpers.py": "def f(v): return v",
    },
    "a library's function that the project replaces": """
        import statistics
        def patch(v): return v + «1|2»
        statistics.cbrt = patch
        def golden(v): return statistics.cbrt(v)
    """,
    "a function of a library, imported by name": "from torch import «sin|cos» as f\ndef golden(v): return f(v)",
    "a library's module under a name": "import torch.«nn.functional|special» as F\ndef golden(v): return F.relu(v)",
    "a library's module under a name, in another module": {
        "kernel.py": "import helpers\ndef golden(v): return helpers.F.relu(v)",
        "helpers.py": "import torch.«nn.functional|special» as F",
    },
    "a global that a builtin hid": "«|def max(v): return 0\n»def golden(v): return max(v)",
    "a module with __getattr__": {
        "kernel.py": "import lazy\ndef golden(v): return lazy.f(v)",
        "lazy.py": "def _f(v): return v + «1|2»\ndef __getattr__(name):\n    return {'f': _f}[name]",
    },
    # Values that it reaches
    "a constant": "EPS = «1e-5|1e-6»\ndef golden(v): return v + EPS",
    "a constant's type": "EPS = «1|True»\ndef golden(v): return v + EPS",
    "a constant in a nested function": "EPS = «1|2»\ndef golden(v): return (lambda: (lambda: EPS)())()",
    "a constant in a comprehension": "EPS = «1|2»\ndef golden(v): return {w: EPS for w in v}",
    "a constant in a formatted text": "EPS = «1|2»\ndef golden(v): return f'{EPS:.3f}'",
    "a constant in a match": "class K:\n    EPS = «1|2»\ndef golden(v):\n    match v:\n        case K.EPS: return 1",
    "a constant that is declared global": "EPS = «1|2»\ndef golden(v):\n    global EPS\n    EPS += 1\n    return EPS",
    "a constant two modules away": {
        "kernel.py": "from near import EPS\ndef golden(v): return v + EPS",
        "near.py": "from far import EPS",
        "far.py": "EPS = «1|2»",
    },
    "a constant of the same name in another module": {
        "kernel.py": "import a, b\ndef golden(v): return a.EPS + b.EPS",
        "a.py": "EPS = 1",
        "b.py": "EPS = «1|2»",
    },
    "constants of one name that change places": {
        "kernel.py": "import a, b\ndef golden(v): return a.EPS - b.EPS",
        "a.py": "EPS = «1|2»",
        "b.py": "EPS = «2|1»",
    },
    "lists of one name, one imported from elsewhere": {
        "kernel.py": "import a, b, c\ndef golden(v): return a.f(v) + b.f(v) + c.f(v)",
        "a.py": "L = [1]\ndef f(v): return L",
        "b.py": "L = [2]\ndef f(v): return L",
        "c.py": "from «a|b» import L\ndef f(v): return L",
    },
    "a condition on a constant": "FAST = «True|False»\nEPS = 1 if FAST else 2\ndef golden(v): return v + EPS",
    "which definition a constant chooses": """
        FAST = «True|False»
        if FAST:
            def helper(v): return v
        else:
            def helper(v): return -v
        def golden(v): return helper(v)
    """,
    "a constant that is computed": "def make(): return «1|2»\nEPS = make()\ndef golden(v): return v + EPS",
    "a constant that is set from another module": {
        "kernel.py": "import config, setup_\ndef golden(v): return v + config.EPS",
        "config.py": "EPS = 0",
        "setup_.py": "import config\nconfig.EPS = «1|2»",
    },
    "a huge number": "N = 10 ** 5000 + «1|2»\ndef golden(v): return v % N",
    "a nested container": "C = {'a': [1, (2, {3: «4|5»})]}\ndef golden(v): return C",
    "the order of a dict": "C = {«'a': 1, 'b': 2|'b': 2, 'a': 1»}\ndef golden(v): return list(C)",
    "a list that becomes a tuple": "C = «[1]|(1,)»\ndef golden(v): return C",
    "a set of tuples": "C = {(1, 'a'), (2, «'b'|'c'»)}\ndef golden(v): return C",
    "a set of dtypes": "import torch\nC = {torch.float16, torch.«float32|float64»}\ndef golden(v): return v in C",
    "a list that stands twice in a list": "R = [0]\nC = [R, «R|[0]»]\ndef golden(v): return C",
    "a list that holds itself": "C = [«1|2»]\nC.append(C)\ndef golden(v): return C",
    "a function in a container": "C = {'f': lambda v: v + «1|2»}\ndef golden(v): return C['f'](v)",
    "a dict with functions as keys": "def f(v): return «1|2»\nC = {f: 1}\ndef golden(v): return C",
    "a slice's ends": "N = «1|2»\nS = slice(0, N)\ndef golden(v): return v[S]",
    "a range": "R = range(«1|2»)\ndef golden(v): return R",
    "a defaultdict's factory": """
        import collections
        C = collections.defaultdict(lambda: «1|2»)
        def golden(v): return C[v]
    """,
    "the order of an OrderedDict": """
        import collections
        C = collections.OrderedDict(a=1, b=2)
        C.move_to_end(«'a'|'b'»)
        def golden(v): return C
    """,
    "a deque": "import collections\nC = collections.deque([«1|2»], 3)\ndef golden(v): return C",
    "an attribute of a list's subclass": """
        class L(list): pass
        C = L([1])
        C.scale = «1|2»
        def golden(v): return list(C), C
    """,
    "an item of a dict's subclass": "class D(dict): pass\nC = D(a=«1|2»)\ndef golden(v): return C['a']",
    "the value of an int's subclass": "class N(int): pass\nC = N(«1|2»)\ndef golden(v): return C",
    "an int that becomes an int's subclass": "class N(int): pass\nC = «1|N(1)»\ndef golden(v): return C",
    "a date": "import datetime\nD = datetime.date(2024, 1, «1|2»)\ndef golden(v): return D",
    "a decimal number": "import decimal\nD = decimal.Decimal('1.«1|2»')\ndef golden(v): return D",
    "a fraction": "import fractions\nD = fractions.Fraction(1, «2|3»)\ndef golden(v): return D",
    "an itemgetter": "import operator\nG = operator.itemgetter(«1|2»)\ndef golden(v): return G(v)",
    "a method of a dict": "G = {1: «1|2»}.get\ndef golden(v): return G(v)",
    "a namespace": "import types\nC = types.SimpleNamespace(eps=«1|2»)\ndef golden(v): return vars(C)",
    "a random number generator": "import random\nR = random.Random(«1|2»)\ndef golden(v): return R.random()",
    "a regex": "import re\nR = re.compile('a«b|c»')\ndef golden(v): return R.match(v)",
    "a regex's flags": "import re\nR = re.compile('a', re.«I|M»)\ndef golden(v): return R.match(v)",
    "a path": "from pathlib import Path\nP = Path('data/«a|b».bin')\ndef golden(v): return P.read_bytes()",
    "a path beside the file": """
        from pathlib import Path
        P = Path(__file__).parent / '«a|b».bin'
        def golden(v): return P.read_bytes()
    """,
    # Classes and objects that it reaches
    "a method of a class": """
        class Model:
            def run(self, v): return v + «1|2»
        def golden(v): return Model().run(v)
    """,
    "what a method names": """
        EPS = «1|2»
        class Model:
            def run(self, v): return v + EPS
        def golden(v): return Model().run(v)
    """,
    "a property": """
        class Model:
            @property
            def eps(self): return «1|2»
        def golden(v): return v + Model().eps
    """,
    "what a cached property names": """
        import functools
        EPS = «1|2»
        class Model:
            @functools.cached_property
            def eps(self): return EPS
        def golden(v): return v + Model().eps
    """,
    "what a method under lru_cache names": """
        import functools
        EPS = «1|2»
        class Model:
            @functools.lru_cache
            def run(self, v): return v + EPS
        def golden(v): return Model().run(v)
    """,
    "what a method under torch.no_grad names": """
        import torch
        EPS = «1|2»
        class Model:
            @torch.no_grad()
            def run(self, v): return v + EPS
        def golden(v): return Model().run(v)
    """,
    "a partial method": """
        import functools
        class Model:
            def run(self, n): return n
            one = functools.partialmethod(run, «1|2»)
        def golden(v): return Model().one()
    """,
    "a classmethod": """
        class Model:
            @classmethod
            def run(cls, v): return v + «1|2»
        def golden(v): return Model.run(v)
    """,
    "a staticmethod": """
        class Model:
            @staticmethod
            def run(v): return v + «1|2»
        def golden(v): return Model.run(v)
    """,
    "an operator": """
        class Model:
            def __matmul__(self, v): return v + «1|2»
        def golden(v): return Model() @ v
    """,
    "a function that is put in a class by its name": """
        def run(self, v): return v + «1|2»
        class Model: pass
        Model.run = run
        def golden(v): return Model().run(v)
    """,
    "a class's constant": "class Config:\n    EPS = «1|2»\ndef golden(v): return v + Config.EPS",
    "a class's constant that a method reads": """
        class Config:
            EPS = «1|2»
            def run(self, v): return v + self.EPS
        def golden(v): return Config().run(v)
    """,
    "a class's constant that is set later": """
        class Config:
            EPS = 0
        Config.EPS = «1|2»
        def golden(v): return v + Config.EPS
    """,
    "a class's constant reached through an object": """
        class Config:
            EPS = «1|2»
        config = Config()
        def golden(v): return v + config.EPS
    """,
    "a private name in a class": """
        class Model:
            def __eps(self): return «1|2»
            def run(self, v): return v + self.__eps()
        def golden(v): return Model().run(v)
    """,
    "a class in a class": """
        class Model:
            class Inner:
                def run(self, v): return v + «1|2»
        def golden(v): return Model.Inner().run(v)
    """,
    "a class in a function": """
        def make():
            class Model:
                def run(self, v): return v + «1|2»
            return Model
        Made = make()
        def golden(v): return Made().run(v)
    """,
    "a base class": """
        class Base:
            def run(self, v): return v + «1|2»
        class Model(Base): pass
        def golden(v): return Model().run(v)
    """,
    "a base class two modules away": {
        "kernel.py": "from near import Near\nclass Model(Near): pass\ndef golden(v): return Model().run(v)",
        "near.py": "import far\nclass Near(far.Far): pass",
        "far.py": "class Far:\n    def run(self, v): return v + «1|2»",
    },
    "which class is the base": """
        class A:
            def run(self, v): return 1
        class B:
            def run(self, v): return 2
        Base = «A|B»
        class Model(Base): pass
        def golden(v): return Model().run(v) + A().run(v) + B().run(v)
    """,
    "a metaclass": """
        class Meta(type):
            def __call__(cls): return «1|2»
        class Model(metaclass=Meta): pass
        def golden(v): return v + Model()
    """,
    "an abstract class's method": """
        import abc
        class Base(abc.ABC):
            @abc.abstractmethod
            def run(self): ...
            def twice(self): return «1|2» * self.run()
        class Model(Base):
            def run(self): return 1
        def golden(v): return Model().twice()
    """,
    "a class's other definition under a condition": """
        FAST = «True|False»
        if FAST:
            class Model:
                def run(self, v): return v
        else:
            class Model:
                def run(self, v): return -v
        def golden(v): return Model().run(v)
    """,
    "classes of one name in two modules": {
        "kernel.py": "import a, b\ndef golden(v): return a.Model().run(v) + b.Model().run(v)",
        "a.py": "class Model:\n    def run(self, v): return 1",
        "b.py": "class Model:\n    def run(self, v): return «1|2»",
    },
    "a descriptor": """
        class Scaled:
            def __get__(self, obj, cls): return «1|2»
        class Model:
            eps = Scaled()
        def golden(v): return v + Model().eps
    """,
    "a class decorator's argument that is a global": """
        import dataclasses
        FROZEN = «True|False»
        @dataclasses.dataclass(frozen=FROZEN)
        class Config:
            eps: int = 1
        def golden(v): return Config()
    """,
    "a dataclass's default": """
        import dataclasses
        @dataclasses.dataclass
        class Config:
            eps: int = «1|2»
        def golden(v): return v + Config().eps
    """,
    "a dataclass's default that is a global": """
        import dataclasses
        EPS = «1|2»
        @dataclasses.dataclass(slots=True)
        class Config:
            eps: int = EPS
        def golden(v): return v + Config().eps
    """,
    "what a dataclass's factory names": """
        import dataclasses
        EPS = «1|2»
        @dataclasses.dataclass
        class Config:
            eps: list = dataclasses.field(default_factory=lambda: [EPS])
        def golden(v): return Config().eps
    """,
    "a dataclass's field option": """
        import dataclasses
        @dataclasses.dataclass
        class Config:
            eps: int = dataclasses.field(default=1, compare=«True|False»)
        def golden(v): return Config(1) == Config(2)
    """,
    "a dataclass's order of fields": """
        import dataclasses
        @dataclasses.dataclass
        class Config:
            «a: int = 1|b: int = 2»
            «b: int = 2|a: int = 1»
        def golden(v): return Config(v)
    """,
    "a dataclass object's field": """
        import dataclasses
        @dataclasses.dataclass
        class Config:
            eps: int = 1
        config = Config(«1|2»)
        def golden(v): return v + config.eps
    """,
    "a namedtuple's field": """
        import collections
        P = collections.namedtuple("P", "a b")
        C = P(1, «2|3»)
        def golden(v): return C.b
    """,
    "a namedtuple's default": """
        import typing
        class P(typing.NamedTuple):
            a: int = «1|2»
        def golden(v): return P().a
    """,
    "an enum member": """
        import enum
        class Mode(enum.Enum):
            A = «1|2»
        def golden(v): return v + Mode.A.value
    """,
    "an enum member that is a global": """
        import enum
        EPS = «1|2»
        class Mode(enum.IntEnum):
            A = EPS
        def golden(v): return v + Mode.A
    """,
    "which enum member": """
        import enum
        class Mode(enum.Enum):
            A = 1
            B = 2
        MODE = Mode.«A|B»
        def golden(v): return v if MODE is Mode.A else -v
    """,
    "an enum's method": """
        import enum
        class Mode(enum.Enum):
            A = 1
            def scale(self): return «1|2»
        def golden(v): return v + Mode.A.scale()
    """,
    "an enum's __new__": """
        import enum
        class Mode(enum.Enum):
            A = 1
            def __new__(cls, value):
                self = object.__new__(cls)
                self._value_ = value
                self.scale = value * «1|2»
                return self
        def golden(v): return v + Mode.A.scale
    """,
    "an attribute of an object": """
        class Config:
            def __init__(self, eps): self.eps = eps
        config = Config(«1|2»)
        def golden(v): return vars(config)
    """,
    "a slot of an object": """
        class Config:
            __slots__ = ("eps", "__hidden")
            def __init__(self, eps): self.eps, self.__hidden = 0, eps
            def get(self): return self.__hidden
        config = Config(«1|2»)
        def golden(v): return v + config.get()
    """,
    "a field of an object in a class": """
        class Inner:
            def __init__(self, eps): self.eps = eps
        class Config:
            inner = Inner(«1|2»)
        def golden(v): return v + Config.inner.eps
    """,
    "two objects that hold each other": """
        class Node: pass
        a, b = Node(), Node()
        a.other, b.other, b.eps = b, a, «1|2»
        def golden(v): return a, a.other.eps
    """,
    "objects in a long row": """
        class Node:
            def __init__(self, next): self.next = next
        node = «1|2»
        for _ in range(3000): node = Node(node)
        def golden(v): return node
    """,
    "an attribute that __getattr__ computes": """
        class Config:
            def __getattr__(self, name): return «1|2»
        config = Config()
        def golden(v): return v + config.eps
    """,
    "an attribute that __getattribute__ computes": """
        class Config:
            eps = 0
            def __getattribute__(self, name): return «1|2»
        config = Config()
        def golden(v): return v + config.eps
    """,
    "an object that pickles less than it holds": """
        class Config:
            def __init__(self, eps): self.eps = eps
            def __reduce__(self): return (Config, (0,))
        config = Config(«1|2»)
        def golden(v): return vars(config)
    """,
    "a method that a base's __init_subclass__ adds": """
        class Base:
            def __init_subclass__(cls): cls.run = lambda self, v: v + «1|2»
        class Model(Base): pass
        def golden(v): return Model().run(v)
    """,
    "a protocol's and a generic class's method": """
        import typing
        T = typing.TypeVar("T")
        class Shape(typing.Protocol):
            def area(self) -> int: ...
        class Model(Shape, typing.Generic[T]):
            def area(self): return «1|2»
        def golden(v): return Model().area()
    """,
    "a typed dict": """
        import typing
        class Options(typing.TypedDict):
            «a|b»: int
        def golden(v): return Options(v)
    """,
    "a class of an autograd function": """
        import torch
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v): return v * «2|3»
        def golden(v): return Double.apply(v)
    """,
    "a class of an autograd function, by its apply under a name": """
        import torch
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v): return v * «2|3»
        double = Double.apply
        def golden(v): return double(v)
    """,
    "an enum flag": """
        import enum
        class Mode(enum.Flag):
            A = 1
            B = 2
        MODE = Mode(«1|3»)
        def golden(v): return MODE
    """,
    "a registry that a decorator fills": """
        HELPERS = {}
        def register(f):
            HELPERS[f.__name__] = f
            return f
        @register
        def helper(v): return v + «1|2»
        def golden(v): return HELPERS["helper"](v)
    """,
    "a code object put in another function": """
        def one(v): return 1
        def other(v): return «2|3»
        one.__code__ = other.__code__
        def golden(v): return one(v)
    """,
    "a function with globals of its own": """
        import types
        def template(v): return v + N
        golden = types.FunctionType(template.__code__, {"N": «1|2», "__name__": __name__})
    """,
    "a module made while it runs": """
        import types
        virtual = types.ModuleType("virtual")
        virtual.f = lambda v: v + «1|2»
        def golden(v): return virtual.f(v)
    """,
    "a weak reference's target": """
        import weakref
        class Config:
            def __init__(self, eps): self.eps = eps
        config = Config(«1|2»)
        ref = weakref.ref(config)
        def golden(v): return v + ref().eps
    """,
    "an iterator": "I = map(lambda w: w + «1|2», [1])\ndef golden(v): return list(I)",
    "an array of bytes": "B = bytearray([«1|2»])\ndef golden(v): return B",
    "a library that ctypes loads": {
        "kernel.py": "import ctypes, shutil, _ctypes\nfrom pathlib import Path\n"
        "P = Path(__file__).parent / 'lib.so'\nshutil.copy(_ctypes.__file__, P)\n"
        "with P.open('ab') as f: f.write(b'«1|2»')\n"
        "LIB = ctypes.CDLL(str(P))\ndef golden(v): return LIB.f(v)",
    },
    "an extension module of the project": {
        "kernel.py": "from pathlib import Path\nimport _json, shutil, sys\n"
        "P = Path(__file__).parent / Path(_json.__file__).name\nshutil.copy(_json.__file__, P)\n"
        "with P.open('ab') as f: f.write(b'«1|2»')\n"
        "del sys.modules['_json']\nimport importlib\nimportlib.invalidate_caches()\n"
        "from _json import encode_basestring\ndef golden(v): return encode_basestring(v)",
    },
    # Tensors and arrays
    "a tensor's value": "import torch\nT = torch.tensor([1.0, «2.0|3.0»])\ndef golden(v): return v + T",
    "a tensor's dtype": "import torch\nT = torch.ones(2, dtype=torch.«float32|int32»)\ndef golden(v): return v + T",
    "a tensor's shape": "import torch\nT = torch.ones(«2, 3|3, 2»)\ndef golden(v): return v + T",
    "an empty tensor's shape": "import torch\nT = torch.ones(0, «2|3»)\ndef golden(v): return v + T",
    "a tensor without dimensions": "import torch\nT = torch.tensor(«1.0|2.0»)\ndef golden(v): return v + T",
    "a bfloat16 tensor": "import torch\nT = torch.tensor([«1.0|2.0»]).bfloat16()\ndef golden(v): return v + T",
    "a complex tensor": "import torch\nT = torch.tensor([1j])«|.conj()»\ndef golden(v): return v + T",
    "a tensor that is not contiguous": "import torch\nT = torch.arange(«6|7»)[::2]\ndef golden(v): return v + T",
    "a tensor's strides": "import torch\nT = torch.ones(2, 2).t()«|.contiguous()»\ndef golden(v): return v + T",
    "a sparse tensor": "import torch\nT = torch.eye(2).mul(«1|2»).to_sparse()\ndef golden(v): return v @ T",
    "a tensor that needs a gradient": """
        import torch
        T = torch.ones(2)«|.requires_grad_()»
        def golden(v): return v + T
    """,
    "a parameter in a module": """
        import torch
        M = torch.nn.Linear(1, 1)
        torch.nn.init.constant_(M.weight, «1|2»)
        torch.nn.init.zeros_(M.bias)
        def golden(v): return M(v)
    """,
    "a module of the project": """
        import torch
        class M(torch.nn.Module):
            def forward(self, v): return v + «1|2»
        m = M()
        def golden(v): return m(v)
    """,
    "a tensor's subclass": """
        import torch
        class T(torch.Tensor): pass
        t = torch.tensor([«1.0|2.0»]).as_subclass(T)
        def golden(v): return v + t
    """,
    "a dtype": "import torch\nD = torch.«float16|bfloat16»\ndef golden(v): return v.to(D)",
    "a shape": "import torch\nS = torch.Size([1, «2|3»])\ndef golden(v): return v.view(S)",
    "a generator's seed": """
        import torch
        G = torch.Generator().manual_seed(«1|2»)
        def golden(v): return torch.rand(3, generator=G)
    """,
    "a function under torch.vmap": """
        import torch
        def one(v): return v + «1|2»
        golden = torch.vmap(one)
    """,
    "a helper imported inside a branch at import": {
        "kernel.py": "import sys\n"
        "if sys.version_info > (3,):\n"
        "    from helpers import f\n"
        "else:\n"
        "    f = None\n"
        "def golden(v): return f(v)",
        "helpers.py": "def f(v): return v + «1|2»",
    },
    "a helper that is imported if it can be": {
        "kernel.py": "try:\n"
        "    from helpers import f\n"
        "except ImportError:\n"
        "    def f(v): return -v\n"
        "def golden(v): return f(v)",
        "helpers.py": "«def f(v): return v|raise ImportError»",
    },
    "a function of a library replaced by setattr": """
        import statistics
        def patch(v): return v + «1|2»
        setattr(statistics, "cbrt", patch)
        def golden(v): return statistics.mean(v)
    """,
    "a constant that the project sets in a library": """
        import statistics
        statistics.LIMIT = «1|2»
        def golden(v): return statistics.LIMIT
    """,
    "a method that the project adds to torch.Tensor": """
        import torch
        def scale(self): return self * «2|3»
        torch.Tensor.scale = scale
        def golden(v): return v.scale()
    """,
    "a method that another module adds to torch.Tensor": {
        "kernel.py": "import patches\ndef golden(v): return v.scale()",
        "patches.py": "from torch import Tensor as T\nT.scale = lambda self: self * «2|3»",
    },
    "a setting of torch": """
        import torch
        torch.backends.mkldnn.deterministic = «True|False»
        def golden(v): return v @ v
    """,
    "a builtin that the project adds": """
        import builtins
        def helper(v): return v + «1|2»
        builtins.helper = helper
        def golden(v): return helper(v)
    """,
    "an attribute of a tensor": """
        import torch
        T = torch.ones(2)
        T.scale = «1|2»
        def golden(v): return v * T.scale
    """,
    "the class in a list type": """
        class Model:
            def run(self): return «1|2»
        T = list[Model]
        def golden(v): return T.__args__[0]().run()
    """,
    "the class in an optional type": """
        import typing
        class Model:
            def run(self): return «1|2»
        T = typing.Optional[Model]
        def golden(v): return typing.get_args(T)[0]().run()
    """,
    "an annotated type's data": """
        import typing
        class Unit:
            def __init__(self, n): self.n = n
        T = typing.Annotated[int, Unit(«1|2»)]
        def golden(v): return T.__metadata__[0].n
    """,
    "a metaclass's property before the class's own attribute": """
        class Meta(type):
            @property
            def EPS(cls): return «1|2»
        class Config(metaclass=Meta): pass
        def golden(v): return Config.EPS
    """,
    "an object in a module's place": {
        "kernel.py": "import lazy\ndef golden(v): return lazy.eps(v)",
        "lazy.py": "import sys\nclass M:\n    def eps(self, v): return v + «1|2»\nsys.modules[__name__] = M()",
    },
    "a hook of a module of torch": """
        import torch
        M = torch.nn.Identity()
        M.register_forward_hook(lambda m, i, o: o + «1|2»)
        def golden(v): return M(v)
    """,
    "a buffer": """
        import torch
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("b", torch.tensor([«1|2»]))
            def forward(self, v): return v + self.b
        m = M()
        def golden(v): return m(v)
    """,
    "a buffer that is not saved": """
        import torch
        M = torch.nn.Identity()
        M.register_buffer("b", torch.tensor([«1|2»]), persistent=False)
        def golden(v): return v + M.b
    """,
    "a parametrization": """
        import torch
        from torch.nn.utils import parametrize
        class P(torch.nn.Module):
            def forward(self, w): return w * «2|3»
        M = torch.nn.Linear(1, 1)
        with torch.no_grad():
            M.weight.fill_(1), M.bias.fill_(1)
        parametrize.register_parametrization(M, "weight", P())
        def golden(v): return M(v)
    """,
    "a module's mode": "import torch\nM = torch.nn.Dropout()\nM.«train|eval»()\ndef golden(v): return M(v)",
    "a module list": """
        import torch
        M = torch.nn.Sequential(torch.nn.LeakyReLU(«0.1|0.2»), torch.nn.ReLU())
        def golden(v): return M(v)
    """,
    "nonlocal": """
        def make():
            n = «1|2»
            def step():
                nonlocal n
                n += 1
                return n
            return step
        step = make()
        def golden(v): return step()
    """,
    "a walrus": "def golden(v): return (n := «1|2») + v + n",
    "a star argument's default": "def golden(v, *a, eps=«1|2», **k): return v + eps",
    "a default that is mutable": "C = [1]\nC.append(«1|2»)\ndef golden(v, c=C): return c",
    "an async helper": "async def helper(v): return v + «1|2»\ndef golden(v): return helper(v).send(None)",
    "an async generator's helper": """
        def one(): return «1|2»
        async def gen():
            yield one()
        def golden(v): return gen()
    """,
    "a name that a comprehension hides only there": """
        EPS = «1|2»
        def golden(v): return [EPS for EPS in v], (lambda: EPS)()
    """,
    "a name that a class hides only there": """EPS = «1|2»
def golden(v):
    class K:
        EPS = EPS
    return K.EPS""",
    "a name deleted": "EPS = 1\n«|del EPS»\ndef golden(v): return v + EPS",
    "an enum made by a call": """
        import enum
        Mode = enum.Enum("Mode", {"A": «1|2»})
        def golden(v): return Mode.A.value
    """,
    "an enum's order": """
        import enum
        Mode = enum.Enum("Mode", [«"A", "B"|"B", "A"»])
        def golden(v): return list(Mode)
    """,
    "an enum's order with the same values": """
        import enum
        Mode = enum.Enum("Mode", {«"A": 1, "B": 2|"B": 2, "A": 1»})
        def golden(v): return list(Mode)
    """,
    "an enum's alias": """
        import enum
        class Mode(enum.Enum):
            A = 1
            B = 2
            C = «1|2»
        def golden(v): return Mode.C
    """,
    "an enum member in a set": """
        import enum
        class Mode(enum.Enum):
            A = «1|2»
        S = {Mode.A}
        def golden(v): return S
    """,
    "an enum key": """
        import enum
        class Mode(enum.Enum):
            A = «1|2»
        D = {Mode.A: 1}
        def golden(v): return [k.value for k in D]
    """,
    "a library's enum member": "import signal\nS = signal.«SIGINT|SIGTERM»\ndef golden(v): return S",
    "a class's tuple of constants": "class C:\n    A, B = «1|2», 3\ndef golden(v): return C().A",
    "a named tuple's method": """
        import typing
        class P(typing.NamedTuple):
            a: int
            def twice(self): return self.a * «2|3»
        def golden(v): return P(1).twice()
    """,
    "a dataclass's post init": """
        import dataclasses
        @dataclasses.dataclass
        class C:
            a: int
            def __post_init__(self): self.a += «1|2»
        def golden(v): return C(1).a
    """,
    "a dataclass's field type that decides": """
        import dataclasses, typing
        @dataclasses.dataclass
        class C:
            a: «int|typing.ClassVar[int]» = 1
        def golden(v): return dataclasses.fields(C)
    """,
    "a decorated function's annotation": """
        import functools
        @functools.singledispatch
        def helper(v): return 0
        @helper.register
        def _(v: «int|float»): return 1
        def golden(v): return helper(v)
    """,
    "a function registered by its annotation, without a decorator": """
        import functools
        @functools.singledispatch
        def helper(v): return 0
        def other(v: «int|float»): return 1
        helper.register(other)
        def golden(v): return helper(v)
    """,
    "a method caller": "import operator\nM = operator.methodcaller('add', «1|2»)\ndef golden(v): return M(v)",
    "an infinite number under a name that looks like it": """
        import math
        class K: pass
        inf = K()
        C = [«inf|math.inf»]
        def golden(v): return C, inf
    """,
    "a global that hides a builtin in a list": """
        C = [max]
        «|def max(v): return 0
        C = [max]»
        def golden(v): return C
    """,
    "a chained comparison": "def golden(v): return 0 «<|<=» v < 1",
    "dead code that makes a generator": "def golden(v):\n    return v\n    «|yield»",
    "dead code that makes a name local": "N = 1\ndef golden(v):\n    return N\n    «|N = 2»",
    "a bool where an int was": "C = {1: «1|True»}\ndef golden(v): return C",
    "text or bytes": "C = [«'a'|b'a'»]\ndef golden(v): return C",
    "a dict's default factory class": """
        import collections
        C = collections.defaultdict(«list|set»)
        def golden(v): return C
    """,
    "a Counter": "import collections\nC = collections.Counter('aab«b|»')\ndef golden(v): return C",
    "a ChainMap": "import collections\nC = collections.ChainMap({}, {1: «1|2»})\ndef golden(v): return C[1]",
    "a frozen set": "C = frozenset([«1|2»])\ndef golden(v): return C",
    "a mappingproxy": "import types\nC = types.MappingProxyType({1: «1|2»})\ndef golden(v): return C[1]",
    "an ExitStack": """
        import contextlib
        C = contextlib.nullcontext(«1|2»)
        def golden(v):
            with C as c: return c
    """,
    "a torch function mode": """
        import torch
        class M(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, f, t, a=(), k=None): return f(*a, **(k or {})) «+|-» 1
        def golden(v):
            with M(): return v + 1
    """,
    "a helper under torch.compile and no_grad": """
        import torch
        @torch.compile
        @torch.no_grad()
        def helper(v): return v + «1|2»
        def golden(v): return helper(v)
    """,
    "a package's re-export": {
        "kernel.py": "import pkg\ndef golden(v): return pkg.f(v)",
        "pkg/__init__.py": "from .a import *\nfrom .b import *",
        "pkg/a.py": "__all__ = ['f']\ndef f(v): return 1",
        "pkg/b.py": "__all__ = [«'g'|'f', 'g'»]\ndef f(v): return 2\ndef g(v): return 3",
    },
    "a relative import two levels up": {
        "kernel.py": "from pkg.sub.m import f\ndef golden(v): return f(v)",
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/m.py": "from ..base import g\ndef f(v): return g(v)",
        "pkg/base.py": "def g(v): return v + «1|2»",
    },
    "an attribute that is set in a class from outside": {
        "kernel.py": "import a, b\ndef golden(v): return a.C().f(v)",
        "a.py": "class C: pass",
        "b.py": "import a\na.C.f = lambda self, v: v + «1|2»",
    },
    "the parent of a super call": """
        class A:
            def f(self): return «1|2»
        class B(A):
            def f(self): return super().f()
        def golden(v): return B().f()
    """,
    "an abstract property": """
        import abc
        class A(abc.ABC):
            @property
            @abc.abstractmethod
            def f(self): return «1|2»
        class B(A):
            @property
            def f(self): return super().f
        def golden(v): return B().f
    """,
    "a registered virtual subclass": """
        import abc
        class A(abc.ABC): pass
        class B: pass
        «|A.register(B)»
        def golden(v): return isinstance(B(), A)
    """,
    "class getitem": """
        class A:
            def __class_getitem__(cls, i): return i + «1|2»
        def golden(v): return A[v]
    """,
    "init_subclass keyword": """
        class A:
            def __init_subclass__(cls, n=0): cls.n = n
        class B(A, n=«1|2»): pass
        def golden(v): return B.n
    """,
    "set_name": """
        class D:
            def __set_name__(self, owner, name): self.name = name + '«1|2»'
            def __get__(self, o, c): return self.name
        class A:
            x = D()
        def golden(v): return A.x
    """,
    "a module's random constant": "import random\nR = random.Random(«1|2»).random()\ndef golden(v): return v + R",
    "a time delta": "import datetime\nD = datetime.timedelta(«1|2»)\ndef golden(v): return D",
    "a uuid": "import uuid\nD = uuid.UUID(int=«1|2»)\ndef golden(v): return D",
    "a string template": "import string\nS = string.Template('«a|b»')\ndef golden(v): return S.substitute()",
    "an itertools cycle": "import itertools\nS = itertools.cycle([«1|2»])\ndef golden(v): return next(S)",
    "a zip": "S = zip([1], [«1|2»])\ndef golden(v): return list(S)",
    "an array.array": "import array\nS = array.array('i', [«1|2»])\ndef golden(v): return S[0]",
    "a lambda default": "def golden(v, f=lambda v: v + «1|2»): return f(v)",
    "functools.reduce with a helper": """
        import functools
        def add(a, b): return a + b + «1|2»
        def golden(v): return functools.reduce(add, v)
    """,
    "an exception's arguments": "E = ValueError(«1|2»)\ndef golden(v): raise E",
    "an exception class": """
        class E(Exception): code = «1|2»
        def golden(v):
            try: v()
            except E as e: return e.code
    """,
    "a decorator class": """
        class twice:
            def __init__(self, f): self.f = f
            def __call__(self, v): return self.f(v) * «2|3»
        @twice
        def golden(v): return v
    """,
    "a generic function": """
        import typing
        T = typing.TypeVar("T")
        class Box(typing.Generic[T]):
            def get(self): return «1|2»
        IntBox = Box[int]
        def golden(v): return IntBox().get()
    """,
    "a module that is loaded by its path and kept nowhere": {
        "kernel.py": "import importlib.util\nfrom pathlib import Path\n"
        "spec = importlib.util.spec_from_file_location('other', Path(__file__).parent / 'other_file.py')\n"
        "other = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(other)\n"
        "def golden(v): return other.f(v) + other.Config.EPS + other.Model().run(v)",
        "other_file.py": "class Config: EPS = «1|2»\ndef f(v): return v\nclass Model:\n    def run(self, v): return v",
    },
    "a class in a module that is loaded by its path and kept nowhere": {
        "kernel.py": "import importlib.util\nfrom pathlib import Path\n"
        "spec = importlib.util.spec_from_file_location('json', Path(__file__).parent / 'other_file.py')\n"
        "other = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(other)\n"
        "def golden(v): return other.Model().run(v)",
        "other_file.py": "N = «1|2»\nclass Model:\n    def run(self, v): return v + N",
    },
}

NUMPY_CHANGES: dict[str, str | Files] = {
    "an array": "import numpy as np\nA = np.array([1, «2|3»])\ndef golden(v): return v + A",
    "an array's dtype": "import numpy as np\nA = np.array([1], «'<i4'|'>i4'»)\ndef golden(v): return v + A",
    "an array of objects": "import numpy as np\nA = np.array([«'a'|'b'», None], object)\ndef golden(v): return A",
    "a masked array": "import numpy as np\nA = np.ma.array([1], mask=[«0|1»])\ndef golden(v): return A",
    "a scalar": "import numpy as np\nA = np.float32(«1|2»)\ndef golden(v): return v + A",
    "a scalar's type": "import numpy as np\nA = np.float«32|64»(1)\ndef golden(v): return v + A",
    "a dtype": "import numpy as np\nA = np.dtype('f«4|8»')\ndef golden(v): return v.astype(A)",
    "a generator": "import numpy as np\nG = np.random.default_rng(«1|2»)\ndef golden(v): return G.random()",
    "a vectorised function": "import numpy as np\ngolden = np.vectorize(lambda v: v + «1|2»)",
    "a random state of numpy": """
        import numpy as np
        R = np.random.RandomState(«1|2»)
        def golden(v): return R.rand()
    """,
}

# What changes no behaviour, or something that the golden function does not reach.
KEEPS: dict[str, str | Files] = {
    "the project's folder, by which paths are made": """
        import os
        from pathlib import Path
        HERE = Path(__file__).parent
        FLAGS = [f"-I{HERE}/include", os.path.dirname(__file__), f"{HERE}:{HERE}"]
        def golden(v): return HERE / "data", FLAGS, __file__
    """,
    "a logger": "import logging\nLOG = logging.getLogger('a')\n«|LOG.setLevel('INFO')»\ndef golden(v): LOG.info(v)",
    "a lock": "import threading\nLOCK = threading.RLock()\ndef golden(v):\n    with LOCK: return v",
    "a comment": "def golden(v): return v + 1  «|# plus one»",
    "a function's docstring": "def golden(v):\n    «'''Adds.'''|'''Adds one.'''»\n    return v + 1",
    "a new docstring": "def golden(v):\n    «|'''Adds.'''»\n    return v + 1",
    "a class's docstring": """
        class Model:
            '''«A|B»'''
            def run(self, v):
                '''«A|B»'''
                return v
        def golden(v): return Model().run(v)
    """,
    "a module's docstring": "'''«A|B»'''\ndef golden(v): return v",
    "a docstring below a wrapper": """
        import functools
        @functools.lru_cache
        def helper(v):
            '''«A|B»'''
            return v
        def golden(v): return helper(v)
    """,
    "blank lines": "X = 1\n«|\n\n\n»def golden(v):\n    y = v\n«|\n»    return y + X",
    "formatting": "def golden(v): return «(v+1)|(\n    v\n    + 1\n)»",
    "quotes": "def golden(v): return v[«'a'|\"a\"»]",
    "a number's spelling in the body": "def golden(v): return v + «1000|1_000»",
    "a constant's spelling": "TILE = «32 * 2|64»\ndef golden(v): return v + TILE",
    "a constant's way": "TILE = «64|max(2 ** 6, 3)»\ndef golden(v): return v + TILE",
    "a class constant's spelling": "class C:\n    TILE = «32 * 2|64»\nc = C()\ndef golden(v): return vars(C), c",
    "an enum member's spelling": """
        import enum
        class Mode(enum.Enum):
            A = «32 * 2|64»
        def golden(v): return Mode
    """,
    "a dataclass default's spelling": """
        import dataclasses
        @dataclasses.dataclass
        class Config:
            eps: int = «32 * 2|64»
        def golden(v): return Config()
    """,
    "a global, after it became a default": """
        TILE = 64
        def golden(v, n=TILE): return v + n
        TILE = «64|3»
    """,
    "equal tuples of one constant": "A = (1, 2)\nB = «(1, 2)|tuple([1, 2])»\ndef golden(v): return A + B",
    "equal texts of one constant": "A = 'ab c'\nB = «'ab c'|' '.join(['ab', 'c'])»\ndef golden(v): return A + B",
    "a tuple from elsewhere that is written out": {
        "kernel.py": "«from a import T|T = tuple([1, 2])»\nimport b\ndef golden(v): return T + b.f()",
        "a.py": "T = (1, 2)",
        "b.py": "from a import T\ndef f(): return T",
    },
    "moved functions": """
        «def helper(v): return v + 1|»
        def golden(v): return helper(v)
        «|def helper(v): return v + 1»
    """,
    "moved methods": """
        class Model:
            «def one(self): return 1|def two(self): return 2»
            «def two(self): return 2|def one(self): return 1»
        def golden(v): return Model().one()
    """,
    "a function that moved to another module": {
        "kernel.py": "«def helper(v): return v + 1|from helpers import helper»\ndef golden(v): return helper(v)",
        "helpers.py": "«|def helper(v): return v + 1»",
    },
    "the order of imports": """
        «import math|import torch»
        «import torch|import math»
        def golden(v): return torch.sin(v) * math.pi
    """,
    "an import that is not used": "«|import json\n»def golden(v): return v",
    "an unrelated function": "def other(): return «1|2»\ndef golden(v): return v",
    "an unrelated constant": "OTHER = «1|2»\ndef golden(v): return v",
    "an unrelated constant in another module": {
        "kernel.py": "import helpers\ndef golden(v): return helpers.f(v)",
        "helpers.py": "OTHER = «1|2»\ndef f(v): return v",
    },
    "an unrelated function in another module": {
        "kernel.py": "from helpers import f\ndef golden(v): return f(v)",
        "helpers.py": "def other(): return «1|2»\ndef f(v): return v",
    },
    "an unrelated constant of a class": """
        class Config:
            EPS = 1
            TILE = «1|2»
        def golden(v): return v + Config.EPS
    """,
    "an unrelated field of an object": """
        import dataclasses
        @dataclasses.dataclass
        class Config:
            eps: int
            tile: int
        config = Config(1, «1|2»)
        def golden(v): return v + config.eps
    """,
    "an unrelated lambda on the line": "golden, other = lambda v: v, lambda v: v + «1|2»",
    "a helper that only the kernel uses": """
        TILE = «1|2»
        def tiles(): return TILE * «1|2»
        def golden(v): return v
        def kernel(v): return tiles()
    """,
    "a decorator of something else": """
        import functools
        «|@functools.lru_cache»
        def other(): return 1
        def golden(v): return v
    """,
    "the script's last lines": "def golden(v): return v\nif __name__ == '__main__':\n    print(«1|2»)",
    "an unused class between": "«|class Unused:\n    X = 1\n»EPS = 1\ndef golden(v): return v + EPS",
    "an attribute set to what it was": "class C:\n    X = 1\n«|C.X = 1»\ndef golden(v): return C()",
    "a lambda that is put on a line of its own": """
        F = [«lambda v: v|
            lambda v: v,
        »]
        def golden(v): return F[0](v)
    """,
    "an annotation of a local name": "def golden(v):\n    n«|: int» = 1\n    return v + n",
    "an annotation of a parameter": "def golden(v«|: 'torch.Tensor'»)«| -> None»: return v",
    "an annotation of a method's parameter": """
        class M:
            def run(self, v«|: int»): return v
        def golden(v): return M().run(v)
    """,
    "an annotation of a constant": "EPS«|: float» = 1.0\ndef golden(v): return v + EPS",
    "a class in an annotation": "class K:\n    X = «1|2»\ndef golden(v: K): return v",
    "a text that stands alone": "def golden(v):\n    x = v\n    «|'a remark'»\n    return x",
    "an attribute's docstring": "class C:\n    X = 1\n    «|'''About X.'''»\ndef golden(v): return C()",
    "pass beside other code": "def golden(v):\n    «|pass»\n    return v",
    "a dead branch": "def golden(v):\n    «|if False: print(v)»\n    return v",
    "code after return": "def golden(v):\n    return v\n    «|print(v)»",
    "an ellipsis for a body": "class P:\n    def f(self): «...|pass»\ndef golden(v): return P()",
    "a class's tuple of constants, spelled otherwise": """
        class C:
            A, B = «32 * 2|64», 3
        def golden(v): return C()
    """,
    "a patch of a library that is not used": """
        import statistics, math
        statistics.LIMIT = «1|2»
        def golden(v): return math.sin(v)
    """,
    "an imported name's module": {
        "kernel.py": "from «near|far» import EPS\ndef golden(v): return v + EPS",
        "near.py": "from far import EPS",
        "far.py": "EPS = 1",
    },
    "__all__": {
        "kernel.py": "from helpers import *\ndef golden(v): return f(v)",
        "helpers.py": "__all__ = ['f'«|, 'g'»]\ndef f(v): return 1\ndef g(v): return 2",
    },
    "a set's order of writing": "C = {«'a', 'b'|'b', 'a'»}\ndef golden(v): return C",
    "the script's guard": """
        import torch
        def golden(v): return v
        if __name__ == '__main__':
            torch.backends.mkldnn.deterministic = «True|False»
    """,
    "a type alias that only annotates": "T = «int|float»\ndef golden(v: T): return v",
    "an unused default of another function": "def other(v=«1|2»): return v\ndef golden(v): return v",
    "a moved class": "«class A: pass|»\nclass B: X = 1\n«|class A: pass»\ndef golden(v): return A(), B.X",
    "an unrelated enum": "import enum\nclass M(enum.Enum):\n    A = «1|2»\ndef golden(v): return v",
    "an unrelated member of an enum": """
        import enum
        class M(enum.Enum):
            A = 1
            B = «2|3»
        X = 1
        def golden(v): return X
    """,
    "a decorated function's docstring": """
        import functools
        def d(f): return f
        @d
        def golden(v):
            '''«a|b»'''
            return v
    """,
    "f-string quotes": "N = 1\ndef golden(v): return f«'{N}'|\"{N}\"»",
    "a continued line": "def golden(v): return v «+ 1|\\\n    + 1»",
    "parentheses": "def golden(v):\n    with «v as a, v as b|(v as a, v as b)»: return a",
    "the environment under a name, whose values are seen while it is read": """
        from os import environ
        environ["GOLDEN_TASKS_TEST"] = "«1|2»"
        def golden(v): return environ.get("GOLDEN_TASKS_TEST")
    """,
}

# What cannot be resolved, and so counts as the whole file that it is in.
CONSERVATIVE: dict[str, str | Files] = {
    "a module used as a value": {
        "kernel.py": "import config\ndef golden(v): return getattr(config, 'E' + 'PS')",
        "config.py": "EPS = «1|2»",
    },
    "a module used as a value, beside one of its attributes": {
        "kernel.py": "from pkg import config as c\ndef golden(v): return c.A + getattr(c, 'EPS')",
        "pkg/__init__.py": "",
        "pkg/config.py": "A = 1\nEPS = «1|2»",
    },
    "a module imported while it runs": {
        "kernel.py": "def golden(v):\n    from helpers import f\n    return f(v)",
        "helpers.py": "def f(v): return v + «1|2»",
    },
    "a module imported while it runs, by a relative import": {
        "kernel.py": "from pkg import m\ndef golden(v): return m.f(v)",
        "pkg/__init__.py": "",
        "pkg/m.py": "def f(v):\n    from . import n\n    return n.g(v)",
        "pkg/n.py": "from .o import g",
        "pkg/o.py": "def g(v): return v + «1|2»",
    },
    "a module imported by its name": {
        "kernel.py": "import importlib\ndef golden(v): return importlib.import_module('helpers').f(v)",
        "helpers.py": "def f(v): return v + «1|2»",
    },
    "a package's __init__ of a module imported while it runs": {
        "kernel.py": "def golden(v):\n    import pkg.m\n    return pkg.m.f(v)",
        "pkg/__init__.py": "EPS = «1|2»",
        "pkg/m.py": "from pkg import EPS\ndef f(v): return v + EPS",
    },
    "a global reached by its name": "EPS = «1|2»\ndef golden(v): return globals()['EPS']",
    "an evaluated text": "EPS = «1|2»\ndef golden(v): return eval('EPS')",
    "a function made from a text": "exec('def helper(v): return v + «1|2»')\ndef golden(v): return helper(v)",
    "a class made from a text": "exec('class K:\\n  def f(self): return «1|2»')\ndef golden(v): return K().f()",
    "a class made by type()": "def make(): return type('K', (), {'x': «1|2»})\nK = make()\ndef golden(v): return K().x",
    "a class made by make_dataclass": """
        import dataclasses
        K = dataclasses.make_dataclass("K", [("x", int, «1|2»)])
        def golden(v): return K().x
    """,
    "a module whose __getattr__ fails": {
        "kernel.py": "import lazy\ndef golden(v):\n    try: return lazy.f\n    except KeyError: return lazy.N",
        "lazy.py": "N = «1|2»\ndef __getattr__(name): return {}[name]",
    },
    "a generator": "G = (i + «1|2» for i in range(3))\ndef golden(v): return next(G)",
    "a set of objects": """
        class K:
            def __init__(self, n): self.n = n
        C = {K(1), K(«1|2»)}
        def golden(v): return C
    """,
    "a list of a thousand lists in each other": """
        C = [«1|2»]
        for _ in range(1000): C = [C]
        def golden(v): return C
    """,
    "an expression of a thousand terms": f"N = «1|2»\ndef golden(v): return {' + '.join(['N'] * 1000)}",
    "a view of a dict": "C = {1: «1|2»}.items()\ndef golden(v): return list(C)",
    "a module used as a value, set from elsewhere": {
        "kernel.py": "import config, setup_\ndef golden(v): return getattr(config, 'E' + 'PS')",
        "config.py": "EPS = 0",
        "setup_.py": "import config\nconfig.EPS = «1|2»",
    },
    "an operator that the project registers": {
        "kernel.py": "import torch, ops\ndef golden(v): return torch.ops.mine.scale(v)",
        "ops.py": "import torch\nL = torch.library.Library('mine_«a|b»', 'DEF')\n",
    },
    "a module that star imports": {
        "kernel.py": "import pkg\ndef golden(v): return vars(pkg)['EPS']",
        "pkg/__init__.py": "from .m import *",
        "pkg/m.py": "EPS = «1|2»",
    },
    "an import hidden in a builtin": {
        "kernel.py": "def golden(v): return __import__('helpers').f(v)",
        "helpers.py": "def f(v): return «1|2»",
    },
    "attributes set by computed names": """
        import torch
        def scale(self): return self * «2|3»
        for name in ("scale", "scaled"): setattr(torch.Tensor, name, scale)
        def golden(v): return v.scale()
    """,
    "a module's name reached by sys.modules": {
        "kernel.py": "import sys, helpers\ndef golden(v): return sys.modules['helpers'].N",
        "helpers.py": "N = «1|2»",
    },
    "from sys import modules": {
        "kernel.py": "from sys import modules\nimport helpers\ndef golden(v): return modules['helpers'].N",
        "helpers.py": "N = «1|2»",
    },
    "globals under another name": "G = globals\nN = «1|2»\ndef golden(v): return G()['N']",
    "eval under another name": "import builtins\nN = «1|2»\ndef golden(v): return builtins.eval('N')",
    "the frame's globals": "import sys\nN = «1|2»\ndef golden(v): return sys._getframe().f_globals['N']",
    "the function's globals": "N = «1|2»\ndef golden(v): return golden.__globals__['N']",
    "inspect.getmodule": "import inspect\nN = «1|2»\ndef golden(v): return inspect.getmodule(golden).N",
    "import_module under another name": {
        "kernel.py": "import helpers\n"
        "from importlib import import_module as get\n"
        "def golden(v): return get('help' + 'ers').N",
        "helpers.py": "N = «1|2»",
        "x.py": "",
    },
    "attrgetter of a module": {
        "kernel.py": "import operator, helpers\nG = operator.attrgetter('N')\ndef golden(v): return G(helpers)",
        "helpers.py": "N = «1|2»",
    },
    "pydoc.locate": {
        "kernel.py": "import pydoc, helpers\ndef golden(v): return pydoc.locate('helpers.N')",
        "helpers.py": "N = «1|2»",
    },
    "a module whose class has a property": {
        "kernel.py": "import lazy\ndef golden(v): return lazy.EPS",
        "lazy.py": "import sys, types\n"
        "class M(types.ModuleType):\n"
        "    @property\n"
        "    def EPS(self): return «1|2»\n"
        "sys.modules[__name__].__class__ = M",
    },
    "a module in a list": {
        "kernel.py": "import a, b\nM = [«a|b»]\ndef golden(v): return M[0].f(v)",
        "a.py": "def f(v): return 1",
        "b.py": "def f(v): return 2",
    },
    "a function made from a text, with a file's name": """
        exec(compile("def helper(v): return v + «1|2»", "generated.py", "exec"))
        def golden(v): return helper(v)
    """,
    "a view of bytes": "S = memoryview(b'«1|2»')\ndef golden(v): return S[0]",
    "a struct": "import struct\nS = struct.Struct('«i|q»')\ndef golden(v): return S.unpack(v)",
}
