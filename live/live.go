// Package live reads running processes. A *Process is a callbacks.Target with
// registers, modules and mappings, as a core is.
//
// Memory that changes while it is read gives wrong answers, and a program that
// is stopped while a debugger thinks is a program that stands still. So a
// question is asked several times (Look): first of the running program, only to
// learn what it reads, for which a cheaper one will do (LookPrepared); then all
// threads are stopped for a moment in which
// registers, stacks and exactly that memory are copied in a few system calls;
// then the threads go on, and the question is answered from the copy. If it
// reads what was not copied, that is repeated with this memory too.
//
// Threads are stopped by PTRACE_SEIZE and PTRACE_INTERRUPT, which send no
// signal. System calls go on or start again as the kernel does it for every
// stop; the few that give EINTR after any stop (signal(7): epoll_wait, semop,
// sigtimedwait and their like) do so here too.
package live

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
)

// Options tell where files are, and how a process may be treated. The zero
// value finds files where the process sees them.
type Options struct {
	// Sysroot is the directory that stands for "/" of the process; empty means
	// the root directory of the process itself.
	Sysroot string
	// DebugDirs are directories with .build-id trees, such as /usr/lib/debug.
	DebugDirs []string
	// NoStop forbids to stop threads.
	NoStop bool
	// Registers are those that a debugger tells which holds the process, by LWP and name: of threads
	// that another one holds, the kernel tells no more than where they are. nil without a debugger.
	Registers func() map[int]map[string]uint64
	// Open opens files that the process names, beside those that it has mapped; nil
	// opens all that this process may read.
	Open func(name string) (*os.File, error)
	// Memory counts the copy of the process's memory and what is made of the modules'
	// files, and bounds it; nil does not.
	Memory callbacks.Ledger
}

// Info is what the kernel tells about a process when it is opened.
type Info struct {
	PID        int
	Parent     int      // number of the process that started it, 0 if that is not known
	Executable string   // path, as the process sees it
	Command    []string // the arguments, the program first
	Name       string   // at most 15 bytes, as the kernel keeps it
	UID        int      // effective
	User       string   // name of UID
	State      byte     // as in ps(1): R runs, S sleeps, T is stopped, t is held by a debugger
	TracerPID  int      // the debugger that holds it, 0 if none does
	Tracer     string   // name of that debugger
	Threads    int
	Root       string // directory under which its files are found; empty for "/"
}

// Process is a running process. As a target it answers from the memory of this
// moment: between Stop and Resume nothing changes in it; otherwise two answers
// may not fit together, and Look is what makes them. It is safe for concurrent
// use.
type Process struct {
	opened
	tableMemory *swappableMemory // what the modules read through
	turn        chan struct{}    // has room for the one who may stop the process
	guard       *guard           // that holds the process already; nil if nobody of this module does
	vectors     atomic.Bool      // floating-point and vector registers are copied, too
	prepared    func()           // called before a look stops anything; nil for nothing

	mu     sync.Mutex
	maps   []mapping
	mods   *modules.Table
	tables []*modules.Table // all that were made; their files stay open until Close
	fixed  map[uint64][]byte
	copied uint64 // bytes that are counted for the last copy
	held   *hold  // the stop that Stop began
}

// opened is a process as Open found it, and what the kernel tells of that.
type opened struct {
	pid      int
	opts     Options
	memory   *budget.Ledger
	arch     callbacks.Arch
	info     Info
	samePIDs bool // it is in this process's PID namespace
	auxv     map[uint64]uint64
	mem      *remote
	read     time.Time // when Open read the mappings
}

var (
	_ callbacks.Target         = (*Process)(nil)
	_ callbacks.RegisterReader = (*Process)(nil)
	_ callbacks.ModuleLister   = (*Process)(nil)
	_ callbacks.MappingLister  = (*Process)(nil)
)

