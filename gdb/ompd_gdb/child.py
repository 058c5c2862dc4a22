"""ompd-inspect as a child process, and the frames of their protocol.

A frame is the length of its payload (4 bytes, big endian), the number of a call (4
bytes), a kind (1 byte) and the payload; internal/front/piped describes the kinds.
"""

import json
import os
import struct
import subprocess
import tempfile

import gdb

from . import wire

HEADER = struct.Struct(">IIc")
PROTOCOL = 1
MAX_PAYLOAD = 16 << 20  # the limit of internal/front/piped
MAX_LOG = 2000  # bytes of the log of a child that ended


class CallError(Exception):
    """A call that failed, with the server's reason for it."""

    def __init__(self, status):
        super().__init__(status.get("message") or status.get("code"))
        self.code, self.reason = status.get("code"), status.get("reason")


class Child:
    """A running ompd-inspect."""

    def __init__(self, program):
        self.streams = {}  # the sessions, by the numbers of their calls
        self.last = 0
        self.broken = False  # an exchange was interrupted: no more calls are possible
        self.trips = self.asked = 0
        self.log = tempfile.TemporaryFile()
        try:
            # A session of its own: ^C on the terminal is gdb's.
            self.process = subprocess.Popen(
                [program, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self.log, start_new_session=True)
        except OSError as e:
            raise gdb.GdbError("omp: cannot start %s: %s: `set omp program PATH`" % (program, e.strerror))
        at, kind, payload = self.read()
        hello = json.loads(payload.decode()) if kind == b"H" and at == 0 else {}
        if hello.get("protocol") != PROTOCOL:
            self.close()
            raise gdb.GdbError("omp: %s and this script have different versions: `set omp program PATH`" % program)

    def close(self):
        """Ends the child."""
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def read(self):
        """Returns the next frame: number, kind, payload."""
        head = self.process.stdout.read(HEADER.size)
        if len(head) == HEADER.size:
            size, at, kind = HEADER.unpack(head)
            payload = self.process.stdout.read(size) if size <= MAX_PAYLOAD else b""
            if len(payload) == size:
                return at, kind, payload
        raise ConnectionError(self.last_words())

    def last_words(self):
        """Returns an error text with the last output of a child that ended."""
        self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, self.log.tell() - MAX_LOG))
        text = self.log.read().decode(errors="replace").strip()
        return "ompd-inspect ended" + (": " + text if text else "")

    def send(self, at, kind, payload=b""):
        """Sends one frame."""
        try:
            self.process.stdin.write(HEADER.pack(len(payload), at, kind) + payload)
            self.process.stdin.flush()
        except OSError:
            raise ConnectionError(self.last_words())

    def send_json(self, at, message):
        """Sends a message of a call."""
        self.send(at, b"M", wire.text(message))

    def start(self, kind, payload, session=None):
        """Starts a call or a verb. session gets its frames."""
        self.last += 1
        if session is not None:
            self.streams[self.last] = session
        self.send(self.last, kind, payload.encode())
        return self.last

    def serve_until(self, done):
        """Serves the child's requests until done returns a result other than None for a frame."""
        try:
            while True:
                at, kind, payload = self.read()
                session = self.streams.get(at)
                if session is not None:
                    session.handle(kind, payload)
                    if kind == b"S":
                        del self.streams[at]
                result = done(at, kind, payload)
                if result is not None:
                    return result
        except CallError:
            raise
        except BaseException:
            self.broken = True
            raise

    def call(self, method, request):
        """Makes a call with one request and returns its response."""
        number = self.start(b"C", method)
        self.send_json(number, request)
        self.send(number, b"E")
        response = {}

        def done(at, kind, payload):
            if at != number:
                return None
            if kind == b"M":
                response.update(json.loads(payload.decode()))
                return None
            status = json.loads(payload.decode())
            if status["code"] != "OK":
                raise CallError(status)
            return response

        return self.serve_until(done)

    def verb(self, words, write):
        """Runs a verb of the command line. write gets its output. Returns its exit status and its
        error text."""
        number = self.start(b"V", json.dumps(words))
        errors = []

        def done(at, kind, payload):
            if at != number:
                return None
            if kind == b"O":
                write(payload)
            elif kind == b"D":
                errors.append(payload)
            else:
                status = json.loads(payload.decode())
                if status["code"] != "OK":
                    raise CallError(status)
                return status["exit"], b"".join(errors).decode(errors="replace")
            return None

        return self.serve_until(done)
