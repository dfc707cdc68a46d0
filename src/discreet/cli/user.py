"""`discreet user`: people, groups, projects and licences."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import AsJson, StoreFolder

if TYPE_CHECKING:
    from discreet.people.accounts import Accounts
    from discreet.people.mail import Mail
    from discreet.people.people import People
    from discreet.policy import Policy

command = typer.Typer(no_args_is_help=True, help="Manage people, groups, projects and licences.")

Email = Annotated[str, typer.Argument(metavar="EMAIL", show_default=False)]
Quota = Annotated[
    int | None,
    typer.Option(metavar="N", help="New tables of fine detail in all.", show_default=False),
]

ByMail = Annotated[
    bool, typer.Option("--mail", help="Send it to the person too, as the settings say.")
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Of the server, for --mail.", show_default=False),
]


@command.command()
def add(
    store: StoreFolder,
    email: Email,
    name: Annotated[str, typer.Option(metavar="NAME", help="As others see it.")],
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="reader, licensed, custodian or auditor.")
    ] = "licensed",
    quota: Quota = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="G", help="A group. May be repeated.")
    ] = None,
    by_mail: ByMail = False,
    settings: SettingsFile = None,
) -> None:
    """Make an account, and print an invitation that works once."""
    from discreet.people.model import Holder

    mail = _mail(settings) if by_mail else None
    people = opened(store)
    person = people.accounts.add(email, name, role, 20 if quota is None else quota)
    for one in group or ():
        people.accounts.join(Holder.GROUP, one, person)
    _invite(people, email, mail)


@command.command()
def invite(
    store: StoreFolder, email: Email, by_mail: ByMail = False, settings: SettingsFile = None
) -> None:
    """Print a new invitation, also for a new password; earlier ones are void."""
    mail = _mail(settings) if by_mail else None
    _invite(opened(store), email, mail)


def _mail(settings: Path | None) -> Mail:
    """Return where mail goes by the settings, before anything is done that would be told by it."""
    from discreet.errors import ParameterError
    from discreet.server.settings import read_settings

    mail = read_settings(settings, os.environ).mail
    if mail is None:
        raise ParameterError("--mail needs mail_folder or smtp_host in the settings.")
    return mail


def _invite(people: People, email: str, mail: Mail | None) -> None:
    person = people.accounts.find(email)
    token = people.entrance.invite(person)
    typer.echo(f"/invitation/{token}")
    if mail is not None and _sent(mail, person.email, token):
        typer.echo(f"Sent to {person.email}. It works once, within 7 days.", err=True)
        return
    typer.echo(
        "Send this address to the person, with the name of your server in front. It works once, "
        "within 7 days.",
        err=True,
    )


def _sent(mail: Mail, email: str, token: str) -> bool:
    """Send an invitation; say if it could not be sent, and go on."""
    from discreet.errors import ParameterError
    from discreet.page.post import invitation

    try:
        mail.send(invitation(mail, email, token))
    except (OSError, ValueError, ParameterError) as error:
        typer.echo(f"The mail could not be sent ({type(error).__name__}).", err=True)
        return False
    return True


@command.command("list")
def list_(store: StoreFolder, as_json: AsJson = False) -> None:
    """List people, projects and licences."""
    accounts = opened(store).accounts
    everybody, licences = accounts.everybody(), accounts.licences()
    if as_json:
        told = {
            "people": [
                {
                    "email": one.email, "name": one.name, "role": one.role, "quota": one.quota,
                    "active": one.active,
                    "member_of": [f"{h}:{name}" for h, name in accounts.memberships(one)],
                }
                for one in everybody
            ],
            "projects": [
                {
                    "id": one.id, "title": one.title, "purpose": one.purpose,
                    "ends": str(one.ends), "quota": one.quota,
                }
                for one in accounts.projects()
            ],
            "licences": [
                {
                    "holder": _holder(one.holder, one.name, accounts), "dataset": one.dataset,
                    "tier": one.tier, "until": str(one.until),
                }
                for one in licences
            ],
        }  # fmt: skip
        typer.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    from discreet.cli.ledger import print_list, say

    if not everybody:
        say("There are no accounts. Whoever asks over HTTP is the public.")
        return
    rows = [
        (one.email, one.name, one.role.value if one.active else "ended", str(one.quota))
        for one in everybody
    ]
    print_list(("E-mail", "Name", "Role", ">Quota"), rows, len(rows))
    projects = [(p.id, p.title, str(p.ends), str(p.quota)) for p in accounts.projects()]
    if projects:
        print_list(("Project", "Title", "Ends", ">Quota"), projects, len(projects))
    allowed = [
        (_holder(one.holder, one.name, accounts), one.dataset, one.tier, str(one.until))
        for one in licences
    ]
    if allowed:
        print_list(("Licence of", "Data set", "Tier", "Until"), allowed, len(allowed))


@command.command()
def change(
    store: StoreFolder,
    email: Email,
    role: Annotated[
        str | None, typer.Option(metavar="ROLE", help="reader, licensed, custodian or auditor.")
    ] = None,
    quota: Quota = None,
) -> None:
    """Give somebody another role or quota."""
    accounts = opened(store).accounts
    accounts.change(accounts.find(email), role=role, quota=quota)


@command.command()
def end(store: StoreFolder, email: Email) -> None:
    """End an account with its sessions and keys; the record stays."""
    accounts = opened(store).accounts
    accounts.end(accounts.find(email))


@command.command()
def project(
    store: StoreFolder,
    name: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="Its title.")] = None,
    purpose: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it is for, in a sentence.")
    ] = None,
    ends: Annotated[
        str | None, typer.Option(metavar="DATE", help="Its last day, like 2031-12-31.")
    ] = None,
    quota: Quota = None,
    member: Annotated[
        list[str] | None,
        typer.Option(metavar="EMAIL", help="Let somebody join. May be repeated."),
    ] = None,
) -> None:
    """Make or change a project, and let people join it."""
    from discreet.errors import ParameterError
    from discreet.people.model import Holder

    accounts = opened(store).accounts
    known = next((one for one in accounts.projects() if one.id == name), None)
    if known is None and (title is None or purpose is None or ends is None):
        raise ParameterError("a new project needs --title, --purpose and --ends.")
    if known is None or title or purpose or ends or quota is not None:
        last = day(ends) if ends else known.ends if known else date.min
        kept = 40 if known is None else known.quota
        accounts.set_project(
            name, title or (known.title if known else ""),
            purpose or (known.purpose if known else ""), last,
            kept if quota is None else quota,
        )  # fmt: skip
    for one in member or ():
        accounts.join(Holder.PROJECT, name, accounts.find(one))


@command.command()
def leave(
    store: StoreFolder,
    email: Email,
    of: Annotated[str, typer.Argument(metavar="project:ID|group:G", show_default=False)],
) -> None:
    """End somebody's membership of a project or group."""
    from discreet.people.model import Holder

    accounts = opened(store).accounts
    kind, name = _named(of)
    accounts.leave(Holder(kind), name, accounts.find(email))


