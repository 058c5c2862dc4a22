package live

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Classify returns the family of the runtime in a module; ok is false without one. defines reports
// whether the module defines a symbol, contains whether a text is in its constant data. contains is
// false except for executables without symbols that are statically linked.
type Classify func(defines, contains func(string) bool) (family string, ok bool)

// Candidate is a process that can be inspected.
type Candidate struct {
	PID        int
	User       string
	Executable string   // path, as the process sees it
	Command    []string // the arguments, the program first
	State      byte     // as in ps(1)
	Threads    int
	Started    time.Time
	// CPU is the number of processors that the process kept busy: over its whole life, or over the
	// sample time of Processes.
	CPU      float64
	Runtimes []RuntimeModule
}

// RuntimeModule is a module of a process that contains a runtime.
type RuntimeModule struct {
	Family string // as Classify returned it
	Path   string // as the process sees it
	File   string // path by which this process can open it
}

// Hidden describes processes that could not be inspected for lack of permission.
type Hidden struct {
	Count    int
	Err      error // an *Error about one of them; may be nil
	Readable int   // number of other processes that could be inspected
}

// Processes lists the processes of this machine that have a module known to classify, in order of
// process number. It stops no process and reads no memory; a statically linked runtime is found in
// the executable's symbol table, or if it is stripped, in its texts.
//
// If sample is not 0, Processes takes that long to measure CPU.
func Processes(ctx context.Context, classify Classify, sample time.Duration) (list []Candidate, hidden Hidden,
	err error) {
	if err := checkProc(); err != nil {
		return nil, hidden, err
	}
	s := newSearch(classify)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, hidden, err
	}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, hidden, err
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if c, err := s.inspectProcess(pid); isDenied(err) && !isKernelThread(pid) {
			hidden.Count++
			if hidden.Err == nil {
				hidden.Err = explainDeniedFor(pid, "ps")
			}
		} else if err == nil && c.PID != 0 { // a thread of the kernel has no number there
			if pid != os.Getpid() {
				hidden.Readable++
			}
			if len(c.Runtimes) > 0 {
				list = append(list, c)
			}
		}
	}
	slices.SortFunc(list, func(a, b Candidate) int { return cmp.Compare(a.PID, b.PID) })
	return list, hidden, measureCPU(ctx, list, sample)
}

// fileID identifies a file by the kernel's description of its mapping.
type fileID struct {
	dev   string
	inode uint64
}

// verdict is the classification of a file.
type verdict struct {
	family string
	ok     bool
	mtime  time.Time
}

// search caches files that several processes have mapped.
type search struct {
	classify Classify
	known    map[fileID]verdict
	boot     time.Time
}

func newSearch(classify Classify) *search {
	return &search{classify: classify, known: map[fileID]verdict{}, boot: bootTime()}
}

// RuntimeSearch finds the processes with a runtime among some processes. It classifies each file once. It is not safe
// for concurrent use.
type RuntimeSearch struct{ search *search }

// NewRuntimeSearch returns a search for the runtimes that classify knows.
func NewRuntimeSearch(classify Classify) *RuntimeSearch { return &RuntimeSearch{newSearch(classify)} }

// Uses reports whether a process has a module with a runtime. It returns false for a process that cannot be read.
func (r *RuntimeSearch) Uses(pid int) bool {
	c, err := r.search.inspectProcess(pid)
	return err == nil && len(c.Runtimes) > 0
}

// inspectProcess inspects one process.
func (s *search) inspectProcess(pid int) (Candidate, error) {
	maps, err := readMaps(pid)
	if err != nil || len(maps) == 0 {
		return Candidate{}, err
	}
	exe, _ := os.Readlink(procPath(pid, "exe"))
	c := Candidate{PID: pid, Executable: strings.TrimSuffix(exe, deletedSuffix)}
	seen := map[fileID]bool{}
	for _, m := range maps {
		id := fileID{m.dev, m.inode}
		if m.File == "" || m.Perm&callbacks.PermExec == 0 || seen[id] {
			continue
		}
		seen[id] = true
		file := rootOf(pid) + m.File
		switch {
		case m.File == exe:
			file = procPath(pid, "exe")
		case strings.HasSuffix(m.File, deletedSuffix):
			file = mappedPath(pid, m.Mapping)
		}
		if v := s.classifyFile(id, file, m.File == exe); v.ok {
			c.Runtimes = append(c.Runtimes, RuntimeModule{v.family, strings.TrimSuffix(m.File, deletedSuffix), file})
		}
	}
	if len(c.Runtimes) == 0 {
		return c, nil
	}
	return c, s.describe(&c)
}

