"""Messages to the child: JSON, and the binary form of protobuf for memory, which is large."""

import base64
import json

CODES = {"ANSWER_CODE_UNSPECIFIED": 0, "ANSWER_CODE_UNMAPPED": 1}  # of ompd.v1.AnswerCode


def text(message):
    """Returns a message as JSON."""
    return json.dumps(message, default=lambda b: base64.b64encode(b).decode()).encode()


def varint(number):
    """Returns a number in protobuf's variable length."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def part(field, *pieces):
    """Returns a field with bytes or another message."""
    return b"".join((varint(field << 3 | 2), varint(sum(map(len, pieces)))) + pieces)


def binary(number, answers):
    """Returns an AttachRequest with answers that are all memory."""
    parts = []
    for a in answers:
        code = CODES[a["memory"].get("code", "ANSWER_CODE_UNSPECIFIED")]
        parts.append(part(2, part(2, part(1, a["memory"]["data"]), b"\x10", varint(code))))
    return part(2, b"\x08", varint(number), *parts)
