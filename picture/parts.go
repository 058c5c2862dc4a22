package picture

// Parts selects parts of a picture. The others are not read.
type Parts struct {
	Threads bool // with state, place, and user stack
	Regions bool
	Tasks   bool
	ICVs    bool
	Devices bool // with the mapped data
	Stacks  bool // merged user-model stacks
	Native  bool // native stacks in Threads
	// Values are variables and registers of the frames (Frame.Values). They are read for a single thread only.
	Values bool
	// Request is evaluated in each frame whose values are read (Values.Result), if it has an expression.
	Request Request
}

// Request is an expression, and the elements of its value that are wanted: Count from number First on; Count 0 stands
// for the first 100.
type Request struct {
	Expression   string
	First, Count int
}

// ReportParts returns the parts that a report needs.
func ReportParts() Parts {
	return Parts{Threads: true, Regions: true, Tasks: true, Devices: true, Stacks: true}
}

// Only selects one thread, region or task of a target; at most one field is set. Apart from it, only the parts
// that the answer needs are read, such as the stack of the thread that forked a region.
type Only struct {
	LWP    int // this thread, its regions, and the task that it executes
	Region ID  // this region, the threads of its team, and its tasks
	Task   ID  // this task, its region, and the thread that executes it
}

// All reports whether the selection is empty, which stands for the whole target.
func (o Only) All() bool { return o == Only{} }
