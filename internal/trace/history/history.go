// Package history reads the events that the recorder of a target has kept, with their places in the source, names of
// locks, and statistics.
package history

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/recordings"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// History reads the events that the recorder of a target has kept, with their places in the source. It is used by one
// goroutine at a time, until it is closed.
type History struct {
	reader *trace.Reader
	sym    *symbolize.Symbolizer
	memory *budget.Ledger // of the symbolizer
	now    func() int64   // by CLOCK_MONOTONIC; nil for a target that does not run
	saved  int64          // time at which a target that does not run was saved; 0 if unknown
	copies *budget.Ledger
	locks  map[uint64]string // names by wait id

	criticals recordings.Criticals
	copy      *trace.Recording  // the last copy
	called    map[uint64]string // names of critical sections by the code that enters them
	program   string            // base name of the program

	target engine.Direct
	calls  map[uint64]recordings.LockCall // by return address

	runtimes [][2]uint64 // address ranges of the code of runtimes and of the recorder
}

// ofRuntime matches the file names of the recorder and of runtimes.
var ofRuntime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(libompd-recorder\.so|lib(g?omp|iomp5)[.-])`)
})

// locksNamed limits the names of locks that are kept. At the limit all are dropped.
const locksNamed = 1 << 16

// Source is a target that may have a recorder: an engine.Target.
type Source interface {
	// Direct returns the target as it is now, without stopping it.
	Direct() (engine.Direct, error)
	// About describes the target.
	About() picture.Target
	// Living reports whether the program runs.
	Living() bool
	// Saved returns the time at which the recording was written into a file, by CLOCK_MONOTONIC in nanoseconds; 0 if
	// it is unknown.
	Saved() int64
	// Options returns the options that the target was opened with.
	Options() engine.Options
}

// Open finds the recorder of a target. A process is not stopped, neither here nor while its events are read. The error
// is trace.ErrNone if there is no recorder.
func Open(from Source) (*History, error) {
	target, err := from.Direct()
	if err != nil {
		return nil, err
	}
	reader, err := trace.Open(target, from.About().PID)
	if err != nil {
		return nil, err
	}
	o := from.Options()
	memory := budget.LedgerOf(o.Ledger()).Look()
	h := &History{reader: reader, copies: memory.Part(), memory: memory.Part(), target: target}
	reader.Ledger = h.copies
	if from.Living() {
		h.now = monotonic
	} else {
		h.saved = from.Saved()
	}
	if exe := from.About().Executable; exe != "" {
		h.program = filepath.Base(exe)
	}
	mods, _ := target.Modules() // code of missing modules has no names
	for i := range mods {
		if name := filepath.Base(mods[i].Path); ofRuntime().MatchString(name) {
			h.runtimes = append(h.runtimes, [2]uint64{mods[i].Low.Offset, mods[i].High.Offset})
		}
	}
	opts := symbolize.Options{DebugDirs: o.DebugDirs, Sysroot: o.Sysroot, Open: o.Open, Memory: h.memory,
		NoDebug: o.NoDebug}
	opts.Debuginfod = symbolize.Debuginfod{URLs: o.Debuginfod, Timeout: symbolize.ServerTimeout}
	h.sym = symbolize.New(mods, opts)
	h.criticals = recordings.Criticals{Memory: target, Symbols: h.sym}
	return h, nil
}

// Read reads all events that are still in the rings. It invalidates the previous copy.
func (h *History) Read() (*trace.Recording, error) {
	h.copies.Close()
	return h.keep(h.reader.Read())
}

// New reads the events since the last copy, which it invalidates.
func (h *History) New() (*trace.Recording, error) {
	h.copies.Close()
	return h.keep(h.reader.New())
}

// Latest works like New for the last n records of each ring.
func (h *History) Latest(n uint64) (*trace.Recording, error) {
	h.copies.Close()
	return h.keep(h.reader.Latest(n))
}

// keep keeps a copy as the last one.
func (h *History) keep(rec *trace.Recording, err error) (*trace.Recording, error) {
	if rec != nil {
		rec.Runtimes = h.runtimes
	}
	h.copy, h.called = rec, nil
	return rec, err
}

// Living reports whether the program runs and may record more events.
func (h *History) Living() bool { return h.now != nil }

// Now returns the present in ticks: the time of the machine's clock for a running process, otherwise the time at
// which record --save wrote its file, or the time of the last event.
func (h *History) Now(rec *trace.Recording) uint64 {
	switch {
	case h.now != nil:
		return max(rec.Clock.Ticks(h.now()), rec.Last())
	case h.saved > 0:
		return max(rec.Clock.Ticks(h.saved), rec.Last())
	}
	return rec.Last()
}

// Place returns the place of the call that returns to pc, in the innermost function of the source.
func (h *History) Place(pc uint64) picture.Frame {
	if in := (trace.Recording{Runtimes: h.runtimes}); pc == 0 || in.FromRuntime(pc) {
		return picture.Frame{}
	}
	frames, _ := h.sym.Code(pc - 1)
	if len(frames) == 0 {
		at := picture.Hex(pc)
		return picture.Frame{PC: &at}
	}
	f := frames[0]
	out := picture.Frame{Kind: picture.FrameUser, Function: f.Function, File: f.File, Line: f.Line}
	if construct, _ := symbolize.Construct(f.Linkage); construct != "" {
		out.Construct, out.In = construct, f.Around
		if f.Around == "" { // the name shows only that the function is outlined
			out.Function = ""
		}
	}
	if m := h.sym.Module(pc); m != nil {
		out.Module, out.Offset = m.Path, f.Offset
	}
	return out
}

// Lock returns the name of the program's lock or critical construct with a wait id, or "".
func (h *History) Lock(id uint64) string {
	name, known := h.locks[id]
	if known {
		return name
	}
	if name = h.lock(id); len(h.locks) >= locksNamed || h.locks == nil {
		h.locks = map[uint64]string{}
	}
	h.locks[id] = name
	return name
}

func (h *History) lock(id uint64) string {
	if name, ok := h.sym.VariableName(id); ok {
		return name
	}
	s, ok := h.sym.Data(id)
	if !ok || s.Offset != 0 {
		return cmp.Or(h.criticals.Name(id), h.entered(id))
	}
	if name, critical := rtl.CriticalName(s.Name); critical {
		return cmp.Or(name, picture.Unnamed)
	}
	return s.Name
}

// entered returns the name of a critical section from the code that has entered it, for a target with an unloaded
// runtime.
func (h *History) entered(id uint64) string {
	const critical, each = 5, 64 // ompt_mutex_critical; places of one section
	if h.called == nil && h.copy != nil {
		sites := map[uint64][]uint64{}
		for _, t := range h.copy.Threads {
			c := t.Main.Events()
			for e := (trace.Event{}); c.Next(&e); {
				if e.Code != trace.MutexAcquired || e.Kind != critical || e.PC == 0 {
					continue
				}
				if s := sites[e.B]; len(s) < each && !slices.Contains(s, e.PC) {
					sites[e.B] = append(s, e.PC)
				}
			}
		}
		h.called = h.criticals.Called(sites)
	}
	return h.called[id]
}

// Named returns the pages of the target in which names of events are found. A file that contains them and the
// recorder's memory gives the same names.
func (h *History) Named() (out []trace.Range) {
	const page = 4096
	for _, at := range h.criticals.Words() {
		r := trace.Range{Low: at &^ (page - 1), High: at&^(page-1) + page}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// monotonic returns the time of CLOCK_MONOTONIC, in nanoseconds.
func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

// Close frees the memory of the history.
func (h *History) Close() error {
	h.copies.Close()
	err := h.sym.Close()
	h.memory.Close()
	return err
}
