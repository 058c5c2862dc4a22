package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// maxChain bounds the walks outwards from a thread, in either library.
const maxChain = 32

// picture has a library's answers to all questions about a core. The key has the object of the question, then the
// question:
//
//	thread 2/region of level 1/ompd_get_thread_in_parallel 0
//
// Threads are numbered in the core's order. A second region or task of a thread at one level is marked with
// "again".
type picture map[string]answer

// look calls all routines of lib for the threads of a core.
func look(lib library, lwps []callbacks.ThreadID) picture {
	p := picture{}
	variables := lib.icvs()
	for _, v := range variables {
		p["list/"+v.name] = answer{value: v.scope.String()}
	}
	p.ask(lib, "space", "ompd_get_omp_version", nil, 0)
	p.ask(lib, "space", "ompd_get_display_control_vars", nil, 0)
	p.variables(lib, variables, "space", handles.ScopeAddressSpace, nil)
	p.states(lib)
	p.misuse(lib, variables, lwps)
	for i, lwp := range lwps {
		of := fmt.Sprintf("thread %d", i)
		h := p.ask(lib, of, "ompd_get_thread_handle", nil, int64(lwp.Value))
		if h == nil {
			continue
		}
		for _, kind := range []callbacks.IDKind{callbacks.ThreadIDPthread, callbacks.ThreadIDLWP, 7} {
			p.ask(lib, of, "ompd_get_thread_id", h, int64(kind))
		}
		p.ask(lib, of, "ompd_get_state", h, 0)
		p.ask(lib, of, "ompd_get_tool_data", h, int64(handles.ScopeThread))
		p.variables(lib, variables, of, handles.ScopeThread, h)
		p.chains(lib, variables, of, h)
	}
	return p
}

// misuse asks questions that lib must refuse.
func (p picture) misuse(lib library, variables []icv, lwps []callbacks.ThreadID) {
	const unknown = 99999
	p.ask(lib, "misuse", "ompd_enumerate_states", nil, unknown)
	p.ask(lib, "misuse", "ompd_get_thread_handle", nil, 1)
	h := lib.ask("ompd_get_thread_handle", nil, int64(lwps[0].Value)).handle
	for _, v := range variables {
		if v.name == "levels-var" {
			v.scope = handles.ScopeThread
			p["misuse/levels-var of a thread"] = lib.icv(v, h, false)
			p["misuse/levels-var of a thread text"] = lib.icv(v, h, true)
		}
	}
	v := icv{id: unknown, scope: handles.ScopeAddressSpace}
	p["misuse/unknown-var"] = lib.icv(v, nil, false)
	p["misuse/unknown-var text"] = lib.icv(v, nil, true)
}

// chains asks for the regions and the tasks around a thread, outwards.
func (p picture) chains(lib library, variables []icv, of string, h any) {
	region := p.ask(lib, of, "ompd_get_curr_parallel_handle", h, 0)
	for n := 0; region != nil && n < maxChain; n++ {
		region = p.region(lib, variables, of, region)
	}
	task := p.ask(lib, of, "ompd_get_curr_task_handle", h, 0)
	if task != nil {
		p.currentTask(lib, variables, of, h, task)
	}
	for n := 0; task != nil && n < maxChain; n++ {
		in := "?"
		if region := lib.ask("ompd_get_task_parallel_handle", task, 0).handle; region != nil {
			in = level(lib, variables, region)
		}
		task = p.task(lib, variables, p.unique(fmt.Sprintf("%s/task of level %s", of, in)), task)
	}
}

// level returns the nesting level of a region.
func level(lib library, variables []icv, region any) string {
	for _, v := range variables {
		if v.name == "levels-var" {
			return lib.icv(v, region, false).String()
		}
	}
	return "?"
}

// mark is the prefix of keys that are not questions.
const mark = "asked: "

// unique returns name, with a mark for every previous use.
func (p picture) unique(name string) string {
	for ; p[mark+name].value != ""; name += " again" {
	}
	p[mark+name] = answer{value: "asked"}
	return name
}

