package cli

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// A heap that was collected grows to the same size again, whatever stayed in use, and one
// that is larger already by half.
func TestGrowth(t *testing.T) {
	for _, tt := range []struct {
		used uint64
		want int
	}{
		{0, 850}, {2 << 20, 850}, {17 << 20, 100}, {28 << 20, 50}, {34 << 20, 50}, {1 << 40, 50},
	} {
		if got := growth(tt.used); got != tt.want {
			t.Errorf("a heap of %d MiB may grow by %d %%, want %d", tt.used>>20, got, tt.want)
		}
	}
}

// How many threads a process has is seen at once, and of a core about how many. What is no
// core, and what is not there, has none.
func TestThreadsOf(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, header any) string {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, header); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	h := elf.Header64{Ident: [16]byte{'\x7f', 'E', 'L', 'F'}, Type: uint16(elf.ET_CORE), Phnum: 2058}
	core := file("core", h)
	h.Type = uint16(elf.ET_EXEC)
	for _, tt := range []struct {
		name       string
		least, max int
	}{
		{strconv.Itoa(os.Getpid()), 2, 1000}, {core, 1029, 1029}, {file("program", h), 0, 0},
		{file("text", []byte("no core, but longer than the header of one, which has 64 bytes in all")), 0, 0},
		{file("cut", []byte("\x7fELF")), 0, 0}, {core + "-not", 0, 0}, {os.DevNull, 0, 0}, {"999999999", 0, 0},
	} {
		if got := threadsOf(tt.name); got < tt.least || got > tt.max {
			t.Errorf("%s seems to have %d threads, want %d to %d", tt.name, got, tt.least, tt.max)
		}
	}
}
