package libomp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Parallel reads one region.
func (rg *regions) Parallel(h handles.Parallel) (handles.ParallelInfo, error) {
	gs, err := rg.findRegions(h)
	if err != nil {
		return handles.ParallelInfo{}, err
	}
	g := gs[0]
	info := handles.ParallelInfo{
		Level:       g.level,
		ActiveLevel: g.activeLevel(),
		TeamSize:    g.numThreads(),
		Serialized:  g.team.serialized > 0 && !g.initial,
		PrimaryNum:  primaryNum(gs),
		League:      g.league,
	}
	if g.initial || !g.innermost() {
		rg.outerInfo(&info, g)
		return info, nil
	}
	if rg.ofLeague(g) {
		return info, nil
	}
	info.Function = g.team.pkfn
	info.Passed = rg.passedFunction(g.team)
	info.Hint = g.team.serialized > 0
	info.Source = rg.records.readSource(g.team.ident)
	info.Return = rg.userCode(g.team.forkReturn)
	return info, nil
}

// wrapperArguments is the lowest number of arguments of the functions that call outlined functions of GCC's programs:
// the outlined function and its data.
const wrapperArguments = 2

// passedFunction returns the first argument of the function of t if that is in the runtime; null if unknown.
func (rt *base) passedFunction(t *team) callbacks.Address {
	if !rt.Owns(t.pkfn.Offset) || t.argc < wrapperArguments || t.argv.IsNull() {
		return callbacks.Address{}
	}
	a, err := layout.ReadUint(rt.mem, t.argv, 8)
	if err != nil {
		return callbacks.Address{}
	}
	return callbacks.Addr(a)
}

// outerInfo adds the data of a region with a team that also serves an inner region. For the region of a league's
// team this is the function. For a serialized region it is the return address, if the runtime tracks states.
func (rg *regions) outerInfo(info *handles.ParallelInfo, g region) {
	if g.initial && g.league > 0 {
		if th, err := rg.threads.member(g.team, 0); err == nil {
			info.Function = th.microtask
		}
	}
	if lwt, err := rg.lightweight(g); err == nil {
		info.Return = rg.userCode(lwt.Address(rg.l.Lwt.OmptMasterReturnAddress))
	}
}

// ofLeague reports whether the function and the source location of the team of a serialized region are those of the
// teams construct around it, which the team's thread executes, too.
func (rg *regions) ofLeague(g region) bool {
	if g.league == 0 || g.team.serialized == 0 || g.team.pkfn.IsNull() {
		return false
	}
	th, err := rg.threads.member(g.team, 0)
	return err == nil && th.microtask == g.team.pkfn
}

// userCode returns a, or null if a is in the runtime itself: if user code enters the runtime with a jump, the
// return address is in the runtime.
func (rt *base) userCode(a callbacks.Address) callbacks.Address {
	if rt.Owns(a.Offset) {
		return callbacks.Address{}
	}
	return a
}

// primaryNum returns the number that the primary thread of gs[0] has in the enclosing region; -1 if gs[0] is the
// outermost region.
func primaryNum(gs []region) int {
	switch {
	case len(gs) < 2:
		return -1
	case gs[0].initial || gs[1].team == gs[0].team:
		return 0
	}
	return gs[0].team.masterTid
}

