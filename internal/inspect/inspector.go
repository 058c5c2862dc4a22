package inspect

import (
	"iter"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/crash"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/recordings"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/waits"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Bounds of one picture. They keep the cost of a damaged target finite. Real programs stay far below them, except
// for MaxTasks.
const (
	// MaxLevels bounds the nesting of parallel regions.
	MaxLevels = teams.MaxLevels
	// MaxTasks bounds the tasks of a Picture; Inspector.Tasks yields all.
	MaxTasks = 20000
)

// Functions keeps the results of analysing functions from one Inspector of a process to the next.
type Functions = stacks.Functions

// HeapNames keeps the names of data on the heap from one Inspector of a process to the next.
type HeapNames = stacks.HeapNames

// Config is the input of an Inspector.
type Config struct {
	// About describes the target; the Inspector completes it.
	About picture.Target
	// Target is the target itself. Registers and modules are used if it has these capabilities.
	Target callbacks.Target
	// Runtimes are the OpenMP runtimes that were found in the target.
	Runtimes []rtl.Runtime
	// Dormant are runtimes that are loaded and not yet used.
	Dormant []*rtl.Dormant
	// Symbolizer names code; if it is nil, code has no names.
	Symbolizer *symbolize.Symbolizer
	// Unwinder walks stacks. If it is nil, there are no stacks, and states are inferred from the runtime's own
	// fields only.
	Unwinder *unwind.Unwinder
	// Functions has the results of an earlier Inspector of the same process, which is not used any more; nil keeps
	// no results.
	Functions *stacks.Functions
	// HeapNames has the names that earlier Inspectors of the same process gave to data on the heap, and gets those of
	// this one; nil keeps none.
	HeapNames *HeapNames
	// Only selects a thread, a region or a task; the zero Only selects all.
	Only picture.Only
	// Budget bounds the work; nil has no bound. Parts that are not reached are left out and named in one warning.
	Budget stacks.Budget
	// Monotonic returns the time of the target's CLOCK_MONOTONIC, in nanoseconds; nil for a target that does not
	// run, or is of another machine.
	Monotonic func() int64
	// PerfMap reads the perf map of a process, which names functions that it made at run time; nil without one.
	PerfMap func() []byte
	// Clock reads the clocks of a process; nil for a target that does not run, or is of another machine.
	Clock waits.Clock
	// Rings is the memory of a running process, if Target is a copy of it; else nil. A recorder's rings change all
	// the time and are read from there.
	Rings callbacks.Memory
	// Warnings are those of the code that opened the target; the picture repeats them.
	Warnings []error
}

// Inspector makes pictures of one snapshot of a target. It reads lazily and reads each thing once. It is for one
// goroutine at a time.
type Inspector struct {
	cfg        Config
	notes      *stacks.Notes
	roster     *teams.ThreadTable
	code       *stacks.Code
	regions    *teams.RegionTable
	model      *teams.UserModel
	settings   *teams.Settings
	threads    *threadLister
	regionList *teams.RegionLister
	tasks      *teams.TaskLister
	devices    *deviceLister
	facts      *factParts
	waits      *waits.Finder
	flows      *stacks.Flow
	exact      map[uint64]bool // instructions at which threads were interrupted, for Locate
}

// New returns an Inspector. It fails if the threads of the target cannot be listed.
func New(cfg Config) (*Inspector, error) {
	in := &Inspector{
		cfg: cfg, notes: stacks.NewNotes(cfg.Budget),
	}
	for _, err := range cfg.Warnings {
		in.notes.Warn("%s", stacks.Message(err))
	}
	var err error
	in.code = stacks.NewCode(cfg.Target, cfg.Symbolizer, cfg.Unwinder, cfg.Runtimes, cfg.Functions)
	if cfg.PerfMap != nil {
		in.code.PerfMap = cfg.PerfMap
	}
	reader := stacks.NewReader(in.code, in.notes)
	in.roster, err = teams.NewThreadTable(cfg.Runtimes, cfg.Only.LWP, &in.cfg.About, in.notes, reader)
	if err != nil {
		return nil, err
	}
	in.regions = teams.NewRegionTable(in.roster, in.code)
	in.flows = stacks.NewFlow(in.code, in.cfg.Budget)
	in.model = teams.NewUserModel(in.roster, in.regions, in.code, in.flows)
	in.settings = teams.NewSettings(in.roster, in.regions, in.notes)
	in.regionList = teams.NewRegionLister(in.notes, in.regions, in.model)
	in.readThreads()
	return in, in.limit(cfg.Only)
}

// readThreads makes the parts that inspect threads.
func (in *Inspector) readThreads() {
	target, about, library := in.cfg.Target, &in.cfg.About, sync.OnceValue(in.libraryOf) // when About is complete
	flows := in.flows
	data := stacks.NewData(in.code, in.roster.NativeThreads, library)
	data.HeapNames = in.cfg.HeapNames
	states := teams.NewStates(in.roster, in.code, data, flows, in.model)
	in.tasks = teams.NewTaskLister(in.notes, in.roster, in.regions, in.model, states)
	recorded := recordings.NewReader(recordings.Config{
		Target: target, Rings: in.cfg.Rings, Monotonic: in.cfg.Monotonic, About: about, Notes: in.notes,
		Threads: in.roster, Code: in.code, Data: data,
	})
	in.waits = waits.New(waits.Config{
		About: about, Target: target, Notes: in.notes, Code: in.code, Flows: flows, Data: data, Threads: in.roster,
		States: states, Model: in.model, Locks: &recorded.Locks, Clock: in.cfg.Clock,
	})
	in.threads = &threadLister{
		about, in.notes, in.roster, in.code, in.regions, in.model, states,
		teams.NewLoops(in.code, flows), in.waits, &mpiCalls{target, in.code, flows, in.waits},
		sync.OnceValue(in.unread),
	}
	in.devices = &deviceLister{target: target, notes: in.notes, data: data}
	ending := crash.New(about, in.roster, in.code, data, flows)
	in.facts = &factParts{
		in.roster, states, in.waits, teams.NewForks(in.regions, in.code, flows, in.model),
		ending, crash.NewExceptions(ending, in.regions),
		in.settings, &environment{target, in.cfg.Symbolizer}, &processors{target}, recorded,
		in.devices,
	}
}

// libraryOf returns the C library of the target.
func (in *Inspector) libraryOf() *libc.Library {
	c := libc.Config{Target: in.cfg.Target, PID: uint64(in.cfg.About.PID)}
	for _, n := range in.roster.All {
		c.Threads = append(c.Threads, libc.Thread{Pthread: n.Pthread, LWP: uint64(n.LWP)})
	}
	return libc.New(c)
}

// Target returns the inspected target.
func (in *Inspector) Target() callbacks.Target { return in.cfg.Target }

// Describe sets the description of the target, and adds warnings about it.
func (in *Inspector) Describe(about picture.Target, warnings ...error) {
	in.cfg.About = about
	in.roster.FindOverrunStacks()
	for _, err := range warnings {
		in.notes.Warn("%s", stacks.Message(err))
	}
}

// LeaveOut marks a part of a picture as incomplete, if the budget is spent.
func (in *Inspector) LeaveOut(what string) { in.notes.Exceeded(what) }

// Threads returns all threads, the crashed one first.
func (in *Inspector) Threads(native bool) []picture.Thread { return in.threads.list(native) }

// Regions returns the tree of parallel regions, outer ones first.
func (in *Inspector) Regions() []picture.Region { return in.regionList.List() }

// Tasks yields every task that the runtimes keep: for each region, outer ones
// first, its implicit tasks and then the explicit ones of its team.
func (in *Inspector) Tasks() iter.Seq[picture.Task] { return in.tasks.All() }

// ICVs returns every internal control variable at every place that has it: the
// address space, each thread, each region, and the current task of each thread.
func (in *Inspector) ICVs() []picture.ICV { return in.settings.ICVs() }

// ControlVars returns the control variables in force of all runtimes.
func (in *Inspector) ControlVars() []picture.ControlVar { return in.settings.ControlVars() }

// Facts finds the facts that verdicts on pic need. pic is a picture of this Inspector, with its threads, regions
// and tasks.
func (in *Inspector) Facts(pic *picture.Picture) *picture.Facts {
	facts := in.facts.gather(pic)
	facts.Processors = in.facts.findProcessors(pic, facts.Forks)
	return facts
}

// Trace returns the places of the threads, regions and tasks of picture p of this Inspector.
func (in *Inspector) Trace(p *picture.Picture) *picture.Trace { return in.waits.Trace(p) }
