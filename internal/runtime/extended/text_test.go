package extended

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// textMemory has a text from address 0x10f0 on, and nothing past the page. It counts reads.
type textMemory struct {
	text  string
	reads int
}

func (m *textMemory) ReadMemory(a callbacks.Address, p []byte) error {
	m.reads++
	if a.Offset < 0x1000 || a.Offset+uint64(len(p)) > 0x2000 {
		return &callbacks.FaultError{Address: a}
	}
	clear(p)
	for i := range p {
		if at := int(a.Offset) + i - 0x10f0; at >= 0 && at < len(m.text) {
			p[i] = m.text[at]
		}
	}
	return nil
}

// TestReadText reads texts that end within the buffer, at its end, past it, and in memory that is not there.
func TestReadText(t *testing.T) {
	long := make([]byte, 4096)
	for i := range long {
		long[i] = 'x'
	}
	for _, c := range []struct {
		text  string
		at    uint64
		size  int
		want  string
		fault bool
	}{
		{"a text", 0x10f0, 64, "a text\x00", false},
		{"a text that crosses a block", 0x10f0, 64, "a text that crosses a block\x00", false},
		{"exact", 0x10f0, 5, "exact", false},
		{"longer", 0x10f0, 4, "long", false},
		{"", 0x10f0, 4, "\x00", false},
		{string(long), 0x1ff0, 64, "", true},
		{string(long), 0x1ff0, 16, "xxxxxxxxxxxxxxxx", false},
		{"a text", 0x3000, 8, "", true},
	} {
		m := &textMemory{text: c.text}
		p := make([]byte, c.size)
		err := ReadText(m, callbacks.Addr(c.at), p)
		if errors.As(err, new(*callbacks.FaultError)) != c.fault || !c.fault && err != nil {
			t.Errorf("%.20q at %#x in %d bytes: error %v", c.text, c.at, c.size, err)
		}
		if got := string(p[:len(c.want)]); got != c.want {
			t.Errorf("%.20q at %#x in %d bytes: %q, want %q", c.text, c.at, c.size, got, c.want)
		}
		if m.reads > 2 {
			t.Errorf("%.20q: %d reads", c.text, m.reads)
		}
	}
}
