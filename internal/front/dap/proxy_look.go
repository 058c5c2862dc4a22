package dap

import (
	"context"
	"errors"
	"fmt"

	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// stop is one stop of the program, from its event to what lets the program run on.
type stop struct {
	ctx    context.Context
	cancel context.CancelFunc
	began  chan struct{} // closed when the look begins
	looked chan struct{} // closed when the look is done, or was given up
	again  *time.Timer   // begins the look when it is time for it
	eager  bool          // the look begins at once

	// What follows is guarded by the proxy's mu.
	view   *view // nil until the look is done
	failed error // why there is none
	plain  bool  // something was answered before the look was done
	lwps   map[int]int
	frames map[int]*thread // of the debugger's frames
	kept   [][]byte        // events of the stop that the client may not get; nil if it got them
	wanted bool            // the client has asked for a stop meanwhile

	registers func() map[int]map[string]uint64
}

// over reports whether the look is done or the stop has passed.
func (s *stop) over() bool {
	select {
	case <-s.looked:
		return true
	case <-s.ctx.Done():
		return true
	default:
		return false
	}
}

// When a look begins after a stop. A debugger is asked for the registers of all threads, and answers nothing else
// meanwhile: so the client's own questions come first, and who steps on gets no look in between. A core needs no
// answer of the debugger, and a client that cannot be told to ask again has to wait for the look anyhow.
const (
	settle = 2 * time.Millisecond  // from the first event of a stop to the last: some tell each thread's
	quiet  = 40 * time.Millisecond // since the client was answered last

	never = 1000 * time.Hour // until the timer is set
)

// halted notes that the program stands still, and begins a look. The caller holds mu.
func (p *proxy) halted() {
	if p.stop != nil {
		p.stop.wait()
		return
	}
	p.stop = newStop(p)
	p.stop.again.Reset(p.stop.pause())
}

// newStop is a stop, at which the look does not begin by itself. The caller holds mu.
func newStop(p *proxy) *stop {
	s := &stop{began: make(chan struct{}), looked: make(chan struct{}), lwps: map[int]int{}, frames: map[int]*thread{}}
	s.ctx, s.cancel = context.WithCancel(p.life)
	s.registers = sync.OnceValue(func() map[int]map[string]uint64 { return p.askRegisters(s) })
	begin := sync.OnceFunc(func() {
		close(s.began)
		p.begin(func() { p.look(s) })
	})
	s.eager = p.core != "" || !p.hello.SupportsInvalidatedEvent
	s.again = time.AfterFunc(never, begin)
	return s
}

// pause is how long the look waits since what happened last.
func (s *stop) pause() time.Duration {
	if s.eager {
		return settle
	}
	return quiet
}

// wait puts the look off, if it has not begun: something has happened. The caller holds the proxy's mu.
func (s *stop) wait() {
	if !s.begun() && s.kept == nil {
		s.again.Reset(s.pause())
	}
}

// begun reports whether the look has begun.
func (s *stop) begun() bool {
	select {
	case <-s.began:
		return true
	default:
		return false
	}
}

// leave notes that the program may run: what was shown is not valid any more. The caller holds mu.
func (p *proxy) leave() {
	if p.stop != nil {
		p.stop.again.Stop()
		p.stop.cancel()
		p.stop = nil
	}
}

// present is the present stop; nil if the program runs.
func (p *proxy) present() *stop {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop
}

// look looks at the program that stands still, and tells the client.
func (p *proxy) look(s *stop) {
	var pic *picture.Picture
	err := p.contained(func() (err error) {
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
		err = p.contained(func() error { p.show(s, pic); return nil })
	}
	if err != nil {
		s.failed = err
		p.client.say(console, "OpenMP's state cannot be shown: "+err.Error())
		return
	}
	p.tellLook(s)
	p.begin(func() { p.breaks.apply(s) })
}

// show makes the view of a picture.
func (p *proxy) show(s *stop, pic *picture.Picture) {
	p.told.looks++
	s.view = newView(pic, p.config.Attach, p.hello, &p.ids)
	s.view.recorded = func(lwp, n int) ([]picture.Event, error) { return lastEvents(p, lwp, n) }
	p.assign(s.view)
}

// assign gives the threads of a view the numbers that the debugger knows them by.
func (p *proxy) assign(v *view) {
	if len(p.stop.lwps) == 0 {
		return // they are LWPs
	}
	v.byID = map[int]*thread{}
	for id, lwp := range p.stop.lwps {
		if t := v.lwps[lwp]; t != nil && lwp != 0 {
			t.id = id
			v.byID[id] = t
		}
	}
}

// tellLook tells the client of a look.
func (p *proxy) tellLook(s *stop) {
	r, ok := s.view.reason()
	if ok && r.verdict != nil && r.output() != p.told.verdict {
		p.client.say(important, r.output())
		p.told.verdict = r.output()
	}
	if !ok {
		p.told.verdict = ""
	}
	if s.plain && p.hello.SupportsInvalidatedEvent {
		p.client.tell("invalidated", map[string]any{"areas": []string{"threads", "stacks", "variables"}})
	}
	p.client.tell(eventChanged, p.change(s.view))
}

// errLooking says that the target is in use for a look.
var errLooking = errors.New("the program is looked at just now: ask again")

// lastEvents are the last events of a thread that the recorder has kept. The caller holds mu,
// for which a look may wait: so this waits for none.
func lastEvents(p *proxy, lwp, n int) ([]picture.Event, error) {
	if !p.looking.TryLock() {
		return nil, errLooking
	}
	defer p.looking.Unlock()
	if p.target == nil {
		return nil, errNoWay
	}
	return p.target.LastEvents(lwp, n)
}

// change describes the present look.
func (p *proxy) change(v *view) changed {
	c := changed{Look: p.told.looks, Kind: v.pic.Target.Kind, Held: true, Verdicts: []picture.VerdictKind{}}
	for _, w := range v.pic.Verdicts {
		c.Verdicts = append(c.Verdicts, w.Kind)
	}
	return c
}

// lookNow looks again at the same stop.
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
	p.tellLook(s)
	return p.change(s.view), nil
}

// errNoWay says that there is no way to what the debugger holds.
var errNoWay = errors.New(
	"the debugger tells neither a process of this machine nor a core; --target names what to look at")

// picture looks at what the debugger holds.
func (p *proxy) picture(s *stop) (*picture.Picture, error) {
	p.looking.Lock()
	defer p.looking.Unlock()
	t, err := p.open(s.ctx, s)
	if err == nil {
		var pic *picture.Picture
		if pic, err = ask(s.ctx, t); err == nil || s.ctx.Err() != nil {
			return pic, err
		}
		_ = t.Close() // the program may be another one: the next look opens it again
		p.target = nil
	}
	if report := p.config.Debugger.report; report != "" {
		return p.lent(s, report)
	}
	return nil, err
}

// ask asks a target for all that is shown.
func ask(ctx context.Context, t *session.Target) (*picture.Picture, error) {
	answer, err := t.Look(ctx, whole())
	if err != nil {
		return nil, err
	}
	return answer.Picture, answer.Close()
}

// lent has the debugger's script look, and asks for the numbers of its threads.
func (p *proxy) lent(s *stop, report string) (*picture.Picture, error) {
	text, err := p.call(s.ctx, "evaluate", p.config.Debugger.run(report))
	if err != nil {
		return nil, err
	}
	pic := &picture.Picture{}
	if err := pictureOf(text, pic); err != nil {
		return nil, err
	}
	s.registers()
	return pic, nil
}

// open opens what the debugger holds, once. The caller holds looking.
func (p *proxy) open(ctx context.Context, s *stop) (*session.Target, error) {
	p.mu.Lock()
	core, pid := p.core, p.pid
	if !p.local && p.config.Debugger.Name == "gdb" {
		pid = 0 // it may be another machine's
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
		s.registers() // tells the debugger's numbers of threads
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return p.target, err
}

// registersNow are the registers at the present stop.
func (p *proxy) registersNow() map[int]map[string]uint64 {
	s := p.present()
	if s == nil {
		return nil
	}
	return s.registers()
}

// askRegisters asks the debugger for the registers of all threads, and for its numbers of them.
func (p *proxy) askRegisters(s *stop) map[int]map[string]uint64 {
	d := p.config.Debugger
	if d.registers == "" {
		return nil
	}
	text, err := p.call(s.ctx, "evaluate", d.run(d.registers))
	if err != nil {
		return nil
	}
	registers, lwps := parseRegisters(resultOf(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(registers) == 0 && s.ctx.Err() == nil {
		p.client.say(console, fmt.Sprintf("the debugger does not tell the registers: %.200q", resultOf(text)))
	}
	for id, lwp := range lwps {
		s.lwps[id] = lwp
	}
	return registers
}
