package report

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Mutations of a core by the fuzzer: up to maxMutations of mutationSize bytes each: an operation, a choice of
// word, and a value.
const (
	mutationSize = 12
	maxMutations = 24
	// maxOutput bounds the output for a small core, however damaged: that for undamaged ones is about 40 KiB.
	maxOutput = 64 << 20
)

// patient is a core that is mutated in place.
type patient struct {
	file  *os.File
	words []int64 // file offsets of the words that a report depends on
}

// tracer is a core that records the addresses of all reads.
type tracer struct {
	*corefile.Core
	read map[uint64]bool // addresses of words
}

// ReadMemory reads from the core.
func (tr *tracer) ReadMemory(a callbacks.Address, b []byte) error {
	err := tr.Core.ReadMemory(a, b)
	if err == nil && len(b) <= 4096 { // longer reads are searches
		for i := 0; i < len(b); i += 8 {
			tr.read[a.Offset&^7+uint64(i)] = true
		}
	}
	return err
}

// Lend returns nil, so that all reads use ReadMemory.
func (*tracer) Lend(callbacks.Address, uint64) []byte { return nil }

// newPatient copies a core, and finds the relevant words: those that a report reads, and those of the headers and
// notes.
func newPatient(f *testing.F, r *omptest.Result) *patient {
	f.Helper()
	e := editCore(f, r.Core)
	core, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer core.Close()
	tr := &tracer{core, map[uint64]bool{}}
	procs, err := extended.Open(tr, readers.Options{})
	if err != nil {
		f.Fatal(err)
	}
	mods, err := core.Modules()
	if err != nil {
		f.Fatal(err)
	}
	cfg := inspect.Config{Target: tr, Unwinder: unwind.New(tr, core.Arch(), mods),
		Symbolizer: symbolize.New(mods, symbolize.Options{})}
	for _, p := range procs {
		cfg.Runtimes = append(cfg.Runtimes, rtl.Runtime(p))
	}
	in, err := inspect.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	in.Picture(picture.Parts{Threads: true, Regions: true, Tasks: true, ICVs: true, Stacks: true})
	return makePatient(f, e, tr)
}

func makePatient(f *testing.F, e *edit, tr *tracer) *patient {
	f.Helper()
	p := &patient{}
	for _, prog := range e.elf.Progs {
		for a := prog.Vaddr; prog.Filesz > 0 && a < prog.Vaddr+prog.Filesz; a += 8 {
			if tr.read[a] {
				p.words = append(p.words, int64(prog.Off+a-prog.Vaddr))
			}
		}
	}
	headers := int64(64 + 56*len(e.elf.Progs) + int(e.elf.Progs[0].Filesz))
	for at := int64(0); at < headers; at += 8 {
		p.words = append(p.words, at)
	}
	slices.Sort(p.words)
	p.words = slices.Compact(p.words)
	var err error
	e.tb = f
	if p.file, err = os.OpenFile(e.write(), os.O_RDWR, 0); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { p.file.Close() })
	if len(p.words) < 1000 {
		f.Fatalf("a report depends on %d words only", len(p.words))
	}
	return p
}

// mutate applies mutations and returns a function that undoes them.
func (p *patient) mutate(t *testing.T, data []byte) (undo func()) {
	t.Helper()
	type saved struct {
		at  int64
		old [8]byte
	}
	var all []saved
	for n := 0; n < maxMutations && len(data) >= mutationSize; n++ {
		s := saved{at: p.word(data)}
		if _, err := p.file.ReadAt(s.old[:], s.at); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
		p.write(t, s.at, p.change(t, s.old, data))
		data = data[mutationSize:]
	}
	return func() {
		for _, s := range slices.Backward(all) {
			p.write(t, s.at, s.old)
		}
	}
}

func (p *patient) write(t *testing.T, at int64, b [8]byte) {
	t.Helper()
	if _, err := p.file.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// word chooses the word for a mutation.
func (p *patient) word(m []byte) int64 {
	n := int(m[1]) | int(m[2])<<8 | int(m[3])<<16
	return p.words[n%len(p.words)]
}

// change returns the new content of a word.
func (p *patient) change(t *testing.T, old [8]byte, m []byte) [8]byte {
	t.Helper()
	b := old
	v := binary.LittleEndian.Uint64(m[4:])
	switch m[0] % 6 {
	case 0:
		binary.LittleEndian.PutUint64(b[:], v)
	case 1:
		binary.LittleEndian.PutUint32(b[:], uint32(v))
	case 2:
		binary.LittleEndian.PutUint32(b[4:], uint32(v))
	case 3:
		binary.LittleEndian.PutUint64(b[:], binary.LittleEndian.Uint64(old[:])+uint64(int64(int16(v))))
	case 4: // copy of another word: a valid pointer to another place
		if _, err := p.file.ReadAt(b[:], p.words[int(v%uint64(len(p.words)))]); err != nil {
			t.Fatal(err)
		}
	case 5:
		b[v>>3&7] ^= 1 << (v & 7)
	}
	return b
}

// FuzzPicture damages real cores in the words that reports depend on. Every verb answers with a picture that is
// valid under the schema, or with a cause.
func FuzzPicture(f *testing.F) {
	var patients []*patient
	for _, program := range []string{"tasks_deps", "nested", "lock_cycle", "teams"} {
		patients = append(patients, newPatient(f, e2e.DumpProgram(f, program)))
	}
	for _, program := range []string{"tasks_deps", "nested", "nest_lock", "tasks_priority"} {
		patients = append(patients, newPatient(f, gompCoreOf(f, program)))
	}
	verbs := []string{"report", "report", "tasks", "icvs", "doctor", "layout", "threads"}
	one := func(op byte, word int, v uint64) []byte {
		m := []byte{op, byte(word), byte(word >> 8), byte(word >> 16)}
		return binary.LittleEndian.AppendUint64(m, v)
	}
	f.Add(byte(0), byte(0), []byte{})
	for i := range 40 {
		which := i * len(patients[0].words) / 40
		for op, v := range []uint64{0, huge, huge - 1, 8, uint64(which / 2), 7} {
			f.Add(byte(i), byte(i), one(byte(op), which, v))
		}
	}
	f.Fuzz(func(t *testing.T, who, how byte, mutations []byte) {
		p := patients[int(who)%len(patients)]
		undo := p.mutate(t, mutations)
		defer undo()
		verb := verbs[int(how)%len(verbs)]
		args := []string{verb, p.file.Name()}
		text := how >= 128
		if !text {
			args = append(args, "--json")
		}
		a := e2e.OutputInTime(t, args...)
		switch {
		case len(a.Stdout)+len(a.Errs) > maxOutput:
			t.Errorf("%d bytes of output", len(a.Stdout)+len(a.Errs))
		case a.Status == cli.ExitError && a.Stdout == "" && strings.Contains(a.Errs, filepath.Base(p.file.Name())):
		case a.Status != cli.ExitOK || a.Errs != "" || a.Stdout == "":
			t.Errorf("exit status %d, %d bytes of output, %q", a.Status, len(a.Stdout), a.Errs)
		case !text:
			omptest.Validate(t, "picture", []byte(a.Stdout))
		}
	})
}
