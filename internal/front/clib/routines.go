package clib

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// query is one call of a routine. The words of its message are those of libompd/wire.h: the handle is words 1
// and 2.
type query struct {
	space *space
	*ompd.Process
	m message
}

func (q query) address() callbacks.Address { return callbacks.Addr(q.m.words[1]) }
func (q query) level() uint32              { return uint32(q.m.words[2]) }
func (q query) number() int                { return int(int64(q.m.words[3])) }

func (q query) thread() handles.Thread { return handles.Thread{Stamp: q.Stamp(), Info: q.address()} }

func (q query) parallel() handles.Parallel {
	return handles.Parallel{Stamp: q.Stamp(), Team: q.address(), Level: q.level()}
}

func (q query) task() handles.Task {
	return handles.Task{Stamp: q.Stamp(), Data: q.address(), Level: q.level()}
}

func threadResult(h handles.Thread, err error) (result, error) { return words(h.Info.Offset), err }

func parallelResult(h handles.Parallel, err error) (result, error) {
	return words(h.Team.Offset, uint64(h.Level)), err
}

func taskResult(h handles.Task, err error) (result, error) {
	return words(h.Data.Offset, uint64(h.Level)), err
}

func text(s string, w ...uint64) result {
	r := words(w...)
	r.bytes = []byte(strings.ReplaceAll(s, "\x00", ""))
	return r
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// routines maps calls to the routines of an initialized runtime.
var routines = map[kind]func(query) (result, error){
	kindOMPVersion: func(q query) (result, error) {
		v, err := q.OMPVersion()
		return words(uint64(v)), err
	},
	kindOMPVersionString: func(q query) (result, error) {
		s, err := q.OMPVersionString()
		return text(s), err
	},
	kindThreadIDKinds: threadIDKinds,
	kindThreadHandle:  threadHandle,
	kindThreadID:      threadID,
	kindThreadInParallel: func(q query) (result,
		error) {
		return threadResult(q.ThreadInParallel(q.parallel(), q.number()))
	},
	kindCurrParallel:      func(q query) (result, error) { return parallelResult(q.CurrentParallel(q.thread())) },
	kindEnclosingParallel: func(q query) (result, error) { return parallelResult(q.EnclosingParallel(q.parallel())) },
	kindTaskParallel:      func(q query) (result, error) { return parallelResult(q.TaskParallel(q.task())) },
	kindCurrTask:          func(q query) (result, error) { return taskResult(q.CurrentTask(q.thread())) },
	kindGeneratingTask:    func(q query) (result, error) { return taskResult(q.GeneratingTask(q.task())) },
	kindSchedulingTask:    func(q query) (result, error) { return taskResult(q.SchedulingTask(q.task())) },
	kindTaskInParallel: func(q query) (result,
		error) {
		return taskResult(q.TaskInParallel(q.parallel(), q.number()))
	},
	kindTaskFunction: func(q query) (result, error) {
		a, err := q.TaskFunction(q.task())
		return words(a.Segment, a.Offset), err
	},
	kindTaskFrame: func(q query) (result, error) {
		f, err := q.TaskFrame(q.task())
		return words(f.Exit.Offset, uint64(f.ExitFlags), f.Enter.Offset, uint64(f.EnterFlags)), err
	},
	kindNextState:   func(q query) (result, error) { return nextState(handles.State(q.m.words[1])) },
	kindState:       threadState,
	kindControlVars: controlVars,
	kindNextICV: func(q query) (result, error) {
		return nextICV(listVariables(q.space.version, q.ICVs()), q.m.words[1])
	},
	kindICV: func(q query) (result, error) {
		v, err := q.variable()
		if err != nil {
			return result{}, err
		}
		n, err := q.ICVFromScope(v.subject, v.id)
		if err == nil && q.space.version == version50 && v.name == listVariable {
			err = fmt.Errorf("the first item of %s: %w", v.name, callbacks.Incomplete)
		}
		return words(uint64(n)), err
	},
	kindICVString: func(q query) (result, error) {
		v, err := q.variable()
		if err != nil {
			return result{}, err
		}
		s, err := q.ICVStringFromScope(v.subject, v.id)
		if q.space.version == version50 && v.name == scheduleVariable && err == nil {
			s = withChunk(s)
		}
		return text(s), err
	},
	kindToolData: func(q query) (result, error) {
		if q.scope() < handles.ScopeThread {
			return result{}, fmt.Errorf("tool data of scope %v: %w", q.scope(), callbacks.BadInput)
		}
		v, err := q.ToolData(q.subject(q.scope()))
		return words(v), err
	},
}

func nextState(current handles.State) (result, error) {
	next, more, err := handles.NextState(current)
	return text("ompt_state_"+next.String(), uint64(next), flag(more)), err
}

func threadIDKinds(q query) (result, error) {
	kinds, err := q.ThreadIDKinds()
	const pairs = 2
	w := []uint64{uint64(min(len(kinds), pairs))}
	for _, k := range kinds[:w[0]] {
		w = append(w, uint64(k.Kind), k.Size)
	}
	return words(w...), err
}

func threadHandle(q query) (result, error) {
	id, err := ompd.DecodeID(callbacks.IDKind(q.m.words[1]), q.m.bytes)
	if err != nil {
		return result{}, err
	}
	return threadResult(q.ThreadHandle(id))
}

func threadID(q query) (result, error) {
	kind, size := callbacks.IDKind(q.m.words[3]), q.m.words[4]
	if _, err := ompd.EncodeID(callbacks.ThreadID{Kind: kind}, size); err != nil {
		return result{}, err
	}
	id, err := q.ThreadID(q.thread(), kind)
	if err != nil {
		return result{}, err
	}
	b, err := ompd.EncodeID(id, size)
	return result{bytes: b}, err
}

// threadState returns the state in the runtime's data. A tool provides no stack, so a working thread is
// recognized only by the absence of other states: where the runtime does not track the state, this is an error.
func threadState(q query) (result, error) {
	s, err := q.State(q.thread(), nil)
	if err == nil && !s.Tracked && s.State < handles.StateWaitBarrier && !q.Identity().Tracking {
		err = fmt.Errorf("%v is not known to wait: %w", q.thread(), q.Identity().Untracked())
	}
	return words(uint64(s.State), s.WaitID), err
}

// controlVars returns the readable variables, even if others could not be read.
func controlVars(q query) (result, error) {
	lines, err := q.DisplayControlVars()
	var r result
	for _, l := range lines {
		l = strings.ReplaceAll(l, "\x00", "") + "\x00"
		if len(r.bytes)+len(l) > wireBytes {
			break
		}
		r.bytes = append(r.bytes, l...)
		r.words[0]++
	}
	if len(lines) > 0 {
		err = nil
	}
	return r, err
}

func (q query) scope() handles.Scope { return handles.Scope(min(q.m.words[3], 255)) }

// subject returns the handle as an item of a scope.
func (q query) subject(scope handles.Scope) handles.Subject {
	return handles.Subject{Scope: scope, Thread: q.thread(), Parallel: q.parallel(), Task: q.task()}
}

// variable returns the variable of the call and its handle.
func (q query) variable() (variable, error) {
	all := listVariables(q.space.version, q.ICVs())
	id := q.m.words[4]
	if id < 1 || id > uint64(len(all)) {
		return variable{}, fmt.Errorf("variable number %d: %w", id, callbacks.BadInput)
	}
	v := all[id-1]
	if v.scope != q.scope() {
		return v, fmt.Errorf("%s has scope %v, not %v: %w", v.name, v.scope, q.scope(), callbacks.Incompatible)
	}
	v.subject = q.subject(v.own)
	if v.scope == handles.ScopeThread && v.own == handles.ScopeTask {
		task, err := q.CurrentTask(q.thread())
		if err != nil {
			return v, err
		}
		v.subject.Task = task
	}
	return v, nil
}
