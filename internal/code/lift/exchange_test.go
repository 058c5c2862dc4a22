package lift

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	onX86 = callbacks.ArchX86_64
	onA64 = callbacks.ArchAArch64
)

// exchanges are atomic instructions, system calls, and similar instructions without these properties.
var exchanges = []struct {
	name   string
	arch   callbacks.Arch
	code   string
	locked bool
	stores int  // micro-operations that write
	old    bool // it compares the replaced value
	kernel bool
}{
	{"lock cmpxchg %ecx,(%rdi)", onX86, "\xf0\x0f\xb1\x0f", true, 1, true, false},
	{"cmpxchg %cl,(%rdi)", onX86, "\x0f\xb0\x0f", true, 1, true, false},
	{"cmpxchg %ecx,%edx", onX86, "\x0f\xb1\xca", true, 0, false, false},
	{"xchg %eax,(%rdi)", onX86, "\x87\x07", true, 1, false, false},
	{"lock xadd %eax,(%rdi)", onX86, "\xf0\x0f\xc1\x07", true, 1, false, false},
	{"lock addl $1,(%rdi)", onX86, "\xf0\x83\x07\x01", true, 1, false, false},
	{"lock orw $1,(%rdi)", onX86, "\x66\xf0\x83\x0f\x01", true, 1, false, false},
	{"addl $1,(%rdi)", onX86, "\x83\x07\x01", false, 1, false, false},
	{"mov (%rdi),%eax", onX86, "\x8b\x07", false, 0, false, false},
	{"syscall", onX86, "\x0f\x05", false, 0, false, true},
	{"cas w0,w1,[x2]", onA64, "\x41\x7c\xa0\x88", true, 1, true, false},
	{"casal x0,x1,[x2]", onA64, "\x41\xfc\xe0\xc8", true, 1, true, false},
	{"caspa x0,x1,x2,x3,[x4]", onA64, "\x82\x7c\x60\x48", true, 1, false, false},
	{"swp w0,w1,[x2]", onA64, "\x41\x80\x20\xb8", true, 1, false, false},
	{"ldadd w0,w1,[x2]", onA64, "\x41\x00\x20\xb8", true, 1, false, false},
	{"ldclral x0,x1,[x2]", onA64, "\x41\x10\xe0\xf8", true, 1, false, false},
	{"ldsmax w0,w1,[x2]", onA64, "\x41\x40\x20\xb8", true, 1, false, false},
	{"ldapr w1,[x2]", onA64, "\x41\xc0\xbf\xb8", false, 0, false, false},
	{"ldxr w1,[x2]", onA64, "\x41\x7c\x5f\x88", false, 0, false, false},
	{"stxr w3,w1,[x2]", onA64, "\x41\x7c\x03\x88", true, 1, false, false},
	{"stlxp w3,x1,x5,[x2]", onA64, "\x41\x94\x23\xc8", true, 1, false, false},
	{"svc #0", onA64, "\x01\x00\x00\xd4", false, 0, false, true},
}

// TestExchanges decodes the exchanges.
func TestExchanges(t *testing.T) {
	for _, tt := range exchanges {
		in, ok := lifters[tt.arch].Lift([]byte(tt.code), 0x1000, nil)
		if !ok || in.Length != len(tt.code) {
			t.Fatalf("%s: %+v", tt.name, in)
		}
		stores, old, kernel := 0, false, false
		for i := range in.Uops {
			u := &in.Uops[i]
			if u.Stores() {
				stores++
			}
			old = old || u.Code == UopExchange
			kernel = kernel || u.Code == UopSyscall
		}
		if in.Locked != tt.locked || stores != tt.stores || old != tt.old || kernel != tt.kernel {
			t.Errorf("%s: locked %v, stores %d, compares %v, kernel %v", tt.name, in.Locked, stores, old, kernel)
		}
	}
}

// TestPartial decodes instructions that write more than one operand, and similar ones.
func TestPartial(t *testing.T) {
	var got []bool
	for _, code := range []string{"\xf3\x48\xab", "\x48\xab", "\xf2\xae", "\xf3\x90", "\xf3\x0f\xb8\xc1"} {
		in, ok := (x86{}).Lift([]byte(code), 0x1000, nil)
		if !ok {
			t.Fatalf("%q is not decoded", code)
		}
		got = append(got, in.Partial)
	}
	// rep stos, stos, repne scas, pause, popcnt
	if want := []bool{true, true, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
