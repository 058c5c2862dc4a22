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

// place is the place of a construct in the source, as typed by the user: FILE:LINE.
type place struct {
	text string
	file []string // the last elements of its path
	line int
}

// parsePlace parses the place of a construct.
func parsePlace(event, text string) (*place, error) {
	text = strings.TrimSpace(text)
	i := strings.LastIndexByte(text, ':')
	if i < 1 {
		return nil, fmt.Errorf("%s: a place must be FILE:LINE", text)
	}
	line, err := strconv.Atoi(text[i+1:])
	switch {
	case err != nil || line < 1:
		return nil, fmt.Errorf("%s: a place must be FILE:LINE", text)
	case strings.HasPrefix(event, "thread"):
		return nil, fmt.Errorf("a thread starts and ends outside of constructs: omp %s has no place", event)
	}
	return &place{text, strings.Split(path.Clean(text[:i]), "/"), line}, nil
}

// matches reports whether a line of a file is the place.
func (p *place) matches(file string, line int) bool {
	parts := strings.Split(path.Clean(file), "/")
	return file != "" && line == p.line && len(parts) >= len(p.file) &&
		slices.Equal(parts[len(parts)-len(p.file):], p.file)
}

// hasThread reports whether a thread is at an event of the construct at the place: it has called the runtime
// there, or its task belongs to the construct.
func (p *place) hasThread(pic *picture.Picture, lwp int) bool {
	for i := range pic.Threads {
		t := &pic.Threads[i]
		if t.LWP != lwp {
			continue
		}
		innermost := picture.InnermostUser(t.UserStack)
		if innermost < 0 || p.matches(t.UserStack[innermost].File, t.UserStack[innermost].Line) {
			return true // a needless stop is better than a missed one
		}
		for _, task := range pic.Tasks {
			if task.ID == t.Task && task.Function != nil {
				return p.matches(task.Function.File, task.Function.Line)
			}
		}
		return false
	}
	return true
}

// placedConstructs returns the constructs of a stop if all of them have a place.
func (b *breaks) placedConstructs(ids []int) (out []construct) {
	for _, id := range ids {
		here := b.set[id]
		if len(here) == 0 || slices.ContainsFunc(here, func(c construct) bool { return c.at == nil }) {
			return nil
		}
		out = append(out, here...)
	}
	return out
}

// consider holds back the event of a stop at constructs until it is known whether it is at the right ones. The
// caller holds mu.
func (b *breaks) consider(text []byte, e godap.StoppedEventBody, at []construct) {
	p := b.p
	s := newStop(p)
	s.kept, s.passing = [][]byte{text}, true
	p.stop = s
	p.spawn(func() {
		s.registers() // sets the debugger's numbers of threads
		pic, err := p.picture(s)
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case p.stop != s:
		case err == nil && !s.wanted && !anyHasThread(at, pic, s.lwpOf(e.ThreadId)):
			p.leave()
			p.spawn(func() { b.resume(e.ThreadId) })
		default:
			p.client.print(console, b.hitText(e.HitBreakpointIds))
			for _, one := range s.kept {
				p.client.put(one)
			}
			s.kept = nil
			s.again.Reset(s.delay())
		}
	})
}

// anyHasThread reports whether a thread is at one of the constructs.
func anyHasThread(at []construct, pic *picture.Picture, lwp int) bool {
	return slices.ContainsFunc(at, func(c construct) bool { return c.at.hasThread(pic, lwp) })
}

// resume continues the program after a stop that was held back.
func (b *breaks) resume(thread int) {
	p := b.p
	if _, err := p.call(p.life, "continue", map[string]any{"threadId": thread}); err != nil && p.life.Err() == nil {
		p.client.print(console, "the program is stopped at a construct at another place: "+err.Error())
	}
}

// lwpOf returns the LWP of a thread from the debugger's number.
func (s *stop) lwpOf(id int) int {
	if lwp, ok := s.lwps[id]; ok {
		return lwp
	}
	return id
}
