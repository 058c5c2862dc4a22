package locate

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// cType is a C type with members at given places.
type cType struct {
	size    uint64
	members map[string]*cType
	place   layout.Field
}

// member returns the member at the end of a path, and creates the missing ones.
func (c *cType) member(path string) *cType {
	for name := range strings.SplitSeq(path, ".") {
		if c.members == nil {
			c.members = map[string]*cType{}
		}
		if c.members[name] == nil {
			c.members[name] = &cType{}
		}
		c = c.members[name]
	}
	return c
}

// declare returns the type as a union of padded members. base is its own offset, which the offsets of its
// members include.
func (c *cType) declare(base uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "union { char whole[%d];", c.size)
	for name, m := range c.members {
		pad := ""
		if n := m.place.Offset - base; n > 0 {
			pad = fmt.Sprintf("char pad_%s[%d]; ", name, n)
		}
		what := fmt.Sprintf("char %s[%d]", name, m.place.Size)
		switch {
		case m.members != nil:
			what = m.declare(m.place.Offset) + " " + name
		case m.place.Mask != 0:
			what = fmt.Sprintf("unsigned %s : 1", name)
			if low := bits.TrailingZeros64(m.place.Mask); low > 0 {
				what = fmt.Sprintf("unsigned : %d; %s", low, what)
			}
		case m.place.Size == 8:
			what = "void *" + name
		case m.place.Size == 4:
			what = "int " + name
		}
		fmt.Fprintf(&b, " struct { %s%s; } __attribute__((packed));", pad, what)
	}
	return b.String() + " }"
}

// cSource returns the declarations of all structures of a release.
func cSource(r row) string {
	types := map[string]*cType{}
	for _, n := range r.t.Order {
		f := r.field(n.Type, n.Field)
		switch {
		case !f.IsKnown():
		case n.Field == "":
			types[n.Type] = &cType{size: f.Size}
		default:
			types[n.Type].member(n.Field).place = f
		}
	}
	var b strings.Builder
	for name, c := range types {
		c.enclose()
		fmt.Fprintf(&b, "typedef %s %s;\n%s use_%s;\n", c.declare(0), name, name, name)
	}
	return b.String()
}

// enclose computes the places of members that the table has only by their own members.
func (c *cType) enclose() {
	for _, m := range c.members {
		m.enclose()
		if m.members == nil {
			continue
		}
		low, high := ^uint64(0), uint64(0)
		for _, in := range m.members {
			low, high = min(low, in.place.Offset), max(high, in.place.End())
		}
		if !m.place.IsKnown() {
			m.place = layout.Field{Offset: low, Size: high - low}
		}
		m.size = m.place.Size
	}
}

// TestDebugInfo uses the debug information of a program that declares the runtime's structures, since no
// distribution's runtime comes with its own.
func TestDebugInfo(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 16))
	r := rowOf(t, 16)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "types.c"), []byte(cSource(r)), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command(cmp.Or(os.Getenv("OMPD_CLANG"), "clang-16"), "-g", "-shared", "-o", "types.so", "types.c")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: apt-get install clang-16\n%s", err, out)
	}
	calls := 0
	debug := func(m *callbacks.Module) (*dwarf.Data, error) {
		calls++
		f, closer, err := elfx.OpenPath(filepath.Join(dir, "types.so"))
		if err != nil || m != mod {
			return nil, fmt.Errorf("debug information of %s: %w", m.Path, err)
		}
		t.Cleanup(func() { closer.Close() })
		return f.DWARF()
	}
	alone, err := Locate(c, mod, layout.Options{Only: []string{"debuginfo"}, Debug: debug})
	if err != nil {
		t.Fatal(err)
	}
	given := 0
	for _, e := range alone.Report.Entries {
		want := r.field(e.Type, e.Name)
		if e.Type == "" || !want.IsKnown() {
			continue
		}
		given++
		if e.Err != nil || e.Field != want || e.Source != "debuginfo" {
			t.Errorf("%s at %v from %q, %v; want %v", e, e.Field, e.Source, e.Err, want)
		}
	}
	if given < 290 || calls != 1 {
		t.Errorf("%d names, %d calls", given, calls)
	}
	full, err := Locate(c, mod, layout.Options{Full: true, Debug: debug})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := full.Report.Lookup("kmp_base_team_t", "t_level")
	if got := strings.Join(append([]string{e.Source}, e.Agreed...), " "); got != "memory debuginfo code table 16" {
		t.Errorf("t_level is known to %s", got)
	}
}
