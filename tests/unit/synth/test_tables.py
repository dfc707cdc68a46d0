"""The tables that the kernel draws from have the rows and columns it counts on."""

from __future__ import annotations

import numpy as np

from discreet.synth import households, kernels, origins, tables, work


def test_every_table_has_the_rows_the_kernel_counts_on():
    bank = tables.bank()
    rows = np.diff([*bank.layout[:, 0], len(bank.values)]) // bank.layout[:, 1]
    ages, classes = 101, 5
    assert rows[kernels.KIND] == households.AGE_CLASSES
    assert rows[kernels.FIRST_AGE] == len(households.KINDS)
    assert rows[kernels.COUPLE] == 2 * ages
    assert rows[kernels.UNPARTNERED] == 2 * 2 * ages
    assert rows[kernels.TENURE] == 3 * 3 * classes * ages
    assert rows[kernels.BIRTH] == 19 * 5
    assert rows[kernels.CITIZENSHIP] == 17 * 5
    assert rows[kernels.RELIGION] == origins.RELIGION_AREA_CLASSES * 19 * 5
    assert rows[kernels.EDUCATION] == 2 * classes * ages
    assert rows[kernels.ACTIVITY] == 2 * 9 * 2 * classes * ages
    assert rows[kernels.OCCUPATION] == 2 * 9 * len(work.OCCUPATION_AGE_STARTS)
    assert rows[kernels.TRAVEL] == 3 * 12 * 2
    assert rows[kernels.HEALTH] == 2 * classes * ages
    widths = {
        kernels.AGE_GAP: 23,
        kernels.MOTHER_AT_BIRTH: 29,  # 17 to 45
        kernels.TENURE: 4,
        kernels.BIRTH: 17,
        kernels.CITIZENSHIP: 5,
        kernels.RELIGION: 9,
        kernels.EDUCATION: 9,
        kernels.ACTIVITY: 5,
        kernels.OCCUPATION: 12,
        kernels.TRAVEL: 10,
        kernels.HEALTH: 5,
    }
    assert {table: bank.layout[table, 1] for table in widths} == widths
