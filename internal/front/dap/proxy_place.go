package dap

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// place is where a construct is in the source, as the user wrote it: FILE:LINE.
type place struct {
	text string
	file []string // the last parts of its path
	line int
}

// parsePlace reads the place of a construct at whose events to stop.
func parsePlace(event, text string) (*place, error) {
	text = strings.TrimSpace(text)
	i := strings.LastIndexByte(text, ':')
	if i < 1 {
		return nil, fmt.Errorf("%s: a place is FILE:LINE", text)
	}
	line, err := strconv.Atoi(text[i+1:])
	switch {
	case err != nil || line < 1:
		return nil, fmt.Errorf("%s: a place is FILE:LINE", text)
	case strings.HasPrefix(event, "thread"):
		return nil, fmt.Errorf("a thread begins and ends in no construct: omp %s takes no place", event)
	}
	return &place{text, strings.Split(path.Clean(text[:i]), "/"), line}, nil
}

// is reports whether that is this line.
func (p *place) is(file string, line int) bool {
	parts := strings.Split(path.Clean(file), "/")
	return file != "" && line == p.line && len(parts) >= len(p.file) &&
		slices.Equal(parts[len(parts)-len(p.file):], p.file)
}

// here reports whether a thread is at an event of the construct at the place: it has called the runtime there, or
// its task is of there.
func (p *place) here(pic *picture.Picture, lwp int) bool {
	for i := range pic.Threads {
		t := &pic.Threads[i]
		if t.LWP != lwp {
			continue
		}
		innermost := picture.InnermostUser(t.UserStack)
		if innermost < 0 || p.is(t.UserStack[innermost].File, t.UserStack[innermost].Line) {
			return true // rather one stop too many
		}
		for _, task := range pic.Tasks {
			if task.ID == t.Task && task.Function != nil {
				return p.is(task.Function.File, task.Function.Line)
			}
		}
		return false
	}
	return true
}

// placed are the constructs that a stop is at, if all that it is at have a place.
func (b *breaks) placed(ids []int) (out []construct) {
	for _, id := range ids {
		here := b.set[id]
		if len(here) == 0 || slices.ContainsFunc(here, func(c construct) bool { return c.at == nil }) {
			return nil
		}
		out = append(out, here...)
	}
	return out
}

// consider keeps a stop at constructs from the client until it is known whether it is at the right ones. The caller
// holds mu.
func (b *breaks) consider(text []byte, e godap.StoppedEventBody, at []construct) {
	p := b.p
	s := newStop(p)
	s.kept = [][]byte{text}
	p.stop = s
	p.begin(func() {
		s.registers() // tells the debugger's numbers of threads
		pic, err := p.picture(s)
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case p.stop != s:
		case err == nil && !s.wanted && !anyHere(at, pic, s.lwpOf(e.ThreadId)):
			p.leave()
			p.begin(func() { b.goOn(e.ThreadId) })
		default:
			p.client.say(console, b.hitText(e.HitBreakpointIds))
			for _, one := range s.kept {
				p.client.put(one)
			}
			s.kept = nil
			s.again.Reset(s.pause())
		}
	})
}

// anyHere reports whether a thread is at one of the constructs.
func anyHere(at []construct, pic *picture.Picture, lwp int) bool {
	return slices.ContainsFunc(at, func(c construct) bool { return c.at.here(pic, lwp) })
}

// goOn lets the program run on from a stop of which the client was not told.
func (b *breaks) goOn(thread int) {
	p := b.p
	if _, err := p.call(p.life, "continue", map[string]any{"threadId": thread}); err != nil && p.life.Err() == nil {
		p.client.say(console, "the program stands at a construct at another place: "+err.Error())
	}
}

// lwpOf is the LWP of a thread by the debugger's number of it.
func (s *stop) lwpOf(id int) int {
	if lwp, ok := s.lwps[id]; ok {
		return lwp
	}
	return id
}
