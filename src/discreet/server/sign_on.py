"""Signing in with the office's own identity: by OpenID Connect, or by a trusted proxy's header.

Either begins a session here and no more: what somebody may use follows from their account, their
groups and their licences. Needs the packages of `discreet[sign-on]` for OpenID Connect.
"""

from __future__ import annotations

import asyncio
import base64
import json
import warnings
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from discreet.errors import Forbidden, ParameterError
from discreet.page.desk import About, Context, Page, mount
from discreet.page.signing import begun, local, session_cookie
from discreet.people import secrets
from discreet.people.model import Person, Role, email_of
from discreet.people.people import People
from discreet.server.clients import is_proxy
from discreet.server.settings import Live, Settings
from discreet.service import Service

START = "/sign-in/organisation"
BACK = f"{START}/back"
_SECONDS = 600  # between leaving for the identity provider and coming back
_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # none that a public key could sign with


def add(app: FastAPI, service: Service, people: People, about: About, live: Live) -> None:
    """Add the routes of the office's sign-on; they are there while one is set."""
    sign_on = SignOn(live)
    pages = (Page(START, sign_on.start, roles=None), Page(BACK, sign_on.back, roles=None))
    mount(app, service, people, pages, about)


def reload(about: About, live: Live) -> None:
    """Let people sign in as the settings say now."""
    sign_on = SignOn(live)
    about.organisation = START if sign_on.by_proxy or sign_on.by_provider else ""
    about.passwords = live.settings.passwords == "yes"


@dataclass
class SignOn:
    """Lets people in whom the office's own identity provider knows."""

    live: Live

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        return self.live.settings

    @property
    def by_proxy(self) -> bool:
        """Whether a proxy says who somebody is."""
        return bool(self.settings.proxy_user_header and self.settings.proxies)

    @property
    def by_provider(self) -> bool:
        """Whether an OpenID provider does."""
        return bool(self.settings.oidc_issuer)

    async def start(self, context: Context) -> Response:
        """Begin a session if the proxy says who it is, or lead to the provider."""
        visit = context.visit
        following = local(visit.values.get("next", ""), visit.to("/me"))
        if self.by_proxy:
            email, groups = self._of_proxy(context)
            return await self._let_in(context, email, email, groups, "proxy", following)
        if not self.by_provider:
            raise HTTPException(404)
        return await self._to_provider(context, following)

    # A proxy

    def _of_proxy(self, context: Context) -> tuple[str, list[str]]:
        """Return who a trusted proxy says it is, and their groups; from others it says nothing."""
        request, settings = context.request, self.settings
        peer = request.client.host if request.client else ""
        given = request.headers.getlist(settings.proxy_user_header)
        if not is_proxy(peer, settings.networks) or len(given) != 1:
            raise Forbidden("SIGN_ON", context.visit.t("sign_in.not_known"))
        groups = ""
        if settings.proxy_groups_header:
            groups = ",".join(request.headers.getlist(settings.proxy_groups_header))
        return given[0], [name.strip() for name in groups.split(",") if name.strip()]

    # OpenID Connect

    def _client(self) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it would rather have the next httpx
                from authlib.integrations.httpx_client import AsyncOAuth2Client
        except ModuleNotFoundError:
            raise ParameterError(
                "OpenID Connect needs the packages of: pip install 'discreet[sign-on]'"
            ) from None
        return AsyncOAuth2Client(
            self.settings.oidc_client, self.settings.oidc_secret or None,
            scope="openid email profile", redirect_uri=self.settings.public_url + BACK,
            code_challenge_method="S256", timeout=10, trust_env=False,
            token_endpoint_auth_method=(
                "client_secret_basic" if self.settings.oidc_secret else "none"
            ),
        )  # fmt: skip

    async def _provider(self, client: Any) -> dict[str, Any]:
        """Return what the provider says of itself, which must be who it was asked to be."""
        issuer = self.settings.oidc_issuer.rstrip("/")
        found: dict[str, Any] = await _read(client, f"{issuer}/.well-known/openid-configuration")
        if found.get("issuer", "").rstrip("/") != issuer:
            raise ParameterError("the identity provider says that it is another.")
        return found

    async def _to_provider(self, context: Context, following: str) -> Response:
        state, nonce, verifier = secrets.token(), secrets.token(), secrets.token()
        async with self._client() as client:
            provider = await self._provider(client)
            address, _ = client.create_authorization_url(
                provider["authorization_endpoint"], state=state, nonce=nonce,
                code_verifier=verifier,
            )  # fmt: skip
        kept = json.dumps([state, nonce, verifier, following]).encode()
        answer = RedirectResponse(address, 303, {"Cache-Control": "no-store"})
        answer.set_cookie(
            _cookie(context), base64.urlsafe_b64encode(kept).decode(), max_age=_SECONDS,
            path="/", httponly=True, samesite="lax", secure=context.secure,
        )  # fmt: skip
        return answer

    async def back(self, context: Context) -> Response:
        """Take somebody who comes back from the provider, if they left from here."""
        if not self.by_provider:
            raise Forbidden("SIGN_ON", context.visit.t("sign_in.not_known"))
        values = context.visit.values
        state, nonce, verifier, following = _kept(context)
        if not state or not compare_digest(state.encode(), values.get("state", "").encode()):
            raise Forbidden("SIGN_ON", context.visit.t("error.form"))
        if "code" not in values:
            raise Forbidden("SIGN_ON", context.visit.t("sign_in.not_known"))
        claims = await self._claims(values["code"], verifier, nonce)
        if claims.get("email_verified") is False:
            raise Forbidden("SIGN_ON", context.visit.t("sign_in.not_known"))
        groups = claims.get(self.settings.oidc_groups, [])
        names = [str(name) for name in groups] if isinstance(groups, list) else []
        email = str(claims.get("email", ""))
        name = str(claims.get("name") or email)
        answer = await self._let_in(context, email, name, names, "organisation", following)
        answer.delete_cookie(_cookie(context), path="/")
        return answer

    async def _claims(self, code: str, verifier: str, nonce: str) -> dict[str, Any]:
        """Return what the provider signed about somebody, having checked that it is for us."""
        from authlib.common.errors import AuthlibBaseError
        from httpx import HTTPError
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        try:
            async with self._client() as client:
                provider = await self._provider(client)
                token = await client.fetch_token(
                    provider["token_endpoint"], code=code, code_verifier=verifier
                )
                found = KeySet.import_key_set(await _read(client, provider["jwks_uri"]))
            decoded = jwt.decode(token["id_token"], found, algorithms=_ALGORITHMS)
            rules = jwt.JWTClaimsRegistry(
                leeway=60,
                iss={"essential": True, "value": provider["issuer"]},
                aud={"essential": True, "value": self.settings.oidc_client},
                exp={"essential": True},
                nonce={"essential": True, "value": nonce},
            )
            rules.validate(decoded.claims)
        except (AuthlibBaseError, HTTPError, JoseError, KeyError, ValueError) as error:
            raise Forbidden("SIGN_ON", "The identity provider did not confirm it.") from error
        claims: dict[str, Any] = decoded.claims
        return claims

    # Both

    async def _let_in(
        self, context: Context, email: str, name: str, groups: list[str], via: str, following: str
    ) -> Response:
        """Begin a session for somebody with an account, made now if the settings say so."""
        person = await asyncio.to_thread(self._person, context, email, name)
        known = _groups(groups)
        if self.settings.proxy_groups_header or self.by_provider:
            await asyncio.to_thread(context.people.accounts.set_groups, person, known)
        before = context.request.cookies.get(session_cookie(context.secure), "")
        token = await asyncio.to_thread(context.people.entrance.begin, person, via, before)
        return begun(context, token, following)

    def _person(self, context: Context, email: str, name: str) -> Person:
        accounts, role = context.people.accounts, self.settings.sign_on_role
        try:
            person = accounts.find(email_of(email))
        except ParameterError:
            if not role or "@" not in email:
                raise Forbidden("SIGN_ON", context.visit.t("sign_in.not_known")) from None
            person = accounts.add(email, name[:100] or email, Role(role))
        if not person.active:
            raise Forbidden("SIGN_ON", context.visit.t("sign_in.not_known"))
        return person


