package teams

import (
	"cmp"
	"slices"
	"strconv"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxTeam bounds the members of one team. The limits of the runtimes are lower.
const maxTeam = 1 << 17

// RegionTable contains every region that a thread of the target is in, each read once.
type RegionTable struct {
	threads  *ThreadTable
	code     *stacks.Code
	byHandle map[handles.Parallel]*Region
	order    []*Region
	built    bool
}

// Region is a parallel region as its runtime describes it.
type Region struct {
	Runtime *Runtime
	Handle  handles.Parallel
	id      picture.ID
	parent  handles.Parallel // zero for level 0
	Info    handles.ParallelInfo
	Err     error
	code    *picture.Code // result of regionCode; nil before the first use

	membersRead bool
	members     []*Thread // by thread number; nil for a member that was not found
	memberErrs  []error
}

// NewRegionTable returns the table of the regions that threads are in.
func NewRegionTable(r *ThreadTable, code *stacks.Code) *RegionTable {
	return &RegionTable{threads: r, code: code, byHandle: map[handles.Parallel]*Region{}}
}

// Get returns region h. It reads it at most once.
func (t *RegionTable) Get(rt *Runtime, h handles.Parallel) *Region {
	if v, ok := t.byHandle[h]; ok {
		return v
	}
	v := &Region{Runtime: rt, Handle: h, id: RegionID(h)}
	v.Info, v.Err = rt.Parallel(h)
	if fn := v.Info.Passed; !fn.IsNull() && t.code.StartsFunction(fn.Offset) {
		v.Info.Function = fn
	}
	t.byHandle[h] = v
	t.order = append(t.order, v)
	if v.Err == nil && v.Info.Function.IsNull() && h.Level > 0 {
		v.Info.Function = t.bodyOnStack(v)
	}
	return v
}

// bodyOnStack returns the function of a region whose call does not show it: code that was called through a pointer
// ended in a jump to a function of GNU's runtime that forks. That function has called the region's own through a
// pointer, which is on the stack of the thread that forked the region as long as it has not returned. It returns
// null if the stack shows another number of regions than the thread has forked.
func (t *RegionTable) bodyOnStack(v *Region) callbacks.Address {
	h, err := v.Runtime.ThreadInParallel(v.Handle, 0)
	if err != nil {
		return callbacks.Address{}
	}
	p := t.threads.Find(v.Runtime, h)
	if p == nil || p.LWP == 0 || p.RegionIndex(v.Handle) < 0 {
		return callbacks.Address{}
	}
	own := t.ownRegion(p, p.Chain)
	if own < 0 {
		own = len(p.Chain) - 1 // the outermost region has no fork
	}
	bodies := forkedFunctions(t.code, p.Stack())
	at, returned := p.RegionIndex(v.Handle), own-len(bodies) // the innermost region's function may have returned
	switch {
	case returned < 0 || returned > 1 || at >= own:
		return callbacks.Address{}
	case at < returned:
		return callbacks.Addr(t.bodyOfWorkers(v))
	}
	return callbacks.Addr(bodies[at-returned])
}

// maxBodies bounds the workers whose stacks are searched for the function of their region.
const maxBodies = 16

// bodyOfWorkers returns the function of a region that its workers execute: the function of a construct that the runtime
// has called through a pointer where the stack of a worker starts. It returns 0 if none of them shows it, or if two
// differ.
func (t *RegionTable) bodyOfWorkers(v *Region) uint64 {
	body := uint64(0)
	for i := 1; i < min(v.Info.TeamSize, maxBodies+1); i++ {
		h, err := v.Runtime.ThreadInParallel(v.Handle, i)
		if err != nil {
			continue
		}
		n := t.threads.Find(v.Runtime, h)
		if n == nil || n.LWP == 0 || len(n.Chain) == 0 || t.ownRegion(n, n.Chain) != n.RegionIndex(v.Handle) {
			continue
		}
		entry := startFunction(t.code, n.Stack())
		if entry != 0 && body != 0 && entry != body {
			return 0
		}
		body = cmp.Or(body, entry)
	}
	return body
}

// startFunction returns the entry of the function of a construct with which a runtime started the code of a worker; 0
// if the outermost function of the program on the stack is no such function.
func startFunction(code *stacks.Code, st *stacks.Stack) uint64 {
	i := st.OutermostUser() + 1
	if code.Symbols == nil || i < 1 || i >= len(st.Kinds) || st.Kinds[i] != stacks.KindRuntime {
		return 0
	}
	entry, _ := calledConstruct(code, st, i)
	return entry
}

// calledConstruct returns the entry of the function that frame i of a stack, a runtime's, has called through a pointer:
// 0 if it is not made of a construct, by its name. It is not ok if the call is of another kind.
func calledConstruct(code *stacks.Code, st *stacks.Stack, i int) (entry uint64, ok bool) {
	call, ok := arch.CallBefore(code.Target.Arch(), code.Target, st.Frames[i].PC)
	if !ok || call.Kind != arch.CallRegister {
		return 0, false
	}
	name, _ := code.Symbols.Linkage(st.Frames[i-1].LookupPC())
	if kind, _ := symbolize.Construct(name); kind != "" {
		entry = code.FunctionEntry(st.Frames[i-1])
	}
	return entry, true
}

// forkedFunctions returns the functions that forking functions of a runtime have called through a pointer on a stack,
// innermost first, without those of teams constructs, which are no regions of GNU's runtime. It has 0 for one that is
// not there: by its name, the function that the runtime called is not made of a construct, but was tail-called by such
// a function.
func forkedFunctions(code *stacks.Code, st *stacks.Stack) (entries []uint64) {
	if code.Symbols == nil {
		return nil
	}
	for i := 1; i < len(st.Kinds); i++ {
		if st.Kinds[i] != stacks.KindRuntime || st.Kinds[i-1] != stacks.KindUser {
			continue
		}
		name, _ := code.Symbols.Linkage(st.Frames[i].LookupPC())
		_, league := rtl.LeagueFunction(name)
		if kind, _ := rtl.ForkCallOf(name); kind != rtl.ForkMakes || league {
			continue
		}
		if entry, ok := calledConstruct(code, st, i); ok {
			entries = append(entries, entry)
		}
	}
	return entries
}

// All returns every region, outer ones first.
func (t *RegionTable) All() []*Region {
	if !t.built {
		t.built = true
		for _, n := range t.threads.All {
			for i, h := range n.Chain {
				v := t.Get(n.Runtime, h)
				if i+1 < len(n.Chain) {
					v.parent = n.Chain[i+1]
				}
			}
		}
		slices.SortStableFunc(t.order, func(a, b *Region) int { return cmp.Compare(a.Handle.Level, b.Handle.Level) })
	}
	return t.order
}

// membersByNumber returns the members of a region by thread number.
func (t *RegionTable) membersByNumber(v *Region) []*Thread {
	if v.membersRead {
		return v.members
	}
	v.membersRead = true
	if v.Err != nil {
		return nil
	}
	for i := range min(v.Info.TeamSize, maxTeam) {
		h, err := v.Runtime.ThreadInParallel(v.Handle, i)
		if err != nil {
			v.memberErrs = append(v.memberErrs, err) // it names the thread
			if len(v.memberErrs) > MaxErrors {
				break
			}
			v.members = append(v.members, nil)
			continue
		}
		v.members = append(v.members, t.threads.Find(v.Runtime, h))
	}
	return v.members
}

// Members returns the members of a region that exist and are in it.
func (t *RegionTable) Members(v *Region) []*Thread {
	return slices.DeleteFunc(slices.Clone(t.membersByNumber(v)), func(m *Thread) bool {
		return m == nil || m.LWP == 0 || m.RegionIndex(v.Handle) < 0
	})
}

// MaxErrors bounds the errors that are listed for one thing.
const MaxErrors = 8

// Primary returns the thread with number 0 of a region, or nil.
func (t *RegionTable) Primary(v *Region) *Thread {
	if v.membersRead {
		if len(v.members) > 0 {
			return v.members[0]
		}
		return nil
	}
	h, err := v.Runtime.ThreadInParallel(v.Handle, 0)
	if err != nil {
		return nil
	}
	return t.threads.Find(v.Runtime, h)
}

// RegionID returns the name of a region in the picture.
func RegionID(h handles.Parallel) picture.ID {
	if h.IsZero() {
		return ""
	}
	return picture.ID(h.Team.String() + "/" + strconv.FormatUint(uint64(h.Level), 10))
}

// ThreadNum returns the number of n in region h of its chain.
func (t *RegionTable) ThreadNum(n *Thread, h handles.Parallel) (int, bool) {
	i := n.RegionIndex(h)
	switch {
	case i < 0:
		return 0, false
	case i == 0:
		return n.Info.ThreadNum, n.Info.ThreadNum >= 0
	}
	inner := t.Get(n.Runtime, n.Chain[i-1])
	if inner.Err != nil || inner.Info.PrimaryNum < 0 {
		return 0, false
	}
	return inner.Info.PrimaryNum, true
}

// RegionLister makes the regions of a picture.
type RegionLister struct {
	notes   *stacks.Notes
	regions *RegionTable
	model   *UserModel
	wanted  func(*Region) bool // nil: all regions
}

// Limit restricts the list to the wanted regions.
func (l *RegionLister) Limit(wanted func(*Region) bool) { l.wanted = wanted }

// List returns the tree of parallel regions, outer ones first.
func (l *RegionLister) List() []picture.Region {
	var out []picture.Region
	for _, v := range l.regions.All() {
		if l.wanted != nil && !l.wanted(v) {
			continue
		}
		if l.notes.Exceeded("regions") {
			break
		}
		r := l.region(v)
		l.notes.Hold("regions", 2*(unsafe.Sizeof(r)+uintptr(len(r.Threads))*unsafe.Sizeof(0)))
		out = append(out, r)
	}
	return out
}

func (l *RegionLister) region(v *Region) picture.Region {
	r := picture.Region{
		ID: RegionID(v.Handle), Runtime: v.Runtime.ID, Parent: RegionID(v.parent), Level: int(v.Handle.Level),
		ActiveLevel: v.Info.ActiveLevel, TeamSize: v.Info.TeamSize, Serialized: v.Info.Serialized,
		League:  v.Info.League,
		Threads: []int{},
	}
	if v.Err != nil {
		if !l.notes.IsLimit(v.Err, "regions") {
			r.Errors = append(r.Errors, stacks.Message(v.Err))
		}
		return r
	}
	for _, m := range l.regions.Members(v) {
		r.Threads = append(r.Threads, m.LWP)
	}
	for _, err := range v.memberErrs {
		if !l.notes.IsLimit(err, "regions") {
			r.Errors = append(r.Errors, stacks.Message(err))
		}
	}
	if v.Handle.Level > 0 {
		r.Function = l.model.regionCode(v)
		if p := l.regions.Primary(v); p != nil && l.model.isLeft(p, p.RegionIndex(v.Handle)) {
			r.Errors = append(r.Errors, picture.RegionLeft)
		}
	}
	return r
}

// NewRegionLister returns a lister of all regions.
func NewRegionLister(notes *stacks.Notes, regions *RegionTable, model *UserModel) *RegionLister {
	return &RegionLister{notes: notes, regions: regions, model: model}
}
