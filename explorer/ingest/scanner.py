"""How are a gigabyte's events read in a second or two? One compiled pass over each block, from text to columns.

Whatever is unusual (numbers as strings, negative durations, begin and end events, broken text) is REFUSED: the
tolerant reader then takes the whole file. So accepting something wrongly is a bug here, and refusing never is.
"""

from __future__ import annotations

import numpy as np

from explorer.ingest.categories import FIRST_WORK_KIND
from explorer.ingest.digits import parse_float
from explorer.ingest.event_scan import end_of, scan_event, start_of
from explorer.ingest.interning import FULL, code_of_token
from explorer.ingest.json_scan import CLOSE_BRACKET, COMMA, OPEN_BRACE, QUOTE, skip_space
from explorer.ingest.literals import forget_values
from explorer.ingest.memory import compiled, load_byte, load_long, store_byte, store_double, store_long
from explorer.ingest.rows import (
    CATEGORY_COUNTS,
    HOST_CODES_AT,
    HOST_COUNT,
    HOST_KINDS,
    HOST_LONGS_AT,
    KIND_ROOM,
    KINDS,
    METADATA_AT,
    METADATA_COUNT,
    METADATA_ROOM,
    NOT_KEPT,
    OCCUPANCY_AT,
    ROW_ROOM,
    UNKNOWN_CATEGORY,
    UNRESOLVED,
    WORK_CODES_AT,
    WORK_COUNT,
    WORK_KINDS,
    WORK_LONGS_AT,
)
from explorer.ingest.scan_layout import (
    ARGS,
    BLOCK,
    CAT,
    COMMUNICATOR,
    COPIED_BYTES,
    DEVICE,
    DUR,
    GRID,
    INPUT_DIMS,
    INPUT_STRIDES,
    INPUT_TYPES,
    IS_FIRST_AT,
    KERNEL_FILE,
    KEY_COUNT,
    LIST_CLOSED,
    MORE_TEXT,
    NAME,
    NEW_CATEGORY,
    NEXT_AT,
    OCCUPANCY,
    PH,
    PID,
    QUEUE,
    RECENT_AT,
    REFUSED,
    REGISTERS,
    ROWS_FULL,
    SHARED_MEMORY,
    STREAM,
    TID,
    TOKENS_FULL,
    TS,
)
from explorer.ingest.writing import (
    LONG_COLUMN,
    OK,
    is_null,
    is_odd_label,
    write_common,
    write_integer,
    write_label,
    write_token,
)

_COMPLETE, _METADATA, _BEGIN, _END = 88, 77, 66, 69
_CODE_COLUMN = 4 * ROW_ROOM
"""Bytes from one column of codes to the next."""


@compiled
def _add_host(cursor: int, kind: int, tokens: int, rows: int) -> int:
    row = load_long(rows + HOST_COUNT)
    if row == ROW_ROOM:
        return ROWS_FULL
    codes = load_long(rows + HOST_CODES_AT) + 4 * row
    full = write_token(cursor, NAME, tokens, codes)
    full |= write_label(cursor, PID, tokens, codes + _CODE_COLUMN)
    full |= write_label(cursor, TID, tokens, codes + 2 * _CODE_COLUMN)
    full |= write_token(cursor, INPUT_DIMS, tokens, codes + 3 * _CODE_COLUMN)
    full |= write_token(cursor, INPUT_STRIDES, tokens, codes + 4 * _CODE_COLUMN)
    full |= write_token(cursor, INPUT_TYPES, tokens, codes + 5 * _CODE_COLUMN)
    full |= write_token(cursor, KERNEL_FILE, tokens, codes + 6 * _CODE_COLUMN)
    if full != OK:
        return TOKENS_FULL
    store_byte(load_long(rows + HOST_KINDS) + row, kind)
    if not write_common(cursor, load_long(rows + HOST_LONGS_AT) + 8 * row):
        return REFUSED
    store_long(rows + HOST_COUNT, row + 1)
    return OK


@compiled
def _add_work(cursor: int, kind: int, tokens: int, rows: int) -> int:
    row = load_long(rows + WORK_COUNT)
    if row == ROW_ROOM:
        return ROWS_FULL
    if is_odd_label(cursor, DEVICE) or is_odd_label(cursor, STREAM) or is_odd_label(cursor, QUEUE):
        return REFUSED
    for key in (DEVICE, STREAM, QUEUE):
        if start_of(cursor, key) != 0 and is_null(cursor, key):
            return REFUSED
    codes = load_long(rows + WORK_CODES_AT) + 4 * row
    queue = QUEUE if start_of(cursor, QUEUE) != 0 else TID
    full = write_token(cursor, NAME, tokens, codes)
    full |= write_label(cursor, PID, tokens, codes + _CODE_COLUMN)
    full |= write_label(cursor, DEVICE if start_of(cursor, DEVICE) != 0 else PID, tokens, codes + 2 * _CODE_COLUMN)
    full |= write_label(cursor, STREAM if start_of(cursor, STREAM) != 0 else queue, tokens, codes + 3 * _CODE_COLUMN)
    full |= write_token(cursor, GRID, tokens, codes + 4 * _CODE_COLUMN)
    full |= write_token(cursor, BLOCK, tokens, codes + 5 * _CODE_COLUMN)
    full |= write_label(cursor, COMMUNICATOR, tokens, codes + 6 * _CODE_COLUMN)
    if full != OK:
        return TOKENS_FULL
    store_byte(load_long(rows + WORK_KINDS) + row, kind)
    longs = load_long(rows + WORK_LONGS_AT) + 8 * row
    is_plain = write_common(cursor, longs)
    is_plain &= write_integer(cursor, REGISTERS, longs + 4 * LONG_COLUMN)
    is_plain &= write_integer(cursor, SHARED_MEMORY, longs + 5 * LONG_COLUMN)
    is_plain &= write_integer(cursor, COPIED_BYTES, longs + 6 * LONG_COLUMN)
    occupancy = parse_float(start_of(cursor, OCCUPANCY), end_of(cursor, OCCUPANCY))
    if not is_plain or occupancy == np.inf:
        return REFUSED
    store_double(load_long(rows + OCCUPANCY_AT) + 8 * row, occupancy)
    store_long(rows + WORK_COUNT, row + 1)
    return OK


