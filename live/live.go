// Package live reads running processes. A *Process is a callbacks.Target with registers, modules
// and mappings, like a core.
//
// Memory that changes while it is read gives wrong answers, and a program that is stopped while a
// debugger works makes no progress. So Look asks a question several times. First it rehearses the
// question on the running program to learn which memory it reads; a cheaper question can replace it
// (LookPrepared). Then it stops all threads and copies registers, stacks and exactly that memory in
// a few system calls. It resumes the threads and answers the question from the copy. If the answer
// reads memory outside of the copy, Look repeats this with that memory too.
//
// Threads are stopped by PTRACE_SEIZE and PTRACE_INTERRUPT, which send no signal. The kernel
// resumes or restarts system calls as after every stop; the few that return EINTR after any stop
// (signal(7): epoll_wait, semop, sigtimedwait and similar calls) do so here too.
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

// Options sets where files are searched, and how a process may be treated. The zero value uses the
// files that the process sees.
type Options struct {
	// Sysroot is the directory that replaces "/" of the process; empty means the root directory of
	// the process itself.
	Sysroot string
	// DebugDirs are directories with .build-id trees, such as /usr/lib/debug.
	DebugDirs []string
	// NoStop forbids to stop threads.
	NoStop bool
	// Registers returns registers by LWP and name from the debugger that holds the process: for
	// threads held by another debugger, the kernel shows only a few. nil without a debugger.
	Registers func() map[int]map[string]uint64
	// Open opens files that the process names and has not mapped; nil opens every file that this
	// process may read.
	Open func(name string) (*os.File, error)
	// Memory limits and counts the copy of the process's memory and the memory made from the
	// modules' files; nil does not limit it.
	Memory callbacks.Ledger
}

// Info describes a process as the kernel showed it when it was opened.
type Info struct {
	PID        int
	Parent     int      // number of the process that started it, 0 if unknown
	Executable string   // path, as the process sees it
	Command    []string // the arguments, the program first
	Name       string   // at most 15 bytes, as the kernel keeps it
	UID        int      // effective
	User       string   // name of UID
	State      byte     // as in ps(1): R running, S sleeping, T stopped, t held by a debugger
	TracerPID  int      // the debugger that holds it; 0 without one
	Tracer     string   // name of that debugger
	Threads    int
	Root       string // directory under which its files are found; empty for "/"
	Forked     bool   // it is a fork of another process, and has executed no program since
}

// Process is a running process. As a target it reads current memory. Nothing in it changes between
// Stop and Resume; otherwise two reads may not be consistent, and Look makes them so. It is safe
// for concurrent use.
type Process struct {
	opened
	tableMemory *swappableMemory // memory through which the modules read
	turn        chan struct{}    // semaphore of the goroutine that may stop the process
	guard       *guard           // guard that holds the process; nil without one
	vectors     atomic.Bool      // floating-point and vector registers are copied, too
	prepared    func()           // called before a look stops any thread; may be nil

	mu     sync.Mutex
	maps   []mapping
	mods   *modules.Table
	tables []*modules.Table // all tables made; their files stay open until Close
	fixed  map[uint64][]byte
	copied uint64 // bytes charged to the ledger for the last copy
	held   *hold  // the stop that Stop started
}

// opened is a process as Open found it, with the kernel's data on it.
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

// Open opens process pid, or the process of thread pid, without stopping it. It finds the modules, in the
// process's own root directory if that differs. The error is an *Error that explains why the process cannot be
// inspected.
func Open(pid int, opts Options) (*Process, error) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		o := opened{pid: pid, opts: opts, memory: budget.LedgerOf(opts.Memory)}
		p := &Process{opened: o, fixed: map[uint64][]byte{}, turn: make(chan struct{}, 1)}
		err := p.open()
		if err == nil {
			return p, nil
		}
		if p.mem != nil {
			p.mem.file.Close()
		}
		// A process that seems to have ended and exists is executing another program.
		if !errors.Is(err, ErrExited) || !isAlive(p.pid) || time.Since(begin) > settleTime {
			return nil, err
		}
	}
}

