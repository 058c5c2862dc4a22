package export

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Line is one event as a line of JSON.
type Line struct {
	Time     int64  `json:"time"` // nanoseconds of CLOCK_MONOTONIC
	LWP      uint32 `json:"lwp"`
	Name     string `json:"event"`
	Text     string `json:"text"`
	Kind     uint8  `json:"kind,omitempty"`
	Endpoint uint8  `json:"endpoint,omitempty"`
	Value    uint32 `json:"value,omitempty"`
	PC       string `json:"pc,omitempty"`
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Region   string `json:"region,omitempty"`
	Task     string `json:"task,omitempty"`
	Lock     string `json:"lock,omitempty"`
	Details
}

// Liner makes lines of events.
type Liner struct {
	labels *labels
	clock  *trace.Clock
	name   func(*trace.Event) string
}

// NewLiner returns a Liner for the events of a recording.
func NewLiner(rec *trace.Recording, o Options) *Liner {
	return &Liner{newLabels(rec, o.Names), &rec.Clock, o.Name}
}

// Line returns an event of a thread as a line.
func (l *Liner) Line(t *trace.Thread, e *trace.Event) Line {
	at := l.labels.place(e.PC)
	out := Line{
		Time: l.clock.Monotonic(e.Time), LWP: t.LWPOf(e), Name: l.name(e), Text: l.labels.words.Phrase(e),
		Kind: e.Kind, Endpoint: uint8(e.Endpoint), Value: e.Value,
		Function: at.Function, File: at.File, Line: at.Line, Details: NewDetails(e, l.labels.words),
	}
	for _, f := range []struct {
		into *string
		v    uint64
		id   bool
	}{
		{&out.PC, e.PC, false}, {&out.Region, e.Region, true}, {&out.Task, e.Task(), true},
		{&out.Lock, e.Lock(), false},
	} {
		switch {
		case f.v == 0:
		case f.id:
			*f.into = l.labels.words.ID(f.v)
		default:
			*f.into = fmt.Sprintf("%#x", f.v)
		}
	}
	return out
}

// writeLines writes the events of a recording as lines of JSON, sorted by time.
func writeLines(w io.Writer, rec *trace.Recording, o Options) error {
	out, l := newOutput(w), NewLiner(rec, o)
	for t, e := range rec.Events(o.Since) {
		b, err := json.Marshal(l.Line(t, e))
		if err != nil {
			return err
		}
		if out.write(append(b, '\n')); out.err != nil {
			break
		}
	}
	return out.close()
}
