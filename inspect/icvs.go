package inspect

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// ICVs returns every internal control variable at every place that has it: the
// address space, each thread, each region, and the current task of each thread.
func (in *Inspector) ICVs() []ICV {
	var out []ICV
	for _, rt := range in.runtimes {
		out = append(out, in.icvsOf(rt)...)
	}
	return out
}

func (in *Inspector) icvsOf(rt *runtimeView) []ICV {
	var out []ICV
	for i, d := range rt.ICVs() {
		add := func(s rtl.Subject, where ICV) {
			where.Name, where.Scope, where.Runtime = d.Name, d.Scope.String(), rt.id
			s.Scope = d.Scope
			out = append(out, readICV(rt, i+1, s, where))
		}
		switch d.Scope {
		case rtl.ScopeGlobal, rtl.ScopeAddressSpace:
			add(rtl.Subject{}, ICV{})
		case rtl.ScopeThread:
			in.eachThread(rt, func(n *native) { add(rtl.Subject{Thread: n.h}, ICV{Thread: n.lwp}) })
		case rtl.ScopeParallel:
			for _, v := range in.regions.all() {
				if v.rt == rt {
					add(rtl.Subject{Parallel: v.h}, ICV{Region: regionID(v.h)})
				}
			}
		case rtl.ScopeTask, rtl.ScopeImplicitTask:
			in.eachTask(rt, func(h handles.Task) { add(rtl.Subject{Task: h}, ICV{Task: taskID(h)}) })
		}
	}
	return out
}

func readICV(rt *runtimeView, id int, s rtl.Subject, where ICV) ICV {
	v, err := rt.ICV(id, s)
	if err != nil {
		where.Error = reason(err, where.Name)
		return where
	}
	where.Value, where.Source = v.Text, v.Source
	return where
}

// eachThread calls f for each thread of rt that is in a region.
func (in *Inspector) eachThread(rt *runtimeView, f func(*native)) {
	for _, n := range in.sorted() {
		if n.rt == rt && len(n.chain) > 0 {
			f(n)
		}
	}
}

// eachTask calls f once for the current task of each thread of rt.
func (in *Inspector) eachTask(rt *runtimeView, f func(handles.Task)) {
	seen := map[handles.Task]bool{}
	in.eachThread(rt, func(n *native) {
		h, err := rt.CurrentTask(n.h)
		if err != nil || seen[h] {
			return
		}
		seen[h] = true
		f(h)
	})
}

// ControlVars returns the control variables in force of all runtimes.
func (in *Inspector) ControlVars() []ControlVar {
	var out []ControlVar
	for _, rt := range in.runtimes {
		vars, err := rt.ControlVars()
		if err != nil && !errors.Is(err, callbacks.Unavailable) {
			in.warn("%s: control variables: %v", rt.id, err)
		}
		for _, v := range vars {
			out = append(out, ControlVar{Name: v.Name, Value: v.Value, Source: v.Source})
		}
	}
	return out
}
