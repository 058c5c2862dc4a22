package export

import (
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Details are the lists and structures of an event, the same in lines and in pictures.
type Details struct {
	Dependences []picture.Dependence     `json:"dependences,omitempty"`
	Mapped      []picture.MappedVariable `json:"mapped,omitempty"`
	Truncated   bool                     `json:"truncated,omitempty"`
	Operation   *picture.DataOperation   `json:"operation,omitempty"`
	Loaded      *picture.LoadedCode      `json:"loaded,omitempty"`
}

// NewDetails returns the details of an event.
func NewDetails(e *trace.Event, words trace.Words) Details {
	out := Details{Truncated: e.Cut}
	for _, d := range e.Dependences() {
		p := picture.Dependence{Type: int(d.Type)}
		if d.Iterates() {
			p.Iteration = int64(d.Variable)
		} else {
			p.Address = picture.Address(d.Variable)
		}
		out.Dependences = append(out.Dependences, p)
	}
	for _, m := range e.Mappings() {
		out.Mapped = append(out.Mapped, picture.MappedVariable{
			Host: picture.Address(m.Host), Device: picture.Address(m.Device), Bytes: m.Bytes, Flags: int(m.Flags),
		})
	}
	if t := e.Transfer(); t != nil {
		out.Operation = &picture.DataOperation{
			Source: picture.Address(t.Source), SourceDevice: int(t.SourceDevice),
			Destination: picture.Address(t.Destination), DestinationDevice: int(t.DestinationDevice), Bytes: t.Bytes,
		}
		if t.ID != 0 {
			out.Operation.ID = words.ID(t.ID)
		}
		if t.Target != 0 {
			out.Operation.Target = words.ID(t.Target)
		}
	}
	if l := e.Load(); l != nil {
		out.Loaded = &picture.LoadedCode{
			File: e.Text(), Offset: l.Offset, Bytes: l.Bytes, Host: picture.Address(l.Host),
			Device: picture.Address(l.Device), Module: l.Module,
		}
	}
	return out
}
