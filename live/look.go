package live

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxRehearsals is how often a question is asked of the running program before
// the first stop, if the answer is an error each time: because a structure was
// just changing, say, so that what is behind it was not read.
const maxRehearsals = 2

// maxStops is how often the program is stopped for copies before it is stopped
// for the whole time of an answer. Programs whose structures stay where they
// are need one or two.
const maxStops = 4

// recent is how old the mappings may be with which a rehearsal begins: those that Open has read
// just now are not read again. After the stop they are.
const recent = 50 * time.Millisecond

// Pause says what an answer cost the process, and what of it is not certain.
type Pause struct {
	// Threads is the number of threads that were stopped at once; 0 if none
	// was.
	Threads int
	// Duration is the time of all stops together, each from the first thread
	// that was told to stop to the last that went on. Longest is that of the
	// longest stop.
	Duration, Longest time.Duration
	// Stops is the number of stops.
	Stops int
	// Held tells that the copies were never complete, because the program
	// moved its structures about, and that it stood still for the whole time
	// of the last answer.
	Held bool
	// Unsettled are the addresses of the words that were read and changed
	// meanwhile, each of 8 bytes. It is empty if the process was stopped.
	Unsettled []callbacks.Address
	// Stranded are the threads that wait in code which is not mapped any more: nothing
	// was stopped, as the process would die of it.
	Stranded []callbacks.ThreadID
	// Holder is the process of this project that traces this one, such as that of a Program:
	// nothing was stopped, as a process has one tracer. It is empty if there is none.
	Holder string
	// Running are the threads whose registers are missing, or not certain,
	// because they ran: nothing was stopped, or they were in uninterruptible sleep
	// when the others were, and woke up meanwhile.
	Running []callbacks.ThreadID
}

// add counts a stop.
func (p *Pause) add(threads int, d time.Duration) {
	p.Threads = max(p.Threads, threads)
	p.Duration += d
	p.Longest = max(p.Longest, d)
	p.Stops++
}

// Look gets an answer to the question f about one moment of the process. It
// calls f several times, each time with another target, which also is a
// callbacks.RegisterReader, ModuleLister and MappingLister; the result of the
// last call is the answer, and its target stays valid until Close. The calls
// before serve to find out what f reads; their errors do not count. If copies are never
// complete, f is asked while the process stands still; the target then has a method
// Held() bool that says so, and f should not take long.
//
// If the process was opened with NoStop, is held by a debugger that has stopped it or by a
// [Program] of another process, or would die of a stop, no thread is stopped; Pause then tells what is not certain.
//
// The error is that of the last call of f, or an *Error: ErrExited, ErrExec,
// ErrTraced, ErrPermission, ErrStuck. Between Stop and Resume, f is called once.
func (p *Process) Look(ctx context.Context, f func(callbacks.Target) error) (Pause, error) {
	return p.LookPrepared(ctx, f, f)
}

// LookPrepared is Look for a question f that costs more than to read the memory
// it needs: prepare reads that memory and is called in place of f as long as
// answers do not count.
func (p *Process) LookPrepared(ctx context.Context, prepare, f func(callbacks.Target) error) (Pause, error) {
	if h := p.lasting(); h != nil {
		all, _ := h.view.roster() // is there
		return Pause{Threads: len(all.threads)}, f(h.view)
	}
	p.forget()
	if time.Since(p.read) > recent {
		if err := p.refresh(); err != nil {
			return Pause{}, p.exitReason(err)
		}
	}
	l := &looker{p: p, ctx: ctx, prepare: prepare, f: f, want: wanted{blockSet{}, map[uint64]uint64{}}}
	for again, n := true, 0; again && n < maxRehearsals; n++ {
		var err error
		if again, err = l.rehearse(); err != nil {
			return l.pause, p.exitReason(err)
		}
	}
	if p.prepared != nil {
		p.prepared()
	}
	unstopped, holder, err := p.heldElsewhere()
	if err != nil {
		return l.pause, err
	}
	if holder.ours() {
		l.pause.Holder = holder.String()
	}
	look := l.stopping
	if unstopped || len(l.pause.Stranded) > 0 {
		look = l.unstopped
	}
	answer, err := look()
	if e := new(Error); errors.As(err, &e) && e.holder.ours() { // it is held since just now
		l.pause.Holder = e.holder.String()
		answer, err = l.unstopped()
	}
	if err != nil {
		return l.pause, p.exitReason(err)
	}
	return l.pause, answer
}

