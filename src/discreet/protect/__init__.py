"""Protection methods: frozen, validated parameters that describe what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.later import names

if TYPE_CHECKING:
    from discreet.protect import lookup
    from discreet.protect.base import Chance, Effect, Kept, Method, Multiplier, Transition
    from discreet.protect.cells.cell_key import CellKeyPerturbation
    from discreet.protect.cells.rounding import (
        ConventionalRounding,
        RandomRounding,
        SmallCellAdjustment,
    )
    from discreet.protect.cells.sampling import Sampling
    from discreet.protect.cells.stochastic import InvariantPerturbation, StochasticPerturbation
    from discreet.protect.keys import KeyMix, plain_uniforms, table_generator, whole_uniforms
    from discreet.protect.lookup import LookupTable
    from discreet.protect.records.cube import InputPerturbation
    from discreet.protect.records.imputation import Edit, OverImputation
    from discreet.protect.records.pram import Pram
    from discreet.protect.records.protected_base import ProtectedBase
    from discreet.protect.records.swapping import IndividualSwapping, RecordSwapping
    from discreet.protect.tables.additivity import (
        Restored,
        fit_to_margins,
        protected_margins,
        restore_additivity,
    )
    from discreet.protect.tables.controlled import ControlledRounding, SmallCountRounding
    from discreet.protect.tables.count_adjustment import CountAdjustment
    from discreet.protect.tables.same_margins import SameMargins
    from discreet.protect.tables.semi_controlled import SemiControlledRounding

__all__ = [
    "CellKeyPerturbation",
    "Chance",
    "ControlledRounding",
    "ConventionalRounding",
    "CountAdjustment",
    "Edit",
    "Effect",
    "IndividualSwapping",
    "InputPerturbation",
    "InvariantPerturbation",
    "Kept",
    "KeyMix",
    "LookupTable",
    "Method",
    "Multiplier",
    "OverImputation",
    "Pram",
    "ProtectedBase",
    "RandomRounding",
    "RecordSwapping",
    "Restored",
    "SameMargins",
    "Sampling",
    "SemiControlledRounding",
    "SmallCellAdjustment",
    "SmallCountRounding",
    "StochasticPerturbation",
    "Transition",
    "fit_to_margins",
    "lookup",
    "plain_uniforms",
    "protected_margins",
    "restore_additivity",
    "table_generator",
    "whole_uniforms",
]

# Imported when they are first used: most programs need one method.
__getattr__, __dir__ = names(
    __name__,
    {
        "": "lookup",
        "base": "Chance Effect Kept Method Multiplier Transition",
        "cells.cell_key": "CellKeyPerturbation",
        "cells.rounding": "ConventionalRounding RandomRounding SmallCellAdjustment",
        "cells.sampling": "Sampling",
        "cells.stochastic": "InvariantPerturbation StochasticPerturbation",
        "keys": "KeyMix plain_uniforms table_generator whole_uniforms",
        "lookup": "LookupTable",
        "records.cube": "InputPerturbation",
        "records.imputation": "Edit OverImputation",
        "records.pram": "Pram",
        "records.protected_base": "ProtectedBase",
        "records.swapping": "IndividualSwapping RecordSwapping",
        "tables.additivity": "Restored fit_to_margins protected_margins restore_additivity",
        "tables.controlled": "ControlledRounding SmallCountRounding",
        "tables.count_adjustment": "CountAdjustment",
        "tables.same_margins": "SameMargins",
        "tables.semi_controlled": "SemiControlledRounding",
    },
)