async def _read(client: Any, address: str) -> Any:
    """Return a document of the provider, to whom no token is shown."""
    from httpx import HTTPError

    try:
        answer = await client.request("GET", address, withhold_token=True)
        return answer.raise_for_status().json()
    except (HTTPError, ValueError) as error:
        raise Forbidden("SIGN_ON", "The identity provider does not answer.") from error


def _groups(names: list[str]) -> list[str]:
    """Return the groups whose names can be those of groups here; others say nothing."""
    from discreet.population.names import identifier

    found = []
    for name in names[:200]:
        try:
            found.append(identifier(name, "group"))
        except ParameterError:
            continue
    return found


def _cookie(context: Context) -> str:
    return "__Host-discreet-sign-on" if context.secure else "discreet-sign-on"


def _kept(context: Context) -> tuple[str, str, str, str]:
    """Return what was kept when somebody left: state, nonce, verifier and where they wanted to."""
    try:
        text = context.request.cookies.get(_cookie(context), "")[:4_000]
        state, nonce, verifier, following = json.loads(base64.urlsafe_b64decode(text))
    except ValueError:
        return "", "", "", ""
    return str(state), str(nonce), str(verifier), str(following)


def check(settings: Settings) -> None:
    """Complain about settings of the sign-on that cannot be meant."""
    if settings.proxy_user_header and not settings.proxies:
        raise ParameterError(
            "proxy_user_header needs proxies: a header is believed from configured addresses only."
        )
    if settings.sign_on_role not in ("", Role.READER, Role.LICENSED):
        raise ParameterError("sign_on_role must be empty, 'reader' or 'licensed'.")
    if settings.passwords not in ("yes", "no"):
        raise ParameterError("passwords must be 'yes' or 'no'.")
    if settings.oidc_issuer:
        if not settings.oidc_client or not settings.public_url:
            raise ParameterError("oidc_issuer needs oidc_client and public_url.")
        for name in ("oidc_issuer", "public_url"):
            parts = urlsplit(getattr(settings, name))
            if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
                raise ParameterError(f"{name} must begin with https://.")
