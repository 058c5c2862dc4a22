package export

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// chrome writes Chrome's trace events.
type chrome struct {
	*labels
	out   *output
	rec   *trace.Recording
	line  []byte
	begun bool
	texts map[string]string // texts as JSON
}

// writeChrome writes a recording as Chrome's trace events (JSON).
func writeChrome(w io.Writer, rec *trace.Recording, o Options) error {
	rec = rec.Connected()
	c := &chrome{labels: newLabels(rec, o.Names), out: newOutput(w), rec: rec, texts: map[string]string{}}
	c.out.write([]byte(`{"displayTimeUnit":"ns","traceEvents":[`))
	c.meta("process_name", 0, o.Program)
	analyze.Walk(rec, o.Window, func(*trace.Thread) analyze.Sink {
		return &chromeThread{chrome: c}
	})
	c.out.write([]byte("\n]}\n"))
	return c.out.close()
}

// quote returns a text as JSON.
func (c *chrome) quote(s string) string {
	q, ok := c.texts[s]
	if !ok {
		b, _ := json.Marshal(s) // a string can always be encoded
		if q = string(b); len(c.texts) < labelsMax {
			c.texts[s] = q
		}
	}
	return q
}

// begin starts an event.
func (c *chrome) begin(phase byte, lwp uint32) {
	if c.line = c.line[:0]; c.begun {
		c.line = append(c.line, ',')
	}
	c.begun = true
	c.line = append(append(append(c.line, "\n{\"ph\":\""...), phase), "\",\"pid\":"...)
	c.line = strconv.AppendUint(c.line, uint64(c.rec.PID), 10)
	c.line = append(c.line, ",\"tid\":"...)
	c.line = strconv.AppendUint(c.line, uint64(lwp), 10)
}

// time adds the time, in microseconds.
func (c *chrome) time(ticks uint64) {
	ns := nanoseconds(&c.rec.Clock, ticks)
	c.line = append(c.line, ",\"ts\":"...)
	c.line = strconv.AppendInt(c.line, ns/1000, 10)
	c.line = append(c.line, '.', byte('0'+ns/100%10), byte('0'+ns/10%10), byte('0'+ns%10))
}

// name adds the title, and the place in the source.
func (c *chrome) name(title string, pc uint64) {
	c.line = append(append(c.line, ",\"name\":"...), c.quote(title)...)
	if p := c.place(pc); p.Line != 0 {
		c.line = append(append(c.line, ",\"args\":{\"at\":"...), c.quote(p.File+":"+strconv.Itoa(p.Line))...)
		c.line = append(append(append(c.line, ",\"in\":"...), c.quote(p.Function)...), '}')
	}
}

func (c *chrome) end() {
	c.line = append(c.line, '}')
	c.out.write(c.line)
}

// meta adds the name of a process or a thread.
func (c *chrome) meta(what string, lwp uint32, name string) {
	c.begin('M', lwp)
	c.line = append(append(append(c.line, ",\"name\":\""...), what...), "\",\"args\":{\"name\":"...)
	c.line = append(append(c.line, c.quote(name)...), '}')
	c.end()
}

// chromeThread receives the spans of the threads that had a ring, one after the other.
type chromeThread struct {
	*chrome
	lwp   uint32
	named bool // its name is written
}

// setThread switches to another thread.
func (c *chromeThread) setThread(lwp uint32) {
	if !c.named || c.lwp != lwp {
		c.lwp, c.named = lwp, true
		c.meta("thread_name", lwp, threadTitle(lwp))
	}
}

// Begin implements analyze.Sink. Held locks do not nest: they are written when they end.
func (c *chromeThread) Begin(s *analyze.Span) {
	if s.What == analyze.LockHeld {
		return
	}
	c.setThread(s.LWP)
	c.begin('B', c.lwp)
	c.time(s.Begin)
	c.name(c.title(s), s.PC)
	c.end()
}

// End implements analyze.Sink.
func (c *chromeThread) End(s *analyze.Span) {
	if s.What != analyze.LockHeld {
		c.begin('E', c.lwp)
		c.time(s.End)
		c.end()
		return
	}
	for _, e := range []struct {
		phase byte
		at    uint64
	}{{'b', s.Begin}, {'e', s.End}} {
		c.begin(e.phase, s.LWP)
		c.time(e.at)
		c.line = append(c.line, ",\"cat\":\"lock\",\"id\":\""...)
		c.line = append(strconv.AppendUint(c.line, s.Lock, 16), '"')
		c.name(c.title(s), s.PC)
		c.end()
	}
}

// Point implements analyze.Sink.
func (c *chromeThread) Point(_ *trace.Thread, lwp uint32, e *trace.Event) {
	c.setThread(lwp)
	c.begin('i', c.lwp)
	c.time(e.Time)
	c.line = append(c.line, ",\"s\":\"t\""...)
	c.name(analyze.PointTitle(e, c.words), e.PC)
	c.end()
}
