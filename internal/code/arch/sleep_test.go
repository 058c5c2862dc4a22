package arch

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestFindSleep distinguishes calls that only sleep from calls that wait for a descriptor, by their registers,
// also when the kernel is about to continue them.
func TestFindSleep(t *testing.T) {
	const pc = 0x1000
	mem := codeAt{at: pc - SyscallCode, code: make([]byte, SyscallCode+2)}
	copy(mem.code[SyscallCode-7:], []byte{0xb8, 0xe6, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x05}) // mov $230, %eax; syscall
	type args = [6]uint64
	for name, c := range map[string]struct {
		syscall int64
		rax     int64
		args    args
		want    SleepCall
		ok      bool
	}{
		"nanosleep": {35, -516, args{8, 16}, SleepCall{Name: "nanosleep", Time: callbacks.Addr(8),
			Rest: callbacks.Addr(16), Interrupted: true}, true},
		"not interrupted": {35, -38, args{8, 16}, SleepCall{Name: "nanosleep", Time: callbacks.Addr(8),
			Rest: callbacks.Addr(16)}, true},
		"returned": {35, 0, args{8, 16}, SleepCall{}, false},
		"again": {219, -516, args{1, 0, 8, 16}, SleepCall{Name: "clock_nanosleep", Time: callbacks.Addr(8),
			Rest: callbacks.Addr(16), Interrupted: true}, true},
		"about to continue": {230, 219, args{1, 0, 8, 16}, SleepCall{Name: "clock_nanosleep",
			Time: callbacks.Addr(8), Rest: callbacks.Addr(16), Interrupted: true}, true},
		"about to be repeated": {270, 270, args{0, 0, 0, 0, 8}, SleepCall{Name: "pselect6", Time: callbacks.Addr(8),
			Rest: callbacks.Addr(8), Interrupted: true}, true},
		"about to read": {0, 0, args{0, 8, 1}, SleepCall{}, false},
		"until a time": {230, -514, args{1, 1, 8, 16}, SleepCall{Name: "clock_nanosleep", Time: callbacks.Addr(8),
			Deadline: true, Clock: 1}, true},
		"select": {23, -514, args{0, 0, 0, 0, 0}, SleepCall{Name: "select", Micro: true, Endless: true,
			Interrupted: true}, true},
		"select, no set": {270, -38, args{4, 0, 0, 0, 8}, SleepCall{Name: "pselect6", Time: callbacks.Addr(8),
			Rest: callbacks.Addr(8)}, true},
		"select of descriptor": {270, -38, args{4, 8, 0, 0, 8}, SleepCall{}, false},
		"poll":                 {7, -516, args{0, 0, 250}, SleepCall{Name: "poll", Milliseconds: 250}, true},
		"poll for ever":        {7, -516, args{0, 0, 0xffffffff}, SleepCall{Name: "poll", Endless: true}, true},
		"poll of descriptor":   {7, -516, args{8, 1, 250}, SleepCall{}, false},
		"ppoll": {271, -514, args{0, 0, 8}, SleepCall{Name: "ppoll", Time: callbacks.Addr(8),
			Rest: callbacks.Addr(8), Interrupted: true}, true},
		"ppoll of descriptor": {271, -514, args{8, 1, 8}, SleepCall{}, false},
		"futex":               {202, -512, args{8, 128, 1}, SleepCall{}, false},
		"no call":             {-1, 35, args{8, 16}, SleepCall{}, false},
	} {
		r := callbacks.Registers{Arch: callbacks.ArchX86_64, Syscall: c.syscall, SyscallArgs: c.args}
		r.Set(0, uint64(c.rax))
		r.SetPC(pc)
		got, ok := FindSleep(&r, mem)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v, want %+v, %v", name, got, ok, c.want, c.ok)
		}
	}
	r := callbacks.Registers{Arch: callbacks.ArchAArch64, Syscall: 115, SyscallArgs: args{0, 1, 8, 16}}
	r.Set(0, ^uint64(513))
	if got, ok := FindSleep(&r, mem); !ok || !got.Deadline || !got.Time.IsNull() { // the result replaced Clock
		t.Errorf("aarch64: %+v, %v", got, ok)
	}
}

// codeAt is memory with code at one address.
type codeAt struct {
	at   uint64
	code []byte
}

func (m codeAt) ReadMemory(a callbacks.Address, b []byte) error {
	if a.Offset < m.at || a.Offset+uint64(len(b)) > m.at+uint64(len(m.code)) {
		return callbacks.Unavailable
	}
	copy(b, m.code[a.Offset-m.at:])
	return nil
}