@compiled
def _add_metadata(event: int, behind: int, rows: int) -> int:
    row = load_long(rows + METADATA_COUNT)
    if row == METADATA_ROOM:
        return ROWS_FULL
    place = load_long(rows + METADATA_AT) + 16 * row
    store_long(place, event)
    store_long(place + 8, behind)
    store_long(rows + METADATA_COUNT, row + 1)
    return OK


@compiled
def _phase(cursor: int) -> int:
    """The event's phase letter; 0 for what the tolerant reader has to decide."""
    start = start_of(cursor, PH)
    if start == 0 or load_byte(start) != QUOTE or end_of(cursor, PH) != start + 3:
        return 0
    letter, category, arguments = load_byte(start + 1), start_of(cursor, CAT), start_of(cursor, ARGS)
    if letter in (_BEGIN, _END) or (letter == _COMPLETE and category == 0):
        return 0
    if category != 0 and load_byte(category) != QUOTE:
        return 0
    if arguments != 0 and load_byte(arguments) != OPEN_BRACE and load_byte(arguments) != 110:
        return 0
    return letter


@compiled
def _is_complete(cursor: int) -> bool:
    """Whether an event has a time, a duration, a name and a plain process and thread."""
    if start_of(cursor, TS) == 0 or start_of(cursor, DUR) == 0:
        return False
    if is_null(cursor, NAME) or is_null(cursor, PID) or is_null(cursor, TID):
        return False
    return not (is_odd_label(cursor, PID) or is_odd_label(cursor, TID))


@compiled
def _add_event(event: int, behind: int, cursor: int, tokens: int, rows: int) -> int:
    """Writes the event's row, if any table takes it; a status of those above, OK when it is done."""
    letter = _phase(cursor)
    if letter == 0:
        return REFUSED
    key = CAT if start_of(cursor, CAT) != 0 else PH
    category = code_of_token(start_of(cursor, key), end_of(cursor, key) - start_of(cursor, key), tokens)
    if category == FULL:
        return TOKENS_FULL
    kind = UNRESOLVED
    if category < load_long(rows + KIND_ROOM):
        kind = load_byte(load_long(rows + KINDS) + category)
        kind = kind - 256 if kind >= 128 else kind
    if kind == UNRESOLVED:
        store_long(rows + UNKNOWN_CATEGORY, category)
        return NEW_CATEGORY
    status = OK
    if letter == _COMPLETE and kind != NOT_KEPT:
        if not _is_complete(cursor):
            return REFUSED
        if kind < FIRST_WORK_KIND:
            status = _add_host(cursor, kind, tokens, rows)
        else:
            status = _add_work(cursor, kind, tokens, rows)
    elif letter == _METADATA:
        status = _add_metadata(event, behind, rows)
    if status == OK:
        count = load_long(rows + CATEGORY_COUNTS) + 8 * category
        store_long(count, load_long(count) + 1)
    return status


@compiled
def _forget_text(cursor: int) -> None:
    """Forgets what stands in the text before: it may be gone, and tokens may have moved."""
    forget_values(cursor)
    for place in range(cursor + RECENT_AT, cursor + RECENT_AT + 24 * KEY_COUNT, 8):
        store_long(place, 0)


@compiled
def _stopped(status: int, address: int, is_first: bool, cursor: int) -> int:
    store_long(cursor + NEXT_AT, address)
    store_long(cursor + IS_FIRST_AT, is_first)
    return status


@compiled
def scan_block(address: int, end: int, is_first: int, cursor: int, tokens: int, rows: int) -> int:
    """Why it stopped; where to go on, and whether that is the list's first event, stands in the cursor.

    `address` is behind the list's `[` or behind an event; `end` is the end of the text so far, with zeros behind it.
    `cursor` is the address of CURSOR_BYTES bytes, `tokens` and `rows` those of the layouts of a TokenTable and of
    RowBuffers.
    """
    _forget_text(cursor)
    first = is_first != 0
    while True:
        here = skip_space(address)
        byte = load_byte(here)
        if here >= end:
            return _stopped(MORE_TEXT, address, first, cursor)
        if byte == CLOSE_BRACKET:
            return _stopped(LIST_CLOSED, here + 1, first, cursor)
        if not first:
            if byte != COMMA:
                return REFUSED
            here = skip_space(here + 1)
            byte = load_byte(here)
        if byte != OPEN_BRACE:
            return _stopped(MORE_TEXT if here >= end else REFUSED, address, first, cursor)
        behind = scan_event(here, cursor)
        if behind < 0:
            return _stopped(MORE_TEXT if -behind >= end else REFUSED, address, first, cursor)
        status = _add_event(here, behind, cursor, tokens, rows)
        if status != OK:
            return _stopped(status, address, first, cursor)
        address, first = behind, False