// classifyFile reports whether a file contains a runtime.
func (s *search) classifyFile(id fileID, path string, main bool) verdict {
	st, err := os.Stat(path)
	if err != nil {
		return verdict{}
	}
	if v, ok := s.known[id]; ok && v.mtime.Equal(st.ModTime()) {
		return v
	}
	v := verdict{mtime: st.ModTime()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Ino == id.inode { // otherwise it was replaced
		if f, closer, err := elfx.OpenPath(path); err == nil {
			v.family, v.ok = s.classify(
				func(name string) bool { return definesSymbol(f, name, main) },
				func(text string) bool { return main && isAllStripped(f) && containsText(f, text) })
			closer.Close()
		}
	}
	s.known[id] = v
	return v
}

// definesSymbol reports whether a file defines a symbol: exported, or for an executable, any.
func definesSymbol(f *elfx.File, name string, main bool) bool {
	if s, ok := f.LookupDynamic(name); ok && s.Defined() {
		return true
	}
	if !main {
		return false
	}
	s, ok := f.Lookup(name)
	return ok && s.Defined()
}

// isAllStripped reports whether an executable is statically linked and has no symbols: it names no
// loader and no library.
func isAllStripped(f *elfx.File) bool {
	_, err := f.Symbols()
	return errors.Is(err, elfx.ErrNoSection) && f.Interp() == "" && len(f.Needed()) == 0
}

// maxConstants bounds the constant data of an executable that is searched for texts, in bytes. A
// program with all its libraries has some MiB; larger ones are of other languages, with built-in
// data.
const maxConstants = 64 << 20

// containsText reports whether a text is in the constant data of a file.
func containsText(f *elfx.File, text string) bool {
	for _, p := range f.Progs() {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 {
			continue
		}
		if b, err := f.DataAt(p.Vaddr, int(min(p.Filesz, maxConstants))); err == nil &&
			bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}

// describe fills in the description of a candidate.
func (s *search) describe(c *Candidate) error {
	st, err := readStatus(c.PID)
	if err != nil {
		return err
	}
	fields, err := statFields(procPath(c.PID, "stat"))
	if err != nil {
		return err
	}
	c.User, c.State, c.Threads, c.Command = userName(st.uids[1]), st.state, st.threads, readCmdline(c.PID)
	c.Started = s.boot.Add(parseTicks(fields[statStart-statState]))
	if age := time.Since(c.Started); age > 0 {
		c.CPU = cpuTime(fields).Seconds() / age.Seconds()
	}
	return nil
}

// measureCPU sets CPU to the use during sample.
func measureCPU(ctx context.Context, list []Candidate, sample time.Duration) error {
	if sample <= 0 || len(list) == 0 {
		return nil
	}
	used := func(pid int) time.Duration {
		fields, err := statFields(procPath(pid, "stat"))
		if err != nil {
			return 0
		}
		return cpuTime(fields)
	}
	before := make([]time.Duration, len(list))
	for i, c := range list {
		before[i] = used(c.PID)
	}
	start := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(sample):
	}
	for i := range list {
		list[i].CPU = max(0, (used(list[i].PID)-before[i]).Seconds()/time.Since(start).Seconds())
	}
	return nil
}

// tick is the unit of times in /proc/PID/stat, USER_HZ, which is 100 on all
// architectures of this module.
const tick = 10 * time.Millisecond

func parseTicks(field string) time.Duration { return time.Duration(parseNumber(field)) * tick }

// cpuTime returns the CPU time of a process or thread.
func cpuTime(fields []string) time.Duration {
	return parseTicks(fields[statUser-statState]) + parseTicks(fields[statSystem-statState])
}

// Times returns the time since the start of the process, and the CPU time of all its threads, in steps of 10 ms.
func (p *Process) Times() (elapsed, cpu time.Duration, err error) {
	fields, err := statFields(procPath(p.pid, "stat"))
	if err != nil {
		return 0, 0, p.exitReason(p.explainRefusal(err))
	}
	started := bootTime().Add(parseTicks(fields[statStart-statState]))
	return max(0, time.Since(started)), cpuTime(fields), nil
}

// bootTime returns the time when the machine was started.
func bootTime() time.Time {
	b, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(b)) {
		if s, ok := strings.CutPrefix(line, "btime "); ok {
			return time.Unix(int64(parseNumber(strings.TrimSpace(s))), 0)
		}
	}
	return time.Time{}
}

// CPUTime returns the processor time that all threads of the process have used, also those that have ended, in steps of
// 10 ms.
func (p *Process) CPUTime() (time.Duration, error) {
	fields, err := statFields(procPath(p.pid, "stat"))
	if err != nil {
		return 0, p.exitReason(err)
	}
	return parseTicks(fields[statUser-statState]) + parseTicks(fields[statSystem-statState]), nil
}

// Usage holds the kernel's counters for a thread.
type Usage struct {
	Thread    callbacks.ThreadID // of kind LWP
	Name      string             // at most 15 bytes
	State     byte               // as in ps(1)
	User      time.Duration      // of processor time, in steps of 10 ms
	System    time.Duration      // like User, in the kernel
	Switches  uint64             // number of context switches
	Processor int                // current or last processor
}

// Usage returns the resource usage of each thread, without stopping any. Threads that end during the call are
// left out.
func (p *Process) Usage() ([]Usage, error) {
	tids, err := taskIDs(p.pid)
	if err != nil {
		return nil, p.exitReason(p.explainRefusal(err))
	}
	list := make([]Usage, 0, len(tids))
	for _, tid := range tids {
		fields, err1 := statFields(taskPath(p.pid, tid, "stat"))
		st, err2 := readStatusFile(taskPath(p.pid, tid, "status"))
		if err1 != nil || err2 != nil {
			continue
		}
		list = append(list, Usage{
			Thread: callbacks.LWP(uint64(tid)), Name: st.name, State: st.state, Switches: st.switches,
			User: parseTicks(fields[statUser-statState]), System: parseTicks(fields[statSystem-statState]),
			Processor: parseNumber(fields[statProcessor-statState]),
		})
	}
	return list, nil
}
