package foreign

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/accessor"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// texts format the variables that are not numbers, as those of the runtimes whose layout is known.
var texts = map[string]func(int64) string{
	"dyn-var": rtl.BoolText, "cancel-var": rtl.BoolText, "final-task-var": rtl.BoolText,
	"explicit-task-var": rtl.BoolText, "bind-var": rtl.ProcBindText,
}

// variables lists the functions of a module that return a control variable.
func variables(t callbacks.Target, mod *callbacks.Module) []accessor.Function {
	var out []accessor.Function
	for _, f := range accessor.Functions() {
		if _, err := layout.SymbolIn(t, mod, f.Name); err == nil && f.ICV != "" {
			out = append(out, f)
		}
	}
	return out
}

// ICVs lists the control variables that the standard's functions return to a thread.
func (rt *runtime) ICVs() []handles.ICV {
	var out []handles.ICV
	for _, f := range rt.icvs {
		out = append(out, handles.ICV{Name: f.ICV, Scope: handles.ScopeThread})
	}
	return out
}

// ICV returns the value that a thread would get for a variable.
func (rt *runtime) ICV(id int, s handles.Subject) (handles.ICVValue, error) {
	if id < 1 || id > len(rt.icvs) {
		return handles.ICVValue{}, fmt.Errorf("internal control variable number %d of %d: %w", id, len(rt.icvs),
			callbacks.BadInput)
	}
	f := rt.icvs[id-1]
	if s.Scope != handles.ScopeThread {
		return handles.ICVValue{}, fmt.Errorf("%s asked for scope %v, it is told to threads: %w", f.ICV, s.Scope,
			callbacks.BadInput)
	}
	th, err := rt.thread(s.Thread)
	if err != nil {
		return handles.ICVValue{}, err
	}
	v, err := rt.call.Int(th.tp, f.Name)
	if err != nil {
		return handles.ICVValue{}, fmt.Errorf("%s: %w", f.ICV, err)
	}
	return rtl.IntegerICV(int64(v), texts[f.ICV], f.Name+"()"), nil
}
