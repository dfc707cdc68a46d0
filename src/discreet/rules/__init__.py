"""What may be asked, and what the protected counts allow. One rule, one comparison, one code."""

from discreet.rules.codes import Code
from discreet.rules.counts import broken_rules, withheld_areas
from discreet.rules.question import check_detail, check_question

__all__ = ["Code", "broken_rules", "check_detail", "check_question", "withheld_areas"]
