package accesspath

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// bytesAt is memory with bytes at one address.
type bytesAt struct {
	base uint64
	b    []byte
}

func (m bytesAt) ReadMemory(a callbacks.Address, p []byte) error {
	off := a.Offset - m.base
	if off > uint64(len(m.b)) || uint64(len(p)) > uint64(len(m.b))-off {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	copy(p, m.b[off:])
	return nil
}

// FuzzRun runs arbitrary bytes as code: it never panics and stays within its bounds.
func FuzzRun(f *testing.F) {
	f.Add([]byte("\x8b\x47\x08\xc3"), byte(0))                                 // mov 8(%rdi),%eax; ret
	f.Add([]byte("\xeb\xfe"), byte(1))                                         // jmp .
	f.Add([]byte("\x85\xff\x74\xfc\x75\xfa\xc3"), byte(2))                     // branches back
	f.Add([]byte("\x48\x01\xc0\xeb\xfb"), byte(3))                             // add %rax,%rax in an endless loop
	f.Add([]byte("\xe8\xfb\xff\xff\xff\xc3"), byte(4))                         // calls itself
	f.Add([]byte("\x83\xff\x05\x77\x02\xff\x24\xfd\x00\x10\x00\x00"), byte(5)) // a jump table
	f.Add([]byte("\x66\x66\x48\xe8\x00\x00\x00\x00\xc3"), byte(6))
	f.Add([]byte("\x00\x08\x40\xb9\xc0\x03\x5f\xd6"), byte(32))                                 // ldr w0,[x0,8]; ret
	f.Add([]byte("\xfd\x7b\xbf\xa9\x40\x00\x40\x7a\x41\x00\x00\x54\xc0\x03\x5f\xd6"), byte(33)) // stp; ccmp; b.ne; ret
	f.Fuzz(func(t *testing.T, code []byte, mode byte) {
		cfg := Config{Arch: callbacks.ArchX86_64, Mem: bytesAt{0x1000, code}}
		cfg.Bounds = Bounds{Steps: 2000, Paths: 64, Visits: int(mode & 3), Depth: 4, Edges: int(mode >> 2 & 3),
			Cases: 16}
		if mode&16 != 0 {
			cfg.Follow = func(symbolic.Target) bool { return true }
		}
		if mode&32 != 0 {
			cfg.Arch = callbacks.ArchAArch64
		}
		if mode&64 != 0 {
			cfg.Resolve = func(a uint64) (symbolic.Target, bool) {
				return symbolic.Target{Name: "abort", Entry: a},
					a&1 != 0
			}
		}
		paths, err := Run(cfg, 0x1000)
		if (err == nil) != (len(paths) > 0) || len(paths) > cfg.Bounds.Paths {
			t.Fatalf("%d paths, error %v", len(paths), err)
		}
		env := symbolic.Env{Mem: cfg.Mem, Args: []uint64{0x1000, 2}}
		for _, p := range paths {
			if (p.End == symbolic.EndReturn) != (p.Result != nil) {
				t.Fatalf("%v with result %v", p.End, p.Result)
			}
			if p.Result != nil {
				p.Result.Chain()
				_ = p.Result.String()
			}
		}
		evalPaths(paths, env)
	})
}
