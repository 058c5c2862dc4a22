package rtl

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// ICVReading is an internal control variable with the function by which R, a reader of a runtime, reads it.
type ICVReading[R any] struct {
	handles.ICV
	// Read is nil for a variable that cannot be read; Missing is then the reason.
	Read    func(R, handles.Subject) (handles.ICVValue, error)
	Missing string
}

// AsText returns the variable with a value that is only text.
func (v ICVReading[R]) AsText() ICVReading[R] {
	v.Text = true
	return v
}

// value reads the variable.
func (v ICVReading[R]) value(r R, s handles.Subject) (handles.ICVValue, error) {
	if v.Read == nil {
		return handles.ICVValue{}, fmt.Errorf("%s: %w", v.Missing, callbacks.Unavailable)
	}
	return v.Read(r, s)
}

// MissingICV returns a variable that cannot be read in a runtime.
func MissingICV[R any](name, why string) ICVReading[R] {
	return ICVReading[R]{ICV: handles.ICV{Name: name, Scope: handles.ScopeAddressSpace}, Missing: why}
}

// ICVTable holds the variables of a runtime; their numbers start at 1.
type ICVTable[R any] []ICVReading[R]

// ICVs lists the variables.
func (t ICVTable[R]) ICVs() []handles.ICV {
	list := make([]handles.ICV, len(t))
	for i, v := range t {
		list[i] = v.ICV
	}
	return list
}

// Value reads variable number id, which must have the scope of s.
func (t ICVTable[R]) Value(r R, id int, s handles.Subject) (handles.ICVValue, error) {
	if id < 1 || id > len(t) {
		return handles.ICVValue{}, fmt.Errorf("internal control variable number %d of %d: %w", id, len(t),
			callbacks.BadInput)
	}
	v := t[id-1]
	if s.Scope != v.Scope {
		return handles.ICVValue{}, fmt.Errorf("%s asked for scope %v, it has scope %v: %w", v.Name, s.Scope, v.Scope,
			callbacks.BadInput)
	}
	value, err := v.value(r, s)
	if err != nil {
		return handles.ICVValue{}, fmt.Errorf("%s: %w", v.Name, err)
	}
	return value, nil
}

// ControlVars reads the variables in names, pairs of an environment variable and the variable that it sets, for
// the subject s. It omits unreadable ones. If all are unreadable, it returns an error with the reason.
func (t ICVTable[R]) ControlVars(r R, s handles.Subject, names [][2]string, why error) ([]handles.ControlVar, error) {
	byName := make(map[string]ICVReading[R], len(t))
	for _, v := range t {
		byName[v.Name] = v
	}
	var vars []handles.ControlVar
	for _, n := range names {
		v := byName[n[1]]
		s.Scope = v.Scope
		value, err := v.value(r, s)
		if err != nil {
			why = errors.Join(why, fmt.Errorf("%s: %w", n[0], err))
			continue
		}
		vars = append(vars, handles.ControlVar{Name: n[0], Value: value.Text, Source: value.Source})
	}
	if len(vars) == 0 {
		return nil, why
	}
	return vars, nil
}
