package unwind

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// readelfNames lists readelf's names of registers, by DWARF number.
var readelfNames = map[callbacks.Arch][]string{
	callbacks.ArchX86_64: {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11",
		"r12", "r13", "r14", "r15", "ra"},
	callbacks.ArchAArch64: {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
		"x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
		"x28", "x29", "x30", "sp"},
}

// formatRule returns a rule in the notation of readelf.
func formatRule(r rule) string {
	switch r.kind {
	case ruleUndefined:
		return "u"
	case ruleSame:
		return "s"
	case ruleOffset:
		return fmt.Sprintf("c%+d", r.offset)
	case ruleValOffset:
		return fmt.Sprintf("v%+d", r.offset)
	case ruleRegister:
		return fmt.Sprintf("r%d", r.reg)
	case ruleExpr:
		return "exp"
	case ruleValExpr:
		return "vexp"
	}
	return "u"
}

// TestRowsAsReadelf checks that the rules of every row of real tables equal readelf's.
func TestRowsAsReadelf(t *testing.T) {
	omptest.Needs(t, "readelf")
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Fatalf("%v: apt-get install binutils", err)
	}
	files := []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/lib/x86_64-linux-gnu/libm.so.6"}
	for _, r := range omptest.Runtimes(t) {
		files = append(files, r.Lib)
	}
	for _, path := range files {
		t.Run(path, func(t *testing.T) {
			cmd := exec.Command(readelf, "--wide", "--debug-dump=frames-interp", path)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			n, bad := compareRows(t, path, out)
			_ = cmd.Wait() // it also fails without separate debug files; rows are counted
			t.Logf("%d rows, %d differ", n, bad)
			if n < 1000 {
				t.Errorf("%d rows, want at least 1000", n)
			}
		})
	}
}

// compareRows parses readelf's tables and compares the rules of each row.
func compareRows(t *testing.T, path string, out io.Reader) (rows, bad int) {
	f, closer, err := elfx.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	m := &module{Module: &callbacks.Module{Path: path, Image: f.Image()}}
	names := readelfNames[f.Arch()]
	var columns []string
	var high uint64
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fields := readelfFields(lines.Text())
		switch {
		case strings.Contains(lines.Text(), " FDE cie="):
			_, end, _ := strings.Cut(lines.Text(), "..")
			if high, err = strconv.ParseUint(end, 16, 64); err != nil {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
		case strings.Contains(lines.Text(), " CIE "):
			high = 0
		case len(fields) > 2 && fields[0] == "LOC":
			columns = fields[2:]
		case high != 0 && len(fields) == len(columns)+2:
			pc, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil || pc >= high || fields[1] == "ZERO" {
				continue
			}
			rows++
			got := rowFields(m, pc, f.Arch(), columns, names)
			if want := strings.Join(fields[1:], " "); got != want {
				if bad++; bad < 10 {
					t.Errorf("%#x %v:\n got %s\nwant %s", pc, columns, got, want)
				}
			}
		}
	}
	return rows, bad
}

// readelfFields splits a line of a table. A register with two names, as in "r10 (r10)", is one field.
func readelfFields(line string) []string {
	return slices.DeleteFunc(strings.Fields(line), func(s string) bool { return strings.HasPrefix(s, "(") })
}

// rowFields returns the row at pc in readelf's notation.
func rowFields(m *module, pc uint64, a callbacks.Arch, columns, names []string) string {
	f, _, err := m.findFDE(pc)
	if err != nil {
		return err.Error()
	}
	r, err := f.makeRow(pc, a)
	if err != nil {
		return err.Error()
	}
	out := []string{"exp"}
	if r.cfa.kind == ruleRegister {
		out[0] = fmt.Sprintf("%s%+d", names[r.cfa.reg], r.cfa.offset)
	}
	for _, name := range columns {
		n := slices.Index(names, name)
		if name == "ra" {
			n = int(f.ra)
		}
		i := slices.IndexFunc(r.regs, func(u regRule) bool { return u.reg == n })
		switch {
		case i >= 0:
			out = append(out, formatRule(r.regs[i].rule))
		default:
			out = append(out, "u")
		}
	}
	return strings.Join(out, " ")
}