// BeforeStop has f called in each look when the memory that it needs is known, before
// anything is stopped or copied; what was held to find that out is not any more.
func (p *Process) BeforeStop(f func()) { p.prepared = f }

// exitReason prefers the end of the process as the reason of an error.
func (o *opened) exitReason(err error) error {
	if end := o.ended(); end != nil {
		return end
	}
	return err
}

// looker is one call of Look.
type looker struct {
	p          *Process
	ctx        context.Context
	prepare, f func(callbacks.Target) error
	want       wanted
	pause      Pause
}

// rehearse prepares the question on the running process, for the memory that it
// reads. The answer is of no use, as what changes while it is read may be
// nonsense; it reports whether to rehearse again.
func (l *looker) rehearse() (again bool, err error) {
	if err := l.ctx.Err(); err != nil {
		return false, err
	}
	r := l.p.reader(nil, nil)
	threads := l.p.peekAhead(r)
	again = l.prepare(l.p.view(r, threads)) != nil
	all, err := threads()
	if err != nil {
		return false, err
	}
	l.want.rehearsed(r, all.threads)
	r.forget()
	if l.pause.Stranded, err = l.p.stranded(all.threads); err != nil {
		return false, err
	}
	return again, l.p.ended()
}

// peekAhead lists the threads without stopping them, and reads ahead what an answer will
// ask of them. Another processor does that while the answer begins with what is the same
// for all threads.
func (p *Process) peekAhead(r *reader) func() (*roster, error) {
	list := sync.OnceValues(func() (*roster, error) {
		threads, err := p.peek()
		if err != nil {
			return nil, err
		}
		r.ahead(threads)
		return newRoster(threads), nil
	})
	go contained(func() { _, _ = list() })
	return list
}

// stopping answers from copies that were made while all threads were stopped.
func (l *looker) stopping() (answer, err error) {
	for range maxStops {
		before, _ := l.p.layout()
		s, threads, err := l.p.capture(l.ctx, l.want, &l.pause)
		if errors.Is(err, ErrTooBig) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := l.p.refresh(); err != nil {
			return nil, err
		}
		if end := l.p.ended(); end != nil {
			return nil, end
		}
		r := l.p.reader(s, nil)
		r.before = before
		l.pause.Running = running(threads)
		answer = l.f(l.p.view(r, rosterOf(threads)))
		if len(r.missed) == 0 {
			return answer, nil
		}
		l.want.missed(r)
	}
	return l.holding()
}

// holding answers while all threads are stopped.
func (l *looker) holding() (answer, err error) {
	l.pause.Held = true
	err = l.p.stopped(l.ctx, &l.pause, func(t *tracer) error {
		if err := l.p.refresh(); err != nil {
			return err
		}
		threads := t.threads(l.p)
		l.pause.Running = running(threads)
		v := l.p.view(l.p.reader(nil, nil), rosterOf(threads))
		v.held = true
		answer = l.f(v)
		return nil
	})
	return answer, err
}

// unstopped answers from two copies that are made one after the other while the
// threads run, or are stopped by someone else.
func (l *looker) unstopped() (answer, err error) {
	for round := 1; ; round++ {
		a, b, threads, err := l.p.captureTwice(l.want)
		if err != nil {
			return nil, err
		}
		if end := l.p.ended(); end != nil {
			return nil, end
		}
		r := l.p.reader(a, b)
		answer = l.f(l.p.view(r, rosterOf(threads)))
		l.pause.Running = running(threads)
		l.pause.Unsettled = r.unsettled(round == maxStops)
		if len(r.missed) == 0 || round == maxStops {
			return answer, nil
		}
		l.want.missed(r)
	}
}

// running returns the threads whose registers are missing, or not certain.
func running(threads []thread) []callbacks.ThreadID {
	var list []callbacks.ThreadID
	for _, t := range threads {
		if t.err != nil {
			list = append(list, callbacks.LWP(t.lwp))
		}
	}
	return list
}

// unsettled are the words that changed while they were read. In the last round
// nothing is known of the blocks that were read once.
func (r *reader) unsettled(last bool) []callbacks.Address {
	words := maps.Clone(r.changed)
	if last {
		for base, blocks := range r.missed {
			for i := range uint64(blocksOfPage) {
				if blocks&(1<<i) != 0 {
					words[base+i*blockSize] = struct{}{}
				}
			}
		}
	}
	var list []callbacks.Address
	for _, a := range slices.Sorted(maps.Keys(words)) {
		list = append(list, callbacks.At(a))
	}
	return list
}
