package mutate

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/image/pycode"
	"github.com/ompd-inspect/ompd-inspect/internal/image/rcode"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestInterpreterMutants looks at mutants of a core of Python and of one of R, with most changes in the structures that
// the tool reads of the interpreters.
func TestInterpreterMutants(t *testing.T) {
	omptest.NeedsMore(t, "python3, R and gcore")
	n, seed := omptest.Number(t, "interpreters", 100), omptest.Number(t, "seed", 1)
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	script := func(name string) string { return filepath.Join(filepath.Dir(omptest.Programs(t)), name) }
	file := filepath.Join(t.TempDir(), "calls")
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		t.Fatal(err)
	}
	r := omptest.ROf(t, "bookworm")
	subjects := []*subject{
		interpreterCore(t, interpreter{
			name: "python", exe: python, ready: "ready", read: readPython,
			command: exec.Command(python, script("python/frames.py"), file),
		}),
		interpreterCore(t, interpreter{
			name: "R", ready: "READY", read: readR,
			command: exec.Command(r, "-e", fmt.Sprintf("way <- 'calls'; output <- %q; source(%q, keep.source = TRUE)",
				file, script("r/frames.R"))),
		}),
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1600))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(96 << 20))
	sum := tally{byKind: map[kind]int{}}
	for i := range n {
		subjects[(seed+i)%len(subjects)].look(t, out, uint64(seed+i), &sum)
	}
	t.Logf("%d mutants, seeds %d to %d: %d answered, %d refused, at most %v of processor time and %d MiB; changed: %v",
		sum.inputs, seed, seed+n-1, sum.answered, sum.refused, sum.mostCPU, sum.mostRSS>>20, sum.byKind)
	if sum.byKind[inInterpreter] < n/4 {
		t.Errorf("%d changes of interpreters in %d mutants", sum.byKind[inInterpreter], n)
	}
}

// interpreter is a program with an interpreter.
type interpreter struct {
	name    string
	exe     string // empty: the core names it
	command *exec.Cmd
	ready   string // the line that it prints when it waits
	read    func(callbacks.Memory, map[string]*symbols) error
}

// interpreterCore starts a program until it is ready, dumps it, and finds the places in the interpreter.
func interpreterCore(t *testing.T, in interpreter) *subject {
	t.Helper()
	cmd := in.command
	input, err1 := cmd.StdinPipe() // it continues until the end of its input
	output, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = input.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the signal
	}()
	lines := bufio.NewScanner(output)
	for lines.Scan() && lines.Text() != in.ready {
		continue
	}
	path := filepath.Join(t.TempDir(), "core")
	text, err := exec.Command("gcore", "-o", path, fmt.Sprint(cmd.Process.Pid)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := &subject{name: in.name, path: fmt.Sprintf("%s.%d", path, cmd.Process.Pid)}
	s.files.Exe, s.files.Sysroot = in.exe, "/"
	if s.file, err = os.OpenFile(s.path, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.file.Close() })
	info, err := s.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	s.size = info.Size()
	s.find(t)
	s.findInterpreter(t, in.read)
	return s
}

// findInterpreter finds the places that read reads.
func (s *subject) findInterpreter(t *testing.T, read func(callbacks.Memory, map[string]*symbols) error) {
	t.Helper()
	c, err := corefile.Open(s.path, corefile.Options{Exe: s.files.Exe, Sysroot: s.files.Sysroot})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list, err := callbacks.Target(c).(callbacks.ModuleLister).Modules()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]*symbols{}
	for _, m := range list {
		name, _, _ := strings.Cut(filepath.Base(m.Path), ".")
		modules[name] = &symbols{file: m.Path, bias: m.Bias}
	}
	r := &recorder{Memory: c, seen: map[uint64]bool{}}
	if err := read(r, modules); err != nil {
		t.Fatal(err)
	}
	for _, at := range r.words {
		s.add(inInterpreter, s.offsetOf(at), 8, at)
	}
	s.bases = append(s.bases, r.starts...)
	t.Logf("%s: %d words of %d structures", s.name, len(s.places[inInterpreter]), len(r.starts))
}

// recorder notes the words that are read.
type recorder struct {
	callbacks.Memory
	seen          map[uint64]bool
	words, starts []uint64
}

func (r *recorder) ReadMemory(a callbacks.Address, p []byte) error {
	r.starts = append(r.starts, a.Offset)
	for at := a.Offset &^ 7; at < a.Offset+uint64(len(p)); at += 8 {
		if !r.seen[at] {
			r.seen[at] = true
			r.words = append(r.words, at)
		}
	}
	return r.Memory.ReadMemory(a, p)
}

// symbols are the exported symbols of a module.
type symbols struct {
	file string
	bias uint64
	list []elf.Symbol
}

func (s *symbols) lookup(name string) (uint64, bool) {
	if s.list == nil {
		f, err := elf.Open(s.file)
		if err != nil {
			return 0, false
		}
		defer f.Close()
		s.list, _ = f.DynamicSymbols()
	}
	i := slices.IndexFunc(s.list, func(e elf.Symbol) bool { return e.Name == name && e.Value != 0 })
	if i < 0 {
		return 0, false
	}
	return s.list[i].Value + s.bias, true
}

// readPython reads all of a Python interpreter.
func readPython(m callbacks.Memory, modules map[string]*symbols) error {
	p, err := pycode.Open(pycode.Config{Memory: m, Lookup: modules["python3"].lookup})
	if err != nil {
		return err
	}
	threads, err := p.Threads()
	if err != nil {
		return err
	}
	for _, t := range threads {
		if _, err := p.Calls(t); err != nil {
			return err
		}
	}
	if _, err = p.Locks(); err != nil {
		return err
	}
	names, err := p.ThreadNames(threads)
	if err == nil && len(names) == 0 {
		err = errors.New("no thread has a name")
	}
	return err
}

// readR reads all of a session of R.
func readR(m callbacks.Memory, modules map[string]*symbols) error {
	p, err := rcode.Open(rcode.Config{Memory: m, JumpBuffer: 200, Lookup: modules["libR"].lookup})
	if err != nil {
		return err
	}
	_, err = p.Calls()
	return err
}
