"""What every protection method is: parameters, a draw, and a description of its chances.

A cellwise method changes each cell by itself, from one uniform number. Its whole behaviour is then
its transition, Pr(released j | true i), which the risk measures read; a method is never recognised
by its name. Any other method draws a whole table from a generator. Which of the two it is given,
and where chance comes from, is settled here and nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InternalError, ParameterError
from discreet.labelled import unlabelled
from discreet.protect.effect import Effect, Kept, Multiplier
from discreet.protect.keys import KeyMix, plain_uniforms, table_generator, whole_uniforms
from discreet.table.transition import Chances, Counts, Transition
from discreet.types import Flags, Floats, Integers

__all__ = ["Chance", "Chances", "Counts", "Effect", "Kept", "Method", "Multiplier", "Transition"]

UNBIASED = 1e-6
"""The largest mean change of a count that is called none: what a design of noise may leave."""


@dataclass(frozen=True)
class Chance:
    """Where a method's draws come from: a uniform for each cell, or a generator for the table."""

    uniforms: Callable[[tuple[int, ...]], ArrayLike]
    generator: Callable[[], np.random.Generator]

    @classmethod
    def of(cls, given: Chance | np.random.Generator | ArrayLike) -> Chance:
        """Return the chance in uniforms, one for each cell, or in a generator."""
        if isinstance(given, Chance):
            return given
        if isinstance(given, np.random.Generator):
            return cls(given.random, lambda: given)
        return cls(lambda _: given, _no_generator)

    @classmethod
    def keyed(
        cls,
        secret: bytes,
        question: bytes,
        keys: ArrayLike,
        purpose: str = "cell key",
        modulus: int | None = None,
        number: int | None = None,
    ) -> Chance:
        """Return the chance that is the same for ever: by cell keys, or by the whole question.

        `purpose` keeps uses of one secret apart. With a modulus, key sums are used as they are
        instead of being mixed with the secret: for keys that are in use elsewhere. `number` is
        that of the keys of an explicit look-up.
        """

        def uniforms(shape: tuple[int, ...]) -> ArrayLike:
            del shape
            if modulus is None:
                return KeyMix(secret, purpose).uniforms(keys)
            if number is None:
                return plain_uniforms(keys, modulus)
            return whole_uniforms(keys, modulus, number)

        return cls(uniforms, lambda: table_generator(secret, question))


def _no_generator() -> np.random.Generator:
    raise ParameterError("this method draws a whole table: it takes a generator, not uniforms.")


