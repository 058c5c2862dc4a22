package ompd

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// NextState is ompd_enumerate_states: it returns the state after current, and whether more follow. The first
// call passes handles.StateUndefined, later calls the previous result; the last state is handles.StateUndefined
// itself. An unknown state is callbacks.BadInput.
func (p *Process) NextState(current handles.State) (next handles.State, more bool, err error) {
	next, err = query(p, "ompd_enumerate_states", p, func(handles.Runtime, *Process) (next handles.State, err error) {
		next, more, err = handles.NextState(current)
		return next, err
	})
	return next, more, err
}

// ICVs lists the internal control variables; the number of each is its position, from 1.
func (p *Process) ICVs() []handles.ICV { return p.rt.ICVs() }

// NextICV is ompd_enumerate_icvs: it returns the number, name and scope of the variable after number current,
// and whether more follow. The first call passes 0, later calls the previous number. After the last variable
// comes number 0, with more false. An unknown number is callbacks.BadInput.
func (p *Process) NextICV(current int) (next int, icv handles.ICV, more bool, err error) {
	icv, err = query(p, "ompd_enumerate_icvs", p, func(rt handles.Runtime, _ *Process) (handles.ICV, error) {
		all := rt.ICVs()
		switch {
		case current < 0 || current > len(all):
			return handles.ICV{}, fmt.Errorf("variable number %d: %w", current, callbacks.BadInput)
		case current == len(all):
			return handles.ICV{}, nil
		}
		next, more = current+1, current+1 < len(all)
		return all[current], nil
	})
	return next, icv, more, err
}

// ICV reads variable number id for a subject with the variable's own scope, in all its forms. Another scope is
// callbacks.Incompatible, an unknown number callbacks.BadInput.
func (p *Process) ICV(id int, s handles.Subject) (handles.ICVValue, error) {
	return query(p, "ICV", subject(s), func(rt handles.Runtime, s subject) (handles.ICVValue,
		error) {
		return readICV(rt, id, s)
	})
}

// ICVFromScope is ompd_get_icv_from_scope: it returns a variable as an integer. A variable that is not an
// integer is callbacks.Incompatible; for a list, it returns the first element and callbacks.Incomplete.
func (p *Process) ICVFromScope(s handles.Subject, id int) (int64, error) {
	return query(p, "ompd_get_icv_from_scope", subject(s), func(rt handles.Runtime, s subject) (int64, error) {
		v, err := readICV(rt, id, s)
		switch {
		case err != nil:
			return 0, err
		case rt.ICVs()[id-1].Text:
			return 0, fmt.Errorf("%s is no integer: %w", rt.ICVs()[id-1].Name, callbacks.Incompatible)
		case !v.Whole:
			return v.Int, fmt.Errorf("%s is a list, %s: %w", rt.ICVs()[id-1].Name, v.Text, callbacks.Incomplete)
		}
		return v.Int, nil
	})
}

// ICVStringFromScope is ompd_get_icv_string_from_scope: it returns the text of a variable.
func (p *Process) ICVStringFromScope(s handles.Subject, id int) (string, error) {
	return query(p, "ompd_get_icv_string_from_scope", subject(s), func(rt handles.Runtime, s subject) (string, error) {
		v, err := readICV(rt, id, s)
		return v.Text, err
	})
}

// readICV checks the number and the scope of a variable, and reads it.
func readICV(rt handles.Runtime, id int, s subject) (handles.ICVValue, error) {
	all := rt.ICVs()
	if id < 1 || id > len(all) {
		return handles.ICVValue{}, fmt.Errorf("variable number %d: %w", id, callbacks.BadInput)
	}
	if v := all[id-1]; v.Scope != s.Scope {
		return handles.ICVValue{}, fmt.Errorf("%s has scope %v, not %v: %w", v.Name, v.Scope, s.Scope,
			callbacks.Incompatible)
	}
	return rt.ICV(id, handles.Subject(s))
}

// ToolData is ompd_get_tool_data: it returns the word that an OMPT tool in the program stored for a thread,
// region or task; it is the same word as a number and as a pointer.
func (p *Process) ToolData(s handles.Subject) (uint64, error) {
	return query(p, "ompd_get_tool_data", subject(s), func(rt handles.Runtime, s subject) (uint64, error) {
		return rt.ToolData(handles.Subject(s))
	})
}

// ControlVars returns the current control variables, with their sources.
func (p *Process) ControlVars() ([]handles.ControlVar, error) {
	return query(p, "ControlVars", p, func(rt handles.Runtime, _ *Process) ([]handles.ControlVar,
		error) {
		return rt.ControlVars()
	})
}

// DisplayControlVars is ompd_get_display_control_vars: it returns the current control variables, each as
// NAME=value.
func (p *Process) DisplayControlVars() ([]string, error) {
	return query(p, "ompd_get_display_control_vars", p, func(rt handles.Runtime, _ *Process) ([]string, error) {
		vars, err := rt.ControlVars()
		lines := make([]string, 0, len(vars))
		for _, v := range vars {
			lines = append(lines, v.Name+"="+v.Value)
		}
		return lines, err
	})
}

// ReleaseDisplayControlVars is ompd_rel_display_control_vars. It only checks its argument; a nil list is
// callbacks.BadInput.
func (p *Process) ReleaseDisplayControlVars(vars []string) error {
	_, err := query(p, "ompd_rel_display_control_vars", p, func(handles.Runtime, *Process) (struct{}, error) {
		if vars == nil {
			return struct{}{}, fmt.Errorf("no list: %w", callbacks.BadInput)
		}
		return struct{}{}, nil
	})
	return err
}