// isAlive reports whether a process exists and has not ended. Its first thread may have ended.
func isAlive(pid int) bool { return findSurvivor(pid) != 0 }

func (p *Process) open() error {
	st, err := readStatus(p.pid)
	if err != nil {
		return noProcessError(p.pid)
	}
	if st.tgid != 0 && st.tgid != p.pid { // a thread's number
		p.pid = st.tgid
		if st, err = readStatus(p.pid); err != nil {
			return noProcessError(p.pid)
		}
	}
	if isKernelThread(p.pid) {
		return &Error{PID: p.pid, Err: ErrKernelThread, Cause: st.name,
			Fix: "ompd-inspect ps lists the processes that can be inspected"}
	}
	id := p.pid
	if st.state == 'Z' {
		if id = findSurvivor(p.pid); id == 0 {
			return &Error{PID: p.pid, Err: ErrZombie, Cause: st.name + " only waits for its parent to fetch its exit " +
				"status"}
		}
	}
	if p.arch, err = archOf(id); err != nil { // first: it is missing during an exec
		return p.explainRefusal(err)
	}
	if p.mem, err = openRemote(id); err != nil {
		return p.explainRefusal(err)
	}
	if p.auxv, err = readAuxv(id); err != nil {
		return p.explainRefusal(err)
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

// findSurvivor returns a living thread of a process after its first thread has ended; 0 without one.
func findSurvivor(pid int) int {
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

// explainRefusal explains an error of the kernel.
func (o *opened) explainRefusal(err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return err
	case isDenied(err):
		return explainDenied(o.pid)
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
	if fields, err := statFields(procPath(o.pid, "stat")); err == nil {
		o.info.Forked = parseNumber(fields[statFlags-statState])&forkNoExec != 0
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

// settleTime bounds the wait for a process without memory: it is about to end or to execute another program.
const settleTime = time.Second

// readMaps reads the mappings. A thread that has ended has no mappings; then another thread is tried.
func (o *opened) readMaps() ([]mapping, error) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		maps, err := readMaps(o.mem.owner())
		if len(maps) > 0 || err != nil && !isGone(err) {
			return maps, err
		}
		if end := o.endReason(); end != nil {
			return nil, end
		}
		if time.Since(begin) > settleTime {
			return nil, &Error{PID: o.pid, Err: ErrExited}
		}
		if id := findSurvivor(o.pid); id != 0 {
			o.mem.id.Store(int64(id))
		}
	}
}

// refresh reads the mappings, and finds the modules again if the mapped files have changed.
func (p *Process) refresh() error {
	maps, err := p.readMaps()
	if err != nil {
		return p.explainRefusal(err)
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
		},
		IsMapped: func(m callbacks.Mapping, path string) bool { return isMappedFile(maps, m, path) },
	}
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
		opts.Exe = procPath(p.mem.owner(), "exe") // the kernel still keeps it
	}
	p.mods = modules.Find(facts, opts)
	p.tables = append(p.tables, p.mods)
	return nil
}

// lastLayout returns the mappings and the modules as they were last read.
func (p *Process) lastLayout() ([]mapping, *modules.Table) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.maps, p.mods
}

// Close resumes the process if it is stopped, and unmaps the files of its modules. Their images
// must not be used after it.
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

// Info returns the kernel's description of the process when it was opened.
func (p *Process) Info() Info {
	info := p.info
	info.Command = slices.Clone(info.Command)
	return info
}

// endReason explains why the opened program no longer exists; nil if it does.
func (o *opened) endReason() error {
	if !o.mem.isGone() {
		return nil
	}
	st, err := readStatus(o.pid)
	if err != nil {
		return &Error{PID: o.pid, Err: ErrExited}
	}
	// A process that is ending has no memory even before it is a zombie.
	if maps, err := readMaps(o.pid); len(maps) > 0 || isDenied(err) {
		return &Error{PID: o.pid, Err: ErrExec, Fix: fmt.Sprintf("repeat the command if you mean the program that it "+
			"is now, %s", st.name)}
	}
	return &Error{PID: o.pid, Err: ErrExited}
}