// Open opens process pid, or the process that has a thread of that number. It
// stops nothing. It finds the modules, in the process's own root directory if
// that is another one. The error is an *Error that says why the process cannot
// be looked at.
func Open(pid int, opts Options) (*Process, error) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		o := opened{pid: pid, opts: opts, memory: budget.Of(opts.Memory)}
		p := &Process{opened: o, fixed: map[uint64][]byte{}, turn: make(chan struct{}, 1)}
		err := p.open()
		if err == nil {
			return p, nil
		}
		if p.mem != nil {
			p.mem.file.Close()
		}
		// A process that seems to have ended and is there becomes another program.
		if !errors.Is(err, ErrExited) || !lives(p.pid) || time.Since(begin) > settleTime {
			return nil, err
		}
	}
}

// lives reports whether a process is there and has not ended: its first thread may have.
func lives(pid int) bool { return survivor(pid) != 0 }

func (p *Process) open() error {
	st, err := readStatus(p.pid)
	if err != nil {
		return noProcess(p.pid)
	}
	if st.tgid != 0 && st.tgid != p.pid { // a thread's number
		p.pid = st.tgid
		if st, err = readStatus(p.pid); err != nil {
			return noProcess(p.pid)
		}
	}
	if isKernelThread(p.pid) {
		return &Error{PID: p.pid, Err: ErrKernelThread, Cause: st.name,
			Fix: "ompd-inspect ps lists the processes that can be inspected"}
	}
	id := p.pid
	if st.state == 'Z' {
		if id = survivor(p.pid); id == 0 {
			return &Error{PID: p.pid, Err: ErrZombie, Cause: st.name + " only waits for its parent to fetch its exit " +
				"status"}
		}
	}
	if p.arch, err = archOf(id); err != nil { // first: there is none in the middle of an exec
		return p.refused(err)
	}
	if p.mem, err = openRemote(id); err != nil {
		return p.refused(err)
	}
	if p.auxv, err = readAuxv(id); err != nil {
		return p.refused(err)
	}
	const atPHDR = 3
	p.mem.probe = p.auxv[atPHDR]
	p.tableMemory = &swappableMemory{now: p.mem}
	p.samePIDs = sameNamespace(id, "pid")
	p.fillInfo(id, st)
	if err := p.refresh(); err != nil {
		return err
	}
	p.read = time.Now()
	if main := p.mods.Main(); p.info.Executable != main.Path && main.Path != "" { // run as "ld.so program"
		p.info.Executable = strings.TrimSuffix(main.Path, deletedSuffix)
	}
	return nil
}

// survivor is a thread of a process whose first thread has ended, 0 if all
// have.
func survivor(pid int) int {
	tids, _ := taskIDs(pid)
	i := slices.IndexFunc(tids, func(tid int) bool {
		st, err := readStatusFile(taskPath(pid, tid, "status"))
		return err == nil && st.state != 'Z' && st.state != 'X'
	})
	if i < 0 {
		return 0
	}
	return tids[i]
}

// refused explains an error of the kernel.
func (o *opened) refused(err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return err
	case isDenied(err):
		return denied(o.pid)
	case isGone(err):
		return &Error{PID: o.pid, Err: ErrExited}
	}
	return fmt.Errorf("process %d: %w", o.pid, err)
}

// archOf reads the architecture from the executable.
func archOf(id int) (callbacks.Arch, error) {
	f, closer, err := elfx.OpenPath(procPath(id, "exe"))
	if err != nil {
		if errors.Is(err, elfx.ErrClass) {
			return 0, &Error{PID: id, Err: ErrArch, Cause: err.Error(),
				Fix: "only 64-bit programs of x86-64 and aarch64 can be inspected"}
		}
		return 0, fmt.Errorf("executable of process %d: %w", id, err)
	}
	defer closer.Close()
	if f.Arch() == callbacks.ArchUnknown {
		return 0, &Error{PID: id, Err: ErrArch, Cause: f.Machine().String(),
			Fix: "only 64-bit programs of x86-64 and aarch64 can be inspected"}
	}
	return f.Arch(), nil
}

