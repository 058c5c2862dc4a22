package clib

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
)

// library is a library that sends given bytes, whatever it is asked.
type library struct {
	says io.Reader
	sent int
}

func (l *library) Read(p []byte) (int, error) { return l.says.Read(p) }

func (l *library) Write(p []byte) (int, error) {
	l.sent += len(p)
	return len(p), nil
}

// FuzzLibrary reads bytes as the messages of the C library. They are served until they end, and nothing panics,
// inside guarded functions either.
func FuzzLibrary(f *testing.F) {
	message := func(k kind, text string, words ...uint64) []byte {
		order := binary.NativeEndian
		b := order.AppendUint32(order.AppendUint32(nil, uint32(k)), uint32(len(text)))
		for i := range wireWords {
			w := uint64(0)
			if i < len(words) {
				w = words[i]
			}
			b = order.AppendUint64(b, w)
		}
		return append(b, text...)
	}
	process := message(kindProcess, "", 0, 202411)
	f.Add(process)
	f.Add(message(kindReturn, "odd"))
	for _, a := range []uint64{0, 1, 5, ^uint64(0)} {
		lie := message(kindAnswer, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", a, 0x1000)
		f.Add(append(bytes.Clone(process), bytes.Repeat(lie, 40)...))
		f.Add(append(append(bytes.Clone(process), lie...), message(kindOMPVersion, "", 1)...))
	}
	f.Fuzz(func(t *testing.T, says []byte) {
		l := &library{says: bytes.NewReader(says)}
		_ = Serve(l, "hello")
		if l.sent < header {
			t.Fatal("no greeting")
		}
	})
}