class Method(ABC):
    """A protection method: validated parameters, how it draws, and what is known of it.

    A method is a frozen dataclass that says `cellwise` and has a `draw`. A cellwise one has a
    `transition` as well, from which all else follows. What it does not say counts as unknown, and
    is neither computed nor told. `discreet check --methods` holds a method to what it says.
    """

    example: ClassVar[Mapping[str, str]] = {}
    """Options to try it with, where those without a default must be given."""

    largest: ClassVar[int] = 2**31
    """The largest count it is known to take."""

    @property
    @abstractmethod
    def cellwise(self) -> bool:
        """Whether each cell is drawn by itself, from a uniform; else a generator draws all."""

    @property
    def public(self) -> bool:
        """Whether a public tier may use it, which answers overlapping questions for ever."""
        return False

    @abstractmethod
    def draw(self, counts: Integers, source: Any, /) -> Integers:
        """Return released counts of the same shape; the counts given must not be altered.

        `source` holds a uniform in [0, 1) for each cell where the method is cellwise, and is a
        generator where it is not. Where zeros may change, impossible cells are left out, and the
        counts come as a list.
        """

    def transition(self) -> Chances | None:
        """Return Pr(released j | true i), None where it is not that of a cell by itself."""
        return None

    @property
    def keys(self) -> int | None:
        """The number of keys of an explicit look-up, whose entries are picked by key; or None."""
        return None

    @property
    def multiplier(self) -> Multiplier | None:
        """How much of a table's concentration is left; None: the transition's mean diagonal."""
        return None

    @property
    def caution(self) -> str:
        """What a user must know of it, as part of a sentence."""
        return ""

    @property
    def moves_zeros(self) -> bool:
        """Whether a true zero may be released as something else."""
        return self.needs_structural

    @cached_property
    def needs_structural(self) -> bool:
        """Whether it must be told which zeros are impossible cells: where cells of 0 change."""
        chances = self.transition()
        return chances is not None and bool(chances.row(0)[0].any())

    @property
    def for_margins(self) -> Method:
        """The method that protects totals beside the cells."""
        return self

    def check(self, dimensions: int) -> None:
        """Raise where the method takes no table with so many dimensions."""
        del dimensions

    def keeps(self, dimensions: int) -> Kept:
        """Return what is kept of a table with so many dimensions."""
        del dimensions
        chances = self.transition()
        if not isinstance(chances, Transition):
            return Kept(unbiased=False)
        return Kept(unbiased=bool(np.abs(chances.bias).max() < UNBIASED))

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count, or raise where the method takes no such table."""
        self.check(dimensions)
        chances = self.transition()
        if isinstance(chances, Transition):
            return Effect.of(chances, self.multiplier)
        return Effect(chances, multiplier=self.multiplier)

    def apply(
        self,
        counts: Counts,
        chance: Chance | np.random.Generator | ArrayLike,
        structural: NDArray[np.bool_] | None = None,
    ) -> Counts:
        """Return the released counts, in the shape and type of the counts.

        A data frame (pandas, polars, long or wide) or an xarray array comes back as one.

        `chance` gives uniforms in [0, 1), one for each cell, to a cellwise method, and a generator
        to others. `structural` marks the cells that nobody can be in; it must be given where
        `needs_structural`, and those cells stay zero.
        """
        plain, back = unlabelled(counts)
        given = checked_counts(plain)
        self.check(given.ndim)
        drawn, true = Chance.of(chance), given.astype(np.int64, copy=False)
        source: Any = (
            checked_uniforms(drawn.uniforms(given.shape), given.shape)
            if self.cellwise
            else drawn.generator()
        )
        mask = self._checked_structural(structural, given)
        if mask is not None:
            released = np.zeros_like(true)
            left = source[~mask] if self.cellwise else source
            released[~mask] = _checked_draw(self.draw(true[~mask], left), true[~mask])
        elif true.any():
            released = _checked_draw(self.draw(true, source), true)
        else:
            released = true  # nobody is there, and nobody will be
        result: Counts = back(narrowed(released, given.dtype))
        return result

    def _checked_structural(self, structural: Flags | None, counts: Counts) -> Flags | None:
        """Return the mask of cells that must stay zero, None where all zeros do, or raise."""
        if structural is None:
            if self.needs_structural:
                raise ParameterError(
                    "this method changes zeros: structural must say which zeros are impossible "
                    "cells (an array of False where none is)."
                )
            return None
        if self.moves_zeros and not self.needs_structural:
            raise ParameterError("this method cannot keep structural zeros: it moves all cells.")
        mask = np.asarray(structural, bool)
        if mask.shape != counts.shape:
            raise ParameterError(
                f"structural must have the shape of the counts, {counts.shape}. Got {mask.shape}."
            )
        if counts[mask].any():
            raise ParameterError("a structural zero must have a count of zero.")
        return mask if self.needs_structural else None


def _checked_draw(drawn: ArrayLike, counts: Integers) -> Integers:
    """Return what a method drew, or raise where these are no counts: nothing is released then."""
    released = np.asarray(drawn)
    right = released.dtype.kind in "iu" and released.shape == counts.shape
    if not right or (released.size and released.min() < 0):
        raise InternalError(
            "a method must draw whole numbers of 0 or more, in the shape of the counts."
        )
    return released


def checked_counts(counts: ArrayLike) -> Counts:
    """Return the counts as an array, or raise where they are no counts."""
    array = np.asarray(counts)
    if array.dtype.kind not in "iu":
        raise ParameterError(f"counts must be integers. Got the type {array.dtype}.")
    if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
        raise ParameterError("counts must not be negative.")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise ParameterError("counts must be below 2^63.")
    return array


def checked_uniforms(uniforms: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return the uniforms as an array, or raise where they do not fit the counts."""
    try:
        array = np.asarray(uniforms, np.float64)
    except (TypeError, ValueError):
        raise ParameterError("chance must be uniforms or a numpy generator.") from None
    if array.shape != shape:
        raise ParameterError(
            f"uniforms must have the shape of the counts, {shape}. Got {array.shape}."
        )
    if array.size and not (array.min() >= 0 and array.max() < 1):
        raise ParameterError("uniforms must be at least 0 and below 1.")
    return array


def narrowed(values: Integers, dtype: np.dtype[Any]) -> Counts:
    """Return a copy of the values in the type of their counts, or raise where they do not fit."""
    if values.size and int(values.max()) > np.iinfo(dtype).max:
        raise ParameterError(
            f"a released count does not fit in the type {dtype}. Give the counts a wider type."
        )
    return values.astype(dtype)
