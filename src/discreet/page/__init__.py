"""The web pages: a table builder that works without scripts and gets better with them."""

from discreet.page.routes import error_page, mount

__all__ = ["error_page", "mount"]