// EnclosingParallel implements ompd_get_enclosing_parallel_handle.
func (rg *regions) EnclosingParallel(h handles.Parallel) (handles.Parallel, error) {
	gs, err := rg.findRegions(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	if len(gs) < 2 {
		return handles.Parallel{}, fmt.Errorf("%v is the outermost region: %w", h, callbacks.Unavailable)
	}
	return rg.parallelHandle(gs[1]), nil
}

// ThreadInParallel implements ompd_get_thread_in_parallel.
func (rg *regions) ThreadInParallel(h handles.Parallel, n int) (handles.Thread, error) {
	g, err := rg.withMember(h, n)
	if err != nil {
		return handles.Thread{}, err
	}
	th, err := rg.threads.member(g.team, n)
	if err != nil {
		return handles.Thread{}, fmt.Errorf("thread %d of %v: %w", n, h, err)
	}
	return handles.Thread{Stamp: rg.stamp, Info: th.addr}, nil
}

// withMember reads the region of h, which must have a thread number n.
func (rg *regions) withMember(h handles.Parallel, n int) (region, error) {
	gs, err := rg.findRegions(h)
	if err != nil {
		return region{}, err
	}
	if size := gs[0].numThreads(); n < 0 || n >= size {
		return region{}, fmt.Errorf("thread number %d in %v, which has %d: %w", n, h, size, callbacks.BadInput)
	}
	return gs[0], nil
}

// TaskInParallel implements ompd_get_task_in_parallel.
func (rg *regions) TaskInParallel(h handles.Parallel, n int) (handles.Task, error) {
	g, err := rg.withMember(h, n)
	if err != nil {
		return handles.Task{}, err
	}
	return rg.implicitHandle(g, n), nil
}

// implicitHandle returns the handle of the implicit task of thread number n in a region.
func (rg *regions) implicitHandle(g region, n int) handles.Task {
	return handles.Task{Stamp: rg.stamp, Data: rg.threads.implicitTask(g.team, n), Level: uint32(g.level)}
}

// lightweight reads the runtime's record of a serialized region with a team that also serves an inner region.
// The record exists only if the runtime tracks states. The head of the list is the region around the innermost
// one.
func (rt *base) lightweight(g region) (*layout.Record, error) {
	depth := g.team.level - g.level
	if !rt.id.Tracking || depth < 1 {
		return nil, fmt.Errorf("no record of level %d of the team at %v: %w", g.level, g.team.addr,
			callbacks.NeedsStateTracking)
	}
	f := &rt.l.Lwt
	a := g.team.lwt
	for ; ; depth-- {
		if a.IsNull() {
			return nil, fmt.Errorf("level %d of the team at %v has no record: %w", g.level, g.team.addr,
				callbacks.Unavailable)
		}
		r := layout.Read(rt.mem, a, f.OmptParallelData, f.OmptMasterReturnAddress, f.OmptExitFrame, f.OmptEnterFrame,
			f.OmptExitFrameFlags, f.OmptEnterFrameFlags, f.OmptTaskData, f.OmptSchedulingParent, f.Parent)
		if depth == 1 || r.Err() != nil {
			return r, r.Err()
		}
		a = r.Address(f.Parent)
	}
}

// maxSource bounds the text of a source location, in bytes: PATH_MAX for the file, and long mangled
// names of functions.
const maxSource = 16 << 10

// readSource reads the source location in the ident_t at a. Missing or unreadable parts are empty.
func (rs *records) readSource(a callbacks.Address) handles.SourceLocation {
	f := &rs.l.Ident
	if a.IsNull() || !f.Psource.IsKnown() {
		return handles.SourceLocation{}
	}
	if known, ok := rs.idents.Get(a.Offset); ok {
		return known
	}
	r := layout.Read(rs.mem, a, f.Psource)
	text, err := layout.ReadString(rs.mem, r.Address(f.Psource), maxSource)
	if r.Err() != nil || err != nil {
		return handles.SourceLocation{}
	}
	s := parseSource(text)
	rs.idents.Put(a.Offset, s)
	return s
}

// flangModule is flang's placeholder for the file.
const flangModule = "FIRModule"

// parseSource splits ";file;function;line;column;;". The compiler writes "unknown" and 0 for
// unknown parts.
func parseSource(text string) handles.SourceLocation {
	parts := strings.Split(text, ";")
	if len(parts) < 5 || parts[0] != "" {
		return handles.SourceLocation{}
	}
	var s handles.SourceLocation
	if line, err := strconv.Atoi(parts[3]); err == nil && line > 0 {
		s.Line = line
	}
	if parts[1] != "unknown" && parts[1] != flangModule {
		s.File = parts[1]
	}
	if parts[2] != "unknown" {
		s.Function = parts[2]
	}
	return s
}
