package teams

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Settings reads control variables.
type Settings struct {
	threads *ThreadTable
	regions *RegionTable
	notes   *stacks.Notes
}

// ICVs returns the control variables at every place that has them.
func (s *Settings) ICVs() []picture.ICV {
	var out []picture.ICV
	for _, rt := range s.threads.Runtimes {
		out = append(out, s.icvsOf(rt)...)
	}
	return out
}

func (s *Settings) icvsOf(rt *Runtime) []picture.ICV {
	var out []picture.ICV
	for i, d := range rt.ICVs() {
		add := func(of handles.Subject, where picture.ICV) {
			where.Name, where.Scope, where.Runtime = d.Name, d.Scope.String(), rt.ID
			of.Scope = d.Scope
			out = append(out, readICV(rt, i+1, of, where))
		}
		switch d.Scope {
		case handles.ScopeGlobal, handles.ScopeAddressSpace:
			add(handles.Subject{}, picture.ICV{})
		case handles.ScopeThread:
			s.eachThread(rt, func(n *Thread) { add(handles.Subject{Thread: n.Handle}, picture.ICV{Thread: n.LWP}) })
		case handles.ScopeParallel:
			for _, v := range s.regions.All() {
				if v.Runtime == rt {
					add(handles.Subject{Parallel: v.Handle}, picture.ICV{Region: RegionID(v.Handle)})
				}
			}
		case handles.ScopeTask, handles.ScopeImplicitTask:
			s.eachTask(rt, func(h handles.Task) { add(handles.Subject{Task: h}, picture.ICV{Task: TaskID(h)}) })
		}
	}
	return out
}

func readICV(rt *Runtime, id int, s handles.Subject, where picture.ICV) picture.ICV {
	v, err := rt.ICV(id, s)
	if err != nil {
		where.Error = stacks.Reason(err, where.Name)
		return where
	}
	where.Value, where.Source = v.Text, v.Source
	return where
}

// eachThread calls f for each thread of rt that is in a region.
func (s *Settings) eachThread(rt *Runtime, f func(*Thread)) {
	for _, n := range s.threads.Sorted() {
		if n.Runtime == rt && len(n.Chain) > 0 {
			f(n)
		}
	}
}

// eachTask calls f once for the current task of each thread of rt.
func (s *Settings) eachTask(rt *Runtime, f func(handles.Task)) {
	seen := map[handles.Task]bool{}
	s.eachThread(rt, func(n *Thread) {
		h, err := rt.CurrentTask(n.Handle)
		if err != nil || seen[h] {
			return
		}
		seen[h] = true
		f(h)
	})
}

// ControlVars returns the control variables of all runtimes that are in force.
func (s *Settings) ControlVars() []picture.ControlVar {
	var out []picture.ControlVar
	for _, rt := range s.threads.Runtimes {
		vars, err := rt.ControlVars()
		if err != nil && !errors.Is(err, callbacks.Unavailable) {
			s.notes.Warn("%s: control variables: %v", rt.ID, err)
		}
		for _, v := range vars {
			out = append(out, picture.ControlVar{Name: v.Name, Value: v.Value, Source: v.Source})
		}
	}
	return out
}

// Value returns a control variable of the first region that has it.
func (s *Settings) Value(name string) (string, bool) {
	for _, v := range s.regions.All() {
		task, err := v.Runtime.TaskInParallel(v.Handle, 0)
		if err != nil {
			continue
		}
		if val, ok := readSetting(v.Runtime, name, task); ok {
			return val.Text, true
		}
	}
	return "", false
}

// NewSettings returns the control variables of a target.
func NewSettings(r *ThreadTable, regions *RegionTable, notes *stacks.Notes) *Settings {
	return &Settings{r, regions, notes}
}
