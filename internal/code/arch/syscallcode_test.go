package arch

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestSyscallBefore reads code from the C library, libgomp and Go.
func TestSyscallBefore(t *testing.T) {
	const restart = ^uint64(511) // -ERESTARTSYS
	call := "\x0f\x05"
	for name, tt := range map[string]struct {
		code string
		rax  uint64
		want int64
		ok   bool
	}{
		"constant":         {"\xb8\xca\x00\x00\x00" + call, restart, 202, true},
		"other code":       {"\xb8\x22\x00\x00\x00\x40\x80\xf6\x80" + call, restart, 34, true}, // xor $0x80,%sil
		"register":         {"\x44\x89\xc0" + call, restart, 202, true},                        // mov %r8d,%eax
		"lost register":    {"\x89\xc8" + call, restart, 0, false},                             // mov %ecx,%eax
		"changed later":    {"\xb8\xca\x00\x00\x00\x83\xc0\x01" + call, restart, 0, false},     // add $1,%eax
		"behind a jump":    {"\xb8\xca\x00\x00\x00\xeb\x00" + call, restart, 0, false},         // jmp
		"it has returned":  {"\xb8\xca\x00\x00\x00" + call, 0, 0, false},
		"no such call":     {"\xb8\xff\xff\x00\x00" + call, restart, 0, false},
		"no system call":   {"\xb8\xca\x00\x00\x00\x90\x90", restart, 0, false},
		"too little code":  {"\x05", restart, 0, false},
		"memory":           {"\x8b\x07" + call, restart, 0, false}, // mov (%rdi),%eax
		"the last of two":  {"\xb8\x22\x00\x00\x00\xb8\xca\x00\x00\x00" + call, restart, 202, true},
		"nothing about it": {"\x31\xd2" + call, restart, 0, false}, // xor %edx,%edx
	} {
		t.Run(name, func(t *testing.T) {
			r := callbacks.Registers{Arch: callbacks.ArchX86_64, Syscall: -1}
			r.Set(0, tt.rax)
			r.Set(2, 202)
			r.Set(8, 202)
			if n, ok := SyscallBefore(&r, []byte(tt.code)); ok != tt.ok || ok && n != tt.want {
				t.Errorf("%d, %v", n, ok)
			}
		})
	}
}
