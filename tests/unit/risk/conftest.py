"""The first call of a kernel compiles it, which no deadline of a property test should count."""

from hypothesis import settings

settings.register_profile("measures", deadline=None)
settings.load_profile("measures")
