"""Names for areas that exist nowhere: plausible, unique and always in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

NUTS2 = ("Ostervale", "Westerreach")
REGIONS = (
    "Upper Velmoor",
    "Carrowdale",
    "Thessarn Coast",
    "Mid Ostervale",
    "Harrowfen",
    "Sundrey Isles",
    "Greywater",
    "Lower Velmoor",
    "Pellowmere",
    "West Marrow",
)
_ROOTS = (
    "Avel", "Brasko", "Corva", "Dolmer", "Ermin", "Fenla", "Garro", "Hesper", "Ivel", "Jarro",
    "Kelva", "Lornel", "Marven", "Nethel", "Ormel", "Pello", "Quaren", "Ruska", "Selva", "Tarven",
    "Ulver", "Varnel", "Wender", "Yarro", "Zellen", "Ambrel", "Birska", "Caldren", "Draven",
    "Elska", "Faskel", "Gryllen", "Havrel", "Inglan", "Korlen", "Liska", "Moskel", "Norlen",
    "Oskel", "Perrel", "Rindel", "Skarra", "Thurva", "Urmel", "Velmer", "Wisken", "Yedra", "Asgel",
    "Bromva", "Crellen", "Dunska", "Evren", "Forlan", "Gomer", "Hulven", "Irmel", "Kessel",
    "Lammel", "Murlen", "Naskel",
)  # fmt: skip
_ENDINGS = (
    "ham", "stead", "haven", "wick", "moor", "combe", "minster", "borough", "holt", "ness",
    "field", "thorpe", "mouth", "gate", "dale", "hurst", "bridge", "leigh", "market", "cross",
)  # fmt: skip
_QUARTERS = (
    "Castle", "Market", "Riverside", "St Anne's", "Old Town", "Priory", "Station", "Northfield",
    "Southfield", "Hill", "Park", "Harbour", "Abbey", "Meadows", "Mill", "Common", "Eastgate",
    "Westgate", "Church", "Orchard", "Heath", "Green", "Victoria", "Docks", "Grange", "Manor",
    "Valley", "Woods", "Quarry", "Lakes", "Foundry", "Cathedral", "Bridge", "Fields", "Spa",
    "University", "Rise", "Moor", "Cross", "Weir", "Springs", "Lodge", "Heights", "Warren",
    "Chapel", "Ferry", "Terrace", "Beacon",
)  # fmt: skip


def authorities() -> Iterator[str]:
    """Return names of local authorities, without end: the first ones all begin differently."""
    return _endless(
        [
            root + _ENDINGS[(place * 7 + shift) % len(_ENDINGS)]
            for shift in range(len(_ENDINGS))
            for place, root in enumerate(_ROOTS)
        ]
    )


def wards(authority: str) -> Iterator[str]:
    """Return names of wards of an authority, without end."""
    return _endless([f"{authority} {quarter}" for quarter in _QUARTERS])


def _endless(names: list[str]) -> Iterator[str]:
    """Return the names, then the same numbered from 2, and so on."""
    yield from names
    for number in count(2):
        yield from (f"{name} {number}" for name in names)
