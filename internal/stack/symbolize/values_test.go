package symbolize

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestDamagedValues reads variables with damaged debug information from arbitrary memory. The number of values
// is bounded, and there is no panic.
func TestDamagedValues(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	read := func(_ uint64, p []byte) error {
		for i := range p {
			p[i] = byte(random.Uint32())
		}
		return nil
	}
	file := compile(t, "small.cc", "g++", "-g", "-O0")
	m := loadModule(t, file, bias)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	frame := Activation{
		PC: addressOf(t, file, "_Z4walkPKii") + 12, CFA: 0x7ffc0000,
		Register: func(n int) (uint64, bool) { return uint64(n) << 12, true },
	}
	found := 0
	try := func(b []byte) {
		s := New([]*callbacks.Module{inMemory(m, b)}, Options{DebugDirs: []string{t.TempDir()}})
		defer s.Close()
		n := 0
		for _, list := range s.Values(frame, read) {
			n += countValues(list)
		}
		found = max(found, n)
		if n > 2*maxValues {
			t.Errorf("%d values", n)
		}
	}
	try(good)
	if found == 0 {
		t.Fatal("no variables without damage")
	}
	for _, section := range debugSections(t, file) {
		if section.Name != ".debug_info" && section.Name != ".debug_abbrev" {
			continue
		}
		step := max(1, section.Size/400)
		for at := uint64(0); at < section.Size; at += step {
			b := bytes.Clone(good)
			b[section.Offset+at] = byte(random.Uint32())
			try(b)
		}
	}
}

// countValues returns the number of values with all their parts.
func countValues(list []Value) int {
	n := len(list)
	for _, v := range list {
		n += countValues(v.Parts)
	}
	return n
}

// TestPlainText checks the texts of plain values.
func TestPlainText(t *testing.T) {
	for _, c := range []struct {
		bytes    []byte
		encoding int64
		want     string
	}{
		{[]byte{0xfe, 0xff, 0xff, 0xff}, ateSigned, "-2"}, {[]byte{0xfe, 0xff}, ateUnsigned, "65534"},
		{[]byte{1}, ateBoolean, "true"}, {[]byte{'a'}, ateSignedChar, "97 'a'"},
		{[]byte{0, 0, 0xc0, 0x3f}, ateFloat, "1.5"}, {[]byte{0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, ateFloat, "-1.5"},
		{[]byte{0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0xbf, 0, 0, 0, 0, 0, 0}, ateFloat, "-1.5"},
		{[]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}, ateComplex, "(1, 2)"},
		{[]byte{0x34, 0x12, 0, 0, 0, 0, 0, 0}, ateAddress, "0x1234"}, {[]byte{1}, 99, ""},
	} {
		if got := plainText(c.bytes, c.encoding); got != c.want {
			t.Errorf("% x in encoding %d is %q, want %q", c.bytes, c.encoding, got, c.want)
		}
	}
	if got := quoteText([]byte("ab\"\n\x00c")); got != `"ab\"\n"` {
		t.Errorf("quoted: %s", got)
	}
	if long := quoteText(bytes.Repeat([]byte{'x'}, maxString)); !strings.HasSuffix(long, "…") {
		t.Errorf("a long text: %s", long)
	}
}
