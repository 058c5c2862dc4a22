package flow

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestRoundBehindPadding checks the last round of a loop before which a compiler has put no-operations for its
// alignment, after a jump: that code is never executed, and the loop has one entry.
func TestRoundBehindPadding(t *testing.T) {
	code := codeAt{
		0x85, 0xf6, // test %esi,%esi
		0xeb, 0x04, // jmp to the condition
		0x66, 0x90, // no-operation
		0x31, 0xc0, // the loop: xor %eax,%eax
		0xff, 0xcf, // the condition: dec %edi
		0x75, 0xfa, // jne to the loop
		0xc3, // ret
	}
	f, err := New(Config{Arch: callbacks.ArchX86_64, Mem: code}, Range{fuzzBase, fuzzBase + uint64(len(code))})
	if err != nil {
		t.Fatal(err)
	}
	f.ensureSolved()
	in, ok := f.instAt(fuzzBase + 6)
	if !ok {
		t.Fatal("the loop has no instruction")
	}
	r, ok := blocksOf(f).roundOf(f.owner[in])
	if condition, _ := f.instAt(fuzzBase + 8); !ok || r.head != f.owner[condition] {
		t.Errorf("round %+v, %v, want one from block %d", r, ok, f.owner[condition])
	}
}
