"""Names for areas that exist nowhere: plausible, unique and always in the same order."""

from __future__ import annotations

from collections.abc import Iterator

NUTS2 = ("Ostermark", "Westerreach")
REGIONS = (
    "Upper Velmoor",
    "Carrowdale",
    "Thessaly Coast",
    "Mid Ostermark",
    "Harrowfen",
    "Sundrey Isles",
    "Greywater",
    "Lower Velmoor",
    "Pellarin",
    "West Marrow",
)
_ROOTS = (
    "Averl", "Brask", "Corv", "Dolm", "Ermin", "Fenl", "Garr", "Hest", "Ivel", "Jarl", "Kelv",
    "Lorn", "Marl", "Nethr", "Ormel", "Pell", "Quarl", "Rusk", "Selv", "Tarv", "Ulver", "Varn",
    "Wendl", "Yarl", "Zell", "Ambr", "Birsk", "Cald", "Drav", "Elsk", "Fask", "Gryll", "Havr",
    "Ingl", "Korl", "Lisk", "Mosk", "Norl", "Oskel", "Perr", "Rindl", "Skarr", "Thurl", "Urml",
    "Velm", "Wisk", "Yedr", "Asgl", "Bromv", "Crell", "Dunsk", "Evr", "Forl", "Gomer", "Hulv",
    "Irml", "Kessl", "Lamm", "Murl", "Nask",
)  # fmt: skip
_ENDINGS = (
    "ingham", "stead", "haven", "wick", "moor", "combe", "minster", "borough", "holt", "ness",
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


def _numbered(name: str, turn: int) -> str:
    return name if turn == 0 else f"{name} {turn + 1}"


def authorities() -> Iterator[str]:
    """Return names of local authorities, without end: the first ones all begin differently."""
    turn = 0
    while True:
        for shift in range(len(_ENDINGS)):
            for place, root in enumerate(_ROOTS):
                yield _numbered(root + _ENDINGS[(place * 7 + shift) % len(_ENDINGS)], turn)
        turn += 1


def wards(authority: str) -> Iterator[str]:
    """Return names of wards of an authority, without end."""
    turn = 0
    while True:
        for quarter in _QUARTERS:
            yield _numbered(f"{authority} {quarter}", turn)
        turn += 1
