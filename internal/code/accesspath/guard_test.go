package accesspath

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// guardBuilds are the compiler commands for testdata/guards.c.
var guardBuilds = []string{
	"gcc -O2 -fPIC", "gcc -O2 -fPIC -fno-omit-frame-pointer -fcf-protection", "gcc -O1 -fPIC -mno-direct-extern-access",
	"gcc -O0 -fPIC",
	"clang-16 -O2 -fPIC", "clang-16 -O3 -fPIC -Wl,--no-relax", "clang-16 -Os -fPIC -fno-omit-frame-pointer",
	"clang-16 -O2 -fvisibility=hidden",
	"clang-16 --target=aarch64-linux-gnu -O2 -fPIC -fuse-ld=lld", "clang-16 --target=aarch64-linux-gnu -O1 -fPIC " +
		"-fvisibility=hidden -fuse-ld=lld",
	"clang-16 --target=aarch64-linux-gnu -O2 -fPIC -mbranch-protection=standard -fuse-ld=lld -Wl,--no-relax",
}

// TestGuards checks that exactly the calls after a test of bit 0 are found.
func TestGuards(t *testing.T) {
	for _, build := range guardBuilds {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			l, code, low := guarded(t, build)
			v := l.variable("switched")
			all, err := Guards(l.config(), low, code, v)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, g := range all {
				name := l.function(g.Entry)
				got[name] = append(got[name], l.function(g.PC))
				if l.function(g.At) != l.function(g.PC) {
					t.Errorf("%s is called at %#x, the test is at %#x", name, g.PC, g.At)
				}
				if empty := Empty(l.config(), g.Entry); empty != (name != "busy") {
					t.Errorf("%s is empty: %v", name, empty)
				}
			}
			for name, want := range map[string]string{"first": "around plain", "second": "around", "busy": "others"} {
				slices.Sort(got[name])
				if s := strings.Join(got[name], " "); s != want {
					t.Errorf("%s is called behind tests in %q, want %q", name, s, want)
				}
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("and %v", got)
			}
			l.checkValid(low, code)
			l.checkBody(all)
		})
	}
}

// checkValid checks that the call after the use of a variable is found.
func (l *library) checkValid(low uint64, code []byte) {
	l.tb.Helper()
	calls, err := CallsBehind(l.config(), low, code, l.variable("names"))
	if err != nil {
		l.tb.Fatal(err)
	}
	calls = slices.DeleteFunc(calls, func(c BodyCall) bool { return l.function(c.Entry) != "valid" })
	if len(calls) != 1 || l.function(calls[0].PC) != "set" {
		l.tb.Errorf("calls behind the use of names: %+v", calls)
	}
}

// checkBody checks that the code after one call leads to the other, and not vice versa.
func (l *library) checkBody(all []Guard) {
	l.tb.Helper()
	var first, second uint64
	for _, g := range all {
		if l.function(g.PC) == "around" && l.function(g.Entry) == "first" {
			first = g.PC
		}
		if l.function(g.Entry) == "second" {
			second = g.PC
		}
	}
	for _, w := range []struct {
		from, to uint64
		want     bool
	}{{first, second, true}, {second, first, false}, {l.symbol("around"), second, true},
		{l.symbol("plain"), second, false}} {
		b, err := NewBody(l.config(), w.from)
		if err != nil {
			l.tb.Fatal(err)
		}
		if got := b.Contains(w.to); got != w.want {
			l.tb.Errorf("from %#x in %s to %#x: %v", w.from, l.function(w.from), w.to, got)
		}
		if l.function(w.from) == "around" &&
			!slices.ContainsFunc(b.Calls(), func(c BodyCall) bool { return l.function(c.Entry) == "work" }) {
			l.tb.Errorf("from %#x: no call of work in %+v", w.from, b.Calls())
		}
	}
}

// guarded builds testdata/guards.c as a library with bound symbols that are still in the symbol table.
func guarded(t *testing.T, build string) (l *library, code []byte, low uint64) {
	t.Helper()
	omptest.Needs(t, "a C compiler")
	lib := filepath.Join(t.TempDir(), "guards.so")
	words := append(strings.Fields(build), "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-o", lib, "testdata/guards.c")
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
	l = openLibrary(t, lib)
	code, header, err := l.file.Section(".text")
	if err != nil {
		t.Fatal(err)
	}
	return l, code, header.Addr
}

// symbol returns a symbol's address, exported or not.
func (l *library) symbol(name string) uint64 {
	l.tb.Helper()
	s, ok := l.file.Lookup(name)
	if !ok {
		l.tb.Fatalf("no symbol %s", name)
	}
	return s.Value
}

// variable returns a variable with the slots that the loader fills with its address.
func (l *library) variable(name string) Variable {
	l.tb.Helper()
	v := Variable{Address: l.symbol(name)}
	relocs, err := l.file.Relocations()
	if err != nil {
		return v
	}
	for _, r := range relocs {
		if r.Symbol == name || r.Symbol == "" && uint64(r.Addend) == v.Address {
			v.Slots = append(v.Slots, r.Offset)
		}
	}
	return v
}

// function returns the name of the function that contains pc.
func (l *library) function(pc uint64) string {
	l.tb.Helper()
	syms, err := l.file.Symbols()
	if err != nil {
		l.tb.Fatal(err)
	}
	for _, s := range syms {
		if s.Defined() && s.Value <= pc && pc < s.Value+s.Size {
			return s.Name
		}
	}
	return ""
}
