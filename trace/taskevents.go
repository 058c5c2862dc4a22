package trace

// TaskFlags are the flags of a task_create (ompt_task_flag_t).
type TaskFlags uint32

// Undeferred reports whether the creator of a task waits for its end: its if clause was false.
func (f TaskFlags) Undeferred() bool { return f&0x08000000 != 0 }

// Creator returns the task that encountered the construct of a task_create; 0: unknown.
func (e *Event) Creator() uint64 {
	if e.Code != TaskCreate {
		return 0
	}
	return e.parent()
}

// Dependence is a storage location that orders tasks (ompt_dependence_t).
type Dependence struct {
	Variable uint64
	Type     uint16 // ompt_dependence_type_t
}

// Iterates reports whether a dependence is of a doacross loop: its variable is the number of an iteration.
func (d Dependence) Iterates() bool { return d.Type == typeSource || d.Type == typeSink }

// Values of ompt_dependence_type_t.
const (
	typeSource = 5
	typeSink   = 6
	// The variable of these types is undefined (omp_all_memory).
	typeOutAllMemory   = 34
	typeInoutAllMemory = 35
)

// Dependences returns the dependences in an event of this code; the event is Cut if there were more.
func (e *Event) Dependences() (out []Dependence) {
	if e.Code != Dependences {
		return nil
	}
	if e.Folded {
		return []Dependence{{e.B, uint16(e.Kind)}}
	}
	left := int(e.Value)
	for b := e.More; len(b) >= recordSize && left > 0; b = b[recordSize:] {
		types := le.Uint32(b[12:])
		out = append(out, Dependence{le.Uint64(b[16:]), uint16(types)})
		if left > 1 {
			out = append(out, Dependence{le.Uint64(b[24:]), uint16(types >> 16)})
		}
		left -= 2
	}
	return out
}
