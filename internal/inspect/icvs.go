package inspect

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// settings reads control variables.
type settings struct {
	roster  *roster
	regions *regionTable
	notes   *stacks.Notes
}

// icvs are the control variables at every place that has them.
func (s *settings) icvs() []picture.ICV {
	var out []picture.ICV
	for _, rt := range s.roster.runtimes {
		out = append(out, s.icvsOf(rt)...)
	}
	return out
}

func (s *settings) icvsOf(rt *runtimeView) []picture.ICV {
	var out []picture.ICV
	for i, d := range rt.ICVs() {
		add := func(of handles.Subject, where picture.ICV) {
			where.Name, where.Scope, where.Runtime = d.Name, d.Scope.String(), rt.id
			of.Scope = d.Scope
			out = append(out, readICV(rt, i+1, of, where))
		}
		switch d.Scope {
		case handles.ScopeGlobal, handles.ScopeAddressSpace:
			add(handles.Subject{}, picture.ICV{})
		case handles.ScopeThread:
			s.eachThread(rt, func(n *native) { add(handles.Subject{Thread: n.h}, picture.ICV{Thread: n.LWP}) })
		case handles.ScopeParallel:
			for _, v := range s.regions.all() {
				if v.rt == rt {
					add(handles.Subject{Parallel: v.h}, picture.ICV{Region: regionID(v.h)})
				}
			}
		case handles.ScopeTask, handles.ScopeImplicitTask:
			s.eachTask(rt, func(h handles.Task) { add(handles.Subject{Task: h}, picture.ICV{Task: taskID(h)}) })
		}
	}
	return out
}

func readICV(rt *runtimeView, id int, s handles.Subject, where picture.ICV) picture.ICV {
	v, err := rt.ICV(id, s)
	if err != nil {
		where.Error = stacks.Reason(err, where.Name)
		return where
	}
	where.Value, where.Source = v.Text, v.Source
	return where
}

// eachThread calls f for each thread of rt that is in a region.
func (s *settings) eachThread(rt *runtimeView, f func(*native)) {
	for _, n := range s.roster.sorted() {
		if n.rt == rt && len(n.chain) > 0 {
			f(n)
		}
	}
}

// eachTask calls f once for the current task of each thread of rt.
func (s *settings) eachTask(rt *runtimeView, f func(handles.Task)) {
	seen := map[handles.Task]bool{}
	s.eachThread(rt, func(n *native) {
		h, err := rt.CurrentTask(n.h)
		if err != nil || seen[h] {
			return
		}
		seen[h] = true
		f(h)
	})
}

// controlVars are those in force, of all runtimes.
func (s *settings) controlVars() []picture.ControlVar {
	var out []picture.ControlVar
	for _, rt := range s.roster.runtimes {
		vars, err := rt.ControlVars()
		if err != nil && !errors.Is(err, callbacks.Unavailable) {
			s.notes.Warn("%s: control variables: %v", rt.id, err)
		}
		for _, v := range vars {
			out = append(out, picture.ControlVar{Name: v.Name, Value: v.Value, Source: v.Source})
		}
	}
	return out
}

// setting is the value of a control variable in the first region that has one.
func (s *settings) setting(name string) (string, bool) {
	for _, v := range s.regions.all() {
		task, err := v.rt.TaskInParallel(v.h, 0)
		if err != nil {
			continue
		}
		if val, ok := readSetting(v.rt, name, task); ok {
			return val.Text, true
		}
	}
	return "", false
}
