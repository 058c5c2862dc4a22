package accesspath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// show returns a path as one line.
func show(p symbolic.Path) string {
	var s []string
	for _, c := range p.Conds {
		s = append(s, "if "+c.String())
	}
	for _, st := range p.Stores {
		s = append(s, st.String())
	}
	for _, c := range p.Calls {
		s = append(s, c.String())
	}
	s = append(s, p.End.String())
	if p.Result != nil {
		s = append(s, p.Result.String())
	}
	return strings.Join(s, "; ")
}

// snippets are instruction sequences that are rare in accessors, with their expected paths.
var snippets = []struct {
	name, code string
	want       []string
}{
	{"byte registers", "\x88\xf8\xc3", // mov %bh,%al; ret
		[]string{"returned; ((unknown&0xffffffffffffff00)|ext1((unknown>>8)))"}},
	{"trap", "\x85\xff\x74\x02\x0f\x0b\x31\xc0\xc3", // test %edi,%edi; je +2; ud2; xor %eax,%eax; ret
		[]string{"if ext4(arg0) != 0; does not return", "if ext4(arg0) == 0; returned; 0"}},
	{"no return", "\xff\x15\xfa\x0f\x00\x00\xc3", // call *0x2000(%rip); ret
		[]string{"does not return"}},
	// jmp *0x2008; lea 5(%rdi),%eax; ret
	{"tail call known", "\xff\x25\x02\x10\x00\x00" + strings.Repeat("\xcc", 26) + "\x8d\x47\x05\xc3",
		[]string{"returned; ext4(arg0+5)"}},
	{"tail call unknown", "\xff\x25\x0a\x10\x00\x00", // jmp *0x2010
		[]string{"far(); returned; call far()"}},
	{"call", "\x50\xff\x15\x09\x10\x00\x00\x5a\xc3", // push %rax; call *0x2010; pop %rdx; ret
		[]string{"far(); returned; call far()"}},
	{"runs on into the next function", "\x50\xe8\x1a\x10\x00\x00" + strings.Repeat("\x90", 10) +
		"\x50\x31\xc0\x5a\xc3",
		[]string{"0x2020(); does not return"}}, // push; call; nops; push; xor; pop; ret
	// push %rax; xor %eax,%eax; ret
	{"unbalanced stack", "\x50\x31\xc0\xc3", []string{"does not return"}},
	{"unknown jump", "\xff\xe7", []string{"unknown code"}}, // jmp *%rdi
	// jmp *0x1000(,%rdi,8)
	{"unlimited table", "\xff\x24\xfd\x00\x10\x00\x00", []string{"unknown code"}},
	{"end of memory", "\x31\xc0", []string{"unknown code"}}, // xor %eax,%eax
	{"not an instruction", "\x0f\xff", []string{"unknown code"}},
	{"loop", "\xeb\xfe", []string{"loops"}}, // jmp .
	// movl $3,(%rdi); mov (%rdi),%eax; ret
	{"stores", "\xc7\x07\x03\x00\x00\x00\x8b\x07\xc3", []string{"*4(arg0) = 3; returned; 3"}},
	// mov %fs:0,%rax; mov -8(%rax),%eax; ret
	{"thread pointer", "\x64\x48\x8b\x04\x25\x00\x00\x00\x00\x8b\x40\xf8\xc3",
		[]string{"returned; load4(tp-8)"}},
	// mov %fs:-160,%eax; ret
	{"local-exec", "\x64\x8b\x04\x25\x60\xff\xff\xff\xc3", []string{"returned; load4(tp-160)"}},
	{"address before", "\x48\x8d\x05\xf0\xff\xff\xff\xc3", // lea -16(%rip),%rax; ret
		[]string{"returned; global 0xff7"}},
	// lea 0x2010,%rax; call *(%rax); mov %fs:(%rax),%eax; ret
	{"tls descriptor", "\x48\x8d\x05\x09\x10\x00\x00\xff\x10\x64\x8b\x00\xc3",
		[]string{"returned; load4(tp+tlsdesc 0x2010)"}},
	{"parity", "\x39\xf7\x7a\x03\x31\xc0\xc3\xb0\x01\xc3", // cmp; jp; xor; ret; mov $1,%al; ret
		[]string{"if unknown; returned; 0", "if unknown; returned; ((unknown&0xffffffffffffff00)|1)"}},
	{"same branch twice", "\x85\xff\x74\x00\x85\xff\x74\x01\xc3\x31\xc0\xc3", // test; je; test; je; ret; xor; ret
		[]string{"if ext4(arg0) != 0; returned; unknown", "if ext4(arg0) == 0; returned; 0"}},
}

