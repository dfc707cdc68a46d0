"""A policy in sentences, for the people who must agree to it."""

from __future__ import annotations

from discreet.policy.model import MOST_CATEGORIES, CountRules, Gate, Margins, Place, Policy, Tier

_MARGINS = {
    Margins.NONE: "Totals are not given.",
    Margins.PROTECTED: "Each total is protected on its own: it is consistent between tables, and "
    "parts may not add up to it.",
    Margins.SUMMED: "Totals are the sums of the released figures: they add up, and their noise "
    "adds up too.",
}


def explain(policy: Policy) -> str:
    """Return what a policy allows, tier by tier, in sentences."""
    said = [f"{policy.title} (version {policy.version}).", ""]
    said.append(
        f"Groups of fewer than {policy.minimum_population} people must not be obtainable by "
        "subtracting two groupings of a variable."
    )
    for levels in policy.benchmark_totals:
        said.append(f"Tables by {levels} alone are official figures and released as counted.")
    for tier in policy.tiers.values():
        said += ["", *_tier(tier)]
    return "\n".join(said)


def _tier(tier: Tier) -> list[str]:
    question, protection, risk = tier.question, tier.protection, tier.risk
    said = [f"{tier.label}{' (public)' if tier.public else ''}:"]
    rules = [
        f"A table has at most {question.max_dimensions} variables, {question.max_cells:,} cells "
        f"and {question.max_categories:,} categories of a variable, and one geography."
    ]
    if question.levels_refused:
        rules.append(f"Not available: {', '.join(question.levels_refused)}.")
    if question.filters_refused:
        rules.append(f"Not to filter by: {', '.join(question.filters_refused)}.")
    if question.max_filter_categories < MOST_CATEGORIES:
        most = question.max_filter_categories
        picked = "one category" if most == 1 else f"at most {most:,} categories"
        rules.append(f"A filter picks {picked} of a variable that is not in the table.")
    rules += _protection(tier)
    rules.append(_MARGINS[protection.margins])
    rules += [f"{text}" for text in _counts(tier.counts)]
    for level, counts in tier.counts_by_level.items():
        rules += [f"For tables by {level}: {text}" for text in _counts(counts)]
    measured = (
        "from the protected figures alone, not from the true counts"
        if risk.gate is Gate.PUBLIC
        else "exactly, from the true counts"
    )
    rules.append(
        f"The risk that is left is measured {measured}; above {risk.maximum:g} a table is refused."
    )
    return said + [f"  - {rule}" for rule in rules]


def _protection(tier: Tier) -> list[str]:
    protection = tier.protection
    if protection.method == "none":
        return ["Figures are not protected: the data must be invented."]
    options = ", ".join(f"{key} {value}" for key, value in protection.options.items())
    what = f"Every figure is protected by {protection.method}{f' ({options})' if options else ''}"
    said = [f"{what}, whatever the risk before."]
    if protection.place is not Place.OUTPUT:
        said.append("The data must have been protected before, when the store was built.")
    if protection.plain_keys:
        said.append("Key sums are used as they are, for keys already in use elsewhere.")
    told = "may" if protection.published else "must not"
    said.append(f"The method and its parameters {told} be told.")
    return said


def _counts(rules: CountRules) -> list[str]:
    return [
        f"A table, or each area of it, counts at least {rules.minimum_population} people and "
        f"{rules.minimum_mean:g} people a cell, after protection.",
        f"Of its cells at most {rules.max_small:.0%} are 1 to {rules.small}; of those not zero at "
        f"most {rules.max_ones_of_populated:.0%} are 1 to {rules.one} and at most "
        f"{rules.max_small_of_populated:.0%} are 1 to {rules.small}.",
        f"At most {rules.max_single_slices:.0%} of its rows, columns or other slices have only one "
        "cell that is not zero.",
    ]
