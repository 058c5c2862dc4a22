"""Messages to the child: JSON, and protobuf's binary form for memory, of which there
is much."""

import base64
import json

CODES = {"ANSWER_CODE_UNSPECIFIED": 0, "ANSWER_CODE_UNMAPPED": 1}  # of ompd.v1.AnswerCode


def text(message):
    """A message as JSON."""
    return json.dumps(message, default=lambda b: base64.b64encode(b).decode()).encode()


def varint(number):
    """A number, seven bits a byte."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def part(field, *pieces):
    """A field whose value is bytes or another message."""
    return b"".join((varint(field << 3 | 2), varint(sum(map(len, pieces)))) + pieces)


def binary(number, answers):
    """An AttachRequest with answers that are all memory."""
    parts = [part(2, part(2, part(1, a["memory"]["data"]), b"\x10", varint(CODES[a["memory"].get("code", "ANSWER_CODE_UNSPECIFIED")])))
             for a in answers]
    return part(2, b"\x08", varint(number), *parts)
