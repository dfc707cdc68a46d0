"""What comes over HTTP and what goes back: it is checked by these, and documented from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from discreet.errors import unknown
from discreet.query.parse import MAX_VARIABLES
from discreet.release.formats import FORMATS, with_beside
from discreet.release.formats.sdmx import STRUCTURE
from discreet.release.formats.tidy import META
from discreet.service import DEFAULT_FORMAT

TOTALS = ("none", "protected", "summed")


@dataclass(frozen=True)
class _OneOf:
    """Says of a text that it must be one of some; who sends another is told the choices."""

    what: str
    choices: tuple[str, ...]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return no_info_after_validator_function(self._known, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "enum": list(self.choices)}

    def _known(self, given: str) -> str:
        if given not in self.choices:
            raise ValueError(str(unknown(self.what, given[:64], self.choices)))
        return given


class Given(BaseModel):
    """What a caller sends: nothing unknown, and every value of its type as it stands."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    MUST: ClassVar[dict[str, str]] = {}
    """What is told where a value is missing or not of its type."""


class Nothing(Given):
    """No parameters."""


_Totals = Annotated[
    str,
    _OneOf("kind of totals", TOTALS),
    Field(description="Totals, as far as the policy allows; their code is `_T`."),
]
_Format = Annotated[
    str,
    _OneOf("format", tuple(FORMATS)),
    Field(description="What the answer is written as."),
]


class Typed(Given):
    """A question in an address."""

    MUST = {
        "by": "by must name at least one variable, like by=sex,age_band.",
    }
    by: str = Field(
        min_length=1,
        description="Variables or levels, `name` or `name@level`, comma-separated.",
        examples=["sex,age_band", "age@age_band,tenure"],
    )
    where: str = Field(
        "",
        description="Who is counted: `name=code` or `name=code|code`, comma-separated; inside a "
        "code `, = | @ %` are percent-encoded (and once more in an address).",
        examples=["region=1", "sex=2,age_band=7|8"],
    )
    totals: _Totals = "none"


class TypedTable(Typed):
    """A question for a table in an address."""

    format: _Format = DEFAULT_FORMAT


class TypedMeta(Typed):
    """A question for the document beside a file."""

    format: Annotated[
        str,
        _OneOf(f"format with a file {META}", tuple(with_beside(META))),
        Field(description="Beside a file of which format."),
    ] = "csv"


class TypedStructure(Typed):
    """A question for the SDMX structure beside a file."""

    format: Annotated[
        str,
        _OneOf(f"format with a file {STRUCTURE}", tuple(with_beside(STRUCTURE))),
        Field(description="Beside a file of which format."),
    ] = "sdmx-ml"


class Posted(Given):
    """A question in a body."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"by": ["sex", "age_band"], "where": {"region": ["1", "2"]}, "format": "csv"}
        }
    )
    MUST = {
        "by": f'by must be a list of 1 to {MAX_VARIABLES} names, like ["sex", "age_band"].',
        "where": 'where must map names to lists of codes, like {"sex": ["2"]}.',
        "totals": "totals must be a text.",
        "format": "format must be a text.",
    }
    by: list[str] = Field(min_length=1, max_length=MAX_VARIABLES)
    where: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    totals: _Totals = "none"
    format: _Format = DEFAULT_FORMAT


class _Answer(BaseModel):
    """What is sent back."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Suggested(_Answer):
    """A question that would be answered."""

    text: str
    by: str
    where: str


class Told(_Answer):
    """What went wrong."""

    code: str
    message: str
    hint: str | None
    id: str
    hints: list[Suggested] = []


class Failed(_Answer):
    """The one shape of every failure."""

    error: Told


class Summary(_Answer):
    """A data set in a list."""

    id: str = Field(examples=["census"])
    title: str = Field(examples=["Synthetic census of 1,500,000 people"])
    unit: str = Field(examples=["persons"])
    data_version: str = Field(examples=["20260101T120000000000-0a1b2c"])
    data_date: str = Field(examples=["2026-01-01T12:00:00+00:00"])
    policy_version: str = Field(examples=["rounding-3/1"])


class DataSets(_Answer):
    """The data sets that are served."""

    datasets: list[Summary]


class Category(_Answer):
    """A category of a level."""

    code: str
    label: str


class Level(_Answer):
    """A level of a variable; `available` says whether the policy lets it be asked for.

    `of` has the place of the category that each category of the finest level lies in.
    """

    id: str
    label: str
    available: bool
    of: list[int] | None
    categories: list[Category]


class Variable(_Answer):
    """A variable with its levels, the finest first."""

    id: str
    label: str
    definition: str
    geography: bool
    levels: list[Level]


class Allowed(_Answer):
    """What the policy lets a question have."""

    variables: int
    cells: int
    categories: int
    not_filtered: list[str]


class DataSet(Summary):
    """A data set: its variables, levels and categories, and what may be asked."""

    totals: list[str]
    limits: Allowed
    variables: list[Variable]


class Left(_Answer):
    """How many new tables of fine detail are left to a person and to their project."""

    person: int
    of_person: int
    project: int | None
    of_project: int | None


class Licensed(_Answer):
    """The tier of a data set that somebody may use."""

    dataset: str
    tier: str


class Me(_Answer):
    """Who asks, and what they may use; without a key it is the public."""

    name: str | None
    role: str = Field(examples=["public"])
    project: str | None
    datasets: list[Licensed]
    left: Left | None


class Checked(_Answer):
    """Whether a question may be asked."""

    allowed: bool
    cells: int = Field(ge=1)
    question: str = Field(examples=["by=sex,age_band"])
    totals: str
    tier: str = Field(description="The tier of whoever asks.", examples=["public"])
    left: Left | None = Field(description="New tables that whoever asks has left.")
    code: str | None
    message: str | None
    state: str | None = Field(examples=["released"])


class InTables(_Answer):
    """A released table that shows a detail."""

    table: str
    cells: int
    origin: str
    since: str


class Detail(_Answer):
    """The finest detail of a question: in how many tables it is, and in how many it may be."""

    variables: str
    used: int
    limit: int
    tables: list[InTables]


class LedgerAnswer(_Answer):
    """Where the figures of a question would come from, and what it would use up."""

    state: str = Field(
        description="released, sums, look, free, used or refused", examples=["released"]
    )
    question: str
    tier: str = Field(description="The tier of whoever asks.", examples=["public"])
    left: Left | None = Field(description="New tables that whoever asks has left.")
    table: str | None
    since: str | None
    detail: Detail | None


class Meta(_Answer):
    """What belongs beside a file: notes, quality, columns and signature."""

    title: str
    population: str
    unit: str
    filters: list[dict[str, Any]]
    notes: list[str]
    quality: dict[str, Any]
    availability: str | None
    withheld: list[Category]
    provenance: dict[str, Any]
    format: str
    columns: dict[str, Any]
    proof: dict[str, Any] | None


class Config(_Answer):
    """The version, the formats and the limits of a server."""

    version: str
    formats: list[str]
    limits: dict[str, int]


class Status(_Answer):
    """How the program is; `why` says in a word what is not served as it should be, and why."""

    status: str
    why: str = ""