@command.command()
def allow(
    store: StoreFolder,
    holder: Annotated[str, typer.Argument(metavar="EMAIL|project:ID|group:G", show_default=False)],
    tier: Annotated[str, typer.Argument(metavar="TIER", show_default=False)],
    until: Annotated[str, typer.Option(metavar="DATE", help="The last day, like 2031-12-31.")],
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="The data set.  [default: the store's own]", show_default=False
        ),
    ] = None,
) -> None:
    """Give a licence for a tier of a data set, or give it longer."""
    from discreet.people.model import Holder

    own, policy = served(store)
    if dataset is None or dataset == own:
        policy.tier(tier)  # complains about one that there is not
    accounts = opened(store).accounts
    kind, name = _named(holder) if ":" in holder else ("person", "")
    if kind == "person":
        name = str(accounts.find(holder).id)
    accounts.allow(Holder(kind), name, dataset or own, tier, day(until))


@command.command()
def forbid(
    store: StoreFolder,
    holder: Annotated[str, typer.Argument(metavar="EMAIL|project:ID|group:G", show_default=False)],
    tier: Annotated[str, typer.Argument(metavar="TIER", show_default=False)],
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="The data set.  [default: the store's own]", show_default=False
        ),
    ] = None,
) -> None:
    """Take a licence away, at once."""
    from discreet.errors import ParameterError

    accounts = opened(store).accounts
    wanted = (holder, dataset or served(store)[0], tier)
    for one in accounts.licences():
        if (_holder(one.holder, one.name, accounts), one.dataset, one.tier) == wanted:
            accounts.forbid(one)
            return
    raise ParameterError(f"{holder} has no such licence.")


def opened(store: Path) -> People:
    """Return the people of a store."""
    from discreet.people.people import People
    from discreet.population import Store, state

    Store(store).open()
    state.check(store)
    return People.of_store(store)


def day(text: str) -> date:
    """Return the day of a text."""
    from discreet.errors import ParameterError

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"a day must be like 2031-12-31. Got '{text}'.") from None


def _named(text: str) -> tuple[str, str]:
    from discreet.errors import unknown

    kind, _, name = text.partition(":")
    if kind not in ("project", "group"):
        raise unknown("kind of holder", kind, ["project", "group"])
    return kind, name


def _holder(kind: str, name: str, accounts: Accounts) -> str:
    return accounts.find(int(name)).email if kind == "person" else f"{kind}:{name}"


def served(store: Path) -> tuple[str, Policy]:
    """Return the id of the data set of a store, and its policy."""
    from discreet.policy import parse_policy
    from discreet.population import Store

    version = Store(store).open()
    policy = parse_policy(version.policy_values, "policy", str(version.path))
    return version.schema.id, policy
