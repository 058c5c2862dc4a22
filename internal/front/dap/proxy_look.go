package dap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// stop is one stop of the program, from its event until the program may run again.
type stop struct {
	ctx    context.Context
	cancel context.CancelFunc
	began  chan struct{} // closed when the snapshot starts
	looked chan struct{} // closed when the snapshot is done or has been given up
	again  *time.Timer   // starts the snapshot
	eager  bool          // the snapshot starts immediately

	// The fields below are guarded by the proxy's mu.
	view   *view // nil until the snapshot is done
	failed error // the reason if there is no view
	plain  bool  // an answer was sent before the snapshot was done
	lwps   map[int]int
	frames map[int]*thread // of the debugger's frames
	kept   [][]byte        // events of the stop that the client may not get; nil if it got them
	wanted bool            // the client has requested a stop meanwhile

	passing bool // the program was stopped amid its work, by a breakpoint or a step

	registers func() map[int]map[string]uint64
}

// isOver reports whether the snapshot is done or the stop has ended.
func (s *stop) isOver() bool {
	select {
	case <-s.looked:
		return true
	case <-s.ctx.Done():
		return true
	default:
		return false
	}
}

// Delays of the snapshot after a stop. A debugger answers no other request while it prints the registers of all
// threads. So the client's own requests have priority, and a user's next step comes without a snapshot in
// between. A core needs no answer of the debugger, and a client that cannot be asked to refresh must wait for
// the snapshot anyway.
const (
	settle = 2 * time.Millisecond  // from the first event of a stop to the last: some debuggers send one per thread
	quiet  = 40 * time.Millisecond // since the last answer to the client

	never = 1000 * time.Hour // until the timer is set
)

// handleHalt records that the program is stopped, and starts a snapshot. The caller holds mu.
func (p *proxy) handleHalt() {
	if p.stop != nil {
		p.stop.postpone()
		return
	}
	p.stop = newStop(p)
	p.stop.again.Reset(p.stop.delay())
}

// newStop returns a stop with a snapshot that does not start by itself. The caller holds mu.
func newStop(p *proxy) *stop {
	s := &stop{began: make(chan struct{}), looked: make(chan struct{}), lwps: map[int]int{}, frames: map[int]*thread{}}
	s.ctx, s.cancel = context.WithCancel(p.life)
	s.registers = sync.OnceValue(func() map[int]map[string]uint64 { return p.askRegisters(s) })
	begin := sync.OnceFunc(func() {
		close(s.began)
		p.spawn(func() { p.look(s) })
	})
	s.eager = p.core != "" || !p.hello.SupportsInvalidatedEvent
	s.again = time.AfterFunc(never, begin)
	return s
}

// delay returns how long the snapshot waits after the last message.
func (s *stop) delay() time.Duration {
	if s.eager {
		return settle
	}
	return quiet
}

// postpone postpones the snapshot if it has not started, after a message. The caller holds the proxy's mu.
func (s *stop) postpone() {
	if !s.hasBegun() && s.kept == nil {
		s.again.Reset(s.delay())
	}
}

// hasBegun reports whether the snapshot has started.
func (s *stop) hasBegun() bool {
	select {
	case <-s.began:
		return true
	default:
		return false
	}
}

// leave records that the program may run: the view is not valid any more. The caller holds mu.
func (p *proxy) leave() {
	if p.stop != nil {
		p.stop.again.Stop()
		p.stop.cancel()
		p.stop = nil
	}
}

// present returns the current stop; nil if the program runs.
func (p *proxy) present() *stop {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop
}

