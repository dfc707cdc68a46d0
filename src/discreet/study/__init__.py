"""Studies: what methods cost and give on one's own tables, and what attackers learn.

The package itself can be called: `dc.study(data, methods)` is `discreet.study.python.study`.
"""

from discreet.later import called

called(__name__, "discreet.study.python", "build,desk")
