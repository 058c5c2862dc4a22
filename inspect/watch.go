package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// WatchSchema names the version of the JSON form of a Look.
const WatchSchema = "ompd-inspect/watch/1.0"

// Look is one of several looks at a process.
type Look struct {
	Schema  string   `json:"schema"`
	Number  int      `json:"look"`    // from 1
	Time    string   `json:"time"`    // RFC 3339
	Seconds float64  `json:"seconds"` // since the first look
	Picture *Picture `json:"picture"`
	// Change is what changed since the look before; missing in the first.
	Change *Change `json:"change,omitempty"`
	// Result is what changed between the first look and this one; only in the
	// last, and never more quiet than the changes in between.
	Result *Change `json:"result,omitempty"`
}

// Verdicts on a process that was looked at several times.
const (
	WatchProgress = "progress"    // something was done
	WatchSpinning = "spinning"    // processors were used, and nothing came of it
	WatchStuck    = "no progress" // nothing was done and no processor was used
	WatchUnknown  = "unknown"     // threads ran where they could not be seen without a stop
)

// Change is the difference of two looks.
type Change struct {
	Verdict string         `json:"verdict"`
	Reason  string         `json:"reason"`
	Seconds float64        `json:"seconds"` // between the looks
	Threads []ThreadChange `json:"threads"`
	Regions Turnover       `json:"regions"`
	Tasks   Turnover       `json:"tasks"` // of those that the pictures hold
}

// Turnover counts what came and went.
type Turnover struct {
	Ended int `json:"ended"`
	New   int `json:"new"`
	Same  int `json:"same"`
}

// What a thread did between two looks.
const (
	ThreadMoved = "moved" // it got on
	ThreadSpun  = "spun"  // it ran, and is where it was
	ThreadStill = "still" // it did not run
	ThreadRan   = "ran"   // it ran, where is not known
	ThreadNew   = "new"
	ThreadEnded = "ended"
)

// ThreadChange is what one thread did.
type ThreadChange struct {
	LWP   int      `json:"lwp"`
	Did   string   `json:"did"`
	Moved []string `json:"moved,omitempty"` // what is different: stack, region, task, state, registers, or a counter
	CPU   float64  `json:"cpu_seconds"`     // processor time
	// Aside tells that the thread does not count: it is idle in the runtime's
	// pool, a helper, or no thread of OpenMP that does little beside those
	// that wait.
	Aside bool `json:"aside,omitempty"`
}

// ThreadUse is what the kernel counted for a thread between two looks.
type ThreadUse struct {
	LWP      int
	CPU      time.Duration
	Switches uint64 // times that it left a processor
}

// Track is where all threads are, to compare with another time.
type Track struct {
	places  map[int]place
	regions map[ID]bool
	tasks   map[string]bool
}

// place is where a thread is.
type place struct {
	role, state  string
	region, task ID
	stack        string // of the program's own functions
	counters     []rtl.Counter
	inside       bool // of a runtime, or idle
	known        bool // where it is, and not only what the runtime says
	regs         string
}

// Track notes where the threads of picture p are, which this Inspector made.
func (in *Inspector) Track(p *Picture) *Track {
	t := &Track{places: map[int]place{}, regions: map[ID]bool{}, tasks: map[string]bool{}}
	for i := range p.Threads {
		if th := &p.Threads[i]; th.LWP != 0 && in.byLWP[th.LWP] != nil {
			t.places[th.LWP] = in.place(th, in.byLWP[th.LWP])
		}
	}
	for _, r := range p.Regions {
		t.regions[r.ID] = true
	}
	for _, k := range p.Tasks {
		function := ""
		if k.Function != nil && k.Function.Address != nil {
			function = k.Function.Address.String()
		}
		t.tasks[fmt.Sprint(k.ID, k.Parent, function)] = true
	}
	return t
}

func (in *Inspector) place(t *Thread, n *native) place {
	p := place{role: t.Role, region: t.Region, task: t.Task, stack: in.ownStack(n)}
	if t.State != nil {
		p.state = t.State.Name
	}
	if t.Hidden {
		p.role = "helper"
	}
	st := in.stackOf(n)
	p.inside = t.Role == string(rtl.RoleIdle) || p.role == "helper" || slices.Contains(st.kinds[:st.topSegment()], kindRuntime)
	regs := in.registers(n)
	p.known = regs != nil
	if regs != nil && !p.inside {
		p.regs = ownRegisters(*regs)
	}
	if n.rt != nil {
		if r, ok := n.rt.Runtime.(rtl.ProgressReader); ok {
			p.counters, _ = r.Progress(n.h) // a thread without counters has its stack
		}
	}
	return p
}

// ownStack names the program's frames on a thread's stack: each by its function,
// and but for the innermost also by its call.
func (in *Inspector) ownStack(n *native) string {
	st := in.stackOf(n)
	var b strings.Builder
	for i, f := range st.frames {
		if st.kinds[i] != kindUser {
			continue
		}
		pc := f.PC
		if i == 0 {
			pc = in.functionEntry(f)
		}
		fmt.Fprintf(&b, "%x ", pc)
	}
	return b.String()
}

// ownRegisters are the registers that differ when code that loops has got on: all
// but the program counter, and what a system call destroys.
func ownRegisters(r callbacks.Registers) string {
	pc := r
	pc.SetPC(0)
	if r.Syscall >= 0 {
		const rax, rcx, r11 = 0, 2, 11
		if r.Arch == callbacks.ArchX86_64 {
			for _, n := range []int{rax, rcx, r11} {
				pc.Set(n, 0)
			}
		} else {
			pc.Set(0, 0)
		}
	}
	return fmt.Sprint(pc.Values, pc.SyscallArgs)
}
