package lift

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestArithmetic compares results with those of this processor, for each way to round. Those of normal numbers are
// known.
func TestArithmetic(t *testing.T) {
	omptest.Needs(t, "compilers")
	exe := filepath.Join(t.TempDir(), "rounding")
	build := exec.Command("gcc", "-O0", "-frounding-math", "-o", exe, "testdata/rounding.c", "-lm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines, wrong := 0, 0
	known, rounded, exact := map[FloatOperator]int{}, map[FloatOperator]int{}, map[FloatOperator]int{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); lines++ {
		var op FloatOperator
		var mode Rounding
		var size uint8
		var a, b, c, want uint64
		if _, err := fmt.Sscan(sc.Text(), &op, &mode, &size, &a, &b, &c, &want); err != nil {
			t.Fatalf("%q: %v", sc.Text(), err)
		}
		got := op.Apply(RoundNearest+mode, size, a, b, c)
		if (got.V^want)&got.Known != 0 || got.V&^got.Known != 0 {
			if wrong++; wrong < 20 {
				t.Errorf("%s: %+v", sc.Text(), got)
			}
		}
		unrounded := op.Apply(RoundUnknown, size, a, b, c)
		if unrounded.Rounded || (unrounded.V^want)&unrounded.Known != 0 || unrounded.Known != 0 && got.Rounded {
			t.Errorf("%s: with an unknown way to round: %+v", sc.Text(), unrounded)
		}
		special := false
		for _, v := range []uint64{a, b, c, want} {
			f := math.Abs(floatOf(size, v))
			special = special || !(f > 1e-37 && f < 1e38)
		}
		switch {
		case got.Known == 0 && !special:
			t.Errorf("%s: unknown", sc.Text())
		case got.Rounded:
			rounded[op]++
		case got.Known == ^uint64(0):
			exact[op]++
		}
		if got.Known != 0 {
			known[op]++
		}
	}
	t.Logf("%d lines: known %v, rounded %v, exact %v", lines, known, rounded, exact)
	for op := FloatAdd; op <= FloatMulAdd; op++ {
		arithmetic := op != FloatMin && op != FloatMax
		if known[op] < lines/20 || exact[op] < lines/100 || arithmetic && rounded[op] < lines/100 {
			t.Errorf("operation %d: of %d results %d are known, %d rounded, %d exact", op, lines/7, known[op],
				rounded[op], exact[op])
		}
	}
}
