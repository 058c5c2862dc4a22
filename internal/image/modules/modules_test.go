package modules

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// process is the memory of a living child.
type process struct{ mem *os.File }

func (p process) ReadMemory(a callbacks.Address, b []byte) error {
	if n, err := p.mem.ReadAt(b, int64(a.Offset)); n < len(b) {
		return &callbacks.FaultError{Address: a.Add(uint64(n)), Err: err}
	}
	return nil
}

// start runs a program that waits for its standard input, and returns the kernel's data on it.
func start(t *testing.T, command ...string) (Facts, []callbacks.Mapping) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	fmt.Fprintln(in, "hello") // the answer shows that the loader is done
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("%q, %v", line, err)
	}
	dir := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
	mem, err := os.Open(dir + "mem")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	f := Facts{Memory: process{mem}, Arch: callbacks.ArchX86_64, Auxv: map[uint64]uint64{}}
	auxv, err := os.ReadFile(dir + "auxv")
	if err != nil {
		t.Fatal(err)
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		f.Auxv[callbacks.Word(auxv[:8])] = callbacks.Word(auxv[8:16])
	}
	maps, err := os.ReadFile(dir + "maps")
	if err != nil {
		t.Fatal(err)
	}
	var code []callbacks.Mapping
	for line := range strings.Lines(string(maps)) {
		var m callbacks.Mapping
		var perm, dev string
		var inode int
		fmt.Sscanf(line, "%x-%x %s %x %s %d %s", &m.Low.Offset, &m.High.Offset, &perm, &m.FileOffset, &dev, &inode,
			&m.File)
		if inode != 0 {
			f.Files = append(f.Files, m)
		}
		if perm[2] == 'x' && (inode != 0 || m.File == vdsoPath) {
			code = append(code, m)
		}
	}
	return f, code
}

// TestLivingProcess finds the modules of a program of the distribution, with the kernel's list of files and
// without.
func TestLivingProcess(t *testing.T) {
	facts, code := start(t, "/bin/cat")
	for _, files := range [][]callbacks.Mapping{facts.Files, nil} {
		facts.Files = files
		table := Find(facts, Options{})
		defer table.Close()
		list, err := table.Modules()
		if err != nil || len(list) != len(code) {
			t.Errorf("%d modules, want %d; %v", len(list), len(code), err)
		}
		for _, m := range code {
			e := table.entryAt(m.Low)
			if e == nil || filepath.Base(e.mod.Path) != filepath.Base(m.File) || e.file == nil {
				t.Errorf("the module at %v is %+v, want %s", m.Low, e, m.File)
				continue
			}
			piece, ok := table.PieceAt(m.Low)
			if m.File == vdsoPath {
				continue
			}
			var b [16]byte
			if err := facts.Memory.ReadMemory(m.Low, b[:]); err != nil || !ok ||
				string(piece.Data[:16]) != string(b[:]) || piece.Offset != m.FileOffset {
				t.Errorf("%s at %v: file has %x at %#x, memory %x (%v)", m.File, m.Low, piece.Data[:16], piece.Offset,
					b, err)
			}
		}
		a, err := table.Symbol("malloc", "libc.so.6")
		if e := table.entryAt(a); err != nil || e == nil || !strings.Contains(e.mod.Path, "libc.so") {
			t.Errorf("malloc is at %v, %v", a, err)
		}
		if b, err := table.Symbol("malloc", "cat"); err == nil {
			t.Errorf("malloc is in cat at %v", b)
		}
	}
}

// TestForgedList walks lists that no loader makes.
func TestForgedList(t *testing.T) {
	facts, _ := start(t, "/bin/cat")
	whole := Find(facts, Options{})
	defer whole.Close()
	list := whole.LinkMapAddresses()
	if len(list) < 3 {
		t.Fatalf("%d link maps, want 3 or more", len(list))
	}
	for _, tt := range []struct {
		name string
		at   uint64 // of the forged word
		v    uint64
		want int
	}{
		{"back to the head", list[len(list)-1] + 24, list[0], len(list)},
		{"to itself", list[1] + 24, list[1], 2},
		{"into nowhere", list[1] + 24, 0x10, 2},
		{"a name in nowhere", list[2] + 8, ^uint64(0) - 3, len(list)},
		{"an absurd bias", list[2], ^uint64(0) &^ 0xfff, len(list)},
	} {
		f := facts
		f.Memory = forged{facts.Memory, tt.at, tt.v}
		table := Find(f, Options{})
		if got := len(table.LinkMapAddresses()); got != tt.want {
			t.Errorf("%s: %d link maps, want %d", tt.name, got, tt.want)
		}
		// The list of files still contains the lost module.
		if _, err := table.Symbol("malloc", ""); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		table.Close()
	}
}

// forged is a memory with one word changed.
type forged struct {
	callbacks.Memory
	at, v uint64
}

func (f forged) ReadMemory(a callbacks.Address, p []byte) error {
	err := f.Memory.ReadMemory(a, p)
	for i := range p {
		if d := a.Offset + uint64(i) - f.at; d < 8 {
			p[i] = byte(f.v >> (8 * d))
		}
	}
	return err
}