// TestSnippets executes the snippets.
func TestSnippets(t *testing.T) {
	plt := map[uint64]symbolic.Target{0x2000: {Name: "abort"}, 0x2008: {Name: "near", Entry: 0x1020},
		0x2010: {Name: "far"}}
	for _, tt := range snippets {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Arch: callbacks.ArchX86_64, Mem: bytesAt{0x1000, []byte(tt.code)}}
			cfg.Resolve = func(a uint64) (symbolic.Target, bool) { r, ok := plt[a]; return r, ok }
			paths, err := Run(cfg, 0x1000)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range paths {
				got = append(got, show(p))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestBounds tests every bound with code that would exceed it.
func TestBounds(t *testing.T) {
	loop := []byte("\xff\xc7\x83\xff\x64\x75\xf9\xc3") // inc %edi; cmp $100,%edi; jne -7; ret
	branches := []byte(strings.Repeat("\x83\xff\x07\x74\x00\xff\xc7", 12) + "\xc3")
	nest := []byte("\xe8\xfb\xff\xff\xff\xc3") // calls itself
	follow := func(symbolic.Target) bool { return true }
	for _, tt := range []struct {
		name   string
		code   []byte
		bounds Bounds
		paths  int
		ends   string
	}{
		{"visits", loop, Bounds{Steps: 1000, Paths: 100, Visits: 3}, 4, "[4 returned]"},
		{"steps", branches, Bounds{Steps: 30, Paths: 5000, Visits: 2}, 0, "limit reached"},
		{"paths", branches, Bounds{Steps: 100000, Paths: 10, Visits: 2}, 10, "[10 returned]"},
		{"edges", branches, Bounds{Steps: 100000, Paths: 5000, Visits: 2, Edges: 1}, 0, "limit reached"},
		{"depth", nest, Bounds{Steps: 1000, Paths: 10, Visits: 2, Depth: 3}, 1, "[1 returned]"},
	} {
		cfg := Config{Arch: callbacks.ArchX86_64, Mem: bytesAt{0x1000, tt.code}, Follow: follow, Bounds: tt.bounds}
		paths, err := Run(cfg, 0x1000)
		if err != nil {
			t.Fatal(err)
		}
		count := map[symbolic.End]int{}
		for _, p := range paths {
			count[p.End]++
		}
		ends := fmt.Sprintf("[%d %v]", count[symbolic.EndReturn], symbolic.EndReturn)
		if count[symbolic.EndLimit] > 0 {
			ends = symbolic.EndLimit.String()
		}
		if ends != tt.ends || tt.paths > 0 && len(paths) != tt.paths {
			t.Errorf("%s: %d paths, %s (%v), want %d, %s", tt.name, len(paths), ends, count, tt.paths, tt.ends)
		}
	}
}

// TestRunErrors checks the errors of Run.
func TestRunErrors(t *testing.T) {
	mem := bytesAt{0x1000, []byte("\xc3")}
	if _, err := Run(Config{Mem: mem}, 0x1000); !errors.Is(err, lift.ErrUnsupported) {
		t.Errorf("unknown architecture: %v", err)
	}
	var fault *callbacks.FaultError
	if _, err := Run(Config{Arch: callbacks.ArchX86_64, Mem: mem}, 0x5000); !errors.As(err, &fault) ||
		fault.Address.Offset != 0x5000 {
		t.Errorf("code that is not there: %v", err)
	}
}

// TestEvalPaths checks the errors of evalPaths.
func TestEvalPaths(t *testing.T) {
	// mov (%rdi),%eax; test %esi,%esi; jne +1; ret; ud2
	mem := bytesAt{0x1000, []byte("\x8b\x07\x85\xf6\x75\x01\xc3\x0f\x0b")}
	paths, err := Run(Config{Arch: callbacks.ArchX86_64, Mem: mem}, 0x1000)
	if err != nil || len(paths) != 2 {
		t.Fatalf("%d paths, %v", len(paths), err)
	}
	if v, err := evalPaths(paths, symbolic.Env{Mem: mem, Args: []uint64{0x1004, 0}}); err != nil || v != 0x0fc30175 {
		t.Errorf("value %#x, %v", v, err)
	}
	if _, err := evalPaths(paths, symbolic.Env{Mem: mem, Args: []uint64{0x1004, 1}}); !errors.Is(err, errNoPath) {
		t.Errorf("a trap: %v", err)
	}
	if _, err := evalPaths(paths, symbolic.Env{Mem: mem, Args: []uint64{0x1004}}); !errors.Is(err, symbolic.ErrOpaque) {
		t.Errorf("no second argument: %v", err)
	}
	if _, err := evalPaths(paths, symbolic.Env{Mem: mem, Args: []uint64{0x3000, 0}}); !errors.Is(err,
		callbacks.ErrUnmapped) {
		t.Errorf("no memory: %v", err)
	}
}

// TestEvalThread evaluates expressions that depend on the thread.
func TestEvalThread(t *testing.T) {
	mem := bytesAt{0x1000, []byte("\x02\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff")}
	env := symbolic.Env{
		Mem: mem, ThreadPointer: 0x1008,
		TLS:  func(module, offset uint64) (uint64, error) { return 0x1000 + module*offset, nil },
		Call: func(c symbolic.Call) (uint64, error) { return uint64(len(c.Name)), nil },
	}
	call := symbolic.Leaf(symbolic.KindCall, 0)
	call.Callee = &symbolic.Call{Target: symbolic.Target{Name: "gtid"}}
	for want, e := range map[uint64]*symbolic.Expr{
		0x1008:             symbolic.Leaf(symbolic.KindTLSBase, 0),
		8:                  symbolic.Load(symbolic.Leaf(symbolic.KindTLSBase, 0), 4, false),
		0xffffffff:         symbolic.Load(symbolic.Leaf(symbolic.KindTLSVar, 0x1000), 4, false),
		0xffffffffffffffff: symbolic.Load(symbolic.Leaf(symbolic.KindTLSVar, 0x1000), 4, true),
		4:                  call,
		1: symbolic.Compare(symbolic.Cond{
			Op: lift.LT, A: symbolic.Load(symbolic.Leaf(symbolic.KindTLSVar, 0x1000), 4, true), B: symbolic.Constant(0),
		}),
	} {
		if got, err := symbolic.Eval(e, env); err != nil || got != want {
			t.Errorf("%v is %#x, %v, want %#x", e, got, err, want)
		}
	}
}
