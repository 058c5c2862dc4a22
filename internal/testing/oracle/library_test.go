package oracle

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// answer is a library's answer to one question: a return code, and a value in OMPD's terms, such as the address
// of a handle's object.
type answer struct {
	rc     callbacks.RC
	value  string
	handle any  // for further questions; nil if the answer is not a handle
	light  bool // libompd's handle is that of a light-weight team record
}

// String returns the text that is compared.
func (a answer) String() string {
	if a.rc != callbacks.OK && a.value == "" {
		return strings.TrimPrefix(a.rc.String(), "ompd_rc_")
	}
	if a.rc != callbacks.OK {
		return a.value + " " + strings.TrimPrefix(a.rc.String(), "ompd_rc_")
	}
	return a.value
}

// library is an OMPD library that is called by the names of the C routines. h is one of its handles, or nil for
// the address space; n is the number argument.
type library interface {
	ask(routine string, h any, n int64) answer
	// icvs returns the variables: by name, number and scope.
	icvs() []icv
	// icv calls ompd_get_icv_from_scope, or with text true ompd_get_icv_string_from_scope.
	icv(v icv, h any, text bool) answer
}

type icv struct {
	name  string
	id    int
	scope handles.Scope
}

// ours is this module's library.
type ours struct{ p *ompd.Process }

func result(value any, handle any, err error) answer {
	a := answer{rc: ompd.RCOf(err)}
	if err == nil || a.rc == callbacks.Incomplete {
		a.value, a.handle = fmt.Sprint(value), handle
	}
	return a
}

func ofThread(h handles.Thread, err error) answer     { return result(h.Info, h, err) }
func ofParallel(h handles.Parallel, err error) answer { return result(h.Team, h, err) }
func ofTask(h handles.Task, err error) answer         { return result(h.Data, h, err) }

func (o ours) ask(routine string, h any, n int64) answer {
	switch h := h.(type) {
	case handles.Thread:
		return o.askThread(routine, h, n)
	case handles.Parallel:
		return o.askParallel(routine, h, n)
	case handles.Task:
		return o.askTask(routine, h)
	}
	switch routine {
	case "ompd_get_thread_handle":
		return ofThread(o.p.ThreadHandle(callbacks.LWP(uint64(n))))
	case "ompd_get_omp_version":
		v, err := o.p.OMPVersion()
		return result(v, nil, err)
	case "ompd_enumerate_states":
		s, more, err := o.p.NextState(handles.State(n))
		return result(fmt.Sprintf("ompt_state_%v %v", s, more), int64(s), err)
	case "ompd_get_display_control_vars":
		lines, err := o.p.DisplayControlVars()
		return result(strings.Join(lines, "|"), nil, err)
	}
	return answer{rc: callbacks.Unsupported}
}

func (o ours) askThread(routine string, h handles.Thread, n int64) answer {
	switch routine {
	case "ompd_get_thread_id":
		id, err := o.p.ThreadID(h, callbacks.IDKind(n))
		return result(fmt.Sprintf("%#x", id.Value), nil, err)
	case "ompd_get_curr_parallel_handle":
		return ofParallel(o.p.CurrentParallel(h))
	case "ompd_get_curr_task_handle":
		return ofTask(o.p.CurrentTask(h))
	case "ompd_get_state":
		s, err := o.p.State(h, nil)
		return result(fmt.Sprintf("%v wait %#x", s.State, s.WaitID), nil, err)
	}
	v, err := o.p.ToolData(handles.Subject{Scope: handles.ScopeThread, Thread: h})
	return result(fmt.Sprintf("%#x", v), nil, err)
}

func (o ours) askParallel(routine string, h handles.Parallel, n int64) answer {
	switch routine {
	case "ompd_get_enclosing_parallel_handle":
		return ofParallel(o.p.EnclosingParallel(h))
	case "ompd_get_thread_in_parallel":
		return ofThread(o.p.ThreadInParallel(h, int(n)))
	case "ompd_get_task_in_parallel":
		return ofTask(o.p.TaskInParallel(h, int(n)))
	}
	v, err := o.p.ToolData(handles.Subject{Scope: handles.ScopeParallel, Parallel: h})
	return result(fmt.Sprintf("%#x", v), nil, err)
}

func (o ours) askTask(routine string, h handles.Task) answer {
	switch routine {
	case "ompd_get_generating_task_handle":
		return ofTask(o.p.GeneratingTask(h))
	case "ompd_get_scheduling_task_handle":
		return ofTask(o.p.SchedulingTask(h))
	case "ompd_get_task_parallel_handle":
		return ofParallel(o.p.TaskParallel(h))
	case "ompd_get_task_function":
		a, err := o.p.TaskFunction(h)
		return result(a, nil, err)
	case "ompd_get_task_frame":
		f, err := o.p.TaskFrame(h)
		return result(fmt.Sprintf("exit %v enter %v", f.Exit, f.Enter), nil, err)
	}
	v, err := o.p.ToolData(handles.Subject{Scope: handles.ScopeTask, Task: h})
	return result(fmt.Sprintf("%#x", v), nil, err)
}

func (o ours) icvs() []icv {
	var all []icv
	for i, v := range o.p.ICVs() {
		all = append(all, icv{v.Name, i + 1, v.Scope})
	}
	return all
}

func (o ours) icv(v icv, h any, text bool) answer {
	s := handles.Subject{Scope: v.scope}
	switch h := h.(type) {
	case handles.Thread:
		s.Thread = h
	case handles.Parallel:
		s.Parallel = h
	case handles.Task:
		s.Task = h
	}
	if text {
		value, err := o.p.ICVStringFromScope(s, v.id)
		return result(value, nil, err)
	}
	value, err := o.p.ICVFromScope(s, v.id)
	return result(value, nil, err)
}

