"""A policy in sentences, for the people who must agree to it."""

from __future__ import annotations

from discreet.policy.attack import BOUNDS, AttackRules, People
from discreet.policy.model import (
    MOST_DIMENSIONS,
    Claim,
    CountRules,
    Gate,
    Margins,
    Place,
    Policy,
    Tier,
)
from discreet.protect import Multiplier

_MARGINS = {
    Margins.NONE: "Totals are not given.",
    Margins.PROTECTED: "Each total is protected on its own: it is consistent between tables, and "
    "parts may not add up to it.",
}

_UNSWAPPED = (
    "Tables of areas that no swap affects, and tables without areas, show true counts unless "
    "another step altered them; their risk is judged as that of true counts."
)


def explain(policy: Policy) -> str:
    """Return what a policy allows, tier by tier, in sentences."""
    said = [f"{policy.title} (version {policy.version}).", ""]
    said.append(_groups(policy.minimum_population))
    for levels in policy.benchmark_totals:
        said.append(
            f"Tables by {levels} alone, and parts of them, are official figures: they are released "
            "as counted. The rules on counts apply to them, the limit on the risk does not."
        )
    for tier in policy.tiers.values():
        said += ["", *_tier(tier)]
    said += ["", "Attacks:", *(f"  - {text}" for text in _attack(policy.attack))]
    return "\n".join(said)


def _attack(rules: AttackRules) -> list[str]:
    """Return what is tried, on whom, and what may be learnt."""
    when = (
        "The store is served only with a certificate that no attack goes beyond its bound, for "
        "this very policy, plan and edition."
        if rules.before_serving
        else "The store is served without a certificate."
    )
    people = {
        People.SYNTHETIC: "invented people of the same variables and areas",
        People.OWN: "the office's own people; the figures are for the custodian alone",
    }[rules.population]
    seeds = ", ".join(map(str, rules.seeds))
    said = [
        when,
        f"A certificate is made by trying all attacks on {people}, within {rules.seconds:,} "
        f"seconds ({'seed' if len(rules.seeds) == 1 else 'seeds'} {seeds}).",
        "An attack may be right in at most these shares of tries: "
        + "; ".join(f"{name} {bound.explain(rules.most(name))}" for name, bound in BOUNDS.items())
        + ". A person's attribute is never stated as certain.",
    ]
    if rules.untried:
        said.append(f"Need not have been tried: {', '.join(rules.untried)}.")
    return said


def _groups(least: int) -> str:
    by = "by subtracting two groupings of a variable."
    if least == 1:
        return f"Groups of any size may be obtainable {by}"
    return f"Groups of fewer than {least:,} people must not be obtainable {by}"


def _tier(tier: Tier) -> list[str]:
    question, risk = tier.question, tier.risk
    said = [f"{tier.label}{' (public)' if tier.public else ''}:"]
    rules = [
        f"A table has at most {_number(question.max_dimensions, 'variable')}, "
        f"{_number(question.max_cells, 'cell')} and "
        f"{_number(question.max_categories, 'category', 'categories')} per variable, and one "
        "level of geography."
    ]
    if question.levels_refused:
        rules.append(f"Not available: {', '.join(question.levels_refused)}.")
    if question.filters_refused:
        rules.append(f"Not available as filters: {', '.join(question.filters_refused)}.")
    rules += _space(tier)
    rules += _protection(tier)
    if tier.protection.zeros:
        rules.append(
            f"Of the empty cells, {tier.protection.zeros:.0%} are released as a count of 1 would "
            "be, but for those declared impossible: a figure above zero does not prove anybody."
        )
    rules.append(_totals(tier))
    rules += [f"{text}" for text in _counts(tier.counts)]
    for level, counts in tier.counts_by_level.items():
        rules += [f"For tables by {level}: {text}" for text in _counts(counts)]
    refused = f"above {risk.maximum:g} a table is refused"
    if risk.maximum >= 1:
        refused = "no table is refused for it"
    rules.append(f"The risk that is left is measured {_measured(tier)}; {refused}.")
    rules.append(_multiplier(tier))
    rules += _left_out(tier)
    return said + [f"  - {rule}" for rule in rules]


