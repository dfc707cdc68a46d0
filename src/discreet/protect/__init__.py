"""Protection methods: frozen, validated parameters that describe what they do."""

from discreet.protect import lookup, redesign
from discreet.protect.additivity import Restored, fit_to_margins, restore_additivity
from discreet.protect.adjustment import (
    AdjustedTable,
    ControlledAdjustment,
    CountAdjustment,
    of_tables,
)
from discreet.protect.base import CellwiseMethod, Effect, Multiplier, Promise, TablewiseMethod
from discreet.protect.cellkey import CellKeyPerturbation
from discreet.protect.controlled import ControlledRounding, SmallCountRounding
from discreet.protect.cube import InputPerturbation
from discreet.protect.imputation import Edit, OverImputation
from discreet.protect.keys import KeyMix, plain_uniforms, table_generator
from discreet.protect.lookup import LookupTable
from discreet.protect.margins import SameMargins
from discreet.protect.pram import Pram
from discreet.protect.rounding import RandomRounding
from discreet.protect.sampling import Sampling
from discreet.protect.semicontrolled import SemiControlledRounding
from discreet.protect.smallcell import SmallCellAdjustment
from discreet.protect.stochastic import StochasticPerturbation
from discreet.protect.suppression import Objective, Suppressed, Suppression
from discreet.protect.swapping import IndividualSwapping, RecordSwapping

__all__ = [
    "AdjustedTable",
    "CellKeyPerturbation",
    "CellwiseMethod",
    "ControlledAdjustment",
    "ControlledRounding",
    "CountAdjustment",
    "Edit",
    "Effect",
    "IndividualSwapping",
    "InputPerturbation",
    "KeyMix",
    "LookupTable",
    "Multiplier",
    "Objective",
    "OverImputation",
    "Pram",
    "Promise",
    "RandomRounding",
    "RecordSwapping",
    "Restored",
    "SameMargins",
    "Sampling",
    "SemiControlledRounding",
    "SmallCellAdjustment",
    "SmallCountRounding",
    "StochasticPerturbation",
    "Suppressed",
    "Suppression",
    "TablewiseMethod",
    "fit_to_margins",
    "lookup",
    "of_tables",
    "plain_uniforms",
    "redesign",
    "restore_additivity",
    "table_generator",
]
