package omptest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Truth has the facts that a program wrote about itself at the moment of its dump.
type Truth struct {
	Program ProgramTruth
	Threads []ThreadTruth // in the order of registration
	Tasks   []TaskTruth   // explicit tasks that the tool must find
	Loops   []loopTruth   // positions of threads in worksharing loops
	// Goroutines has the numbers of goroutines, from Go's runtime, by the LWPs of the threads that they are bound
	// to.
	Goroutines map[int]int64
	// Python has the Python stacks of threads by their LWPs: "function file line", innermost first.
	Python map[int][]string
}

// ProgramTruth is about the whole program.
type ProgramTruth struct {
	File         string `json:"file"`          // base name of the source
	Mode         string `json:"mode"`          // abort, segv or wait
	PID          int    `json:"pid"`           //
	LWPs         []int  `json:"lwps"`          // all threads of the process, registered or not
	Signal       int    `json:"signal"`        // that kills the program; 0 in mode wait
	CrashedLWP   int    `json:"crashed_lwp"`   // the thread that gets it
	FaultAddress Hex    `json:"fault_address"` // for SIGSEGV
}

// ThreadTruth is one thread, its position and the results of omp_get_* there.
//
// Role is initial (the initial thread of a root, whatever region it is in now), primary (thread 0 of its
// innermost team, and not a root), worker, helper (a hidden helper thread of the runtime; its numbers are the
// runtime's answers, but it is in no region of the program), idle (in the pool; the numbers are those of the
// region it left), or other (never in OpenMP; all numbers are unset).
//
// Function, File and Line are those of the innermost frame of user code, as in debug information: for a waiting
// thread, its construct or call. An empty Function means that there is no frame of user code, as for a worker in
// the barrier at the end of its region. In an outlined region Function is the function that contains the region;
// the frame itself has the compiler's name. Line 0 with a Function means that the line is not determined.
type ThreadTruth struct {
	LWP      int    `json:"lwp"`
	Pthread  Hex    `json:"pthread"`
	OpenMP   bool   `json:"openmp"`
	Role     string `json:"role"`
	State    string `json:"state"` // expected state; empty if undetermined
	WaitID   Hex    `json:"wait_id"`
	Function string `json:"function"`
	File     string `json:"file"` // base name
	Line     int    `json:"line"`

	Root        int   `json:"root"` // LWP of the initial thread that the region belongs to
	ThreadNum   int   `json:"thread_num"`
	TeamSize    int   `json:"team_size"`
	Level       int   `json:"level"`
	ActiveLevel int   `json:"active_level"`
	Ancestors   []int `json:"ancestor_thread_num"` // by level, 0 to Level
	Sizes       []int `json:"ancestor_team_size"`  // by level, 0 to Level
	// RegionLines has, by level, the line of the construct of the region that this thread itself entered as a
	// member; 0 if it did not, as for a worker of an inner team in the outer region.
	RegionLines []int `json:"region_lines"`

	InParallel      int `json:"in_parallel"`
	InFinal         int `json:"in_final"`
	MaxThreads      int `json:"max_threads"`
	Dynamic         int `json:"dynamic"`
	MaxActiveLevels int `json:"max_active_levels"`
	// ScheduleKind is an omp_sched_t: 1 static, 2 dynamic, 3 guided, 4 auto, bit 31 monotonic.
	ScheduleKind    uint32 `json:"schedule_kind"`
	ScheduleChunk   int    `json:"schedule_chunk"`
	ProcBind        int    `json:"proc_bind"` // omp_proc_bind_t
	ThreadLimit     int    `json:"thread_limit"`
	DefaultDevice   int    `json:"default_device"`
	Cancellation    int    `json:"cancellation"`
	NumProcs        int    `json:"num_procs"`
	TeamNum         int    `json:"team_num"`
	NumTeams        int    `json:"num_teams"`
	PlaceNum        int    `json:"place_num"`
	MaxTaskPriority int    `json:"max_task_priority"`
	StackSize       uint64 `json:"stacksize"` // bytes
}

// TaskTruth is a number of equal explicit tasks.
type TaskTruth struct {
	Kind  string `json:"task_kind"` // explicit, target
	State string `json:"state"`     // running, waiting, queued, blocked
	Count int    `json:"count"`
	Line  int    `json:"line"` // of the construct
	LWP   int    `json:"lwp"`  // the thread that runs it, or 0
}

// loopTruth is a thread in a worksharing loop: the value of the loop's variable, and the first value of the
// contiguous range that the thread executes.
type loopTruth struct {
	LWP   int   `json:"lwp"`
	First int64 `json:"first"`
	Now   int64 `json:"now"`
}