// ask asks one question and returns the handle in the answer.
func (p picture) ask(lib library, of, routine string, h any, n int64) any {
	a := lib.ask(routine, h, n)
	key := of + "/" + routine
	if strings.HasSuffix(routine, "_in_parallel") || routine == "ompd_get_thread_id" {
		key += fmt.Sprint(" ", n)
	}
	p[key] = a
	return a.handle
}

// region asks all questions about a region and returns the enclosing one.
func (p picture) region(lib library, variables []icv, of string, h any) any {
	of = p.unique(fmt.Sprintf("%s/region of level %s", of, level(lib, variables, h)))
	p.variables(lib, variables, of, handles.ScopeParallel, h)
	p.ask(lib, of, "ompd_get_tool_data", h, int64(handles.ScopeParallel))
	size := 0
	fmt.Sscan(p[of+"/team-size-var"].value, &size)
	for _, n := range []int{-1, size} { // out of range
		p.ask(lib, of, "ompd_get_thread_in_parallel", h, int64(n))
		p.ask(lib, of, "ompd_get_task_in_parallel", h, int64(n))
	}
	for n := range size {
		p.ask(lib, of, "ompd_get_thread_in_parallel", h, int64(n))
		p.ask(lib, of, "ompd_get_task_in_parallel", h, int64(n))
	}
	return p.ask(lib, of, "ompd_get_enclosing_parallel_handle", h, 0)
}

// task asks all questions about a task and returns the one that generated it.
func (p picture) task(lib library, variables []icv, of string, h any) any {
	p.variables(lib, variables, of, handles.ScopeTask, h)
	p.ask(lib, of, "ompd_get_tool_data", h, int64(handles.ScopeTask))
	for _, routine := range []string{"ompd_get_task_parallel_handle", "ompd_get_scheduling_task_handle",
		"ompd_get_task_function", "ompd_get_task_frame"} {
		p.ask(lib, of, routine, h, 0)
	}
	return p.ask(lib, of, "ompd_get_generating_task_handle", h, 0)
}

// currentTask asks for the variables of the current task's data environment under names that are independent of
// their scope in a library.
func (p picture) currentTask(lib library, variables []icv, of string, thread, task any) {
	for _, v := range variables {
		if !slices.Contains(strings.Fields(ofCurrentTask), v.name) {
			continue
		}
		h := task
		if v.scope == handles.ScopeThread {
			h = thread
		}
		p[of+"/"+v.name] = lib.icv(v, h, false)
		p[of+"/"+v.name+" text"] = lib.icv(v, h, true)
	}
}

// variables asks for all variables of a scope, as integers and as text.
func (p picture) variables(lib library, all []icv, of string, scope handles.Scope, h any) {
	for _, v := range all {
		if v.scope == scope && !slices.Contains(strings.Fields(ofCurrentTask), v.name) {
			p[of+"/"+v.name] = lib.icv(v, h, false)
			p[of+"/"+v.name+" text"] = lib.icv(v, h, true)
		}
	}
}

// ofCurrentTask are variables of a task's data environment that libompd returns for a thread: they are those of
// its current task.
const ofCurrentTask = "dyn-var nthreads-var default-device-var"

// states enumerates the states.
func (p picture) states(lib library) {
	at := int64(handles.StateUndefined)
	for n := 0; n < len(handles.States()); n++ {
		a := lib.ask("ompd_enumerate_states", nil, at)
		next, ok := a.handle.(int64)
		name, more, _ := strings.Cut(a.value, " ")
		p[fmt.Sprintf("state %#x/ompd_enumerate_states", next)] = answer{rc: a.rc, value: name}
		if !ok || more == "false" {
			return
		}
		at = next
	}
}

// keys returns all questions of both pictures.
func keys(a, b picture) []string {
	all := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			all = append(all, k)
		}
	}
	all = slices.DeleteFunc(all, func(k string) bool { return strings.HasPrefix(k, mark) })
	slices.Sort(all)
	return all
}
