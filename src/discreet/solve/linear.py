"""The linear and integer solver, HiGHS, behind one small door.

Every run is checked: a model that ends with anything but an optimum gives no values. The number of
threads is a setting of the whole process in HiGHS, and models that disagree about it have returned
zeros without a word; it is set here, once, for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import InternalError
from discreet.later import later
from discreet.solve.solution import Solution, Status
from discreet.types import Flags, Floats

highspy = later("highspy")

THREADS = 1
INFINITY = np.inf
_NOTHING = np.zeros(0)


class LinearProgram:
    """Linear, or integer, conditions on columns, to be minimised for one cost after another.

    Runs after the first start from the last optimum.
    """

    def __init__(
        self,
        matrix: Any,
        row_low: Floats,
        row_high: Floats,
        low: Floats,
        high: Floats,
        cost: Floats | None = None,
        whole: Flags | None = None,
        seconds: float | None = None,
        warm: bool = False,
        interior: bool = False,
        nodes: int | None = None,
        relative: float | None = None,
    ) -> None:
        columns = matrix.tocsc()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = columns.shape
        model.col_cost_ = np.zeros(columns.shape[1]) if cost is None else cost
        model.col_lower_, model.col_upper_ = _finite(low), _finite(high)
        model.row_lower_, model.row_upper_ = _finite(row_low), _finite(row_high)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = columns.indptr
        model.a_matrix_.index_ = columns.indices
        model.a_matrix_.value_ = columns.data.astype(np.float64)
        self.whole = whole is not None and bool(whole.any())
        if whole is not None and self.whole:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            model.integrality_ = [kinds[int(flag)] for flag in whole]
        self.solver = highspy.Highs()
        settings: dict[str, Any] = {"output_flag": False, "threads": THREADS}
        if warm:
            # One cost changes at a time: the last basis stays feasible, so primal simplex goes on
            # from it, and presolving would throw it away.
            settings |= {"presolve": "off", "simplex_strategy": 4}
        if interior:
            # No corner is needed: the crossover to one would take most of the time.
            settings |= {"solver": "ipm", "run_crossover": "off"}
        limits = {"mip_max_nodes": nodes, "mip_rel_gap": relative, "time_limit": seconds}
        settings |= {name: value for name, value in limits.items() if value is not None}
        for name, value in settings.items():
            self._set(name, value)
        if self.solver.passModel(model) == highspy.HighsStatus.kError:
            raise InternalError("the solver did not take the model.")
        self.size = int(columns.shape[1])

    def _set(self, name: str, value: Any) -> None:
        if self.solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise InternalError(f"the solver does not know the setting {name}.")

    def set_cost(self, column: int, cost: float) -> None:
        """Give one column another cost."""
        self.solver.changeColCost(column, cost)

    def set_costs(self, cost: Floats) -> None:
        """Give every column another cost."""
        self.solver.changeColsCost(self.size, np.arange(self.size, dtype=np.int32), cost)

    def set_bounds(self, column: int, low: float, high: float) -> None:
        """Give one column other bounds."""
        self.solver.changeColBounds(column, low, high)

    def keep_basis(self) -> None:
        """Let further runs start from the last basis whatever is changed."""
        self._set("presolve", "off")

    def begin_anew(self) -> None:
        """Let the next run begin with every column at a bound, not at the last optimum.

        Where few columns leave their bounds, that takes fewer steps.
        """
        self._set("presolve", "off")
        self.solver.clearSolver()

    def keep_costs(self) -> None:
        """Let further runs take costs as they are: no perturbation, so fewer steps if not hard."""
        self._set("dual_simplex_cost_perturbation_multiplier", 0.0)

    def columns(self) -> Floats:
        """Return the columns of the last run."""
        return self._values()

    def prices(self) -> Floats:
        """Return what a unit more of each column would cost, at the last optimum."""
        return np.array(self.solver.getSolution().col_dual, np.float64)

    def row_prices(self) -> Floats:
        """Return what a unit more of each condition would cost, at the last optimum."""
        return np.array(self.solver.getSolution().row_dual, np.float64)

    @property
    def steps(self) -> int:
        """How many steps of the simplex method the last run took."""
        return int(self.solver.getInfo().simplex_iteration_count)

    def set_all_bounds(self, low: Floats, high: Floats) -> None:
        """Give every column other bounds."""
        columns = np.arange(self.size, dtype=np.int32)
        self.solver.changeColsBounds(self.size, columns, _finite(low), _finite(high))

    def limit(self, nodes: int | None, seconds: float | None) -> None:
        """Let further runs take so many nodes, and so long, at most."""
        self._set("mip_max_nodes", 2**31 - 1 if nodes is None else nodes)
        # The solver's clock goes on from run to run.
        ends = INFINITY if seconds is None else self.solver.getRunTime() + seconds
        self._set("time_limit", ends)

    def limit_steps(self, steps: int | None) -> None:
        """Let further runs take so many steps of the simplex method at most, or as many as need be.

        A run that is stopped by this has no values.
        """
        self._set("simplex_iteration_limit", 2**31 - 1 if steps is None else steps)

    def start(self, columns: Floats) -> None:
        """Let the next run know a point that keeps all conditions."""
        point = highspy.HighsSolution()
        point.col_value = columns
        self.solver.setSolution(point)

    def run(self) -> Solution:
        """Return the columns at the least cost; `gap` is what an integer optimum may be below.

        Stopped with values is a feasible point that time did not prove the best; stopped without
        values is no answer at all.
        """
        if self.solver.run() == highspy.HighsStatus.kError:
            raise InternalError("the solver failed.")
        status = self.solver.getModelStatus()
        kinds = highspy.HighsModelStatus
        if status in (kinds.kInfeasible, kinds.kUnboundedOrInfeasible):
            return Solution(Status.INFEASIBLE, _NOTHING, np.inf)
        if status == kinds.kUnbounded:
            return Solution(Status.NOT_CONVERGED, _NOTHING, np.inf)
        if status == kinds.kOptimal:
            return Solution(Status.SOLVED, self._values(), self._gap())
        if status in (kinds.kTimeLimit, kinds.kInterrupt, kinds.kSolutionLimit):
            feasible = self.solver.getInfo().primal_solution_status == 2
            values = self._values() if feasible else _NOTHING
            return Solution(Status.STOPPED, values, self._gap())
        return Solution(Status.NOT_CONVERGED, _NOTHING, np.inf)

    def _values(self) -> Floats:
        values = np.array(self.solver.getSolution().col_value, np.float64)
        if len(values) != self.size or not np.isfinite(values).all():
            raise InternalError("the solver returned no values.")
        return values

    def _gap(self) -> float:
        info = self.solver.getInfo()
        if not self.whole:
            return 0.0
        return float(abs(info.objective_function_value - info.mip_dual_bound))

    @property
    def cost(self) -> float:
        """The cost of the last run."""
        return float(self.solver.getInfo().objective_function_value)

    @property
    def bound(self) -> float:
        """What no integer point is below, as far as the last run has proved."""
        return float(self.solver.getInfo().mip_dual_bound)


def _finite(values: Floats) -> Floats:
    return np.clip(np.asarray(values, np.float64), -INFINITY, INFINITY)
