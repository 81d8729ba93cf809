"""What do Python and the compiled scanner agree on? Which memory holds what, and why a scan stopped.

Compiled code gets three addresses: the cursor (one event's values and what text is expected next), a TokenTable's
layout and a RowBuffers' layout (in `rows`). Nothing here needs a compiler.
"""

from __future__ import annotations

PADDING_BYTES = 64
"""Zero bytes that must follow the text: no load reaches further past a zero than this."""

MORE_TEXT, LIST_CLOSED, ROWS_FULL, TOKENS_FULL, NEW_CATEGORY, REFUSED = 0, 1, 2, 3, 4, 5
"""Why a scan returned. After ROWS_FULL, TOKENS_FULL and NEW_CATEGORY it goes on with the same event."""

PH, CAT, NAME, PID, TID, TS, DUR, ARGS = 0, 1, 2, 3, 4, 5, 6, 7
CORRELATION, EXTERNAL_ID, EXTERNAL_ID_2021, INPUT_DIMS, INPUT_STRIDES, INPUT_TYPES, KERNEL_FILE = (
    8,
    9,
    10,
    11,
    12,
    13,
    14,
)
DEVICE, STREAM, QUEUE, GRID, BLOCK, REGISTERS, SHARED_MEMORY, OCCUPANCY = 15, 16, 17, 18, 19, 20, 21, 22
COPIED_BYTES, COMMUNICATOR = 23, 24
KEY_COUNT = 25
FIRST_ARGUMENT = CORRELATION
"""The keys whose values are of interest: those of an event, then those of its arguments."""

LONGEST_LITERAL_BYTES = 64
LITERAL_ROOM, LITERAL_BYTES = 256, 128
MIX_COUNT = 64
NEXT_AT, IS_FIRST_AT, LITERAL_COUNT_AT = 16 * KEY_COUNT, 16 * KEY_COUNT + 8, 16 * KEY_COUNT + 16
RECENT_AT = NEXT_AT + 24
LITERALS_AT = RECENT_AT + 24 * KEY_COUNT
SLOTS_AT = LITERALS_AT + LITERAL_ROOM * LITERAL_BYTES
GUESSES_AT = SLOTS_AT + 2 * LITERAL_ROOM
CURSOR_BYTES = GUESSES_AT + 2 * LITERAL_ROOM * MIX_COUNT
"""The cursor: start and end of each key's value; where to go on, whether that is the list's first event, and how many
literals there are; start, length and code of each key's last token; the literals, found by a hash of their text; two
guesses a literal and mix (see `literals`).
"""

TOKENS_SLOTS, TOKENS_MASK, TOKENS_STARTS, TOKENS_LENGTHS, TOKENS_HASHES = 0, 8, 16, 24, 32
TOKENS_POOL, TOKENS_ROOM, TOKENS_POOL_ROOM, TOKENS_COUNT, TOKENS_USED = 40, 48, 56, 64, 72
"""A TokenTable's layout: five addresses, the slots' mask being the second, then what has room and what is used."""
