"""Kernels compiled by numba, when they are first called, and kept on disk where there is a place.

Numba takes half a second to load and seconds to compile, so nothing of it happens before a kernel
is called: small data have plain twins beside the kernels (`plain.py`, `SMALL`) and never call one,
or run them as they are written (`fitting`). Larger data are answered by the twins too while a
process compiles (`ahead`, `PATIENT`).

Numba keeps what it compiled in the folder of the program, else in the home of the user. Where
neither can be written to, it refuses to compile at all; it is then kept in a folder for temporary
files.

Without numba, which the small install leaves out, the functions run as they are written: the same
numbers, slowly.
"""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock, Thread
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from discreet.progress import Tell

SMALL = 2**16
"""Records or cells up to which plain code is faster than loading a kernel from disk."""

PATIENT = 2**23
"""Records or cells up to which plain code, which takes a second, is faster than compiling."""

_AT_ONCE = 64  # places that are squeezed in one step
_VBMI2 = "+avx512vbmi2"  # what numba calls it that a processor squeezes bytes
_NICE = 10  # how far what is compiled behind stands back
_lock = RLock()
_processes: dict[str, subprocess.Popen[bytes]] = {}


class Kernel:
    """A function that numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func = function
        self.__doc__ = function.__doc__
        self._options = options
        self._compiled: Any = None

    def __call__(self, *given: Any) -> Any:
        """Return what the function returns."""
        return (self._compiled or self.compiled())(*given)

    @property
    def overloads(self) -> Mapping[Any, Any]:
        """What it is compiled to, by the types of arguments."""
        return getattr(self._compiled, "overloads", {})

    def compiled(self) -> Any:
        """Return what numba makes of the function, and of all kernels that its module names."""
        _wait_for(self.py_func.__module__)
        with _lock:
            if self._compiled is None:
                self._compiled = _compiled(self.py_func, self._options)
                names = self.py_func.__globals__
                for name, kernel in list(names.items()):
                    if isinstance(kernel, Kernel):
                        names[name] = kernel.compiled()
            return self._compiled


class _Instruction(Kernel):
    """What a processor does in one step or a few; a function where numba is not there."""

    def __init__(self, plainly: Callable[..., Any], make: Callable[[], Any]) -> None:
        super().__init__(plainly, {})
        self._make = make

    def compiled(self) -> Any:
        """Return the instruction of the processor, as numba knows it."""
        if self._compiled is None:
            self._compiled = self._make() if there() else self.py_func
        return self._compiled


def ahead(warm_ups: Mapping[str, str], behind: bool = False) -> bool:
    """Begin to compile kernels, each module of them in a process of its own; return whether any.

    `warm_ups` names the function that calls every kernel of a module, as module:function. Kernels
    that are on disk are left alone; whoever calls one of the others waits for its process. With
    `behind` one process compiles them all while others work: they have twins in plain code. Only
    where it can leave its mark: else every command would compile them, and nobody would be told.
    """
    if not there():
        return False
    cold = [name for name in warm_ups if name not in _processes and not on_disk(name)]
    if behind:
        cold = [name for name in cold if _writable(_mark(name).parent)]
    for names in [cold] if behind and cold else [[name] for name in cold]:
        given = {name: warm_ups[name] for name in names}
        code = f"from discreet.compiling import compile_all; compile_all({given!r}, {behind})"
        with suppress(OSError):  # then whoever calls them compiles them
            process = subprocess.Popen(  # noqa: S603 - names of this program
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            _processes.update(dict.fromkeys(names, process))
    return bool(cold)


def compile_all(warm_ups: Mapping[str, str], behind: bool) -> None:
    """Compile modules of kernels, and leave a mark of each; one process at a time does it."""
    if behind:
        os.nice(_NICE)
    for name, warm_up in warm_ups.items():
        with _turn(name):
            if on_disk(name):
                continue  # another process was at it
            _call(warm_up)
            with suppress(OSError):  # compiled kernels are then kept elsewhere
                _mark(name).parent.mkdir(parents=True, exist_ok=True)
                _mark(name).touch()


@contextmanager
def _turn(name: str) -> Iterator[None]:
    """Wait until no other process compiles a module, where its source can be locked."""
    with ExitStack() as held:
        with suppress(OSError):
            fcntl.flock(held.enter_context(_source(name).open("rb")), fcntl.LOCK_EX)
        yield


def warm(warm_ups: Mapping[str, str], patient: bool) -> None:
    """Load the kernels of some modules, which have twins.

    Where they must be compiled first and whoever asks is patient, that is done behind, and they are
    loaded when it is done.
    """
    if not there():
        return
    if patient and (ahead(warm_ups, behind=True) or any(map(under_way, warm_ups))):
        Thread(target=_call, args=warm_ups.values(), name="warming", daemon=True).start()
    else:
        _call(*warm_ups.values())


def _call(*functions: str) -> None:
    for function in functions:
        module, _, name = function.partition(":")
        getattr(import_module(module), name)()


def _wait_for(name: str) -> None:
    """Wait until the kernels of a module are on disk, if a process compiles them."""
    process = _processes.get(name)
    if process is not None:
        process.wait()  # whatever became of it: what is not on disk is compiled here


def under_way(name: str) -> bool:
    """Whether a process compiles the kernels of a module now."""
    process = _processes.get(name)
    return process is not None and process.poll() is None


def _source(name: str) -> Path:
    """Return the file of a module."""
    found = find_spec(name)
    return Path((found and found.origin) or name)


def _mark(name: str) -> Path:
    """Return the file that says that all kernels of a module were compiled, and when.

    It lies where numba keeps them: in the folder that is set, beside the module, or else with the
    user. Several copies of the program may keep theirs there.
    """
    source = _source(name)
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or source.parent / "__pycache__")
    own = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    if not _writable(folder) and own.is_absolute():  # else there is no home
        folder = own / "discreet"
    copy = blake2b(os.fsencode(source), digest_size=4).hexdigest()
    return folder / f"{name}.{copy}.{sys.implementation.cache_tag}.warm"


def _writable(folder: Path) -> bool:
    """Whether a folder can be written to, or made."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    return os.access(there, os.W_OK)