func (o *opened) fillInfo(id int, st *status) {
	exe, _ := os.Readlink(procPath(id, "exe"))
	o.info = Info{
		PID: o.pid, Parent: st.parent, Executable: strings.TrimSuffix(exe, deletedSuffix), Command: readCmdline(id),
		Name: st.name,
		UID:  st.uids[1], User: userName(st.uids[1]), State: st.state, TracerPID: st.tracer, Threads: st.threads,
	}
	if st.tracer != 0 {
		h := holderOf(st.tracer)
		o.info.TracerPID, o.info.Tracer = h.pid, h.name
	}
	o.info.Root = rootOf(id)
}

// deletedSuffix is what the kernel appends to the path of a file that was
// removed while it was mapped.
const deletedSuffix = " (deleted)"

// settleTime bounds the wait for a process whose threads have no memory: it is
// just about to end or to become another program.
const settleTime = time.Second

// readMaps reads the mappings. Threads that have ended have none; then another
// one is asked.
func (o *opened) readMaps() ([]mapping, error) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		maps, err := readMaps(o.mem.owner())
		if len(maps) > 0 || err != nil && !isGone(err) {
			return maps, err
		}
		if end := o.ended(); end != nil {
			return nil, end
		}
		if time.Since(begin) > settleTime {
			return nil, &Error{PID: o.pid, Err: ErrExited}
		}
		if id := survivor(o.pid); id != 0 {
			o.mem.id.Store(int64(id))
		}
	}
}

// refresh reads the mappings, and finds the modules anew if other files are
// mapped than before.
func (p *Process) refresh() error {
	maps, err := p.readMaps()
	if err != nil {
		return p.refused(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	same := slices.EqualFunc(filesOf(p.maps), filesOf(maps), func(a, b callbacks.Mapping) bool { return a == b })
	p.maps = maps
	if p.mods != nil && same {
		return nil
	}
	clear(p.fixed)
	facts := modules.Facts{Memory: p.tableMemory, Arch: p.arch, Auxv: p.auxv, Files: filesOf(maps),
		Mapped: func(m callbacks.Mapping) string {
			return mappedPath(p.mem.owner(), m)
		}}
	const atSysinfoEHDR = 33
	if m := mappingAt(maps, p.auxv[atSysinfoEHDR]); m != nil {
		facts.VDSOEnd = m.High.Offset
	}
	opts := modules.Options{
		Sysroot: p.opts.Sysroot, DebugDirs: p.opts.DebugDirs, Open: openerFor(p.opts.Open, maps), Memory: p.memory,
	}
	if opts.Sysroot == "" {
		opts.Sysroot = p.info.Root
	}
	if exe, err := os.Readlink(procPath(p.mem.owner(), "exe")); err == nil && strings.HasSuffix(exe, deletedSuffix) {
		opts.Exe = procPath(p.mem.owner(), "exe") // the kernel still has it
	}
	p.mods = modules.Find(facts, opts)
	p.tables = append(p.tables, p.mods)
	return nil
}

// layout returns the mappings and the modules as they were last read.
func (p *Process) layout() ([]mapping, *modules.Table) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.maps, p.mods
}

// Close lets the process go on if it is stopped, and unmaps the files of its
// modules. Their images must not be used after it.
func (p *Process) Close() error {
	errs := []error{p.Resume(), p.mem.file.Close()}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.tables {
		errs = append(errs, t.Close())
	}
	p.tables = nil
	return errors.Join(errs...)
}

// Info tells what the kernel told about the process when it was opened.
func (p *Process) Info() Info {
	info := p.info
	info.Command = slices.Clone(info.Command)
	return info
}

// ended tells why the program that was opened is not there any more, nil if it
// is.
func (o *opened) ended() error {
	if !o.mem.gone() {
		return nil
	}
	st, err := readStatus(o.pid)
	if err != nil {
		return &Error{PID: o.pid, Err: ErrExited}
	}
	// A process that ends has no memory even before it is a zombie.
	if maps, err := readMaps(o.pid); len(maps) > 0 || isDenied(err) {
		return &Error{PID: o.pid, Err: ErrExec, Fix: fmt.Sprintf("repeat the command if you mean the program that it "+
			"is now, %s", st.name)}
	}
	return &Error{PID: o.pid, Err: ErrExited}
}
