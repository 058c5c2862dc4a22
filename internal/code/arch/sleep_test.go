package arch

import (
	"encoding/binary"
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
		"pause":               {34, -514, args{}, SleepCall{Name: "pause", Endless: true}, true},
		"sigsuspend":          {130, -514, args{8, 8}, SleepCall{Name: "rt_sigsuspend", Endless: true}, true},
		"sigwait":             {128, -4, args{8, 0, 0, 8}, SleepCall{Name: "rt_sigtimedwait", Endless: true}, true},
		"sigtimedwait": {128, -4, args{8, 0, 16, 8}, SleepCall{Name: "rt_sigtimedwait",
			Time: callbacks.Addr(16)}, true},
		"futex":   {202, -512, args{8, 128, 1}, SleepCall{}, false},
		"no call": {-1, 35, args{8, 16}, SleepCall{}, false},
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

// TestFindSleepOfARM finds the calls of threads on aarch64, by the svc instruction at their PC or, in cores of an
// emulator, before it.
func TestFindSleepOfARM(t *testing.T) {
	const pc, svc, number = 0x1000, 0xd4000001, 0xd2800e68         // mov x8, #115
	const move, branch, other = 0xaa0303e2, 0x14000002, 0xaa0203e8 // mov x2, x3; b; mov x8, x2
	type args = [6]uint64
	monotonic := SleepCall{Name: "clock_nanosleep", Time: callbacks.Addr(8), Rest: callbacks.Addr(16)}
	for name, c := range map[string]struct {
		code   [3]uint32 // the last one is at pc
		number uint64
		args   args
		want   SleepCall
		ok     bool
	}{
		"in it": {[3]uint32{number, move, svc}, 115, args{1, 0, 8, 16}, monotonic, true},
		"until": {[3]uint32{number, move, svc}, 115, args{0, 1, 8, 16}, SleepCall{Name: "clock_nanosleep",
			Time: callbacks.Addr(8), Deadline: true}, true},
		"nanosleep": {[3]uint32{number, move, svc}, 101, args{8, 16}, SleepCall{Name: "nanosleep",
			Time: callbacks.Addr(8), Rest: callbacks.Addr(16)}, true},
		"pause":      {[3]uint32{number, move, svc}, 73, args{}, SleepCall{Name: "ppoll", Endless: true}, true},
		"of a file":  {[3]uint32{number, move, svc}, 73, args{8, 1}, SleepCall{}, false},
		"futex":      {[3]uint32{number, move, svc}, 98, args{8, 128, 1}, SleepCall{}, false},
		"continues":  {[3]uint32{number, move, svc}, 128, args{1, 0, 8, 16}, monotonic, true},
		"unknown":    {[3]uint32{number, branch, svc}, 128, args{1, 0, 8, 16}, SleepCall{}, false},
		"overwrites": {[3]uint32{number, other, svc}, 128, args{1, 0, 8, 16}, SleepCall{}, false},
		"no call":    {[3]uint32{number, move, move}, 115, args{1, 0, 8, 16}, SleepCall{}, false},
		"emulator":   {[3]uint32{number, svc, move}, 115, args{1, 0, 8, 16}, monotonic, true},
		"returned":   {[3]uint32{number, svc, move}, 115, args{0, 0, 8, 16}, SleepCall{}, false},
		"failed":     {[3]uint32{number, svc, move}, 101, args{^uint64(3), 16}, SleepCall{}, false},
	} {
		mem := codeAt{at: pc - 8, code: nil}
		for _, w := range c.code {
			mem.code = binary.LittleEndian.AppendUint32(mem.code, w)
		}
		r := callbacks.Registers{Arch: callbacks.ArchAArch64, Syscall: -1}
		for i, v := range c.args {
			r.Set(i, v)
		}
		r.Set(arm64Number, c.number)
		r.SetPC(pc)
		if got, ok := FindSleep(&r, mem); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v, want %+v, %v", name, got, ok, c.want, c.ok)
		}
	}
}

// codeAt is memory with code at one address.
type codeAt struct {
	at   uint64
	code []byte
}

func (m codeAt) ReadMemory(a callbacks.Address, b []byte) error {
	off, size := a.Offset-m.at, uint64(len(m.code))
	if off > size || uint64(len(b)) > size-off {
		return callbacks.Unavailable
	}
	copy(b, m.code[off:])
	return nil
}