def on_disk(name: str) -> bool:
    """Whether all kernels of a module were kept since it was last changed."""
    try:
        return _mark(name).stat().st_mtime >= _source(name).stat().st_mtime
    except OSError:
        return False


@cache
def there() -> bool:
    """Whether numba is installed."""
    try:
        return find_spec("numba") is not None
    except ValueError:  # it is kept away, as by a test
        return False


def pays(kernel: Any, size: int) -> bool:
    """Whether to call a kernel rather than its twin: it is loaded, or worth loading.

    Nobody waits for one that is being compiled, unless the twin would take longer.
    """
    if not there() or kernel.overloads:
        return there()
    return size > (PATIENT if under_way(kernel.py_func.__module__) else SMALL)


def fitting(kernel: Any, steps: int, tell: Tell | None = None) -> Callable[..., Any]:
    """Return a kernel, or the same as it is written where that takes so few steps of its loops."""
    return announced(kernel, tell) if pays(kernel, steps) else as_written(kernel.py_func)


def announced(kernel: Any, tell: Tell | None) -> Callable[..., Any]:
    """Return a kernel, with a word to whoever waits for it if it must be compiled first."""
    if tell is not None and _cold(kernel):
        tell("compiling", 0, None)
    return cast(Callable[..., Any], kernel)


def _cold(kernel: Any) -> bool:
    """Whether a kernel is neither loaded nor on disk."""
    if not there() or kernel.overloads:
        return False
    from numba.core.caching import FunctionCache

    function = kernel.py_func
    source = Path(function.__code__.co_filename)
    try:
        folder = Path(FunctionCache(function).cache_path)
    except RuntimeError:  # numba finds no place to keep it
        return True
    index = f"{source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}.*.nbi"
    since = source.stat().st_mtime
    return all(found.stat().st_mtime < since for found in folder.glob(index))


@cache
def as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel's function that calls other kernels as they are written too: no compiler."""
    return _plain(_twin(function))


@cache
def _twin(function: Callable[..., Any]) -> Any:
    written = cast(FunctionType, function)
    names = dict(written.__globals__)
    twin = FunctionType(written.__code__, names, written.__name__, written.__defaults__)
    for name in written.__code__.co_names:
        called = getattr(names.get(name), "py_func", None)
        if called is not None:
            names[name] = twin if called is written else _twin(called)
    return twin


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return what `numba.njit` would, without loading numba before the function is called."""
    return lambda function: Kernel(function, options)


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return `njit` of a function that only kernels call: it is kept within them.

    What would let Python call it, which takes a fifth of the time to compile, is left out: a call
    of it would end the program.
    """
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def _nothing(array: Any, place: Any) -> None:
    """Do nothing."""


def _never() -> bool:
    """Return that the processor cannot."""
    return False


def _squeezed(array: Any, place: Any, flags: Any, first: Any, out: Any, to: Any) -> int:
    """Copy those of 64 places whose flags are not 0."""
    found = 0
    for j in range(_AT_ONCE):
        if flags[first + j]:
            out[to + found] = array[place + j]
            found += 1
    return found


fetch = _Instruction(_nothing, lambda: _fetching(1))
"""Begins to bring a place of a list into the cache, wherever it is: beyond the end is no error."""

fetch_far = _Instruction(_nothing, lambda: _fetching(2))
"""The same into the second cache alone, which takes more at a time: a kernel that writes to places
all over a large list need not wait for each."""