def _totals(tier: Tier) -> str:
    """Return how totals are made, and how close they are for the tables of which least is kept."""
    margins = tier.protection.margins
    if tier.protection.build is None and margins is not Margins.NONE:
        return "Totals are sums."
    if margins is not Margins.SUMMED:
        return _MARGINS[margins]
    kept = {d: tier.protection.keeps(d) for d in _answered(tier)}
    start = "Totals are the sums of the released figures: they add up, and"
    if all(one.every_total(d) for d, one in kept.items()):
        return f"{start} {max(kept.values(), key=lambda one: one.within).closeness}."
    some = any(one.margins for one in kept.values())
    return f"{start} their noise adds up too{', but for those that the method keeps' * some}."


def _answered(tier: Tier) -> list[int]:
    """Return the numbers of variables of the tables that are not refused for them."""
    return [d for d in tier.dimensions if tier.measured(d)]


def _measured(tier: Tier) -> str:
    public = tier.risk.gate is Gate.PUBLIC
    if tier.protection.beforehand:
        if public and tier.risk.multiplier is not None:
            return "from the released figures"
        by = "from the released figures" if public else "by the matrix of a swap"
        return f"{by} and the share of records that were swapped out of the areas of the table"
    if public:
        return "from the protected figures alone, not from the true counts"
    return "exactly, from the true counts"


def _space(tier: Tier) -> list[str]:
    """What all tables together may tell."""
    space = tier.space
    if not space.guards:
        counted = "records as they were altered" if tier.protection.beforehand else "records"
        return [
            f"Detail is not guarded: all tables together tell all that the {counted} tell. Only "
            "invented people or a protected base are served so."
        ]
    shown = "one released table" if space.looks == 1 else f"{space.looks} released tables"
    said = [
        f"Detail with fewer than {space.guard_below:,} people in a cell on average may be in "
        f"{shown}, for everybody together; then it is used up. Every other question is answered "
        "from released tables, by slices and sums of their figures.",
    ]
    if space.claim is Claim.POST:
        said.append("Over HTTP a new table is released by a POST alone.")
    if space.plan:
        said.append(f"Released before anybody asks: {_number(len(space.plan), 'table')}.")
    return said


def _protection(tier: Tier) -> list[str]:
    protection = tier.protection
    if protection.beforehand:
        far = "Every table says that records were altered, but must not say by how much."
        if protection.published:
            far = (
                "Every table says that records were altered. With a protected base every figure "
                "has a range that holds the true count in nine of ten cases."
            )
        return [
            "Records are altered before any table is made, when the store is built; a store whose "
            "records were neither swapped nor replaced by a protected base is refused.",
            "Figures are counts of the altered records, and are left as they are: they add up, "
            "within a table and between tables.",
            *([_UNSWAPPED] if tier.space.guards else []),
            "In a protected base no figure of a smaller area is certain. Combinations absent in "
            "the larger area stay absent, and one that is there is somebody's.",
            far,
        ]
    if protection.method == "none":
        return ["Figures are not protected: the data must be invented."]
    options = ", ".join(f"{key} {value}" for key, value in protection.options.items())
    what = f"Every figure is protected by {protection.method}{f' ({options})' if options else ''}"
    said = [f"{what}, whatever its risk before."]
    if protection.place is not Place.OUTPUT:
        said.append("The records must have been protected when the store was built.")
    if protection.plain_keys:
        said.append("Key sums are used as they are, for keys already in use elsewhere.")
    told = "may" if protection.published else "must not"
    said.append(f"Readers {told} be told the method and its parameters.")
    said.append(_change(tier))
    caution = "" if protection.build is None else protection.build.caution
    if caution:
        said.append(f"{caution[0].upper()}{caution[1:]}.")
    return said


