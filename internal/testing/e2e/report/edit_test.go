package report

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// edit is a core that a test will damage.
type edit struct {
	tb     testing.TB
	data   []byte
	elf    *elf.File
	pic    *picture.Picture // of the whole core
	layout map[string]picture.LayoutEntry
}

// editCore reads the core of a program, its picture, and the offsets of its runtime's fields.
func editCore(tb testing.TB, core string) *edit {
	tb.Helper()
	data, err := os.ReadFile(core)
	if err != nil {
		tb.Fatal(err)
	}
	e := &edit{tb: tb, data: data, pic: e2e.Report(tb, core), layout: map[string]picture.LayoutEntry{}}
	if e.elf, err = elf.NewFile(bytes.NewReader(data)); err != nil {
		tb.Fatal(err)
	}
	var pic picture.Picture
	status, out, errs := e2e.Output(tb, "layout", "--json", core)
	if err := json.Unmarshal([]byte(out), &pic); status != cli.ExitOK || err != nil {
		tb.Fatalf("layout: %d %v %s", status, err, errs)
	}
	for _, l := range pic.Layout {
		e.layout[strings.Trim(l.Type+"."+l.Name, ".")] = l
	}
	return e
}

// copy returns a second edit of the same core.
func (e *edit) copy() *edit {
	c := *e
	c.data = slices.Clone(e.data)
	return &c
}

// global returns the address of a global variable of the runtime.
func (e *edit) global(name string) uint64 {
	e.tb.Helper()
	l := e.layout[name]
	if l.Address == nil {
		e.tb.Fatalf("no address of %s", name)
	}
	return uint64(*l.Address)
}

// field returns the address of a field of the structure at base.
func (e *edit) field(base uint64, name string) uint64 {
	e.tb.Helper()
	l := e.layout[name]
	if l.Offset == nil {
		e.tb.Fatalf("no offset of %s", name)
	}
	return base + *l.Offset
}

// offset returns the file offset of the byte at a.
func (e *edit) offset(a uint64) int {
	e.tb.Helper()
	for _, p := range e.elf.Progs {
		if p.Type == elf.PT_LOAD && a >= p.Vaddr && a-p.Vaddr < p.Filesz {
			return int(p.Off + a - p.Vaddr)
		}
	}
	e.tb.Fatalf("%#x is not in the core", a)
	return 0
}

func (e *edit) word(a uint64) uint64 {
	e.tb.Helper()
	return binary.LittleEndian.Uint64(e.data[e.offset(a):])
}

// follow reads a pointer in the structure at base.
func (e *edit) follow(base uint64, name string) uint64 {
	e.tb.Helper()
	v := e.word(e.field(base, name))
	if v == 0 {
		e.tb.Fatalf("%s of %#x is null", name, base)
	}
	return v
}

func (e *edit) put64(a, v uint64) {
	e.tb.Helper()
	binary.LittleEndian.PutUint64(e.data[e.offset(a):], v)
}

func (e *edit) put32(a uint64, v uint32) {
	e.tb.Helper()
	binary.LittleEndian.PutUint32(e.data[e.offset(a):], v)
}

// write writes the core, with holes in place of zeros, and returns its path.
func (e *edit) write() string {
	e.tb.Helper()
	path := filepath.Join(e.tb.TempDir(), "core")
	f, err := os.Create(path)
	if err != nil {
		e.tb.Fatal(err)
	}
	defer f.Close()
	const page = 1 << 16
	zero := make([]byte, page)
	for at := 0; at < len(e.data); at += page {
		b := e.data[at:min(at+page, len(e.data))]
		if bytes.Equal(b, zero[:len(b)]) {
			continue
		}
		if _, err := f.WriteAt(b, int64(at)); err != nil {
			e.tb.Fatal(err)
		}
	}
	if err := f.Truncate(int64(len(e.data))); err != nil {
		e.tb.Fatal(err)
	}
	return path
}

// idAddress returns the address in the ID of a region or task.
func idAddress(tb testing.TB, id picture.ID) uint64 {
	tb.Helper()
	s, _, _ := strings.Cut(string(id), "/")
	a, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		tb.Fatalf("ID %q: %v", id, err)
	}
	return a
}

// partial returns the report of a damaged core, which must come in time and be valid under the schema.
func partial(tb testing.TB, core string, flags ...string) *picture.Picture {
	tb.Helper()
	a := e2e.OutputInTime(tb, append([]string{"report", "--json", core}, flags...)...)
	if a.Status != cli.ExitOK {
		tb.Fatalf("exit status %d: %s", a.Status, a.Errs)
	}
	omptest.Validate(tb, "picture", []byte(a.Stdout))
	var pic picture.Picture
	if err := json.Unmarshal([]byte(a.Stdout), &pic); err != nil {
		tb.Fatal(err)
	}
	text := e2e.OutputInTime(tb, append([]string{"report", core}, flags...)...)
	if text.Status != cli.ExitOK || !strings.Contains(text.Stdout, "core of ") {
		tb.Errorf("text report: exit status %d, %s", text.Status, text.Errs)
	}
	return &pic
}

// complaints returns all the errors and warnings of a picture as one text.
func complaints(pic *picture.Picture) string {
	all := slices.Clone(pic.Warnings)
	for _, t := range pic.Threads {
		all = append(all, t.Errors...)
	}
	for _, r := range pic.Regions {
		all = append(all, r.Errors...)
	}
	for _, t := range pic.Tasks {
		all = append(all, t.Errors...)
	}
	return strings.Join(all, "\n")
}

// coreFor returns editCore of a program on libomp 16.
func coreFor(tb testing.TB, program string, args ...string) (*edit, *omptest.Result) {
	tb.Helper()
	r := e2e.DumpProgram(tb, program, args...)
	return editCore(tb, r.Core), r
}
