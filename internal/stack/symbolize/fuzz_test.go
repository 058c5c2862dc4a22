package symbolize

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/ulikunitz/xz"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
)

// FuzzMiniDebug unpacks bytes as .gnu_debugdata, and checks that the memory stays within the
// ledger.
func FuzzMiniDebug(f *testing.F) {
	const limit = 1 << 20
	for _, content := range [][]byte{nil, []byte("\x7fELF\x02\x01\x01"), make([]byte, 8*limit)} {
		var packed bytes.Buffer
		w, err := xz.NewWriter(&packed)
		if err != nil {
			f.Fatal(err)
		}
		_, err = w.Write(content)
		if err := errors.Join(err, w.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(packed.Bytes())
		f.Add(packed.Bytes()[:packed.Len()/2])
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		l := budget.NewLedger(limit)
		file, err := unpackMiniDebug(l, packed)
		if (file == nil) == (err == nil) || l.HeldBytes() > limit {
			t.Fatalf("%v, %v, %d bytes", file, err, l.HeldBytes())
		}
	})
}

// FuzzNames makes display names of arbitrary symbols and types.
func FuzzNames(f *testing.F) {
	for _, s := range []string{
		"_Z4walkPKii", "_ZN3fooIiE3barEv.omp_outlined", "_ZTI4Mine", "__mod_MOD_proc", "_QMmodSsubFhostPproc",
		"_RNvCs1234_7mycrate3foo",
		"_ZZZZ", "_Z" + "St" + "IIIIIIIIEEEEEEEE", "__kmpc_4", "_QF", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, s := range []string{Demangle(name), TypeName(name)} {
			if len(s) > len(name)+1<<maxDemangledPow+64 || utf8.ValidString(name) && !utf8.ValidString(s) {
				t.Fatalf("%q became %d bytes: %.100q", name, len(s), s)
			}
		}
	})
}

// FuzzLocation evaluates bytes as the location of a local variable, by an expression and by the
// lists of either form of debug information.
func FuzzLocation(f *testing.F) {
	f.Add([]byte{opFbreg, 0x70}, []byte{opCallFrameCFA}, uint64(0x10))
	f.Add([]byte{opConstu, 5, opLit0 + 1, opPlus, opStackVal}, []byte{opReg0 + 6}, uint64(0))
	f.Add([]byte{4, 0, 0x20, 1, opReg0, 7, 0}, []byte{opBreg0 + 6, 8}, uint64(4))
	f.Fuzz(func(t *testing.T, b, base []byte, pc uint64) {
		frame := Activation{PC: pc, CFA: 0x7000, Register: func(n int) (uint64, bool) { return uint64(n), n < 17 }}
		list := locList{Cursor: binread.Cursor{Data: b}, vs: new(variables), base: pc &^ 0xff}
		locs := [][]byte{b, findInOldList(b, 0, pc), list.findExpression(pc)}
		for _, loc := range locs {
			w := valueLocation{loc: loc, base: base, size: 4, signed: true}
			if v, ok := w.evaluateIn(frame, func(uint64, int) (uint64, bool) { return pc, true }); ok &&
				int64(int32(v)) != v {
				t.Fatalf("%#x has more than four bytes", v)
			}
		}
	})
}
