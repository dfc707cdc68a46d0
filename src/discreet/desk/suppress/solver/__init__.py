"""Cell suppression: which further cells to withhold so that nobody can work the primary ones out.

`suppress` is for tables of any size, `suppress_linked` for any equations, `optimum` proves the
cheapest pattern of a small table. All return patterns that `check` has proved safe.
"""

from discreet.desk.suppress.solver.check import Proof, attacked, exposed, prove, views
from discreet.desk.suppress.solver.exact import optimum
from discreet.desk.suppress.solver.examine import examined, proved
from discreet.desk.suppress.solver.heuristic import suppress
from discreet.desk.suppress.solver.linked import suppress_linked
from discreet.desk.suppress.solver.problem import Insiders, Mark, Needs, Pattern, Problem

__all__ = [
    "Insiders",
    "Mark",
    "Needs",
    "Pattern",
    "Problem",
    "Proof",
    "attacked",
    "examined",
    "exposed",
    "optimum",
    "prove",
    "proved",
    "suppress",
    "suppress_linked",
    "views",
]
