"""Signing in and out, and invitations: forms that need no script."""

from __future__ import annotations

import asyncio
from hmac import compare_digest
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response

from discreet.errors import Forbidden, ParameterError
from discreet.page.desk import Context, see
from discreet.page.visit import render
from discreet.people import secrets
from discreet.people.entrance import LONGEST

_FORM = "discreet-form"
_AT_ONCE = asyncio.Semaphore(2)  # hashes of passwords, of 64 MiB each


def session_cookie(secure: bool) -> str:
    """Return the name of the cookie of a session; with TLS one that no other host can set."""
    return "__Host-discreet" if secure else "discreet"


def local(address: str, usual: str = "/me") -> str:
    """Return an address of this server to go to, or the usual one if it is another's."""
    parts = urlsplit(address)
    plain = all(32 < ord(sign) < 127 for sign in address) and "\\" not in address
    ours = address.startswith("/") and not address.startswith("//") and not parts.netloc
    return address if ours and plain and not parts.scheme else usual


async def sign_in_page(context: Context, failed: str = "", status: int = 200) -> Response:
    """Return the form; it carries what a cookie says too, so that no other page can send it."""
    visit = context.visit
    following = local(visit.values.get("next", ""), visit.to("/me"))
    if context.visit.who is not None:
        return RedirectResponse(following, 303)
    given = context.request.cookies.get(_FORM, "") or secrets.token()
    answer = render(
        visit, "sign-in.html", status, {"Cache-Control": "no-store"}, place="sign-in",
        form=given, following=following, failed=failed, organisation=context.about.organisation,
        password=context.about.passwords, years=context.years(),
        email=visit.values.get("email", "")[:200],
    )  # fmt: skip
    answer.set_cookie(
        _FORM, given, path="/", httponly=True, samesite="strict", secure=context.secure
    )
    return answer


def same_form(context: Context) -> None:
    """Raise unless a form without a session comes from a page of ours."""
    kept, given = context.request.cookies.get(_FORM, ""), context.visit.values.get("form", "")
    if not kept or not compare_digest(kept.encode(), given.encode()):
        raise Forbidden("FORM", context.visit.t("error.form"))


async def sign_in(context: Context) -> Response:
    """Begin a session, or say in the same words whatever was wrong."""
    same_form(context)
    if not context.about.passwords:
        raise Forbidden("PASSWORD", context.visit.t("error.forbidden"))
    values = context.visit.values
    before = context.request.cookies.get(session_cookie(context.secure), "")
    async with _AT_ONCE:
        token = await asyncio.to_thread(
            context.people.entrance.sign_in,
            values.get("email", ""), values.get("password", ""), before,
        )  # fmt: skip
    if token is None:
        return await sign_in_page(context, "sign_in.failed", 401)
    return begun(context, token, values.get("next", ""))


def begun(context: Context, token: str, following: str) -> Response:
    """Return where somebody goes who has signed in, with the cookie of the session."""
    answer = see(local(following, context.visit.to("/me")))
    answer.set_cookie(
        session_cookie(context.secure), token, path="/", httponly=True, samesite="lax",
        secure=context.secure, max_age=int(LONGEST.total_seconds()),
    )  # fmt: skip
    answer.delete_cookie(_FORM, path="/")
    return answer


async def sign_out(context: Context) -> Response:
    """End the session."""
    await asyncio.to_thread(context.people.entrance.sign_out, context.who)
    answer = see(context.visit.link("/"))
    answer.delete_cookie(
        session_cookie(context.secure), path="/", httponly=True, samesite="lax",
        secure=context.secure,
    )  # fmt: skip
    answer.headers["Clear-Site-Data"] = '"cache"'
    return answer


async def invitation_page(context: Context, failed: str = "", status: int = 200) -> Response:
    """Return the form by which somebody chooses a password; looking at it uses nothing up."""
    token = context.request.path_params["token"]
    person = await asyncio.to_thread(context.people.entrance.invited, token)
    given = context.request.cookies.get(_FORM, "") or secrets.token()
    answer = render(
        context.visit, "invitation.html", status if person else 404,
        {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"},
        place="sign-in", person=person, form=given, failed=failed, shortest=secrets.SHORTEST,
    )  # fmt: skip
    answer.set_cookie(
        _FORM, given, path="/", httponly=True, samesite="strict", secure=context.secure
    )
    return answer


async def accept(context: Context) -> Response:
    """Use an invitation up: the password is set, and can be used to sign in."""
    same_form(context)
    token = context.request.path_params["token"]
    password = context.visit.values.get("password", "")
    if password != context.visit.values.get("again", ""):
        return await invitation_page(context, "invitation.differ", 400)
    try:
        async with _AT_ONCE:
            person = await asyncio.to_thread(context.people.entrance.accept, token, password)
    except ParameterError:
        return await invitation_page(context, "invitation.weak", 400)
    if person is None:
        return await invitation_page(context)
    return see(context.visit.link("/sign-in"))


def from_here(headers: Headers, host: str) -> bool:
    """Whether a form was sent by a page of this server, as far as the browser says."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == host
