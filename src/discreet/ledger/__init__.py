"""What has been released of a data set, and how often each detail; the state database."""

from discreet.ledger.database import Database
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledgers import Ledgers
from discreet.ledger.model import Entry, Look, Origin, Outlook, Route, Shown, State, Status
from discreet.ledger.plan import LeftOut, Plan, Planned, propose
from discreet.ledger.space import Space, public_population

__all__ = [
    "Database",
    "Entry",
    "Ledger",
    "Ledgers",
    "LeftOut",
    "Look",
    "Origin",
    "Outlook",
    "Plan",
    "Planned",
    "Route",
    "Shown",
    "Space",
    "State",
    "Status",
    "propose",
    "public_population",
]