def _change(tier: Tier) -> str:
    """Return how far off figures may be, by the tables for which it is least known."""
    effects = [tier.protection.effect(dimensions) for dimensions in _answered(tier)]
    bounds = [effect.largest_change for effect in effects if effect.largest_change is not None]
    if len(bounds) < len(effects):
        return "The method may change a figure by any amount: no range is given for it."
    return f"The method changes no figure by more than {max(bounds)}; sums may change by more."


def _multiplier(tier: Tier) -> str:
    """Return what is taken off the risk for the method, and where that figure comes from."""
    if tier.protection.beforehand and tier.risk.multiplier is None:
        return (
            "The multiplier of its entropy term is 1 less the share of records that were swapped "
            "out of the areas of the table, as a whole percentage."
        )
    used = dict.fromkeys(tier.multiplier(dimensions) for dimensions in _answered(tier))
    own = dict.fromkeys(tier.protection.effect(d).multiplier for d in _answered(tier))
    told = " or ".join(_value(one) for one in used if one is not None)
    text = f"The multiplier of its entropy term is {told}"
    if tier.risk.multiplier is not None:
        known = " or ".join(_value(one) for one in own if one is not None)
        text += f" (the method's own: {known})" if known else " (the method has none of its own)"
    return f"{text}."


def _value(multiplier: Multiplier) -> str:
    if multiplier.small == multiplier.large:
        return f"{multiplier.small:.2g}, {multiplier.source}"
    return (
        f"{multiplier.small:.2g} for figures from 1 to {multiplier.limit} and "
        f"{multiplier.large:.2g} for larger ones, {multiplier.source}"
    )


def _left_out(tier: Tier) -> list[str]:
    """Return which tables are refused because of their number of variables, and why."""
    every = range(1, min(tier.question.max_dimensions, MOST_DIMENSIONS) + 1)
    said = []
    not_taken = [d for d in every if d not in tier.dimensions]
    unknown = [d for d in tier.dimensions if not tier.measured(d)]
    if not_taken:
        said.append(f"{_tables(not_taken)} are refused (NO_METHOD): the method cannot take them.")
    if unknown:
        said.append(
            f"{_tables(unknown)} are refused (NOT_MEASURED): the method's probabilities are not "
            "known for them, so their risk cannot be measured."
        )
    return said


def _tables(dimensions: list[int]) -> str:
    first = ", ".join(map(str, dimensions[:-1]))
    numbers = f"{first} or {dimensions[-1]}" if first else f"{dimensions[-1]}"
    return f"Tables of {numbers} variable{'' if dimensions == [1] else 's'}"


def _number(number: int, thing: str, things: str = "") -> str:
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def _up_to(most: int) -> str:
    return {1: "1", 2: "1 or 2"}.get(most, f"1 to {most}")


def _counts(rules: CountRules) -> list[str]:
    mean = (
        f", and at least {rules.minimum_mean:g} per cell on average" if rules.minimum_mean else ""
    )
    return [
        "After protection a table, or each area in it, has at least "
        f"{_number(rules.minimum_population, 'person', 'people')}{mean}.",
        _small(rules),
        f"At most {rules.max_single_lines:.0%} of its rows, columns or other lines (all variables "
        "but one or two fixed) have only one cell that is not zero, and at most "
        f"{rules.max_single_lines:.0%} of its people are in such lines."
        if rules.max_single_lines < 1
        else "No table is refused for lines with only one cell that is not zero.",
    ]


def _small(rules: CountRules) -> str:
    """Return how many figures may be small."""
    if not rules.small:
        return "No figure counts as small."
    if min(rules.max_small, rules.max_ones_of_populated, rules.max_small_of_populated) == 1:
        return "No table is refused for small figures."
    small, ones, most = _up_to(rules.small), "", rules.max_small_of_populated
    if rules.one == rules.small:
        most = min(most, rules.max_ones_of_populated)
    elif rules.one:
        ones = f"at most {rules.max_ones_of_populated:.0%} are {_up_to(rules.one)} and "
    return (
        f"At most {rules.max_small:.0%} of its cells are {small}. Of the cells that are not zero, "
        f"{ones}at most {most:.0%} are {small}."
    )
