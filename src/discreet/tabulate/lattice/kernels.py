"""Records condensed, wide tables counted from them, and axes added up.

A record is a code, in which the codes of its columns lie side by side, and a word: its count in
the low half and its key in the high one.
"""

from __future__ import annotations

import numpy as np
from numpy import uint8, uint32, uint64

from discreet.compiling import njit

BLOCK = 1024


@njit(cache=True, nogil=True)
def pack(columns, row, shift, begin, codes):
    """Add to the code of each record from `begin` on some rows of columns, from `shift` on."""
    for a in range(0, len(codes), BLOCK):
        n = min(BLOCK, len(codes) - a)
        block = codes[a : a + n]
        for k in range(len(row)):
            by, column = uint64(shift[k]), columns[row[k], begin + a : begin + a + n]
            for j in range(n):
                block[j] |= uint64(column[j]) << by


@njit(cache=True, nogil=True)
def weigh(keys, counts, begin, words):
    """Write the word of each record from `begin` on; without counts each counts once."""
    high, one = uint64(32), uint64(1)
    for i in range(len(words)):
        count = uint64(counts[begin + i]) if len(counts) > 0 else one
        words[i] = uint64(keys[begin + i]) << high | count


@njit(cache=True, nogil=True)
def unpack(codes, row, shift, bits, columns):
    """Write the rows of columns that lie in each code."""
    for a in range(0, len(codes), BLOCK):
        n = min(BLOCK, len(codes) - a)
        block = codes[a : a + n]
        for k in range(len(row)):
            by, mask = uint64(shift[k]), (uint64(1) << uint64(bits[k])) - uint64(1)
            column = columns[row[k], a : a + n]
            for j in range(n):
                column[j] = uint8((block[j] >> by) & mask)


@njit(cache=True, nogil=True)
def sort(codes, words, bits):
    """Return codes and words in the order of the codes, by a byte at a time, the lowest first."""
    other_codes, other_words = np.empty_like(codes), np.empty_like(words)
    places = np.empty(256, np.int64)
    for low in range(0, bits, 8):
        by = uint64(low)
        places[:] = 0
        for i in range(len(codes)):
            places[(codes[i] >> by) & uint64(255)] += 1
        begin = 0
        for digit in range(256):
            begin, places[digit] = begin + places[digit], begin
        for i in range(len(codes)):
            digit = (codes[i] >> by) & uint64(255)
            to = places[digit]
            other_codes[to] = codes[i]
            other_words[to] = words[i]
            places[digit] = to + 1
        codes, other_codes = other_codes, codes
        words, other_words = other_words, words
    return codes, words


@njit(cache=True, nogil=True)
def merge(codes, words):
    """Add up the words of equal codes, which are neighbours, in place; return how many differ."""
    found = 0
    for i in range(1, len(codes)):
        if codes[i] == codes[found]:
            words[found] += words[i]
        else:
            found += 1
            codes[found] = codes[i]
            words[found] = words[i]
    return found + 1


@njit(cache=True, nogil=True)
def add(columns, row, stride, words, cells):
    """Add the word of each record to its cell of a table over some rows of the columns."""
    cell = np.empty(BLOCK, np.uint32)
    for a in range(0, len(words), BLOCK):
        n = min(BLOCK, len(words) - a)
        for j in range(n):
            cell[j] = 0
        for k in range(len(row)):
            by, column = uint32(stride[k]), columns[row[k], a : a + n]
            for j in range(n):
                cell[j] = uint32(cell[j] + uint32(by * uint32(column[j])))
        word = words[a : a + n]
        for j in range(n):
            cells[cell[j]] += word[j]


@njit(cache=True, nogil=True)
def fold(cells, out):
    """Add up the middle one of three axes."""
    before, length, after = cells.shape
    for i in range(before):
        if after == 1:
            total = uint64(0)
            for j in range(length):
                total += cells[i, j, 0]
            out[i, 0] = total
        else:
            for k in range(after):
                out[i, k] = cells[i, 0, k]
            for j in range(1, length):
                for k in range(after):
                    out[i, k] += cells[i, j, k]
