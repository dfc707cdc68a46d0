"""The pages of people: what there is, and who may see it."""

from __future__ import annotations

from fastapi import FastAPI

from discreet.page import mine, office, signing
from discreet.page.desk import About, Page, mount
from discreet.people.model import Role
from discreet.people.people import People
from discreet.service import Service

PAGES = (
    Page("/sign-in", signing.sign_in_page, signing.sign_in, roles=None),
    Page("/sign-out", post=signing.sign_out),
    Page("/invitation/{token}", signing.invitation_page, signing.accept, roles=None),
    Page("/me", mine.licence),
    Page("/me/keys", post=mine.make_key),
    Page("/me/keys/end", post=mine.end_key),
    Page("/me/project", post=mine.work_in),
    Page("/me/tables", mine.tables, mine.save),
    Page("/me/tables/change", post=mine.change_table),
    Page("/me/history", mine.history),
    Page("/me/history.csv", mine.history_file),
    Page("/me/request", mine.request_page, mine.send, roles=(Role.LICENSED,)),
    Page("/office", office.overview, roles=office.GOVERNANCE),
    Page("/office/people/{id}", office.person, roles=office.GOVERNANCE),
    Page("/office/projects/{id}", office.project, roles=office.GOVERNANCE),
    Page("/office/requests/{id}", office.request_page, roles=office.GOVERNANCE),
    Page("/office/requests/{id}", post=office.answer, roles=(Role.CUSTODIAN,)),
    Page("/office/record", office.record, roles=(Role.AUDITOR,)),
    Page("/office/record.csv", office.record_file, roles=(Role.AUDITOR,)),
)


def mount_people(app: FastAPI, service: Service, people: People, about: About) -> None:
    """Add the pages of people to an application."""
    mount(app, service, people, PAGES, about)