// TestContinuedCall finds the futex wait that a thread continues, or is about to continue, by restart_syscall: after
// the first look at a process, all waits with a time limit are such calls.
func TestContinuedCall(t *testing.T) {
	const pc, word = 0x1000, 0x2000
	mem := twoPlaces{codeAt{at: pc - SyscallCode, code: make([]byte, SyscallCode+2)},
		codeAt{at: word, code: []byte{7, 0, 0, 0}}}
	copy(mem[0].code[SyscallCode-7:], []byte{0xb8, 0xca, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x05}) // mov $202, %eax; syscall
	for name, c := range map[string]struct {
		syscall, rax int64
		pc           uint64
		expected     uint64
		ok           bool
	}{
		"continues":                      {219, -516, pc, 7, true},
		"continues, the word changed":    {219, -516, pc, 8, true},
		"about to":                       {202, 219, pc - 2, 7, true},
		"about to, again":                {219, 219, pc - 2, 7, true},
		"about to, the word changed":     {202, 219, pc - 2, 8, false},
		"in the first call":              {202, -516, pc, 7, false},
		"it has returned":                {219, 0, pc, 7, false},
		"a value that looks like a call": {-1, 219, pc - 2, 7, false},
		"not at a call":                  {202, 219, pc - 4, 7, false},
		"no code":                        {219, -516, 0x9000, 7, false},
	} {
		r := callbacks.Registers{Arch: callbacks.ArchX86_64, Syscall: c.syscall,
			SyscallArgs: [6]uint64{word, 128, c.expected, 8}}
		r.Set(0, uint64(c.rax))
		r.SetPC(c.pc)
		got, ok := ContinuedCall(&r, mem)
		if ok != c.ok {
			t.Errorf("%s: %v", name, ok)
		}
		if at, waits := IsFutexWait(&got); c.ok && (!waits || at.Offset != word || got.PC() != pc) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestContinuedCallByArguments finds a futex wait that a thread continues in the C library's syscall, whose code does
// not show the number. Arguments that another call can have are not taken for those of a futex.
func TestContinuedCallByArguments(t *testing.T) {
	const pc, word, limit, later = 0x1000, 0x2000, 0x2010, 0x2028
	mem := twoPlaces{codeAt{at: pc - SyscallCode, code: make([]byte, SyscallCode)},
		codeAt{at: word, code: make([]byte, 64)}}
	copy(mem[0].code[SyscallCode-2:], []byte{0x0f, 0x05})
	mem[1].code[0], mem[1].code[limit-word] = 7, 2
	binary.LittleEndian.PutUint64(mem[1].code[later+8-word:], 1_000_000_000)
	for name, c := range map[string]struct {
		args [4]uint64
		ok   bool
	}{
		"private":              {[4]uint64{word, 128, 7, limit}, true},
		"until a time":         {[4]uint64{word, 128 | 9, 7, limit}, true},
		"the word changed":     {[4]uint64{word, 128, 8, limit}, false},
		"shared":               {[4]uint64{word, 0, 7, limit}, false},
		"no time":              {[4]uint64{word, 128, 7, later}, false},
		"no limit":             {[4]uint64{word, 128, 7, 0}, false},
		"an address elsewhere": {[4]uint64{word, 128, 7, 0x9000}, false},
		"a clock":              {[4]uint64{1, 0, limit, limit}, false},
		"poll":                 {[4]uint64{word, 2, 7, limit}, false},
	} {
		r := callbacks.Registers{Arch: callbacks.ArchX86_64, Syscall: 219,
			SyscallArgs: [6]uint64{c.args[0], c.args[1], c.args[2], c.args[3]}}
		r.Set(0, ^uint64(515))
		r.SetPC(pc)
		got, ok := ContinuedCall(&r, mem)
		if at, waits := IsFutexWait(&got); ok != c.ok || ok && (!waits || at.Offset != word) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

// TestAsleep distinguishes calls in which a thread sleeps from those that a stop interrupts at work.
func TestAsleep(t *testing.T) {
	for number, want := range map[int64]bool{
		0: true, 2: true, 34: true, 130: true, 275: true, 449: true, 1000: true, // unknown calls, too
		24: false, 35: false, 56: false, 230: false, 231: false, 9: false,
	} {
		r := callbacks.Registers{Arch: callbacks.ArchX86_64, Syscall: number}
		r.Set(0, ^uint64(511))
		if got := EndsOutside(&r); got != want {
			t.Errorf("%s: %v", SyscallName(r.Arch, number), got)
		}
		r.Set(0, 0)
		if EndsOutside(&r) {
			t.Errorf("%s has returned", SyscallName(r.Arch, number))
		}
	}
}

// twoPlaces is memory with contents at two addresses.
type twoPlaces [2]codeAt

func (m twoPlaces) ReadMemory(a callbacks.Address, b []byte) error {
	if m[0].ReadMemory(a, b) == nil {
		return nil
	}
	return m[1].ReadMemory(a, b)
}

// TestPendingFutexWait reads threads that are about to sleep on a word, and others at a system call.
func TestPendingFutexWait(t *testing.T) {
	const pc, word = 0x1000, 0x5000
	for name, tt := range map[string]struct {
		arch   callbacks.Arch
		code   string
		number uint64
		op     uint64
		want   bool
	}{
		"x86-64":         {callbacks.ArchX86_64, "\x0f\x05", 202, 128, true},
		"aarch64":        {callbacks.ArchAArch64, "\x01\x00\x00\xd4", 98, 128, true},
		"wakes":          {callbacks.ArchAArch64, "\x01\x00\x00\xd4", 98, 129, false},
		"another call":   {callbacks.ArchAArch64, "\x01\x00\x00\xd4", 73, 128, false},
		"no call":        {callbacks.ArchAArch64, "\x1f\x20\x03\xd5", 98, 128, false},
		"x86-64, a read": {callbacks.ArchX86_64, "\x0f\x05", 0, 128, false},
	} {
		r := callbacks.Registers{Arch: tt.arch, Syscall: -1}
		args := map[callbacks.Arch][3]int{callbacks.ArchX86_64: {5, 4, 1}, callbacks.ArchAArch64: {0, 1, 2}}[tt.arch]
		number := map[callbacks.Arch]int{callbacks.ArchX86_64: x86RAX, callbacks.ArchAArch64: arm64Number}[tt.arch]
		for i, v := range []uint64{word, tt.op, 1<<32 - 1} {
			r.Set(args[i], v)
		}
		r.Set(number, tt.number)
		r.SetPC(pc)
		at, expected, ok := PendingFutexWait(&r, codeAt{at: pc, code: []byte(tt.code)})
		if ok != tt.want || ok && (at.Offset != word || expected != 1<<32-1) {
			t.Errorf("%s: %v, %#x, %v", name, at, expected, ok)
		}
	}
}