squeezes = _Instruction(_never, lambda: _squeezing()[0])
"""Whether the processor can `squeeze`; as it is known when a kernel is compiled, nothing is left of
the other way."""

squeeze = _Instruction(_squeezed, lambda: _squeezing()[1])
"""Copies those of 64 places whose flags are not 0 close together, and returns how many they are.

Given the list and the first place, the flags and the first of them, and where to copy to. All 64
must be there, and room for 64, of which those beyond the copied ones are written to as well.
"""


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return `numba.njit` of a function, with another place for the cache if numba finds none."""
    if not there():
        return _plain(function)
    import numba

    try:
        return numba.njit(**options)(function)
    except RuntimeError:
        if not options.get("cache"):
            raise
        numba.config.CACHE_DIR = _temporary()
        return numba.njit(**{**options, "cache": bool(numba.config.CACHE_DIR)})(function)


def _fetching(cache: int) -> Any:
    """Return the instruction by which a processor brings memory into its first or second cache."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def fetched(typing: Any, array: Any, place: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            begin = context.make_array(array)(context, builder, given[0]).data
            at = context.cast(builder, given[1], place, types.uint64)
            address, word = builder.gep(begin, [at]), ir.IntType(32)
            address = builder.bitcast(address, ir.IntType(8).as_pointer())
            kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
            prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
            # To read it (to write to it would take longer), how near, and data.
            builder.call(prefetch, [address, *(ir.Constant(word, n) for n in (0, 4 - cache, 1))])
            return context.get_dummy_value()

        return types.void(array, place), code

    return fetched


def _squeezing() -> tuple[Any, Any]:
    """Return whether a processor squeezes bytes (AVX-512 VBMI2), and how it is told to."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def whether(typing: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            there = _VBMI2 in context.codegen().magic_tuple()[2]
            return context.get_constant(types.boolean, there)

        return types.boolean(), code

    @intrinsic  # type: ignore[untyped-decorator]
    def squeezed(
        typing: Any, array: Any, place: Any, flags: Any, first: Any, out: Any, to: Any
    ) -> Any:
        bits = array.dtype.bitwidth
        lanes = 512 // bits

        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            if _VBMI2 not in context.codegen().magic_tuple()[2]:
                return ir.Constant(ir.IntType(64), 0)  # a processor that cannot is not told to

            def address(i: int) -> Any:
                begin = context.make_array(signature.args[i])(context, builder, given[i]).data
                at = context.cast(builder, given[i + 1], signature.args[i + 1], types.uint64)
                return builder.gep(begin, [at])

            def vector(kind: int, length: int) -> Any:
                return ir.VectorType(ir.IntType(kind), length)

            def load(pointer: Any, kind: Any) -> Any:
                return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=1)

            word, flag = ir.IntType(64), vector(8, _AT_ONCE)
            set_ = builder.icmp_unsigned("!=", load(address(2), flag), ir.Constant(flag, None))
            mask = builder.bitcast(set_, word)
            begin, end, kind = address(0), address(4), vector(bits, lanes)
            name = f"llvm.x86.avx512.mask.compress.v{lanes}i{bits}"
            some = vector(1, lanes)
            of = ir.FunctionType(kind, [kind, kind, some])
            compress = cgutils.get_or_insert_function(builder.module, of, name)
            found = ir.Constant(word, 0)
            for i in range(0, _AT_ONCE, lanes):
                part = builder.trunc(builder.lshr(mask, ir.Constant(word, i)), ir.IntType(lanes))
                codes = load(builder.gep(begin, [ir.Constant(word, i)]), kind)
                passed = [codes, ir.Constant(kind, None), builder.bitcast(part, some)]
                target = builder.bitcast(builder.gep(end, [found]), kind.as_pointer())
                builder.store(builder.call(compress, passed), target, align=1)
                found = builder.add(found, builder.zext(builder.ctpop(part), word))
            return found

        return types.uint64(array, place, flags, first, out, to), code

    return whether, squeezed


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as it is written; sums of words may wrap around, as they do in numba."""

    import numpy as np

    def plain(*given: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*given)

    return plain


@cache
def _temporary() -> str:
    """Return a folder of this user alone for temporary kernels, and say so; "" if none can be."""
    try:
        folder = _own(Path(tempfile.gettempdir()) / f"discreet-kernels-{os.geteuid()}")
    except OSError:
        folder = None
    place = f"in {folder}" if folder else "nowhere"
    print(
        f"discreet: compiled kernels are kept {place}, because neither the folder of the program "
        "nor the home folder can be written to.",
        file=sys.stderr,
    )
    return str(folder or "")


def _own(folder: Path) -> Path | None:
    """Return the folder, made if need be; none if others can write to it, or this user cannot."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    own = found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode)
    return folder if own and stat.S_IMODE(found.st_mode) == 0o700 else None