// peer is LLVM's library in its process.
type peer struct {
	*host
	space uint64 // the address space handle
}

// peerHandle is a handle of libompd: a pointer in the host's memory. Threads have
// their address at offset 24, regions and tasks at 16 and the light-weight team's
// at 32.
type peerHandle struct{ pointer uint64 }

func (p *peer) handleAnswer(routine string, rc callbacks.RC, out [][]byte) answer {
	if rc != callbacks.OK {
		return answer{rc: rc}
	}
	h := callbacks.Word(out[len(out)-1])
	off := uint64(16)
	if strings.HasPrefix(routine, "ompd_get_thread_") {
		off = 24
	}
	return answer{value: fmt.Sprintf("%#x", p.peek(h, off)), handle: peerHandle{h}, light: off == 16 &&
		p.peek(h, 32) != 0}
}

func (p *peer) ask(routine string, h any, n int64) answer {
	of := p.space
	if h, ok := h.(peerHandle); ok {
		of = h.pointer
	}
	switch routine {
	case "ompd_get_thread_handle":
		rc, res := p.call(routine, of, uint64(callbacks.ThreadIDLWP), 8,
			binary.LittleEndian.AppendUint64(nil, uint64(n)), out)
		return p.handleAnswer(routine, rc, res)
	case "ompd_get_thread_in_parallel", "ompd_get_task_in_parallel":
		rc, res := p.call(routine, of, n, out)
		return p.handleAnswer(routine, rc, res)
	}
	if strings.HasSuffix(routine, "_handle") {
		rc, res := p.call(routine, of, out)
		return p.handleAnswer(routine, rc, res)
	}
	return p.askValue(routine, of, n)
}

// askValue calls routines that return plain values.
func (p *peer) askValue(routine string, of uint64, n int64) answer {
	var rc callbacks.RC
	var res [][]byte
	word := func(i int) uint64 { return callbacks.Word(res[i]) }
	show := func(f func() string) answer {
		if rc != callbacks.OK {
			return answer{rc: rc}
		}
		return answer{value: f()}
	}
	switch routine {
	case "ompd_get_omp_version":
		rc, res = p.call(routine, of, out)
		return show(func() string { return fmt.Sprint(word(0)) })
	case "ompd_get_thread_id":
		rc, res = p.call(routine, of, n, 8, out)
		return show(func() string { return fmt.Sprintf("%#x", word(0)) })
	case "ompd_get_state":
		rc, res = p.call(routine, of, out, out)
		return show(func() string { return fmt.Sprintf("%v wait %#x", handles.State(word(0)), word(1)) })
	case "ompd_get_task_function":
		rc, res = p.call(routine, of, make([]byte, 16))
		return show(func() string { return fmt.Sprintf("%#x", callbacks.Word(res[0][8:])) })
	case "ompd_get_task_frame": // ompd_frame_info_t has an address and a flag
		rc, res = p.call(routine, of, make([]byte, 24), make([]byte, 24))
		return show(func() string {
			return fmt.Sprintf("exit %#x enter %#x", callbacks.Word(res[0][8:16]), callbacks.Word(res[1][8:16]))
		})
	case "ompd_get_tool_data":
		rc, res = p.call(routine, of, n, out, make([]byte, 16))
		return show(func() string { return fmt.Sprintf("%#x", word(0)) })
	case "ompd_enumerate_states":
		rc, res = p.call(routine, of, n, out, out, out)
		a := show(func() string { return fmt.Sprintf("%s %v", p.text(word(1)), word(2) != 0) })
		if a.rc == callbacks.OK {
			a.handle = int64(word(0))
		}
		return a
	case "ompd_get_display_control_vars":
		rc, res = p.call(routine, of, out)
		return show(func() string { return strings.Join(p.strings(word(0)), "|") })
	}
	p.t.Fatalf("the test does not know how to call %s", routine)
	return answer{}
}

// strings reads a vector of strings up to a null pointer.
func (p *peer) strings(at uint64) []string {
	var all []string
	for ; ; at += 8 {
		s := p.peek(at, 0)
		if s == 0 {
			return all
		}
		all = append(all, p.text(s))
	}
}

func (p *peer) icvs() []icv {
	var all []icv
	for id, more := uint64(0), true; more; {
		rc, res := p.call("ompd_enumerate_icvs", p.space, id, out, out, out, out)
		if rc != callbacks.OK {
			p.t.Fatalf("ompd_enumerate_icvs(%d): %v", id, rc)
		}
		id, more = callbacks.Word(res[0]), callbacks.Word(res[3]) != 0
		all = append(all, icv{p.text(callbacks.Word(res[1])), int(id), handles.Scope(callbacks.Word(res[2]))})
	}
	return all
}

func (p *peer) icv(v icv, h any, text bool) answer {
	of := p.space
	if h, ok := h.(peerHandle); ok {
		of = h.pointer
	}
	routine := "ompd_get_icv_from_scope"
	if text {
		routine = "ompd_get_icv_string_from_scope"
	}
	rc, res := p.call(routine, of, uint64(v.scope), v.id, out)
	a := answer{rc: rc}
	switch {
	case rc != callbacks.OK && rc != callbacks.Incomplete:
	case text:
		a.value = p.text(callbacks.Word(res[0]))
	default:
		a.value = fmt.Sprint(int64(callbacks.Word(res[0])))
	}
	return a
}