// look takes a snapshot of the stopped program and informs the client.
func (p *proxy) look(s *stop) {
	var pic *picture.Picture
	err := p.contain(func() (err error) {
		pic, err = p.picture(s)
		return err
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(s.looked)
	if p.stop != s {
		return
	}
	if err == nil {
		err = p.contain(func() error { p.show(s, pic); return nil })
	}
	if err != nil {
		s.failed = err
		p.client.print(console, "OpenMP's state cannot be shown: "+err.Error())
		return
	}
	p.announce(s)
	p.spawn(func() { p.breaks.apply(s) })
}

// isPassing reports whether a program that stopped for this reason would have gone on.
func isPassing(reason string) bool {
	return reason == "step" || reason == "goto" || strings.HasSuffix(reason, "breakpoint")
}

// withoutPassing returns the verdicts without those that are only possible: that threads have not arrived at a barrier
// has no meaning while a debugger holds a program at a breakpoint.
func withoutPassing(list []picture.Verdict) []picture.Verdict {
	out := list[:0:0] // an empty list stays one
	for _, v := range list {
		if v.Kind != picture.VerdictBarrierMissing || v.Certainty != picture.Possible {
			out = append(out, v)
		}
	}
	return out
}

// show makes the view of a picture.
func (p *proxy) show(s *stop, pic *picture.Picture) {
	if s.passing {
		pic.Verdicts = withoutPassing(pic.Verdicts)
	}
	p.told.looks++
	s.view = newView(pic, p.config.Attach, p.hello, &p.ids)
	s.view.recorded = func(lwp, n int) ([]picture.Event, error) { return lastEvents(p, lwp, n) }
	p.assign(s.view)
}

// assign sets the debugger's numbers of the threads in a view.
func (p *proxy) assign(v *view) {
	if len(p.stop.lwps) == 0 {
		return // the debugger's numbers are LWPs
	}
	v.byID = map[int]*thread{}
	for id, lwp := range p.stop.lwps {
		if t := v.lwps[lwp]; t != nil && lwp != 0 {
			t.id = id
			v.byID[id] = t
		}
	}
}

// announce informs the client of a snapshot.
func (p *proxy) announce(s *stop) {
	r, ok := s.view.reason()
	if ok && r.verdict != nil && r.output() != p.told.verdict {
		p.client.print(important, r.output())
		p.told.verdict = r.output()
	}
	if !ok {
		p.told.verdict = ""
	}
	if s.plain && p.hello.SupportsInvalidatedEvent {
		p.client.sendEvent("invalidated", map[string]any{"areas": []string{"threads", "stacks", "variables"}})
	}
	p.client.sendEvent(eventChanged, p.change(s.view))
}

// errLooking is the error of a target that is in use for a snapshot.
var errLooking = errors.New("a snapshot of the program is in progress: try again")

// lastEvents returns the last recorded events of a thread. The caller holds mu, for which a snapshot may wait,
// so it does not wait for a snapshot.
func lastEvents(p *proxy, lwp, n int) ([]picture.Event, error) {
	if !p.looking.TryLock() {
		return nil, errLooking
	}
	defer p.looking.Unlock()
	if p.target == nil {
		return nil, errNoWay
	}
	return history.LastEvents(p.target, lwp, n)
}

// change returns the event for the current snapshot.
func (p *proxy) change(v *view) changed {
	c := changed{Look: p.told.looks, Kind: v.pic.Target.Kind, Held: true, Verdicts: []picture.VerdictKind{}}
	for _, w := range v.pic.Verdicts {
		c.Verdicts = append(c.Verdicts, w.Kind)
	}
	return c
}

// lookNow takes another snapshot at the same stop.
func (p *proxy) lookNow(ctx context.Context, s *stop) (any, error) {
	pic, err := p.picture(s)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != s || ctx.Err() != nil {
		return nil, errNotHeld
	}
	p.show(s, pic)
	s.plain = true
	p.announce(s)
	return p.change(s.view), nil
}

// errNoWay is the error of a program that cannot be opened.
var errNoWay = errors.New(
	"the debugger names neither a process of this machine nor a core: name the target by --target")

// picture takes a snapshot of the debugger's program.
func (p *proxy) picture(s *stop) (*picture.Picture, error) {
	p.looking.Lock()
	defer p.looking.Unlock()
	t, err := p.open(s.ctx, s)
	if err == nil {
		var pic *picture.Picture
		if pic, err = askPicture(s.ctx, t); err == nil || s.ctx.Err() != nil {
			return pic, err
		}
		_ = t.Close() // the program may have changed: the next snapshot opens it again
		p.target = nil
	}
	if report := p.config.Debugger.report; report != "" {
		return p.askScript(s, report)
	}
	return nil, err
}

// askPicture asks a target for the picture of a snapshot.
func askPicture(ctx context.Context, t *engine.Target) (*picture.Picture, error) {
	answer, err := t.Look(ctx, snapshotQuestion())
	if err != nil {
		return nil, err
	}
	return answer.Picture, answer.Close()
}

// askScript makes the debugger's script take a snapshot, and requests the numbers of its threads.
func (p *proxy) askScript(s *stop, report string) (*picture.Picture, error) {
	text, err := p.call(s.ctx, "evaluate", p.config.Debugger.consoleCommand(report))
	if err != nil {
		return nil, err
	}
	pic := &picture.Picture{}
	if err := parsePicture(text, pic); err != nil {
		return nil, err
	}
	s.registers()
	return pic, nil
}

// open opens the debugger's program, once. The caller holds looking.
func (p *proxy) open(ctx context.Context, s *stop) (*engine.Target, error) {
	p.mu.Lock()
	core, pid := p.core, p.pid
	if !p.local && p.config.Debugger.Name == "gdb" {
		pid = 0 // it may be a process of another machine
	}
	p.mu.Unlock()
	var err error
	switch {
	case p.target != nil:
	case core != "":
		where := p.config.Attach
		where.Target = Name(core)
		p.target, err = p.config.Open(p.life, where)
	case pid != 0:
		p.target, err = p.config.OpenHeld(pid, p.registersNow)
	default:
		err = errNoWay
	}
	if err == nil && core != "" {
		s.registers() // sets the debugger's numbers of threads
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return p.target, err
}

// registersNow returns the registers at the current stop.
func (p *proxy) registersNow() map[int]map[string]uint64 {
	s := p.present()
	if s == nil {
		return nil
	}
	return s.registers()
}

// askRegisters requests the registers of all threads from the debugger, and its numbers of them.
func (p *proxy) askRegisters(s *stop) map[int]map[string]uint64 {
	d := p.config.Debugger
	if d.registers == "" {
		return nil
	}
	text, err := p.call(s.ctx, "evaluate", d.consoleCommand(d.registers))
	if err != nil {
		return nil
	}
	registers, lwps := parseRegisters(resultOf(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(registers) == 0 && s.ctx.Err() == nil {
		p.client.print(console, fmt.Sprintf("the debugger does not print the registers: %.200q", resultOf(text)))
	}
	for id, lwp := range lwps {
		s.lwps[id] = lwp
	}
	return registers
}
