"""Stand-ins for packages that an engine imports at its top and its scheduler never calls.

A serving engine names a hundred packages; to import its scheduler a handful is enough. install()
makes every other missing package an empty module, so that the handful of scripts/live.sh suffices.
"""

import importlib.abc
import importlib.machinery
import sys
import types


class _AnyName(type):
    """A class that has every attribute: each is another such class."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(name)


def _decorated(arguments):
    """What a decorator is given; None: it was not called as one."""
    alone = len(arguments) == 1 and isinstance(arguments[0], (types.FunctionType, type))
    return arguments[0] if alone else None


def _stand_in(name):
    def new(cls, *args, **kwargs):
        return _decorated(args) or object.__new__(cls)

    def call(self, *args, **kwargs):
        return _decorated(args) or self

    return _AnyName(
        name, (), {"__new__": new, "__init__": lambda self, *a, **k: None, "__call__": call}
    )


class _EmptyModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _stand_in(name)
        setattr(self, name, value)
        return value


def _importer():
    """The package whose code runs the import statement."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != __name__ and not name.startswith("importlib"):
            return name.partition(".")[0]
        frame = frame.f_back
    return ""


# Whether these are there decides on the platform, so they stay missing.
_PROBES = {"amdsmi", "flashinfer", "habana_frameworks", "intel_extension_for_pytorch", "libtpu",
           "pynvml", "torch_npu", "torch_xla", "tpu_inference", "torchao", "tpu_info"}


class _MissingFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last: finds what nobody else has for the engine's own modules."""

    def __init__(self, engine):
        self._engine = engine
        self.names = set()

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in _PROBES or top in sys.stdlib_module_names or top.startswith("_"):
            return None
        if _importer() != self._engine or top == self._engine:
            return None
        if top != name and top not in self.names:
            return None  # a part that an installed package lacks
        self.names.add(top)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = _EmptyModule(spec.name)
        module.__version__ = "0"
        module.__file__ = spec.name
        return module

    def exec_module(self, module):
        pass


def install(engine):
    """From now on the package `engine` may import what is not there; others may not."""
    finder = _MissingFinder(engine)
    sys.meta_path.append(finder)
    return finder