// RegionTruth is one active parallel region, derived from the facts of its threads.
type RegionTruth struct {
	Root        int   // LWP of the initial thread
	TeamNum     int   // in a league of teams
	Path        []int // thread numbers of the ancestors, levels 0 to Level-1: with Root and TeamNum, the identity
	Level       int   // 0 is the implicit region of a root
	TeamSize    int   //
	ActiveLevel int   //
	Serialized  bool  // a team of one at level 1 or deeper
	Line        int   // of the construct; 0 at level 0
	Members     []int // LWP by thread number; 0 for an unregistered thread
}

// Hex is a number that the truth file stores as "0x…"; an empty string is 0.
type Hex uint64

// UnmarshalJSON reads a quoted hexadecimal number; anything else is an error.
func (h *Hex) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil || s == "" {
		return err
	}
	v, err := strconv.ParseUint(s, 0, 64)
	*h = Hex(v)
	return err
}

// ReadTruth reads the file of JSON lines that a program has written.
func ReadTruth(path string) (Truth, error) {
	var t Truth
	data, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	for n, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		if err := t.add(line); err != nil {
			return t, fmt.Errorf("%s line %d: %w", path, n+1, err)
		}
	}
	if t.Program.PID == 0 {
		return t, fmt.Errorf("%s is not complete: no line about the program", path)
	}
	return t, nil
}

// add reads one line. Sources are identified by base name, as compilers write them in several ways.
func (t *Truth) add(line []byte) error {
	var kind struct{ Kind string }
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "thread":
		th := ThreadTruth{}
		err := json.Unmarshal(line, &th)
		if th.File != "" {
			th.File = filepath.Base(th.File)
		}
		t.Threads = append(t.Threads, th)
		return err
	case "task":
		task := TaskTruth{}
		err := json.Unmarshal(line, &task)
		t.Tasks = append(t.Tasks, task)
		return err
	case "loop":
		l := loopTruth{}
		err := json.Unmarshal(line, &l)
		t.Loops = append(t.Loops, l)
		return err
	case "goroutine":
		var g struct {
			LWP int   `json:"lwp"`
			ID  int64 `json:"id"`
		}
		err := json.Unmarshal(line, &g)
		if t.Goroutines == nil {
			t.Goroutines = map[int]int64{}
		}
		t.Goroutines[g.LWP] = g.ID
		return err
	case "python":
		var p struct {
			LWP    int      `json:"lwp"`
			Frames []string `json:"frames"`
		}
		err := json.Unmarshal(line, &p)
		if t.Python == nil {
			t.Python = map[int][]string{}
		}
		t.Python[p.LWP] = p.Frames
		return err
	case "program":
		return json.Unmarshal(line, &t.Program)
	}
	return fmt.Errorf("unknown kind %q", kind.Kind)
}

// Thread returns the thread with an LWP; false if it did not register.
func (t Truth) Thread(lwp int) (ThreadTruth, bool) {
	i := slices.IndexFunc(t.Threads, func(th ThreadTruth) bool { return th.LWP == lwp })
	if i < 0 {
		return ThreadTruth{}, false
	}
	return t.Threads[i], true
}

// Regions returns the active regions, outer ones first; that of level 0 once per root. Threads that are idle or
// not in OpenMP are left out.
func (t Truth) Regions() []RegionTruth {
	regions := map[string]*RegionTruth{}
	for _, th := range t.Threads {
		if !th.OpenMP || th.Role == "idle" || th.Role == "helper" {
			continue
		}
		for level := range th.Sizes {
			key := fmt.Sprint(th.Root, th.TeamNum, th.Ancestors[:level])
			r := regions[key]
			if r == nil {
				r = newRegion(th, level)
				regions[key] = r
			}
			r.join(th)
		}
	}
	var list []RegionTruth
	for _, r := range regions {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b RegionTruth) int {
		return cmp.Or(a.Level-b.Level, a.Root-b.Root, a.TeamNum-b.TeamNum, slices.Compare(a.Path, b.Path))
	})
	return list
}

// newRegion returns the region of th at a level, without members. A team of one is not active.
func newRegion(th ThreadTruth, level int) *RegionTruth {
	r := &RegionTruth{Root: th.Root, TeamNum: th.TeamNum, Path: th.Ancestors[:level], Level: level,
		TeamSize: th.Sizes[level]}
	for _, size := range th.Sizes[1 : level+1] {
		if size > 1 {
			r.ActiveLevel++
		}
	}
	r.Serialized = level > 0 && r.TeamSize == 1
	r.Members = make([]int, r.TeamSize)
	return r
}

// join adds a thread as a member, unless it is only a descendant of a member: thread 0 of every inner region is
// the member itself.
func (r *RegionTruth) join(th ThreadTruth) {
	num := th.Ancestors[r.Level]
	if slices.Max(append([]int{0}, th.Ancestors[r.Level+1:]...)) > 0 || num >= len(r.Members) {
		return
	}
	r.Line = th.RegionLines[r.Level]
	r.Members[num] = th.LWP
}
